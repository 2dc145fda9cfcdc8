"""Declare and delete quorum queues and streams: where members are placed, which leads first, what is refused.

The rules stand in `hawb.rules.quorum`, `hawb.rules.quorum_declaration` and `hawb.rules.streams`. The declaring node
starts a member on each chosen node, whether it runs or not. If most of them run, a leader is elected before the client
gets its answer; otherwise the declaration fails.

Source: `rabbit_quorum_queue:declare`, `rabbit_queue_location`, `ra:start_cluster`.
"""

from __future__ import annotations

from collections import Counter
from itertools import chain

from hawb.engine import streams
from hawb.engine.core import bookkeeping, randomness, runs
from hawb.engine.core.naming import described, split_queue
from hawb.engine.core.operations import Declare
from hawb.engine.core.runs import EMPTY
from hawb.engine.core.state import CLASSIC, NOWHERE, QUORUM, STREAM, Queue, bits_of
from hawb.engine.core.turn import Turn
from hawb.engine.queues.access import fail
from hawb.engine.queues.policy_changes import InForce, group_settings, in_force
from hawb.engine.quorum import fifo
from hawb.engine.raft_groups.elections import call_elections
from hawb.engine.raft_groups.group import Group, standing
from hawb.engine.raft_groups.hosting import stand_for_election, stop_member
from hawb.engine.raft_groups.leadership import hosts, level
from hawb.raft.member import start
from hawb.rules import locators, quorum, quorum_declaration
from hawb.rules import streams as of_streams
from hawb.rules.quorum_declaration import QuorumSettings
from hawb.rules.quorum_profiles import QUORUM_PROFILES


def create(turn: Turn, operation: Declare) -> None:
    """Declare a queue: find its policy, choose members, start them and elect the first leader."""
    name, kind = operation.queue, type_asked(operation)
    found, wanted, members, leader = placement(turn, operation)
    started = [member for member in members if member in turn.running() and turn.linked(leader, member)]
    if not (streams.can_be_declared(turn, operation) if kind == STREAM else
            is_formed(turn, operation, leader, len(started), len(members))):  # fmt: skip
        return
    enter(turn, operation, found, wanted, members, leader)
    number = turn.next_number()
    turn.groups[name] = Group(name, number, {member: start(member, tuple(members)) for member in started})
    turn.because = turn.emit(
        "queue_declared", node=leader, queue=name, type=kind, policy=turn.queues[name].policy,
        operator_policy=turn.queues[name].operator_policy, master=turn.settings.names[leader], mirrors=[],
        members=turn.settings.named(sorted(members)),
    )  # fmt: skip
    note_ignored(turn, turn.queues[name])
    stand_for_election(turn, turn.groups.own(name), leader)


def placement(turn: Turn, operation: Declare) -> tuple[InForce, QuorumSettings, list[int], int]:
    """Return the policies in force for a new queue, the settings under them, its members and its first leader."""
    kind = type_asked(operation)
    found = in_force(turn, operation.queue, kind, declaring=True)
    wanted = group_settings(turn, found, kind, operation.arguments)
    members = choose_members(turn, kind, wanted.group_size, operation.node)
    return found, wanted, members, choose_leader(turn, kind, wanted.leader_locator, operation.node, members)


def leave_record(turn: Turn, operation: Declare) -> None:
    """Write the record of a queue whose declaration timed out; its members do not run."""
    name = operation.queue
    found, wanted, members, leader = placement(turn, operation)
    enter(turn, operation, found, wanted, members, leader)
    started = {member: start(member, tuple(members)) for member in members}
    turn.groups[name] = Group(name, turn.next_number(), started, stopped=bits_of(members))
    turn.emit("queue_down", queue=name, reason="declared_by_half")
    bookkeeping.count_times(turn, name)


def delete_by_half(turn: Turn, queue: Queue, origin: int) -> None:
    """Delete the members that a node reaches, but not the queue's record, which cannot be deleted without a majority.

    The members start empty when their nodes boot (`rabbit_quorum_queue:delete`, force_delete_queue, recover; a 4.3.6
    cluster).
    """
    name, group = queue.name, turn.groups.own(queue.name)
    ended = [node for node in group.members if hosts(turn, group, node) and turn.linked(origin, node)]
    if not ended:
        return
    turn.because = turn.emit(
        "queue_down", node=origin, queue=name, reason="members_deleted", members=turn.settings.named(ended)
    )
    for node in ended:
        stop_member(turn, group, node)
        group.members[node] = start(node, queue.members)
    if group.stopped == bits_of(group.members):
        bookkeeping.remove(turn, name, runs.minus(queue.content, turn.account(name).lost), "deleted")
        turn.change_queue(
            name, contents=tuple(None if had is None else EMPTY for had in queue.contents), fifo=fifo.new(turn)
        )


def type_asked(operation: Declare) -> str:
    """Return the declared type: quorum or stream."""
    return dict(operation.arguments)["x-queue-type"]


def is_formed(turn: Turn, operation: Declare, leader: int, started: int, members: int) -> bool:
    """Return True if enough members of a quorum queue start to elect a leader; refuse the step otherwise."""
    if started >= quorum.majority(members):
        return True
    names, name = turn.settings.names, described(operation.queue)
    reason = quorum_declaration.not_formed(name, names[operation.node], names[leader], turn.settings.profile)
    fail(turn, operation, 541, f"INTERNAL_ERROR - {reason}")
    return False


