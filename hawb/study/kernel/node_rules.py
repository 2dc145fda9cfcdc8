"""What nodes do about each other: `hawb.engine.nodes` with the kernel's ports."""

from __future__ import annotations

from hawb.engine.nodes import metadata, partition_handling, ports, sight
from hawb.study.compiled import Binding
from hawb.study.kernel import node_ports

NODES = Binding(ports.PORTS, node_ports)

stall, release_stalled = NODES.of(metadata.stall), NODES.of(metadata.release_stalled)
is_writable_anywhere = NODES.of(metadata.is_writable_anywhere)
decide_who_pauses, pause = NODES.of(partition_handling.decide_who_pauses), NODES.of(partition_handling.pause)
look_again, look_around = NODES.of(partition_handling.look_again), NODES.of(partition_handling.look_around)
boot_again, see_between = NODES.of(partition_handling.boot_again), NODES.of(partition_handling.see_between)
can_tell = NODES.of(sight.can_tell)
is_up, sees, seen_from = NODES.of(sight.is_up), NODES.of(sight.sees), NODES.of(sight.seen_from)
is_believed, is_unmissed, answers = NODES.of(sight.is_believed), NODES.of(sight.is_unmissed), NODES.of(sight.answers)
