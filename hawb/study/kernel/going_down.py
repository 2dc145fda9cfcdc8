"""Nodes stop and go down, and the remaining nodes notice: `hawb.engine.cluster.stopping` with the kernel's ports."""

from __future__ import annotations

from hawb.engine.cluster import stopping
from hawb.engine.cluster import stopping_ports as departure_of_turns
from hawb.study.compiled import Binding, inner
from hawb.study.kernel import departure
from hawb.study.kernel.node_rules import NODES, boot_again, look_again
from hawb.study.kernel.state import DOWN, look_from_outside

GOING = Binding(departure_of_turns.PORTS, departure, NODES)

drain = GOING.of(stopping.drain)
stop, kill, power_off = map(GOING.of, (stopping.stop, stopping.kill, stopping.power_off))
shut_down, stopped = map(GOING.of, (stopping.shut_down, stopping.stopped))
node_gone, on_nodes_down, notice_pending_down = map(
    GOING.of, (stopping.node_gone, stopping.on_nodes_down, stopping.notice_pending_down)
)  # fmt: skip


@inner
def start_nodes(t, nodes):
    """Boot nodes, given as bits."""
    look_from_outside(t)
    for node in range(t.setup.nodes):
        if nodes >> node & 1 and t.nodes[node].status == DOWN:
            boot_again(t, node)
    look_again(t)
