"""The key of a state: equal where nothing that happens later can tell two states apart, and only there.

Random draws are held fixed: they are keyed by a counter that a key leaves out, and a searcher tries all of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain, permutations, product
from unittest import mock

import pytest
from conftest import LONG
from hypothesis import given, note, settings
from programs import programs

from hawb.engine import chance
from hawb.engine.key import key
from hawb.scenario.dump import plain
from hawb.scenario.load import load, read_scenario
from hawb.scenario.outcome import outcome
from hawb.scenario.run import Run

HEAD = """
scenario: t
cluster: {nodes: [a, b, c], version: "3.10", timing: {sync_messages_s: 10}}
policies: [{name: ha, pattern: '^q', definition: {ha-mode: all}}]
steps:
  - declare: {queue: q, node: a}
"""


@pytest.fixture(autouse=True)
def no_chance():
    """Every draw is 0."""
    with mock.patch.object(chance, "draw", lambda *_: 0):
        yield


def run_of(*steps: str, head: str = HEAD) -> Run:
    return Run.of(load(head + "".join(f"  - {step}\n" for step in steps)))


def key_of(run: Run) -> tuple:
    return key(run.moment().state, run.settings)


# What does not matter

ALIKE = {
    "the time of day": (["wait: 5"], []),
    "the numbers of messages": (["publish: {queue: q, count: 10}", "get: {queue: q, count: 10}"], []),
    "a queue that was": (
        [
            "declare: {queue: x, node: b, connection: x}",
            "publish: {queue: x, count: 3}",
            "delete: {queue: x}",
            "close: x",
        ],
        [],
    ),
    "a policy that was": (
        ["set_policy: {name: x, pattern: x, definition: {ha-mode: all}}", "clear_policy: x"],
        [],
    ),
    "how often nodes booted": (
        ["stop: c", "start: c", "stop: c", "start: c"],
        ["stop: c", "start: c"],
    ),
    "which step it was": (["purge: nowhere", "purge: nowhere"], []),
}

BY_PLACE = {
    "how a consumer came to hold what it holds": (
        ["publish: {queue: q, count: 2}", "consume: {consumer: c, queue: q, node: a}", "ack: {consumer: c, count: 1}"],
        ["consume: {consumer: c, queue: q, node: a}", "publish: {queue: q, count: 1}"],
    ),
    "a gap in the middle": (
        ["publish: {queue: q, count: 9}", "get: {queue: q, count: 3, ack: false, consumer: h}",
         "get: {queue: q, count: 3}", "ack: {consumer: h, count: 2}"],
        ["publish: {queue: q, count: 4}", "get: {queue: q, count: 1, ack: false, consumer: h}"],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("one", "other"), ALIKE.values(), ids=ALIKE)
@pytest.mark.parametrize("then", [[], ["publish: {queue: q, count: 4}"], ["stop: b"], ["{kill: a, at: 100}"]])
def test_what_does_not_matter_is_left_out(one, other, then):
    assert key_of(run_of(*one, *then)) == key_of(run_of(*other, *then))


@pytest.mark.parametrize(("one", "other"), BY_PLACE.values(), ids=BY_PLACE)
@pytest.mark.parametrize("then", [[], ["publish: {queue: q, count: 4}"], ["stop: b"]])
def test_places_matter_only_where_late_answers_count(one, other, then):
    """A mirror that joins counts anew, so that it matters from 3.9 on how many messages there were."""
    before = HEAD.replace("3.10", "3.8")
    assert key_of(run_of(*one, *then, head=before)) == key_of(run_of(*other, *then, head=before))
    assert key_of(run_of(*one, *then)) != key_of(run_of(*other, *then))
    freed = [*then, "close: c", "close: h", "wait: 1"]
    assert key_of(run_of(*one, *freed)) == key_of(run_of(*other, *freed))


def test_what_is_in_flight_is_told_from_now():
    early = run_of("{stop: b, at: 10}", "{expect: {}, at: 10.25}")
    late = run_of("{stop: b, at: 60}", "{expect: {}, at: 60.25}")
    later = run_of("{stop: b, at: 60}", "{expect: {}, at: 60.5}")
    keys = [key(run.moment_of(2).state, run.settings) for run in (early, late, later)]
    assert keys[0] == keys[1] != keys[2]


# What matters

P3 = "publish: {queue: q, count: 3}"
TTL = "set_policy: {name: ttl, pattern: '^q', priority: 9, definition: {ha-mode: all, message-ttl: 9000}}"
P2 = "publish: {queue: q2, count: 3}"
AT_C = "declare: {queue: q2, node: c}"
DIFFERENT = {
    "how many messages": ([P3], ["publish: {queue: q, count: 4}"]),
    "how large they are": ([P3], ["publish: {queue: q, count: 3, size: 10}"]),
    "what priority they have": ([P3], ["publish: {queue: q, count: 3, priority: 3}"]),
    "when they expire": (
        [TTL, P3, "clear_policy: ttl", "wait: 1"], [TTL, "wait: 1", P3, "clear_policy: ttl"]),
    "when their queue expires": (
        ["declare: {queue: x, arguments: {x-expires: 9000}}", "wait: 1"],
        ["declare: {queue: x, arguments: {x-expires: 9000}}"]),
    "how long a queue may be": (
        ["declare: {queue: x, arguments: {x-max-length: 3}}"], ["declare: {queue: x, arguments: {x-max-length: 4}}"]),
    "what a queue is bound to": ([], ["bind: {queue: q, exchange: amq.direct, routing_key: k}"]),
    "which exchanges there are": ([], ["bind: {queue: nothing, exchange: x, routing_key: k}"]),
    "what they died of": (
        ["declare: {queue: x, arguments: {x-max-length: 0, x-dead-letter-exchange: '', "
         "x-dead-letter-routing-key: q}}", "publish: {queue: x, count: 1}", "delete: {queue: x}"],
        ["publish: {queue: q, count: 1}"]),
    "in what order they were delivered": (
        [P3, "get: {queue: q, count: 1, ack: false, consumer: h}", "get: {queue: q, count: 2, ack: false, consumer: i}",
         "nack: {consumer: h}", "get: {queue: q, count: 1, ack: false, consumer: i}"],
        [P3, "get: {queue: q, count: 1, ack: false, consumer: h}", "nack: {consumer: h}",
         "get: {queue: q, count: 3, ack: false, consumer: i}"]),
    "whether they are persistent": ([P3], ["publish: {queue: q, count: 3, persistent: false}"]),
    "whether they carry the redelivered flag": (
        [P3], [P3, "get: {queue: q, count: 3, ack: false, consumer: h}", "close: h", "wait: 1"]),
    "who holds them": (
        [P3, "get: {queue: q, count: 1, ack: false, consumer: h}"],
        [P3, "get: {queue: q, count: 2, ack: false, consumer: h}"]),
    "which node is down": (["stop: b"], ["stop: a"]),
    "who saw whom go": (["stop: b", "stop: c"], ["stop: [b, c]"]),
    "whom a node saw go": (
        ["delete: {queue: q}", "stop: b", "kill: a", "start: b"],
        ["delete: {queue: q}", "stop: c", "kill: a", "start: c"]),
    "how a node went": (["stop: [b, c]", P3, "stop: a"], ["stop: [b, c]", P3, "kill: a"]),
    "whether a mirror is synchronised": (["kill: b", P3, "start: b"], ["kill: b", "start: b", P3]),
    "what a mirror holds": (
        [P3, "kill: b", "start: b", P3, "kill: c"], [P3, "kill: b", P3, "start: b", "kill: c"]),
    "which mirror is older": (["kill: b", P3, "start: b"], ["kill: c", P3, "start: c", "kill: b", "start: b"]),
    "a policy": ([], ["set_policy: {name: x, pattern: x, definition: {ha-mode: all}}"]),
    "a policy that applies": ([], ["clear_policy: ha"]),
    "a durable queue": (["declare: {queue: r, node: a}"], ["declare: {queue: r, node: a, durable: false}"]),
    "an auto-delete queue": (["declare: {queue: r, node: a}"], ["declare: {queue: r, node: a, auto_delete: true}"]),
    "an exclusive queue": (
        ["declare: {queue: r, node: a, durable: false}"], ["declare: {queue: r, node: a, exclusive: true}"]),
    "whose an exclusive queue is": (
        ["declare: {queue: r, node: a, exclusive: true}"],
        ["declare: {queue: r, node: a, exclusive: true, connection: x}"]),
    "a queue's arguments": (
        ["declare: {queue: r, node: a}"], ["declare: {queue: r, node: a, arguments: {x-expires: 5}}"]),
    "a prefetch": (
        ["consume: {consumer: c, queue: q, node: a}"], ["consume: {consumer: c, queue: q, node: a, prefetch: 3}"]),
    "how a consumer acknowledges": (
        ["consume: {consumer: c, queue: q, node: a}"], ["consume: {consumer: c, queue: q, node: a, ack: auto}"]),
    "whether a consumer goes with its master": (
        ["consume: {consumer: c, queue: q, node: a}"],
        ["consume: {consumer: c, queue: q, node: a, cancel_on_ha_failover: true}"]),
    "where a consumer is": (
        ["consume: {consumer: c, queue: q, node: a}"], ["consume: {consumer: c, queue: q, node: b}"]),
    "a consumer that was cancelled": (
        ["consume: {consumer: c, queue: q, node: a}"], ["consume: {consumer: c, queue: q, node: a}", "cancel: c"]),
    "a client that believes it holds something": (
        [AT_C, P2, "get: {queue: q2, count: 1, ack: false, consumer: h}", "kill: c"],
        [AT_C, P2, "get: {queue: q2, count: 2, ack: false, consumer: h}", "kill: c"]),
    "a mirror that lost count": (
        [P3, "kill: b", "start: b"], [P3, "kill: b", "start: b", "sync_queue: q", "{cancel_sync_queue: q, at: 20}"]),
    "how long a node waits already": (
        ["kill: a", "kill: [b, c]", "start: b"], ["kill: a", "kill: [b, c]", "start: b", "wait: 20"]),
}  # fmt: skip


@pytest.mark.parametrize(("one", "other"), DIFFERENT.values(), ids=DIFFERENT)
def test_what_matters_is_told_apart(one, other):
    assert key_of(run_of(*one)) != key_of(run_of(*other))


# Quorum queues

QUORUM = HEAD.replace("ha-mode: all", "max-length: 99").replace("a}", "a, arguments: {x-queue-type: quorum}}")
P1, G1 = "publish: {queue: q, count: 1}", "get: {queue: q, count: 1}"
TO_B, TO_A = (f"transfer_leadership: {{queue: q, node: {node}}}" for node in "ba")
ALIKE_IN_QUORUM_QUEUES = {
    "how long the log is that all have": ([P1, G1, P1, G1], [P1, G1]),
    "how many terms there were": ([TO_B, TO_A, TO_B, TO_A, "wait: 40"], [TO_B, TO_A, "wait: 40"]),
    "when it was used": ([P1, "wait: 30"], [P1]),
}
X_ON_B, P_X = "declare: {queue: x, node: b}", "publish: {queue: x, count: 1, node: b}"
EXPIRES = "declare: {queue: x, node: a, arguments: {x-queue-type: quorum, x-expires: 60000}}"
DIFFERENT_IN_QUORUM_QUEUES = {
    "who is behind": (["kill: c", P1], [P1, "kill: c"]),
    "how far": (["kill: c", P1], ["kill: c", P1, P1, G1]),
    "what waits for a majority": (["kill: [b, c]", P1], ["kill: [b, c]"]),
    "how often a message was given back": (
        [P1, "get: {queue: q, count: 1, ack: false, consumer: h}", "nack: {consumer: h}", "close: h"],
        [P1, "get: {queue: q, count: 1, ack: false, consumer: h}", "close: h"]),
    "which channels it knows": ([P1, G1], []),
    "whom a channel asks that it does not know": (
        [X_ON_B, "kill: [a, c]", "publish: {queue: q, count: 1, node: b}", "start: c", "wait: 30", P_X],
        [X_ON_B, "kill: [a, c]", "start: c", "wait: 30", P_X]),
    "who belongs to it": (["delete_member: {queue: q, node: c}"], []),
    "that a host is gone and nobody has noticed": (["power_off: c"], ["power_off: c", "wait: 90"]),
    "a wiped disk": (["kill: c"], ["kill: c", "wipe: c"]),
    "how long it has not been used, if it expires": (
        [EXPIRES, "{get: {queue: x, count: 1}, at: 11}", "{publish: {queue: q, count: 1}, at: 30}"],
        [EXPIRES, "{get: {queue: x, count: 1}, at: 13}", "{publish: {queue: q, count: 1}, at: 30}"]),
}  # fmt: skip


@pytest.mark.parametrize(("one", "other"), ALIKE_IN_QUORUM_QUEUES.values(), ids=ALIKE_IN_QUORUM_QUEUES)
@pytest.mark.parametrize("then", [[], [P1], ["stop: a", P1], ["kill: [b, c]", P1]])
def test_what_does_not_matter_of_a_quorum_queue_is_left_out(one, other, then):
    assert key_of(run_of(*one, *then, head=QUORUM)) == key_of(run_of(*other, *then, head=QUORUM))


@pytest.mark.parametrize(("one", "other"), DIFFERENT_IN_QUORUM_QUEUES.values(), ids=DIFFERENT_IN_QUORUM_QUEUES)
def test_what_matters_of_a_quorum_queue_is_told_apart(one, other):
    assert key_of(run_of(*one, head=QUORUM)) != key_of(run_of(*other, head=QUORUM))


# Which node is which


def test_of_interchangeable_nodes_it_does_not_matter_which():
    head = HEAD.replace("ha-mode: all", "ha-mode: exactly, ha-params: 1")
    assert key_of(run_of("kill: b", head=head)) == key_of(run_of("kill: c", head=head))
    assert key_of(run_of("kill: b", head=head)) != key_of(run_of("kill: a", head=head))
    two = [run_of("declare: {queue: q2, node: b}", f"stop: {node}", head=head) for node in "bc"]
    assert key_of(two[0]) != key_of(two[1])


@pytest.mark.parametrize(
    "cluster",
    [
        HEAD,
        HEAD.replace("ha-mode: all", "ha-mode: nodes, ha-params: [a]"),
        HEAD.replace('version: "3.10"', "queue_master_locator: min-masters"),
        HEAD.replace("ha-mode: all", "queue-master-locator: min-masters"),
    ],
)
def test_where_a_rule_looks_at_names_it_does_matter(cluster):
    assert key_of(run_of("kill: b", head=cluster)) != key_of(run_of("kill: c", head=cluster))


# Equal keys, equal futures


def seen(run: Run, since: Run, names: dict[str, str]) -> dict:
    """What a person sees of a run that went on from another: the cluster now and what has happened since, with messages
    numbered anew, times counted from then on, and nodes under other names."""
    now, before = outcome(run), outcome(since)
    events = [
        (round((event["t"] - before["time_s"]) * 1e6), event["event"], event["node"], event["queue"])
        for event in now["events"][len(before["events"]) :]
    ]
    queues = {name: queue_seen(queue) for name, queue in now["queues"].items()}
    return renamed({"nodes": now["nodes"], "queues": queues, "events": sorted(events, key=str)}, names)


OF_A_LOG = ("term", "commit_index", "log_entries", "disk_bytes", "memory_bytes", "replicas_by_view")
"""What an outcome tells of how a quorum queue's log came to be."""


