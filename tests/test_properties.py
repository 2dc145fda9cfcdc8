"""Any program of steps, faults at the same moment among them: what must be so is so after every event, and when the
faults end the cluster gets well.

A failing program is printed as a scenario that `hawb run` takes.
"""

from __future__ import annotations

from collections.abc import Callable

from conftest import LONG
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st
from invariants import check_settled, check_trace, watched

from hawb.engine.access import is_replicated
from hawb.engine.state import DOWN, RUNNING
from hawb.scenario.dump import dump, plain
from hawb.scenario.load import read_scenario
from hawb.scenario.outcome import outcome_json
from hawb.scenario.run import Run

QUEUES = ("q1", "q2")
CONSUMERS = ("c1", "c2")
DELAYS_S = (0, 0.0001, 0.0004, 0.0005, 0.0006, 0.001, 0.0011, 0.002, 0.003, 0.3, 0.8, 1.0, 2.0, 5.0, 5.0005, 6.0, 40.0)
"""After the first step of a group: within a link's latency, a disk write, a synchronisation, a shutdown, a boot."""

Group = list[tuple[float, dict]]
"""Steps, each with how long after the first of them it begins."""

TIMINGS = (
    {},
    {"sync_messages_s": 10},
    {"sync_messages_s": 10, "stop_s": 0, "start_s": 0.3},
    {"link_latency_s": 0, "fsync_s": 0},
)


def steps(nodes: tuple[str, ...]) -> st.SearchStrategy[dict]:
    """One step, as a file writes it."""
    node, some = st.sampled_from(nodes), st.lists(st.sampled_from(nodes), min_size=1, max_size=2, unique=True)
    queue, consumer = st.sampled_from(QUEUES), st.sampled_from(CONSUMERS)
    count, yes, mode = st.integers(1, 30), st.booleans(), st.sampled_from(["confirm", "plain", "tx"])

    def verb(name: str, **fields: st.SearchStrategy) -> st.SearchStrategy[dict]:
        return st.fixed_dictionaries(fields).map(lambda argument: {name: argument})

    faults = st.one_of(
        *[some.map(lambda chosen, name=name: {name: chosen}) for name in ("kill", "stop", "start", "start", "start")]
    )
    clients = st.one_of(
        verb("publish", queue=queue, count=count, node=node, persistent=yes, mode=mode),
        verb("publish", queues=st.just(list(QUEUES)), count=count, node=node),
        verb("consume", consumer=consumer, queue=queue, node=node, prefetch=st.sampled_from([0, 1, 5]),
             ack=st.sampled_from(["manual", "manual", "auto"]), cancel_on_ha_failover=yes, global_prefetch=yes,
             exclusive=st.sampled_from([False, False, False, True]), priority=st.sampled_from([0, 0, 1])),
        verb("ack", consumer=consumer, count=st.sampled_from([1, 4, "all"])),
        verb("nack", consumer=consumer, count=st.sampled_from([1, 4, "all"]), requeue=yes),
        verb("get", queue=queue, count=st.integers(1, 10), ack=yes, consumer=st.sampled_from(["c1", "h"])),
        st.builds(lambda name: {"close": name}, st.sampled_from([*CONSUMERS, "h", "default"])),
        st.builds(lambda name: {"cancel": name}, consumer),
        st.builds(lambda name: {"purge": name}, queue),
    )  # fmt: skip
    queues = st.one_of(
        verb("declare", queue=queue, node=node, durable=yes),
        verb("declare", queue=queue, node=node, arguments=st.just({"x-single-active-consumer": True})),
        verb("declare", queue=queue, node=node, exclusive=yes, auto_delete=yes),
        verb("delete", queue=queue, node=node, if_empty=yes, if_unused=yes),
    )
    operations = st.one_of(
        policies(nodes).map(lambda entry: {"set_policy": entry}),
        st.just({"clear_policy": "p"}),
        operator_policies(nodes).map(lambda entry: {"set_operator_policy": entry}),
        st.just({"clear_operator_policy": "p"}),
        queue.map(lambda name: {"sync_queue": name}),
        verb("crash", queue=queue),
        verb("crash", queue=queue, node=node),
        queue.map(lambda name: {"cancel_sync_queue": name}),
        verb("transfer_leadership", queue=queue, node=node),
        st.builds(lambda name, chosen: {name: chosen}, st.sampled_from(["wipe", "reset", "join"]), node),
        verb("forget_cluster_node", node=node),
        st.just({"rebalance": True}),
        st.sampled_from([0.001, 1, 70, 400]).map(lambda seconds: {"wait": seconds}),
    )
    return st.one_of(faults, faults, clients, clients, clients, queues, operations)


