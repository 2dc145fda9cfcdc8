"""The tour through the first minute: what it says is true of the story as it stands, whatever a person has done."""

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


def told(controller: Controller, *steps: tuple[str, object]) -> dict:
    """Return what the tour says after some more steps."""
    for verb, argument in steps:
        controller.act(verb, argument)
    return guide(controller)


@pytest.fixture
def controller() -> Controller:
    """The controller of the lab as it opens."""
    return Controller()


def test_it_begins_at_rest_with_what_the_mirrors_lack_and_one_invitation(controller):
    assert set(controller.outcome["nodes"].values()) == {"running"}
    assert controller.story_place == (0, 0) and not controller.can_undo and controller.moments == 1
    first = told(controller)
    assert (first["phase"], first["node"], first["is_at_rest"]) == (BEGIN, "a", True)
    assert first["texts"]["open"] == (
        "Each bar shows which messages a node holds. b and c have only 10 of the 110 messages of ha.orders. "
        "What if a dies?"
    )
    assert first["texts"]["kill"] == "Kill a"


def test_nothing_leads_back_behind_the_cluster_at_rest(controller):
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


def test_the_cluster_that_is_opened_again_is_at_rest_again(controller):
    controller.open_scenario(FOUR_QUEUES)
    assert guide(controller) is None
    controller.open_scenario(START)
    assert controller.is_at_rest and guide(controller)["is_at_rest"]


@pytest.mark.parametrize("more", [0, 890])
def test_a_loss_is_counted_as_it_is(controller, more):
    steps = [("publish", {"queue": "qq.orders", "count": more})] if more else []
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
    assert held["texts"]["held"].startswith("a is down and no message is lost")
    assert "lost" not in held["texts"]


def test_a_mirror_that_lacks_nothing_is_not_said_to(controller):
    begun = told(controller, ("set_policy", SYNCHRONISED))
    assert "a is the master of ha.orders. What if a dies?" in begun["texts"]["open"]
    assert not begun["is_at_rest"]


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
        assert ("Each bar" in text) is (name == "en")


def test_it_says_nothing_of_a_quorum_queue_that_has_lost_nothing(controller):
    controller.act("kill", "a")
    controller.ask_alternatives(controller.harms[0])
    (quorum,) = [one for one in offered(controller.alternatives) if one.change.what == "a quorum queue"]
    controller.try_alternative(quorum)
    assert told(controller)["phase"] == HELD
    controller.step_back()
    assert guide(controller) is None