def queue_seen(queue: dict) -> dict:
    """A queue without its message numbers: how many there are, and which carry the flag, counted from the oldest."""
    numbers = [number for first, last in queue["ids"] for number in range(first, last + 1)]
    again = {number for first, last in queue["redelivered"] for number in range(first, last + 1)}
    views = [view | {"ids": sum(last - first + 1 for first, last in view["ids"])} for view in queue.get("views", [])]
    flags = [index for index, number in enumerate(numbers) if number in again]
    replicas = {node: {field: value for field, value in one.items() if field != "term"}
                for node, one in queue.get("replicas", {}).items()}  # fmt: skip
    told = {field: value for field, value in queue.items() if field not in OF_A_LOG}
    return told | {"ids": len(numbers), "redelivered": flags, "views": views, "replicas": replicas}


def renamed(value: object, names: dict[str, str]) -> object:
    """A value with other names for nodes; lists that stand in alphabetical order do so again."""
    if isinstance(value, dict):
        found = {names.get(field, field): in_order(field, renamed(inner, names)) for field, inner in value.items()}
        return dict(sorted(found.items()))
    if isinstance(value, list | tuple):
        return [renamed(inner, names) for inner in value]
    return names.get(value, value) if isinstance(value, str) else value


def in_order(field: str, value: object) -> object:
    alphabetical = field in ("synchronised_mirrors", "critical_nodes", "events")
    return sorted(value, key=str) if alphabetical else value


