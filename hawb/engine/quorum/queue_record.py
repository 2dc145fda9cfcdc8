"""Questions about a quorum queue's record on one side of a partition, and changes of its members."""

from __future__ import annotations

from hawb.engine.cluster import metadata
from hawb.engine.core.naming import described
from hawb.engine.core.state import Queue
from hawb.engine.core.turn import Turn
from hawb.engine.raft_groups.events import ProposalGivenUp, RegistrationGivenUp
from hawb.engine.raft_groups.group import Proposal


def waiting(turn: Turn, event: ProposalGivenUp | RegistrationGivenUp) -> Proposal | None:
    """Return the proposal that an event is about; None if it is decided or its group is gone."""
    group = turn.groups.get(event.queue)
    if group is None or group.number != event.group:
        return None
    return next((one for one in group.waiting if one.number == event.number), None)


def change_members(turn: Turn, queue: Queue, members: tuple[int, ...]) -> None:
    """Give a queue the members in its leader's log."""
    for node in sorted(set(members) ^ set(queue.members)):
        turn.emit("member_added" if node in members else "member_removed", node=node, queue=queue.name)
    gone = set(queue.members) - set(members)
    contents = tuple(None if node in gone and node != queue.holder else had for node, had in enumerate(queue.contents))
    turn.change_queue(queue.name, members=tuple(sorted(members)), contents=contents)


def goes_on_all_sides(turn: Turn, name: str, node: int) -> bool:
    """Return True if deleting a queue at `node` has the same effect on all running nodes; refuse the step otherwise.

    With Khepri a node without a majority deletes it nowhere. A real queue would stay on the sides that do not learn of
    the deletion, with the members there (`rabbit_quorum_queue:delete`, force_delete_queue).
    """
    if turn.setup.khepri and not metadata.is_writable(turn, node):
        return True
    elsewhere = {value.side for node, value in enumerate(turn.nodes) if turn.runs_anywhere(node)} - {turn.focus.number}
    if not any(name in turn.sides[side].queues for side in elsewhere):
        return True
    turn.refuse(
        None,
        f"not simulated: {described(name)} deleted in one partition, while another partition still has it; accepted "
        "when all running nodes are in one partition",
    )
    return False
