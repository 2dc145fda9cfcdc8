"""Commands write their files completely or not at all, and no other files. Each system call that places a file fails
once."""

from __future__ import annotations

import ast
import errno
from collections.abc import Mapping
from itertools import count
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result
from failing_writes import CALLS, FailingWrites
from management_api import LOGIN, serving
from samples import sample
from typed_commands import ROOT, WRITTEN, Typed

import hawb
from hawb.cli import main
from hawb.cli import spark as spark_commands
from hawb.cli.files import Refusing, write_folder, write_scenario
from hawb.scenario.saving import Outputs

HAWB = Path(hawb.__file__).parent
COMMANDS = [
    *(typed.words for typed in WRITTEN if typed.status != 2 and "{to}" in typed.words and "fuzz" not in typed.words),
    "import {export} -o {to}/story.yaml --numbers {to}/own.yaml",
    "upgrade {story} -o {to}/u.md --scenario {to}/u.yaml --report {to}/u.html --gantt {to}/u.svg",
]  # fmt: skip
Written = tuple[Path, Any, bool | None]
"""A file or a folder, what is written, and whether a file may be replaced; None for a folder."""

WRITES = {"write_text", "write_bytes", "savefig", "to_csv", "to_json", "to_html", "mkdtemp", "mkstemp"}
OF_THEIR_OWN = {
    "scenario/inputs.py": "copies of streams, in a temporary folder",
    "incident/made_up_logs.py": "logs of tests", "study/made_up_fleet.py": "exports of tests",
    "lab/sources.py": "uploads, in a temporary folder", "exports/watch.py": "answers, in a temporary folder",
    "conformance/fuzz.py": "a campaign's results, to which each is added",
    "study/java.py": "a shim, in a temporary folder", "study/spark.py": "Spark's warehouse, a temporary folder",
    "lab/study_panel.py": "a table in memory", "views/embedded.py": "a picture in memory",
    "views/figures.py": "a picture in memory", "cli/upgrade.py": "a picture in memory",
    "views/schemas.py": "the schemas of the project", "scenario/signatures.py": "the stubs of the project",
    "languages/catalogues.py": "the catalogues of the project",
}  # fmt: skip
"""The modules that open files to write otherwise than by `hawb.scenario.saving`, and what."""


def wanted(words: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Result, list[Written]]:
    """What a command answers, and the files that it asks to be written."""
    found: list[Written] = []
    add, add_folder = Outputs.add, Outputs.add_folder

    def added(self: Outputs, file: Path, content: Any, replace: bool = True) -> None:
        found.append((file, content, replace))
        add(self, file, content, replace)

    def added_folder(self: Outputs, folder: Path, contents: Mapping[str, Any]) -> None:
        found.append((folder, dict(contents), None))
        add_folder(self, folder, contents)

    monkeypatch.setattr(Outputs, "add", added)
    monkeypatch.setattr(Outputs, "add_folder", added_folder)
    result = CliRunner().invoke(main, Typed(words).filled(folder))
    monkeypatch.undo()
    return result, found


def tree(folder: Path) -> dict[str, bytes | None]:
    """All that is in a folder."""
    return {str(one.relative_to(folder)): one.read_bytes() if one.is_file() else None for one in folder.rglob("*")}


def writing(written: list[Written], folder: Path) -> Result:
    """A command that prints an answer and writes so much into a folder, as others do."""

    @click.group(cls=Refusing)
    def group() -> None:
        pass

    @group.command()
    def writes() -> None:
        for place, content, replace in written:
            if replace is None:
                write_folder(folder / place.name, content)
            else:
                write_scenario(folder / place.name, content, replace)
        click.echo("the answer")
        raise SystemExit(1)

    return CliRunner().invoke(group, ["writes"])


