"""Links that break, and sides of a cluster: `hawb.engine.network` with the kernel's ports."""

from __future__ import annotations

from hawb.engine.network import links, ports, sides
from hawb.study.compiled import Binding
from hawb.study.kernel import network_ports
from hawb.study.kernel.boot_order import ORDER
from hawb.study.kernel.replicas import REPLICAS

NETWORK = Binding(ports.PORTS, network_ports, ORDER, REPLICAS)

cut, heal, time_out = NETWORK.of(links.cut), NETWORK.of(links.heal), NETWORK.of(links.time_out)
find_records, drop_unheld = NETWORK.of(sides.find_records), NETWORK.of(sides.drop_unheld)
