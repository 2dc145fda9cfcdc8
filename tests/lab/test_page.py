"""The lab's page as widgets, without a browser: what they show, and that they pass on what a person does."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import datetime
from html import unescape
from pathlib import Path

import ipywidgets as widgets
from lab_widgets import NASTY, page_text, parts, press

from hawb.lab.page import show


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
    real = Path(__file__).parents[2] / "data" / "real"

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


def test_a_scenario_tells_where_it_comes_from_and_a_heading_opens_nothing(lab):
    before, (heading, *_) = lab.controller.now, [label for label, source in lab.toolbar.choices if source is None]
    lab.toolbar.scenario.label = heading
    assert (lab.controller.now, lab.toolbar.scenario.value) == (before, "")
    incident = next(source for label, source in lab.toolbar.choices if label.startswith("Incident: a TTL policy"))
    lab.toolbar.scenario.value = incident
    notes = lab.story.notes.value
    assert '<a href="https://github.com/rabbitmq/rabbitmq-server/issues/2125" target="_blank"' in notes
    assert "1 note on this cluster" in notes
