"""Inputs that reach members of quorum queues' Raft groups: messages, disk writes, timers, nodes and links.

A node that goes down with its connections is noticed at once. Behind a silent link the failure detector (aten) suspects
a node after SUSPICION_US, whatever net_ticktime is.

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
    MajorityReached,
    RaftArrives,
    RaftWritten,
    RemovalWritten,
)
from hawb.engine.raft_groups.group import STORE, Group
from hawb.engine.raft_groups.leadership import hosts, refresh
from hawb.engine.raft_groups.ports import note_ballot
from hawb.raft.member import FOLLOWER, LEADER, NOWHERE
from hawb.raft.messages import AppendEntries, ConditionTimeout, ForceMemberChange, InstallSnapshot
from hawb.raft.step import HANDLERS

SUSPICION_US = 6_000_000
"""The time until a silent node is suspected: aten checks every 5 s (poll_interval), and Ra waits as long again before
it calls an election, 5 to 11 s in all; ten runs on a 3.10.8 cluster that was not just booted took 5.3 to 10.3 s."""

OfMember = RaftArrives | RaftWritten | ElectionDue | HandoverDue


def at_member(handle: Callable[[Turn, Group, OfMember], None]) -> Callable[[Turn, OfMember], None]:
    """Return a handler that does nothing unless the event's group is still there and its member runs."""

    def handle_event(turn: Turn, event: OfMember) -> None:
        group = turn.groups.get(event.queue)
        if group is not None and group.number == event.group and hosts(turn, group, event.node):
            handle(turn, turn.groups.own(event.queue), event)

    return handle_event


@at_member
def arrive(turn: Turn, group: Group, event: RaftArrives) -> None:
    """Pass a message to a member, unless the link has been cut meanwhile.

    A leader that receives a message of another leader in its term crashes and is started again as a follower
    (`ra_server:handle_leader`, leader_saw_append_entries_rpc_in_current_term). That happens only if a member voted for
    both after it had lost the disk with its first vote.
    """
    member, message = group.members[event.node], event.message
    if not turn.linked(message.source, event.node):
        return
    note_ballot(turn, group, message, turn.now_us, arrived=True)
    leads = isinstance(message, AppendEntries | InstallSnapshot) and message.term == member.term
    if leads and member.role == LEADER:
        crash_member(turn, event.queue, event.node)
    else:
        hosting.message_arrives(turn, group, event.node, message)


@at_member
def written(turn: Turn, group: Group, event: RaftWritten) -> None:
    """Report to a member that a write to its disk is complete, unless its node was started again meanwhile."""
    if turn.nodes[event.node].boots == event.boot:
        hosting.written(turn, group, event.node, event.written)


@at_member
def handover_due(turn: Turn, group: Group, event: HandoverDue) -> None:
    """Let a leader whose handover has failed accept commands again, first those that have waited."""
    if group.members[event.node].transferring_to != NOWHERE:
        ask_leader(turn, event.queue, event.node, ConditionTimeout())
        turn.schedule(0, MajorityReached(event.queue, event.node, event.group))


@at_member
def election_due(turn: Turn, group: Group, event: ElectionDue) -> None:
    """Handle a member's election timer."""
    hosting.election_due(turn, group, event.node)


def ask_leader(turn: Turn, name: str, node: int, asked: object) -> None:
    """Pass an operator's request to a leader, or to a member that is to become one."""
    group = turn.groups.own(name)
    member, out = group.members[node], []
    before = hosting.as_it_is(turn, member)
    HANDLERS[type(asked)](out, member, asked)
    hosting.finish(turn, group, member, out, before)


def stand_alone(turn: Turn, name: str, node: int) -> None:
    """Make a member the only one of its group, which it leads in a later term; the other members' disks are dropped.

    Source: `ra_server_proc:force_shrink_members_to_current_member`.
    """
    group = turn.groups.own(name)
    for other in [other for other in group.members if other != node]:
        hosting.lose_member(turn, group, other)
    group.members[node].role = FOLLOWER  # a leader steps down first
    ask_leader(turn, name, node, ForceMemberChange())


def crash_member(turn: Turn, name: str, node: int) -> None:
    """Crash a member's process, which is started again at once; the other members notice."""
    turn.because = turn.emit("process_crashed", node=node, queue=name, final=False)
    hosting.stop_member(turn, turn.groups.own(name), node)
    hosting.member_up(turn, turn.groups.own(name), node)


# Nodes and links


def node_up(turn: Turn, node: int) -> None:
    """Start the members of a node that is up.

    Leaders reach them again, and members without a leader may have a majority. The node starts no member of a queue
    that its records lack, as those of another side of a partition may (`rabbit_quorum_queue:recover`). Its member of
    the metadata store runs already.
    """
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
    """Update all groups after a node went down, noticed or not."""
    for name in sorted(turn.groups):
        hosting.member_down(turn, turn.groups.own(name))


def node_noticed_down(turn: Turn) -> None:
    """Let members without a leader set their election timers, after a node was noticed as down."""
    for name in sorted(turn.groups):
        elections.call_elections(turn, turn.groups.own(name))


def removal_written(turn: Turn, event: RemovalWritten) -> None:
    """Delete a removed member, if its group is still there."""
    group = turn.groups.get(event.queue)
    if group is not None and group.number == event.group:
        hosting.removal_written(turn, turn.groups.own(event.queue), event.node, event.removed)


def links_silent(turn: Turn, links: Iterable[tuple[int, int]]) -> None:
    """Schedule the suspicion of links, or of nodes at their ends, that have fallen silent."""
    if turn.groups:
        turn.schedule(SUSPICION_US, LinksSuspected(tuple(links)), priority=TIMER)
    for name in sorted(turn.groups):
        refresh(turn, turn.groups.own(name))


def suspect(turn: Turn, event: LinksSuspected) -> None:
    """Let the failure detector suspect the nodes at the ends of these links, as far as the links are still silent."""
    silent = {link for link in event.links if not (turn.linked(*link) and all(map(turn.runs_anywhere, link)))}
    if silent:
        turn.suspected |= silent
        turn.because = turn.emit("nodes_suspected", links=[turn.settings.named(link) for link in sorted(silent)])
        node_noticed_down(turn)


def links_healed(turn: Turn) -> None:
    """Drop all suspicions once all links work again."""
    turn.suspected = frozenset()
    for name in sorted(turn.groups):
        hosting.look_around(turn, turn.groups.own(name))
