"""Pages of lessons: the learner's edition, readable without scripts and without external addresses."""

from __future__ import annotations

import re
from base64 import b64decode

import pytest
from nbformat.v4 import new_notebook

from hawb.languages import LANGUAGES, _, language
from hawb.lessons import answers
from hawb.lessons.stored import TRUTH
from hawb.lessons.translated import TRANSLATED
from hawb.site import lesson_pages as made
from hawb.site.lesson_pages import LESSONS, code_cell, lesson_pages, lesson_script, notebook, prose, titles


@pytest.fixture(scope="module")
def pages():
    """Return all pages by the names of their files."""
    return dict(lesson_pages(has_engine=True, languages=["en"]))


@pytest.fixture(scope="module", params=["zh", "pt"])
def translated(request):
    """Return a language and the pages in this language by the names of their files."""
    return request.param, dict(lesson_pages(has_engine=True, languages=[request.param]))


def test_pages_have_no_solutions_and_no_answers(pages):
    for name in LESSONS:
        page = pages[f"{name}.html"]
        assert "# solution" not in page and "Right, in this cluster" not in page and TRUTH not in page
        for cell in notebook(name).cells:
            for output in cell.get("outputs", ()):
                answer = output.get("data", {}).get(TRUTH, "").partition("\n")[0]
                assert not answer or answer not in page


def test_later_output_is_folded_until_the_guess():
    page = dict(lesson_pages(has_engine=False, languages=["en"]))["11-a-node-dies.html"]
    assert re.search(r'data-cell="8">.*?<details class="wl-later" data-after="7">', page)
    assert not re.search(r'data-cell="3">(?:(?!data-cell).)*wl-later', page, re.DOTALL)  # nothing was asked before
    assert "data-engine" not in page


def test_pages_name_no_external_address(pages):
    for page in [*pages.values(), lesson_script()]:
        found = set(re.findall(r"https?://[^\s\"'`)<]+", page))
        assert found <= {"http://www.w3.org/2000/svg", "http://127.0.0.1:8000"}


def test_each_lesson_leads_to_the_others(pages):
    for page in pages.values():
        assert set(re.findall(r'href="([\w-]+)\.html"', page)) >= set(LESSONS)
    assert titles()["11-a-node-dies"].startswith("11 · What happens")


@pytest.mark.full
def test_translated_page_has_everything_in_its_language(translated, pages):
    spoken, found = translated
    assert {f"{name}.ipynb" for name in LESSONS} <= {*TRANSLATED}
    for name in LESSONS:
        page = found[f"{name}.{spoken}.html"]
        assert f'<html lang="{LANGUAGES[spoken].tag}">' in page and f'hreflang="{LANGUAGES[spoken].tag}" aria-' in page
        assert "# solution" not in page and TRUTH not in page
        quoted = r"<(code|pre|em)>.*?</\1>|<(pre|textarea) .*?</\2>|<nav class=\"wl-others.*|<[^>]*>"
        read = re.sub(quoted, "", page, flags=re.DOTALL)
        assert re.findall(r"\b(?:the|was|were|are|and|nothing|lost|killed|your)\b.{,30}", read) == []
        assert page.count("hq-question") == pages[f"{name}.html"].count("hq-question")


@pytest.mark.full
def test_translated_picture_is_of_the_run_in_this_language(translated):
    spoken, found = translated
    page = found[f"10-mirrored-queues.{spoken}.html"]
    pictures = [b64decode(one).decode() for one in re.findall(r"data:image/svg\+xml;base64,([^\"]+)", page)]
    with language(spoken):
        assert len(pictures) > 3 and any(_("master") in one for one in pictures)


def test_guesses_of_the_builder_are_not_in_a_page(tmp_path, monkeypatch):
    file = tmp_path / "answers.json"
    monkeypatch.setenv(answers.VARIABLE, str(file))
    file.write_text('{"guesses": {"10-unmirrored": {"guess": "running"}}}')
    cell = notebook("10-mirrored-queues").cells[5]
    code = [one for one in notebook("10-mirrored-queues").cells[:6] if one.cell_type == "code"]
    played = made.with_outputs(new_notebook(cells=code)).cells[-1]
    assert played.source == cell.source and "It is" not in played.outputs[-1].data["text/plain"]


def test_code_keeps_its_lines_and_is_escaped():
    cell = code_cell(3, "if 1 < 2:\n    look(x)", "", None)
    assert "if 1 &lt; 2:\n    look(x)" in cell and "<details class=\"wl-code\">" in cell


def test_prose_has_only_folded_blocks_as_markup():
    known = {"11-a-node-dies": "11"}
    text = "<details><summary>Why?</summary>\n\n*a* <script>x</script>\n\n</details>\n\n<img src=x>\n"
    page = prose(text + "\n[next](11-a-node-dies.ipynb) [far](https://example.org/x) ![seen](x.png)", known)
    assert "<details><summary>Why?</summary>" in page and "<em>a</em>" in page and "</details>" in page
    assert "<script>" not in page and "<img" not in page and "&lt;script&gt;" in page
    assert '<a href="11-a-node-dies.html">next</a> far seen' in page


def test_tagged_cells_are_left_out(monkeypatch):
    lesson = notebook(LESSONS[0])
    lesson.cells[2].metadata["tags"] = [made.ONLY_IN_NOTEBOOKS]
    assert "A queue is on one node" not in "".join(made.cells_of(lesson, {}))
    assert "A queue is on one node" in "".join(made.cells_of(notebook(LESSONS[0]), {}))
