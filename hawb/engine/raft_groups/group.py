"""A Raft group of a quorum queue, a stream or the metadata store: members, and proposals that are not applied yet.

A moment's groups never change. A turn copies a group before it writes to it (`Groups`).
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
    """A client's operation on a queue, as a command of the queue's log.

    `number` is unique. `node` is the node of the client's channel, which sends the proposal again to each new leader
    until it is decided; NOWHERE if the leader itself proposes, GONE if the channel has closed. `step` is the number of
    the step that caused the proposal. A proposal that publishes takes one log entry for each of its messages;
    `numbers` are the numbers of these messages.
    """

    number: int
    operation: Any
    node: int
    step: int
    numbers: Runs = EMPTY

    def part(self, offset: int, count: int) -> Proposal:
        """Return the part of the proposal that takes `count` entries, from the one at `offset` on."""
        _, numbers = split(self.numbers, offset)
        return replace(self, numbers=split(numbers, count)[0])

    def __str__(self) -> str:
        """Return the command as a log shows it."""
        first_last = "+".join(str(first) if first == last else f"{first}-{last}" for first, last in self.numbers)
        return f"{type(self.operation).__name__.lower()}{first_last and f'({first_last})'}"


class Group(Struct):
    """A Raft group under the name of its queue. A member stays in it while its node is down."""

    name: str
    number: int
    """It distinguishes the group from that of an earlier queue of the same name."""
    members: dict[int, Member]
    """The members by node, each with its log."""
    applied: int = 0
    """The log index up to which commands are applied; one for all members, by Raft's state-machine safety."""
    waiting: tuple[Proposal, ...] = ()
    """The proposals that are not applied yet, in the order in which clients made them."""
    stopped: int = 0
    """The running nodes whose members do not run, as bits."""
    places: tuple[int, ...] = ()
    """Indices up to which logs may be truncated later (`hawb.engine.quorum.log`)."""
    cut_at: int = 0
    """The index up to which logs may be truncated now."""
    moved: Runs = EMPTY
    """The messages that the last command moved to the end of the queue by appending them again."""
    requeued: tuple[tuple[int, Runs], ...] = ()
    """The messages that were appended again, with the index of their first entry."""
    published_at_place: int = 0
    """The number of messages that were published when the last of `places` was added."""
    asked: tuple[tuple[Channel, int], ...] = ()
    """The node to which each channel sends: an unregistered channel of a quorum queue asks the leader there
    (`hawb.engine.raft_groups.registration.asks_unreachable_node`); a stream's channel takes it for the leader
    (`hawb.engine.streams`)."""

    def leaders(self) -> list[Member]:
        """Return the members in the role of leader, by term, the latest first."""
        found = [member for member in self.members.values() if member.role == LEADER]
        return sorted(found, key=lambda member: -member.term)

    def behind(self, node: int) -> int:
        """Return the number of applied entries that a member does not have on disk.

        Compare its log with the most up-to-date log, which has all applied entries (Raft's leader completeness). Two
        logs that agree at an index agree on all entries before it (log matching).
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
    """Return a deep copy of the group: writing to it does not change the original."""
    own = copy(group)
    own.members = {node: copy(member) for node, member in group.members.items()}
    for member in own.members.values():
        member.peers = tuple(map(copy, member.peers))
    return own


def standing(name: str, number: int, members: tuple[int, ...], commands: int) -> Group:
    """Return a group all of whose members have the same log of `commands` commands, all committed."""
    opening = (Run(1, 1, 1, NOOP), *((Run(2, commands, 1, "standing"),) if commands else ()))
    log = Log.of(Snapshot(members=tuple(sorted(members))))
    for run in opening:
        log = log.append(run)
    log = log.write(log.generation, log.last_index)
    last = log.last_index
    found = {node: Member(node, log, term=1, commit_index=last, agreed=last) for node in members}
    return Group(name, number, found, applied=last)


class _Owned(dict[str, Group]):
    """The groups of a turn by queue name. `copied` has the names of the groups that the turn has copied so far."""

    __slots__ = ()
    copied: set[str]

    def own(self, name: str) -> Group:
        """Return a group that the turn may write to. The first call for a name copies the group."""
        if name not in self.copied:
            self.copied.add(name)
            self[name] = copied(self[name])
        return self[name]


class Groups(_Owned):
    """The groups of a turn as a plain dict, which is fast for few groups."""

    __slots__ = ("copied",)

    def __init__(self, before: Mapping[str, Group]):
        super().__init__(before)
        self.copied = set()


class ManyGroups(_Owned, Open[str, Group]):
    """The groups of a turn as a persistent map, for so many groups that copying a dict is slow."""

    __slots__ = ("copied",)

    def __init__(self, before: Mapping[str, Group]):
        super().__init__(before)
        self.copied = set()


def groups_of(before: Mapping[str, Group]) -> Groups | ManyGroups:
    """Return the groups of a moment for a turn to write to."""
    return opened(before, Groups, ManyGroups)


def proposals(log: Log, after: int) -> Iterator[Proposal]:
    """Yield the proposals in a log after an index."""
    return (run.command for run in log.between(after + 1, log.last_index) if isinstance(run.command, Proposal))
