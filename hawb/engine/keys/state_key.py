"""The key of a state for searches: states with equal keys have the same future.

Left out are: the time of day (timers count from now), the numbers of messages (they are renumbered, in order, without
gaps), what is only shown (events' numbers, steps, what a consumer once received), how old deliveries are where no
channel checks (a policy with a consumer timeout would have them count later), and which of several interchangeable
nodes is which. Nodes are interchangeable unless a rule depends on their names: ha-mode all, which adds mirrors in
alphabetical order, ha-mode nodes, which lists them, min-masters, whose ties go by name. Random draws are left out too:
a search has to try every outcome anyway. The future is one of steps that name their nodes.

Two states with different keys may still be alike (nodes are distinguished by what they hold, not by trying all
renamings); two states with the same key never differ.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache, partial

from msgspec import Struct
from msgspec.structs import asdict, replace

from hawb.engine.classic import places
from hawb.engine.classic.crashes import PERIOD_US
from hawb.engine.clients import deadlines
from hawb.engine.clients.client_state import NEVER_US, Clock, Consumer
from hawb.engine.core import runs
from hawb.engine.core.agenda import EVENT
from hawb.engine.core.events import (
    BootAttempt,
    BootGivesUp,
    ChannelTicks,
    ConfirmsDue,
    CoordinatorAwaited,
    DeliveryArrives,
    GiveUp,
    LinksTimeOut,
    Stopped,
    SyncFinished,
    SyncPauses,
    SyncTooSlow,
)
from hawb.engine.core.operations import Resume
from hawb.engine.core.runs import EMPTY
from hawb.engine.core.settings import Settings
from hawb.engine.core.state import NOWHERE, Batch, Queue, Side, State, Sync, Unread, bits_of, nodes_of
from hawb.engine.keys import quorum_key
from hawb.engine.keys.ranks import KEPT, Ranks, in_their_order, present, ranks_of
from hawb.engine.raft_groups.events import ProposalGivenUp, RaftArrives, RaftWritten, RegistrationGivenUp
from hawb.engine.raft_groups.group import Proposal
from hawb.rules.consumer_timeouts import TICK_US
from hawb.rules.locators import CLIENT_LOCAL, LEADER_LOCATORS
from hawb.rules.policies import HaMode

NODE_FIELDS = {"node", "master", "forgotten", "removed", "replica"}
NODE_SETS = {"kept_by", "orphaned_gm_at", "lacked_by"}
NODES_FIELDS = {"mirrors", "mirrors_on_disk", "orphaned_mirrors", "synchronised", "recoverable", "members"}


def key(state: State, settings: Settings, rename: bool = True) -> tuple:
    """Return a hashable value that is equal for two states of one cluster only if they have the same future.

    With `rename` it is equal also for states in which interchangeable nodes have changed places.
    """
    renames = rename and _interchangeable(state, settings)
    names = tuple(_new_names(state) if renames else range(len(state.nodes)))
    remembered = [node.remembers for node in state.nodes if node.remembers is not None]
    everywhere = (*state.sides, *remembered)
    known = {name for side in everywhere for name in side.queues}
    ranks = {name: ranks_of(present(everywhere, state, name)) for name in known}

    place = sorted(range(len(state.nodes)), key=names.__getitem__)
    by_place = settings.profile.late_answers_count and settings.profile.mirroring
    sides = {side.number: index for index, side in enumerate(state.sides)}
    return (
        tuple(_node(state, node, names, sides) for node in place),
        tuple(_remembered(state, state.nodes[node].remembers, ranks, names) for node in place),
        tuple(_side(state, side, ranks, names) for side in state.sides),
        tuple(_group(state, name, ranks, names) for name in sorted(state.groups)),
        tuple(sorted(link for link, _ in state.cuts)),
        tuple(sorted(state.suspected)),
        tuple(_meaning(state, one.operation, names) for one in state.waiting_changes),
        tuple(_meaning(state, one.operation, names) for one in state.awaiting_registration),
        tuple((sent.link, *_meaning(state, sent.delivery, names)) for sent in state.under_way),
        tuple(sorted((name, names[node], vhost) for name, node, vhost in state.connections)),
        tuple(sorted((names[node], resource) for node, resource in state.alarms)),
        tuple(_unread(state, unread, names) for unread in state.unread),
        tuple(_consumer(state, settings, name, ranks, names) for name in sorted(state.consumers)),
        tuple(_publisher(state, name, ranks, names) for name in sorted(state.publishers)),
        tuple(_unconfirmed(state, waiting, ranks, names) for waiting in state.unconfirmed),
        tuple(_event(state, entry, ranks, names, sides) for entry in sorted(state.agenda) if _counts(entry)),
        tuple(places.matter(state, side, names) for side in everywhere) if by_place else (),
    )


def _remembered(state: State, side: Side | None, ranks: dict[str, Ranks], names: tuple[int, ...]) -> tuple:
    """Return the key of the records that a node remembers, without synchronisations.

    These have ended by the time it boots (`remembered.as_on_disk`), and would only grow older until then.
    """
    if side is None:
        return ()
    queues = {name: queue if queue.sync is None else replace(queue, sync=None) for name, queue in side.queues.items()}
    known = tuple(sorted(names[node] for node in side.members))
    others = (name for name, number in side.groups.items() if number != getattr(state.groups.get(name), "number", None))
    return *_side(state, replace(side, queues=queues), ranks, names), known, tuple(sorted(others))


def _side(state: State, side: Side, ranks: dict[str, Ranks], names: tuple[int, ...]) -> tuple:
    queues = side.queues
    return (
        side.policies,
        side.operator_policies,
        tuple(_queue(state, queues[name], ranks[name], names) for name in sorted(queues)),
        side.exchanges,
        () if side.store is None else (-1 if side.store.master < 0 else names[side.store.master], side.store.up),
    )


def _group(state: State, name: str, ranks: dict[str, Ranks], names: tuple[int, ...]) -> tuple:
    return name, quorum_key.group_key(state, name, names, partial(_proposal, state, ranks, names, name))


def _proposal(state: State, ranks: dict[str, Ranks], names: tuple[int, ...], name: str, asked: Proposal) -> tuple:
    rank = ranks.get(name, lambda numbers: runs.size(numbers))
    operation = replace(asked.operation, numbers=EMPTY) if asked.numbers else asked.operation
    return type(operation).__name__, _meaning(state, operation, names), rank(asked.numbers)


NAMES_MATTER = {("ha-mode", "all"), ("ha-mode", "nodes")} | {
    (f"queue-{kind}-locator", name)
    for kind in ("master", "leader")
    for name, strategy in LEADER_LOCATORS.items()
    if strategy != CLIENT_LOCAL
}
"""Settings of policies under which a rule depends on nodes' names."""