def note_ignored(turn: Turn, queue: Queue) -> None:
    """Write to the trace which arguments RabbitMQ ignores, and which ones are not simulated."""
    rules, arguments = of_streams if queue.type == STREAM else quorum_declaration, dict(queue.arguments)
    ignored = rules.ignored_arguments(arguments, turn.settings.profile)
    if ignored:
        turn.emit("arguments_ignored", queue=queue.name, arguments=ignored)
    left = of_streams.left_out(arguments, turn.settings.profile) if queue.type == STREAM else []
    if left:
        turn.emit("not_simulated", queue=queue.name, what=[f"argument {key}" for key in left])


def enter(
    turn: Turn, operation: Declare, found: InForce, wanted: QuorumSettings, members: list[int], leader: int
) -> None:
    """Add the record of an empty queue."""
    vhost, _ = split_queue(operation.queue)
    turn.add_queue(
        Queue(
            name=operation.queue,
            vhost=vhost,
            type=type_asked(operation),
            durable=True,
            auto_delete=False,
            owner=None,
            arguments=operation.arguments,
            **found.record(type_asked(operation), operation.arguments),
            quorum_settings=wanted,
            master=NOWHERE,
            contents=tuple(EMPTY if node in members else None for node in range(len(turn.nodes))),
            up=False,
            members=tuple(sorted(members)),
            holder=leader,
            fifo=fifo.new(turn) if type_asked(operation) == QUORUM else None,
        )
    )


def record(turn: Turn, found: InForce, kind: str, arguments: tuple[tuple[str, object], ...]) -> dict[str, object]:
    """Return the fields of a quorum queue's or stream's record that policies and arguments decide."""
    return found.record(kind, arguments) | {"quorum_settings": group_settings(turn, found, kind, arguments)}


def choose_members(turn: Turn, kind: str, wanted: int, client: int) -> list[int]:
    """The nodes of a new queue's members, placed by what nodes have of queues of its type."""
    nodes = [node for node, value in enumerate(turn.nodes) if value.member]
    others = [node for node in nodes if node != client]
    shuffled = list(randomness.shuffled(tuple(others), turn.settings.seed, randomness.MEMBERS, 0, turn.next_number()))
    if not QUORUM_PROFILES[turn.settings.profile.version].places_by_load:
        return quorum.members(wanted, client, nodes, shuffled)
    if len(turn.queues) >= quorum.MANY_QUEUES:
        return quorum.members(wanted, client, nodes, quorum.others_by_chance(shuffled, turn.running()))
    counted = Counter(chain.from_iterable([queue.members for queue in turn.queues.values() if queue.type == kind]))
    count = [counted[node] for node in range(len(turn.nodes))]
    return quorum.members(wanted, client, nodes, quorum.others_by_load(client, nodes, turn.running(), count))


def choose_leader(turn: Turn, kind: str, locator: int, client: int, members: list[int]) -> int:
    """Return the member that stands for election first."""
    queues = turn.queues.values()
    drained = [node for node, value in enumerate(turn.nodes) if value.drained]
    candidates = quorum.leader_candidates(members, turn.running(), drained)
    strategy = quorum.leader_strategy(locator, len(queues))
    count, drawn = [], 0
    if strategy == locators.MIN_MASTERS:
        leaders = Counter(queue.master for queue in queues if queue.type in (kind, CLASSIC))
        count = [leaders[node] for node in range(len(turn.nodes))]
    elif strategy == locators.RANDOM:
        drawn = randomness.below(len(candidates), turn.settings.seed, randomness.RANDOM_LOCATOR, turn.next_number(), 0)
    return locators.locate(strategy, client, candidates, count, drawn)


def disband(turn: Turn, queue: Queue) -> None:
    """Remove a deleted queue's group; uncommitted messages count as refused."""
    turn.groups.pop(queue.name, None)
    pending = queue.pending
    if pending:
        turn.change_queue(queue.name, pending=EMPTY)
        bookkeeping.refuse(turn, queue.name, pending, "no_queue")


# As they stand at the start


def stand(
    turn: Turn, name: str, members: tuple[int, ...], leader: int, content: runs.Runs, stopped: tuple[int, ...] = ()
) -> None:
    """Create the group of a queue that exists at the start, with all its messages in each log, committed.

    `leader` leads if it runs and a majority does; otherwise the group elects a leader if it can. `stopped` are members
    that do not run although their nodes do.
    """
    turn.groups[name] = standing(name, turn.next_number(), members, runs.size(content))
    turn.change_queue(
        name, members=tuple(sorted(members)), holder=leader, master=NOWHERE, up=False,
        fifo=fifo.new(turn) if turn.queues[name].type == QUORUM else None,
        contents=tuple(content if node in members else None for node in range(len(turn.nodes))),
    )  # fmt: skip
    group = turn.groups.own(name)
    group.stopped = bits_of(stopped)
    level(turn, group)
    if turn.is_running(leader) and leader not in stopped:
        stand_for_election(turn, group, leader)
    call_elections(turn, group)
