"""Queues are declared, deleted, purged and expire; exclusive queues end with their connection.

Source: `rabbit_amqqueue:declare_classic_queue`, `assert_equivalence`, `delete`, `rabbit_queue_master_location_misc`,
`rabbit_mirror_queue_master:init_with_existing_bq`. A declaration first matches the policies, then the locator picks a
node, and mirrors are up before declare-ok. Exclusive queues are never mirrored and never durable in effect.
"""

from __future__ import annotations

from collections import Counter
from operator import attrgetter

from hawb.engine.classic import sync_course
from hawb.engine.classic.journal import JOINED
from hawb.engine.classic.mailbox import is_stopped
from hawb.engine.classic.mirrors import synchronise_drained
from hawb.engine.classic.ports import listed_by, wanted
from hawb.engine.classic.record import mirrors_await_master
from hawb.engine.clients import confirms, subscriptions
from hawb.engine.cluster import metadata
from hawb.engine.core import bookkeeping, randomness, runs
from hawb.engine.core.events import AutoDelete, DeletedByHalf, QueueExpires
from hawb.engine.core.naming import described, split_queue
from hawb.engine.core.operations import ConnectionCloses, Declare, Delete, Purge
from hawb.engine.core.runs import EMPTY
from hawb.engine.core.state import CLASSIC, QUORUM, STREAM, Queue, bits_of, with_content
from hawb.engine.core.turn import TIMER, Turn
from hawb.engine.queues import expiry, limits
from hawb.engine.queues.access import (
    defer,
    fail,
    has_record,
    is_absent,
    refuse_locked,
    refuse_reserved,
    release,
    served,
)
from hawb.engine.queues.contents import ready, take_out
from hawb.engine.queues.policy_changes import InForce, in_force
from hawb.engine.quorum import creation, fifo, queue_record
from hawb.rules import denied_features, locators, queue_arguments, quorum_declaration, streams
from hawb.rules.limits import LIMIT_ARGUMENTS
from hawb.rules.profiles import Profile
from hawb.rules.queue_types import TYPES

SIMULATED_ARGUMENTS = LIMIT_ARGUMENTS | {
    "x-queue-type",
    "x-queue-master-locator",
    "x-single-active-consumer",
    "x-max-priority",
}
"""Queue arguments that hawb has rules for. Others are kept, and the trace says that they change nothing."""


RULES = {CLASSIC: queue_arguments, QUORUM: quorum_declaration, STREAM: streams}
"""The rules of each type for declarations: `refusal`, `inequivalent`."""


def declare(turn: Turn, operation: Declare) -> None:
    """Declare a queue (queue.declare)."""
    if not turn.is_running(operation.node):
        return
    if not operation.passive and refuse_reserved(turn, "queue", split_queue(operation.queue)[1]):
        return
    queue = turn.queues.get(operation.queue)
    if queue is not None:
        redeclare(turn, operation, queue)
    elif operation.passive:
        turn.refuse(404, f"NOT_FOUND - no {described(operation.queue)}")
    elif not is_valid(turn, operation) or not is_one_for_all_sides(turn, operation):
        return
    elif not metadata.defer_if_blocked(turn, operation):
        (create if type_of(operation) == CLASSIC else creation.create)(turn, operation)


def type_of(operation: Declare) -> object:
    """Return the declared type of queue (`rabbit_amqqueue:get_queue_type`), or the value given in its place."""
    return dict(operation.arguments).get("x-queue-type", CLASSIC)


def is_known_type(given: object, profile: Profile) -> bool:
    """Return True if a release has queues of that type."""
    return given in TYPES and (given != STREAM or profile.version in streams.STREAM_PROFILES)


def is_one_for_all_sides(turn: Turn, operation: Declare) -> bool:
    """Return True if a name means one quorum queue or stream, if any, on all sides of a partition.

    Otherwise refuse the step: a real side would have a queue of its own, whose members' processes may or may not find
    those of the other side's queue.
    """
    others = [side.queues[operation.queue] for side in turn.sides.values() if operation.queue in side.queues]
    if others and {type_of(operation), *(queue.type for queue in others)} != {CLASSIC}:
        turn.refuse(
            None,
            f"not simulated: {described(operation.queue)} as a {type_of(operation)} queue, while another side of the "
            f"partition knows it as a {others[0].type} queue; accepted is a name that no other side knows, or one "
            "that is a classic queue there and here",
        )
        return False
    return True


