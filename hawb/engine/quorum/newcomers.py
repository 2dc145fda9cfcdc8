"""Members that have nothing on their disks, or never had: what `hawb.engine.quorum.ports` has of them for groups."""

from __future__ import annotations

from hawb.engine.quorum.group import Group
from hawb.engine.quorum.post import send
from hawb.engine.turn import Turn
from hawb.raft.member import Member, start
from hawb.raft.messages import PreVote


def ask_who_leads(t: Turn, g: Group, member: Member) -> None:
    """Who has lost its disk cannot be elected, but asks like everybody who starts without a leader. A leader answers
    that it leads: it has nothing else to send to a member that it takes to have everything."""
    for leader in g.leaders():
        send(t, g, member, PreVote(member.id, leader.id, member.term, 0, 0))


def start_anew(t: Turn, g: Group, node: int) -> None:
    """A member begins with nothing, whose disk was lost. If nobody has anything left it begins the group anew
    (`rabbit_quorum_queue:recover`; a real one starts with the record's members in any case). One that the record lacks
    is not started, though others may not have heard of its removal."""
    recorded = next((side.queues[g.name].members for side in t.sides.values() if g.name in side.queues), ())
    others = g.members.values()
    if node in recorded and any(node in other.members for other in others):
        g.members[node] = start(node)
    elif node in recorded and not any(other.members for other in others):
        g.members[node] = start(node, recorded)


PORTS = ("ask_who_leads", "start_anew")
"""The names of what others have to have."""