PAST = [
    {"wait": 12},
    {"declare": {"queue": "gone", "node": "a"}},
    {"publish": {"queues": ["q1", "q2", "gone"], "count": 7, "node": "a"}},
    {"delete": {"queue": "gone"}},
    {"get": {"queue": "q1", "count": 7}},
    {"get": {"queue": "q2", "count": 7}},
    {"consume": {"consumer": "past", "queue": "q1", "node": "a"}},
    {"publish": {"queue": "q1", "count": 5, "node": "a"}},
    {"ack": {"consumer": "past"}},
    {"close": "past"},
    {"purge": "nowhere"},
]


def unlimited(step: dict) -> dict:
    """A step of a program's beginning without limits: under those a past leaves timers and dead letters."""
    if "set_policy" in step:
        policy = step["set_policy"]
        kept = {key: value for key, value in policy["definition"].items() if key.startswith("ha-")}
        return {"set_policy": policy | {"definition": kept}}
    if "declare" in step:
        kept = {key: value for key, value in step["declare"]["arguments"].items() if key == "x-single-active-consumer"}
        return {"declare": step["declare"] | {"arguments": kept}}
    return step


@settings(max_examples=500 if LONG else 40)
@given(programs())
def test_a_past_that_left_nothing_changes_nothing(program):
    """The same steps after a past and without one: step by step keys stay equal, and so does what is seen. In 3.8: from
    3.9 on late answers go by how many messages there were."""
    given_, prelude, rest = program[0], program[1][:3], program[1][3:]
    fresh = Run(read_scenario(given_ | {"cluster": given_["cluster"] | {"version": "3.8"}}))
    for step in [unlimited(group[0][1]) for group in prelude] + [PAST[-7], PAST[-5], PAST[-2]]:
        fresh.apply_plain(step)
    aged = fresh.copy()
    for step in PAST:
        aged.apply_plain(step)
    since, since_past = fresh.copy(), aged.copy()
    assert key_of(fresh) == key_of(aged)
    for step in [step for group in rest for _, step in group]:
        fresh.apply_plain(step)
        aged.apply_plain(step)
        note(step)
        assert key_of(fresh) == key_of(aged)
    assert seen(fresh, since, {}) == seen(aged, since_past, {})


