"""A queue's record of its replicas: `hawb.engine.classic.record` with the kernel's ports."""

from __future__ import annotations

from hawb.engine.classic import record
from hawb.engine.classic import record_ports as ports
from hawb.study.compiled import Binding
from hawb.study.kernel import record_ports
from hawb.study.kernel.node_rules import NODES

RECORD = Binding(ports.PORTS, record_ports, NODES)

is_mirror, is_synchronised = RECORD.of(record.is_mirror), RECORD.of(record.is_synchronised)
mirror_bits, alive_bits = RECORD.of(record.mirror_bits), RECORD.of(record.alive_bits)
mirrors_await_master = RECORD.of(record.mirrors_await_master)
