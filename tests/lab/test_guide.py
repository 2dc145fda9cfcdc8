"""The tour of the first minute: its statements are true of the current story, whatever the user did."""

from __future__ import annotations

import pytest
from lab_clusters import FOUR_QUEUES

from hawb import languages
from hawb.lab.controller import Controller
from hawb.lab.guide import BEGIN, HELD, LOST, guide
from hawb.lab.leads import offered
from hawb.lab.sources import START
from hawb.languages import LANGUAGES

SYNCHRONISED = {"name": "ha-all", "pattern": r"^ha\.", "definition": {"ha-mode": "all", "ha-sync-mode": "automatic"}}
WHEN_SYNCED = {
    "name": "ha-all", "pattern": r"^ha\.", "definition": {"ha-mode": "all", "ha-promote-on-failure": "when-synced"},
}  # fmt: skip


def content(controller: Controller, *steps: tuple[str, object]) -> dict:
    """Return the tour's content after some more steps."""
    for verb, argument in steps:
        controller.act(verb, argument)
    return guide(controller)


@pytest.fixture
def controller() -> Controller:
    """Return the controller of a new lab."""
    return Controller()


def test_tour_starts_with_unsynchronised_mirrors_and_one_invitation(controller):
    assert set(controller.outcome["nodes"].values()) == {"running"}
    assert controller.story_place == (0, 0) and not controller.can_undo and controller.moments == 1
    first = content(controller)
    assert (first["phase"], first["node"], first["is_at_rest"]) == (BEGIN, "a", True)
    assert first["texts"]["open"] == (
        "Each bar shows which messages a node holds. b and c have only 10 of the 110 messages of ha.orders. "
        "What if a dies?"
    )
    assert first["texts"]["kill"] == "Kill a"


def test_initial_cluster_cannot_be_stepped_back(controller):
    controller.step_back()
    controller.look_at(0)
    assert controller.is_at_rest
    controller.act("kill", "a")
    assert (controller.story_place, controller.is_at_rest) == ((1, 1), False)
    controller.look_at(0)
    controller.step_back()
    controller.step_back()
    assert (controller.story_place, set(controller.outcome["nodes"].values())) == ((0, 1), {"running"})
    controller.step_forward()
    assert controller.outcome["losses"]


def test_tour_restarts_when_the_initial_cluster_is_opened_again(controller):
    controller.open_scenario(FOUR_QUEUES)
    assert guide(controller) is None
    controller.open_scenario(START)
    assert controller.is_at_rest and guide(controller)["is_at_rest"]


@pytest.mark.parametrize("more", [0, 890])
def test_tour_counts_lost_messages(controller, more):
    steps = [("publish", {"queue": "qq.orders", "count": more})] if more else []
    lost = content(controller, *steps, ("kill", "a"))
    assert (lost["phase"], lost["texts"]["lost"].startswith("100 confirmed messages are lost.")) == (LOST, True)


def test_tour_does_not_call_unconfirmed_messages_confirmed(controller):
    more = {"queue": "t", "count": 7, "persistent": False, "mode": "plain"}
    transient = {"queue": "t", "node": "a", "durable": False}
    lost = content(controller, ("declare", transient), ("publish", more), ("kill", "a"))
    assert lost["texts"]["lost"].startswith("The kill lost 107 messages.")


@pytest.mark.parametrize("policy", [SYNCHRONISED, WHEN_SYNCED])
@pytest.mark.parametrize("fault", ["kill", "power_off"])
def test_tour_claims_no_loss_if_a_policy_prevented_it(controller, policy, fault):
    held = content(controller, ("set_policy", policy), (fault, "a"), ("wait", 70))
    assert held["phase"] == HELD
    assert held["texts"]["held"].startswith("a is down, and no message is lost")
    assert "lost" not in held["texts"]


def test_tour_does_not_call_synchronised_mirrors_unsynchronised(controller):
    begun = content(controller, ("set_policy", SYNCHRONISED))
    assert "a is the master of ha.orders. What if a dies?" in begun["texts"]["open"]
    assert not begun["is_at_rest"]


def test_tour_continues_if_another_node_is_killed_first(controller):
    assert content(controller, ("kill", "b"))["phase"] == BEGIN


def test_other_clusters_have_no_tour(controller, tmp_path):
    file = tmp_path / "other.yaml"
    file.write_text("scenario: x\ncluster: {nodes: [a], version: '3.10'}\nsteps: [{declare: {queue: ha.orders}}]\n")
    controller.open_scenario(file)
    assert guide(controller) is None


def test_tour_ends_if_its_queue_is_deleted(controller):
    assert content(controller, ("delete", {"queue": "ha.orders"})) is None


@pytest.mark.parametrize("name", LANGUAGES)
def test_tour_shows_its_numbers_in_every_language(name):
    with languages.language(name):
        controller = Controller()
        controller.act("publish", {"queue": "ha.orders", "count": 1190})
        text = content(controller)["texts"]["open"]
        written = {"en": "1,300", "zh": "1,300", "pt": "1.300"}[name]
        assert written in text
        assert ("Each bar" in text) is (name == "en")


def test_tour_does_not_mention_a_quorum_queue_without_loss(controller):
    controller.act("kill", "a")
    controller.ask_alternatives(controller.now.harms[0])
    (quorum,) = [one for one in offered(controller.now.alternatives) if one.change.what == "a quorum queue"]
    controller.try_alternative(quorum)
    assert content(controller)["phase"] == HELD
    controller.step_back()
    assert guide(controller) is None
