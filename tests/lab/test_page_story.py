"""The story on the lab's page: its moments, its reasons, its log, and other stories beside it."""

from __future__ import annotations

import re
from html import unescape

import pytest
from lab_widgets import NASTY, page_text, press

from hawb.lab import beside_panel, story_panel
from hawb.views.story.telling import sentences


def test_lanes_show_the_roles_for_the_chosen_queue(lab):
    assert "Lanes of the nodes" in lab.time.lanes.value
    lab.cluster.operations.queue.value = "ha.orders"
    assert "the roles of the nodes for ha.orders" in lab.time.lanes.value


def test_a_step_has_its_time_and_the_next_one_none(lab):
    lab.cluster.operations.queue.value, lab.time.at.value = "ha.orders", "20.5"
    press(lab, "publish")
    assert (lab.controller.outcome["events"][-2]["t"], lab.time.at.value) == (20.5, "")
    lab.time.at.value = "soon"
    press(lab, "kill")
    assert "at: not accepted" in unescape(lab.time.message.box.value)
    assert lab.time.at.value == "soon"


def test_the_story_is_walked_on_the_page(lab):
    before = page_text(lab)
    press(lab, "◀ step")
    assert lab.controller.outcome["nodes"]["c"] == "running"
    assert "14 of 15" in page_text(lab)
    assert lab.time.forward.tooltip == "play the step ahead: stop"
    press(lab, "step ▶")
    assert page_text(lab) == before
    press(lab, "undo")
    assert "14 of 15" in page_text(lab)


def test_waiting_is_a_step(lab):
    since = lab.controller.outcome["time_s"]
    lab.time.seconds.value = "12.5"
    lab.time.wait.click()
    assert lab.controller.outcome["time_s"] == since + 12.5
    lab.time.seconds.value = "long"
    lab.time.wait.click()
    assert "'long'" in unescape(lab.time.message.box.value)


def test_why_is_asked_and_answered_on_the_page(lab):
    press(lab, "kill")
    lab.story.question.value = "ha.orders/1"
    assert "<b>ha.orders/1</b> Messages 1 to 100 of ha.orders were lost" in lab.story.story.value
    lab.story.question.value = NASTY
    assert "not a message" in lab.story.message.box.value


def test_the_brokers_log_is_shown_on_demand(lab):
    assert "Mirrored queue" not in page_text(lab)
    lab.story.log.value = True
    assert "Mirrored queue 'ha.orders' in vhost '/'" in page_text(lab)


def test_what_would_have_kept_them_is_a_table_and_each_change_can_be_opened(lab):
    panel = lab.what_if
    assert panel.ask.disabled
    assert "nothing to keep" in panel.table.value
    lab.controller.act("kill", "a")
    lab.redraw()
    assert panel.harm.options[0][0] == "100 messages of ha.orders lost at 7.321 s, by step 15 (kill)"
    press(lab, "what would have kept them?")
    told = page_text(lab)
    assert "ha-sync-mode: automatic" in told
    assert "each node of the cluster has one already" in told
    panel.change.value = next(one for label, one in panel.change.options if label == "ha-sync-mode: automatic")
    press(lab, "open its story")
    assert lab.controller.outcome["losses"] == []
    assert lab.controller.outcome["nodes"]["a"] == "down"
    assert panel.opening.layout.display == "none"
    press(lab, "undo")
    assert lab.controller.outcome["ledger"]["ha.orders"]["lost"] == [[1, 100]]
    assert "ha-sync-mode: automatic" in panel.table.value


def test_the_harm_that_was_chosen_is_the_one_that_is_looked_into(lab):
    lab.controller.act("kill", "a")
    lab.redraw()
    panel = lab.what_if
    panel.harm.value = next(harm for _, harm in panel.harm.options if harm.queue == "plain.log")
    press(lab, "what would have kept them?")
    assert "What would have kept plain.log" in panel.table.value
    assert panel.harm.value.queue == "plain.log"


def test_the_slider_looks_at_a_moment_and_the_timeline_shows_the_whole_story_with_a_line(lab):
    lab.cluster.operations.queue.value = "ha.orders"
    press(lab, "kill")
    panel, whole = lab.time, lab.time.lanes.value
    assert "is killed" not in whole and "a was killed." in whole
    assert panel.moment.value == panel.moment.max
    panel.moment.value = 2
    assert (lab.controller.position, lab.controller.outcome["losses"]) == (2, [])
    assert re.sub(r"<div class=.hawb-here.*", "", panel.lanes.value) == re.sub(r"<div class=.hawb-here.*", "", whole)
    assert panel.lanes.value != whole
    assert " of 7.321 s" in panel.time.value
    panel.moment.value = panel.moment.max
    assert (panel.lanes.value, lab.controller.looks_back) == (whole, False)
    assert panel.at.placeholder == "settled"


def test_of_a_very_long_story_the_latest_sentences_are_shown(lab, monkeypatch):
    assert story_panel.EARLIER not in lab.story.story.value
    monkeypatch.setattr(story_panel, "LATEST", 3)
    lab.redraw()
    assert lab.story.story.value.count("<li>") == 3
    assert story_panel.EARLIER in lab.story.story.value
    assert sentences(lab.controller.outcome)[-1].text in unescape(lab.story.story.value)


def test_two_stories_stand_beside_each_other_for_who_looks(lab, monkeypatch):
    panel = lab.beside
    lab.cluster.operations.queue.value = "ha.orders"
    assert panel.table.value == ""
    lab.tables.selected_index = lab.tables.titles.index("Beside")
    assert "ha.orders: a quorum queue" in panel.variant.options
    assert panel.open.layout.display == "none"
    panel.variant.value = "ha.orders: ha-sync-mode: automatic"
    press(lab, "kill")
    assert "100 (100)" in panel.table.value
    assert "0 (0)" in panel.table.value
    lab.policy.settings["ha-promote-on-failure"].value = "when-synced"
    panel.variant.value = beside_panel.AS_EDITED
    assert panel.variant.value == "policy ha-all as edited"
    assert "to the end" in panel.table.value
    panel.open.click()
    assert panel.variant.value == beside_panel.NOTHING
    assert lab.controller.outcome["queues"]["ha.orders"]["state"] == "down"
    lab.tables.selected_index = 0
    monkeypatch.setattr(beside_panel, "variants", lambda *_: pytest.fail("nobody looks"))
    press(lab, "undo")


def test_what_cannot_stand_beside_says_why(lab):
    lab.tables.selected_index = lab.tables.titles.index("Beside")
    lab.cluster.operations.queue.value = "ha.orders"
    lab.beside.variant.value = "ha.orders: ha-sync-mode: automatic"
    press(lab, "delete")
    lab.controller.act("wait", 1)
    lab.redraw()
    assert "ha.orders is not there" in lab.beside.table.value
    lab.policy.settings["ha-mode"].value = "exactly"
    lab.beside.variant.value = beside_panel.AS_EDITED
    assert "takes an integer, none given" in lab.beside.message.box.value
    assert lab.beside.variant.value == "ha.orders: ha-sync-mode: automatic"


def test_an_address_in_a_note_is_a_link_and_nothing_else_is():
    told = story_panel.linked(f"https://a.org/x-1?<b>. javascript:alert(1) {NASTY}")
    assert told.startswith('<a href="https://a.org/x-1" target="_blank" rel="noopener noreferrer">')
    assert told.count("<") == 2
