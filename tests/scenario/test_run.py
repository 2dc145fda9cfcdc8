"""A run: when steps begin, undo, copies and continuation."""

from __future__ import annotations

import subprocess
import sys

import msgspec
import pytest
from conftest import LONG
from hypothesis import given, settings
from hypothesis import strategies as st
from programs import concrete, programs

from hawb.rules import patterns
from hawb.scenario.document import Scenario
from hawb.scenario.load import load, read_scenario
from hawb.scenario.outcome import outcome, outcome_json
from hawb.scenario.refused import ScenarioRefused
from hawb.scenario.run import Run
from hawb.scenario.verbs import Expect

HEAD = """
scenario: t
cluster: {nodes: [a, b, c], version: "3.10"}
policies: [{name: ha, pattern: '^q', definition: {ha-mode: all}}]
steps:
"""


def run_of(*steps: str) -> Run:
    """Return the run of steps written as in a file."""
    return Run.of(load(HEAD + "".join(f"  - {step}\n" for step in steps)))


def times(run: Run, event: str) -> list[float]:
    """Return the times of the events of this type."""
    return [comparable["t"] for comparable in outcome(run)["events"] if comparable["event"] == event]


# When a step begins


def test_step_without_a_time_begins_when_the_cluster_has_settled():
    run = run_of("stop: a", "kill: b")
    (stopped,), (killed,) = times(run, "node_stopped"), times(run, "node_killed")
    assert stopped == killed == 1.0


def test_step_with_a_time_begins_then_even_if_the_cluster_has_not_settled():
    run = run_of("stop: a", "{kill: b, at: 0.25}")
    assert times(run, "node_killed") == [0.25]
    assert times(run, "node_stopped") == [1.0]


def test_past_time_means_at_once():
    run = run_of("wait: 7", "{kill: a, at: 3}", "{kill: b, at: 2}")
    assert times(run, "node_killed") == [7.0, 7.0]


def test_future_time_is_waited_for():
    run = run_of("{kill: a, at: 3}", "kill: b")
    assert times(run, "node_killed") == [3.0, 3.0005]


def test_wait_passes_time_also_during_a_shutdown():
    assert outcome(run_of("wait: 2.5", "wait: 0.25"))["time_s"] == 2.75
    run = run_of("stop: a", "{wait: 0.2, at: 0.3}", "{kill: b, at: 0.5}")
    assert times(run, "node_killed") == [0.5]


def test_wait_lets_timers_expire():
    waits = ("kill: a", "kill: [b, c]", "start: b")
    assert outcome(run_of(*waits))["nodes"]["b"] == "waiting"
    assert outcome(run_of(*waits, "wait: 599"))["nodes"]["b"] == "waiting"
    assert outcome(run_of(*waits, "wait: 601"))["nodes"]["b"] == "down"


@pytest.mark.parametrize(("version", "patience_s"), [("3.8", 600), ("3.10", 600), ("3.13", 300), ("4.0", 300)])
def test_boot_timeout_depends_on_the_release_and_other_waiting_nodes(version, patience_s):
    def nodes_after(wait_s: int) -> dict:
        steps = ("stop: [a, b]", "stop: c", "start: a", "{start: b, at: 20}", f"{{wait: 0, at: {wait_s}}}")
        head = HEAD.replace('"3.10"', f'"{version}"').replace("ha-mode: all", "max-length: 9")
        return outcome(Run.of(load(head + "".join(f"  - {step}\n" for step in steps))))["nodes"]

    began_s = {"a": 1 + 1 + 5, "b": 20 + 5}
    gone = {"a": began_s["a"] + patience_s, "b": began_s["b"] + 300}
    for wait_s in (moment + around for moment in gone.values() for around in (-1, 1)):
        comparable = nodes_after(wait_s)
        assert {node: comparable[node] for node in "ab"} == {
            node: "waiting" if wait_s < gone[node] else "down" for node in "ab"
        }


