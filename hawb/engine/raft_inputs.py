"""What reaches members of quorum queues' Raft groups: messages, what disks have done, timers, and nodes and links that
come and go.

Who dies with its connections is missed at once. Behind a link that falls silent the failure detector (aten) suspects a
node after SUSPICION_US, whatever net_ticktime is.

Source: `ra_server_proc`, `aten`, `rabbit_quorum_queue`.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from hawb.engine import quorum_view
from hawb.engine.quorum_view import hosts
from hawb.engine.raft_events import (
    ElectionDue,
    HandoverDue,
    LinksSuspected,
    LogCut,
    MajorityReached,
    RaftArrives,
    RaftWritten,
)
from hawb.engine.raft_host import call_elections, feed, misses_leader
from hawb.engine.turn import TIMER, Turn
from hawb.raft.member import LEADER, NOWHERE, start
from hawb.raft.messages import AppendEntries, ConditionTimeout, ElectionTimeout, InstallSnapshot, Tick
from hawb.raft.step import restart

SUSPICION_US = 6_000_000
"""How long a silent node goes unsuspected: aten looks every 5 s (poll_interval), and Ra waits as long again before it
calls an election, 5 to 11 s in all; ten times on a 3.10.8 cluster that was not just booted it took 5.3 to 10.3 s."""


def _current(turn: Turn, event: RaftArrives | RaftWritten | ElectionDue | HandoverDue) -> bool:
    """Whether the group is still there, and the event's member one that runs."""
    group = turn.groups.get(event.queue)
    known = group is not None and group.number == event.group and event.node in group.members
    return known and hosts(turn, group, event.node)


def arrive(turn: Turn, event: RaftArrives) -> None:
    """A message reaches a member, unless the link has been cut meanwhile. A leader that hears of another in its term,
    whom somebody elected who had lost the disk with an earlier vote, exits and is started again as a follower
    (`ra_server:handle_leader`, leader_saw_append_entries_rpc_in_current_term)."""
    if not (_current(turn, event) and turn.linked(event.message.source, event.node)):
        return
    member, message = turn.groups[event.queue].members[event.node], event.message
    leads = isinstance(message, AppendEntries | InstallSnapshot) and message.term == member.term
    if leads and member.role == LEADER:
        turn.because = turn.emit("process_crashed", node=event.node, queue=event.queue, final=False)
        stop_member(turn, event.queue, event.node)
        member_up(turn, event.queue, event.node)
    else:
        feed(turn, event.queue, event.node, message)


def written(turn: Turn, event: RaftWritten) -> None:
    """A member's disk has done what it was asked for."""
    if _current(turn, event) and turn.nodes[event.node].boots == event.boot:
        feed(turn, event.queue, event.node, event.written)


def handover_due(turn: Turn, event: HandoverDue) -> None:
    """A leader that was to hand over and still leads takes commands again, those first that have waited for it."""
    if _current(turn, event) and turn.groups[event.queue].members[event.node].transferring_to != NOWHERE:
        feed(turn, event.queue, event.node, ConditionTimeout())
        turn.schedule(0, MajorityReached(event.queue, event.node, event.group))


def election_due(turn: Turn, event: ElectionDue) -> None:
    """A member's timer is over: it asks for votes if it still misses a leader."""
    if _current(turn, event) and misses_leader(turn, turn.groups[event.queue], event.node):
        feed(turn, event.queue, event.node, ElectionTimeout())


def node_up(turn: Turn, node: int) -> None:
    """A node is up: leaders reach its members again, and who misses a leader may have a majority. It starts none of a
    queue that its records lack, as those of another side of a partition may (`rabbit_quorum_queue:recover`)."""
    turn.suspected = frozenset(link for link in turn.suspected if node not in link)
    known = turn.sides[turn.nodes[node].side].queues
    for name in sorted(turn.groups):
        if name in known:
            member_up(turn, name, node)
        elif node in turn.groups[name].members:
            stop_member(turn, name, node)


def member_up(turn: Turn, name: str, node: int) -> None:
    """A member begins with what is on its disk, and with nothing where that was lost. If nobody has anything left it
    begins the group anew (`rabbit_quorum_queue:recover`; a real one starts with the record's members in any case).
    One that the record lacks is not started, though others may not have heard of its removal."""
    group = turn.groups[name]
    group = replace(group, stopped=group.stopped - {node})
    member, recorded = group.members.get(node), members_on_record(turn, name)
    if member is not None:
        group = group.with_member(restart(member))
    elif node in recorded and any(node in other.members for other in group.members.values()):
        group = group.with_member(start(node))
    elif node in recorded and not any(other.members for other in group.members.values()):
        group = group.with_member(start(node, recorded))
    turn.groups[name] = group
    turn.schedule(0, LogCut(name))
    look_around(turn, name)


def members_on_record(turn: Turn, name: str) -> tuple[int, ...]:
    """The members of a queue as its record has them, on whatever side."""
    return next((side.queues[name].members for side in turn.sides.values() if name in side.queues), ())


def stop_member(turn: Turn, name: str, node: int) -> None:
    """A member's process ends, while its node runs on: the others notice at once."""
    turn.groups[name] = replace(turn.groups[name], stopped=turn.groups[name].stopped | {node})
    quorum_view.refresh(turn, name)
    quorum_view.level(turn, name)
    call_elections(turn, name)


def node_down(turn: Turn) -> None:
    """A node is gone, noticed or not: nothing is committed with it any more."""
    for name in sorted(turn.groups):
        quorum_view.refresh(turn, name)
        quorum_view.level(turn, name)


def node_missed(turn: Turn) -> None:
    """Somebody is known to be gone."""
    for name in sorted(turn.groups):
        call_elections(turn, name)


def links_silent(turn: Turn, links: Iterable[tuple[int, int]]) -> None:
    """Links, or the nodes at their ends, have fallen silent; it takes a while until that is suspected."""
    if turn.groups:
        turn.schedule(SUSPICION_US, LinksSuspected(tuple(links)), priority=TIMER)
    for name in sorted(turn.groups):
        quorum_view.refresh(turn, name)


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
        look_around(turn, name)


def look_around(turn: Turn, name: str) -> None:
    """Something is back: leaders send what was missed, and who misses a leader gets ready."""
    for leader in turn.groups[name].leaders():
        if hosts(turn, turn.groups[name], leader.id):
            feed(turn, name, leader.id, Tick())
    call_elections(turn, name)
    quorum_view.refresh(turn, name)
    quorum_view.level(turn, name)
