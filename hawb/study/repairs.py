"""Manual repairs while the engine plays a trial.

* A node whose disk was lost comes back as a new one: the running nodes forget it (`rabbitmqctl forget_cluster_node`),
  it joins them (`join_cluster`), and a quorum queue that had a member there gets one again (`rabbitmq-queues
  add_member`). A cluster of one node begins anew (`reset`).
* Where no node runs, since all wait for one without its disk, the first node that still has its disk is made to boot
  (`force_boot`), once no failure or planned work keeps down any node with a disk. A cluster without any disk stays
  down.
* Partitions that remain after all links work again are merged by hand unless partition handling does it: the nodes in
  other partitions than the first running node's are stopped, and started again (guide "Clustering and Network
  Partitions", #recovering).
* A queue that is gone, such as one without mirrors whose node is gone, is declared again by its clients.
"""

from __future__ import annotations

from typing import Protocol

from hawb.engine.core.state import NOWHERE, QUORUM, RUNNING, Node
from hawb.engine.core.turn import Turn
from hawb.scenario.verbs import AddMember, Declare, ForceBoot, ForgetClusterNode, Join, Reset, Stop
from hawb.study.design import QUEUE, Design
from hawb.study.work import Operated


class Mended(Operated, Protocol):
    """A cluster that is repaired while it is played."""

    def idle(self) -> list[int]:
        """Return the nodes that are down while no failure or planned work keeps them down."""

    def kept_down(self) -> set[int]:
        """Return the nodes that a failure or planned work keeps down."""


class Repairs:
    """The repairs that are still to be made."""

    def __init__(self, design: Design):
        self._arguments = design.queue().arguments | {"x-queue-type": design.queue_type}
        self._without_member: set[int] = set()

    def left(self, turn: Turn) -> bool:
        """Return True if a repair is left, other than nodes without their disks that are down."""
        return bool(self._without_member or self._parted(turn) or (self._is_gone(turn)))

    def do_next(self, played: Mended) -> None:
        """Make the next repair that is possible now."""
        turn = played.turn
        for node in played.idle():
            if turn.nodes[node].virgin:
                self._replace(played, node)
        self._let_one_boot(played)
        if parted := self._parted(turn):
            played.do(Stop(played.names(parted)))
        if self._is_gone(turn):
            played.do(Declare(QUEUE, arguments=self._arguments))
        self._add_members(played)

    def _replace(self, played: Mended, node: int) -> None:
        """Make the running nodes forget a node without its disk, and the node join as a new one."""
        turn, (name,) = played.turn, played.names([node])
        if len(turn.nodes) == 1:
            played.do(Reset(name))
        elif turn.first_running() >= 0:
            if queue := self._quorum_queue(turn):
                self._without_member |= {node} & set(queue.members)
            if turn.nodes[node].member:
                played.do(ForgetClusterNode(name))
            if not turn.nodes[node].member:
                played.do(Join(name))

    def _let_one_boot(self, played: Mended) -> None:
        nodes = played.turn.nodes
        whole = {node for node, value in enumerate(nodes) if not value.virgin}
        stuck = any(map(_is_missed, nodes)) and not any(value.status == RUNNING for value in nodes)
        able = [node for node in played.idle() if node in whole]
        if stuck and able and not whole & played.kept_down():
            played.do(ForceBoot(*played.names(able[:1])))

    def _add_members(self, played: Mended) -> None:
        turn = played.turn
        queue = self._quorum_queue(turn)
        for node in sorted(self._without_member):
            if turn.runs_anywhere(node) and queue is not None:
                if node in queue.members:
                    self._without_member.remove(node)
                elif queue.up:
                    played.do(AddMember(QUEUE, *played.names([node])))

    def _parted(self, turn: Turn) -> list[int]:
        """Return the running nodes that a person restarts to leave one partition."""
        if len(turn.sides) == 1 or turn.cuts or turn.settings.partition_handling.heals:
            return []
        shown = turn.nodes[turn.first_running()].side
        return [node for node, value in enumerate(turn.nodes) if value.status == RUNNING and value.side != shown]

    def _is_gone(self, turn: Turn) -> bool:
        """Return True if a node runs, and the first running one has no record of the queue."""
        if all(side.queues for side in turn.sides.values()):
            return False
        first = turn.first_running()
        return first != NOWHERE and not turn.sides[turn.nodes[first].side].queues

    def _quorum_queue(self, turn: Turn):
        turn.look_from_outside()
        return next((queue for queue in turn.queues.values() if queue.type == QUORUM), None)


def _is_missed(node: Node) -> bool:
    """Return True if other nodes still count a node without its disk as a member."""
    return node.virgin and node.member
