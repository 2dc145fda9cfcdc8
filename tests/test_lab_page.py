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

from hawb.lab.controller import Controller
from hawb.lab.page import Lab

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


def press(lab: Lab, label: str) -> None:
    """Presses the first button of that name that can be seen."""
    next(
        part
        for part in parts(lab)
        if isinstance(part, widgets.Button) and label in part.description and part.layout.display != "none"
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

    assert [offered(number) for number in range(3)] == [["controlled stop", "kill"]] * 2 + [["start"]]
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
    press(lab, "synchronise")
    assert lab.controller.outcome["queues"]["ha.orders"]["synchronised_mirrors"] == ["b"]
    press(lab, "get")
    press(lab, "purge")
    assert lab.controller.outcome["queues"]["ha.orders"]["messages"] == 0
    press(lab, "delete")
    assert lab.controller.outcome["deleted"] == ["ha.orders"]
    assert operations.queue.value == "ha.orders"
    press(lab, "declare")
    assert lab.controller.outcome["queues"]["ha.orders"]["master"] == "b"


def test_lanes_show_the_roles_for_the_chosen_queue(lab):
    assert "Lanes of the nodes" in lab.lanes.value
    lab.cluster.operations.queue.value = "ha.orders"
    assert "the roles of the nodes for ha.orders" in lab.lanes.value


def test_a_step_has_its_time_and_the_next_one_none(lab):
    operations = lab.cluster.operations
    operations.queue.value, operations.at.value = "ha.orders", "20.5"
    press(lab, "publish")
    assert (lab.controller.outcome["events"][-2]["t"], operations.at.value) == (20.5, "")
    operations.at.value = "21"
    press(lab, "kill")
    assert (lab.controller.outcome["events"][-1]["t"] >= 21, operations.at.value) == (True, "")


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
    policy.settings["ha-params"].value = "two"
    assert 'ha-mode="all" does not take parameters' in unescape(policy.opinion.value)
    assert policy.elsewhere.layout.display == "none"


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
        "- {name: p, pattern: '', definition: {queue-master-locator: anything}, apply_to: classic_queues}\n"
    )
    lab.controller.open_scenario(tmp_path / "new.yaml")
    lab.redraw()
    lab.policy.policy.value = dict(lab.policy.policy.options)["p"]
    assert lab.policy.settings["queue-master-locator"].value == "anything"
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
    assert "notes of the import" in page_text(lab)


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
    controls = widgets.Button | widgets.Text | widgets.Dropdown | widgets.Checkbox | widgets.FileUpload
    silent = [part for part in parts(lab) if isinstance(part, controls) and not part.tooltip]
    assert silent == []


def test_the_lab_has_a_stable_repr_for_stored_outputs(lab):
    assert repr(lab) == "hawb lab"


def test_the_controller_needs_no_widgets():
    program = "import sys, hawb.lab.controller; sys.exit('ipywidgets' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0
