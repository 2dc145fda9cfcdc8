"""The content of the lab's columns, as values."""

from __future__ import annotations

import pytest

from hawb.lab.controller import Controller
from hawb.lab.leads import AT_ONCE, MOST_SENTENCES, asked_at_once, happened, leads, price, worst
from hawb.lab.menus import offered
from hawb.views.story.drafts import Drafts


def columns(controller: Controller) -> dict:
    """Return the contents of the columns at the controller's point."""
    point = controller.now
    return leads(controller, Drafts(), offered(point.moment, point.run.settings, controller.outcome["queues"]))


def test_causes_precede_effects_and_omitted_events_are_counted(controller):
    for number in range(12):
        controller.act("declare", {"queue": f"t{number}", "node": "a", "durable": False})
        controller.act("publish", {"queue": f"t{number}", "count": 1, "persistent": False})
    controller.act("kill", "a")
    found = happened(controller.outcome, controller.now.was, Drafts())
    assert len(found["told"]) == MOST_SENTENCES
    assert found["more"] > 0
    assert "loss" in {one["tone"] for one in found["told"]}


def test_events_begin_with_the_fault_and_are_in_order(controller):
    controller.act("kill", "a")
    found = happened(controller.outcome, controller.now.was, Drafts())["told"]
    assert found[0]["text"] == "a was killed."
    assert [float(one["t"]) for one in found] == sorted(float(one["t"]) for one in found)
    texts = [one["text"] for one in found]
    took_over = next(place for place, text in enumerate(texts) if "not synchronised, took over ha.orders" in text)
    assert took_over < next(place for place, text in enumerate(texts) if text.startswith("Messages 1 to 100"))


def test_worst_loss_is_analysed_for_short_stories_only(controller):
    assert worst(controller) is None
    controller.act("kill", "a")
    assert worst(controller).queue == "ha.orders"
    assert asked_at_once(controller)
    for number in range(AT_ONCE[0]):
        controller.act("declare", {"queue": f"more{number}", "node": "b"})
    assert not asked_at_once(controller)


def test_links_have_slider_positions_and_stay_while_looking_back():
    controller = Controller()
    controller.act("kill", "a")
    (links,) = columns(controller)["chains"]
    assert [(one["text"], one["position"]) for one in links[-3:]] == [
        ("c was stopped", None), ("a was killed", 0), ("b took over without 100 messages", 1),
    ]  # fmt: skip
    controller.look_at(0)
    found = columns(controller)
    assert (found["chains"], found["verdict"]["tone"]) == ([links], "harmed")


def test_each_change_has_a_price(controller):
    controller.act("kill", "a")
    controller.ask_alternatives(worst(controller))
    prices = {one.change.what: price(one) for one in controller.now.alternatives.changed if one.result is not None}
    assert prices["ha-promote-on-failure: when-synced"] == "the queue is down at the end"
    assert "blocked for 0.004 s" in prices["ha-sync-mode: automatic"]


def test_nothing_is_suggested_before_the_first_action(controller):
    found = columns(controller)
    assert (found["now"]["next"], found["now"]["kept"], found["step"]) == ([], [], "stop c")


def test_expect_step_is_not_shown_as_an_action(controller):
    controller.act("expect", {"nodes": {"c": "down"}})
    assert columns(controller)["step"] == "stop c"


def test_clearing_an_alarm_is_suggested(controller):
    controller.act("alarm", {"node": "a", "resource": "memory"})
    ends, *_ = columns(controller)["now"]["next"]
    assert ends["label"] == "end the memory alarm of a"
    controller.act(ends["verb"], ends["argument"])
    assert controller.outcome["alarms"] == []


@pytest.mark.parametrize(
    ("verb", "argument"), [("cut", [["a", "b"]]), ("partition", [["a"], ["b", "c"]]), ("power_off", "a")]
)
def test_waiting_for_failure_detection_is_suggested_until_it_happened(controller, verb, argument):
    def waits() -> list[dict]:
        return [one for one in columns(controller)["now"]["next"] if one["verb"] == "wait"]

    assert waits() == []
    controller.act(verb, argument)
    (wait,) = waits()
    assert wait["label"] == "wait until the nodes notice"
    controller.act(wait["verb"], wait["argument"])
    noticed = {"links_timed_out", "node_down_noticed"}
    assert noticed & {event["event"] for event in controller.outcome["events"] if event["step"] is not None}
    assert waits() == []


def test_each_suggestion_is_on_a_menu(controller):
    def suggested() -> list[tuple[str, object]]:
        return [(one["verb"], one["argument"]) for one in columns(controller)["now"]["next"]]

    controller.act("wait", 1)
    assert suggested() == [("start", "c"), ("sync_queue", "ha.orders")]
    controller.act("reset", "c")
    assert suggested() == [("join", "c"), ("sync_queue", "ha.orders")]
    controller.act("sync_queue", "ha.orders")
    assert suggested() == [("join", "c")]
