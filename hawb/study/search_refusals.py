"""The reasons why a compiled search refuses a moment of a classic queue; then the engine searches.

See `hawb.study.compiled_search`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

from msgspec import Struct

from hawb.engine.classic.record_ports import is_replicated
from hawb.engine.clients.client_state import NEVER_US
from hawb.engine.core import events, operations, runs
from hawb.engine.core.moment import Moment
from hawb.engine.core.settings import Settings
from hawb.engine.core.state import RUNNING, Batch, Queue, Side, State, bits_of
from hawb.rules.limits import NO_LIMITS
from hawb.study.kernel import search_state, state
from hawb.study.kernel.search_state import MOST_GIVEN, MOST_NODES, OWN_KIND

OWN_BATCH = (search_state.PUBLISHED_BYTES, None, (), ())
"""The kind of a batch that a search publishes (`kind_of`)."""
MOST_BYTES = 1 << 42
"""The most bytes: a million times as many still fit 64 bits."""
FEW = 100
"""With up to this many unconfirmed messages flow control is not near (`hawb.engine.clients.flow_control`)."""
PLANNED: dict[type, Callable[[Any], tuple]] = {
    events.ShutDown: lambda event: (state.SHUT_DOWN, event.node),
    events.Stopped: lambda event: (state.STOPPED, event.node, event.boot),
    events.NodeGoneNoticed: lambda event: (state.NODE_GONE, event.node),
    events.BootAttempt: lambda event: (state.BOOT, event.node, event.boot),
    events.BootGivesUp: lambda event: (state.BOOT_GIVES_UP, event.node, event.boot),
    events.LookAround: lambda event: (state.LOOK_AROUND,),
    events.MirrorJoins: lambda event: (state.MIRROR_JOINS, event.node, int(event.returning)),
    events.PolicyTakesEffect: lambda event: (state.POLICY_TAKES_EFFECT, event.how, event.excluded),
    events.AutomaticSync: lambda event: (state.AUTOMATIC_SYNC,),
    events.SyncFinished: lambda event: (state.SYNC_FINISHED, event.number),
    events.ReplicaGone: lambda event: (state.REPLICA_GONE,),
    events.ConfirmsDue: lambda event: (state.CONFIRMS_DUE, event.number, event.node),
    events.LinksTimeOut: lambda event: (state.LINKS_TIME_OUT, event.number),
    events.ManualSync: lambda event: (state.MANUAL_SYNC, event.node, event.node),
    operations.Publish: lambda event: (
        state.PUBLISH, 1, event.node,
        state.COPIED * bool(event.copied) | state.LOST_WITH_MASTER * (event.lost_with_master is not None)
        | state.WITHOUT_CHANNEL * event.without_channel | state.ENDED * event.ended
        | bits_of(event.lacked_by) << state.LACKED_BY,
    ),
}  # fmt: skip
"""The events that may be planned and the operations that may wait: for each its kind and its numbers."""


def records(now: State) -> list[Side]:
    """Return the records of partitions, and those that nodes remember."""
    return [*now.sides, *(node.remembers for node in now.nodes if node.remembers is not None)]


def queues(now: State) -> Iterator[Queue]:
    """Return the queues in all records."""
    return (queue for side in records(now) for queue in side.queues.values())


def kind_of(batch: Batch) -> tuple:
    """Return the properties that a batch shares with one that it continues."""
    return batch.size_bytes, batch.priority, batch.deaths, batch.routing_keys


def other_kinds(now: State) -> list[tuple]:
    """Return the kinds of batches other than those that a search publishes."""
    kinds = dict.fromkeys(kind_of(batch) for queue in queues(now) for batch in queue.batches)
    return [kind for kind in kinds if kind != OWN_BATCH]


def is_odd(queue: Queue) -> bool:
    """Return True if a search does not play a queue of this kind."""
    plain = queue.type == "classic" and queue.durable and not queue.auto_delete and queue.owner is None
    return not plain or bool(queue.arguments or queue.consumers or queue.pending)


def has_crashed(queue: Queue) -> bool:
    """Return True if processes of a queue have crashed, or may crash."""
    return bool(queue.crashed or queue.crashes or queue.failed or queue.mirrors_on_disk)


def is_left_over(queue: Queue) -> bool:
    """Return True if the policy no longer mirrors a queue, and the queue waits for its master's node or has mirrors."""
    return not is_replicated(queue) and ((queue.awaits_master and not queue.absent) or bool(queue.mirrors))


