"""What a quorum queue's record says of its Raft group: who leads it, whether that can commit, and who holds what.

The group is one, whatever sides the cluster falls into; each side has its own idea of the leader. There is one queue,
taken as far as anything is committed: by Raft's state-machine safety it is the same at every member that has come so
far, and what a member holds that has not is what the queue held when it last had.

Source: `rabbit_quorum_queue` (`become_leader`, `is_minority`, `i`).
"""

from __future__ import annotations

from hawb.engine import bookkeeping, fifo
from hawb.engine.naming import described
from hawb.engine.quorum_group import Group, Proposal
from hawb.engine.quorum_losses import end_with_log
from hawb.engine.raft_events import MajorityReached, ProposalGivenUp, RegistrationGivenUp
from hawb.engine.state import NOWHERE
from hawb.engine.turn import Turn
from hawb.raft.member import Member
from hawb.rules.quorum import majority


def hosts(turn: Turn, group: Group, node: int) -> bool:
    """Whether a group's member on a node runs."""
    return node in group.members and turn.runs_anywhere(node) and node not in group.stopped


def reaches(turn: Turn, group: Group, node: int, other: int) -> bool:
    """Whether what a member sends gets to another that runs."""
    return hosts(turn, group, other) and turn.linked(node, other)


def leader_seen(turn: Turn, group: Group) -> Member | None:
    """The latest leader that runs and that a running node of the side in focus reaches."""
    here = turn.running()
    for leader in group.leaders():
        if hosts(turn, group, leader.id) and any(node == leader.id or turn.linked(node, leader.id) for node in here):
            return leader
    return None


def can_commit(turn: Turn, group: Group, leader: Member) -> bool:
    """Whether a leader reaches a majority."""
    near = [node for node in leader.members if node == leader.id or reaches(turn, group, leader.id, node)]
    return len(near) >= majority(len(leader.members))


def refresh(turn: Turn, name: str) -> None:
    """Each side's record says who leads and whether it can commit."""
    group = turn.groups[name]
    for _side in turn.each_side():
        if name not in turn.queues:
            continue
        queue, leader = turn.queues[name], leader_seen(turn, group)
        master = NOWHERE if leader is None else leader.id
        up = leader is not None and can_commit(turn, group, leader)
        was_up = queue.up
        if (queue.master, was_up) != (master, up):
            turn.change_queue(name, master=master, up=up)
            seen_by = turn.settings.named(turn.running())
            if was_up != up and seen_by:
                told = {"seen_by": seen_by} if len(turn.sides) > 1 else {}
                turn.emit("queue_available" if up else "queue_unavailable", node=master, queue=name, **told)
            if up and group.waiting:
                turn.schedule(turn.settings.timing.link_latency_us, MajorityReached(name, master, group.number))
    bookkeeping.count_times(turn, name)


def crown(turn: Turn, name: str, node: int) -> None:
    """A member has been elected. It has all that was ever committed in its log (Raft's leader completeness), but for
    what was on disks that are lost. The first election, which is part of the declaration, does not count."""
    member = turn.groups[name].members[node]
    focus = turn.focus
    turn.look_from(node)
    turn.because = turn.emit("leader_elected", node=node, queue=name, term=member.term)
    if turn.groups[name].applied:
        turn.book(name, elections=turn.account(name).elections + 1)
    end_with_log(turn, name, member)
    if name in turn.queues:
        queue = turn.queues[name]
        content = queue.contents[queue.holder]
        contents = tuple(
            content if at == node else had if at in member.members else None for at, had in enumerate(queue.contents)
        )
        turn.change_queue(name, contents=contents, holder=node)
    turn.focus = focus


def level(turn: Turn, name: str) -> bool:
    """Members that have caught up hold what the queue does. Whether there are any new ones, and messages that the last
    leader could not deliver."""
    group, focus = turn.groups[name], turn.focus
    side = next((side for side in turn.sides.values() if name in side.queues), None)
    if side is None:
        return False
    turn.focus = side
    queue = turn.queues[name]
    had_all = set(queue.synchronised)
    abreast = tuple(
        node
        for node, member in sorted(group.members.items())
        if hosts(turn, group, node) and node in queue.members and member.commit_index >= group.applied
    )
    if abreast != queue.synchronised:
        content = queue.contents[queue.holder]
        contents = tuple(content if node in abreast else had for node, had in enumerate(queue.contents))
        turn.change_queue(name, synchronised=abreast, contents=contents)
    turn.focus = focus
    return bool(fifo.of(queue).missing) and not set(abreast) <= had_all


def waiting(turn: Turn, event: ProposalGivenUp | RegistrationGivenUp) -> Proposal | None:
    """The proposal that an event is about; None if it is decided or its group gone."""
    group = turn.groups.get(event.queue)
    if group is None or group.number != event.group:
        return None
    return next((one for one in group.waiting if one.number == event.number), None)


def change_members(turn: Turn, name: str, members: tuple[int, ...]) -> None:
    """A leader's log has other members, who count from now on."""
    queue = turn.queues.get(name)
    if queue is None or set(members) == set(queue.members):
        return
    for node in sorted(set(members) ^ set(queue.members)):
        turn.emit("member_added" if node in members else "member_removed", node=node, queue=name)
    gone = set(queue.members) - set(members)
    contents = tuple(None if node in gone and node != queue.holder else had for node, had in enumerate(queue.contents))
    turn.change_queue(name, members=tuple(sorted(members)), contents=contents)


def goes_on_all_sides(turn: Turn, name: str) -> bool:
    """Whether a queue that a client deletes is gone for everybody who runs; if not, the step was refused. A real one
    would stay on the sides that do not hear of it, with what is left of its members (`rabbit_quorum_queue:delete`,
    force_delete_queue)."""
    elsewhere = {value.side for node, value in enumerate(turn.nodes) if turn.runs_anywhere(node)} - {turn.focus.number}
    if not any(name in turn.sides[side].queues for side in elsewhere):
        return True
    turn.refuse(
        None,
        f"not simulated: {described(name)} deleted on one side of a partition, while another side knows it; accepted "
        "when all nodes that run are on one side",
    )
    return False
