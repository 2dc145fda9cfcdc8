"""Queues on the lab's page: what is done to them, and what their type has to offer."""

from __future__ import annotations

import re

import pytest
from lab_widgets import press


def test_operations_go_to_the_chosen_queue(lab):
    operations = lab.cluster.operations
    operations.queue.value = "ha.orders"
    operations.count.value, operations.size.value, operations.node.value = "5", "2048", "b"
    press(lab, "publish")
    assert lab.controller.outcome["queues"]["ha.orders"]["messages"] == 115
    press(lab, "sync")
    assert lab.controller.outcome["queues"]["ha.orders"]["synchronised_mirrors"] == ["b"]
    press(lab, "get")
    press(lab, "purge")
    assert lab.controller.outcome["queues"]["ha.orders"]["messages"] == 0
    press(lab, "delete")
    assert lab.controller.outcome["deleted"] == ["ha.orders"]
    assert operations.queue.value == "ha.orders"
    press(lab, "declare")
    assert lab.controller.outcome["queues"]["ha.orders"]["master"] == "b"


def test_a_kill_costs_a_quorum_queue_its_availability_and_a_mirrored_one_its_messages(lab):
    lab.cluster.operations.queue.value = "qq.orders"
    press(lab, "kill")
    queues, ledger = lab.controller.outcome["queues"], lab.controller.outcome["ledger"]
    assert ledger["ha.orders"]["lost"] == [[1, 100]]
    assert (ledger["qq.orders"]["lost"], queues["qq.orders"]["state"]) == ([], "minority")
    press(lab, "publish")
    assert "minority, 1/3" in lab.cluster.matrix.value
    # A new channel of 3.10 asks the node of the first leader, which is gone.
    assert lab.controller.outcome["ledger"]["qq.orders"]["nacked"] == [[111, 120]]


def test_the_log_of_the_chosen_quorum_queue_follows_what_is_done(lab):
    def term() -> str:
        return re.search(r"Raft log of qq.orders.*?leader</td><td[^>]*>(\d+)<", lab.cluster.log.value)[1]

    assert (lab.cluster.log.value, lab.cluster.log.layout.display) == ("", "none")
    lab.cluster.operations.queue.value = "qq.orders"
    assert (term(), lab.cluster.log.layout.display) == ("1", None)
    lab.cluster.operations.node.value = "b"
    press(lab, "transfer")
    assert term() == "2"
    press(lab, "undo")
    assert term() == "1"
    press(lab, "redo")
    assert term() == "2"
    press(lab, "◀ step")
    assert term() == "1"
    lab.cluster.operations.queue.value = "ha.orders"
    assert (lab.cluster.log.value, lab.cluster.log.layout.display) == ("", "none")


def test_a_queue_is_declared_with_its_type_and_offered_what_its_type_has(lab):
    operations = lab.cluster.operations

    def offered() -> set[str]:
        return {label for label, button in operations.buttons.items() if button.layout.display != "none"}

    operations.queue.value, operations.type.value = "qq.votes", "quorum"
    assert offered() >= {"sync", "+ member"}
    press(lab, "declare")
    assert lab.controller.outcome["queues"]["qq.votes"]["members"] == ["a", "b", "c"]
    assert offered() >= {"+ member", "- member", "transfer"}
    assert not offered() & {"sync", "cancel sync"}
    operations.node.value = "c"
    press(lab, "member")
    operations.buttons["- member"].click()
    assert lab.controller.outcome["queues"]["qq.votes"]["members"] == ["a", "b"]
    lab.controller.act("start", "c")
    operations.buttons["+ member"].click()
    assert lab.controller.outcome["queues"]["qq.votes"]["members"] == ["a", "b", "c"]
    operations.queue.value = "ha.orders"
    assert not offered() & {"+ member", "- member"}


def test_nodes_grow_and_shrink_all_quorum_queues(lab):
    lab.cluster.nodes[2].menu.value = "shrink all quorum queues (rabbitmq-queues shrink)"
    assert lab.controller.outcome["queues"]["qq.orders"]["members"] == ["a", "b"]
    lab.controller.act("start", "c")
    lab.redraw()
    lab.cluster.nodes[2].menu.value = "grow all quorum queues (rabbitmq-queues grow)"
    assert lab.controller.outcome["queues"]["qq.orders"]["members"] == ["a", "b", "c"]


@pytest.mark.parametrize("verb", ["add_member", "delete_member", "transfer_leadership"])
def test_forms_for_members_are_filled_with_the_chosen_queue(lab, verb):
    lab.controller.choose("qq.orders")
    lab.open_form(verb)
    lab.step.form.inputs["node"].widget.value = "b"
    press(lab, "play this step")
    assert not lab.controller.messages
    assert lab.controller.now.run.steps[-1].name == verb


def test_a_quorum_queue_is_suggested_where_arguments_are_asked_for(lab):
    lab.open_form("declare")
    assert '{"x-queue-type": "quorum"}' in lab.step.form.inputs["arguments"].widget.options