# Steps that name their nodes: without one it is the first running node of the file's list, which tells nodes apart.
STEPS = [
    *({verb: node} for verb in ("kill", "stop", "start") for node in "abc"),
    {"publish": {"queue": "q1", "count": 2, "node": "a"}},
    {"consume": {"consumer": "client", "queue": "q1", "node": "b", "ack": "auto"}},
    {"declare": {"queue": "q2", "node": "a"}},
    {"sync_queue": "q1"},
]
CLUSTERS = {
    "quorum": {"x-queue-type": "quorum"},
    "not mirrored": {},
    "all": {"ha-mode": "all"},
    "exactly": {"ha-mode": "exactly", "ha-params": 2, "ha-promote-on-failure": "when-synced"},
    "nodes": {"ha-mode": "nodes", "ha-params": ["b", "c"]},
}


def cluster_of(definition: dict) -> Run:
    """Three nodes, and a queue with a message."""
    run = Run(read_scenario({"scenario": "t", "cluster": {"nodes": ["a", "b", "c"]}}))
    arguments = {name: value for name, value in definition.items() if name.startswith("x-")}
    if definition and not arguments:
        run.apply_plain({"set_policy": {"name": "p", "pattern": "^q", "definition": definition}})
    run.apply_plain({"declare": {"queue": "q1", "node": "a", "arguments": arguments}})
    run.apply_plain({"publish": {"queue": "q1", "count": 1}})
    return run


