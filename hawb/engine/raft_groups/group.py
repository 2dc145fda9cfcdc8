"""A quorum queue's Raft group: its members, and the clients' proposals that are not decided yet.

A turn writes to a copy of its own (`Groups`).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from copy import copy
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from hawb.engine.core.runs import EMPTY, Runs, split
from hawb.engine.core.versions import Open, opened
from hawb.raft.log import NOOP, Log, Run, Snapshot
from hawb.raft.member import LEADER, Member

STORE = "::rabbitmq_metadata"
"""The name of the metadata store's group. No queue can have it: there is no virtual host without a name."""
GONE = -2
"""The node of a channel that is gone."""

Channel = tuple[str, int, tuple[bool, bool]]
"""A channel that publishes: its connection, node and mode (whether it confirms, whether it has transactions)."""


class Proposal(Struct, frozen=True):
    """A client's operation on a queue, as a command of its log.

    `number` is unique. `node` is the node of the channel that asked, and that sends the proposal again to a new leader
    until it is decided; NOWHERE for the leader itself, GONE if that channel is gone. `step` is the step behind it. A
    proposal that publishes stands for as many entries as it has messages, whose `numbers` these are.
    """

    number: int
    operation: Any
    node: int
    step: int
    numbers: Runs = EMPTY

    def part(self, offset: int, count: int) -> Proposal:
        """Return the proposal that `count` of the entries stand for, from the one at `offset` on."""
        _, numbers = split(self.numbers, offset)
        return replace(self, numbers=split(numbers, count)[0])

    def __str__(self) -> str:
        """Return the command as a log shows it."""
        first_last = "+".join(str(first) if first == last else f"{first}-{last}" for first, last in self.numbers)
        return f"{type(self.operation).__name__.lower()}{first_last and f'({first_last})'}"


class Group(Struct):
    """The members by their nodes, each with its log, whether its node runs or not.

    `number` distinguishes the group from one of an earlier queue of that name. `applied` is the index up to which the
    queue has applied what is committed, by Raft's state-machine safety the same for all members. `waiting` are
    proposals that are not applied yet, in the order in which clients made them. `stopped` are the running nodes, as
    bits, whose members do not run.

    `places` are indices up to which logs may be cut one day (`hawb.engine.quorum.log`); `published_at_place` is the
    number of messages published when the last one was noted, and `cut_at` is the index up to which logs may be cut now.
    `requeued` are messages that were appended again, by the index of their first entry, and `moved` those that the last
    command thereby put at the queue's end. `asked` has the node of the leader that an unregistered channel asks
    (`hawb.engine.raft_groups.registration.asks_unreachable_node`), and for a stream's channels the leader that they
    know of (`hawb.engine.streams`).
    """

    name: str
    number: int
    members: dict[int, Member]
    applied: int = 0
    waiting: tuple[Proposal, ...] = ()
    stopped: int = 0
    places: tuple[int, ...] = ()
    cut_at: int = 0
    moved: Runs = EMPTY
    requeued: tuple[tuple[int, Runs], ...] = ()
    published_at_place: int = 0
    asked: tuple[tuple[Channel, int], ...] = ()

    def leaders(self) -> list[Member]:
        """Return the members that take themselves for leaders, the one of the latest term first."""
        found = [member for member in self.members.values() if member.role == LEADER]
        return sorted(found, key=lambda member: -member.term)

    def behind(self, node: int) -> int:
        """Return the number of applied entries that a member does not have on disk.

        The most up-to-date log has them all (Raft's leader completeness), and two logs that agree at an index agree up
        to it (log matching).
        """
        if node not in self.members:
            return self.applied
        best = max((member.log for member in self.members.values()), key=lambda log: (log.last_term, log.last_index))
        log = self.members[node].log

        def differs(index: int) -> bool:
            return index > log.snapshot.index and not best.agrees(index, log.term_at(index))

        held = min(self.applied, log.written)
        if differs(held):
            held = bisect_left(range(1, held), True, key=differs)
        return self.applied - held

    def undecided(self, log: Log) -> Iterator[Proposal]:
        """Return the proposals in a log that are not applied yet."""
        return proposals(log, self.applied)


def copied(group: Group) -> Group:
    """Return a copy that shares no record with the group."""
    own = copy(group)
    own.members = {node: copy(member) for node, member in group.members.items()}
    for member in own.members.values():
        member.peers = tuple(map(copy, member.peers))
    return own


def standing(name: str, number: int, members: tuple[int, ...], commands: int) -> Group:
    """Return a group all of whose members have `commands` commands in the log and committed."""
    opening = (Run(1, 1, 1, NOOP), *((Run(2, commands, 1, "standing"),) if commands else ()))
    log = Log.of(Snapshot(members=tuple(sorted(members))))
    for run in opening:
        log = log.append(run)
    log = log.write(log.generation, log.last_index)
    last = log.last_index
    found = {node: Member(node, log, term=1, commit_index=last, agreed=last) for node in members}
    return Group(name, number, found, applied=last)


class _Owned(dict[str, Group]):
    """Groups by their queues' names, while a turn writes to them; `copied` names those that it has copied."""

    __slots__ = ()
    copied: set[str]

    def own(self, name: str) -> Group:
        """Return a group to write to: from the first time on a copy of the one in the moment before."""
        if name not in self.copied:
            self.copied.add(name)
            self[name] = copied(self[name])
        return self[name]


class Groups(_Owned):
    """Few groups, copied into a dict."""

    __slots__ = ("copied",)

    def __init__(self, before: Mapping[str, Group]):
        super().__init__(before)
        self.copied = set()


class ManyGroups(_Owned, Open[str, Group]):
    """So many groups that a turn takes the map over."""

    __slots__ = ("copied",)

    def __init__(self, before: Mapping[str, Group]):
        super().__init__(before)
        self.copied = set()


def groups_of(before: Mapping[str, Group]) -> Groups | ManyGroups:
    """Return the groups of a moment for a turn to write to."""
    return opened(before, Groups, ManyGroups)


def proposals(log: Log, after: int) -> Iterator[Proposal]:
    """Return the proposals in a log behind an index."""
    return (run.command for run in log.between(after + 1, log.last_index) if isinstance(run.command, Proposal))
