"""`hawb lab` and `hawb lessons`, with a stand-in for the server that they start."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from samples import sample

from hawb import languages
from hawb.cli import main, workbook

STORY = Path(__file__).parents[2] / "data" / "scenarios" / "unsynchronised-mirror-promoted.yaml"
EXPORT = [str(STORY.parents[1] / "real" / f"{name}.json") for name in ("definitions", "api-queues")]


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[tuple]:
    """Replace the servers. Return the names and arguments of the requested ones."""
    found: list[tuple] = []
    monkeypatch.setenv(languages.VARIABLE, "")  # what `hawb lab` sets for its kernels is taken back with it
    for name in ("serve", "serve_app"):
        monkeypatch.setattr(workbook, name, lambda *given, name=name: found.append((name, *given)))
    monkeypatch.setattr("hawb.lab.workbook.trust", list)  # it would write into the tester's home
    return found


def asked(*words: object, **options: object) -> Result:
    return CliRunner().invoke(main, [str(word) for word in words], catch_exceptions=False, **options)


@pytest.mark.parametrize(
    ("words", "server", "notebook"),
    sample([
        (["lab"], "serve", "notebooks/00-lab.ipynb"),
        (["lab", "--app"], "serve_app", "notebooks/00-lab.ipynb"),
        (["lessons"], "serve", "notebooks/01-contents.ipynb"),
        (["lessons", "--language", "zh"], "serve", "zh/10-mirrored-queues.ipynb"),
        (["lessons", "--language", "pt"], "serve", "pt/10-mirrored-queues.ipynb"),
        (["lab", STORY], "serve", "own/unsynchronised-mirror-promoted.ipynb"),
        (["lab", "--app", "-"], "serve_app", "own/standard-input.ipynb"),
        (["lab", *EXPORT], "serve", "own/definitions.ipynb"),
        (["lab", EXPORT[0], f"queues={EXPORT[1]}"], "serve", "own/definitions.ipynb"),
    ], 3),
)  # fmt: skip
def test_requested_notebook_is_opened(
    served: list[tuple], tmp_path: Path, words: list, server: str, notebook: str
) -> None:
    result = asked(*words, "--folder", tmp_path / "hawb", "--port", 9999, "--no-browser", input=STORY.read_text())
    assert result.exit_code == 0, result.stderr
    assert served == [(server, tmp_path / "hawb", tmp_path / "hawb" / notebook, 9999, True)]
    assert (tmp_path / "hawb" / notebook).exists() and (tmp_path / "hawb" / "notebooks" / "01-contents.ipynb").exists()


@pytest.mark.parametrize(("words", "server"), [([], "serve"), (["--app"], "serve_app")])
def test_one_notebook_is_opened_where_it_is(served: list[tuple], tmp_path: Path, words: list, server: str) -> None:
    file = tmp_path / "own.ipynb"
    file.write_text("{}")
    result = asked("lessons", *words, file, "--folder", tmp_path / "hawb", "--no-browser")
    assert (result.exit_code, served) == (0, [(server, tmp_path, file, 8888, True)]), result.stderr
    assert [*tmp_path.iterdir()] == [file]


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--app"], "Give one NOTEBOOK to open"),
        (["10", "11"], "or --class FOLDER for several"),
        (["--class", "{to}/class", "--app"], "leave --app out"),
        (["none.ipynb"], "none.ipynb: is neither the number of a lesson"),
        (["--class", "{to}/class", "10", "99"], "99: is neither the number of a lesson"),
        (["--class", "{to}/class", "{to}/own.ipynb"], "own.ipynb: is not a Jupyter notebook"),
        (["--class", "{to}", "10"], "exists already; --class needs a new folder"),
    ],
)
def test_notebooks_that_cannot_be_opened_or_handed_out_are_refused(
    served: list[tuple], tmp_path: Path, words: list[str], why: str
) -> None:
    (tmp_path / "own.ipynb").write_text("{}")
    result = asked("lessons", *(word.replace("{to}", str(tmp_path)) for word in words))
    assert (result.exit_code, served, result.stdout) == (2, [], "")
    assert why in result.stderr
    assert [file.name for file in tmp_path.iterdir()] == ["own.ipynb"]


def test_class_folder_is_written_in_a_language_and_nothing_is_opened(served: list[tuple], tmp_path: Path) -> None:
    place = tmp_path / "class"
    result = asked("lessons", "--class", place, "10", "--language", "pt")
    assert (result.exit_code, served, result.stdout) == (0, [], "")
    assert result.stderr == f"{place}: lessons, answers.html and slides.html; README.md says how to use them\n"
    found = {file.relative_to(place).as_posix() for file in place.rglob("*") if file.is_file()}
    assert found == {"README.md", "answers.html", "slides.html", "lessons/10-mirrored-queues.ipynb"}
    assert "Lições para uma turma" in (place / "README.md").read_text(encoding="utf-8")


def test_lab_uses_the_requested_language(served: list[tuple], tmp_path: Path) -> None:
    assert asked("lab", "--folder", tmp_path, "--language", "zh_CN").exit_code == 0
    assert languages.wanted() == "zh"
    refused = asked("lab", "--folder", tmp_path, "--language", "fr")
    assert refused.exit_code == 2 and "its languages are en, zh, pt" in refused.stderr
    assert len(served) == 1


def test_jupyter_trusts_only_the_copied_notebooks(served: list, tmp_path: Path, monkeypatch) -> None:
    trusted: list[Path] = []
    monkeypatch.setattr("hawb.lab.workbook.trust", trusted.extend)
    changed = tmp_path / "notebooks" / "11-a-node-dies.ipynb"
    changed.parent.mkdir()
    changed.write_text("{}")
    assert asked("lab", "--folder", tmp_path).exit_code == 0
    assert tmp_path / "notebooks" / "00-lab.ipynb" in trusted and changed not in trusted
    assert {file.suffix for file in trusted} == {".ipynb"}


def test_default_folder_is_hawb_in_the_home_folder(served: list[tuple], tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    assert asked("lessons").exit_code == 0
    assert served == [("serve", tmp_path / "hawb", tmp_path / "hawb" / "notebooks" / "01-contents.ipynb", 8888, False)]


def test_user_without_a_home_folder_must_name_a_folder(served: list[tuple], monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", nowhere)
    result = asked("lab")
    assert (result.exit_code, served) == (2, []) and "--folder" in result.stderr
    assert asked("lab", "--help").exit_code == 0


def test_changed_files_that_are_kept_are_listed(served: list[tuple], tmp_path: Path) -> None:
    asked("lessons", "--folder", tmp_path)
    (tmp_path / "notebooks" / "01-contents.ipynb").write_text("mine")
    result = asked("lessons", "--folder", tmp_path)
    assert result.stderr.splitlines() == [
        f"notebooks and data are in {tmp_path}",
        "you have changed these files, so hawb kept them (delete a file to get a new copy):"
        " notebooks/01-contents.ipynb",
    ]


def test_invalid_story_is_refused_before_copying(served: list[tuple], tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text("scenario: 1")
    result = asked("lab", tmp_path / "bad.yaml", "--folder", tmp_path / "hawb")
    assert (result.exit_code, served) == (2, []) and not (tmp_path / "hawb").exists()


@pytest.mark.parametrize("taken", ["notebooks", "own"])
def test_unwritable_folder_is_reported_in_one_line(served: list[tuple], tmp_path: Path, taken: str) -> None:
    (tmp_path / taken).write_text("a file of somebody else's")
    result = asked("lab", STORY, "--folder", tmp_path)
    assert (result.exit_code, served) == (2, [])
    assert result.stderr.splitlines()[-1].startswith(f"{tmp_path}: notebooks cannot be copied there: ")