def after(run: Run, steps: Iterable[dict]) -> Run:
    """The run, gone on in a copy."""
    other = run.copy()
    for step in steps:
        other.apply_plain(step)
    return other


def futures(run: Run, step: dict, names: dict[str, str]) -> set[str]:
    """All that may be seen after a step: of two nodes a draw may take either."""
    found = set()
    for drawn in (0, 2**64 - 1):
        with mock.patch.object(chance, "draw", lambda *_, drawn=drawn: drawn):
            found.add(repr(seen(after(run, [step]), run, names)))
    return found


def alike(one: Run, other: Run) -> bool:
    """Whether there is a renaming of nodes under which they look the same after any step."""
    names = one.settings.names
    return any(
        all(futures(one, step, renaming) == futures(other, renamed(step, renaming), {}) for step in STEPS)
        for renaming in (dict(zip(names, order, strict=True)) for order in permutations(names))
    )


@pytest.mark.parametrize("definition", CLUSTERS.values(), ids=CLUSTERS)
def test_states_with_equal_keys_have_equal_futures(definition):
    """Of all states that few steps lead to, those with equal keys: whatever happens next, it looks the same in all."""
    beginning = cluster_of(definition)
    groups: dict[tuple, list[Run]] = {}
    for steps in chain.from_iterable(product(STEPS, repeat=depth) for depth in range(4 if LONG else 3)):
        run = after(beginning, steps)
        group = groups.setdefault(key_of(run), [])
        if all(structure(run) != structure(other) for other in group):
            group.append(run)
    assert len(groups) > 10
    for first, *others in groups.values():
        for other in others:
            assert alike(first, other), [plain(run.scenario)["steps"] for run in (first, other)]


def structure(run: Run) -> dict:
    """A state as a person sees it, to leave out those that are the same node by node."""
    return seen(run, run, {})
