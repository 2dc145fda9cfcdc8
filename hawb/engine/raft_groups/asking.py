"""Clients' proposals to a queue, until a leader has them in its log.

A proposal waits, and its channel sends it again to each new leader that it learns of, which takes only what its log
lacks. (A real leader takes all of it, and `rabbit_fifo:apply_enqueue` skips a sequence number that it has seen: the
message is enqueued once either way.)

Source: `rabbit_fifo_client` (`handle_ra_event`, `resend_all_pending`), `ra`.
"""

from __future__ import annotations

from collections.abc import Callable

from hawb.engine.cluster.node_ports import focus_on, focused, linked, look_from
from hawb.engine.core.turn import Turn
from hawb.engine.raft_groups.enqueuers import (
    ALL,
    PROPOSAL_GIVEN_UP,
    channel_of,
    is_chosen,
    is_in_log,
    refuse_orphan,
    reject_first,
    rejects,
    set_aside,
    take_up,
    withdraw,
)
from hawb.engine.raft_groups.group import GONE, Group, Proposal
from hawb.engine.raft_groups.hosting import command
from hawb.engine.raft_groups.ports import is_member, is_to_be_done, member_of, record, unplan, waiting_of
from hawb.engine.raft_groups.registration import await_registration, is_registered, register
from hawb.raft.member import NOWHERE

SHARED = True  # the kernel of studies compiles this module


def ask(t: Turn, g: Group, p: Proposal) -> None:
    """Add the proposal of a channel, or of the leader itself (NOWHERE)."""
    channel = channel_of(t, p)
    if not is_registered(t, g, channel):
        await_registration(t, g, channel)
    offer(t, g, p)


def offer(t: Turn, g: Group, p: Proposal) -> None:
    """Send a proposal to the leader that its channel knows of, if the channel's node reaches that leader.

    If that node does not lead, or has left the group, the proposal waits for the next leader.
    """
    leader, channel = record(t, g).master, channel_of(t, p)
    if leader == NOWHERE or not is_member(t, g, leader) or not (p.node == NOWHERE or linked(t, p.node, leader)):
        return
    if record(t, g).up:
        register(t, g, channel)
    if rejects(t, g, channel):
        reject_first(t, g, p, ALL)
    elif is_registered(t, g, channel):
        take_up(t, g, p)
        command(t, g, leader, p)


def offer_again(t: Turn, g: Group, leader: int, by: Callable[[Proposal], bool]) -> None:
    """Send a new leader the chosen proposals that wait and are not in its log.

    A channel that does not reach this leader knows of another one. It has sent its proposals there, and sends none
    here.
    """
    for p in waiting_of(t, g):
        if p.node != GONE and is_chosen(p, by) and not is_taken(t, g, leader, p.number):
            look_from(t, leader if p.node == NOWHERE else p.node)
            if record(t, g).master == leader:
                offer(t, g, p)


def is_taken(t: Turn, g: Group, leader: int, number: int) -> bool:
    """Return True if a leader has a waiting proposal in its log, committed or not."""
    return is_in_log(t, g, leader, number, member_of(t, g, leader).commit_index) or is_to_be_done(t, g, number)


def has_under_way(t: Turn, g: Group, by: Callable[[Proposal], bool]) -> bool:
    """Return True if a chosen proposal is not applied yet: later proposals of its channel have to wait for it."""
    for p in waiting_of(t, g):
        if p.node != GONE and is_chosen(p, by):
            return True
    return False


def is_in_sight(t: Turn, g: Group, p: Proposal) -> bool:
    """Return True if a waiting proposal reaches a leader on the current side.

    The leader's own proposals do, and those of channels on its side. A channel that waits for its registration may be
    on another side: the members that it has asked pass the proposal on.
    """
    here = p.node == NOWHERE or (p.node != GONE and t.nodes[p.node].side == focused(t))
    return here or not is_registered(t, g, channel_of(t, p))


def drop_orphans(t: Turn, g: Group) -> None:
    """Withdraw proposals that are in no member's log and whose channel is gone."""
    k = 0
    while k < len(waiting_of(t, g)):
        p = waiting_of(t, g)[k]
        if p.node == GONE and not is_in_any_log(t, g, p.number):
            unplan(t, g, PROPOSAL_GIVEN_UP, p.number)
            refuse_orphan(t, g, p)
            withdraw(t, g, p.number)
        else:
            k += 1


def set_unsent_aside(t: Turn, g: Group) -> None:
    """Count messages as refused that are in no log any more although their channels reach a leader with a majority.

    Such a channel sends them again only when it next publishes to the queue, or learns of another leader. A new leader
    informs the channels that it is connected to, once (`rabbit_fifo:state_enter`). A channel on the other side of a
    partition is not informed, not even when the links work again. Its next message goes to the former leader, which
    rejects it; then the channel sends all pending messages again (`rabbit_fifo_client:handle_ra_event`). In 4.3 the
    leader also informs the channels of a node that is connected again (`rabbit_fifo`, nodeup).
    """
    focus = focused(t)
    for p in waiting_of(t, g):
        has_channel = p.node != NOWHERE and p.node != GONE and is_registered(t, g, channel_of(t, p))
        if has_channel and not is_in_any_log(t, g, p.number) and not is_to_be_done(t, g, p.number):
            look_from(t, p.node)
            if record(t, g).up and linked(t, p.node, record(t, g).master):
                set_aside(t, g, p)
    focus_on(t, focus)


def end_waiting(t: Turn, g: Group, number: int) -> bool:
    """Remove a committed proposal from those that wait; return True if its channel still waits for the result."""
    waits = False
    for p in waiting_of(t, g):
        if p.number == number:
            waits = p.node != GONE
    withdraw(t, g, number)
    unplan(t, g, PROPOSAL_GIVEN_UP, number)
    return waits


def is_in_any_log(t: Turn, g: Group, number: int) -> bool:
    """Return True if a proposal is in any member's log and not applied."""
    for node in range(t.setup.nodes):
        if is_member(t, g, node) and is_in_log(t, g, node, number, g.applied):
            return True
    return False
