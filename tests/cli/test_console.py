"""Consoles that cannot encode a character still show the answer."""

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
    """Run the command in a process whose output has a code page, as on Windows."""
    environment = os.environ | {"PYTHONIOENCODING": code_page, "PYTHONPATH": str(ROOT), "PYTHONUTF8": "0"}
    return subprocess.run([sys.executable, "-m", "hawb.cli", *map(str, words)], env=environment, capture_output=True)


@pytest.fixture
def story(tmp_path: Path) -> Path:
    """Write a story with non-ASCII names in a folder with a non-ASCII name."""
    file = tmp_path / "my clusters ✕" / "a story.yaml"
    file.parent.mkdir()
    file.write_text(STORY, encoding="utf-8")
    return file


@pytest.mark.parametrize(("code_page", "name"), [("cp1252", "\\u05d0 x € é"), ("cp437", "\\u05d0 x \\u20ac é")])
def test_answer_is_complete_on_a_code_page_without_its_characters(code_page: str, name: str, story: Path):
    ran = hawb(code_page, "run", story)
    assert (ran.returncode, ran.stderr) == (0, b"")
    assert ran.stdout.decode(code_page).splitlines()[1].startswith(f"x No: nothing is lost, but {name} is down.")


def test_refusal_is_shown_on_any_code_page(story: Path):
    ran = hawb("cp1252", "run", story.with_name("✕ none.yaml"))
    assert ran.returncode == 2
    assert b"x none.yaml" in ran.stderr


def test_scenario_is_always_written_in_utf_8(story: Path):
    export = story.with_name("own definitions.json")
    queue = {"name": NAME, "vhost": "/", "durable": True, "auto_delete": False, "arguments": {}}
    export.write_text(json.dumps({"vhosts": [{"name": "/"}], "queues": [queue]}), encoding="utf-8")
    assert NAME in hawb("cp1252", "import", export, "-o", "-").stdout.decode("utf-8")


def test_machine_readable_output_is_utf_8_on_any_code_page(story: Path):
    suites = ElementTree.fromstring(hawb("cp1252", "check", "--format", "junit", story).stdout)
    assert NAME in next(suites.iter("testcase")).attrib["name"]
    assert "b✕" in hawb("cp1252", "safe", "--format", "prometheus", story).stdout.decode("utf-8")


def test_every_symbol_has_an_ascii_form():
    signs = {look.glyph for look in (*style.LOOKS.values(), *style.ANSWERS.values())}
    signs |= {ring for _, ring in style.SHARES}
    assert {sign for sign in signs if not sign.isascii()} <= PLAIN.keys()
    assert all(item.isascii() for item in PLAIN.values())


def test_undecodable_input_is_refused():
    with pytest.raises(UnicodeDecodeError):
        plain(UnicodeDecodeError("utf-8", b"\xff", 0, 1, "no"))
