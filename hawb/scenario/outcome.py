"""The outcome of a run, as the contract's JSON: plain values, the same bytes for the same scenario on any machine.

Beyond the contract: `maintenance` are the nodes in maintenance mode, `alarms` the resource alarms that are set; each
queue has `replicas` (each node's replica of it) and with its views `replicas_by_view` in their order;
`queues_elsewhere` are the queues that the first running node's side does not know, with their views; each event has
`because`, the index of the event that caused it. `hawb.scenario.quorum_outcome` has the fields of quorum queues,
`hawb.scenario.unnoticed` what nodes have not noticed yet.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence

from hawb.engine.clients.client_state import Consumer, Publisher
from hawb.engine.clients.single_active import held_by_cancelled, is_single_active
from hawb.engine.clients.steady.publisher_ports import blocked_for_us
from hawb.engine.core import runs
from hawb.engine.core.ledger import Account
from hawb.engine.core.moment import Moment
from hawb.engine.core.naming import split_queue
from hawb.engine.core.runs import as_lists
from hawb.engine.core.settings import Settings
from hawb.engine.core.state import (
    BOOTING,
    CLASSIC,
    DOWN,
    NOWHERE,
    PAUSED,
    QUORUM,
    RUNNING,
    STOPPING,
    WAITING,
    Queue,
    Side,
    State,
)
from hawb.engine.core.trace import Entry
from hawb.engine.queues.contents import in_order
from hawb.engine.quorum import fifo
from hawb.engine.raft_groups.group import STORE
from hawb.scenario.quorum_outcome import atoms_outcome, is_online, member_outcome, quorum_outcome
from hawb.scenario.run import Run
from hawb.scenario.unnoticed import unnoticed_outcome

CONTRACT = 1

NODE_STATES = {
    RUNNING: "running",
    STOPPING: "down",
    DOWN: "down",
    BOOTING: "down",
    WAITING: "waiting",
    PAUSED: "paused",
}
ATOMS = frozenset({str, int, float, bool, type(None)})
"""The types of values in a trace that contain no others."""


def outcome_json(run: Run) -> str:
    """Return the outcome as one JSON object on one line, keys sorted."""
    return json.dumps(outcome(run), sort_keys=True, allow_nan=False)


def outcome(run: Run, moment: Moment | None = None, shared: Sequence[dict] = ()) -> dict:
    """Return the outcome of a run at its end, or at another of its moments.

    `shared` are the first events of its trace as another outcome has them: the two share them, and neither may be
    changed.
    """
    moment = run.moment() if moment is None else moment
    state, settings, scenario = moment.state, run.settings, run.scenario
    ledger = {name: moment.ledger[name] for name in sorted(moment.ledger, key=split_queue)}
    events = [*shared, *(event_outcome(entry, settings) for entry in moment.trace(len(shared)))]
    clients = clients_by_queue(state)
    return {
        "contract": CONTRACT,
        "scenario": scenario.scenario,
        "version": settings.profile.version,
        "seed": scenario.seed,
        "time_s": seconds(state.time_us),
        "nodes": {settings.names[index]: NODE_STATES[node.status] for index, node in enumerate(state.nodes)},
        "maintenance": [settings.names[index] for index, node in enumerate(state.nodes) if node.drained],
        "alarms": [{"node": settings.names[node], "resource": resource} for node, resource in sorted(state.alarms)],
        "partitions": partitions_outcome(state, settings),
        "queues": {
            name: queue_outcome(state, settings, name, state.sides[0], clients.get(name, ()))
            for name in sorted(state.queues, key=split_queue)
        },
        "queues_elsewhere": {
            name: queue_outcome(state, settings, name, side, clients.get(name, ()))
            for side in reversed(state.sides[1:])
            for name in sorted(side.queues.keys() - state.queues.keys(), key=split_queue)
        },
        "atoms": atoms_outcome(events),
        "deleted": deleted_outcome(state, events),
        "ledger": {name: ledger_outcome(account) for name, account in ledger.items()},
        "losses": losses_outcome(moment),
        "consumers": {
            name: consumer_outcome(state, settings, state.consumers[name]) for name in sorted(state.consumers)
        },
        "publishers": {
            name: publisher_outcome(state.publishers[name], state.time_us) for name in sorted(state.publishers)
        },
        "availability": {name: availability_outcome(account, state.time_us) for name, account in ledger.items()},
        "errors": [
            {"step": refusal.step, "code": refusal.code, "text": refusal.text}
            for refusal in sorted(moment.refusals, key=lambda refusal: refusal.step)
        ],
        "events": events,
    } | requested_version(run) | store_outcome(state, settings) | unnoticed_outcome(state, settings)


def requested_version(run: Run) -> dict:
    """Return the version that the scenario names, if another one's rules are played in its place."""
    requested = run.scenario.cluster.version
    return {} if requested == run.settings.profile.version else {"requested_version": requested}


