"""The tour through the first minute: what it says is true of the story as it stands, whatever a person has done."""

from __future__ import annotations

import pytest

from hawb import languages
from hawb.lab.controller import Controller
from hawb.lab.guide import BEGIN, HELD, LOST, guide
from hawb.languages import LANGUAGES

SYNCHRONISED = {"name": "ha-all", "pattern": r"^ha\.", "definition": {"ha-mode": "all", "ha-sync-mode": "automatic"}}
WHEN_SYNCED = {
    "name": "ha-all", "pattern": r"^ha\.", "definition": {"ha-mode": "all", "ha-promote-on-failure": "when-synced"},
}  # fmt: skip


def told(controller: Controller, *steps: tuple[str, object]) -> dict:
    """Return what the tour says after some more steps."""
    for verb, argument in steps:
        controller.act(verb, argument)
    return guide(controller)


def test_it_begins_with_what_the_mirror_lacks(controller):
    first = told(controller)
    assert first["phase"] == BEGIN
    assert "3 nodes hold 4 queues" in first["texts"]["open"]
    assert "b has only 10 of the 110 messages of ha.orders. Click node a" in first["texts"]["open"]
    assert first["texts"]["kill"] == "Kill a."


@pytest.mark.parametrize("more", [0, 890])
def test_a_loss_is_counted_as_it_is(controller, more):
    steps = [("publish", {"queue": "plain.log", "count": more})] if more else []
    lost = told(controller, *steps, ("kill", "a"))
    assert (lost["phase"], lost["texts"]["lost"].startswith("That cost 100 confirmed messages.")) == (LOST, True)


def test_a_loss_of_messages_that_were_not_confirmed_is_not_said_to_be(controller):
    more = {"queue": "t", "count": 7, "persistent": False, "mode": "plain"}
    transient = {"queue": "t", "node": "a", "durable": False}
    lost = told(controller, ("declare", transient), ("publish", more), ("kill", "a"))
    assert lost["texts"]["lost"].startswith("That cost 107 messages.")


@pytest.mark.parametrize("policy", [SYNCHRONISED, WHEN_SYNCED])
@pytest.mark.parametrize("fault", ["kill", "power_off"])
def test_where_a_policy_was_set_meanwhile_no_loss_is_claimed(controller, policy, fault):
    held = told(controller, ("set_policy", policy), (fault, "a"), ("wait", 70))
    assert held["phase"] == HELD
    assert held["texts"]["held"].startswith("a is down, and no message is lost")
    assert "lost" not in held["texts"]


def test_a_mirror_that_lacks_nothing_is_not_said_to(controller):
    assert "Click node a, which is the master" in told(controller, ("set_policy", SYNCHRONISED))["texts"]["open"]


def test_another_node_that_went_first_does_not_end_it(controller):
    assert told(controller, ("kill", "b"))["phase"] == BEGIN


def test_another_cluster_has_no_tour(controller, tmp_path):
    file = tmp_path / "other.yaml"
    file.write_text("scenario: x\ncluster: {nodes: [a], version: '3.10'}\nsteps: [{declare: {queue: ha.orders}}]\n")
    controller.open_scenario(file)
    assert guide(controller) is None


def test_without_the_queue_there_is_none(controller):
    assert told(controller, ("delete", {"queue": "ha.orders"})) is None


@pytest.mark.parametrize("name", LANGUAGES)
def test_it_is_told_in_every_language_with_its_numbers(name):
    with languages.language(name):
        controller = Controller()
        controller.act("publish", {"queue": "ha.orders", "count": 1190})
        text = told(controller)["texts"]["open"]
        written = {"en": "1,300", "zh": "1,300", "pt": "1.300"}[name]
        assert written in text
        assert ("Click" in text) is (name == "en")
