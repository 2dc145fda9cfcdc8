"""The lab in other languages: all text but names is translated, and the language can be chosen on the page."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import ipywidgets as widgets
import pytest
from pseudo_language import NAME, plain_words, pseudo_language, visible
from samples import sample

from hawb import languages
from hawb.lab import menus
from hawb.lab.controller import Controller
from hawb.lab.page import Lab
from hawb.languages import LANGUAGES
from hawb.scenario.verbs import VERBS

NAMES = {
    "a b c rabbit ha.orders two.mail qq.votes plain.transient ha-all ha-two two exactly all classic quorum stream",
    "RabbitMQ rabbitmqctl rabbitmq-queues rabbitmq-upgrade rabbitmq-server basic.nack basic.get basic.publish",
    r"^ha\.",
    "Click any node queue QUEUE/NUMBER hawb.Cluster Python Khepri Raft vhost name pattern apply-to priority",
}
"""Words that are the same in every language."""


RABBITMQS = {
    "type", "messages", "mirrors", "synchronised mirrors", "members", "online", "policy", "running", "down", "state",
    "definitions", "check_if_node_is_quorum_critical", "check_if_node_is_mirror_sync_critical", "ha-promote-on-failure",
    "ha-promote-on-shutdown", "ha-sync-mode", "when-synced", "always", "manual", "automatic", "basic.ack",
    "basic.consume", "basic.cancel", "ack", "nack", "ha-mode", "ha-params", "minority", "my-outage.yaml",
    "queue-master-locator", "ha-sync-batch-size", "message-ttl",
}  # fmt: skip
"""What `rabbitmqctl` calls its columns and states, RabbitMQ's checks, keys of policies and methods of AMQP."""


def texts_of(value: object) -> Iterator[str]:
    """Yield the texts in a value, without its keys."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key not in KEYS:
                yield from texts_of(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from texts_of(inner)
    elif isinstance(value, str):
        yield value


KEYS = (
    "offers", "phase", "entry", "do", "verb", "argument", "tone", "kind", "event", "node", "queue", "state", "was",
    "type", "role", "beneath", "look", "way", "name", "title", "step", "next", "routes", "places", "panel", "choices",
    "words", "languages", "tag", "marks", "label",
)  # fmt: skip
"""Keys of what a page is told whose values are for its program, or names."""


@pytest.fixture
def wide(tmp_path: Path) -> Iterator[Lab]:
    """Open the lab in the pseudo language and kill a node."""
    with pseudo_language(tmp_path):
        lab = Lab(Controller(), NAME)
        lab.stage.receive({"do": "node", "node": "a", "entry": "kill"})
        yield lab


def names_of(lab: Lab) -> set[str]:
    outcome = lab.controller.outcome
    known = {*outcome["nodes"], *outcome["queues"], *outcome["ledger"], outcome["scenario"], *RABBITMQS, *VERBS}
    return known | {word for line in NAMES for word in line.split()} | {verb.replace("_", " ") for verb in VERBS}


def entries_of(lab: Lab, menu: str) -> list[dict]:
    """Return all entries of a menu, whatever group they are in."""
    return [entry for group in lab.stage.menus[menu] for entry in group["entries"]]


@pytest.mark.full
def test_texts_of_the_stage_come_from_the_catalogues(wide: Lab) -> None:
    found = [wide.stage.view, wide.stage.menus]
    labels = [entry["label"] for menu in ("node", "queue") for entry in entries_of(wide, menu)]
    left = {text: words for text in (*texts_of(found), *labels) if (words := plain_words(text, names_of(wide)))}
    assert not left


def widgets_in(widget: widgets.Widget) -> Iterator[widgets.Widget]:
    yield widget
    for child in getattr(widget, "children", ()):
        yield from widgets_in(child)


def said_by(widget: widgets.Widget) -> Iterator[str]:
    """Yield the texts that a widget shows."""
    yield from (getattr(widget, name, None) or "" for name in ("description", "tooltip", "placeholder"))
    if isinstance(widget, widgets.HTML):
        yield visible(re.sub(r"<pre>.*?</pre>", " ", widget.value, flags=re.DOTALL))


PANELS = (
    "Policy", "Clients", "Time", "Ledger", "Queues", "Load", "Safe?", "What if", "Beside", "Story", "Cluster", "Export",
)  # fmt: skip


@pytest.mark.parametrize("panel", sample(PANELS, 4))
def test_texts_of_a_panel_come_from_the_catalogues(wide: Lab, panel: str) -> None:
    wide.controller.choose("ha.orders")
    wide.open_panel(panel)
    names = names_of(wide)
    left = {text: words for widget in widgets_in(wide.drawer.box) for text in said_by(widget)
            if (words := plain_words(text, names))}  # fmt: skip
    assert not left


def test_choosing_a_language_translates_the_whole_page() -> None:
    lab = Lab(Controller())
    lab.stage.receive({"do": "node", "node": "a", "entry": "kill"})
    lab.open_panel("Story")
    assert "are lost" in lab.stage.view["leads"]["verdict"]["text"]
    lab.stage.receive({"do": "language", "language": "pt"})
    assert "se perderam" in lab.stage.view["leads"]["verdict"]["text"]
    assert lab.stage.tag == "pt-BR"
    assert lab.stage.words["What now"] == "E agora"
    assert (lab.panel, lab.stage.view["title"], lab.drawer.title.value) == ("Story", "História", "<h2>História</h2>")
    lab.stage.receive({"do": "undo"})
    assert lab.stage.view["leads"]["verdict"]["text"] == "Nada se perdeu, e todas as filas podem ser usadas."
    lab.stage.receive({"do": "language", "language": "en"})
    assert lab.stage.view["leads"]["verdict"]["text"] == "Nothing is lost, and every queue can be used."
    assert lab.stage.words == {}
    assert languages.in_force() == "en"


def test_two_labs_in_one_process_keep_their_languages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(languages.VARIABLE, "zh_CN.UTF-8")
    chinese, portuguese = Lab(Controller()), Lab(Controller(), "pt")
    for lab in (chinese, portuguese):
        lab.stage.receive({"do": "node", "node": "b", "entry": "stop"})
    labels = [{entry["label"] for entry in entries_of(lab, "node")} for lab in (chinese, portuguese)]
    assert "强制终止" in labels[0]
    assert "encerrar à força" in labels[1]
    found = [lab.stage.view["leads"]["happened"]["told"][0]["text"] for lab in (chinese, portuguese)]
    assert found == ["b 被受控关闭。", "b foi desligado de forma controlada."]


def test_result_of_a_click_is_in_the_language_of_the_lab() -> None:
    lab = Lab(Controller(), "pt")
    lab.open_panel("Story")
    story = lab.drawer.panels["Story"]
    story.question.value = "ha.orders/1"
    assert "A mensagem 1 de ha.orders está na fila" in story.story.value


def test_unknown_language_is_refused() -> None:
    with pytest.raises(ValueError, match="its languages are en, zh, pt"):
        Lab(Controller(), "fr")


@pytest.mark.parametrize("name", LANGUAGES)
def test_menu_entries_have_distinct_labels(name: str) -> None:
    with languages.language(name):
        for groups in (menus.NODES, menus.QUEUES, menus.MORE):
            labels = [entry["label"] for group in menus.plain(groups) for entry in group["entries"]]
            assert len(set(labels)) == len(labels)
