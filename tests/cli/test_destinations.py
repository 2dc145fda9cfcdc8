"""Output paths of commands are checked before any work."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import NamedTuple

import click
import pytest
from click.testing import CliRunner, Result

from hawb.cli import every_command, main
from hawb.cli.destinations import destinations
from hawb.cli.files import Destination, Source
from hawb.cli.spark import Tables
from hawb.scenario.saving import Kind

STORY = Path(__file__).parents[2] / "data" / "scenarios" / "unsynchronised-mirror-promoted.yaml"
TAKEN = {"study": ("--output", "{to}/study"), "watch": ("--api", "http://127.0.0.1:1")}
"""Options without which a command is not played."""
INPUT = {"lint": "absent.yaml", "watch": None, "fuzz": None}


def hawb(*words: object) -> Result:
    return CliRunner().invoke(main, [*map(str, words)])


class Written(NamedTuple):
    """An output option of a command."""

    command: str
    option: str
    kind: Kind


FIRST = "folder"
"""The option of commands that make their folder themselves."""
WRITTEN = [Written(command.name or "", option, kind) for command in every_command().values()
           for option, kind in destinations(command).items()]  # fmt: skip
CHECKED = [one for one in WRITTEN if one.option != FIRST]


def named(written: Written) -> str:
    return f"{written.command}-{written.option}"


def option(written: Written) -> str:
    [found] = [one.opts[-1] for one in every_command()[written.command].params if one.name == written.option]
    return found


def writing(written: Written, place: Path, to: Path) -> Result:
    """Run a command with a missing input and this output."""
    given = INPUT.get(written.command, "absent.yaml")
    more = [word.format(to=to) for word in TAKEN.get(written.command, ())]
    if more[:1] == [option(written)]:
        more = []
    return hawb(written.command, *([to / given] if given else []), *more, option(written), place)


def test_every_path_option_is_marked_as_read_or_written():
    paths = {
        (command.name, parameter.name): type(parameter.type) for command in every_command().values()
        for parameter in command.params if isinstance(parameter.type, click.Path)
    }  # fmt: skip
    assert {*paths.values()} == {Source, Destination, Tables}
    assert issubclass(Tables, Destination)
    assert {("study", "output"), ("run", "report"), ("audit", "tables")} <= {one[:2] for one in WRITTEN}


@pytest.mark.parametrize("written", CHECKED, ids=named)
def test_unwritable_output_is_refused_before_reading(written: Written, tmp_path: Path):
    (tmp_path / "file").touch()
    makes_folders = written.kind in (Kind.FOLDER, Kind.NEW_FOLDER)
    place = tmp_path / "file" / "below" if makes_folders else tmp_path / "missing" / "below.html"
    refused = writing(written, place, tmp_path)
    said = (
        f"{tmp_path / 'file'} is not a folder" if makes_folders else f"the folder {tmp_path / 'missing'} does not exist"
    )
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert refused.stderr.splitlines()[-1].startswith(f"{place}: {said}")
    assert [file.name for file in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("written", [one for one in CHECKED if one.kind is not Kind.FOLDER], ids=named)
def test_existing_output_is_not_overwritten_unexpectedly(written: Written, tmp_path: Path):
    """A folder in place of a file, and anything that exists where a new folder is wanted."""
    there = tmp_path / "there.html"
    there.mkdir() if written.kind is Kind.FILE else there.touch()
    refused = writing(written, there, tmp_path)
    said = "is a (folder|directory)" if written.kind is Kind.FILE else "exists already"
    assert (refused.exit_code, bool(re.search(said, refused.stderr))) == (2, True)


def test_output_may_not_be_used_twice_or_also_read(tmp_path: Path):
    place = tmp_path / "answer"
    refused = hawb("upgrade", STORY, "-o", place, "--report", f"{tmp_path}/./answer")
    assert (refused.exit_code, "--output names it already; give --report another name" in refused.stderr) == (2, True)
    refused = hawb("explore", STORY, "-o", STORY)
    assert (refused.exit_code, "is an input of this command" in refused.stderr) == (2, True)
    assert not place.exists()


@pytest.mark.skipif(not os.path.exists("/dev/null"), reason="a device takes a Unix")  # noqa: PTH110
def test_device_and_link_are_valid_outputs(tmp_path: Path):
    (tmp_path / "link").symlink_to(tmp_path / "page.html")
    for place in ("/dev/null", tmp_path / "link"):
        assert "absent.yaml" in hawb("run", tmp_path / "absent.yaml", "--report", place).stderr
    (tmp_path / "nowhere").symlink_to(tmp_path / "missing" / "page.html")
    assert "does not exist; create it first" in hawb("run", STORY, "--report", tmp_path / "nowhere").stderr


def test_circular_links_are_refused(tmp_path: Path):
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    for words in (("run", STORY, "-o", tmp_path / "a"), ("run", tmp_path / "a"), ("lint", tmp_path / "a"),
                  ("import", tmp_path / "a", "--numbers", tmp_path / "b")):  # fmt: skip
        refused = hawb(*words)
        assert (refused.exit_code, refused.stdout, "hawb failed" in refused.stderr) == (2, "", False)
