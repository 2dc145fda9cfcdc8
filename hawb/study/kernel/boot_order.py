"""A node boots: `hawb.engine.cluster.booting` with the kernel's ports."""

from __future__ import annotations

from hawb.engine.cluster import booting
from hawb.engine.cluster import booting_ports as arrival_of_turns
from hawb.study.compiled import Binding
from hawb.study.kernel import arrival
from hawb.study.kernel.going_down import GOING

ORDER = Binding(arrival_of_turns.PORTS, arrival, GOING)

boot, give_up_boot = ORDER.of(booting.boot), ORDER.of(booting.give_up)
let_waiting_nodes_in, come_up = ORDER.of(booting.let_waiting_nodes_in), ORDER.of(booting.come_up)
