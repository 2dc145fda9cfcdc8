"""The panel "Any step": a form for every verb, generated from its fields."""

from __future__ import annotations

import json

import pytest
from lab_widgets import on_node

from hawb.lab.controller import Controller
from hawb.lab.step_panel import Form
from hawb.scenario.kinds import fields_of
from hawb.scenario.load import read_step
from hawb.scenario.verbs import VERBS

NODES = ["a", "b", "c"]
FILLED = {
    "name": "n", "queue": "ha.orders", "consumer": "c1", "exchange": "dead", "routing_key": "k", "pattern": "^ha",
    "definition": '{"max-length": 5}', "count": "5", "rate": "0.5", "seconds": "2", "outcome": '{"time_s": 1}',
    "node": "a",
}  # fmt: skip
"""What a person would type into lines that have to be filled in."""


def filled(form: Form) -> Form:
    """Return the form with required fields filled in and list items chosen."""
    for key, field in form.inputs.items():
        if getattr(field, "required", False):
            field.widget.value = FILLED[key]
        if hasattr(field.widget, "rows"):
            field.widget.index = (0, 1)
    if form.verb is VERBS["publish"]:
        form.inputs["queue"].widget.value = "ha.orders"
    return form


def test_form_of_each_verb_gives_its_step(controller: Controller, subtests: pytest.Subtests):
    for verb, kind in VERBS.items():
        with subtests.test(msg="the form has every field, and can be filled in as in a file", verb=verb):
            form = filled(Form(verb, controller))
            assert form.inputs.keys() == fields_of(kind).keys()
            assert read_step({verb: form.argument}, NODES).name == verb
        with subtests.test(msg="a field that is left alone has its default", verb=verb):
            made = read_step({verb: filled(Form(verb, controller)).argument}, NODES).verb
            typed = {field.name for field in fields_of(kind).values() if field.required} | {"queue"}
            assert made == kind(**{name: getattr(made, name) for name in typed & set(made.__struct_fields__)})


def test_played_form_adds_a_step_to_the_story(lab):
    lab.open_form("publish")
    assert lab.drawer.name == "Any step"
    inputs = lab.step.form.inputs
    inputs["queue"].widget.value, inputs["count"].widget.value, inputs["mode"].widget.value = "plain.log", "3", "tx"
    inputs["persistent"].widget.value = False
    lab.step.play.click()
    verb = lab.controller.now.run.steps[-1].verb
    assert (verb.queue, verb.count, verb.mode, verb.persistent) == ("plain.log", 3, "tx", False)


def test_partition_groups_and_cut_links_can_be_chosen(controller):
    groups = Form("partition", controller)
    assert groups.argument == [["a"], ["b", "c"]]
    groups.inputs["groups"].groups["b"].value = 3
    assert groups.argument == [["a"], ["c"], ["b"]]
    links = Form("cut", controller)
    assert [label for label, _ in links.inputs["links"].widget.options] == ["a – b", "a – c", "b – c"]
    links.inputs["links"].widget.index = (0, 2)
    assert links.argument == [["a", "b"], ["b", "c"]]


def test_new_node_name_can_be_typed_for_join(lab):
    lab.open_form("join")
    lab.step.form.inputs["node"].widget.value = "d"
    lab.step.play.click()
    assert lab.controller.outcome["nodes"]["d"] == "running"
    assert [node["name"] for node in lab.stage.view["scene"]["nodes"]] == ["a", "b", "c", "d"]


def test_refusal_is_shown_beside_its_field(lab):
    lab.open_form("publish")
    inputs = lab.step.form.inputs
    inputs["queue"].widget.value, inputs["count"].widget.value, inputs["priority"].widget.value = "q", "1", "999"
    lab.step.play.click()
    found = {key: message.box.value for key, message in lab.step.form.messages.items() if message.box.value}
    assert list(found) == ["priority"]
    assert "publish.priority: not accepted" in found["priority"]
    assert inputs["priority"].widget.value == "999"
    inputs["priority"].widget.value, inputs["mode"].widget.value = "", "tx"
    lab.step.play.click()
    assert lab.step.message.box.value == ""
    assert not any(message.box.value for message in lab.step.form.messages.values())


def test_rabbitmqs_refusal_is_shown_beside_the_form(lab):
    lab.controller.choose("ha.orders")
    lab.open_form("add_member")
    lab.step.play.click()
    assert "Cannot add members to a classic queue" in lab.step.message.box.value


def test_form_is_prefilled_with_the_chosen_queue(lab):
    lab.controller.choose("two.mail")
    lab.open_form("sync_queue")
    field = lab.step.form.inputs["queue"].widget
    assert (field.value, set(field.options)) == ("two.mail", {"ha.orders", "plain.log", "qq.orders", "two.mail"})


def test_form_follows_a_new_cluster_and_keeps_input_otherwise(lab, tmp_path):
    lab.open_form("alarm")
    lab.step.form.inputs["node"].widget.value = "b"
    on_node(lab, "a", "kill")
    assert lab.step.form.inputs["node"].value == "b"
    file = tmp_path / "other.yaml"
    file.write_text(json.dumps({"scenario": "Other", "cluster": {"nodes": ["<b>x</b>"]}}))
    lab.controller.open_scenario(file)
    lab.redraw()
    assert lab.step.form.inputs["node"].value == "<b>x</b>"
