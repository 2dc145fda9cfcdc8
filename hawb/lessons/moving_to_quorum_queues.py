"""The exercises of lesson 20: policies for both types, a policy for 4.0, and moving a queue that is in use."""

from __future__ import annotations

from hawb.cluster import Cluster
from hawb.lessons.classic_and_quorum import QUORUM, given_up
from hawb.lessons.exercises import Exercise, Form, Variation, queue_of
from hawb.lessons.mirrored_queues import priorities
from hawb.views.formatting import counted, listing, seconds, shown, size

ROOM = 1000
MOST_RETURNS = 5
OLD, NEW = "orders", "new::orders"
PUBLISHED_PER_S, CONSUMED_PER_S = 10, 2000
STANDSTILL_S = 1.0
LATER_S = 10


# Both types under one pattern


def both_declared(variation: Variation) -> Cluster:
    """Return a cluster with queues of both types whose names begin alike; the classic ones are mirrored."""
    cluster = Cluster(*variation.nodes, version="3.10", seed=variation.seed)
    cluster.set_policy("ha", r"^orders\.", {"ha-mode": "all"})
    for name, arguments in ((f"orders.{variation.word}", {}), (f"orders.{variation.word}.new", QUORUM)):
        cluster.declare(name, node=variation.nodes[0], arguments=arguments)
    return cluster


def both_limited(cluster: Cluster, variation: Variation) -> str | None:
    """Require that both queues hold ROOM messages at most, and that the classic one has its mirrors."""
    classic, quorum = f"orders.{variation.word}", f"orders.{variation.word}.new"
    names = (classic, quorum)
    if (mirrors := len(queue_of(cluster, classic)["mirrors"])) != len(variation.nodes) - 1:
        return f"Classic queue {classic} has {counted(mirrors, 'mirror')}; the task asks for one on each other node."
    if len(found := priorities(cluster, classic)) > len(set(found)):
        return f"Two policies match {classic} at the same priority: RabbitMQ does not define which of them applies."
    for name in names:
        cluster.publish(name, ROOM + variation.messages).wait(1)
    for name in names:
        followed = cluster.queues[name]["policy"]
        if (there := cluster.queues[name]["messages"]) > ROOM:
            text = f"follows the policy {shown(followed)}" if followed else "follows no policy"
            return f"{name} holds {counted(there)} and {text}; at most {ROOM:,} are allowed."
        if there < ROOM:
            return f"{name} holds {counted(there)}; the task asks for room for {ROOM:,}."
    return None


# A policy for 4.0


def on_4_0(variation: Variation) -> Cluster:
    """Return a cluster of 4.0 with quorum queues, one of which is to keep its settings, and one for dead letters."""
    cluster = Cluster(*variation.nodes, version="4.0", seed=variation.seed)
    for name in (f"orders.{variation.word}", f"reorders.{variation.word}", "dead"):
        cluster.declare(name, node=variation.nodes[0], arguments=QUORUM)
    return cluster


def full_and_given_up(cluster: Cluster, variation: Variation) -> str | None:
    """Require that a full queue rejects publishes, and that often requeued messages are dead-lettered."""
    name, other = f"orders.{variation.word}", f"reorders.{variation.word}"
    if queue_of(cluster, other)["policy"] is not None:
        return f"The policy also matches {other}. RabbitMQ searches for a pattern anywhere in a name."
    if queue_of(cluster, name)["policy"] is None:
        return f"The policy does not apply to {name}. Does the pattern match? Do quorum queues support every key?"
    return full_and_frank(cluster.copy(), name, variation) or given_up(cluster.copy(), name, MOST_RETURNS)