def _interchangeable(state: State, settings: Settings) -> bool:
    if settings.queue_master_locator == "min-masters" or state.cuts or state.suspected or len(state.sides) > 1:
        return False
    if any(quorum_key.is_in_flight(state, name) for name in state.groups):
        return False
    policies = (*state.policies, *state.operator_policies)
    if any(setting in NAMES_MATTER for policy in policies for setting in policy.settings):
        return False
    modes = [queue.mirroring.mode for queue in state.queues.values() if queue.mirroring is not None]
    return all(mode == HaMode.EXACTLY for mode in modes)


def _new_names(state: State) -> list[int]:
    """Return for each node its rank, with nodes sorted by their state and their replicas."""
    queues = [state.queues[name] for name in sorted(state.queues)]
    clients = sorted((one.name, one.node) for one in (*state.consumers.values(), *state.publishers.values()))

    def signature(node: int) -> tuple:
        return (
            state.nodes[node].status,
            state.nodes[node].member,
            state.nodes[node].virgin,
            state.nodes[node].drained,
            state.nodes[node].coordinates,
            state.nodes[node].silent,
            sorted(resource for at, resource in state.alarms if at == node),
            len(state.nodes[node].believes_running),
            tuple(_role(queue, node) for queue in queues),
            tuple(name for name, at in clients if at == node),
        )

    order = sorted(range(len(state.nodes)), key=signature)
    return [order.index(node) for node in range(len(state.nodes))]


