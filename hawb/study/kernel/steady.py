"""Clients with a rate: `hawb.engine.clients.steady` with the kernel's ports."""

from __future__ import annotations

from types import SimpleNamespace

from hawb.engine.clients.steady import changes, consumer_ports, interruptions, publishing, serving
from hawb.study.compiled import Binding
from hawb.study.kernel import steady_ports
from hawb.study.kernel.closing import PUBLISHERS, credit
from hawb.study.kernel.publishing import arrive

STEADY = Binding(
    publishing.PORTS, SimpleNamespace(credit=credit, arrive=arrive),
    Binding(consumer_ports.PORTS, steady_ports, PUBLISHERS),
)  # fmt: skip

publishes, leave, react = map(STEADY.of, (publishing.publishes, publishing.leave, publishing.react))
ticks_heard, useful_ticks, room_made = map(
    STEADY.of, (changes.ticks_heard, changes.useful_ticks, changes.room_made)
)
blocked_us, next_change_us, flows_us = map(
    STEADY.of, (changes.blocked_us, changes.next_change_us, changes.flows_us)
)
answers = STEADY.of(serving.answers_for)
INTERRUPTIONS = Binding(interruptions.PORTS, SimpleNamespace(answers=answers), STEADY)

is_confirmed, is_delivered = map(INTERRUPTIONS.of, (interruptions.is_confirmed, interruptions.is_delivered))
since_us, late_us = map(INTERRUPTIONS.of, (interruptions.since_us, interruptions.late_us))
