"""Decide when an entry of a menu applies: RabbitMQ would accept it now, in this release, and it would change something.

The rules themselves are the engine's; `tests/lab/test_menus.py` compares the two.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from hawb.engine.classic.record_ports import is_replicated
from hawb.engine.cluster.node_commands import DOING_SOMETHING
from hawb.engine.core.state import CLASSIC, DOWN, NOWHERE, PAUSED, QUORUM, RUNNING, STREAM, WAITING, Node, Queue, State
from hawb.engine.raft_groups.group import STORE
from hawb.rules.profiles import Profile
from hawb.rules.quorum_profiles import QUORUM_PROFILES
from hawb.rules.streams import STREAM_PROFILES

GONE = "gone"
"""The type of a queue that was deleted."""


class AtNode(NamedTuple):
    """A node, by its index, in a state of the cluster under a release's rules."""

    state: State
    profile: Profile
    index: int

    @property
    def node(self) -> Node:
        """Return the node's state."""
        return self.state.nodes[self.index]

    @property
    def has_khepri(self) -> bool:
        """Return True if the cluster keeps its metadata in Khepri."""
        return STORE in self.state.groups

    @property
    def others_run(self) -> bool:
        """Return True if another node runs."""
        return any(other != self.index for other in self.state.running())

    @property
    def reaches_others(self) -> bool:
        """Return True if another node runs and the link to it works."""
        return any(other != self.index and self.is_linked(other) for other in self.state.running())

    @property
    def metadata_is_writable(self) -> bool:
        """Return True with Mnesia, or if Khepri has a leader with a majority."""
        return not self.has_khepri or any(side.store.up for side in self.state.sides)

    def is_linked(self, other: int) -> bool:
        """Return True if the link between this node and another works."""
        return all({self.index, other} != {*link} for link, _number in self.state.cuts)

    @property
    def knows_cluster(self) -> bool:
        """Return True if the node is a member and has its disk."""
        return self.node.member and not self.node.virgin

    def groups(self) -> Iterator[Queue]:
        """Yield the quorum queues and streams in the metadata of the first running node, which commands are sent to."""
        yield from (queue for queue in self.state.queues.values() if queue.has_group)

    def resizable(self) -> Iterator[Queue]:
        """Yield the queues that `grow` and `shrink` change."""
        yield from (queue for queue in self.groups() if queue.type == QUORUM or self._grows_streams)

    @property
    def _grows_streams(self) -> bool:
        found = STREAM_PROFILES.get(self.profile.version)
        return found is not None and found.grows


# Nodes


def can_stop(at: AtNode) -> bool:
    """Return True if the node's broker can be shut down."""
    return at.node.status in (RUNNING, PAUSED)


def can_end(at: AtNode) -> bool:
    """Return True if the node has a process to kill."""
    return at.node.status in DOING_SOMETHING


def can_start(at: AtNode) -> bool:
    """Return True if the node is down, is a member and has its disk."""
    return at.node.status == DOWN and at.knows_cluster


def can_be_cut_off(at: AtNode) -> bool:
    """Return True if the node runs and at least one of its links works."""
    cut = sum(at.index in link for link, _number in at.state.cuts)
    return at.node.status == RUNNING and cut < len(at.state.nodes) - 1


def takes_clients(at: AtNode) -> bool:
    """Return True if the node runs and is not in maintenance mode."""
    return at.node.status == RUNNING and not at.node.drained


def is_drained(at: AtNode) -> bool:
    """Return True if the node runs in maintenance mode."""
    return at.node.status == RUNNING and at.node.drained


def has_memory(at: AtNode) -> bool:
    """Return True if the node runs without a memory alarm."""
    return at.node.status == RUNNING and not lacks_memory(at)


def lacks_memory(at: AtNode) -> bool:
    """Return True if the node runs with a memory alarm."""
    return at.node.status == RUNNING and (at.index, "memory") in at.state.alarms


def has_disk(at: AtNode) -> bool:
    """Return True if the node runs without a disk alarm."""
    return at.node.status == RUNNING and not lacks_disk(at)


def lacks_disk(at: AtNode) -> bool:
    """Return True if the node runs with a disk alarm."""
    return at.node.status == RUNNING and (at.index, "disk") in at.state.alarms


def can_grow(at: AtNode) -> bool:
    """Return True if the node runs, lacks a member of a queue that has a majority, and reaches its leader."""
    lacking = (queue for queue in at.resizable() if at.index not in queue.members)
    return at.node.status == RUNNING and any(queue.up and at.is_linked(queue.master) for queue in lacking)


def can_shrink(at: AtNode) -> bool:
    """Return True if a queue that has a majority has a member on this node and on another."""
    there = (queue for queue in at.resizable() if at.index in queue.members and len(queue.members) > 1)
    return any(queue.up for queue in there)


def can_shrink_by_force(at: AtNode) -> bool:
    """Return True if the node runs and a quorum queue with a member there has no majority.

    The release must have `force_shrink`, and the queue more than one member.
    """
    has_it = QUORUM_PROFILES[at.profile.version].shrinks_by_force
    stuck = (queue for queue in at.groups() if queue.type == QUORUM and at.index in queue.members and not queue.up)
    return has_it and at.node.status == RUNNING and any(len(queue.members) > 1 for queue in stuck)


