"""The publisher closes, and flow control blocks it.

This is `hawb.engine.clients.steady.closing` and `credit_flow` with the kernel's ports.
"""

from __future__ import annotations

from hawb.engine.clients.steady import closing, credit_flow, publisher_ports
from hawb.study.compiled import Binding
from hawb.study.kernel import steady_ports
from hawb.study.kernel.record_rules import RECORD

PUBLISHERS = Binding(publisher_ports.PORTS, steady_ports, RECORD)

UNHINDERED = credit_flow.UNHINDERED
credit, lag_us = PUBLISHERS.of(credit_flow.credit_towards), PUBLISHERS.of(closing.lag_us)
close, close_with_nodes = PUBLISHERS.of(closing.close), PUBLISHERS.of(closing.close_with_nodes)
