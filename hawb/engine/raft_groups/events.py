"""Events of a Raft group on the agenda: messages and writes under way, timers, and their consequences.

They are plain values without behaviour; `hawb.engine.advance` lists the handler of each. `group` is the group's number,
for an event may outlive its group.
"""

from __future__ import annotations

from typing import ClassVar

from msgspec import Struct

from hawb.raft.messages import AnyMessage, Written


class RaftArrives(Struct, frozen=True):
    """A message between members of a quorum queue's group reaches the one at `node`."""

    queue: str
    node: int
    group: int
    message: AnyMessage


class RaftWritten(Struct, frozen=True):
    """A write to a member's disk is complete.

    `boot` is the node's boot count, which distinguishes the write from one before the node was started again.
    """

    queue: str
    node: int
    group: int
    boot: int
    written: Written


class RemovalWritten(Struct, frozen=True):
    """The disk of the leader at `node` has the removal of the member at `removed`, which is then deleted."""

    queue: str
    node: int
    group: int
    removed: int


class MemberAwaited(Struct, frozen=True):
    """The command that added a member, at `index` of the log of the leader at `node`, times out."""

    queue: str
    node: int
    group: int
    index: int


class ElectionDue(Struct, frozen=True):
    """A member without a leader asks for votes."""

    queue: str
    node: int
    group: int


class HandoverDue(Struct, frozen=True):
    """The time is over in which the target of a leadership transfer could have been elected."""

    queue: str
    node: int
    group: int


class LeaderElected(Struct, frozen=True):
    """Channels learn of a quorum queue's new leader, and send it the undecided proposals again."""

    queue: str
    node: int
    group: int


class MajorityReached(Struct, frozen=True):
    """Channels learn that a quorum queue's leader can commit their proposals."""

    queue: str
    node: int
    group: int


class LogCut(Struct, frozen=True):
    """A member of a quorum queue has truncated entries that its leader does not have, or its disk is lost.

    The event happens whether the side on which it was scheduled is still there or not.
    """

    of_all_sides: ClassVar = True
    queue: str


class MembersAbreast(Struct, frozen=True):
    """Members of a quorum queue have learnt all that is committed."""

    queue: str


class LinksSuspected(Struct, frozen=True):
    """Links have been silent for so long that the failure detector takes the nodes at their ends for down."""

    links: tuple[tuple[int, int], ...]


class RegistrationGivenUp(Struct, frozen=True):
    """A channel gives up its registration with a quorum queue, for which the messages of proposal `number` wait."""

    queue: str
    number: int
    group: int


class ProposalGivenUp(Struct, frozen=True):
    """A channel gives up waiting for a quorum queue's answer."""

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
