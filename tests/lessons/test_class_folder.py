"""The folder of a class: learner's editions that open, their data, and pages for the teacher."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from hawb.languages import language
from hawb.lessons.class_folder import NotALesson, every_lesson, files_of, found
from hawb.scenario import checkout

ROOT = Path(__file__).parents[2]
NOTEBOOKS = ROOT / "notebooks"


def written(folder: Path, *cells, name: str = "99-own.ipynb") -> Path:
    """Write a notebook of these cells; texts are Markdown."""
    folder.mkdir(exist_ok=True)
    made = [new_markdown_cell(cell) if isinstance(cell, str) else cell for cell in cells]
    nbformat.write(new_notebook(cells=made), folder / name)
    return folder / name


@pytest.mark.parametrize("name", ["12", str(NOTEBOOKS / "12-synchronising.ipynb")])
def test_a_notebook_is_named_by_number_or_file(name):
    assert found(name) == NOTEBOOKS / "12-synchronising.ipynb"


@pytest.mark.parametrize("name", ["99", "1", "", "*", "README.md", "none.ipynb", "12-synchronising"])
def test_other_names_are_refused(name):
    with pytest.raises(NotALesson, match="neither the number"):
        found(name)


def test_all_lessons_are_those_of_the_contents_page():
    names = [file.name for file in every_lesson()]
    assert names == sorted(file.name for file in NOTEBOOKS.glob("*.ipynb") if not file.name.startswith("05-"))


def test_a_class_gets_lessons_without_solutions_and_the_data_that_they_read():
    files = files_of([found("12"), found("21")])
    lessons = [path for path in files if path.startswith("lessons/")]
    assert lessons == ["lessons/12-synchronising.ipynb", "lessons/21-safe-to-stop.ipynb"]
    for path in lessons:
        notebook = nbformat.reads(files[path], as_version=4)
        nbformat.validate(notebook)
        assert "# solution" not in files[path]
        assert not [cell for cell in notebook.cells if cell.get("outputs")]
    data = {path for path in files if path.startswith("data/")}
    assert {"data/real/definitions.json", "data/real/api-queues.json"} <= data
    assert files["data/real/definitions.json"] == (checkout.OWN / "data/real/definitions.json").read_bytes()
    assert {path.split("/")[1] for path in data} == {"real"}
    assert {*files} - {*lessons} - data == {"README.md", "answers.html", "slides.html"}
    assert "hawb lessons lessons/12-synchronising.ipynb" in files["README.md"]


def test_the_teachers_pages_have_the_chosen_lessons():
    files = files_of([found("11")])
    for page in ("answers.html", "slides.html"):
        assert "What happens when a mirror dies" in files[page] and "synchronising it cost" not in files[page]


def test_links_to_notebooks_that_a_class_does_not_get_are_words(tmp_path):
    file = written(tmp_path, "[this](99-own.ipynb), [next](12-synchronising.ipynb), [far](https://a.b/c.ipynb)")
    edition = nbformat.reads(files_of([file])["lessons/99-own.ipynb"], as_version=4)
    assert edition.cells[0].source == "[this](99-own.ipynb), next, [far](https://a.b/c.ipynb)"


def test_nothing_outside_hawbs_data_is_handed_out(tmp_path):
    cells = [new_code_cell(f'open("../data/{path}")') for path in ("../README.md", "real/../../Makefile", "none", ".")]
    files = files_of([written(tmp_path, *cells[:3])])
    assert {*files} == {"README.md", "answers.html", "slides.html", "lessons/99-own.ipynb"}


def test_lessons_pages_and_readme_are_in_the_language_in_force():
    with language("pt"):
        files = files_of([found("11")])
    assert files["README.md"].startswith("# Lições para uma turma")
    assert "Folha de respostas" in files["answers.html"] and 'lang="pt-BR"' in files["slides.html"]
    assert 'speak(\\"pt\\")' in files["lessons/11-a-node-dies.ipynb"]
    assert "# solution" not in files["lessons/11-a-node-dies.ipynb"]


@pytest.mark.parametrize(
    ("cell", "why"),
    [
        (new_code_cell("# solution\nx = 1"), "a solution has no end"),
        (new_code_cell('exercise("99-none")'), "no such exercise"),
    ],
)
def test_a_broken_lesson_is_refused_by_name(tmp_path, cell, why):
    with pytest.raises(NotALesson, match=rf"99-own\.ipynb: .*{why}"):
        files_of([written(tmp_path, cell)])


@pytest.mark.parametrize("content", [b"", b"[1", b"{}", b'{"nbformat": 4, "cells": 1}', b"\xff"])
def test_what_is_no_notebook_is_refused(tmp_path, content):
    file = tmp_path / "own.ipynb"
    file.write_bytes(content)
    with pytest.raises(NotALesson, match=r"own\.ipynb: is not a Jupyter notebook"):
        files_of([file])


def test_two_notebooks_of_one_name_are_refused(tmp_path):
    with pytest.raises(NotALesson, match="rename one"):
        files_of([written(tmp_path / "a", "1"), written(tmp_path / "b", "2")])


@pytest.mark.full
def test_a_notebook_without_stored_answers_is_run_first(tmp_path):
    result = []
    source = 'from hawb.lessons import predict\npredict("Who is it?", ["b", "c"], "99-who", "c")'
    files = files_of([written(tmp_path, new_code_cell(source))], result.append)
    assert result == ["99-own.ipynb: runs now, because it does not store the right answers to its predictions"]
    assert "Right: <b>c</b>" in files["answers.html"]
    with pytest.raises(NotALesson, match=r"99-own\.ipynb: a cell fails: ZeroDivisionError"):
        files_of([written(tmp_path, new_code_cell(f"1/0\n{source}"))])
    with pytest.raises(NotALesson, match="the prediction 99-who has no right answer, also after a run"):
        files_of([written(tmp_path, new_code_cell(source.replace(', "c")', ")")))])
