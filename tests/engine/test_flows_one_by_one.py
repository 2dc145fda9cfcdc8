"""A client with a rate has the same outcome as publishing and acknowledging each message by itself."""

from __future__ import annotations

from fractions import Fraction
from unittest import mock

from conftest import LONG, SEED
from flow_runs import NODES, what_matters
from hypothesis import HealthCheck, example, given, note, seed, settings
from hypothesis import strategies as st

from hawb.engine.classic import places
from hawb.engine.core import randomness
from hawb.engine.core.operations import Settle
from hawb.engine.core.runs import normal, size
from hawb.scenario.dump import dump
from hawb.scenario.load import read_scenario
from hawb.scenario.run import Run

LATENCY_S = Fraction(5, 10_000)
TIMINGS = (
    {"start_s": 1},
    {"start_s": 0.3, "sync_messages_s": 10},
    {"start_s": 0.3, "sync_messages_s": 40, "stop_s": 0},
)
ARGUMENTS = (
    {},
    {},
    {"x-message-ttl": 700},
    {"x-max-length": 7},
    {"x-max-length": 7, "x-overflow": "reject-publish"},
)
"""With any of them a consumer would get as many of the messages, but not the same."""

END_S, CLOSED_S = Fraction("12.0371"), Fraction("9.0437")


def publisher_singly(flow: dict, began_s: Fraction, until_s: Fraction) -> list[tuple[Fraction, dict]]:
    """Return the single publishes of a `publisher`, each with its time."""
    fields = {key: flow[key] for key in ("queue", "node", "mode", "persistent")}
    tick, last = 1, int((until_s - began_s) * flow["rate"])
    return [(began_s + Fraction(k, flow["rate"]), {"publish": fields | {"count": 1}}) for k in range(tick, last + 1)]


def answers_singly(flow: dict, began_s: Fraction) -> list[tuple[Fraction, dict]]:
    """Return the consumer without its rate, and its single acknowledgements, each with its time."""
    rate = flow["rate"]
    lag_s = LATENCY_S if flow["node"] != "a" else 0
    bare = {key: value for key, value in flow.items() if key != "rate"}
    times = [began_s + lag_s + Fraction(k, rate) for k in range(1, int((END_S - began_s) * rate) + 1)]
    acks = [(time_s, {"ack": {"consumer": flow["consumer"], "count": 1}}) for time_s in times]
    return [(began_s, {"consume": bare}), *acks]


def played(given: dict, timed: list[tuple[Fraction, dict]]) -> Run:
    """Play the scenario with these steps in the order of their times."""
    run = Run.of(read_scenario(given))
    for time_s, step in sorted(timed, key=lambda pair: pair[0]):
        run.apply_plain({"wait": 0, "at": float(round(time_s, 6))})
        if "ack" not in step or has_something(run):
            run.apply_plain(step | {"at": float(round(time_s, 6))})
    run.apply_plain({"wait": 0, "at": float(END_S)})
    return run


def has_something(run: Run) -> bool:
    """Return True if the consumer holds more messages than acks of it wait at the blocked queue."""
    state = run.moment_of(len(run.steps) - 1).state
    waiting = state.queues["q"].waiting if "q" in state.queues else ()
    answers = sum(isinstance(one.operation, Settle) for one in waiting)
    consumer = state.consumers.get("c")
    return consumer is not None and size(consumer.in_sequence) + size(consumer.stale) > answers