def store_outcome(state: State, settings: Settings) -> dict:
    """Return Khepri's part of the outcome.

    It has the store's members, its latest leader if that runs, and the nodes from which metadata can be changed.
    """
    group = state.groups.get(STORE)
    if group is None:
        return {}
    views = {side.number: side.store for side in state.sides}
    leaders = [leader for leader in group.leaders() if state.nodes[leader.id].status == RUNNING]
    cut = {link for link, _ in state.cuts}

    def writes(node: int) -> bool:
        view = views[state.nodes[node].side]
        return view.up and (min(node, view.master), max(node, view.master)) not in cut

    return {
        "metadata_store": {
            "members": settings.named(sorted(group.members)),
            "leader": settings.names[leaders[0].id] if leaders else None,
            "term": max((member.term for member in group.members.values()), default=0),
            "writable_from": settings.named(node for node in state.running() if writes(node)),
        }
    }


def deleted_outcome(state: State, events: Iterable[dict]) -> list[str]:
    """Return the queues that existed and are gone, as far as a running node knows.

    The disk of a node that is down may still have one, until the other nodes give its side up.
    """
    awake = {state.nodes[node].side for node in state.running()} or {state.sides[0].number}
    asleep = {name for side in state.sides if side.number not in awake for name in side.queues}
    known = {name for side in state.sides if side.number in awake for name in side.queues}
    gone = {event["queue"] for event in events if event["event"] == "queue_deleted"} - state.queues.keys()
    return sorted(gone | (asleep - known))


def partitions_outcome(state: State, settings: Settings) -> list[list[str]]:
    """Return the running nodes of each side, if there are several.

    With Khepri, where a single cut link makes no sides, return what each node takes for running, if they do not agree.
    """
    running = state.running()
    if settings.profile.khepri:
        seen = ({node, *state.nodes[node].believes_running} for node in running)
    else:
        seen = (set(state.nodes_of(side)) for side in state.sides)
    views = dict.fromkeys(tuple(node for node in running if node in view) for view in seen)
    groups = [settings.named(nodes) for nodes in views if nodes]
    return groups if len(groups) > 1 else []


def views_outcome(state: State, settings: Settings, name: str) -> dict:
    """Return how each side sees a queue, if sides see it differently or a running side does not know it.

    A side without a running node counts too: its queues could come back with it.
    """
    sides = [side for side in state.sides if name in side.queues]
    views = [view_outcome(state, settings, side, side.queues[name]) for side in sides]
    known = set(running_sides(state)) <= {side.number for side in sides}
    if known and all(view | {"nodes": None} == views[0] | {"nodes": None} for view in views):
        return {}
    replicas = [replicas_outcome(state, settings, side.queues[name], side) for side in sides]
    return {"views": views, "replicas_by_view": replicas}


def running_sides(state: State) -> list[int]:
    """Return the sides that have a running node."""
    return sorted({node.side for node in state.nodes if node.status == RUNNING})


def view_outcome(state: State, settings: Settings, side: Side, queue: Queue) -> dict:
    """Return how one side sees a queue."""
    if queue.type == CLASSIC:
        seen = classic_outcome(state, settings, queue, side)
    else:
        found = quorum_outcome(state, settings, queue, side)
        seen = {"state": found["state"], "master": found["leader"], "mirrors": []}
    return {
        "nodes": settings.named(state.nodes_of(side)),
        **{field: seen[field] for field in ("state", "master", "mirrors")},
        "ids": as_lists(queue.content),
    }


def seconds(time_us: int) -> float:
    """Return microseconds as seconds."""
    return time_us / 1_000_000


def clients_by_queue(state: State) -> dict[str, list[Consumer]]:
    """Return the consumers and holders of each queue that has any."""
    found: dict[str, list[Consumer]] = {}
    for consumer in state.consumers.values():
        found.setdefault(consumer.queue, []).append(consumer)
    return found