def is_timed(queue: Queue) -> bool:
    """Return True if a queue's messages may expire, or exceed a limit."""
    unlimited = queue.limits == NO_LIMITS == queue.limits_in_effect
    return not unlimited or any(batch.expires_us is not None or batch.flow for batch in queue.batches)


def differ(now: State) -> bool:
    """Return True if records differ in their policies or queues."""
    kinds = {(side.policies, side.operator_policies, *((queue.name, queue.policy, queue.operator_policy)
             for queue in side.queues.values())) for side in records(now)}  # fmt: skip
    return len(kinds) != 1 or any(len(side.queues) != 1 for side in records(now))


def is_own(operation: Struct) -> bool:
    """Return True if a search would ask for this operation."""
    if not isinstance(operation, operations.Publish):
        return isinstance(operation, events.ManualSync)
    kind = (operation.size_bytes, operation.priority, operation.deaths, operation.routing_keys)
    asked = operation.confirm and operation.persistent and operation.connection == "default"
    alone = operation.count == 1 and len(operation.queues) == 1 and not operation.more_room
    plain = not (operation.transaction or operation.kept_by) and operation.publisher is None
    return kind == OWN_BATCH and asked and alone and plain


def waits_oddly(now: State, others: tuple[type, ...] = ()) -> bool:
    """Return True if an event is planned, or an operation waits, that a search does not know.

    It knows `PLANNED`, and `others`.
    """
    waiting = [one.operation for queue in queues(now) for one in queue.waiting]
    asked = [*waiting, *(entry[-1] for entry in now.agenda if isinstance(entry[-1], operations.Publish))]
    known = all(isinstance(one.operation, events.MirrorJoins | events.ReplicaGone) for one in now.waiting_changes)
    strange = any(type(entry[-1]) not in {*PLANNED, *others} for entry in now.agenda)
    recorded = any(isinstance(entry[-1], events.MirrorJoins) and entry[-1].recorded for entry in now.agenda)
    return strange or recorded or not known or not all(map(is_own, asked))


def is_promised_oddly(now: State) -> bool:
    """Return True if channels have other unconfirmed messages than a search causes."""
    several = any(len(one.shares) > 1 or one.transaction or one.publisher is not None for one in now.unconfirmed)
    shares = [share for one in now.unconfirmed for share in one.shares]
    cut_off = {node for link, _ in now.cuts for node in link}
    never = {node for share in shares for node, due_us in share.due_us if due_us == NEVER_US} - cut_off
    several = several or any(now.nodes[node].status == RUNNING for node in never)
    return several or any(share.rejected for share in shares) or sum(runs.size(one.numbers) for one in shares) > FEW


def may_be_too_slow(now: State, settings: Settings) -> bool:
    """Return True if a batch of a synchronisation could take net_ticktime."""
    sizes = [batch.size_bytes for queue in queues(now) for batch in queue.batches]
    batch_sizes = [queue.mirroring.sync_batch_size or settings.sync_batch_size for queue in queues(now)
                   if queue.mirroring is not None]  # fmt: skip
    most_bytes = max(batch_sizes, default=0) * max([*sizes, search_state.PUBLISHED_BYTES])
    return most_bytes > settings.net_ticktime_s * settings.timing.network_bytes_per_s


