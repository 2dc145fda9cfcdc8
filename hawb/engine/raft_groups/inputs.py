"""What reaches members of quorum queues' Raft groups: messages, what disks have done, timers, and nodes and links that
come and go.

Who dies with its connections is missed at once. Behind a link that falls silent the failure detector (aten) suspects a
node after SUSPICION_US, whatever net_ticktime is.

Source: `ra_server_proc`, `aten`, `rabbit_quorum_queue`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from hawb.engine.core.turn import TIMER, Turn
from hawb.engine.raft_groups import elections, hosting
from hawb.engine.raft_groups.events import (
    ElectionDue,
    HandoverDue,
    LinksSuspected,
    LogCut,
    MajorityReached,
    RaftArrives,
    RaftWritten,
)
from hawb.engine.raft_groups.group import STORE, Group
from hawb.engine.raft_groups.leadership import hosts, level, refresh
from hawb.raft.member import FOLLOWER, LEADER, NOWHERE
from hawb.raft.messages import AppendEntries, ConditionTimeout, ForceMemberChange, InstallSnapshot
from hawb.raft.step import HANDLERS

SUSPICION_US = 6_000_000
"""How long a silent node goes unsuspected: aten looks every 5 s (poll_interval), and Ra waits as long again before it
calls an election, 5 to 11 s in all; ten times on a 3.10.8 cluster that was not just booted it took 5.3 to 10.3 s."""

OfMember = RaftArrives | RaftWritten | ElectionDue | HandoverDue


def at_member(handle: Callable[[Turn, Group, OfMember], None]) -> Callable[[Turn, OfMember], None]:
    """The handler of an event that is about something if its group is still there, and its member runs."""

    def handle_event(turn: Turn, event: OfMember) -> None:
        group = turn.groups.get(event.queue)
        if group is not None and group.number == event.group and hosts(turn, group, event.node):
            handle(turn, turn.groups.own(event.queue), event)

    return handle_event


@at_member
def arrive(turn: Turn, group: Group, event: RaftArrives) -> None:
    """A message reaches a member, unless the link has been cut meanwhile. A leader that hears of another in its term,
    whom somebody elected who had lost the disk with an earlier vote, exits and is started again as a follower
    (`ra_server:handle_leader`, leader_saw_append_entries_rpc_in_current_term)."""
    member, message = group.members[event.node], event.message
    if not turn.linked(message.source, event.node):
        return
    leads = isinstance(message, AppendEntries | InstallSnapshot) and message.term == member.term
    if leads and member.role == LEADER:
        crash_member(turn, event.queue, event.node)
    else:
        hosting.message_arrives(turn, group, event.node, message)


@at_member
def written(turn: Turn, group: Group, event: RaftWritten) -> None:
    """A member's disk has done what it was asked for."""
    if turn.nodes[event.node].boots == event.boot:
        hosting.written(turn, group, event.node, event.written)


@at_member
def handover_due(turn: Turn, group: Group, event: HandoverDue) -> None:
    """A leader that was to hand over and still leads takes commands again, those first that have waited for it."""
    if group.members[event.node].transferring_to != NOWHERE:
        ask_leader(turn, event.queue, event.node, ConditionTimeout())
        turn.schedule(0, MajorityReached(event.queue, event.node, event.group))


@at_member
def election_due(turn: Turn, group: Group, event: ElectionDue) -> None:
    """A member's timer is over."""
    hosting.election_due(turn, group, event.node)


def ask_leader(turn: Turn, name: str, node: int, asked: object) -> None:
    """An operator asks something of a leader, or of a member that is to be one."""
    group = turn.groups.own(name)
    member, out = group.members[node], []
    before = hosting.as_it_is(turn, member)
    HANDLERS[type(asked)](out, member, asked)
    hosting.finish(turn, group, member, out, before)


def stand_alone(turn: Turn, name: str, node: int) -> None:
    """A member becomes all of its group, and leads it in a later term; what the others had on disk is of no use any
    more (`ra_server_proc:force_shrink_members_to_current_member`)."""
    group = turn.groups.own(name)
    for other in [other for other in group.members if other != node]:
        lose_disk(turn, name, other)
    group.members[node].role = FOLLOWER  # who led steps down first
    ask_leader(turn, name, node, ForceMemberChange())


def crash_member(turn: Turn, name: str, node: int) -> None:
    """A member's process dies and is started again at once; the others notice."""
    turn.because = turn.emit("process_crashed", node=node, queue=name, final=False)
    hosting.stop_member(turn, turn.groups.own(name), node)
    hosting.member_up(turn, turn.groups.own(name), node)


# Nodes and links


def node_up(turn: Turn, node: int) -> None:
    """A node is up: leaders reach its members again, and who misses a leader may have a majority. It starts none of a
    queue that its records lack, as those of another side of a partition may (`rabbit_quorum_queue:recover`). Its member
    of the metadata store runs already."""
    turn.suspected = frozenset(link for link in turn.suspected if node not in link)
    known = turn.sides[turn.nodes[node].side].queues
    for name in sorted(turn.groups):
        if name == STORE:
            hosting.look_around(turn, turn.groups.own(name))
        elif name in known:
            hosting.member_up(turn, turn.groups.own(name), node)
        elif node in turn.groups[name].members:
            hosting.stop_member(turn, turn.groups.own(name), node)


def node_down(turn: Turn) -> None:
    """A node is gone, noticed or not."""
    for name in sorted(turn.groups):
        hosting.member_down(turn, turn.groups.own(name))


def node_missed(turn: Turn) -> None:
    """Somebody is known to be gone."""
    for name in sorted(turn.groups):
        elections.call_elections(turn, turn.groups.own(name))


def lose_disk(turn: Turn, name: str, node: int) -> None:
    """What a member had on its node's disk is gone."""
    group = turn.groups.own(name)
    group.members.pop(node, None)
    turn.schedule(0, LogCut(name))
    refresh(turn, group)
    level(turn, group)


def links_silent(turn: Turn, links: Iterable[tuple[int, int]]) -> None:
    """Links, or the nodes at their ends, have fallen silent; it takes a while until that is suspected."""
    if turn.groups:
        turn.schedule(SUSPICION_US, LinksSuspected(tuple(links)), priority=TIMER)
    for name in sorted(turn.groups):
        refresh(turn, turn.groups.own(name))


def suspect(turn: Turn, event: LinksSuspected) -> None:
    """The failure detector has heard nothing over these links for long enough, as far as they are still silent."""
    silent = {link for link in event.links if not (turn.linked(*link) and all(map(turn.runs_anywhere, link)))}
    if silent:
        turn.suspected |= silent
        turn.because = turn.emit("nodes_suspected", links=[turn.settings.named(link) for link in sorted(silent)])
        node_missed(turn)


def links_healed(turn: Turn) -> None:
    """All links work again."""
    turn.suspected = frozenset()
    for name in sorted(turn.groups):
        hosting.look_around(turn, turn.groups.own(name))
