"""The consensus protocol: `hawb.raft` with the kernel's ports."""

from __future__ import annotations

from hawb.raft import ports, replication
from hawb.study.compiled import Binding
from hawb.study.kernel import raft_ports

PROTOCOL = Binding(ports.PORTS, raft_ports)

append = PROTOCOL.of(replication.append)
