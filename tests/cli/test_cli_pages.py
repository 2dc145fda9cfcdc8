"""`-o` writes the answer as a page. Other outputs have their own options, and older spellings still work."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from test_cli_answers import LOST, MIRRORED, QUORUM, asked

from hawb.cli import main
from hawb.cli.extra import TAKEN
from hawb.cli.pages import OWN

MOVED = [
    ("upgrade", QUORUM, "-o {}/runbook.md", "--runbook {}/runbook.md"),
    ("migrate", MIRRORED, "-o {}/plan", "--plan {}/plan"),
    ("explore --operations 0 --without power_off", LOST.removesuffix("  - kill: a\n"), "-o {}/bad.yaml",
     "--scenario {}/bad.yaml"),
    ("run", QUORUM, "--report {}/answer.html", "-o {}/answer.html"),
    ("lint", QUORUM, "--report {}/answer.html", "-o {}/answer.html"),
]  # fmt: skip
"""A command, what it is about, an older spelling, and today's."""
WITH_PAGES = ("run", "safe", "lint", "replicas", "upgrade", "migrate", "incident", "rates", "audit", "explore")


def written(folder: Path, words: str, content: str, option: str) -> tuple[Result, dict[str, bytes]]:
    """Return the result of a command and the files that it writes."""
    folder.mkdir()
    result = asked(folder.parent, f"{words} {option.format(folder)}", content)
    return result, {str(one.relative_to(folder)): one.read_bytes() for one in folder.rglob("*") if one.is_file()}


@pytest.mark.parametrize(("words", "content", "older", "today"), MOVED, ids=[one[0].split()[0] for one in MOVED])
def test_older_spelling_writes_the_same_with_a_note(tmp_path, words, content, older, today):
    was, files = written(tmp_path / "w", words, content, older)
    now, same = written(tmp_path / "n", words, content, today)
    assert was.exit_code == now.exit_code != 2
    assert files and files == {name: text.replace(b"/n/", b"/w/") for name, text in same.items()}
    assert was.stdout == now.stdout.replace("/n/", "/w/")
    notes = [line for line in was.stderr.splitlines() if line.startswith("note: ")]
    assert len(notes) == 1 and notes[0].endswith(today.format(tmp_path / "w"))
    assert "note: " not in now.stderr


@pytest.mark.parametrize(
    ("option", "both"), [("-o {}/a.md", "--runbook {}/b.md"), ("-o {}/a.html", "--report {}/b.html")]
)
def test_one_file_under_two_options_is_refused(tmp_path, option, both):
    given = f"{option} {both}".replace("{}", str(tmp_path / "w"))
    result, files = written(tmp_path / "w", "upgrade", QUORUM, given)
    assert result.exit_code == 2 and not files and result.stdout == ""
    assert "give " in result.stderr


@pytest.mark.parametrize("command", WITH_PAGES)
def test_help_of_each_command_describes_the_page_option(command):
    shown = " ".join(CliRunner().invoke(main, [command, "--help"]).stdout.split())
    assert "-o, --output PAGE Write the answer as an HTML page." in shown
    assert "--report" not in shown
    assert command not in OWN or f"--{OWN[command]} " in shown


def test_extra_for_pages_is_needed_only_for_pages():
    [figures] = [one for one in TAKEN if (one.command, one.option) == ("upgrade", "output")]
    assert figures.by("upgrade", {"output": Path("a.html"), "report": None})
    assert figures.by("upgrade", {"output": None, "report": Path("a.html")})
    assert not figures.by("upgrade", {"output": Path("runbook.md"), "report": None})
