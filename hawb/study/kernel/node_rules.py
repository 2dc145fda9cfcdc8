"""Nodes' reactions to each other: `hawb.engine.cluster` with the kernel's ports."""

from __future__ import annotations

from hawb.engine.cluster import metadata, partition_handling, reachability
from hawb.engine.cluster import node_ports as node_ports_of_turns
from hawb.study.compiled import Binding
from hawb.study.kernel import node_ports

NODES = Binding(node_ports_of_turns.PORTS, node_ports)

defer_if_blocked, retry_changes = NODES.of(metadata.defer_if_blocked), NODES.of(metadata.retry_changes)
is_writable_anywhere = NODES.of(metadata.is_writable_anywhere)
decide_who_pauses, pause = NODES.of(partition_handling.decide_who_pauses), NODES.of(partition_handling.pause)
look_again, look_around = NODES.of(partition_handling.look_again), NODES.of(partition_handling.look_around)
boot_again, see_between = NODES.of(partition_handling.boot_again), NODES.of(partition_handling.see_between)
receives_answers = NODES.of(reachability.receives_answers)
is_up, sees, seen_from = NODES.of(reachability.is_up), NODES.of(reachability.sees), NODES.of(reachability.seen_from)
is_believed, is_unnoticed_down = NODES.of(reachability.is_believed), NODES.of(reachability.is_unnoticed_down)
answers = NODES.of(reachability.answers)
