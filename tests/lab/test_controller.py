"""The lab's controller: every action of the page, without a page."""

from __future__ import annotations

import pytest
from conftest import controller

from hawb.lab.beside import variants
from hawb.lab.cluster_panel import profiles
from hawb.lab.controller import Controller, Place
from hawb.lab.policy_draft import PolicyDraft
from hawb.lab.typed import number

lab = controller
"""What these tests call the lab is its controller."""


def messages_in(lab: Controller, queue: str = "ha.orders") -> int:
    return lab.outcome["queues"][queue]["messages"]


def test_kill_loses_unsynchronised_messages_and_undo_restores_them(lab):
    lab.act("kill", "a")
    assert (messages_in(lab), lab.now.was["queues"]["ha.orders"]["messages"]) == (10, 110)
    assert lab.outcome["losses"][0]["cause"] == "unsynchronised_promotion"
    lab.undo()
    assert (messages_in(lab), lab.outcome["losses"]) == (110, [])
    lab.redo()
    assert messages_in(lab) == 10
    assert not lab.can_redo


def test_nothing_can_be_undone_at_first(lab):
    before = lab.outcome
    assert not lab.can_undo
    lab.undo()
    assert lab.outcome is before


def test_story_can_be_stepped_back_and_forward(lab):
    end, steps = lab.outcome, len(lab.now.run.steps)
    for _ in range(100):
        lab.step_back()
    assert (lab.story_place, lab.outcome["events"], lab.next_step) == ((0, steps), [], "set_policy")
    assert lab.now.was is not None
    for _ in range(100):
        lab.step_forward()
    assert (lab.story_place, lab.outcome, lab.next_step) == ((steps, steps), end, "")


def test_action_inside_a_story_keeps_the_later_steps(lab):
    lab.step_back()
    lab.step_back()
    lab.act("sync_queue", "ha.orders")
    assert lab.next_step == "publish"
    lab.step_forward()
    lab.step_forward()
    assert lab.outcome["queues"]["ha.orders"]["synchronised_mirrors"] == ["b"]
    assert lab.outcome["nodes"]["c"] == "down"
    lab.undo()
    assert lab.next_step == "stop"


def test_changing_profile_or_seed_keeps_the_place_in_the_story(lab):
    lab.step_back()
    lab.set_profile("3.13")
    lab.set_seed("5")
    played, steps = lab.story_place
    assert (steps - played, lab.next_step, lab.outcome["seed"], lab.profile.version) == (1, "stop", 5, "3.13")


def test_new_node_can_join_and_later_steps_stay(lab):
    lab.step_back()
    lab.act("join", "d")
    assert lab.messages == {}
    assert lab.outcome["nodes"]["d"] == "running"
    lab.step_forward()
    assert lab.outcome["nodes"] == {"a": "running", "b": "running", "c": "down", "d": "running"}


def test_time_passed_by_playing_is_one_wait_step(lab):
    since = lab.outcome["time_s"]
    lab.act("kill", "b")
    lab.pass_time(5.0)
    lab.pass_time(0.5)
    assert lab.now.run.steps[-1].verb.seconds == 5.5
    assert lab.now.run.steps[-2].name == "kill"
    assert lab.outcome["time_s"] > since + 5
    lab.undo()
    assert lab.now.run.steps[-1].name == "kill"


def test_cluster_has_timers_while_events_are_scheduled(lab):
    lab.act("kill", "a")
    lab.act("kill", "b")
    assert not lab.has_timers
    lab.act("start", "a")
    assert (lab.outcome["nodes"]["a"], lab.has_timers) == ("waiting", True)
    lab.pass_time(600)
    assert not lab.has_timers


def test_action_after_undo_clears_redo(lab):
    lab.act("kill", "a")
    lab.undo()
    lab.act("kill", "b")
    assert not lab.can_redo


def test_refused_step_shows_rabbitmqs_text_and_an_explanation_and_can_be_undone(lab):
    lab.act("purge", "nobody", Place.QUEUES)
    theirs, ours = lab.messages[Place.QUEUES].split("\n")
    assert theirs == "NOT_FOUND - no queue 'nobody' in vhost '/'"
    assert ours.startswith("RabbitMQ refused purge with code 404.")
    lab.undo()
    assert lab.outcome["errors"] == []
    assert lab.messages == {}


