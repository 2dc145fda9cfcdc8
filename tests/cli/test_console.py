"""What a console cannot write: an answer is read there all the same."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from hawb.cli.console import PLAIN, plain
from hawb.views import style

ROOT = Path(__file__).parents[2]
NAME = "\u05d0 ✕ \u20ac é"
STORY = f"""\
scenario: One of {NAME}
cluster: {{nodes: [a, b✕], version: "3.10"}}
steps:
  - declare: {{queue: "{NAME}", node: a}}
  - publish: {{queue: "{NAME}", count: 3}}
  - kill: a
"""


def hawb(code_page: str, *words: object) -> subprocess.CompletedProcess[bytes]:
    """The command in a process whose output has a code page, as on Windows."""
    environment = os.environ | {"PYTHONIOENCODING": code_page, "PYTHONPATH": str(ROOT), "PYTHONUTF8": "0"}
    return subprocess.run([sys.executable, "-m", "hawb.cli", *map(str, words)], env=environment, capture_output=True)


@pytest.fixture
def story(tmp_path: Path) -> Path:
    """A story with signs in its names, in a folder whose name has some too."""
    file = tmp_path / "my clusters ✕" / "a story.yaml"
    file.parent.mkdir()
    file.write_text(STORY, encoding="utf-8")
    return file


@pytest.mark.parametrize(("code_page", "name"), [("cp1252", "\\u05d0 x € é"), ("cp437", "\\u05d0 x \\u20ac é")])
def test_an_answer_does_not_end_at_a_sign_that_a_code_page_lacks(code_page: str, name: str, story: Path):
    ran = hawb(code_page, "run", story)
    assert (ran.returncode, ran.stderr) == (0, b"")
    assert ran.stdout.decode(code_page).splitlines()[1].startswith(f"x No: nothing is lost, but {name} is down.")


def test_a_refusal_is_told_too(story: Path):
    ran = hawb("cp1252", "run", story.with_name("✕ none.yaml"))
    assert ran.returncode == 2
    assert b"x none.yaml" in ran.stderr


def test_a_scenario_is_utf_8_wherever_it_goes(story: Path):
    export = story.with_name("own definitions.json")
    queue = {"name": NAME, "vhost": "/", "durable": True, "auto_delete": False, "arguments": {}}
    export.write_text(json.dumps({"vhosts": [{"name": "/"}], "queues": [queue]}), encoding="utf-8")
    assert NAME in hawb("cp1252", "import", export, "-o", "-").stdout.decode("utf-8")


def test_what_programs_read_is_utf_8_whatever_the_code_page(story: Path):
    suites = ElementTree.fromstring(hawb("cp1252", "check", "--format", "junit", story).stdout)
    assert NAME in next(suites.iter("testcase")).attrib["name"]
    assert "b✕" in hawb("cp1252", "safe", "--format", "prometheus", story).stdout.decode("utf-8")


def test_every_sign_of_a_look_has_a_plain_one():
    signs = {look.glyph for look in (*style.LOOKS.values(), *style.ANSWERS.values())}
    signs |= {ring for _, ring in style.SHARES}
    assert {sign for sign in signs if not sign.isascii()} <= PLAIN.keys()
    assert all(told.isascii() for told in PLAIN.values())


def test_what_cannot_be_read_is_not_made_up():
    with pytest.raises(UnicodeDecodeError):
        plain(UnicodeDecodeError("utf-8", b"\xff", 0, 1, "no"))