def is_valid(turn: Turn, operation: Declare) -> bool:
    """Return True if RabbitMQ accepts a new queue's arguments; otherwise refuse the step.

    RabbitMQ decides that without any other node.
    """
    profile, arguments, name = turn.settings.profile, dict(operation.arguments), described(operation.queue)
    if not is_known_type(type_of(operation), profile):
        reason = queue_arguments.unknown_type(type_of(operation), name, profile)
    elif type_of(operation) != CLASSIC:
        reason = (streams if type_of(operation) == STREAM else quorum_declaration).refusal(
            arguments, name, profile,
            durable=operation.durable, exclusive=operation.exclusive, auto_delete=operation.auto_delete,
        )  # fmt: skip
    else:
        reason = queue_arguments.refusal(arguments, name, profile)
    if reason is not None:
        turn.refuse(406, f"PRECONDITION_FAILED - {reason}")
    elif type_of(operation) == CLASSIC and is_mislocated(turn, operation):
        fail(turn, operation, 541, "INTERNAL_ERROR")
    elif type_of(operation) == CLASSIC and denied_features.refuses_locator(arguments, profile):
        fail(turn, operation, 541, denied_features.refusal(denied_features.MASTER_LOCATOR))
    else:
        return True
    return False


def redeclare(turn: Turn, operation: Declare, queue: Queue) -> None:
    """Declare a queue that exists.

    A node that has its record compares the declaration with it first, and then asks the queue, which may not answer
    (`rabbit_channel`: `assert_equivalence`, then `maybe_stat`).
    """
    if not operation.passive and has_record(turn, operation, queue) and not is_same(turn, operation, queue):
        return
    if served(turn, operation) is not None:
        expiry.touch(turn, queue.name)


def is_same(turn: Turn, operation: Declare, queue: Queue) -> bool:
    """Return True if a queue is declared as it is; otherwise refuse the step."""
    if operation.exclusive != (queue.owner is not None):
        refuse_locked(turn, queue)
        return False
    asked = {"durable": operation.durable and not operation.exclusive, "auto_delete": operation.auto_delete}
    current = {"durable": queue.durable, "auto_delete": queue.auto_delete}
    for field, value in asked.items():
        if value != current[field]:
            refuse_inequivalent(turn, queue, field, f"'{str(value).lower()}'", f"'{str(current[field]).lower()}'")
            return False
    given, had = dict(operation.arguments), dict(queue.arguments)
    difference = RULES[queue.type].inequivalent(given, had, turn.settings.profile)
    if difference is not None:
        refuse_inequivalent(turn, queue, *difference)
    return difference is None


def refuse_inequivalent(turn: Turn, queue: Queue, field: str, given: str, current: str) -> None:
    """Refuse a queue that exists with another property (406, `rabbit_misc:assert_args_equivalence`)."""
    turn.refuse(
        406,
        f"PRECONDITION_FAILED - inequivalent arg '{field}' for {described(queue.name)}: "
        f"received {given} but current is {current}",
    )


def create(turn: Turn, operation: Declare) -> None:
    """Create a queue: policy, node, master, mirrors, in this order."""
    vhost, _ = split_queue(operation.queue)
    found, exclusive = in_force(turn, operation.queue, "classic", declaring=True), operation.exclusive
    place = master_node(turn, operation, found)
    turn.add_queue(
        Queue(
            name=operation.queue,
            vhost=vhost,
            type="classic",
            durable=operation.durable and not exclusive,
            auto_delete=operation.auto_delete,
            owner=(operation.connection, operation.node) if exclusive else None,
            arguments=operation.arguments,
            **found.record("classic", operation.arguments),
            mirrored=found.mirroring is not None and not exclusive,
            master=place,
            contents=tuple(EMPTY if node == place else None for node in range(len(turn.nodes))),
            began=turn.numbers.get(operation.queue, 0),
        )
    )
    place_mirrors(turn, operation.queue)
    queue = turn.queues[operation.queue]
    entry = turn.emit(
        "queue_declared", node=place, queue=queue.name, type="classic", policy=queue.policy,
        operator_policy=queue.operator_policy,
        master=turn.settings.names[place], mirrors=turn.settings.named(queue.mirrors),
    )  # fmt: skip
    turn.because = entry
    bookkeeping.count_times(turn, queue.name)
    note_not_simulated(turn, queue)
    limits.adopt(turn, queue.name, starting=True)
    synchronise_drained(turn, turn.own(queue.name), JOINED)


def leave_record(turn: Turn, operation: Declare) -> None:
    """Commit a declaration that timed out for its client: with Khepri a record without a process remains.

    Source: `rabbit_amqqueue_process:init`, `rabbit_quorum_queue:start_cluster`.
    """
    if type_of(operation) != CLASSIC:
        creation.leave_record(turn, operation)
        return
    create(turn, operation)
    queue = turn.own(operation.queue)
    queue.up, queue.awaits_master = False, True
    turn.emit("master_down", node=queue.master, queue=queue.name, reason="metadata_timed_out", messages=0)
    turn.emit("queue_down", node=queue.master, queue=queue.name, reason="declared_by_half")
    bookkeeping.count_times(turn, queue.name)


