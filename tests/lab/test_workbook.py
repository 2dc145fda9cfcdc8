"""The files that `hawb lab` copies into a folder, and the user's files that it keeps."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import nbformat
import pytest
from IPython.core.interactiveshell import InteractiveShell
from nbformat.sign import NotebookNotary

from hawb.lab.workbook import ANSWERS, HANDED_OUT, brought, hand_out, own_notebook, trust
from hawb.lessons import answers
from hawb.scenario import checkout

STORY = (checkout.OWN / "data" / "scenarios" / "unsynchronised-mirror-promoted.yaml").read_text()
LAB, TEXTS = "notebooks/00-lab.ipynb", "data/texts.csv"


@pytest.fixture
def newer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Replace the installed files by two, which a test may change as a newer release would."""
    own = tmp_path / "installed"
    for path in (LAB, TEXTS):
        (own / path).parent.mkdir(parents=True)
        (own / path).write_text("first")
    monkeypatch.setattr(checkout, "OWN", own)
    return own


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "mine"


def held(folder: Path) -> dict[str, str]:
    return {path: (folder / path).read_text() for path in (LAB, TEXTS)}


def test_notebooks_and_data_are_copied(folder: Path) -> None:
    assert hand_out(folder) == []
    there = {file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file()}
    assert there == {*brought(), HANDED_OUT}
    assert (folder / LAB).read_bytes() == (checkout.OWN / LAB).read_bytes()


def test_copying_does_not_fsync_each_file(newer: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    waits, synchronise = [], os.fsync
    monkeypatch.setattr(os, "fsync", lambda opened: waits.append(opened) or synchronise(opened))
    hand_out(folder)
    assert len(waits) == 2, "the note of what was handed out, and its folder"


def test_checkout_is_not_copied_over(newer: Path) -> None:
    assert hand_out(newer) == [] and not (newer / HANDED_OUT).exists()


def test_newer_release_updates_unchanged_files(newer: Path, folder: Path) -> None:
    hand_out(folder)
    (newer / LAB).write_text("second")
    assert hand_out(folder) == [] and held(folder) == {LAB: "second", TEXTS: "first"}


def test_changed_files_are_kept_across_releases(newer: Path, folder: Path) -> None:
    hand_out(folder)
    (folder / LAB).write_text("mine")
    for release in ("first", "second", "third"):
        (newer / LAB).write_text(release)
        (newer / TEXTS).write_text(release)
        assert hand_out(folder) == [LAB] and held(folder) == {LAB: "mine", TEXTS: release}


def test_existing_files_are_kept(newer: Path, folder: Path) -> None:
    (folder / LAB).parent.mkdir(parents=True)
    (folder / LAB).write_text("somebody's")
    assert hand_out(folder) == [LAB] and held(folder)[LAB] == "somebody's"


def test_deleted_files_are_restored(newer: Path, folder: Path) -> None:
    hand_out(folder)
    shutil.rmtree(folder / "notebooks")
    assert hand_out(folder) == [] and held(folder)[LAB] == "first"


def test_generated_files_are_copied_like_the_others(newer: Path, folder: Path) -> None:
    generated = "zh/10.ipynb"
    assert hand_out(folder, {generated: b"first"}) == [] and held(folder) == {LAB: "first", TEXTS: "first"}
    assert hand_out(folder) == hand_out(folder, {generated: b"second"}) == []
    assert (folder / generated).read_bytes() == b"second"
    (folder / generated).write_text("mine")
    assert hand_out(folder, {generated: b"third"}) == [generated] and (folder / generated).read_text() == "mine"
    assert hand_out(newer, {generated: b"first"}) == [] and (newer / generated).read_bytes() == b"first"


def test_hidden_files_and_answers_are_not_copied(newer: Path, folder: Path) -> None:
    (newer / "notebooks" / ".ipynb_checkpoints").mkdir()
    (newer / "notebooks" / ".ipynb_checkpoints" / "00-lab.ipynb").touch()
    (newer / "notebooks" / answers.NAME).touch()
    assert ANSWERS == answers.NAME
    assert [*brought()] == [LAB, TEXTS]


def test_notebook_of_a_story_opens_the_lab_with_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    notebook = own_notebook(folder, "a story", STORY)
    [text, shown] = json.loads(notebook.read_text())["cells"]
    monkeypatch.chdir(notebook.parent)
    result = InteractiveShell().run_cell(shown["source"])
    assert text["source"].startswith("# a story\n") and result.success
    assert notebook.with_suffix(".yaml").read_text() == STORY


def test_notebook_of_another_story_is_numbered_and_replaces_none(folder: Path) -> None:
    first = own_notebook(folder, "story", STORY)
    first.write_text("changed by its owner")
    assert own_notebook(folder, "story", STORY) == first and first.read_text() == "changed by its owner"
    second = own_notebook(folder, "story", STORY + "# another\n")
    assert (second.name, first.with_suffix(".yaml").read_text()) == ("story-2.ipynb", STORY)
    assert own_notebook(folder, "story", STORY + "# another\n") == second


def test_only_written_notebooks_are_trusted(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "jupyter"))
    written: list[Path] = []
    hand_out(folder, then=written.append)
    lab, lesson = folder / LAB, folder / "notebooks" / "11-a-node-dies.ipynb"
    assert {lab, lesson} < {*written}
    trust([lab])
    notary = NotebookNotary()
    assert notary.check_signature(nbformat.read(lab, as_version=4))
    assert not notary.check_signature(nbformat.read(lesson, as_version=4))
    again: list[Path] = []
    hand_out(folder, then=again.append)
    assert again == []