def fail_everywhere(written: list[Written], tmp_path: Path) -> None:
    """Let each call fail once, where files stand already and where none do; a folder and a file that is not replaced
    stand nowhere."""
    for old in (True, False):
        for call in CALLS:
            for at in count():
                folder = tmp_path / f"{old}-{call}-{at}"
                folder.mkdir()
                (folder / "another").write_bytes(b"another")
                for place, _, replace in written:
                    if old and replace:
                        (folder / place.name).write_bytes(b"old")
                before = tree(folder)
                with FailingWrites(call, at, errno.ENOSPC) as failing:
                    result = writing(written, folder)
                if not failing.failed:
                    break
                if result.exit_code == 2:
                    assert tree(folder) == before
                    [line] = result.stderr.splitlines()
                    assert line.endswith(": cannot be written: No space left on device") and ".hawb-" not in line
                else:  # a link that is of no consequence: not every file system has them
                    assert (call, result.exit_code, result.stderr) == ("link", 1, "")
            assert (result.exit_code, result.stderr) == (1, "")
            names = {place.name for place, _, _ in written}
            assert {name for name in tree(folder) if "/" not in name} == names | {"another"}


@pytest.mark.parametrize("words", sample(COMMANDS, 4))
def test_command_writes_all_of_its_files_or_none(tmp_path: Path, words: str, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "to").mkdir()
    result, written = wanted(words, tmp_path / "to", monkeypatch)
    assert result.exit_code in (0, 1), result.stderr
    assert {tmp_path / "to" / name for name in tree(tmp_path / "to") if "/" not in name} == {
        place for place, _, _ in written
    }  # fmt: skip
    assert len(written) == words.count("{to}")
    fail_everywhere(written, tmp_path)


def test_watch_writes_its_file_completely_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HAWB_API_USER", LOGIN.user)
    monkeypatch.setenv("HAWB_API_PASSWORD", LOGIN.password)
    (tmp_path / "to").mkdir()
    with serving() as server:
        typed = ["watch", "--api", server.url, "-o", str(tmp_path / "to" / "story.yaml")]
        with FailingWrites("fsync", 0, errno.EIO):
            failed = CliRunner().invoke(main, typed)
        assert (failed.exit_code, tree(tmp_path / "to")) == (2, {})
        assert CliRunner().invoke(main, typed).exit_code == 0
    assert [*tree(tmp_path / "to")] == ["story.yaml"]


def test_spark_commands_write_completely_or_not_at_all():
    """Starting a Spark session for each failing call would be too expensive."""
    used = {node.id for node in ast.walk(ast.parse(Path(spark_commands.__file__).read_text(encoding="utf-8")))
            if isinstance(node, ast.Name)}  # fmt: skip
    assert "write_scenario" in used and "write" not in used


def test_refusal_leaves_existing_files_unchanged(tmp_path: Path):
    report = tmp_path / "report.html"
    report.write_bytes(b"old")
    story = ROOT / "data" / "scenarios" / "unsynchronised-mirror-promoted.yaml"
    for typed in (
        ["run", str(story), "--report", str(tmp_path)],
        ["upgrade", str(story), "-o", str(report), "--report", str(tmp_path / "none" / "x")],
    ):
        result = CliRunner().invoke(main, typed)
        assert (result.exit_code, tree(tmp_path)) == (2, {"report.html": b"old"})
        assert "is a directory" in result.stderr or result.stderr.count("\n") == 1


def writes_of(module: ast.Module) -> bool:
    """Return True if a module writes files by itself."""
    for call in ast.walk(module):
        if isinstance(call, ast.Call):
            name = getattr(call.func, "attr", getattr(call.func, "id", ""))
            modes = {one.value for one in (*call.args, *(each.value for each in call.keywords))
                     if isinstance(one, ast.Constant) and isinstance(one.value, str)}  # fmt: skip
            if name in WRITES or (name in ("open", "fdopen") and modes & {"w", "wb", "a", "ab", "x", "xb", "w+b"}):
                return True
    return False


def test_only_saving_writes_files():
    found = {
        file.relative_to(HAWB).as_posix()
        for file in HAWB.rglob("*.py") if writes_of(ast.parse(file.read_text(encoding="utf-8")))
    }  # fmt: skip
    driven = {f"broker/{name}.py" for name in ("cluster", "namespaces", "nodes", "roots", "slow_links", "membership")}
    built = {name for name in found if name.startswith(("site/", "docs/"))}
    assert found - driven - built == OF_THEIR_OWN.keys()