def _role(queue: Queue, node: int) -> tuple:
    position = queue.mirrors.index(node) if node in queue.mirrors else NOWHERE
    return (
        queue.master == node,
        position,
        node in queue.synchronised,
        node in queue.recoverable,
        node in queue.members,
        queue.contents[node] or EMPTY,
    )


def _node(state: State, node: int, names: tuple[int, ...], sides: dict[int, int]) -> tuple:
    value = state.nodes[node]
    believed = tuple(sorted(names[other] for other in value.believes_running))
    means = value.silent, value.awaits, value.may_boot_alone, value.coordinates
    return value.status, value.member, value.virgin, value.drained, *means, sides[value.side], believed


def _queue(state: State, queue: Queue, rank: Ranks, names: tuple[int, ...]) -> tuple:
    ages = queue.sync or queue.crashes or any(batch.expires_us is not None for batch in queue.batches)
    waiting = tuple(_meaning(state, one.operation, names) for one in queue.waiting)
    fifo = queue.fifo and quorum_key.fifo_key(state, queue, names, rank)
    orphaned = tuple(
        (_meaning(state, operation, names), rank(numbers)) for operation, numbers, _ in queue.orphaned_publishes
    )
    return _record(queue, rank, names, state.time_us if ages else None), waiting, fifo, orphaned


@lru_cache(KEPT)
def _record(queue: Queue, rank: Ranks, names: tuple[int, ...], time_us: int | None) -> tuple:
    """Return the key of a queue without waiting operations and state machine.

    `time_us` is None where nothing in it counts from now.
    """
    place = sorted(range(len(names)), key=names.__getitem__)
    fields = _renamed(queue, names)
    # ttl_timer_us is on the agenda.
    for field in ("ttl_timer_us", "waiting", "fifo", "began", "places", "unplaced", "orphaned_publishes"):
        del fields[field]
    fields["contents"] = tuple(content and rank(content) for content in map(queue.contents.__getitem__, place))
    batches = ((rank(((batch.first, batch.last),)), batch) for batch in queue.batches)
    fields["batches"] = tuple((present, *_batch(time_us, batch)) for present, batch in batches if present)
    for field in (
        "depth_unknown", "dead_gm_members", "dead_gm_synchronised", "crashed", "orphaned_group", "not_promotable",
    ):  # fmt: skip
        fields[field] = bits_of(names[node] for node in nodes_of(fields[field]))
    crashes = ((names[node], time_us - crashed_us) for node, crashed_us in queue.crashes)
    fields["crashes"] = tuple((node, ago_us) for node, ago_us in crashes if ago_us <= PERIOD_US)
    fields["owner"] = None if queue.owner is None else (queue.owner[0], names[queue.owner[1]])
    fields["redelivered"], fields["unacknowledged"] = rank(queue.redelivered), rank(queue.unacknowledged)
    fields["overcounted"] = tuple(sorted((names[node], rank(counted)) for node, counted in queue.overcounted))
    fields["lagging"] = tuple((names[node], rank.before(since)) for node, since in queue.lagging)
    fields["uncounted_from"] = queue.uncounted_from and rank.before(queue.uncounted_from) + 1
    fields["unwritten"], fields["pending"] = rank(queue.unwritten), rank(queue.pending)
    fields["orphaned_gm"] = queue.orphaned_gm if queue.orphaned_gm == NOWHERE else names[queue.orphaned_gm]
    fields["holder"] = queue.holder if queue.holder == NOWHERE else names[queue.holder]
    fields["sync"] = None if queue.sync is None else _sync(time_us, queue.sync, names)
    return tuple(fields.values())


def _batch(time_us: int | None, batch: Batch) -> tuple:
    left_us = None if batch.expires_us is None else max(0, batch.expires_us - time_us)
    kind = batch.size_bytes, batch.persistent, batch.priority, batch.deaths, batch.routing_keys
    return *kind, left_us, batch.flow


