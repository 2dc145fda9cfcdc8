"""What the columns say, as values."""

from __future__ import annotations

import pytest

from hawb.lab.leads import AT_ONCE, MOST_SENTENCES, asked_at_once, happened, leads, price, worst
from hawb.views.story.drafts import Drafts


def test_causes_are_told_before_effects_and_what_there_is_no_room_for_is_counted(controller):
    for number in range(12):
        controller.act("declare", {"queue": f"t{number}", "node": "a", "durable": False})
        controller.act("publish", {"queue": f"t{number}", "count": 1, "persistent": False})
    controller.act("kill", "a")
    told = happened(controller.outcome, controller.was, Drafts())
    assert len(told["told"]) == MOST_SENTENCES
    assert told["more"] > 0
    assert "loss" in {one["tone"] for one in told["told"]}


def test_what_happened_begins_with_the_fault_and_goes_on_in_its_order(controller):
    controller.act("kill", "a")
    told = happened(controller.outcome, controller.was, Drafts())["told"]
    assert told[0]["text"] == "a was killed."
    assert [float(one["t"]) for one in told] == sorted(float(one["t"]) for one in told)
    texts = [one["text"] for one in told]
    took_over = next(place for place, text in enumerate(texts) if "not synchronised, took over ha.orders" in text)
    assert took_over < next(place for place, text in enumerate(texts) if text.startswith("Messages 1 to 100"))


def test_the_worst_loss_is_looked_into_and_only_of_stories_that_are_short(controller):
    assert worst(controller) is None
    controller.act("kill", "a")
    assert worst(controller).queue == "ha.orders"
    assert asked_at_once(controller)
    for number in range(AT_ONCE[0]):
        controller.act("declare", {"queue": f"more{number}", "node": "b"})
    assert not asked_at_once(controller)


def test_a_change_has_its_price(controller):
    controller.act("kill", "a")
    controller.ask_alternatives(worst(controller))
    prices = {one.change.what: price(one) for one in controller.alternatives.changed if one.result is not None}
    assert prices["ha-promote-on-failure: when-synced"] == "the queue is down at the end"
    assert "blocked for 0.004 s" in prices["ha-sync-mode: automatic"]


def test_before_anything_was_done_nothing_is_suggested(controller):
    told = leads(controller, Drafts())
    assert (told["now"]["next"], told["now"]["kept"], told["step"]) == ([], [], "stop c")


def test_what_a_scenario_expects_is_no_step_that_was_done(controller):
    controller.act("expect", {"nodes": {"c": "down"}})
    assert leads(controller, Drafts())["step"] == "stop c"


def test_an_alarm_can_be_ended(controller):
    controller.act("alarm", {"node": "a", "resource": "memory"})
    ends, *_ = leads(controller, Drafts())["now"]["next"]
    assert ends["label"] == "end the memory alarm of a"
    controller.act(ends["verb"], ends["argument"])
    assert controller.outcome["alarms"] == []


@pytest.mark.parametrize(
    ("verb", "argument"), [("cut", [["a", "b"]]), ("partition", [["a"], ["b", "c"]]), ("power_off", "a")]
)
def test_to_wait_until_the_nodes_notice_is_suggested_before_they_have(controller, verb, argument):
    def waits() -> list[dict]:
        return [one for one in leads(controller, Drafts())["now"]["next"] if one["verb"] == "wait"]

    assert waits() == []
    controller.act(verb, argument)
    (wait,) = waits()
    assert wait["label"] == "wait until the nodes notice"
    controller.act(wait["verb"], wait["argument"])
    noticed = {"links_timed_out", "node_down_noticed"}
    assert noticed & {event["event"] for event in controller.outcome["events"] if event["step"] is not None}
    assert waits() == []
