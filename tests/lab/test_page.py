"""The lab's page without a browser: what it shows, and that it forwards the user's actions."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import datetime
from html import unescape
from pathlib import Path

import ipywidgets as widgets
from lab_widgets import NASTY, ask, node_of, on_node, page_text, panel, parts, press, row_of

import hawb
from hawb.lab.page import show


def test_kill_shows_loss_cause_and_changes_and_undo_reverts_them(lab):
    before = page_text(lab)
    on_node(lab, "a", "kill")
    leads = lab.stage.view["leads"]
    assert leads["verdict"] == {
        "tone": "lost", "text": "100 messages of ha.orders are lost, all of them confirmed;"
                                " plain.log is down and qq.orders is without a majority.",
    }  # fmt: skip
    assert leads["why"][0].startswith("Messages 1 to 100 of ha.orders were lost")
    tones = [one["tone"] for one in leads["happened"]["told"]]
    assert tones[0] == "fault" and "loss" in tones, "causes stand before what they brought about"
    assert (leads["step"], node_of(lab, "a")["was"]) == ("kill a", "running")
    assert row_of(lab, "ha.orders")["cells"]["b"]["was"]["role"] == "unsynchronised"
    ask(lab, "undo")
    assert page_text(lab) == before


def test_invalid_field_shows_a_message_below_and_keeps_its_text(lab):
    cluster = panel(lab, "Cluster")
    cluster.seed.value = "seven"
    assert "seed: not accepted" in unescape(cluster.messages["seed"].box.value)
    assert "seed: not accepted" in page_text(lab)
    assert cluster.seed.value == "seven"
    on_node(lab, "a", "kill")
    assert cluster.seed.value == "1"
    assert lab.stage.view["leads"]["answers"] == []


def test_profile_and_scenario_widgets_follow_the_controller(lab):
    cluster = panel(lab, "Cluster")
    cluster.profile.value = "3.13"
    assert lab.controller.profile.version == "3.13"
    ask(lab, "undo")
    assert cluster.profile.value == "3.10"
    ask(lab, "open", number=0)
    assert lab.stage.view["bar"]["title"] == lab.controller.outcome["scenario"]


def test_lab_opens_with_a_file_or_explains_the_refusal(tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_text("scenario: Mine\ncluster: {nodes: [x]}\nsteps: []\n")
    assert show(str(file)).controller.outcome["scenario"] == "Mine"
    assert "missing.yaml" in page_text(show(tmp_path / "missing.yaml"))


def test_uploads_are_read_definitions_first(lab):
    real = Path(__file__).parents[2] / "data" / "real"

    def files(*names: str) -> tuple[dict, ...]:
        data = {"type": "application/json", "size": 0, "last_modified": datetime(2024, 1, 1)}
        return tuple(data | {"name": name, "content": memoryview((real / name).read_bytes())} for name in names)

    cluster = panel(lab, "Cluster")
    cluster.listings.value = files("api-nodes.json")
    assert "the definitions are missing" in cluster.messages["scenario"].box.value
    cluster.definitions.value = files("definitions.json")
    assert cluster.listings.value == ()
    cluster.listings.value = files("api-queues.json", "api-nodes.json")
    assert lab.controller.outcome["queues"]["orders.new"]["messages"] == 900
    panel(lab, "Story")
    assert "notes on this cluster" in page_text(lab)


def test_virtual_host_of_an_upload_is_passed_on(lab):
    content = b'{"queues": [{"name": "q", "durable": true, "auto_delete": false, "arguments": {}}]}'
    data = {"name": "d.json", "type": "", "size": 0, "last_modified": datetime(2024, 1, 1)}
    cluster = panel(lab, "Cluster")
    cluster.vhost.value = "shop"
    cluster.definitions.value = (data | {"content": memoryview(content)},)
    assert list(lab.controller.outcome["queues"]) == ["shop::q"]


def test_clients_are_listed_and_can_settle_messages(lab):
    lab.open_form("consume", queue="ha.orders")
    lab.step.form.inputs["consumer"].widget.value = NASTY
    lab.step.form.inputs["prefetch"].widget.value = "7"
    lab.step.play.click()
    assert lab.step.message.box.value == ""
    clients = panel(lab, "Clients")
    assert "<script" not in clients.table.value
    assert clients.client.options == (NASTY,)
    clients.client.value, clients.count.value = NASTY, "3"
    press(lab, "nack")
    clients.count.value = "2"
    press(lab, "ack")
    assert lab.controller.outcome["queues"]["ha.orders"]["messages"] == 108
    press(lab, "cancel")
    assert lab.controller.outcome["consumers"][NASTY]["state"] == "cancelled"
    clients.client.value = NASTY
    next(part for part in parts(clients.box) if getattr(part, "description", "") == "close").click()
    assert lab.controller.outcome["consumers"][NASTY]["state"] == "closed"
    clients.client.value = "nobody"
    clients.count.value = "all"
    press(lab, "ack")
    assert "no consumer 'nobody'" in unescape(clients.message.box.value)


def test_names_from_files_are_escaped_on_the_page(lab, tmp_path):
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
    story = panel(lab, "Story")
    story.question.value = f"{NASTY}/1"
    story.log.value = True
    policy = panel(lab, "Policy")
    policy.policy.value = dict(policy.policy.options)[NASTY]
    for name in lab.drawer.panels:
        panel(lab, name)
        values = [part.value for part in parts(lab) if isinstance(part, widgets.HTML)]
        assert not any("<script" in value for value in values), name
    story.question.value = f"{NASTY}/1"
    assert "</b> Message 1 of &lt;script&gt;" in story.story.value


def test_every_control_has_a_name_and_a_tooltip(lab):
    controls = (
        *(widgets.Button, widgets.Text, widgets.Dropdown, widgets.Combobox),
        *(widgets.Checkbox, widgets.FileUpload, widgets.SelectMultiple),
    )
    boxes = [panel.box for panel in lab.drawer.panels.values()]
    silent = [part for box in boxes for part in parts(box) if isinstance(part, controls) and not part.tooltip]
    assert silent == []


def test_only_the_open_panel_is_updated(lab):
    ledger = panel(lab, "Ledger")
    before = ledger.table.value
    press(lab, "close")
    assert "hawb-with-drawer" not in lab._dom_classes
    on_node(lab, "a", "kill")
    assert ledger.table.value == before
    panel(lab, "Ledger")
    assert "0 → 100" in ledger.table.value


def test_the_lab_has_a_stable_repr_for_stored_outputs(lab):
    assert repr(lab) == "hawb lab"


def test_the_controller_needs_no_widgets():
    program = "import sys, hawb.lab.controller; sys.exit('ipywidgets' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0


def test_scenario_shows_its_source_and_headings_open_nothing(lab):
    before, labels = lab.controller.now, [one["label"] for one in lab.stage.choices]
    heading = next(number for number, one in enumerate(lab.stage.choices) if one["heading"])
    ask(lab, "open", number=heading)
    assert lab.controller.now is before
    ask(lab, "open", number=next(n for n, label in enumerate(labels) if label.startswith("Incident: a TTL policy")))
    notes = panel(lab, "Story").notes.value
    assert '<a href="https://github.com/rabbitmq/rabbitmq-server/issues/2125" target="_blank"' in notes
    assert "1 note on this cluster" in notes


def test_cluster_and_its_lab_stay_in_step():
    cluster = hawb.Cluster("a", "b").declare("orders", node="a").publish("orders", 10)
    lab = cluster.show()
    assert hawb.show(cluster) is lab is cluster.lab
    cluster.kill("a")
    assert lab.controller.outcome["nodes"]["a"] == "down"
    on_node(lab, "a", "start")
    assert cluster.outcome["nodes"]["a"] == "running"
    assert list(cluster.run.steps)[-1].name == "start"
    cluster.undo()
    assert lab.controller.outcome["nodes"]["a"] == "down"
    ask(lab, "undo")
    assert cluster.outcome["nodes"]["a"] == "running"
    other = cluster.copy().stop("b")
    assert (other.outcome["nodes"]["b"], lab.controller.outcome["nodes"]["b"]) == ("down", "running")
