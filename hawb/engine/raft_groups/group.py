"""A quorum queue's Raft group: its members, and what clients have asked that is not decided yet. A turn writes to a
copy of its own (`Groups`)."""

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
"""The name of the metadata store's group, which no queue can have: there is no virtual host without a name."""
GONE = -2
"""The node of a channel that is no more."""

Channel = tuple[str, int, tuple[bool, bool]]
"""A channel that publishes: its connection, node and mode (whether it confirms, whether it has transactions)."""


class Proposal(Struct, frozen=True):
    """What a client asks of a queue, as a command of its log.

    `number` tells it from every other. `node` is where the channel is that asked, and that sends it again to a new
    leader until it is decided; NOWHERE where the leader itself noticed something, GONE where that channel is no more.
    `step` is the step behind it. One that publishes stands for as many entries as it has messages, whose `numbers`
    these are.
    """

    number: int
    operation: Any
    node: int
    step: int
    numbers: Runs = EMPTY

    def part(self, offset: int, count: int) -> Proposal:
        """What `count` of the entries stand for, from the one at `offset` on."""
        _, numbers = split(self.numbers, offset)
        return replace(self, numbers=split(numbers, count)[0])

    def __str__(self) -> str:
        """The command as a log shows it."""
        first_last = "+".join(str(first) if first == last else f"{first}-{last}" for first, last in self.numbers)
        return f"{type(self.operation).__name__.lower()}{first_last and f'({first_last})'}"


class Group(Struct):
    """The members by their nodes, each with its log, whether its node runs or not.

    `number` tells the group from one of an earlier queue of that name. `applied` is how far the queue has taken in what
    is committed; state-machine safety makes that the same for all. `waiting` are proposals that are not applied yet, in
    the order in which they were asked; `stopped` are the nodes, as bits, whose members do not run though they do.
    `places` are indices up to which logs may be cut one day (`hawb.engine.quorum.log`), the last of them noted when so
    many messages had been published, and `cut_at` is up to which they may be now. `requeued` are messages that were
    written anew, by the index under which they were, and `moved` those that stood at the queue's end because of that
    after the last command. `asked` has, for channels that the queue did not get to know at once, the node of the leader
    that there was then, where that is whom they ask (`hawb.engine.raft_groups.enqueuers.asks_in_vain`); for a stream's
    channels the node of the leader that they know of (`hawb.engine.streams`).
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
        """Those who take themselves for leaders, the one of the latest term first."""
        found = [member for member in self.members.values() if member.role == LEADER]
        return sorted(found, key=lambda member: -member.term)

    def behind(self, node: int) -> int:
        """How many of the entries that are applied a member has not on disk. The most up-to-date log has them all
        (Raft's leader completeness), and two logs that agree at an index agree up to it (log matching)."""
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
        """The proposals in a log that are not applied yet."""
        return proposals(log, self.applied)


def copied(group: Group) -> Group:
    """A copy that shares no record with the group."""
    own = copy(group)
    own.members = {node: copy(member) for node, member in group.members.items()}
    for member in own.members.values():
        member.peers = tuple(map(copy, member.peers))
    return own


def standing(name: str, number: int, members: tuple[int, ...], commands: int) -> Group:
    """A group in which everybody has so many commands in the log and committed."""
    opening = (Run(1, 1, 1, NOOP), *((Run(2, commands, 1, "standing"),) if commands else ()))
    log = Log.of(Snapshot(members=tuple(sorted(members))))
    for run in opening:
        log = log.append(run)
    log = log.write(log.generation, log.last_index)
    last = log.last_index
    found = {node: Member(node, log, term=1, commit_index=last, agreed=last) for node in members}
    return Group(name, number, found, applied=last)


class _Owned(dict[str, Group]):
    """Groups by their queues' names, while a turn writes to them: `copied` names those that it has copied."""

    __slots__ = ()
    copied: set[str]

    def own(self, name: str) -> Group:
        """A group to be written to: from the first time on a copy of what the moment before has."""
        if name not in self.copied:
            self.copied.add(name)
            self[name] = copied(self[name])
        return self[name]


class Groups(_Owned):
    """Few groups."""

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
    """The groups of a moment for a turn to write to."""
    return opened(before, Groups, ManyGroups)


def proposals(log: Log, after: int) -> Iterator[Proposal]:
    """The proposals in a log behind an index."""
    return (run.command for run in log.between(after + 1, log.last_index) if isinstance(run.command, Proposal))
