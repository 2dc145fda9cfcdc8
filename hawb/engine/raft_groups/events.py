"""What can stand on the agenda for a Raft group: messages and writes on their way, its timers, and what comes of them.

Plain values without behaviour; `hawb.engine.advance` says who handles each. `group` is the group's number, for an event
may outlive its group.
"""

from __future__ import annotations

from typing import ClassVar

from msgspec import Struct

from hawb.raft.messages import Message, Written


class RaftArrives(Struct, frozen=True):
    """A message between members of a quorum queue's group reaches the one at `node`."""

    queue: str
    node: int
    group: int
    message: Message


class RaftWritten(Struct, frozen=True):
    """The disk of a member has what a write asked for; `boot` tells it from one before the node was started again."""

    queue: str
    node: int
    group: int
    boot: int
    written: Written


class RemovalWritten(Struct, frozen=True):
    """The disk of the leader at `node` has by now that a member is to go, which is deleted at `removed`."""

    queue: str
    node: int
    group: int
    removed: int


class MemberAwaited(Struct, frozen=True):
    """Who has added a member, at `index` of the log of the leader at `node`, has waited long enough for that to be in
    effect."""

    queue: str
    node: int
    group: int
    index: int


class ElectionDue(Struct, frozen=True):
    """A member that misses a leader asks for votes."""

    queue: str
    node: int
    group: int


class HandoverDue(Struct, frozen=True):
    """The time is over in which the member that a leader hands over to could have been elected."""

    queue: str
    node: int
    group: int


class LeaderElected(Struct, frozen=True):
    """Channels hear of a quorum queue's new leader, and send it again what is not decided."""

    queue: str
    node: int
    group: int


class MajorityReached(Struct, frozen=True):
    """Channels hear that a quorum queue's leader can commit what they had asked of it."""

    queue: str
    node: int
    group: int


class LogCut(Struct, frozen=True):
    """A member of a quorum queue has cut off entries that its leader does not have, or its disk is lost: that happens
    whether the side on which it did is still there or not."""

    of_all_sides: ClassVar = True
    queue: str


class MembersAbreast(Struct, frozen=True):
    """Members of a quorum queue have learnt all that is committed."""

    queue: str


class LinksSuspected(Struct, frozen=True):
    """Links have been silent for so long that the failure detector takes the nodes at their ends for dead."""

    links: tuple[tuple[int, int], ...]


class RegistrationGivenUp(Struct, frozen=True):
    """The time is over that a channel waits to be known to a quorum queue, before it sends the messages of a proposal
    of this `number`."""

    queue: str
    number: int
    group: int


class ProposalGivenUp(Struct, frozen=True):
    """The time is over that a channel waits for a quorum queue's answer."""

    queue: str
    number: int
    group: int


class LeaderSought(Struct, frozen=True):
    """A channel with more messages pending than the soft limit looks for a quorum queue's leader."""

    queue: str
    node: int
    connection: str
    mode: tuple[bool, bool]
    group: int
