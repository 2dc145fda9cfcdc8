"""The yardstick's mirrored queue in SimPy, as one would write it without a kernel: processes for nodes, their queue and
its clients, and an agenda that SimPy keeps. It is what the kernel's speed is compared with.

It is the same model: three nodes or more, all of them replicas, with `pause_minority`; who dies, who notices, who
pauses and comes back, who is promoted and with what; a publisher that waits for confirms and is held up by flow
control, a consumer that acknowledges, loses its queue and gets messages twice; a queue that synchronises its mirrors.
`tests/study/test_kernel_simpy_model.py` holds it to the kernel, history by history, in every field of the record; of
the yardstick 15,000 years are equal. Far from it not all are: of 20,268 histories of 2 to 5 nodes that fail every 6 s
to 83 minutes 568 (2.8 %) end otherwise, most of them where synchronising takes longer than until the next node fails.

What flows is counted as the kernel counts it: by rate between two events, and not message by message, of which a year
of the yardstick has 3e9. That would be another comparison, and no fair one: a SimPy event takes a microsecond or more.

Shared with engine and kernel are the rules (`hawb.rules`, and what flow control leaves a channel), sets of numbers
(`hawb.engine.core.runs`) and the reading of a design. It leaves out, and refuses by name where it can, what the
yardstick does not have: other policies and partition handling, losses of power and of disks, partitions, planned work,
bursts, rates by the hour, transactions, automatic acknowledgement. One thing it leaves out where nobody tells: in which
order mirrors that are missing at once are started under ha-mode exactly. RabbitMQ draws that by lot, and here draws are
keyed by how much the engine has numbered so far, which no other model can know; it starts them in the order of the
nodes.
"""

from __future__ import annotations

from collections.abc import Iterable

from benchmarks.simpy_model.given import Given, read
from benchmarks.simpy_model.trial import Trial
from hawb.study.trial_record import Record

__all__ = ["Given", "play", "read"]


def play(given: Given, history: Iterable[tuple[int, int, int]], seed: int, horizon_us: int) -> Record:
    """What comes of a history (`hawb.study.histories`) of what has been `read`, by the horizon. The `seed` draws the
    mirrors' order (`hawb.study.engine_trial.own_seed`). Raises ValueError for faults that are not modelled."""
    return Trial(given, seed).through(history, horizon_us)