def place_mirrors(turn: Turn, name: str) -> None:
    """Start the first mirrors of a queue, which are up before declare-ok."""
    queue = turn.queues[name]
    mirrors = tuple(wanted(turn, queue, bits_of(turn.running()))[1:])
    turn.change_queue(
        name,
        mirrors=mirrors,
        recoverable=mirrors,
        contents=with_content(queue.contents, dict.fromkeys(mirrors, EMPTY)),
    )


def note_not_simulated(turn: Turn, queue: Queue) -> None:
    """Record in the trace which of the queue's arguments change nothing in hawb."""
    profile = turn.settings.profile
    of_release = {"x-queue-leader-locator": profile.leader_locator,
                  "x-consumer-timeout": profile.queues_set_consumer_timeout}  # fmt: skip
    left = [key for key, _ in queue.arguments if key not in SIMULATED_ARGUMENTS and not of_release.get(key)]
    if left:
        turn.emit("not_simulated", queue=queue.name, what=[f"argument {key}" for key in left])


def is_located(turn: Turn, operation: Declare) -> bool:
    """Return True if a locator decides on the node of a queue."""
    return turn.settings.profile.locates_exclusive or not operation.exclusive


def is_mislocated(turn: Turn, operation: Declare) -> bool:
    """Return True if a queue's arguments name a master locator that does not exist.

    That ends the channel that declares it (`rabbit_queue_master_location_misc:get_location`). 4.0 ignores the argument.
    """
    given = dict(operation.arguments).get("x-queue-master-locator", "client-local")
    known = isinstance(given, str) and given in locators.LOCATORS
    return not known and is_located(turn, operation) and not turn.settings.profile.leader_locator


def master_node(turn: Turn, operation: Declare, found: InForce) -> int:
    """Return the node for a new queue's master."""
    if not is_located(turn, operation):
        return operation.node
    asked = None if operation.exclusive else found.mirroring
    strategy = locator(turn, operation, found)
    candidates = locators.master_candidates(
        -1 if asked is None else int(asked.mode),
        [] if asked is None else listed_by(turn, asked),
        operation.node,
        turn.running(),
    )
    candidates = [node for node in candidates if not turn.nodes[node].drained]
    count, index = [], 0
    if strategy == locators.MIN_MASTERS:
        masters = Counter(map(attrgetter("master"), turn.queues.values()))
        count = [masters[node] for node in range(len(turn.nodes))]
    elif strategy == locators.RANDOM:
        index = randomness.below(len(candidates), turn.settings.seed, randomness.RANDOM_LOCATOR, turn.next_number(), 0)
    return locators.locate(strategy, operation.node, candidates, count, index)


def locator(turn: Turn, operation: Declare, found: InForce) -> int:
    """Return the strategy that places a new queue's master.

    The queue's argument comes before the policies, and these before the configuration. From 4.0 on policies come first,
    the configuration is ignored, and so is a strategy that does not exist.
    """
    arguments = dict(operation.arguments)
    if turn.settings.profile.leader_locator:
        meaning = locators.LEADER_LOCATORS
        keys = ("queue-leader-locator", "queue-master-locator")
        given = [value for key in keys for value in (found.definition.get(key), arguments.get(f"x-{key}"))]
    else:
        meaning = locators.LOCATORS
        key = "queue-master-locator"
        given = [arguments.get(f"x-{key}"), found.definition.get(key), turn.settings.queue_master_locator]
    known = (meaning[name] for name in given if isinstance(name, str) and name in meaning)
    return next(known, locators.CLIENT_LOCAL)


