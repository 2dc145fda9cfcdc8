"""The page of each kind of report: verdict first, no scripts or requests, and accessible."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest
from answered_reports import MAKERS, answered
from html_pages import FETCHING, Page
from views_outcomes import HOSTILE

from hawb.views import page as page_module
from hawb.views import style
from hawb.views.formatting import shown
from hawb.views.page import LONG, closed, figure, report_page
from hawb.views.report import Part, Report, ToDo, Verdict
from hawb.views.tables import Table

each = pytest.mark.parametrize("name", MAKERS)
LAST = ("What is assumed", "What the files do not say")


def headings(page: str, level: str = "[1-6]") -> list[str]:
    return re.findall(f"<h({level})>(.*?)</h", page)


@each
def test_page_has_verdict_advice_pictures_tables_and_assumptions_in_order(name: str):
    report, page = answered(name)
    body = page[page.index("<body>") :]
    found = [
        body.index("<h1>"), body.index('<p class="verdict'), body.index("<h2>What to do"),
        body.index("<h2>At a glance"), body.index("<svg"), body.index(f"<h2>{report.parts[0].title[:9]}" if report.parts
        else "<h2>In numbers"), body.index("<h2>What is assumed"),
    ]  # fmt: skip
    assert found == sorted(found)
    assert Page(page).said.index(report.verdict.sentence) < Page(page).said.index("What to do")
    ends = [title for _, title in headings(page, "2")][-2:]
    assert ends == [*LAST] if report.missing else ends[-1] == LAST[0]


@each
def test_page_has_at_most_three_pieces_of_advice(name: str):
    report, page = answered(name)
    listed = page[page.index('<ol class="todo">') : page.index("</ol>")]
    assert 1 <= len(report.todo) == listed.count("<li>") <= 3


@each
def test_page_fetches_and_runs_nothing(name: str):
    page = Page(answered(name)[1])
    for tag, attributes in page.elements:
        inner = tag == "use" and attributes["xlink:href"].startswith("#")
        assert inner or tag not in FETCHING
        assert not [key for key in attributes if key.startswith("on")]
        assert not [value for value in attributes.values() if "//" in (value or "") and "w3.org" not in value]
    assert "default-src 'none'" in answered(name)[1] and "url(" not in re.sub(r"url\(#\w+\)", "", answered(name)[1])


@each
def test_landmarks_and_headings_are_in_order(name: str):
    page = answered(name)[1]
    tags = [tag for tag, _ in Page(page).elements]
    assert (tags.count("header"), tags.count("main"), tags.count("h1")) == (1, 1, 1)
    levels = [int(level) for level, _ in headings(page)]
    assert levels[0] == 1 and all(then - one <= 1 for one, then in pairwise(levels))
    assert 'lang="en"' in page and 'name="viewport"' in page


def report_with(*parts: Part, name: str = "x") -> Report:
    return Report(name, name, Verdict("no", name), (ToDo(name, (name,)),), parts, (name,), (name,))


@pytest.mark.parametrize("name", HOSTILE)
def test_names_are_escaped(name: str):
    table = Table(name, (name, "n"), [(name, 1)] * 6)
    page = report_page(report_with(Part(name, table, (name,), (name, "b") * 3), name=name), [figure("<svg/>", name)],
                       [closed(name, name)])  # fmt: skip
    elements = Page(page).elements
    assert shown(name) in Page(page).said
    assert not [tag for tag, _ in elements if tag == "script"]
    assert not [key for _, attributes in elements for key in attributes if key.startswith("on")]
    outside = re.sub(r"(?s)<pre>.*?</pre>", "", page)
    assert "\u202e" not in outside and "\x1b" not in outside


def test_rows_can_be_filtered_without_a_script():
    rows = [(word, number) for number, word in enumerate(["error", "note", "note", "error", "note", "warning"])]
    page = report_page(report_with(Part("Found", Table("t", ("what", "n"), rows), kinds=tuple(one for one, _ in rows))))
    chosen = [of for tag, of in Page(page).elements if tag == "input"]
    assert [of["value"] for of in chosen] == ["all", "0", "1", "2"] and "checked" in chosen[0]
    assert '#part-0:has(input[value="2"]:checked) tbody tr:not([data-kind="2"]){display:none}' in page
    kinds = [of["data-kind"] for tag, of in Page(page).elements if tag == "tr" and "data-kind" in of]
    assert kinds == ["0", "1", "1", "0", "1", "2"]


def test_few_rows_and_single_kinds_have_no_filter():
    few = Part("Few", Table("t", ("what",), [("a",), ("b",)]), kinds=("a", "b"))
    alike = Part("Alike", Table("t", ("what",), [("a",)] * 9), kinds=("a",) * 9)
    assert "<fieldset" not in report_page(report_with(few, alike))


def test_a_long_table_is_closed_until_it_is_opened():
    def page(rows: int) -> str:
        return report_page(report_with(Part("Rows", Table("t", ("n",), [(number,) for number in range(rows)]))))

    assert "<details>" not in page(LONG) and f"<summary>{LONG + 1} rows</summary>" in page(LONG + 1)


def test_numbers_are_right_aligned_and_labelled_on_narrow_pages():
    page = report_page(report_with(Part("Rows", Table("t", ("queue", "lost", "away"), [("q", "1,200", "0.3 s")]))))
    assert '<td class="number short" data-name="lost"><bdi>1,200</bdi></td>' in page
    assert '<td class="number short" data-name="away">' in page
    assert '<th scope="row" class="short" data-name="queue">' in page


def test_page_uses_only_colours_of_the_style():
    used = set(re.findall(r"var\(--hawb-([\w-]+)", answered("safe")[1]))
    assert used <= {*style.LIGHT, "font"}


def test_stylesheet_defines_no_colours():
    css = (Path(page_module.__file__).parent / "page.css").read_text(encoding="utf-8")
    assert re.findall(r"#[0-9A-Fa-f]{3,8}\b|\brgb|\bhsl", css) == [] and "url(" not in css and "@import" not in css