def full_and_frank(cluster: Cluster, name: str, variation: Variation) -> str | None:
    """Require that a full queue rejects publishes and keeps all confirmed messages."""
    for count in (ROOM // 2, ROOM // 2, 1, variation.messages):
        cluster.publish(name, count).wait(1)
    account = cluster.ledger[name]
    if gone := sum(size(account["removed"][reason]) for reason in ("dropped", "dead_lettered", "expired")):
        return f"{counted(gone)} had been confirmed, but {name} dropped them from its head, or they expired."
    if (taken := size(account["confirmed"])) != ROOM + 1:
        return f"{name} took {counted(taken)}. With room for {ROOM:,} it accepts one more, and then rejects messages."
    return None


# Moving a queue that is in use


def at_work(variation: Variation) -> Cluster:
    """Return a cluster with a mirrored queue with messages, a publisher and a consumer."""
    first, second, third = variation.nodes
    cluster = Cluster(first, second, third, version="3.13", seed=variation.seed)
    cluster.set_policy("ha", "^orders$", {"ha-mode": "all"}).declare(OLD, node=first).publish(OLD, variation.messages)
    cluster.publisher("shop", OLD, rate=PUBLISHED_PER_S, node=second)
    return cluster.consume("worker", OLD, rate=CONSUMED_PER_S, prefetch=100, node=third)


def moved_in_order(cluster: Cluster, variation: Variation) -> str | None:
    """Require that messages are consumed in order without a pause in publishing, and only the new queue is left."""
    if NEW not in cluster.queues:
        return f"There is no queue {NEW}."
    if cluster.queues[NEW]["type"] != "quorum":
        return f"{NEW} is a classic queue."
    if sorted(cluster.queues[NEW]["members"]) != sorted(variation.nodes):
        return f"{NEW} has members only on {listing(cluster.queues[NEW]['members'])}."
    if wrong := lost_on_the_way(cluster) or overtaken(cluster):
        return wrong
    if OLD in cluster.queues:
        return f"{OLD} is still there."
    if (pause_s := pause_in_publishing_s(cluster)) > STANDSTILL_S:
        return f"For {seconds(pause_s)} s, no client published."
    return still_at_work(cluster)


def lost_on_the_way(cluster: Cluster) -> str | None:
    """Return the sentence about confirmed messages that were never consumed, or None."""
    for name in (OLD, NEW):
        account = cluster.ledger.get(name)
        if account and (refused := size(account["refused"])):
            return f"{counted(refused)} found no queue {name}, but were confirmed: they are lost."
        if account and (deleted := size(account["removed"]["deleted"])):
            return f"{name} was deleted with {counted(deleted)} in it."
    return None


def overtaken(cluster: Cluster) -> str | None:
    """Return why the new queue was consumed too early, or not at all; None if the order was right.

    The old queue must be empty, and must have no publisher, before the new one gets a consumer.
    """
    for steps in range(len(cluster.run.steps) + 1):
        then = cluster.copy().rewind(steps).outcome
        if not any(consumer["queue"] == NEW for consumer in then["consumers"].values()):
            continue
        if left := then["queues"].get(OLD, {}).get("messages"):
            return f"When {NEW} got its consumer, {OLD} still held {counted(left)}, which are older."
        goes_to = {e["detail"]["publisher"]: e["queue"] for e in then["events"] if e["event"] == "publisher_started"}
        if any(each["state"] != "closed" and goes_to[name] == OLD for name, each in then["publishers"].items()):
            return f"When {NEW} got its consumer, a client still published to {OLD}."
        return None
    return f"No client consumes from {NEW}."


def pause_in_publishing_s(cluster: Cluster) -> float:
    """Return for how many seconds no publisher ran, from the end of the old one."""
    at_s = {(event["event"], event["queue"]): event["t"] for event in cluster.events}
    closed_s = at_s.get(("publisher_closed", OLD), 0.0)
    return max(at_s.get(("publisher_started", NEW), cluster.outcome["time_s"]) - closed_s, 0.0)


def still_at_work(cluster: Cluster) -> str | None:
    """Require that messages are confirmed and acknowledged in the next LATER_S seconds."""
    before, then = cluster.ledger[NEW], cluster.copy().wait(LATER_S).ledger[NEW]
    for what in ("confirmed", "acknowledged"):
        if size(then[what]) <= size(before[what]):
            return f"In the {LATER_S} s after the last step nothing was {what} in {NEW}."
    return None


EXERCISES = (
    Exercise(
        key="20-both",
        question="RabbitMQ 3.10, in the middle of a move. Queues whose names begin with “orders.” are of both types. "
        "The policy ha (pattern ^orders\\., ha-mode all) mirrors the classic ones, and passes the quorum queues over. "
        "From now on every one of them, of either type, is to hold 1,000 messages at most, and the classic ones are to "
        "stay mirrored to all nodes.",
        hints=(
            "If a policy has one key that quorum queues do not support, the whole policy does not apply to them.",
            "Then the next policy that matches applies. You may set two policies.",
            "{set_policy: {name: ha, pattern: '^orders\\.', definition: {ha-mode: all}, priority: 1}} is an example of "
            "a step. Which of the two policies needs the higher priority?",
        ),
        form=Form.STEPS,
        begin=both_declared,
        judge=both_limited,
        verbs=("set_policy", "clear_policy"),
    ),
    Exercise(
        key="20-rewrite",
        question="On 3.13 the policy orders (pattern ^orders\\.) says: ha-mode exactly, ha-params 2, queue-mode lazy, "
        "max-length 1000, overflow reject-publish-dlx, dead-letter-exchange '' and dead-letter-routing-key dead. Write "
        "this policy for quorum queues of 4.0: a queue has room for 1,000 messages, publishers are informed when it is "
        "full, it drops no confirmed message, and a message that is returned for the sixth time goes to the queue "
        "dead.",
        hints=(
            "4.0 refuses some of the keys. Because of another key, the policy does not apply to quorum queues.",
            "How does a quorum queue interpret reject-publish-dlx?",
            "How often may a message be returned in 4.0 by default, and which key changes this?",
        ),
        form=Form.POLICY,
        begin=on_4_0,
        judge=full_and_given_up,
    ),
    Exercise(
        key="20-move",
        question="In a cluster of 3.13, the publisher shop sends 10 messages a second to the mirrored queue orders, "
        "the consumer worker takes up to 2,000 a second from it, and orders has up to 40,000 messages. Move the "
        "publisher and the consumer to the quorum queue new::orders (orders in the virtual host new). The messages "
        "must be consumed in the order in which they were published, publishing may stop for at most a second, and no "
        "message may be lost. In the end, orders must be deleted, and new::orders must have a publisher and a "
        "consumer.",
        hints=(
            "Steps: {declare: {queue: 'new::orders', arguments: {x-queue-type: quorum}}}, {close: shop}, {publisher: "
            "{name: shop 2, queue: 'new::orders', rate: 10}}, {consume: {consumer: worker 2, queue: 'new::orders', "
            "rate: 2000}}.",
            "What must exist before the publisher can move? What must be finished before the consumer can move?",
            "In other clusters, the queue is longer than in this one. How long does it take to empty the longest "
            "queue?",
        ),
        form=Form.STEPS,
        begin=at_work,
        judge=moved_in_order,
        verbs=("declare", "publisher", "consume", "close", "cancel", "delete", "wait"),
    ),
)
