"""The search key of a state: equal exactly if no later step can distinguish two states.

Random draws are held fixed: the key leaves out their counter, and a search tries all of them.
"""

from __future__ import annotations

import pytest
from state_keys import key_of

from hawb.engine.keys.state_key import key
from hawb.scenario.load import load
from hawb.scenario.run import Run

pytestmark = pytest.mark.usefixtures("no_chance")

HEAD = """
scenario: t
cluster: {nodes: [a, b, c], version: "3.10", timing: {sync_messages_s: 10}}
policies: [{name: ha, pattern: '^q', definition: {ha-mode: all}}]
steps:
  - declare: {queue: q, node: a}
"""


def run_of(*steps: str, head: str = HEAD) -> Run:
    return Run.of(load(head + "".join(f"  - {step}\n" for step in steps)))


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
def test_key_ignores_differences_without_effect(one, other, then):
    assert key_of(run_of(*one, *then)) == key_of(run_of(*other, *then))


@pytest.mark.parametrize(("one", "other"), BY_PLACE.values(), ids=BY_PLACE)
@pytest.mark.parametrize("then", [[], ["publish: {queue: q, count: 4}"], ["stop: b"]])
def test_key_includes_message_counts_only_since_3_9(one, other, then):
    """Since 3.9 late acks go by how many messages a replica has counted, and a mirror that joins counts from 0."""
    before = HEAD.replace("3.10", "3.8")
    assert key_of(run_of(*one, *then, head=before)) == key_of(run_of(*other, *then, head=before))
    assert key_of(run_of(*one, *then)) != key_of(run_of(*other, *then))
    freed = [*then, "close: c", "close: h", "wait: 1"]
    assert key_of(run_of(*one, *freed)) == key_of(run_of(*other, *freed))


def test_key_includes_how_many_messages_of_a_deleted_queue_a_consumer_holds():
    """Their order no longer matters; in 3.8 the channel of a cancelled consumer can still ack them."""
    held = ["publish: {queue: q, count: 10}", "consume: {consumer: c, queue: q, node: a}",
            "nack: {consumer: c, count: 1}", "cancel: c"]  # fmt: skip
    before = HEAD.replace("3.10", "3.8")
    one, other, more = (
        key_of(run_of(*held, *then, "delete: {queue: q}", head=before))
        for then in ([], ["ack: {consumer: c, count: 1}"], ["ack: {consumer: c, count: 2}"])
    )
    assert len({one, other, more}) == 3


def test_key_counts_times_from_now():
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
def test_key_includes_differences_with_effect(one, other):
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
def test_key_ignores_differences_of_quorum_queues_without_effect(one, other, then):
    assert key_of(run_of(*one, *then, head=QUORUM)) == key_of(run_of(*other, *then, head=QUORUM))


@pytest.mark.parametrize(("one", "other"), DIFFERENT_IN_QUORUM_QUEUES.values(), ids=DIFFERENT_IN_QUORUM_QUEUES)
def test_key_includes_differences_of_quorum_queues_with_effect(one, other):
    assert key_of(run_of(*one, head=QUORUM)) != key_of(run_of(*other, head=QUORUM))


# Which node is which


def test_key_ignores_which_of_interchangeable_nodes():
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
def test_key_includes_node_names_if_a_rule_uses_them(cluster):
    assert key_of(run_of("kill: b", head=cluster)) != key_of(run_of("kill: c", head=cluster))
