"""The lab's page as widgets, without a browser: what they show, and that they pass on what a person does."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from datetime import datetime
from html import unescape
from pathlib import Path

import ipywidgets as widgets
import pytest

from hawb.lab import beside_panel, story_panel
from hawb.lab.controller import Controller
from hawb.lab.node_column import MENU
from hawb.lab.page import Lab, show
from hawb.lab.policy_panel import UNSET
from hawb.scenario.load import read_step
from hawb.views.story import sentences

NASTY = "<script>alert('1')</script>&\"x\""


@pytest.fixture
def lab() -> Lab:
    return Lab(Controller())


def parts(widget: widgets.Widget) -> list[widgets.Widget]:
    """A widget and all that is in it."""
    return [widget, *(part for child in getattr(widget, "children", ()) for part in parts(child))]


def page_text(lab: Lab) -> str:
    """All that HTML widgets of the page say."""
    found = " ".join(part.value for part in parts(lab) if isinstance(part, widgets.HTML))
    return unescape(re.sub(r"<[^>]*>", " ", found))


def fits(description: str, label: str) -> bool:
    """Whether a button is called so, but for a glyph beside its name."""
    return label in (description, description[2:])


def press(lab: Lab, label: str) -> None:
    """Presses the first button of that name that can be seen."""
    next(
        part
        for part in parts(lab)
        if isinstance(part, widgets.Button) and fits(part.description, label) and part.layout.display != "none"
    ).click()


def test_a_kill_shows_the_loss_its_cause_and_what_changed_and_undo_takes_all_of_it_back(lab):
    before = page_text(lab)
    press(lab, "kill")
    text = page_text(lab)
    assert "100 messages lost: why?" in text
    assert "Messages 1 to 100 of ha.orders were lost" in text
    assert "110 → 10" in text
    assert "down (was running)" in text
    press(lab, "undo")
    assert page_text(lab) == before


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


def test_a_wrong_field_is_answered_below_its_row_and_stays_as_it_was_typed(lab):
    operations = lab.cluster.operations
    operations.queue.value, operations.count.value = "ha.orders", NASTY
    press(lab, "publish")
    assert "publish.count: not accepted" in operations.message.box.value
    assert operations.count.value == NASTY
    assert "<script" not in operations.message.box.value
    lab.toolbar.seed.value = "seven"
    assert "seed: not accepted" in unescape(lab.toolbar.messages["seed"].box.value)
    assert (lab.toolbar.seed.value, operations.message.box.value) == ("seven", "")
    press(lab, "kill")
    assert lab.toolbar.seed.value == "1"


def test_the_policy_editor_says_at_once_what_rabbitmq_would(lab):
    policy = lab.policy
    assert (policy.name.value, policy.settings["ha-mode"].value) == ("ha-all", "all")
    assert "valid; matches ha.orders" in policy.opinion.value
    assert "rabbitmqctl set_policy" in policy.rendering.value
    policy.settings["ha-sync-mode"].value = "automatic"
    assert "valid, not set yet; matches ha.orders" in policy.opinion.value
    press(lab, "set policy")
    assert "valid; matches ha.orders" in policy.opinion.value
    policy.settings["ha-params"].value = "two"
    assert 'ha-mode="all" does not take parameters' in unescape(policy.opinion.value)
    assert policy.elsewhere.layout.display == "none"


def test_a_policy_that_nobody_has_edited_follows_the_story_that_is_opened(lab, tmp_path):
    other = tmp_path / "other.yaml"
    other.write_text("""