def queue_outcome(
    state: State, settings: Settings, name: str, side: Side, consumers: Collection[Consumer]
) -> dict:
    """Return one queue with its consumers and holders, as a side sees it, and the views of the sides if they differ.

    A classic queue counts as unacknowledged what consumers are still to answer for, whether another has settled it
    already or not (`rabbit_queue_consumers:unacknowledged_message_count`).
    """
    queue = side.queues[name]
    content = queue.content
    counted = counted_here(queue)
    unacknowledged = runs.common(counted, queue.unacknowledged)
    unknowing = sum(runs.size(one.uncredited) for one in consumers)
    aside = runs.common(counted, runs.union(fifo.discarded(queue), fifo.delayed(queue)))
    common = {
        "type": queue.type,
        "durable": queue.durable,
        "policy": queue.policy,
        "operator_policy": queue.operator_policy,
        "messages": runs.size(counted) + unknowing,
        "messages_ready": runs.size(counted) - runs.size(unacknowledged) - runs.size(aside),
        "messages_unacknowledged": runs.size(unacknowledged) + unknowing,
        "ids": as_lists(ids_in_order(queue, content, consumers)),
        "redelivered": as_lists(runs.common(content, queue.delivered)),
        "replicas": replicas_outcome(state, settings, queue, side),
    }
    special = classic_outcome if queue.type == CLASSIC else quorum_outcome
    return common | special(state, settings, queue, side) | views_outcome(state, settings, name)


def counted_here(queue: Queue) -> runs.Runs:
    """Return the messages of a queue as the nodes of one side report them: they ask the leader in their record.

    A leader that has lost its majority does not know the later commands of another leader (`rabbit_quorum_queue:i`). It
    reports only applied messages (`rabbit_fifo:query_messages_ready`; seen on clusters of 3.8.9, 3.10.8 and 4.0.5).
    """
    if queue.type == CLASSIC:
        return queue.content
    committed = runs.minus(queue.content, queue.pending)
    if queue.master in (NOWHERE, queue.holder) or queue.contents[queue.master] is None:
        return committed
    return runs.common(committed, queue.contents[queue.master])


def ids_in_order(queue: Queue, content: runs.Runs, consumers: Iterable[Consumer]) -> runs.Runs:
    """Return what a queue would still deliver if all consumers left now, in order of delivery."""
    if queue.type == CLASSIC or not queue.unacknowledged:
        return in_order(queue, content)
    holders = [consumer for consumer in consumers if consumer.held]
    return fifo.in_order(queue, content, holders[0].in_sequence if len(holders) == 1 else runs.EMPTY)


def classic_outcome(state: State, settings: Settings, queue: Queue, _side: Side) -> dict:
    """Return the fields of classic queues alone."""
    living = [node for node in queue.mirrors if state.nodes[node].status == RUNNING]
    synchronised = sorted(node for node in queue.synchronised if node in living)
    master = settings.names[queue.master]
    exclusive = queue.owner is not None and queue.mirroring is not None
    mirrored = queue.mirrored or (exclusive and settings.profile.exclusive_counts_as_mirrored)
    return {
        "state": ("running" if queue.sync is None else "syncing") if queue.up else "down",
        "mirrored": mirrored,
        "master": master,
        "mirrors": settings.named(living),
        "synchronised_mirrors": settings.named(synchronised),
        "recoverable_mirrors": settings.named(queue.recoverable),
        "critical_nodes": [master] if mirrored and not synchronised else [],
    }


def replicas_outcome(state: State, settings: Settings, queue: Queue, side: Side) -> dict:
    """Return each node's replica of a queue.

    It has the replica's role, whether its process runs, whether it holds all that the master does, and the number of
    messages. A quorum queue's leader is a leader_alone while it reaches no majority. A side knows nothing of nodes on
    another, unless it reaches members there.
    """
    replicas = {}
    for node, content in enumerate(queue.contents):
        reached = queue.has_group and is_online(state, side, node)
        if state.nodes[node].side != side.number and not reached:
            continue
        running = state.nodes[node].status == RUNNING
        if queue.has_group:
            role = "member" if node != queue.master else "leader" if queue.up else "leader_alone"
            running = running and not state.groups[queue.name].stopped >> node & 1
        elif node == queue.master:
            role, running = "master", queue.up
        else:
            role = "mirror" if node in queue.mirrors and running else "left_over"
        if content is not None:
            replicas[settings.names[node]] = {
                "role": role,
                "online": running and role != "left_over",
                "synchronised": node == queue.master or node in queue.synchronised,
                "syncing": queue.sync is not None and node in queue.sync.mirrors,
                "messages": runs.size(content),
                **(member_outcome(state, queue, node) if queue.has_group else {}),
            }
    return replicas


