"""Quorum queues come and go: where members are placed, who leads first, and what a declaration is refused for.

The rules stand in `hawb.rules.quorum` and `hawb.rules.quorum_declaration`. The declaring node asks for a member on each
node chosen, whether it runs or not; with most of them running a leader is elected before the client hears, with fewer
there is no queue.

Source: `rabbit_quorum_queue:declare`, `rabbit_queue_location`, `ra:start_cluster`.
"""

from __future__ import annotations

from collections import Counter

from hawb.engine import bookkeeping, chance, fifo, runs
from hawb.engine.access import fail
from hawb.engine.naming import described, split_queue
from hawb.engine.operations import Declare
from hawb.engine.policy_changes import InForce, in_force, quorum_settings
from hawb.engine.quorum.elections import call_elections
from hawb.engine.quorum.group import Group, standing
from hawb.engine.quorum.hosting import stand_for_election
from hawb.engine.quorum.leadership import level
from hawb.engine.runs import EMPTY
from hawb.engine.state import NOWHERE, QUORUM, Queue, bits_of
from hawb.engine.turn import Turn
from hawb.raft.member import start
from hawb.rules import locators, quorum, quorum_declaration
from hawb.rules.quorum_profiles import QUORUM_PROFILES


def create(turn: Turn, operation: Declare) -> None:
    """A new queue: policy, members, the first leader, in this order."""
    name, node = operation.queue, operation.node
    found = in_force(turn, name, QUORUM, declaring=True)
    wanted = quorum_settings(turn, found, operation.arguments)
    members = choose_members(turn, wanted.group_size, node)
    leader = choose_leader(turn, wanted.leader_locator, node, members)
    started = [member for member in members if member in turn.running() and turn.linked(leader, member)]
    if len(started) < quorum.majority(len(members)):
        names = turn.settings.names
        reason = quorum_declaration.not_formed(described(name), names[node], names[leader], turn.settings.profile)
        fail(turn, operation, 541, f"INTERNAL_ERROR - {reason}")
        return
    enter(turn, operation, found, members, leader)
    number = turn.next_number()
    turn.groups[name] = Group(name, number, {member: start(member, tuple(members)) for member in started})
    turn.because = turn.emit(
        "queue_declared", node=leader, queue=name, type=QUORUM, policy=turn.queues[name].policy,
        operator_policy=turn.queues[name].operator_policy, master=turn.settings.names[leader], mirrors=[],
        members=turn.settings.named(sorted(members)),
    )  # fmt: skip
    ignored = quorum_declaration.ignored_arguments(dict(operation.arguments), turn.settings.profile)
    if ignored:
        turn.emit("arguments_ignored", queue=name, arguments=ignored)
    stand_for_election(turn, turn.groups.own(name), leader)


def leave_record(turn: Turn, operation: Declare) -> None:
    """The record of a queue whose declaration timed out: its members have not been started."""
    name, node = operation.queue, operation.node
    found = in_force(turn, name, QUORUM, declaring=True)
    wanted = quorum_settings(turn, found, operation.arguments)
    members = choose_members(turn, wanted.group_size, node)
    enter(turn, operation, found, members, choose_leader(turn, wanted.leader_locator, node, members))
    started = {member: start(member, tuple(members)) for member in members}
    turn.groups[name] = Group(name, turn.next_number(), started, stopped=bits_of(members))
    turn.emit("queue_down", queue=name, reason="declared_by_half")
    bookkeeping.count_times(turn, name)


def enter(turn: Turn, operation: Declare, found: InForce, members: list[int], leader: int) -> None:
    """The record of a queue without anything in it."""
    vhost, _ = split_queue(operation.queue)
    turn.add_queue(
        Queue(
            name=operation.queue,
            vhost=vhost,
            type=QUORUM,
            durable=True,
            auto_delete=False,
            owner=None,
            arguments=operation.arguments,
            **record(turn, found, operation.arguments),
            master=NOWHERE,
            contents=tuple(EMPTY if node in members else None for node in range(len(turn.nodes))),
            up=False,
            members=tuple(sorted(members)),
            holder=leader,
            fifo=fifo.new(turn),
        )
    )


def record(turn: Turn, found: InForce, arguments: tuple[tuple[str, object], ...]) -> dict[str, object]:
    """The fields of a quorum queue's record that policies and arguments decide."""
    return found.record(QUORUM, arguments) | {"quorum_settings": quorum_settings(turn, found, arguments)}


def choose_members(turn: Turn, wanted: int, client: int) -> list[int]:
    """The nodes of a new queue's members."""
    nodes = [node for node, value in enumerate(turn.nodes) if value.member]
    others = [node for node in nodes if node != client]
    shuffled = list(chance.shuffled(tuple(others), turn.settings.seed, chance.MEMBERS, 0, turn.next_number()))
    if not QUORUM_PROFILES[turn.settings.profile.version].places_by_load:
        return quorum.members(wanted, client, nodes, shuffled)
    if len(turn.queues) >= quorum.MANY_QUEUES:
        return quorum.members(wanted, client, nodes, quorum.others_by_chance(shuffled, turn.running()))
    counted = Counter(member for queue in turn.queues.values() for member in queue.members)
    count = [counted[node] for node in range(len(turn.nodes))]
    return quorum.members(wanted, client, nodes, quorum.others_by_load(client, nodes, turn.running(), count))


def choose_leader(turn: Turn, locator: int, client: int, members: list[int]) -> int:
    """The member that is made to stand for election first."""
    queues = turn.queues.values()
    drained = [node for node, value in enumerate(turn.nodes) if value.drained]
    candidates = quorum.leader_candidates(members, turn.running(), drained)
    strategy = quorum.leader_strategy(locator, len(queues))
    leaders = Counter(queue.master for queue in queues)
    count = [leaders[node] for node in range(len(turn.nodes))]
    drawn = 0
    if strategy == locators.RANDOM:
        drawn = chance.below(len(candidates), turn.settings.seed, chance.RANDOM_LOCATOR, turn.next_number(), 0)
    return locators.locate(strategy, client, candidates, count, drawn)


def disband(turn: Turn, queue: Queue) -> None:
    """A queue's group is gone with it. What had not been committed was never taken."""
    turn.groups.pop(queue.name, None)
    pending = queue.pending
    if pending:
        turn.change_queue(queue.name, pending=EMPTY)
        bookkeeping.refuse(turn, queue.name, pending, "no_queue")


# As they stand at the start


def stand(turn: Turn, name: str, members: tuple[int, ...], leader: int, content: runs.Runs) -> None:
    """The group of a queue that exists at the start, with everything that is in it in every log, and committed: led by
    `leader` if that runs and a majority does; otherwise whoever can be is elected."""
    turn.groups[name] = standing(name, turn.next_number(), members, runs.size(content))
    turn.change_queue(
        name, members=tuple(sorted(members)), holder=leader, master=NOWHERE, up=False, fifo=fifo.new(turn),
        contents=tuple(content if node in members else None for node in range(len(turn.nodes))),
    )  # fmt: skip
    group = turn.groups.own(name)
    level(turn, group)
    if turn.is_running(leader):
        stand_for_election(turn, group, leader)
    call_elections(turn, group)
