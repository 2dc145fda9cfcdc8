"""The panel for the user's own cluster: uploads are answered or refused beside it, and results can be downloaded."""

from __future__ import annotations

import json
import re
from base64 import b64decode
from pathlib import Path

import pytest
import yaml
from html_pages import FETCHING, Page
from samples import sample

from hawb.lab import questions
from hawb.lab.own_files import OwnFiles, found_in, links_html, texts_of
from hawb.lab.questions import INCIDENT, MOVE, REPLICAS, SAFE, UPGRADE, WORST, Question
from hawb.languages import language
from hawb.scenario.expect import check
from hawb.scenario.load import read_scenario
from hawb.scenario.run import Run

REAL = Path(__file__).parents[2] / "data" / "real"
LOGS = REAL.parent / "logs" / "3.10" / "unsynchronised-mirror-promoted"
NAMES = ("definitions.json", "api-queues.json", "api-nodes.json")
FILES = [(name, (REAL / name).read_bytes()) for name in NAMES]
ASKED = {"move": MOVE, "safe": SAFE, "upgrade": UPGRADE, "replicas": REPLICAS}
EXPORT = {"rabbitmq_version": "3.10.8", "queues": [], "policies": [], "vhosts": [{"name": "/"}]}

each = pytest.mark.parametrize("question", ASKED.values(), ids=ASKED)
some = pytest.mark.parametrize("question", sample(ASKED.values(), 2), ids=ASKED)


@pytest.fixture(autouse=True)
def no_trials(monkeypatch: pytest.MonkeyPatch) -> None:
    """Skip the trials of one to seven replicas."""
    monkeypatch.setattr(questions, "TRIALS", 0)


def answered(question: Question) -> object:
    """Return the answer to a question for data/real, with its default choices."""
    return found_in(question, FILES, {name: values[0] for name, values in question.choices.items()})


def upload(panel: OwnFiles, *files: tuple[str, bytes]) -> None:
    """Drop files on the panel."""
    panel.files.receive([name for name, _content in files], [memoryview(content) for _name, content in files])


def downloads(answer: str) -> dict[str, str]:
    """Return the files that an answer links to, by name."""
    links = re.findall(r'href="data:[^;]*;charset=utf-8;base64,([^"]*)" download="([^"]*)"', answer)
    return {name: b64decode(content).decode() for content, name in links}


@some
def test_upload_changes_the_answer_and_an_invalid_one_is_explained(question: Question):
    first = answered(question)
    panel = OwnFiles(question, first, "data/real")
    assert "The answer for data/real:" in panel.message.value
    began = panel.page.page
    assert began == texts_of(question, first)["report.html"]
    panel.button.click()
    assert "No file is chosen." in panel.message.value and panel.page.page == began
    upload(panel, ("x<b>.json", b"[1"))
    assert "x_b_.json" in panel.message.value and "accepted" in panel.message.value
    assert "hawb-own-" not in panel.message.value and panel.page.page == began
    upload(panel, FILES[0])
    assert "The answer for definitions.json:" in panel.message.value
    assert panel.page.page != began
    if question in (SAFE, UPGRADE):  # where replicas stand is assumed then
        assert "no listing has the nodes" in panel.page.page


@some
def test_downloads_are_self_contained(question: Question):
    written = downloads(links_html(texts_of(question, answered(question))))
    page = Page(written["report.html"])
    assert "qq.pair" in page.said
    for tag, attributes in page.elements:
        assert tag not in {*FETCHING} - {"use"}
        assert all(value.startswith("#") for name, value in attributes.items() if name in ("href", "xlink:href", "src"))
    users = json.loads(FILES[0][1])["users"]
    for text in written.values():
        assert "@import" not in text and not [user for user in users if user["password_hash"] in text]


@pytest.mark.full
def test_each_question_offers_the_files_of_its_command():
    written = {name: [*downloads(links_html(texts_of(one, answered(one))))] for name, one in ASKED.items()}
    assert written == {
        "move": ["definitions.json", "definitions-in-place.json", "definitions-beside.json", "runbook.md",
                 "report.html"],
        "safe": ["report.html"],
        "upgrade": ["report.html", "runbook.md", "rehearsal.yaml"],
        "replicas": ["report.html"],
    }  # fmt: skip


