"""A lesson that a page plays: cells, guesses and answers, without a browser."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from shutil import copy
from types import ModuleType

import pytest

from hawb.docs.sources import CHECKOUT
from hawb.languages import language
from hawb.lessons import answers
from hawb.lessons.predictions import reply
from hawb.lessons.switchboard import Switches
from hawb.site.bundle import RUNTIME
from hawb.site.lesson import begin

ASKED = """\
from hawb import Cluster
from hawb.lessons import look, predict
cluster = Cluster("a", "b", version="3.10").declare("q", node="a")
killed = cluster.copy().kill("a")
print("asked")
predict("In which state is q?", ["running", "down"], "10-x", "down", look(killed), before=cluster, after=killed)
"""


GUESSED = """\
import json
import sys
from hawb.site.lesson import begin
messages = []
lesson = begin("", "en", [], messages.append)
lesson.receive({"cell": "5", "code": sys.argv[1]})
question, _ = json.loads(messages[0])["shown"][1]["values"]["children"]
lesson.receive({"widget": question["widget"], "set": {"guess": "running"}})
print(*messages, sep="\\n")
"""


@pytest.fixture
def play(tmp_path, monkeypatch):
    """Return a function that begins a lesson; it has the messages to its page as `messages`."""
    monkeypatch.setenv(answers.VARIABLE, str(tmp_path / "answers.json"))

    def begun(kept: str = "", spoken: str = "en"):
        found = []
        lesson = begin(kept, spoken, [], lambda text: found.append(json.loads(text)))
        lesson.messages = found
        return lesson

    return begun


def test_guess_is_answered_and_explained(play):
    lesson = play()
    lesson.receive({"cell": "5", "code": ASKED})
    printed, box = lesson.messages[0]["shown"]
    question, below = box["values"]["children"]
    assert printed == {"kind": "text", "text": "asked\n"} and question["kind"] == "question"
    assert question["values"]["reply"] == "" and "after" not in question["values"]["picture"]
    lesson.receive({"widget": question["widget"], "set": {"guess": "running"}})
    changed = lesson.messages[1]["changed"]
    assert "You said running" in changed[question["widget"]]["reply"] and changed[question["widget"]]["over"]
    assert below["values"]["children"] == [] and "<svg" in changed[below["widget"]]["children"][0]["html"]
    assert json.loads(lesson.messages[2]["answers"])["guesses"]["10-x"]["guess"] == "running"


def test_kept_guess_is_there_again(play):
    first = play()
    first.receive({"cell": "5", "code": ASKED})
    question = first.messages[0]["shown"][1]["values"]["children"][0]
    first.receive({"widget": question["widget"], "set": {"guess": "down"}})
    again = play(first.messages[-1]["answers"])
    again.receive({"cell": "5", "code": ASKED})
    question = again.messages[0]["shown"][1]["values"]["children"][0]["values"]
    assert question["over"] and "As you said" in question["reply"]


def test_reply_is_in_the_language_of_the_page(play):
    lesson = play(spoken="pt-BR")
    lesson.receive({"cell": "5", "code": ASKED})
    question = lesson.messages[0]["shown"][1]["values"]["children"][0]
    assert question["values"]["tag"] == "pt-BR"
    lesson.receive({"widget": question["widget"], "set": {"guess": "running"}})
    with language("pt"):
        assert lesson.messages[1]["changed"][question["widget"]]["reply"] == reply("running", "down") != ""
    assert reply("running", "down").startswith("It is: down.")


def test_damaged_answers_are_ignored(play):
    lesson = play("{not json")
    lesson.receive({"cell": "1", "code": "1 + 1"})
    assert "2" in lesson.messages[0]["shown"][0]["html"]


def test_error_of_a_cell_is_shown_and_later_cells_go_on(play):
    lesson = play()
    lesson.receive({"cell": "1", "code": "nothing_here"})
    lesson.receive({"cell": "2", "code": "x = '<b>'\nx"})
    assert "NameError" in lesson.messages[0]["shown"][0]["html"]
    assert "&lt;b&gt;" in lesson.messages[1]["shown"][0]["html"]


def test_switch_plays_again_and_a_wrong_value_changes_nothing(play):
    lesson = play()
    lesson.receive({"cell": "1", "code": "from hawb.lessons import switches\nswitches('ha-promote-on-failure')"})
    shown = lesson.messages[0]["shown"][0]
    assert shown["kind"] == "switches" and len(shown["values"]["grid"]) > 1
    key, start = "ha-promote-on-failure", shown["values"]["setting"]
    assert start[key] == "always"
    lesson.receive({"widget": shown["widget"], "set": {"setting": start | {key: "no such value"}}})
    assert len(lesson.messages) == 1
    lesson.receive({"widget": shown["widget"], "set": {"setting": start | {key: "when-synced"}}})
    assert {"setting", "stories"} <= set(lesson.messages[1]["changed"][shown["widget"]])


def test_page_gets_the_story_before_the_grid(play, monkeypatch):
    monkeypatch.setattr(Switches, "hold_sync", in_the_browser().AnyWidget.hold_sync)
    monkeypatch.setattr(Switches, "send_changed", lambda _self: None, raising=False)
    lesson = play()
    lesson.receive({"cell": "1", "code": "from hawb.lessons import switches\nswitches('ha-promote-on-failure')"})
    shown = lesson.messages[0]["shown"][0]
    setting = shown["values"]["setting"] | {"ha-promote-on-failure": "when-synced"}
    lesson.receive({"widget": shown["widget"], "set": {"setting": setting}})
    story, grid = (set(one["changed"][shown["widget"]]) for one in lesson.messages[1:])
    assert "stories" in story and "grid" not in story and "grid" in grid


def test_guess_is_explained_by_the_widgets_of_the_browser(tmp_path):
    """In another process, since the modules that replace ipywidgets and anywidget have the same names."""
    for name in ("anywidget.py", "ipywidgets.py"):
        copy(RUNTIME / name, tmp_path)
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(tmp_path), str(CHECKOUT)]), answers.VARIABLE: str(tmp_path / "answers.json"),
    }  # fmt: skip
    guessed = subprocess.run(
        [sys.executable, "-c", GUESSED, ASKED], env=environment, capture_output=True, text=True, check=False
    )
    assert (guessed.returncode, guessed.stderr) == (0, "")
    assert "You said running" in guessed.stdout and "<svg" in guessed.stdout


def in_the_browser() -> ModuleType:
    """Return the module that replaces anywidget in a browser."""
    spec = spec_from_file_location("anywidget_in_the_browser", RUNTIME / "anywidget.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
