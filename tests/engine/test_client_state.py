"""The index of many consumers finds what a walk through all of them would find, and steps do without such walks."""

from __future__ import annotations

from typing import NamedTuple
from unittest import mock

from hypothesis import given
from hypothesis import strategies as st

from hawb.engine.clients import client_state, dealing_ports
from hawb.engine.clients.client_state import Clock, Consumer, Consumers
from hawb.engine.clients.single_active import held_by_cancelled
from hawb.engine.core import versions
from hawb.engine.core.versions import Version, closed, opened
from hawb.scenario.load import read_scenario
from hawb.scenario.outcome import outcome
from hawb.scenario.run import Run

MANY = versions.SMALL + 6
CONSUMERS = st.builds(
    Consumer, name=st.sampled_from("abcd"), queue=st.sampled_from("xy"), node=st.just(0),
    connection=st.sampled_from("kl"), clock=st.sampled_from([None, Clock(0, 1, 1)]),
)  # fmt: skip


@given(st.lists(st.lists(st.tuples(CONSUMERS, st.booleans()))))
def test_index_finds_what_a_walk_finds(turns: list[list[tuple[Consumer, bool]]]) -> None:
    version, copy = Version(Consumers({})), {}
    for writes in turns:
        entries = opened(version, large=Consumers)
        for consumer, stays in writes:
            entries[consumer.name] = copy[consumer.name] = consumer
            if not stays:
                del entries[consumer.name], copy[consumer.name]
        before, version = version, closed(entries, version)
        for found in (entries, version, Consumers(copy)):
            for name in "xykl":
                assert client_state.consumers_of(found, name) == client_state.consumers_of(copy, name)
                assert client_state.consumers_over(found, name) == client_state.consumers_over(copy, name)
            assert client_state.rated(found) == client_state.rated(copy)
        assert client_state.rated(before) == [one for one in before.values() if one.clock is not None]


def played(*steps: dict) -> Run:
    """Return the run of many consumers, each on a quorum queue of its own, and of further steps."""
    quorum = {"x-queue-type": "quorum"}
    many = [
        step for number in range(MANY) for step in (
            {"declare": {"queue": f"q{number}", "arguments": quorum}},
            {"consume": {"queue": f"q{number}", "consumer": f"c{number}", "connection": f"k{number}", "prefetch": 1}},
        )
    ]  # fmt: skip
    cluster = {"nodes": ["a", "b", "c"], "version": "3.8"}
    return Run.of(read_scenario({"scenario": "many consumers", "cluster": cluster, "steps": [*many, *steps]}))


def test_steps_do_not_walk_through_all_consumers() -> None:
    run, walks = played(), 0

    def values(consumers: Consumers) -> object:
        nonlocal walks
        walks += 1
        return dict.values(consumers)

    with mock.patch.object(Consumers, "values", values, create=True):
        for step in (
            {"publish": {"queue": "q1", "count": 3}}, {"ack": {"consumer": "c1", "count": 1}},
            {"get": {"queue": "q2", "consumer": "h", "count": 1}}, {"declare": {"queue": "other"}}, {"close": "c3"},
            {"close": "k4"}, {"consume": {"queue": "q5", "consumer": "late"}}, {"delete": {"queue": "q6"}}, {"wait": 1},
        ):  # fmt: skip
            run.apply_plain(step)
        run.moment()
    assert walks == 0
    assert outcome(run)["consumers"]["c4"]["state"] == "closed"


def test_only_consumers_at_whose_turn_messages_are_sent_are_asked_for_their_credit() -> None:
    more = [{"consume": {"queue": "q1", "consumer": f"more-{number}"}} for number in range(100)]
    run = played(*more)
    with mock.patch.object(dealing_ports, "capacity", wraps=dealing_ports.capacity) as asked:
        run.apply_plain({"publish": {"queue": "q1", "count": 2}})
        run.moment()
    assert 2 <= asked.call_count < 10


class Name(str):
    """A name that counts how often it is compared."""

    compared = 0
    __slots__ = ()
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        Name.compared += 1
        return str.__eq__(self, other)


class Subscribed(NamedTuple):
    """A queue, as far as `held_by_cancelled` reads it."""

    name: str
    consumers: tuple[str, ...]


def test_subscribed_consumers_are_not_searched_for_each_that_holds_messages() -> None:
    names = [Name(f"c{number}") for number in range(200)]
    held = {str(name): Consumer(name, "q", 0, "k", held=((1, 1),)) for name in names}
    again = tuple(Name(name) for name in reversed(names))
    Name.compared = 0
    assert not held_by_cancelled(held, Subscribed("q", again))
    assert Name.compared < 4 * len(names)
    assert held_by_cancelled(held, Subscribed("q", again[1:]))