@st.composite
def flows(draw) -> tuple[dict, list[dict], list[tuple[Fraction, dict]]]:
    """Draw a cluster, a publisher and a consumer with a rate, and faults."""
    mode = draw(st.sampled_from([{"ha-mode": "all"}, {"ha-mode": "exactly", "ha-params": 2}, None]))
    if mode is not None:
        more = st.sampled_from([{}, {"ha-sync-mode": "automatic"}, {"ha-promote-on-failure": "when-synced"}])
        mode |= draw(more)
    scenario = {
        "scenario": "flows",
        "cluster": {"nodes": list(NODES), "version": "3.10", "timing": draw(st.sampled_from(TIMINGS))},
        "policies": [] if mode is None else [{"name": "p", "pattern": "", "definition": mode}],
        "steps": [
            {"declare": {"queue": "q", "node": "a", "arguments": draw(st.sampled_from(ARGUMENTS))}},
            {"publish": {"queue": "q", "count": draw(st.integers(1, 30))}},
        ],
    }
    node, rate = st.sampled_from(NODES), st.sampled_from([1, 2, 5, 8, 10, 20])
    publisher = {
        "queue": "q",
        "node": draw(node),
        "rate": draw(rate),
        "mode": draw(st.sampled_from(["confirm", "plain"])),
        "persistent": draw(st.booleans()),
    }
    consumer = {
        "consumer": "c",
        "queue": "q",
        "node": draw(node),
        "rate": draw(rate),
        "prefetch": draw(st.sampled_from([0, 1, 3])),
    }
    faults = st.one_of(
        node.map(lambda name: {"kill": name}),
        node.map(lambda name: {"stop": name}),
        node.map(lambda name: {"start": name}),
        st.just({"publish": {"queue": "q", "count": 3}}),
        st.just({"sync_queue": "q"}),
        st.just({"crash": {"queue": "q"}}),
        st.just({"get": {"queue": "q", "count": 2}}),
        st.just({"purge": "q"}),
        st.just({"cancel_sync_queue": "q"}),
        st.just({"cancel": "c"}),
        st.just({"nack": {"consumer": "c", "count": 1}}),
    )
    times = st.integers(1, 80).map(lambda tenths: Fraction(tenths, 10) + Fraction("1.01137"))
    return (
        scenario,
        publisher,
        consumer,
        draw(st.lists(st.tuples(times, faults), max_size=5, unique_by=lambda pair: pair[0])),
    )


def running_until(node: str, faults: list[tuple[Fraction, dict]]) -> Fraction:
    """Return the time at which a client at the node stops."""
    ends = [time_s for time_s, step in faults if step.get("kill") == node or step.get("stop") == node]
    return min([*ends, CLOSED_S])


ANSWERED_TWICE = (
    {
        "scenario": "flows",
        "cluster": {"nodes": list(NODES), "version": "3.10", "timing": TIMINGS[1]},
        "policies": [
            {"name": "p", "pattern": "", "definition": {"ha-mode": "all", "ha-sync-mode": "automatic"}},
        ],
        "steps": [{"declare": {"queue": "q", "node": "a", "arguments": {}}}, {"publish": {"queue": "q", "count": 1}}],
    },
    {"queue": "q", "node": "a", "rate": 20, "mode": "confirm", "persistent": False},
    {"consumer": "c", "queue": "q", "node": "a", "rate": 1, "prefetch": 3},
    [(Fraction(time_s), {"crash": {"queue": "q"}}) for time_s in ("1.81137", "3.41137")],
)
"""While the queue synchronises for the second time, the consumer answers again for what it got twice."""


@seed(SEED)
@settings(max_examples=1_000 if LONG else 30, suppress_health_check=list(HealthCheck))
@example(ANSWERED_TWICE)
@given(flows())
def test_flow_has_the_outcome_of_its_single_messages(program):
    scenario, publisher, consumer, faults = program
    began_s, consumes_s = Fraction("1.000013"), Fraction("1.003171")
    flowing = [(began_s, {"publisher": publisher | {"name": "p"}}), (CLOSED_S, {"close": "p"})]
    singly = publisher_singly(publisher, began_s, running_until(publisher["node"], faults))
    if not scenario["steps"][0]["declare"]["arguments"]:
        flowing.append((consumes_s, {"consume": consumer}))
        singly += answers_singly(consumer, consumes_s)
    # A client with a rate is simplified: it holds messages of former masters in the order of their numbers, each
    # once, and every master gives them the same places.
    patches = (
        mock.patch.object(randomness, "draw", lambda *_: 0),
        mock.patch.object(places, "outdated", lambda one, *_: {"stale": normal(one.stale + one.in_sequence)}),
        mock.patch.object(places, "heard", lambda one, _: one.stale),
    )
    with patches[0], patches[1], patches[2]:
        fluid = played(scenario, [*flowing, *faults])
        note(dump(fluid.scenario))
        assert what_matters(fluid) == what_matters(played(scenario, [*singly, *faults]))
