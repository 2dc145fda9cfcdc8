"""The story on the lab's page: causes, log lines, lanes of the nodes, and variants."""

from __future__ import annotations

import re
from html import unescape

from lab_widgets import NASTY, ask, on_node, page_text, panel, press

from hawb.lab import beside_panel, story_panel
from hawb.views.story.telling import sentences


def test_lanes_show_roles_of_the_chosen_queue(lab):
    time = panel(lab, "Time")
    assert "The state of each node" in time.lanes.value
    ask(lab, "choose", queue="ha.orders")
    assert "The role of each node for ha.orders" in time.lanes.value


def test_typed_time_applies_to_one_step_only(lab):
    time = panel(lab, "Time")
    time.at.value = "20.5"
    ask(lab, "queue", queue="ha.orders", entry="publish 10")
    assert (lab.controller.outcome["events"][-2]["t"], time.at.value) == (20.5, "")
    time.at.value = "soon"
    on_node(lab, "a", "kill")
    assert "at: not accepted" in unescape(time.message.box.value)
    assert time.at.value == "soon"


def test_wait_button_adds_a_step(lab):
    time, since = panel(lab, "Time"), lab.controller.outcome["time_s"]
    time.seconds.value = "12.5"
    time.wait.click()
    assert lab.controller.outcome["time_s"] == since + 12.5
    time.seconds.value = "long"
    time.wait.click()
    assert "'long'" in unescape(time.message.box.value)


def test_why_is_answered_on_the_page(lab):
    on_node(lab, "a", "kill")
    story = panel(lab, "Story")
    story.question.value = "ha.orders/1"
    assert "<b>ha.orders/1</b> Messages 1 to 100 of ha.orders were lost" in story.story.value
    story.question.value = NASTY
    assert "not a message" in story.message.box.value


def test_broker_log_is_shown_on_demand(lab):
    story = panel(lab, "Story")
    assert "Mirrored queue" not in page_text(lab)
    story.log.value = True
    assert "Mirrored queue 'ha.orders' in vhost '/'" in page_text(lab)


def test_what_if_lists_changes_that_prevent_the_loss_and_opens_each(lab):
    what_if = panel(lab, "What if")
    assert what_if.ask.disabled
    assert "There is nothing to prevent yet" in what_if.table.value
    on_node(lab, "a", "kill")
    assert what_if.harm.options[0][0] == "100 messages of ha.orders lost at 7.321 s, by step 16 (kill)"
    press(lab, "what would have kept the messages?")
    text = page_text(lab)
    assert "ha-sync-mode: automatic" in text
    assert "each node of the cluster has one already" in text
    what_if.change.value = next(one for label, one in what_if.change.options if label == "ha-sync-mode: automatic")
    press(lab, "open its story")
    assert lab.controller.outcome["losses"] == []
    assert lab.controller.outcome["nodes"]["a"] == "down"
    assert what_if.opening.layout.display == "none"
    ask(lab, "undo")
    assert lab.controller.outcome["ledger"]["ha.orders"]["lost"] == [[1, 100]]
    assert "ha-sync-mode: automatic" in what_if.table.value


def test_what_if_analyses_the_chosen_loss(lab):
    on_node(lab, "a", "kill")
    what_if = panel(lab, "What if")
    what_if.harm.value = next(harm for _, harm in what_if.harm.options if harm.queue == "plain.log")
    press(lab, "what would have kept the messages?")
    assert "What would have kept plain.log" in what_if.table.value
    assert what_if.harm.value.queue == "plain.log"


def test_timeline_marks_the_shown_moment(lab):
    time = panel(lab, "Time")
    ask(lab, "choose", queue="ha.orders")
    on_node(lab, "a", "kill")
    whole, last = time.lanes.value, lab.controller.now.position
    assert "is killed" not in whole and "a was killed." in whole
    ask(lab, "look", position=2)
    assert (lab.controller.now.position, lab.controller.outcome["losses"]) == (2, [])
    assert re.sub(r"<div class=.hawb-here.*", "", time.lanes.value) == re.sub(r"<div class=.hawb-here.*", "", whole)
    assert time.lanes.value != whole
    ask(lab, "look", position=last)
    assert (time.lanes.value, lab.controller.looks_back) == (whole, False)
    assert time.at.placeholder == "settled"


def test_long_story_shows_its_latest_sentences(lab, monkeypatch):
    story = panel(lab, "Story")
    assert story_panel.EARLIER not in story.story.value
    monkeypatch.setattr(story_panel, "LATEST", 3)
    lab.redraw()
    assert story.story.value.count("<li>") == 3
    assert story_panel.EARLIER in story.story.value
    assert sentences(lab.controller.outcome)[-1].text in unescape(story.story.value)


def test_variant_is_shown_beside_the_story(lab):
    ask(lab, "queue", queue="ha.orders", entry="compare with another…")
    beside = lab.drawer.panels["Beside"]
    assert "ha.orders: a quorum queue" in beside.variant.options
    assert beside.open.layout.display == "none"
    beside.variant.value = "ha.orders: ha-sync-mode: automatic"
    on_node(lab, "a", "kill")
    assert "100 (100)" in beside.table.value
    assert "0 (0)" in beside.table.value
    lab.policy.show()
    lab.policy.settings["ha-promote-on-failure"].value = "when-synced"
    beside.variant.value = beside_panel.AS_EDITED
    assert beside.variant.value == "policy ha-all as edited"
    assert "to the end" in beside.table.value
    beside.open.click()
    assert beside.variant.value == beside_panel.NOTHING
    assert lab.controller.outcome["queues"]["ha.orders"]["state"] == "down"


def test_impossible_variant_is_explained(lab):
    ask(lab, "queue", queue="ha.orders", entry="compare with another…")
    beside = lab.drawer.panels["Beside"]
    beside.variant.value = "ha.orders: ha-sync-mode: automatic"
    ask(lab, "queue", queue="ha.orders", entry="delete")
    lab.controller.act("wait", 1)
    lab.redraw()
    assert "ha.orders does not exist" in beside.table.value
    lab.policy.settings["ha-mode"].value = "exactly"
    beside.variant.value = beside_panel.AS_EDITED
    assert "takes an integer, none given" in beside.message.box.value
    assert beside.variant.value == "ha.orders: ha-sync-mode: automatic"


def test_only_web_addresses_in_a_note_are_links():
    text = story_panel.linked(f"https://a.org/x-1?<b>. javascript:alert(1) {NASTY}")
    assert text.startswith('<a href="https://a.org/x-1" target="_blank" rel="noopener noreferrer">')
    assert text.count("<") == 2
