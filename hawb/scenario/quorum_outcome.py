"""The fields of an outcome that only quorum queues have.

Beyond the contract: `uncommitted` are the `ids` that no majority has yet, which neither `messages` nor `messages_ready`
counts; `tolerated_failures` is how many members may fail, `log_entries` how many entries the log of the last leader
has, `disk_bytes` the message bodies on the disks of all members together, `memory_bytes` those in the memory of each.
`term` is 0 once no member is left that has anything on its disk. `atoms` is how many Erlang atoms the names of all
quorum queues declared so far take on each node.
"""

from __future__ import annotations

from collections.abc import Iterable

from hawb.engine.core.naming import split_queue
from hawb.engine.core.runs import EMPTY, as_lists
from hawb.engine.core.settings import Settings
from hawb.engine.core.state import NOWHERE, QUORUM, RUNNING, Queue, Side, State
from hawb.engine.queues.contents import pieces
from hawb.engine.raft_groups.group import Group
from hawb.rules import atoms, quorum_costs
from hawb.rules.quorum import is_critical, majority, tolerated_failures
from hawb.rules.quorum_costs import NO_LIMIT
from hawb.rules.quorum_profiles import QUORUM_PROFILES


def quorum_outcome(state: State, settings: Settings, queue: Queue, side: Side) -> dict:
    """Return the fields of quorum queues alone, as far as a side knows."""
    group = state.groups[queue.name]
    online = [node for node in sorted(queue.members) if is_online(state, side, node) and not group.stopped >> node & 1]
    return {
        "state": "running" if len(online) >= majority(len(queue.members)) else "minority",
        "leader": None if queue.master == NOWHERE else settings.names[queue.master],
        "members": settings.named(sorted(queue.members)),
        "online": settings.named(online),
        "term": max((member.term for member in group.members.values()), default=0),
        "commit_index": group.applied,
        "tolerated_failures": tolerated_failures(len(queue.members)),
        "log_entries": log_entries(group, queue.holder),
        "disk_bytes": disk_bytes(queue),
        "memory_bytes": memory_bytes(settings, queue),
        "uncommitted": as_lists(queue.pending),
        "critical_nodes": settings.named(online) if is_critical(len(online), len(queue.members)) else [],
    }


def member_outcome(state: State, queue: Queue, node: int) -> dict:
    """Return a member's term, and how many of the committed entries its log lacks.

    The term is None for a member that is no longer there.
    """
    group = state.groups[queue.name]
    member = group.members.get(node)
    return {"term": None if member is None else member.term, "behind": group.behind(node)}


def is_online(state: State, side: Side, node: int) -> bool:
    """Return True if a side reports a node as running: it is on that side, or a node of the side reaches it again."""
    if state.nodes[node].status != RUNNING:
        return False
    cuts = {link for link, _ in state.cuts}
    here = [other for other in state.nodes_of(side) if state.nodes[other].status == RUNNING]
    return node in here or any((min(node, other), max(node, other)) not in cuts for other in here)


def log_entries(group: Group, node: int) -> int:
    """Return how many entries the log of a group's member has."""
    log = group.members[node].log if node in group.members else None
    return 0 if log is None else log.last_index - log.snapshot.index


def lots(queue: Queue) -> list[tuple[int, int]]:
    """Return the committed messages as lots of equal size: (count, size in bytes), oldest first."""
    committed = queue.contents[queue.holder] or EMPTY
    return [(last - first + 1, batch.size_bytes) for first, last, batch in pieces(queue.batches, committed)]


def disk_bytes(queue: Queue) -> int:
    """Return the bytes of the queue's messages on the disks of all members together."""
    return sum(quorum_costs.disk_bytes(count, size_bytes, len(queue.members)) for count, size_bytes in lots(queue))


def memory_bytes(settings: Settings, queue: Queue) -> int:
    """Return the bytes of the queue's messages in the memory of each member, as if none had been delivered yet."""
    if not QUORUM_PROFILES[settings.profile.version].keeps_bodies:
        return 0
    limits = queue.quorum_settings
    length = NO_LIMIT if limits.max_in_memory_length is None else limits.max_in_memory_length
    room_bytes = NO_LIMIT if limits.max_in_memory_bytes is None else limits.max_in_memory_bytes
    held_bytes = 0
    for count, size_bytes in lots(queue):
        taken_bytes = quorum_costs.memory_bytes(count, size_bytes, length, room_bytes)
        held_bytes += taken_bytes
        if length != NO_LIMIT and size_bytes:
            length -= taken_bytes // size_bytes
        if room_bytes != NO_LIMIT:
            room_bytes -= taken_bytes
    return held_bytes


def atoms_outcome(events: Iterable[dict]) -> int:
    """Return how many atoms the names of the quorum queues declared so far take on each node."""
    declared = (e["queue"] for e in events if e["event"] == "queue_declared" and e["detail"]["type"] == QUORUM)
    return atoms.atoms_used(split_queue(name) for name in declared)