def delete(turn: Turn, operation: Delete) -> None:
    """Delete a queue (queue.delete). Deleting a queue that does not exist is no error.

    A replicated queue without a master or a live mirror is deleted by force
    (`rabbit_classic_queue:wait_for_promoted_or_stopped`), and so is one that crashed for good
    (`rabbit_amqqueue:delete_crashed`).
    """
    queue = turn.queues.get(operation.queue)
    if queue is None or not turn.is_running(operation.node):
        return
    if is_absent(queue):
        served(turn, operation)  # refuses it
    elif has_no_live_replica(turn, queue) and is_stopped(turn, queue) and not turn.settings.profile.mirroring:
        fail(turn, operation, 541, "INTERNAL_ERROR")
    elif metadata.defer_if_blocked(turn, operation):
        refused = (operation.if_unused and queue.consumers) or (operation.if_empty and ready(queue))
        if turn.setup.khepri and queue.type == QUORUM:
            creation.delete_by_half(turn, queue, operation.node)
        elif turn.setup.khepri and queue.type == CLASSIC and not refused and turn.linked(operation.node, queue.master):
            turn.schedule(0, DeletedByHalf(queue.name))
    elif queue.has_group:
        if queue_record.goes_on_all_sides(turn, queue.name, operation.node):
            remove(turn, queue.name, "client")
    elif queue.failed:
        remove(turn, queue.name, "client")
    elif has_no_live_replica(turn, queue):
        if operation.if_empty:
            turn.refuse(406, f"PRECONDITION_FAILED - {described(queue.name)} not empty")
        else:
            remove(turn, queue.name, "client")
    elif served(turn, operation) is None:
        return
    elif operation.if_unused and queue.consumers:
        turn.refuse(406, f"PRECONDITION_FAILED - {described(queue.name)} in use")
    elif operation.if_empty and ready(queue):
        turn.refuse(406, f"PRECONDITION_FAILED - {described(queue.name)} not empty")
    else:
        remove(turn, queue.name, "client")


def has_no_live_replica(turn: Turn, queue: Queue) -> bool:
    """Return True if a classic queue that the cluster knows has no running master or mirror."""
    return queue.awaits_master and not is_absent(queue) and not mirrors_await_master(turn, queue)


def purge(turn: Turn, operation: Purge) -> None:
    """Purge a queue (queue.purge): ready messages go, unacknowledged ones stay.

    In 4.3 the waiting messages of a quorum queue go as well.
    """
    if not turn.is_running(operation.node) or (queue := served(turn, operation)) is None:
        return
    numbers = fifo.purged(turn, queue) if queue.type == QUORUM else ready(queue)
    turn.emit("queue_purged", queue=queue.name, messages=runs.size(numbers))
    if numbers:
        take_out(turn, queue.name, numbers, "purged")


def expire(turn: Turn, event: QueueExpires) -> None:
    """Delete a queue that was unused for its whole time.

    A queue that synchronises checks afterwards; the leader of one without a majority at its next tick.
    """
    queue = turn.queues.get(event.queue)
    if queue is not None and queue.has_group:
        if queue.master != event.node or not expiry.has_expired(turn, queue):
            return
        if queue.up:
            remove(turn, event.queue, "expired")
        else:
            turn.schedule(expiry.TICK_US, event, priority=TIMER)
        return
    if queue is None or not queue.up or queue.master != event.node or queue.consumers:
        return
    if queue.limits_in_effect.expires_ms is None:
        return
    if queue.sync is not None:
        defer(turn, queue, event)
    else:
        remove(turn, event.queue, "expired")


def auto_delete(turn: Turn, event: AutoDelete) -> None:
    """Delete an auto-delete queue whose last consumer has left, if no other has come."""
    queue = turn.queues.get(event.queue)
    if queue is not None and not queue.consumers:
        remove(turn, event.queue, "auto_delete")


def connection_closes(turn: Turn, event: ConnectionCloses) -> None:
    """Close a client's connection, and delete its exclusive queues."""
    turn.connections -= {(event.connection, event.node, event.vhost)}
    connection_gone(turn, (event.connection, event.node), event.vhost)


def connection_gone(turn: Turn, owner: tuple[str, int], vhost: str) -> None:
    """Delete the exclusive queues of a connection to a virtual host that is gone."""
    theirs = sorted(name for name, queue in turn.queues.items() if queue.owner == owner and queue.vhost == vhost)
    for name in theirs:
        if name in turn.queues:
            remove(turn, name, "exclusive_owner_gone")


def remove(turn: Turn, name: str, reason: str) -> None:
    """Delete the queue with all its messages, cancel its consumers, and answer the operations that wait for it.

    A quorum queue is one for all sides and is deleted on all of them.
    """
    release(turn, name)
    queue = turn.queues[name]
    expiry.stop_timers(turn, queue)
    if queue.sync is not None:
        sync_course.unplan(turn, queue)
    if queue.has_group:
        creation.disband(turn, queue)
    left = runs.minus(turn.queues[name].content, turn.account(name).lost)
    entry = turn.emit("queue_deleted", queue=name, reason=reason, messages=runs.size(left))
    bookkeeping.remove(turn, name, left, "deleted")
    focus, sides = turn.focus, [turn.focus]
    if queue.has_group:
        known = (side for side in turn.sides.values() if name in side.queues)
        sides = [side for side in known if side.queues[name].has_group]
    for side in sides:
        side.queues.pop(name, None)
    bookkeeping.count_times(turn, name)
    for side in sides:
        turn.focus, turn.because = side, entry
        confirms.queue_deleted(turn, name)
        subscriptions.queue_deleted(turn, queue)
    turn.focus = focus