scenario: another cluster
cluster: {nodes: [a, b], version: "3.10"}
policies: [{name: ha-all, pattern: '^mine', definition: {ha-mode: all}}]
""")
    policy = lab.policy
    assert (policy.name.value, policy.pattern.value) == ("ha-all", r"^ha\.")
    lab.controller.open(other)
    lab.redraw()
    assert (policy.name.value, policy.pattern.value) == ("ha-all", "^mine")
    assert "not set yet" not in policy.opinion.value
    policy.pattern.value = "^typed"
    lab.controller.undo()
    lab.redraw()
    assert policy.pattern.value == "^typed"


def test_what_is_being_edited_survives_other_actions_and_a_policy_can_be_taken_up(lab):
    policy = lab.policy
    policy.name.value, policy.pattern.value = "mine", "log"
    press(lab, "set policy")
    assert lab.controller.outcome["queues"]["plain.log"]["policy"] == "mine"
    assert (policy.policy.label, policy.pattern.value) == ("mine", "log")
    policy.pattern.value = "changed"
    press(lab, "undo")
    assert (policy.name.value, policy.pattern.value) == ("mine", "changed")
    policy.policy.value = dict(policy.policy.options)["ha-two"]
    assert policy.settings["ha-params"].value == "2"
    press(lab, "clear policy")
    assert lab.controller.outcome["queues"]["two.mail"]["policy"] is None


def test_a_policy_with_values_of_another_version_can_be_edited(lab, tmp_path):
    (tmp_path / "new.yaml").write_text(
        "scenario: New\ncluster: {nodes: [a], version: '4.0'}\npolicies:\n"
        "- {name: p, pattern: '', definition: {queue-master-locator: balanced}, apply_to: classic_queues}\n"
    )
    lab.controller.open_scenario(tmp_path / "new.yaml")
    lab.redraw()
    lab.policy.policy.value = dict(lab.policy.policy.options)["p"]
    assert lab.policy.settings["queue-master-locator"].value == "balanced"
    press(lab, "undo")
    assert lab.policy.apply_to.value == "queues"


def test_profile_and_scenario_follow_the_choice_and_the_controller(lab):
    lab.toolbar.profile.value = "3.13"
    assert lab.controller.profile.version == "3.13"
    press(lab, "undo")
    assert lab.toolbar.profile.value == "3.10"
    lab.toolbar.scenario.value = lab.toolbar.choices[0][1]
    assert lab.toolbar.scenario.value == ""
    assert lab.toolbar.scenario.label == lab.controller.outcome["scenario"]


def test_the_lab_opens_with_a_file_or_says_why_not(tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_text("scenario: Mine\ncluster: {nodes: [x]}\nsteps: []\n")
    assert show(str(file)).controller.outcome["scenario"] == "Mine"
    assert "missing.yaml" in page_text(show(tmp_path / "missing.yaml"))


def test_uploads_are_opened_definitions_first(lab):
    real = Path(__file__).parents[1] / "data" / "real"

    def files(*names: str) -> tuple[dict, ...]:
        told = {"type": "application/json", "size": 0, "last_modified": datetime(2024, 1, 1)}
        return tuple(told | {"name": name, "content": memoryview((real / name).read_bytes())} for name in names)

    lab.toolbar.listings.value = files("api-nodes.json")
    assert "the definitions are missing" in lab.toolbar.messages["scenario"].box.value
    lab.toolbar.definitions.value = files("definitions.json")
    assert lab.toolbar.listings.value == ()
    lab.toolbar.listings.value = files("api-queues.json", "api-nodes.json")
    assert lab.controller.outcome["queues"]["orders.new"]["messages"] == 900
    assert "notes on this cluster" in page_text(lab)


def test_the_virtual_host_of_an_upload_is_passed_on(lab):
    content = b'{"queues": [{"name": "q", "durable": true, "auto_delete": false, "arguments": {}}]}'
    told = {"name": "d.json", "type": "", "size": 0, "last_modified": datetime(2024, 1, 1)}
    lab.toolbar.vhost.value = "shop"
    lab.toolbar.definitions.value = (told | {"content": memoryview(content)},)
    assert list(lab.controller.outcome["queues"]) == ["shop::q"]


def choose(lab: Lab, node: int, label: str) -> None:
    """Chooses what is called so in a node's menu, before any command."""
    menu = lab.cluster.nodes[node].menu
    menu.value = next(value for told, value in menu.options if label in (told, told.partition(" (")[0]))


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


def test_clients_are_listed_and_settle_what_they_hold(lab):
    lab.open_form("consume")
    lab.step.form.inputs["consumer"].widget.value = NASTY
    lab.step.form.inputs["queue"].widget.value = "ha.orders"
    lab.step.form.inputs["prefetch"].widget.value = "7"
    lab.step.play.click()
    assert lab.step.message.box.value == ""
    assert "<script" not in lab.clients.table.value
    clients = lab.clients
    assert clients.client.options == (NASTY,)
    clients.client.value, clients.count.value = NASTY, "3"
    press(lab, "nack")
    clients.count.value = "2"
    press(lab, "ack")
    assert lab.controller.outcome["queues"]["ha.orders"]["messages"] == 108
    press(lab, "cancel")
    assert lab.controller.outcome["consumers"][NASTY]["state"] == "cancelled"
    press(lab, "close")
    assert lab.controller.outcome["consumers"][NASTY]["state"] == "closed"
    clients.client.value = "nobody"
    clients.count.value = "all"
    press(lab, "ack")
    assert "no consumer 'nobody'" in unescape(clients.message.box.value)


