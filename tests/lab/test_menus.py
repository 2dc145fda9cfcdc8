"""The menus of nodes, queues and all: what they offer when, and that whatever they offer can be done."""

from __future__ import annotations

import re
from html import unescape

from lab_widgets import ask, node_of, on_node, on_queue, page_text, panel, row_of

from hawb.lab.menus import ALL_MORE, NODE, QUEUE
from hawb.scenario.load import read_step


def offered(lab, menu: str, kind: str) -> list[str]:
    """What a menu offers for a state or a type."""
    return [entry["label"] for entry in lab.stage.menus[menu] if kind in entry["for"]]


def test_a_node_offers_what_can_be_done_in_its_state(lab):
    assert offered(lab, "node", "running")[:3] == ["stop", "kill", "power off"]
    assert "start" in offered(lab, "node", "down")
    assert "kill" not in offered(lab, "node", "down")
    assert "force boot" not in offered(lab, "node", "running")
    assert "stop" not in offered(lab, "node", "waiting")


def test_a_queue_offers_what_its_type_has(lab):
    assert {"sync", "publish 10", "policy…"} <= set(offered(lab, "queue", "classic"))
    assert {"add a member…", "remove a member…"} <= set(offered(lab, "queue", "quorum"))
    assert "sync" not in offered(lab, "queue", "quorum")
    assert offered(lab, "queue", "gone") == ["declare", "declare another…"]


def test_every_entry_is_a_verb_with_an_argument_that_files_take_or_opens_something(lab):
    for label, entry in [*NODE.items(), *QUEUE.items(), *ALL_MORE.items()]:
        if entry.panel:
            assert entry.panel in lab.drawer.panels
        elif entry.argument is None:
            lab.open_form(entry.verb)
            assert lab.step.verb.value == entry.verb
        else:
            step = {entry.verb: entry.argument("a", ["b", "c"])}
            assert read_step(step, ["a", "b", "c"]).name == entry.verb, label


def test_what_is_refused_is_answered(lab):
    on_node(lab, "c", "join")
    assert "RabbitMQ refused join" in unescape(page_text(lab))


def test_operations_go_to_the_queue_of_the_menu(lab):
    for entry in ("publish 10", "sync", "get 10", "purge", "delete"):
        on_queue(lab, "ha.orders", entry)
    assert lab.controller.outcome["deleted"] == ["ha.orders"]
    assert row_of(lab, "ha.orders")["type"] == "gone"
    on_queue(lab, "ha.orders", "declare")
    assert lab.controller.outcome["queues"]["ha.orders"]["messages"] == 0
    assert lab.controller.queue == "ha.orders"


def test_an_entry_that_needs_more_opens_a_form_about_its_thing(lab):
    on_queue(lab, "qq.orders", "add a member…")
    assert (lab.drawer.name, lab.step.verb.value) == ("Any step", "add_member")
    assert lab.step.form.inputs["queue"].widget.value == "qq.orders"
    on_node(lab, "b", "declare a queue here…")
    assert lab.step.form.inputs["node"].widget.value == "b"
    on_queue(lab, "ha.orders", "policy…")
    assert lab.drawer.name == "Policy"


def test_a_partition_is_two_places_until_it_is_healed(lab):
    on_node(lab, "a", "cut off from all others")
    scene = lab.stage.view["scene"]
    assert (scene["sides"], scene["noticed"], scene["cut"]) == ([["a"], ["b", "c"]], False, [["a", "b"], ["a", "c"]])
    lab.controller.act("wait", 100)
    lab.redraw()
    assert lab.stage.view["scene"]["noticed"]
    assert {row["by"] for row in lab.stage.view["scene"]["rows"] if row["queue"] == "ha.orders"} == {"a and c", "b"}
    ask(lab, "more", entry="heal")
    assert lab.stage.view["scene"]["cut"] == []


def test_a_line_through_the_network_parts_groups_or_cuts_links(lab):
    ask(lab, "part", groups=[["a", "b"], ["c"]])
    assert lab.controller.cut_links == [("a", "c"), ("b", "c")]
    ask(lab, "undo")
    ask(lab, "part", links=[["a", "b"]])
    assert lab.controller.cut_links == [("a", "b")]


def test_the_form_of_a_partition_is_in_the_menu_of_all(lab):
    ask(lab, "more", entry="partition…")
    assert lab.step.verb.value == "partition"
    lab.step.play.click()
    assert lab.controller.cut_links == [("a", "b"), ("a", "c")]


def test_an_alarm_stands_at_its_node(lab):
    on_node(lab, "b", "memory alarm")
    assert node_of(lab, "b")["trouble"] == ["memory alarm"]
    on_node(lab, "b", "memory alarm is over")
    assert node_of(lab, "b")["trouble"] == []


def test_each_node_says_whether_it_is_safe_to_stop_once_that_is_asked(lab):
    assert lab.stage.view["bar"]["forecasts"] == {}
    ask(lab, "more", entry="safe to stop?")
    told = {one["way"]: one for one in lab.stage.view["bar"]["forecasts"]["a"]}
    assert (told["stop"]["mark"], told["kill"]["mark"]) == ("◌ outage", "▼ loss")
    assert "ha.orders loses 100 messages" in told["kill"]["told"]
    assert "c" not in lab.stage.view["bar"]["forecasts"]
    assert "check_if_node_is_mirror_sync_critical: fails for ha.orders" in page_text(lab)
    panel(lab, "Safe?").beside.value = False
    assert lab.stage.view["bar"]["forecasts"] == {}


def test_what_each_node_has_to_do_is_told_to_who_looks(lab):
    ask(lab, "more", entry="load")
    table = panel(lab, "Load").table
    assert "a serves most: 4 of 4 queues." in table.value
    on_node(lab, "a", "kill")
    assert "b serves most: 2 of" in table.value


def test_nodes_grow_and_shrink_all_quorum_queues(lab):
    on_node(lab, "c", "shrink all quorum queues")
    assert lab.controller.outcome["queues"]["qq.orders"]["members"] == ["a", "b"]
    lab.controller.act("start", "c")
    on_node(lab, "c", "grow all quorum queues")
    assert lab.controller.outcome["queues"]["qq.orders"]["members"] == ["a", "b", "c"]


def test_a_quorum_queue_is_suggested_where_arguments_are_asked_for(lab):
    lab.open_form("declare")
    assert '{"x-queue-type": "quorum"}' in lab.step.form.inputs["arguments"].widget.options


def test_a_sentence_about_a_line_that_nobody_noticed_is_no_markup(lab):
    on_node(lab, "a", "cut off from all others")
    assert not re.search(r"<\w", page_text(lab))