def policies(nodes: tuple[str, ...]) -> st.SearchStrategy[dict]:
    """A mirroring policy for every queue."""
    when = st.sampled_from(["always", "when-synced"])
    return st.builds(
        lambda mode, more: {"name": "p", "pattern": "^q", "definition": mode | more},
        st.one_of(
            st.just({"ha-mode": "all"}),
            st.integers(1, 4).map(lambda count: {"ha-mode": "exactly", "ha-params": count}),
            st.lists(st.sampled_from([*nodes, "elsewhere"]), min_size=1, max_size=3, unique=True).map(
                lambda names: {"ha-mode": "nodes", "ha-params": names}
            ),
        ),
        st.fixed_dictionaries(
            {},
            optional={
                "ha-sync-mode": st.sampled_from(["automatic", "manual"]),
                "ha-promote-on-shutdown": when,
                "ha-promote-on-failure": when,
            },
        ),
    )


def operator_policies(nodes: tuple[str, ...]) -> st.SearchStrategy[dict]:
    """An operator policy for every queue: what 3.13 takes, and others refuse."""
    left_out = ("ha-promote-on-shutdown", "ha-promote-on-failure")

    def taken(entry: dict) -> dict:
        definition = {key: value for key, value in entry["definition"].items() if key not in left_out}
        return entry | {"definition": definition}

    return policies(nodes).map(taken)


@st.composite
def programs(draw, least: int = 1) -> tuple[dict, list[Group]]:
    """A scenario that has a policy and queues, and groups of steps: in each the first begins when the cluster has
    settled, and the others so much later than the first."""
    nodes = tuple("abcde"[: draw(st.integers(2, 5))])
    cluster = {
        "nodes": list(draw(st.permutations(nodes))),
        "version": draw(st.sampled_from(["3.8", "3.10", "3.13"])),
        "queue_master_locator": draw(st.sampled_from(["client-local", "client-local", "min-masters", "random"])),
        "timing": draw(st.sampled_from(TIMINGS)),
    }
    given = {"scenario": "found by chance", "seed": draw(st.integers(0, 3)), "cluster": cluster}
    node, queue = st.sampled_from(nodes), st.sampled_from(QUEUES)
    arguments = st.sampled_from([{}, {}, {"x-single-active-consumer": True}])
    first = [
        {"set_policy": draw(policies(nodes))},
        *({"declare": {"queue": name, "node": draw(node), "arguments": draw(arguments)}} for name in QUEUES),
        {"publish": {"queues": list(QUEUES), "count": 10, "node": draw(node)}},
        {"consume": {"consumer": "c1", "queue": draw(queue), "node": draw(node), "prefetch": 5}},
    ]
    chapter = st.one_of(groups_of(nodes), groups_of(nodes), returns(nodes), races(nodes))
    chapters = draw(st.lists(chapter, min_size=least, max_size=6))
    return given, [[(0, step)] for step in first] + [group for groups in chapters for group in groups]


def groups_of(nodes: tuple[str, ...]) -> st.SearchStrategy[list[Group]]:
    """A few groups of any steps."""
    return st.lists(st.lists(timed(nodes), min_size=1, max_size=4), min_size=1, max_size=2)


def timed(nodes: tuple[str, ...]) -> st.SearchStrategy[tuple[float, dict]]:
    """Any step, and how long after the first of its group it begins."""
    return st.tuples(st.sampled_from(DELAYS_S), steps(nodes))