def can_join(at: AtNode) -> bool:
    """Return True if the node is down and can join a running node.

    Without Khepri the node must have been reset. With Khepri it may be a member that has lost its disk or was
    forgotten; the cluster then forgets it first.
    """
    fit = not at.knows_cluster if at.has_khepri else not at.node.member and at.node.virgin
    return at.node.status == DOWN and fit and at.reaches_others and at.metadata_is_writable


def can_be_forgotten(at: AtNode) -> bool:
    """Return True if the node is a member that is down, another node runs, and the metadata can be written."""
    return at.node.status == DOWN and at.node.member and at.others_run and at.metadata_is_writable


def can_reset(at: AtNode) -> bool:
    """Return True if the node is down, has its disk, and can leave its cluster or has none to leave."""
    leaves = at.node.member and sum(node.member for node in at.state.nodes) > 1
    can_report = at.reaches_others and at.metadata_is_writable
    return at.node.status == DOWN and not at.node.virgin and (can_report or not leaves)


def can_reset_by_force(at: AtNode) -> bool:
    """Return True if the node is down and has its disk. Khepri refuses `force_reset`."""
    return at.node.status == DOWN and not at.node.virgin and not at.has_khepri


def must_be_forced_to_boot(at: AtNode) -> bool:
    """Return True if the node would wait at boot for nodes, none of which runs. Khepri ignores `force_boot`."""
    awaits = at.node.believes and not at.others_run
    return at.node.status == DOWN and at.knows_cluster and bool(awaits) and not at.has_khepri


def can_stand_alone(at: AtNode) -> bool:
    """Return True if the cluster has Khepri, the node runs or waits at boot, and all other members are down."""
    others = [node for index, node in enumerate(at.state.nodes) if index != at.index]
    up = at.node.status in (RUNNING, WAITING) and not at.node.virgin
    return at.has_khepri and up and any(node.member for node in others) and all(
        node.status == DOWN for node in others
    )  # fmt: skip


def has_disk_to_lose(at: AtNode) -> bool:
    """Return True if the node's disk has data."""
    return not at.node.virgin


# Queues


class AtQueue(NamedTuple):
    """A queue in a state of the cluster under a release's rules; `queue` is None if it was deleted."""

    state: State
    profile: Profile
    queue: Queue | None

    @property
    def type(self) -> str:
        """Return the queue's type, or GONE."""
        return GONE if self.queue is None else self.queue.type

    @property
    def has_clients(self) -> bool:
        """Return True if a running node accepts clients."""
        return any(node.status == RUNNING and not node.drained for node in self.state.nodes)

    @property
    def is_disputed(self) -> bool:
        """Return True if running nodes are in different partitions."""
        return len({self.state.nodes[node].side for node in self.state.running()}) > 1


def is_there(at: AtQueue) -> bool:
    """Return True unless the queue was deleted."""
    return at.queue is not None


def takes_publishes(at: AtQueue) -> bool:
    """Return True if the queue is there and a client can connect to a node."""
    return at.queue is not None and at.has_clients


def takes_consumers(at: AtQueue) -> bool:
    """Return True for a classic or a quorum queue if a client can connect to a node."""
    return at.type in (CLASSIC, QUORUM) and at.has_clients


def can_be_declared(at: AtQueue) -> bool:
    """Return True if the queue was deleted and a client can connect to a node."""
    return at.queue is None and at.has_clients


def can_be_deleted(at: AtQueue) -> bool:
    """Return True if a client can delete the queue.

    In a partition that is not so for queues with a Raft group: hawb has no rules for what happens to their members.
    """
    return takes_publishes(at) and not (at.queue.has_group and at.is_disputed)


def can_be_synchronised(at: AtQueue) -> bool:
    """Return True if a running mirror is not synchronised and no synchronisation is under way."""
    queue = at.queue
    if at.type != CLASSIC or not queue.up or queue.syncing or not is_replicated(queue):
        return False
    running = [node for node in queue.mirrors if at.state.nodes[node].status == RUNNING]
    return any(node not in queue.synchronised for node in running)


def is_synchronising(at: AtQueue) -> bool:
    """Return True if a synchronisation is under way."""
    return at.type == CLASSIC and at.queue.syncing


def can_move(at: AtQueue) -> bool:
    """Return True if the queue's master or leader runs and its release can move it to another replica."""
    queue = at.queue
    if at.type == GONE or not queue.up:
        return False
    if at.type == CLASSIC:
        return is_replicated(queue)
    moves = at.type == QUORUM or STREAM_PROFILES[at.profile.version].moves_leaders
    return moves and len(queue.members) > 1


def can_gain_member(at: AtQueue) -> bool:
    """Return True if the queue has a leader and a running node has no member of it."""
    return _is_led(at) and any(node not in at.queue.members for node in at.state.running())


def can_lose_member(at: AtQueue) -> bool:
    """Return True if the queue has a leader and more than one member."""
    return _is_led(at) and len(at.queue.members) > 1


def _is_led(at: AtQueue) -> bool:
    return at.type in (QUORUM, STREAM) and at.queue.master != NOWHERE


def has_process(at: AtQueue) -> bool:
    """Return True if the process of a classic queue's master or a quorum queue's leader runs."""
    return at.type in (CLASSIC, QUORUM) and at.queue.up


# The cluster


def has_cut_links(state: State) -> bool:
    """Return True if any link is cut."""
    return bool(state.cuts)