@pytest.mark.parametrize("first", ["a", "b", "c"])
def test_steps_at_the_same_time_happen_before_any_reaction(first):
    others = [node for node in "abc" if node != first]
    run = run_of(
        "declare: {queue: q1, node: a}",
        f"{{kill: {first}, at: 5}}",
        *(f"{{kill: {node}, at: 5}}" for node in others),
    )
    events = [comparable["event"] for comparable in outcome(run)["events"]]
    assert "promoted" not in events
    assert events.index("node_down_noticed") > max(i for i, event in enumerate(events) if event == "node_killed")


def test_publish_at_the_time_of_a_kill_is_in_flight_when_the_master_dies():
    head = "declare: {queue: q1, node: a}"
    steps = ["{kill: a, at: 5}", "{publish: {queue: q1, count: 2, node: b}, at: 5}"]
    forward, backward = run_of(head, *steps), run_of(head, *reversed(steps))
    assert outcome(forward)["queues"] == outcome(backward)["queues"]
    assert outcome(forward)["queues"]["q1"]["master"] == "b"


def test_held_back_messages_are_not_counted_as_published():
    """Each published number is in `ids`, lost, refused or removed at every moment."""
    waits = (
        "declare: {queue: votes, node: a, arguments: {x-queue-type: quorum}}",
        "declare: {queue: orders, node: a}",
        "kill: [b, c]",
        "publish: {queues: [votes, orders], count: 4, node: a}",
    )
    for steps, published in ((waits, 1), ((*waits, "wait: 70"), 2), ((*waits, "wait: 70", "start: b", "wait: 60"), 4)):
        comparable = outcome(run_of(*steps))
        for name, account in comparable["ledger"].items():
            taken = [*comparable["queues"][name]["ids"], *account["refused"]]
            assert account["published"] == published
            assert sum(last - first + 1 for first, last in taken) == published


def test_messages_of_a_client_closed_at_the_time_of_a_kill_are_not_redelivered_before():
    """Requeued messages may reach another consumer only after all steps of that time."""
    steps = ["{close: c1, at: 5}", "{kill: a, at: 5}"]
    head = [
        "declare: {queue: r, node: a}",
        "publish: {queue: r, count: 3}",
        "consume: {consumer: c1, queue: r, node: a}",
        "consume: {consumer: c2, queue: r, node: a, ack: auto}",
    ]
    forward, backward = run_of(*head, *steps), run_of(*head, *reversed(steps))
    assert outcome(forward)["consumers"]["c2"]["received"] == []
    assert outcome(forward)["queues"] == outcome(backward)["queues"]


def test_step_comes_before_other_events_of_the_same_time():
    """A shutdown takes one second. A kill one second after its begin comes first."""
    run = run_of("stop: a", "{kill: a, at: 1}")
    assert times(run, "node_stopped") == [] and times(run, "node_killed") == [1.0]


# Expectations change nothing


def without_expectations(scenario: Scenario) -> Scenario:
    """Return the scenario without its expect steps and its final expect."""
    steps = tuple(step for step in scenario.steps if not isinstance(step.verb, Expect))
    return msgspec.structs.replace(scenario, steps=steps, expect=None)


def comparable(run: Run) -> dict:
    """Return the outcome without the indices of steps, which expect steps shift."""
    said = outcome(run)
    events = [{key: value for key, value in event.items() if key != "step"} for event in said["events"]]
    errors = [{key: value for key, value in error.items() if key != "step"} for error in said["errors"]]
    return said | {"events": events, "errors": errors}


@pytest.mark.parametrize("expectation", ["expect: {}", "{expect: {}, at: 0.0001}", "{expect: {}, at: 900}"])
@pytest.mark.parametrize("place", range(5))
def test_expectations_do_not_change_the_outcome(expectation, place):
    steps = [
        "declare: {queue: q1, node: a}",
        "kill: a",
        "{publish: {queue: q1, count: 2, node: b}, at: 0.0001}",
        "start: a",
    ]
    steps.insert(place, expectation)
    run = run_of(*steps)
    assert comparable(run) == comparable(Run.of(without_expectations(run.scenario)))


