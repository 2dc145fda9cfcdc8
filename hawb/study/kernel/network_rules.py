"""Links that fail, and partitions: `links` and `partitions` of `hawb.engine.cluster` with the kernel's ports."""

from __future__ import annotations

from hawb.engine.cluster import links, partitions
from hawb.engine.cluster import network_ports as network_ports_of_turns
from hawb.study.compiled import Binding
from hawb.study.kernel import network_ports
from hawb.study.kernel.boot_order import ORDER
from hawb.study.kernel.replicas import REPLICAS

NETWORK = Binding(network_ports_of_turns.PORTS, network_ports, ORDER, REPLICAS)

cut, heal, time_out = NETWORK.of(links.cut), NETWORK.of(links.heal), NETWORK.of(links.time_out)
find_records, drop_unheld = NETWORK.of(partitions.find_records), NETWORK.of(partitions.drop_unheld)