def test_worst_case_is_searched_for_each_kind_of_queue():
    panel = OwnFiles(WORST)
    upload(panel, ("definitions.json", json.dumps(EXPORT).encode()))
    assert "The files name no queue" in panel.message.value and panel.page.page == ""
    panel.files.value = []
    panel.choices["goal"].value = "a queue out of use"
    upload(panel, *FILES)
    written = downloads(panel.links.value)
    assert [*written] == ["report.html", "cluster.yaml", "worst.yaml"]
    said = Page(written["report.html"]).said
    assert "No: no node serves qq.pair after 1 step: stop a@10.77.9.1." in said
    assert "26 queues of 15 kinds" in said and "a story harms" in said
    run = Run.of(read_scenario(yaml.safe_load(written["worst.yaml"])))
    assert check(run, run.scenario.expect) == []
    panel.choices["operations"].value = 0
    assert "stop a@10.77.9.1" not in Page(panel.page.page).said


def test_choices_beside_the_files_change_the_answer():
    panel = OwnFiles(UPGRADE)
    panel.choices["nodes"].value = questions.AT_ONCE
    upload(panel, *FILES)
    assert "Can all nodes stop and start again?" in downloads(panel.links.value)["report.html"]
    panel = OwnFiles(REPLICAS)
    panel.choices["failures"].value = 2
    upload(panel, *FILES)
    assert "Recommended for 2 failures" in panel.page.page
    assert OwnFiles(MOVE).choices["to"].value == "4.3"


def test_another_choice_is_answered_at_once():
    panel = OwnFiles(MOVE, answered(MOVE), "data/real", [REAL / name for name in NAMES])
    began = panel.page.page
    panel.choices["to"].value = "4.0"
    assert "The answer for data/real:" in panel.message.value and panel.page.page != began
    upload(panel, *FILES)
    assert "The answer for definitions.json, api-queues.json, api-nodes.json:" in panel.message.value
    other = panel.page.page
    panel.choices["to"].value = "4.3"
    assert panel.page.page != other and "hawb-own-" not in panel.page.page + other


def test_logs_are_answered_with_the_incident_page():
    panel = OwnFiles(INCIDENT)
    upload(panel, ("notes.txt", b"nothing that a node has logged"))
    assert "alert" in panel.message.value and panel.page.page == "" and "hawb-own-" not in panel.message.value
    logs = sorted(LOGS.glob("*.log.gz"))
    upload(panel, *((file.name, file.read_bytes()) for file in logs))
    assert "The answer for a.log.gz, b.log.gz, c.log.gz:" in panel.message.value
    assert "n1 ended without a shutdown" in Page(panel.page.page).said and "hawb-own-" not in panel.page.page


def test_panel_keeps_its_language_and_the_report_is_in_english():
    with language("pt"):
        panel = OwnFiles(INCIDENT)
        upload(panel)
        assert "Nenhum arquivo" in panel.message.value
        upload(panel, *((file.name, file.read_bytes()) for file in LOGS.glob("*.log.gz")))
    assert panel.button.description == "o que aconteceu?" and "A resposta para" in panel.message.value
    assert "What to do" in panel.page.page and "O que fazer" not in panel.page.page


def test_names_in_an_export_are_escaped():
    nasty = "<script>alert(1)</script>"
    export = EXPORT | {"queues": [{"name": nasty, "vhost": "/", "durable": True, "arguments": {}}]}
    for question in ASKED.values():
        panel = OwnFiles(question)
        upload(panel, (nasty, json.dumps(export).encode()))
        assert "The answer for" in panel.message.value
        for text in (panel.message.value, panel.page.page, downloads(panel.links.value)["report.html"]):
            assert "<script" not in text and "&lt;script&gt;" in text, question


def test_cluster_without_running_nodes_has_no_upgrade_plan():
    nodes = json.dumps([{"name": "rabbit@a", "running": False}]).encode()
    panel = OwnFiles(UPGRADE)
    upload(panel, ("definitions.json", json.dumps(EXPORT).encode()), ("nodes.json", nodes))
    assert "none that runs" in panel.message.value