def returns(nodes: tuple[str, ...]) -> st.SearchStrategy[list[Group]]:
    """A node goes, messages come, it is back and does not hold them; while it joins something happens, and then all the
    others go: what is left is a mirror that may not be synchronised, and a master that may come back."""
    fault = st.sampled_from(["kill", "stop"])
    published = st.fixed_dictionaries(
        {"queues": st.just(list(QUEUES)), "count": st.integers(1, 30), "persistent": st.booleans()}
    )
    return st.builds(
        lambda node, fault, publish, while_joining, next_fault, last: [
            [(0, {fault: node})],
            [(0, {"publish": publish})],
            [(0, {"start": node}), while_joining],
            [(0, {next_fault: [other for other in nodes if other != node]}), last],
        ],
        *(st.sampled_from(nodes), fault, published, timed(nodes), fault, timed(nodes)),
    )


def races(nodes: tuple[str, ...]) -> st.SearchStrategy[list[Group]]:
    """Messages are published, and before they are confirmed nodes go, processes crash or policy changes."""
    node, some = st.sampled_from(nodes), st.lists(st.sampled_from(nodes), min_size=1, max_size=2, unique=True)
    disturbances = st.one_of(
        st.builds(lambda verb, chosen: {verb: chosen}, st.sampled_from(["kill", "stop"]), some),
        policies(nodes).map(lambda entry: {"set_policy": entry}),
        st.builds(lambda queue, at: {"crash": {"queue": queue} | at}, st.sampled_from(QUEUES),
                  st.one_of(st.just({}), node.map(lambda name: {"node": name}))),
    )  # fmt: skip
    return st.builds(
        lambda node, queue, delay_s, disturbance: [
            [(0, {"publish": {"queue": queue, "count": 3, "node": node}}), (delay_s, disturbance)]
        ],
        *(node, st.sampled_from(QUEUES), st.sampled_from(DELAYS_S[:8]), disturbances),
    )


def concrete(given: dict, groups: list[Group]) -> list[dict]:
    """The program's steps as a file has them."""
    run = Run(read_scenario(given))
    play(run, groups, lambda run: None)
    return plain(run.scenario)["steps"]


def play(run: Run, groups: list[Group], check: Callable[[Run], None]) -> None:
    """Plays the groups, with a check after each."""
    for group in groups:
        began_us = run.moment().state.time_us
        (_, first), *others = sorted(group, key=lambda pair: pair[0])
        run.apply_plain(first)
        for delay_s, step in others:
            run.apply_plain(step | {"at": began_us / 1_000_000 + delay_s})
        check(run)


def get_well(run: Run) -> None:
    """Starts what is down, and takes in again what is no member, until nothing is left."""
    for _ in run.settings.names:
        nodes = dict(zip(run.settings.names, run.moment().state.nodes, strict=True))
        down = [name for name, node in nodes.items() if node.status == DOWN]
        outside = [name for name in down if not nodes[name].member or nodes[name].virgin]
        if inside := [name for name in down if name not in outside]:
            run.apply_plain({"start": inside})
        for name in outside:
            run.apply_plain({"reset": name})
            run.apply_plain({"join": name})


def waits_for_an_outsider(run: Run) -> bool:
    """Whether no member can boot because one that stopped later never will: what force_boot is for."""
    nodes = run.moment().state.nodes
    return not run.moment().state.running() and any(node.virgin or not node.member for node in nodes)


def check_sound(run: Run) -> None:
    """Nothing is left half done, and everything is explained."""
    check_settled(run.settings, run.moment())
    check_trace(run.moment())


def check_well(run: Run) -> None:
    """Every node runs and every queue is served, but for one whose process crashed for good, and a replicated one with
    nothing left to serve, since it was not durable or its copies were dropped: its record can only be deleted."""
    check_sound(run)
    if waits_for_an_outsider(run):
        return
    moment = run.moment()
    assert {node.status for node in moment.state.nodes} == {RUNNING}
    for name, queue in moment.state.queues.items():
        if queue.failed:
            continue
        if queue.abandoned:
            assert not queue.content and is_replicated(queue), name
            continue
        assert queue.up and queue.sync is None and not queue.parked, name


@settings(
    max_examples=3_000 if LONG else 100,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(programs())
def test_whatever_happens_nothing_goes_unexplained_and_the_cluster_gets_well(program):
    given, groups = program
    run = Run(read_scenario(given))
    try:
        with watched():
            play(run, groups, check_sound)
            get_well(run)
            check_well(run)
    finally:
        note(dump(run.scenario))
    assert outcome_json(Run.of(run.scenario)) == outcome_json(run)
