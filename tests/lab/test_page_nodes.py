"""Nodes on the lab's page: what can be done to each, the links between them, and whether one is safe to stop."""

from __future__ import annotations

import re
from html import unescape

from lab_widgets import choose, page_text, press

from hawb.lab.node_column import MENU
from hawb.scenario.load import read_step


def test_a_node_offers_what_can_be_done_in_its_state(lab):
    def offered(number: int) -> list[str]:
        buttons = lab.cluster.nodes[number].buttons.items()
        return [label for label, button in buttons if button.layout.display != "none"]

    assert [offered(number) for number in range(3)] == [["stop", "kill"]] * 2 + [["start"]]
    lab.controller.act("kill", "a")
    lab.controller.act("kill", "b")
    lab.controller.act("start", "a")
    lab.redraw()
    assert (lab.controller.outcome["nodes"]["a"], offered(0)) == ("waiting", ["kill"])


def test_what_else_can_be_done_to_a_node_is_in_its_menu(lab):
    choose(lab, 0, "wipe: its disk is lost")
    assert lab.controller.outcome["nodes"]["a"] == "down"
    assert lab.cluster.nodes[0].menu.value == ""
    assert "force boot" not in str(lab.cluster.nodes[1].menu.options)
    choose(lab, 2, "join")
    assert "RabbitMQ refused join" in unescape(lab.cluster.on_nodes.box.value)


def test_every_action_of_a_menu_is_a_verb_with_an_argument_that_files_take():
    for label, (verb, argument, _) in MENU.items():
        assert read_step({verb: argument("a", ["b", "c"])}, ["a", "b", "c"]).name == verb, label


def test_a_partition_is_drawn_while_links_are_down_and_each_side_has_its_row(lab):
    assert (lab.cluster.heal.disabled, lab.cluster.links.layout.display) == (True, "none")
    choose(lab, 0, "cut off from all others")
    assert "2 links down" in page_text(lab)
    assert (lab.cluster.heal.disabled, lab.cluster.links.layout.display) == (False, None)
    assert not lab.time.play.disabled
    lab.time.wait.click()
    assert lab.cluster.matrix.value.count("as seen by b") == 4
    press(lab, "heal")
    assert (lab.cluster.heal.disabled, lab.cluster.links.value) == (True, "")
    assert lab.time.play.disabled


def test_the_form_of_a_partition_is_a_click_away(lab):
    press(lab, "partition…")
    assert (lab.step.verb.value, lab.editors.selected_index) == ("partition", 1)
    lab.step.play.click()
    assert lab.controller.cut_links == [("a", "b"), ("a", "c")]


def test_an_alarm_stands_at_its_node(lab):
    choose(lab, 1, "memory alarm")
    assert "memory alarm" in lab.cluster.nodes[1].head.value
    choose(lab, 1, "memory alarm is over")
    assert "memory alarm" not in lab.cluster.nodes[1].head.value


def test_each_node_says_whether_it_is_safe_to_stop_once_that_is_asked(lab):
    heads = [column.head for column in lab.cluster.nodes]
    assert not any("hawb-forecast" in head.value for head in heads)
    lab.cluster.safe.value = True
    told = [re.sub(r"<[^>]*>", "", head.value) for head in heads]
    assert "stop: ◌ outage kill: ▼ loss" in told[0]
    assert "ha.orders loses 100 messages" in heads[0].value
    assert "kill" not in told[2]
    assert "check_if_node_is_mirror_sync_critical: fails for ha.orders" in page_text(lab)
    press(lab, "start")
    assert "stop: ◌ outage kill: ◌ outage" not in re.sub(r"<[^>]*>", "", heads[1].value)
    lab.cluster.safe.value = False
    assert not any("hawb-forecast" in head.value for head in heads)


def test_what_each_node_has_to_do_is_told_to_who_looks(lab):
    table = lab.ledger.tables["Load"]
    assert table.value == ""
    lab.tables.selected_index = lab.tables.titles.index("Load")
    assert "a serves most: 4 of 4 queues." in table.value
    press(lab, "kill")
    assert "b serves most: 2 of" in table.value