def _sync(time_us: int, sync: Sync, names: tuple[int, ...]) -> tuple:
    held = sync.held_us is not None
    elapsed_us = (sync.held_us if held else time_us) - sync.began_us
    return tuple(names[node] for node in sync.mirrors), sync.effort, held, elapsed_us


def _looks(state: State, settings: Settings, consumer: Consumer) -> bool:
    """Return True if the age of a client's deliveries matters: its channel is open and has a consumer timeout."""
    if consumer.state == "closed":
        return False
    number = state.nodes[consumer.node].side
    side = next((side for side in state.sides if side.number == number), state.sides[0])
    return deadlines.channel_timeout_ms(settings, side, side.queues.get(consumer.queue)) is not None


def _consumer(
    state: State, settings: Settings, name: str, ranks: dict[str, Ranks], names: tuple[int, ...]
) -> tuple:
    consumer = state.consumers[name]
    rank, in_order = _numbering(ranks, consumer.queue)
    fields = _renamed(consumer, names)
    del fields["received"]
    sent = deadlines.sent(consumer) if _looks(state, settings, consumer) else ()
    fields["sent"] = tuple((us - state.time_us, count) for us, count in sent)
    fields["ticks_from_us"] = (consumer.ticks_from_us - state.time_us) % TICK_US if sent else 0
    fields["subscription"] = consumer.subscription != 0
    for field in ("held", "settled_early", "uncredited"):
        fields[field] = rank(getattr(consumer, field))
    fields["stale"] = in_order(consumer.stale)
    fields["clock"] = consumer.clock and _tick(state, consumer.clock, consumer.ticks)
    del fields["ticks"]
    fields["deliveries"] = consumer.deliveries and in_order(consumer.in_sequence)
    return tuple(fields.values())


def _numbering(ranks: dict[str, Ranks], queue: str) -> tuple[Callable, Callable]:
    """Return the functions that renumber a queue's messages, sorted and in their order.

    Of a deleted queue the count matters.
    """
    rank = ranks.get(queue)
    return (runs.size, runs.size) if rank is None else (rank, partial(in_their_order, rank))


def _publisher(state: State, name: str, ranks: dict[str, Ranks], names: tuple[int, ...]) -> tuple:
    publisher = state.publishers[name]
    rank, _ = _numbering(ranks, publisher.queue)
    unanswered = tuple(
        (
            rank(run.numbers),
            _tick(state, run.clock, run.tick),
            tuple(sorted((names[node], delay_us) for node, delay_us in run.delays_us)),
            run.answered,
        )
        for run in publisher.unanswered
    )
    if publisher.closed:
        return name, publisher.queue, names[publisher.node], publisher.mode, unanswered
    return (
        name, publisher.queue, names[publisher.node], publisher.mode, unanswered,
        publisher.size_bytes, publisher.persistent, publisher.blocked_since_us is not None,
        _tick(state, publisher.clock, publisher.ticks),
    )  # fmt: skip


def _tick(state: State, clock: Clock, ticks: int) -> tuple:
    """Return a clock's rate, and the time since that tick times the clock's ticks, in microseconds."""
    return clock.per_ticks, clock.per_us, (state.time_us - clock.start_us) * clock.per_ticks - ticks * clock.per_us


def _unconfirmed(state: State, waiting, ranks: dict[str, Ranks], names: tuple[int, ...]) -> tuple:
    return names[waiting.node], waiting.transaction, tuple(
        (
            share.queue,
            ranks[share.queue](share.numbers) if share.queue in ranks else runs.size(share.numbers),
            tuple(sorted((NOWHERE if node == NOWHERE else names[node], _relative(due_us, state))
                         for node, due_us in share.due_us)),
            share.answered,
            bool(share.rejected),
        )
        for share in waiting.shares
    )


def _relative(due_us: int, state: State) -> int:
    return due_us if due_us >= NEVER_US else due_us - state.time_us


