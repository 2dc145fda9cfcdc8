"""Pages of lessons: the learner's edition, readable without scripts and without external addresses."""

from __future__ import annotations

import re

import pytest

from hawb.lessons.stored import TRUTH
from hawb.site import lesson_pages as made
from hawb.site.lesson_pages import LESSONS, code_cell, lesson_pages, lesson_script, notebook, prose, titles


@pytest.fixture(scope="module")
def pages():
    """Return all pages by the names of their files."""
    return dict(lesson_pages(has_engine=True))


def test_pages_have_no_solutions_and_no_answers(pages):
    for name in LESSONS:
        page = pages[f"{name}.html"]
        assert "# solution" not in page and "Right, in this cluster" not in page and TRUTH not in page
        for cell in notebook(name).cells:
            for output in cell.get("outputs", ()):
                answer = output.get("data", {}).get(TRUTH, "").partition("\n")[0]
                assert not answer or answer not in page


def test_later_output_is_folded_until_the_guess():
    page = dict(lesson_pages(has_engine=False))["11-a-node-dies.html"]
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