def ledger_outcome(account: Account) -> dict:
    """Return the fate of every message of a queue's name."""
    return {
        "published": account.published,
        "confirmed": as_lists(account.confirmed),
        "nacked": as_lists(account.nacked),
        "acknowledged": as_lists(account.acknowledged),
        "delivered_twice": as_lists(account.delivered_twice),
        "lost": as_lists(account.lost),
        "lost_confirmed": account.lost_confirmed,
        "refused": as_lists(account.refused),
        "removed": {reason: as_lists(numbers) for reason, numbers in account.removed},
    }


def losses_outcome(moment: Moment) -> list[dict]:
    """Return each loss with its cause and the event that reports it."""
    return [
        {
            "queue": loss.queue,
            "ids": as_lists(loss.numbers),
            "confirmed": runs.size(runs.common(loss.numbers, moment.ledger[loss.queue].confirmed)),
            "cause": loss.cause,
            "event": loss.entry,
        }
        for loss in moment.losses
    ]


def consumer_outcome(state: State, settings: Settings, consumer: Consumer) -> dict:
    """Return one consumer or holder."""
    held = runs.union(consumer.held, consumer.uncredited)
    return {
        "state": consumer.state,
        "activity_status": activity_status(state, settings, consumer),
        "queue": consumer.queue,
        "received": as_lists(consumer.received),
        "unacknowledged": as_lists(held) if consumer.state != "closed" else [],
        "cancel_notified": consumer.cancel_notified,
    }


def publisher_outcome(publisher: Publisher, now_us: int) -> dict:
    """Return one steady publisher."""
    blocked = publisher.blocked_since_us is not None
    return {
        "state": "closed" if publisher.closed else "blocked" if blocked else "running",
        "published": publisher.published,
        "confirmed": publisher.confirmed,
        "blocked_s": seconds(blocked_for_us(publisher, now_us)),
    }


def activity_status(state: State, settings: Settings, consumer: Consumer) -> str | None:
    """Return a subscription's status at its queue, as `rabbitmqctl list_consumers` shows it; None if it has none there.

    Source: `rabbit_fifo:query_consumers`, `query_single_active_consumer`, `rabbit_queue_consumers:all`.
    """
    queue = state.queues.get(consumer.queue)
    if queue is None or consumer.name not in queue.consumers:
        return None
    if is_single_active(queue):
        counts_all = queue.type == QUORUM and not fifo.RELEASES[settings.profile.version].activates_at_once
        active = None if counts_all and held_by_cancelled(state.consumers, queue) else queue.active_consumer
        return "single_active" if active == consumer.name else "waiting"
    if queue.fifo is not None and consumer.name in queue.fifo.suspected:
        return "suspected_down"
    return "blocked" if settings.profile.lists_blocked and queue.type == CLASSIC and consumer.blocked else "up"


def availability_outcome(account: Account, now_us: int) -> dict:
    """Return how long a queue could not be used, and what replication did.

    Without a master a queue can neither be published to nor consumed from.
    """
    down_s = seconds(account.down.at(now_us))
    return {
        "publish_down_s": down_s,
        "consume_down_s": down_s,
        "sync_blocked_s": seconds(account.syncing.at(now_us)),
        "promotions": account.promotions,
        "unsynchronised_promotions": account.unsynchronised_promotions,
        "elections": account.elections,
        "bytes_replicated": account.bytes_replicated,
    }


def event_outcome(entry: Entry, settings: Settings) -> dict:
    """Return one event."""
    return {
        "t": seconds(entry.t_us),
        "step": None if entry.step < 0 else entry.step,
        "event": entry.event,
        "node": None if entry.node == NOWHERE else settings.names[entry.node],
        "queue": entry.queue,
        "detail": fresh(entry.detail),
        "because": entry.because,
    }


def fresh(value: object) -> object:
    """Return a copy of a plain value that shares nothing with the trace, which never changes."""
    if type(value) in ATOMS:
        return value
    if isinstance(value, dict | Mapping):
        return {key: fresh(inner) for key, inner in value.items()}
    return [fresh(inner) for inner in value] if isinstance(value, list | tuple) else value


def late_consumers(outcome: Mapping) -> list[str]:
    """Return the consumers that did not acknowledge in time."""
    events = (event for event in outcome["events"] if event["event"] in ("channel_timed_out", "consumer_timed_out"))
    return list(dict.fromkeys(event["detail"]["consumer"] for event in events))