@pytest.mark.parametrize(
    ("verb", "argument", "words"),
    [
        ("publish", {"queue": "ha.orders", "count": "many"}, ["publish.count", "'many'", "accepted: a whole number"]),
        ("publish", {"queue": "ha.orders", "count": -1}, ["publish.count", "-1"]),
        ("kill", "z", ["not a node of this cluster", "'z'", "a, b, c"]),
        ("declare", {"queue": ""}, ["declare.queue", "''"]),
        ("frobnicate", True, ["unknown verb"]),
    ],
)
def test_invalid_input_shows_a_message_and_changes_nothing(lab, verb, argument, words):
    before = lab.outcome
    lab.act(verb, argument, Place.QUEUES)
    assert list(lab.messages) == [Place.QUEUES]
    assert all(word in lab.messages[Place.QUEUES] for word in [*words, "Nothing was changed."])
    assert lab.outcome is before


def test_message_disappears_with_the_next_action(lab):
    lab.act("kill", "z")
    lab.act("kill", "a")
    assert lab.messages == {}


def test_changing_the_profile_replays_the_steps_and_lists_refused_ones(lab, tmp_path):
    (tmp_path / "one.yaml").write_text(
        "scenario: One\ncluster: {nodes: [x], version: '3.10'}\nsteps:\n- declare: {queue: q}\n"
        "- set_policy: {name: ha, pattern: q, definition: {ha-mode: all}}\n"
    )
    lab.open_scenario(tmp_path / "one.yaml")
    lab.set_profile("4.0")
    assert lab.profile.version == "4.0"
    assert "step 2, set_policy: Validation failed" in lab.messages[Place.PROFILE]
    lab.undo()
    assert lab.profile.version == "3.10"
    assert lab.outcome["errors"] == []


def test_profile_that_refuses_an_initial_policy_changes_nothing(lab, tmp_path):
    (tmp_path / "one.yaml").write_text(
        "scenario: One\ncluster: {nodes: [x], version: '3.10'}\n"
        "policies: [{name: ha, pattern: q, definition: {ha-mode: all}}]\n"
    )
    lab.open_scenario(tmp_path / "one.yaml")
    lab.set_profile("4.0")
    assert "RabbitMQ would refuse this policy" in lab.messages[Place.PROFILE]
    assert lab.profile.version == "3.10"


def test_seed_is_part_of_the_scenario(lab):
    lab.set_seed(" 7 ")
    assert lab.outcome["seed"] == 7
    lab.set_seed("seven")
    assert "given: 'seven'" in lab.messages[Place.SEED]
    assert lab.outcome["seed"] == 7


def test_policy_is_set_and_cleared(lab):
    lab.set_policy(PolicyDraft("plain", "^plain", settings={"ha-mode": "all"}))
    assert lab.outcome["queues"]["plain.log"]["mirrors"] == ["b"]
    assert [policy.name for policy in lab.policies] == ["ha-all", "ha-two", "plain"]
    lab.clear_policy(PolicyDraft("plain"))
    assert lab.outcome["queues"]["plain.log"]["mirrors"] == []
    lab.clear_policy(PolicyDraft("plain"))
    assert "Parameter does not exist" in lab.messages[Place.POLICY]


def test_operator_policy_is_set_and_cleared(lab):
    cap = PolicyDraft("cap", "^ha", others='{"max-length": 5}', kind="operator_policy")
    lab.set_policy(cap)
    assert lab.outcome["queues"]["ha.orders"]["operator_policy"] == "cap"
    assert [policy.name for policy in lab.operator_policies] == ["cap"]
    assert [(one.queue, one.partner) for one in lab.reach(cap)] == [("ha.orders", "ha-all")]
    lab.clear_policy(cap)
    assert lab.operator_policies == ()


def test_invalid_policy_is_a_refused_step_and_one_without_a_name_is_not_played(lab):
    lab.set_policy(PolicyDraft("bad", "(", settings={"ha-mode": "all"}))
    assert lab.messages[Place.POLICY].startswith("Validation failed")
    assert len(lab.outcome["errors"]) == 1
    lab.undo()
    before = lab.outcome
    lab.set_policy(PolicyDraft("", "^plain", settings={"ha-mode": "all"}))
    assert lab.messages[Place.POLICY].startswith("name: missing")
    assert lab.outcome is before


