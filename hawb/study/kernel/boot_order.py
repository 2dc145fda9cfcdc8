"""Whom a booting node waits for, and what happens as it comes up: `hawb.engine.booting.boot_order` with the kernel's
ports."""

from __future__ import annotations

from hawb.engine.booting import arrival as arrival_of_turns
from hawb.engine.booting import boot_order
from hawb.study.compiled import Binding
from hawb.study.kernel import arrival
from hawb.study.kernel.going_down import GOING

ORDER = Binding(arrival_of_turns.PORTS, arrival, GOING)

boot, give_up_boot = ORDER.of(boot_order.boot), ORDER.of(boot_order.give_up)
let_waiting_nodes_in, come_up = ORDER.of(boot_order.let_waiting_nodes_in), ORDER.of(boot_order.come_up)