def test_outcome_is_the_same_bytes_under_any_hash_seed(tmp_path):
    file = tmp_path / "story.yaml"
    steps = ["declare: {queue: q1, node: a}", "publish: {queue: q1, count: 3}", "stop: [b, c]", "start: [c, b]"]
    file.write_text(HEAD.replace("all", "exactly, ha-params: 2") + "".join(f"  - {step}\n" for step in steps))
    program = "import sys; from hawb.cli import main; main(['run', sys.argv[1], '--json'])"
    comparable = {
        subprocess.run(
            [sys.executable, "-c", program, file], env={"PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(comparable) == 1 and comparable.pop().startswith(b"{")


# Back, aside and on


def played(program) -> Run:
    given_, groups = program
    return Run.of(read_scenario(given_ | {"steps": concrete(given_, groups)}))


@settings(max_examples=300 if LONG else 25)
@given(programs())
def test_stepwise_run_equals_the_whole_file_whenever_it_is_read(program):
    whole = played(program)
    run = Run(msgspec.structs.replace(whole.scenario, steps=()))
    for step in whole.scenario.steps:
        outcome_json(run)
        run.apply(step)
    assert run.scenario == whole.scenario
    assert outcome_json(run) == outcome_json(whole)


@settings(max_examples=300 if LONG else 25)
@given(programs(), st.data())
def test_undo_restores_the_earlier_state(program, data):
    run = played(program)
    steps = run.steps
    kept = data.draw(st.integers(0, len(steps)))
    for step in reversed(steps[kept:]):
        assert run.undo() == step
    assert run.steps == steps[:kept]
    fresh = Run.of(msgspec.structs.replace(run.scenario, steps=steps[:kept]))
    assert outcome_json(run) == outcome_json(fresh)
    for step in steps[kept:]:
        run.apply(step)
    assert outcome_json(run) == outcome_json(played(program))


def test_undo_without_steps_raises():
    run = run_of("kill: a")
    run.undo()
    with pytest.raises(IndexError):
        run.undo()


def test_copy_is_independent():
    run = run_of("declare: {queue: q1, node: a}")
    before = outcome_json(run)
    other = run.copy()
    other.apply_plain({"kill": "a"})
    assert outcome_json(run) == before and len(run.steps) == 1
    run.apply_plain({"kill": "b"})
    assert outcome(other)["nodes"] == {"a": "down", "b": "running", "c": "running"}
    assert outcome(run)["nodes"] == {"a": "running", "b": "down", "c": "running"}
    other.undo()
    assert outcome_json(other) == before


def test_moment_after_each_step_can_be_read():
    run = run_of("declare: {queue: q1, node: a}", "kill: a", "{start: a, at: 0.0002}")
    masters = [run.moment(steps).state.queues["q1"].master for steps in (1, 2, 3)]
    assert masters == [0, 1, 1]
    assert run.moment_of(1).state == run.moment(1).state
    assert run.moment_of(2).state.queues["q1"].master == 0, "nobody has noticed yet"
    assert run.moment(0).state.queues == {}


# What has no rules


def test_step_that_is_not_simulated_is_refused_and_changes_nothing():
    step, words = {"consume": {"queue": "q1", "consumer": "c"}}, "q1 is a stream"
    run = run_of("declare: {queue: q1, node: a, arguments: {x-queue-type: stream}}")
    before = outcome_json(run)
    with pytest.raises(ScenarioRefused) as refused:
        run.apply_plain(step)
    assert words in str(refused.value) and refused.value.step == 1
    assert outcome_json(run) == before and len(run.steps) == 1


def test_invalid_initial_policy_is_refused():
    with pytest.raises(ScenarioRefused, match="ha-mode"):
        Run(load("scenario: t\ncluster: {nodes: [a]}\npolicies: [{name: p, pattern: q, definition: {ha-params: 2}}]\n"))


@pytest.mark.parametrize("version", ["4.0", "4.3"])
@pytest.mark.parametrize("mirrors", ["mirrors: [b]", "recoverable_mirrors: [b]"])
def test_initial_mirrors_are_refused_since_4_0(version: str, mirrors: str):
    cluster = f"cluster: {{nodes: [a, b], version: '{version}'}}"
    text = f"scenario: t\n{cluster}\nqueues: [{{queue: q, master: a, {mirrors}}}]\n"
    with pytest.raises(ScenarioRefused, match=rf"queues\[0\].mirrors: RabbitMQ {version} has no mirrored queues"):
        Run(load(text))


@pytest.mark.parametrize(("version", "mirrored"), [("3.8", True), ("3.10", False), ("3.13", False)])
def test_3_8_reports_an_exclusive_queue_as_mirrored(version: str, mirrored: bool):
    given = {
        "scenario": "t",
        "cluster": {"nodes": ["a", "b"], "version": version},
        "policies": [{"name": "ha", "pattern": "", "definition": {"ha-mode": "all"}}],
        "steps": [{"declare": {"queue": "q", "node": "a", "exclusive": True, "connection": "c"}}],
    }
    queue = outcome(Run.of(read_scenario(given)))["queues"]["q"]
    assert (queue["mirrored"], queue["mirrors"], queue["critical_nodes"]) == (mirrored, [], ["a"] if mirrored else [])


def test_refused_operation_is_an_error_of_its_step_and_the_run_continues():
    run = run_of(
        "purge: nowhere",
        "stop: a",
        "{purge: nowhere, at: 9}",
        "kill: a",
        "set_policy: {name: p, pattern: '(', definition: {ha-mode: all}}",
        "declare: {queue: q1, node: a}",
        "declare: {queue: q1, node: b}",
    )
    errors = [(error["step"], error["code"]) for error in outcome(run)["errors"]]
    assert errors == [(0, 404), (2, 404), (3, None), (4, None), (5, None)]
    assert outcome(run)["queues"]["q1"]["master"] == "b"


@pytest.mark.parametrize("step", [
    "set_policy: {name: p, pattern: q, definition: {max-length: 1}}", "clear_policy: ha",
    "set_operator_policy: {name: p, pattern: q, definition: {max-length: 1}}",
    "clear_operator_policy: {name: p}", "sync_queue: q", "cancel_sync_queue: q", "rebalance: true",
    "add_member: {queue: votes, node: a}", "delete_member: {queue: votes, node: a}", "grow: {node: a}", "shrink: a",
    "transfer_leadership: {queue: votes, node: b}",
])  # fmt: skip
def test_command_fails_if_no_node_runs(step: str):
    queues = "declare: {queue: q, node: a}", "declare: {queue: votes, node: a, arguments: {x-queue-type: quorum}}"
    before, after = outcome(run_of(*queues, "kill: [a, b, c]")), outcome(run_of(*queues, "kill: [a, b, c]", step))
    assert after["errors"] == [{"step": 3, "code": None, "text": "no node is running"}]
    assert after["queues"] == before["queues"]


def test_copies_share_earlier_events():
    run = run_of("declare: {queue: q}", "publish: {queue: q, count: 3}", "stop: a")
    other, again = run.copy(), run_of("declare: {queue: q}", "publish: {queue: q, count: 3}", "stop: a")
    other.undo()
    other.apply_plain({"kill": "a"})
    shared = run.shared_entries(other)
    assert 0 < shared == other.shared_entries(run) < len(run.moment().trace())
    assert run.moment().trace()[:shared] == other.moment().trace()[:shared]
    assert run.moment().trace()[shared:] == run.moment().trace(shared)
    assert run.shared_entries(run.copy()) == run.rewound(3).shared_entries(run)
    assert run.shared_entries(again) == 0
    assert outcome(other, shared=outcome(run)["events"][:shared]) == outcome(other)


@pytest.mark.parametrize("place", ["policies", "steps"])
def test_scenario_with_an_endless_pattern_is_refused_with_the_policys_name(place, monkeypatch):
    monkeypatch.setattr(patterns, "MOST_STEPS", 500_000)
    slow = {"name": "slow", "pattern": "^(a+)+$", "definition": {"max-length": 1}}
    declares = [{"declare": {"queue": f"{'a' * 14}{number}!"}} for number in range(40)]
    given = {"scenario": "t", "cluster": {"nodes": ["a"]}, "steps": declares}
    given |= {"policies": [slow]} if place == "policies" else {"steps": [*declares, {"set_policy": slow}]}
    with pytest.raises(ScenarioRefused, match="the pattern of policy 'slow' takes too many steps to match") as refused:
        Run.of(read_scenario(given)).moment()
    assert refused.value.given == slow["pattern"] and refused.value.accepted