def test_draft_lists_the_queues_it_matches(lab):
    reached = lab.reach(PolicyDraft("zz", "orders", priority="-1", settings={"ha-mode": "all"}))
    assert [(one.queue, one.winner, one.wins) for one in reached] == [("ha.orders", "ha-all", False)]


def test_why_explains_existing_messages_only(lab):
    lab.act("kill", "a")
    assert "lost" in lab.why("ha.orders/1")
    assert lab.why(" ha.orders/999 ") == ""
    assert "messages 1 to 110" in lab.messages[Place.WHY]
    assert lab.why("nowhere/1") == ""
    assert "there is no queue 'nowhere'" in lab.messages[Place.WHY]
    assert lab.why("nonsense") == ""
    assert "QUEUE/NUMBER" in lab.messages[Place.WHY]


@pytest.mark.parametrize(
    ("text", "value"), [(" 12 ", 12), ("-3", -3), ("0.5", 0.5), ("1e3", "1e3"), ("²", "²"), (".", ".")]
)
def test_only_decimal_numbers_are_accepted(text, value):
    assert number(text) == value


def test_step_can_have_a_time_while_messages_are_in_flight(lab):
    lab.act("publish", {"queue": "ha.orders", "count": 300_000}, Place.QUEUES)
    lab.act("sync_queue", "ha.orders", Place.QUEUES)
    began = max(event["t"] for event in lab.outcome["events"] if event["event"] == "sync_started")
    lab.at = f"{began + 1:.3f}"
    lab.act("cancel_sync_queue", "ha.orders", Place.QUEUES)
    assert (lab.outcome["events"][-1]["event"], lab.at) == ("sync_ended", "")
    lab.at = "soon"
    lab.act("kill", "a")
    assert list(lab.messages) == [Place.TIME]
    assert "at: not accepted" in lab.messages[Place.TIME]
    assert lab.at == "soon"


def test_refusal_names_its_field(lab):
    lab.act("publish", {"queue": "ha.orders", "count": "many"}, Place.STEP)
    assert lab.field == "count"
    lab.act("kill", ["a", "z"], Place.STEP)
    assert lab.field == ""


def test_profiles_are_listed_with_their_releases():
    assert ("3.10.8", "3.10") in profiles()


# Beside each other


def test_variant_follows_steps_and_moments_and_can_replace_the_story(lab):
    lab.choose("ha.orders")
    assert (lab.beside.at(lab.now), lab.beside.outcome(lab.now)) == (None, None)
    lab.vary(variants(lab.now, lab.queue)["ha.orders: a quorum queue"])
    lab.act("kill", "a")
    assert lab.outcome["ledger"]["ha.orders"]["lost_confirmed"] == 100
    assert lab.beside.outcome(lab.now)["queues"]["ha.orders"]["state"] == "minority"
    assert lab.beside.outcome(lab.now)["ledger"]["ha.orders"]["lost"] == []
    assert lab.beside.at(lab.now) is lab.beside.at(lab.now)
    lab.look_at(1)
    assert lab.beside.outcome(lab.now)["time_s"] <= 0.1
    lab.undo()
    lab.go_aside()
    assert lab.beside.variant is None
    assert lab.outcome["queues"]["ha.orders"]["type"] == "quorum"
    lab.undo()
    assert lab.outcome["queues"]["ha.orders"]["type"] == "classic"


def test_variant_with_an_invalid_policy_is_refused(lab):
    lab.vary_policy(PolicyDraft("x", "^ha", settings={"ha-mode": "exactly"}))
    assert lab.beside.variant is None
    assert "takes an integer, none given" in lab.messages[Place.BESIDE]
    lab.vary_policy(PolicyDraft("ha-all", "^ha", settings={"ha-mode": "all", "ha-sync-mode": "automatic"}))
    lab.act("kill", "a")
    assert lab.beside.outcome(lab.now)["ledger"]["ha.orders"]["lost"] == []
    lab.vary(None)
    lab.go_aside()
    assert lab.outcome["ledger"]["ha.orders"]["lost"] == [[1, 100]]
