"""Turns and moments: the order of events, and moments that never change."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from conftest import LONG
from hypothesis import given, settings
from hypothesis import strategies as st
from programs import concrete, programs

from hawb.engine import advance
from hawb.engine.core.events import DepthFell
from hawb.engine.core.moment import Moment
from hawb.engine.core.settings import Settings
from hawb.engine.core.turn import REACTION, TIMER, Turn
from hawb.engine.first_state import begin
from hawb.rules.profiles import PROFILES
from hawb.scenario.load import read_scenario
from hawb.scenario.outcome import outcome, outcome_json
from hawb.scenario.run import Run

SETTINGS = Settings(names=("a", "b"), file_order=(0, 1), profile=PROFILES["3.10"])


def turn_at_the_beginning() -> Turn:
    return Turn(SETTINGS, begin(SETTINGS, {}, [], []), 0)


# Order


@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from([REACTION, TIMER])), max_size=12))
def test_events_come_by_time_then_priority_then_number(entries):
    turn = turn_at_the_beginning()
    for index, (delay_us, priority) in enumerate(entries):
        turn.schedule(delay_us, index, priority=priority)
    order = []
    while turn.next_time_us() is not None:
        due_us = turn.next_time_us()
        order.append(turn.take())
        assert turn.now_us == due_us
    assert order == sorted(range(len(entries)), key=lambda index: entries[index])


@given(st.lists(st.sampled_from([REACTION, TIMER]), max_size=6))
def test_timers_do_not_keep_a_cluster_from_being_settled(priorities):
    turn = turn_at_the_beginning()
    for priority in priorities:
        turn.schedule(5, "event", priority=priority)
    while not turn.settled():
        turn.take()
    assert all(priority == TIMER for _, priority, *_ in turn.agenda)
    again = Turn(SETTINGS, turn.finish(), 0)
    assert again.settled() and len(again.agenda) == len(turn.agenda)


@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from([REACTION, TIMER]), st.sampled_from("xyz")), max_size=9))
def test_unscheduled_event_does_not_happen(entries):
    turn = turn_at_the_beginning()
    for delay_us, priority, event in entries:
        turn.schedule(delay_us, event, priority=priority)
    assert turn.unschedule("x") == any(event == "x" for _, _, event in entries)
    assert not turn.unschedule("x")
    kept = [entry for entry in entries if entry[2] != "x"]
    assert turn.settled() == all(priority == TIMER for _, priority, _ in kept)
    happened = [turn.take() for _ in kept]
    assert happened == [event for _, _, event in sorted(kept, key=lambda entry: entry[:2])]
    assert turn.settled() and turn.next_time_us() is None


def test_event_keeps_the_step_and_the_trace_entry_that_caused_it():
    turn = turn_at_the_beginning()
    turn.step, turn.because = 7, turn.emit("node_killed", node=0)
    turn.schedule(10, "later")
    other = turn.emit("node_killed", node=1)
    turn.schedule(20, "later still", because=other)
    turn.step, turn.because = 8, None
    turn.take()
    assert (turn.step, turn.because, turn.now_us) == (7, 0, 10)
    turn.take()
    assert (turn.step, turn.because, turn.now_us) == (7, 1, 20)


def test_trace_entry_names_its_cause():
    turn = turn_at_the_beginning()
    first = turn.emit("node_killed", node=0)
    turn.because = first
    second = turn.emit("node_down_noticed", node=0, by=["b"])
    third = turn.emit("messages_confirmed", queue="q", because=second, ids=((1, 3),))
    assert [entry.because for entry in turn.entries] == [None, first, second]
    assert turn.entries[third].detail == {"ids": [[1, 3]]}


def test_numbers_are_unique():
    turn = turn_at_the_beginning()
    given_ = [turn.schedule(0, "x"), turn.next_number(), turn.schedule(0, "y"), turn.next_number()]
    again = Turn(SETTINGS, turn.finish(), 0)
    given_ += [again.next_number(), again.schedule(0, "z")]
    assert len(set(given_)) == len(given_) and given_ == sorted(given_)


@pytest.mark.parametrize(
    ("pass_time", "events_left", "now_us"),
    [(advance.before, 3, 20), (advance.through, 1, 20)],
)
def test_time_passes_up_to_or_through_a_point(pass_time: Callable, events_left, now_us):
    turn = turn_at_the_beginning()
    for delay_us in (10, 20, 20, 30):
        turn.schedule(delay_us, DepthFell("no such queue"))
    pass_time(turn, 20)
    assert (len(turn.agenda), turn.now_us) == (events_left, now_us)
    pass_time(turn, 5)
    assert turn.now_us == 20, "a time already past changes nothing"


def test_event_unscheduled_by_a_flow_is_not_replaced_by_a_later_one(monkeypatch):
    turn = turn_at_the_beginning()
    taken_back, later = DepthFell("no such queue"), DepthFell("nor this")
    turn.schedule(10, taken_back)
    turn.schedule(20, later)
    monkeypatch.setattr(advance.flows, "flow", lambda turn, _: turn.unschedule(taken_back))
    advance.step(turn)
    assert (turn.now_us, turn.is_planned(later)) == (0, True), "the flow itself moves time, here none"


# Moments


def as_text(moment: Moment) -> str:
    """Return everything that a moment holds, as text."""
    beside = (moment.ledger, moment.losses, moment.refusals, moment.entries, moment.entries_before)
    return repr((moment.state, *beside, moment.trace()))


@settings(max_examples=300 if LONG else 30)
@given(programs(), st.data())
def test_moment_does_not_change_when_a_run_continues_from_it(program, data):
    given_, groups = program
    run = Run(read_scenario(given_ | {"steps": concrete(given_, groups)}))
    moments, stages = [run.moment()], []
    for step in read_scenario(given_ | {"steps": concrete(given_, groups)}).steps:
        run.apply(step)
        moments.append(run.moment())
        if data.draw(st.booleans()):
            aside = run.copy()
            aside.apply_plain({"kill": given_["cluster"]["nodes"][:1]})
            stages.append(aside.moment())
    texts = [as_text(moment) for moment in moments + stages]
    for moment in list(moments + stages):
        turn = Turn(run.settings, moment, 99)
        turn.emit("node_killed")
        for name in list(turn.queues):
            turn.change_queue(name, waiting=("nothing",))
            turn.book(name, published=10**6)
        advance.until_settled(turn)
        turn.finish()
    assert [as_text(moment) for moment in moments + stages] == texts


def test_branches_share_the_moment_before():
    first = begin(SETTINGS, {}, [], [])
    one, other = Turn(SETTINGS, first, 0), Turn(SETTINGS, first, 0)
    one.emit("node_killed", node=0)
    other.emit("node_killed", node=1)
    left, right = one.finish(), other.finish()
    assert left.before is right.before is first
    assert [entry.node for entry in left.trace()] == [0]
    assert [entry.node for entry in right.trace()] == [1]
    assert first.trace() == []


def test_states_compare_by_value_and_share_unchanged_parts():
    given_ = {"scenario": "t", "cluster": {"nodes": ["a", "b"]}}
    steps = [{"declare": {"queue": "q"}}, {"declare": {"queue": "r"}}, {"publish": {"queue": "q", "count": 3}}]
    one, other = (Run(read_scenario(given_ | {"steps": []})) for _ in range(2))
    for step in steps:
        one.apply_plain(step)
        other.apply_plain(step)
    assert one.moment().state == other.moment().state
    assert hash(one.moment().state.queues["q"]) == hash(other.moment().state.queues["q"])
    assert one.moment(2).state.queues["r"] is one.moment(3).state.queues["r"]
    assert one.moment(2).state.queues["q"] != one.moment(3).state.queues["q"]


def test_changing_an_outcome_does_not_change_the_run():
    run = Run(read_scenario({"scenario": "t", "cluster": {"nodes": ["a", "b"]}, "steps": []}))
    definition = {"ha-mode": "nodes", "ha-params": ["a"]}
    run.apply_plain({"set_policy": {"name": "p", "pattern": "q", "definition": definition}})
    run.apply_plain({"declare": {"queue": "q"}})
    run.apply_plain({"publish": {"queue": "q", "count": 3}})
    before = outcome_json(run)
    spoil(outcome(run))
    assert outcome_json(run) == before


def spoil(value: object) -> None:
    """Change everything in an outcome that can be changed."""
    if isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            spoil(inner)
        value.clear()
