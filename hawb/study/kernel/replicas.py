"""The queue's replicas: `hawb.engine.classic` with the kernel's ports."""

from __future__ import annotations

from hawb.engine.classic import copies as copies_of_turns
from hawb.engine.classic import failover, mirrors, outage, returning, synchronisation
from hawb.engine.classic import failover_ports as failover_ports_of_turns
from hawb.engine.classic import ports as ports_of_turns
from hawb.study.compiled import Binding
from hawb.study.kernel import copies, failover_ports, mirror_ports, silence
from hawb.study.kernel.record_rules import RECORD

SILENCE = Binding(silence.PORTS, silence.SILENT, RECORD)
COPIES = Binding(copies_of_turns.PORTS, copies, SILENCE)
MIRRORS = Binding(ports_of_turns.PORTS, mirror_ports, COPIES)
REPLICAS = Binding(failover_ports_of_turns.PORTS, failover_ports, MIRRORS)

DRAINED = silence.SILENT.DRAINED

join, take_effect, end_master = map(REPLICAS.of, (mirrors.join, mirrors.take_effect, mirrors.end_master))
synchronise_drained, drop_master = map(REPLICAS.of, (mirrors.synchronise_drained, mirrors.drop_master))
synchronise, begin_sync = map(REPLICAS.of, (synchronisation.synchronise, synchronisation.begin))
synchronise_by_hand = REPLICAS.of(synchronisation.synchronise_by_hand)
finish_sync, finish_late = map(REPLICAS.of, (synchronisation.finish, synchronisation.finish_late))
remove_from_queue, shut_down_master = map(REPLICAS.of, (failover.remove_from_queue, failover.shut_down_master))
recover = REPLICAS.of(outage.recover)
load_record, return_to = map(REPLICAS.of, (returning.load_record, returning.return_to))