def test_operator_policies_are_edited_beside_policies(lab):
    policy = lab.policy
    policy.name.value, policy.kind.value, policy.others.value = "cap", "operator_policy", '{"max-length": 5}'
    assert "are not recognised policy settings" in policy.opinion.value
    policy.settings["ha-mode"].value = UNSET
    assert "together with policy ha-all it says" in unescape(policy.opinion.value)
    assert "rabbitmqctl clear_operator_policy cap" in policy.rendering.value
    press(lab, "set policy")
    assert policy.policy.label == "cap (operator policy)"
    assert lab.controller.outcome["queues"]["ha.orders"]["operator_policy"] == "cap"
    press(lab, "clear policy")
    assert lab.controller.operator_policies == ()


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


def test_names_from_files_are_text_on_the_page(lab, tmp_path):
    scenario = {"scenario": NASTY, "cluster": {"nodes": ["a", NASTY]}, "steps": [{"stop": NASTY}, {"start": NASTY}]}
    (tmp_path / "nasty.yaml").write_text(json.dumps(scenario))
    lab.controller.open_scenario(tmp_path / "nasty.yaml")
    for name in (NASTY, "plain"):
        lab.controller.act("declare", {"queue": name})
        lab.controller.act("publish", {"queue": name, "count": 5})
    lab.controller.act("set_policy", {"name": NASTY, "pattern": '<script.*"$', "definition": {"ha-mode": "all"}})
    lab.controller.act("purge", NASTY + "?")
    lab.controller.act("declare", {"queue": f"{NASTY}2", "durable": False, "node": NASTY})
    lab.controller.act("publish", {"queue": f"{NASTY}2", "count": 5})
    lab.controller.act("kill", NASTY)
    lab.controller.choose(NASTY)
    lab.redraw()
    lab.story.question.value = f"{NASTY}/1"
    lab.story.log.value = True
    lab.policy.policy.value = dict(lab.policy.policy.options)[NASTY]
    values = [part.value for part in parts(lab) if isinstance(part, widgets.HTML)]
    assert "</b> Message 1 of &lt;script&gt;" in lab.story.story.value
    assert "<p>Messages 1 to 5 of &lt;script&gt;" in lab.story.story.value
    assert not any("<script" in value for value in values)


def test_every_control_has_a_name_and_says_what_it_does(lab):
    controls = (
        *(widgets.Button, widgets.Text, widgets.Dropdown, widgets.Combobox),
        *(widgets.Checkbox, widgets.FileUpload, widgets.SelectMultiple),
    )
    silent = [part for part in parts(lab) if isinstance(part, controls) and not part.tooltip]
    assert silent == []


def test_the_lab_has_a_stable_repr_for_stored_outputs(lab):
    assert repr(lab) == "hawb lab"


def test_the_controller_needs_no_widgets():
    program = "import sys, hawb.lab.controller; sys.exit('ipywidgets' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0


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


def test_a_scenario_tells_where_it_comes_from_and_a_heading_opens_nothing(lab):
    before, (heading, *_) = lab.controller.now, [label for label, source in lab.toolbar.choices if source is None]
    lab.toolbar.scenario.label = heading
    assert (lab.controller.now, lab.toolbar.scenario.value) == (before, "")
    incident = next(source for label, source in lab.toolbar.choices if label.startswith("Incident: a TTL policy"))
    lab.toolbar.scenario.value = incident
    notes = lab.story.notes.value
    assert '<a href="https://github.com/rabbitmq/rabbitmq-server/issues/2125" target="_blank"' in notes
    assert "1 note on this cluster" in notes


def test_an_address_in_a_note_is_a_link_and_nothing_else_is():
    told = story_panel.linked(f"https://a.org/x-1?<b>. javascript:alert(1) {NASTY}")
    assert told.startswith('<a href="https://a.org/x-1" target="_blank" rel="noopener noreferrer">')
    assert told.count("<") == 2


def test_what_each_node_has_to_do_is_told_to_who_looks(lab):
    table = lab.ledger.tables["Load"]
    assert table.value == ""
    lab.tables.selected_index = lab.tables.titles.index("Load")
    assert "a serves most: 4 of 4 queues." in table.value
    press(lab, "kill")
    assert "b serves most: 2 of" in table.value