def _unread(state: State, unread: Unread, names: tuple[int, ...]) -> tuple:
    name, node, vhost = unread.connection
    kind = type(unread.operation).__name__
    return name, names[node], vhost, kind, *_meaning(state, unread.operation, names)


def _counts(entry: tuple) -> bool:
    """Return True if an event is not implied by the key's part of a consumer."""
    return not isinstance(entry[EVENT], ChannelTicks)


def _event(
    state: State, entry: tuple, ranks: dict[str, Ranks], names: tuple[int, ...], sides: dict[int, int]
) -> tuple:
    due_us, priority, _, _, _, side, event = entry
    kind = type(event).__name__
    if isinstance(event, RaftArrives):
        message = quorum_key.message_key(event.message, partial(_proposal, state, ranks, names, event.queue))
        return due_us - state.time_us, priority, sides.get(side), kind, event.queue, event.group, event.node, message
    return due_us - state.time_us, priority, sides.get(side), kind, *_meaning(state, event, names)


def _meaning(state: State, event: Struct, names: tuple[int, ...]) -> tuple:
    """Return an event without the numbers that only distinguish it from a stale one."""
    if isinstance(event, ConfirmsDue):
        return tuple(index for index, waiting in enumerate(state.unconfirmed) if waiting.number == event.number)
    if isinstance(event, CoordinatorAwaited):
        asked = ((type(request).__name__, *_meaning(state, request, names)) for request in event.requests)
        return names[event.node], tuple(asked)
    if isinstance(event, SyncFinished | SyncPauses | SyncTooSlow):
        queues = [side.queues[event.queue] for side in state.sides if event.queue in side.queues]
        return event.queue, any(queue.sync is not None and queue.sync.number == event.number for queue in queues)
    if isinstance(event, LinksTimeOut):
        return tuple(sorted(link for link, number in state.cuts if number == event.number))
    if isinstance(event, BootAttempt | BootGivesUp | Stopped):
        return names[event.node], state.nodes[event.node].boots == event.boot
    if isinstance(event, GiveUp):
        waiting = [one.number for side in state.sides if event.queue in side.queues
                   for one in side.queues[event.queue].waiting]  # fmt: skip
        return event.queue, event.number in waiting and waiting.index(event.number)
    if isinstance(event, ProposalGivenUp | RegistrationGivenUp):
        group = state.groups.get(event.queue)
        asked = [proposal.number for proposal in group.waiting] if group else []
        return event.queue, event.number in asked and asked.index(event.number)
    if isinstance(event, RaftWritten):
        group, written = state.groups.get(event.queue), event.written
        member = group.members.get(event.node) if group and group.number == event.group else None
        this_boot = event.boot == state.nodes[event.node].boots
        counts = member is not None and this_boot and written.generation == member.generation
        return event.queue, names[event.node], counts, written.index
    if isinstance(event, DeliveryArrives):
        return event.queue, event.consumer, names[event.node]
    if isinstance(event, Resume):
        return event.queue, event.consumer, state.consumers[event.consumer].subscription == event.subscription
    return _values(event, names)


def _values(event: Struct, names: tuple[int, ...]) -> tuple:
    fields = _renamed(event, names)
    return tuple(_values(value, names) if isinstance(value, Struct) else value for value in fields.values())


def _renamed(value: Struct, names: tuple[int, ...]) -> dict:
    fields = asdict(value)
    of_a_node, of_nodes, of_sets = _fields_to_rename(type(value))
    for field in of_a_node:
        if fields[field] != NOWHERE:
            fields[field] = names[fields[field]]
    for field in of_nodes:
        fields[field] = tuple([names[node] for node in fields[field]])
    for field in of_sets:
        fields[field] = tuple(sorted([names[node] for node in fields[field]]))
    return fields


@cache
def _fields_to_rename(kind: type[Struct]) -> tuple[tuple[str, ...], ...]:
    """Return the fields of a kind that hold a node, several nodes in an order that matters, and a set of nodes."""
    return tuple(tuple(field for field in kind.__struct_fields__ if field in fields)
                 for fields in (NODE_FIELDS, NODES_FIELDS, NODE_SETS))  # fmt: skip
