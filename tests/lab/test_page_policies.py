"""Policies on the lab's page: validation while editing, and the policy that is edited."""

from __future__ import annotations

from html import unescape

from lab_widgets import ask, panel, press

from hawb.lab.policy_panel import UNSET


def test_policy_editor_shows_rabbitmqs_validation_at_once(lab):
    policy = panel(lab, "Policy")
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


def test_unedited_policy_follows_the_opened_story(lab, tmp_path):
    other = tmp_path / "other.yaml"
    other.write_text("""
scenario: another cluster
cluster: {nodes: [a, b], version: "3.10"}
policies: [{name: ha-all, pattern: '^mine', definition: {ha-mode: all}}]
""")
    policy = panel(lab, "Policy")
    assert (policy.name.value, policy.pattern.value) == ("ha-all", r"^ha\.")
    lab.controller.open(other)
    lab.redraw()
    assert (policy.name.value, policy.pattern.value) == ("ha-all", "^mine")
    assert "not set yet" not in policy.opinion.value
    policy.pattern.value = "^typed"
    lab.controller.undo()
    lab.redraw()
    assert policy.pattern.value == "^typed"


def test_edited_policy_survives_other_actions_and_existing_ones_can_be_edited(lab):
    policy = panel(lab, "Policy")
    policy.name.value, policy.pattern.value = "mine", "log"
    press(lab, "set policy")
    assert lab.controller.outcome["queues"]["plain.log"]["policy"] == "mine"
    assert (policy.policy.label, policy.pattern.value) == ("mine", "log")
    policy.pattern.value = "changed"
    ask(lab, "undo")
    assert (policy.name.value, policy.pattern.value) == ("mine", "changed")
    policy.policy.value = dict(policy.policy.options)["ha-two"]
    assert policy.settings["ha-params"].value == "2"
    press(lab, "clear policy")
    assert lab.controller.outcome["queues"]["two.mail"]["policy"] is None


def test_policy_with_values_of_another_release_can_be_edited(lab, tmp_path):
    (tmp_path / "new.yaml").write_text(
        "scenario: New\ncluster: {nodes: [a], version: '4.0'}\npolicies:\n"
        "- {name: p, pattern: '', definition: {queue-master-locator: balanced}, apply_to: classic_queues}\n"
    )
    lab.controller.open_scenario(tmp_path / "new.yaml")
    policy = panel(lab, "Policy")
    policy.policy.value = dict(policy.policy.options)["p"]
    assert policy.settings["queue-master-locator"].value == "balanced"
    ask(lab, "undo")
    assert policy.apply_to.value == "queues"


def test_operator_policies_can_be_edited(lab):
    policy = panel(lab, "Policy")
    policy.name.value, policy.kind.value, policy.others.value = "cap", "operator_policy", '{"max-length": 5}'
    assert "are not recognised policy settings" in policy.opinion.value
    policy.settings["ha-mode"].value = UNSET
    assert "merged with policy ha-all:" in unescape(policy.opinion.value)
    assert "rabbitmqctl clear_operator_policy cap" in policy.rendering.value
    press(lab, "set policy")
    assert policy.policy.label == "cap (operator policy)"
    assert lab.controller.outcome["queues"]["ha.orders"]["operator_policy"] == "cap"
    press(lab, "clear policy")
    assert lab.controller.operator_policies == ()