def cuts(moment: Moment) -> list[int]:
    """Return the first numbers of all pieces, and the number after the last.

    Each set of messages consists of whole pieces.
    """
    now = moment.state
    name = next(queues(now)).name
    account, found = moment.ledger[name], {1, now.numbers.get(name, 0) + 1}
    sets = [account.confirmed, account.lost, account.refused, *dict(account.removed).values()]
    sets += [numbers for _, numbers in account.left_one_side]
    sets += [share.numbers for one in now.unconfirmed for share in one.shares]
    for queue in queues(now):
        sets += [queue.redelivered, queue.unwritten, *(held for held in queue.contents if held)]
        sets.append(tuple((batch.first, batch.last) for batch in queue.batches))
        found.update(since for _, since in queue.lagging)
        found.update({queue.uncounted_from} - {0})
    for first, last in chain.from_iterable(sets):
        found.update((first, last + 1))
    return sorted(found)


def is_too_much(moment: Moment) -> bool:
    """Return True if a row is too small for a moment."""
    now = moment.state
    return (
        len(cuts(moment)) - 1 > MOST_GIVEN
        or len(now.agenda) > search_state.MOST_PLANNED
        or len(now.unconfirmed) > search_state.MOST_UNCONFIRMED
        or len(now.waiting_changes) > MOST_NODES
        or any(len(queue.waiting) > search_state.MOST_WAITING for queue in queues(now))
        or any(sum((batch.last - batch.first + 1) * (batch.size_bytes + 1) for batch in queue.batches) > MOST_BYTES
               for queue in queues(now))
    )  # fmt: skip


REFUSALS: dict[str, Callable[[Moment, Settings], bool]] = {
    f"more than {MOST_NODES} nodes": lambda moment, _: len(moment.state.nodes) > MOST_NODES,
    "nodes in another order than that of their names": lambda _, settings: (
        settings.file_order != tuple(range(len(settings.names)))
    ),
    "no queue or several, or policies that only some know": lambda moment, _: differ(moment.state),
    "clients": lambda moment, _: bool(moment.state.consumers or moment.state.publishers),
    "queues with arguments, that are not durable, exclusive or deleted by themselves": lambda moment, _: (
        any(map(is_odd, queues(moment.state)))
    ),
    "limits of queues": lambda moment, _: any(map(is_timed, queues(moment.state))),
    "crashed processes, or changed policies": lambda moment, settings: any(
        has_crashed(queue) or (settings.profile.mirroring and is_left_over(queue)) for queue in queues(moment.state)
    ),
    "deliveries": lambda moment, _: bool(moment.state.under_way) or any(
        queue.unacknowledged for queue in queues(moment.state)
    ),
    "alarms": lambda moment, _: bool(moment.state.alarms or moment.state.unread) or any(
        queue.sync is not None and queue.sync.held_us is not None for queue in queues(moment.state)
    ),
    "nodes that are no members, or to boot alone": lambda moment, _: any(
        not node.member or node.may_boot_alone for node in moment.state.nodes
    ),
    "transient messages": lambda moment, _: any(
        not batch.persistent for queue in queues(moment.state) for batch in queue.batches
    ),
    "messages of many kinds": lambda moment, _: len(other_kinds(moment.state)) > OWN_KIND,
    "connections of several names": lambda moment, _: any(
        name != "default" for name, _, _ in moment.state.connections
    ),
    "links cut one after the other": lambda moment, _: len(set(dict(moment.state.cuts).values())) > 1,
    "what is planned, or waits": lambda moment, _: waits_oddly(moment.state),
    "messages that wait to be confirmed": lambda moment, _: is_promised_oddly(moment.state),
    "net_ticktime: a batch of a synchronisation that takes as long": lambda moment, settings: (
        may_be_too_slow(moment.state, settings)
    ),
    "so many pieces of messages, or so much that waits": lambda moment, _: is_too_much(moment),
}  # fmt: skip
"""The reasons why the compiled search refuses a moment, in order of precedence, and their conditions."""
