"""The queue's record in a search, beside what trials use: recoverable mirrors, and the start of a synchronisation.

This is `hawb.engine.classic.ports` and `failover_ports`, where they use these.
"""

from __future__ import annotations

from hawb.rules import promotion
from hawb.study.compiled import inner, rule, with_arrays
from hawb.study.kernel.record_rules import is_synchronised
from hawb.study.kernel.search_state import bytes_of, content, count
from hawb.study.kernel.state import (
    NONE,
    SYNC_FINISHED,
    is_running,
    listed,
    next_number,
    running_bits,
    schedule,
    without_nodes,
)

recoverable_mirrors = rule(promotion.recoverable_mirrors)


@with_arrays
def note_recoverable(t, q):
    """Update the recoverable mirrors after a change of the mirrors."""
    found = recoverable_mirrors(t.recoverable[: q.recoverable], on_record(t, q), listed(t.available, running_bits(t)))
    for k in range(len(found)):
        t.recoverable[k] = found[k]
    q.recoverable = len(found)


@with_arrays
def on_record(t, q):
    """Return the mirrors as the record has them, including one that refused promotion."""
    count = 0
    if q.orphaned_gm != NONE:
        t.asked[0], count = q.orphaned_gm, 1
    for k in range(q.mirrors):
        if t.mirrors[k] != q.orphaned_gm:
            t.asked[count] = t.mirrors[k]
            count += 1
    return t.asked[:count]


@inner
def note_returned(t, q, node):
    """Update the recoverable mirrors after a mirror on a node that is back has joined.

    The mirrors on running nodes that are not synchronised by then are not recoverable, unless this one is synchronised.
    """
    if is_synchronised(t, q, node):
        return
    for other in range(t.setup.nodes):
        if is_running(t, other) and not is_synchronised(t, q, other):
            q.recoverable = without_nodes(t.recoverable, q.recoverable, 1 << other)


@inner
def meet(t, q, node):
    """Let a node that is up and the other running ones remove nodes that are not recoverable."""
    met = running_bits(t)
    for other in range(t.setup.nodes):
        if met & ~(1 << other) and met >> other & 1 and (other == node or not is_synchronised(t, q, other)):
            q.recoverable = without_nodes(t.recoverable, q.recoverable, 1 << other)


@inner
def start_sync(t, q, invited):
    """Start a synchronisation of mirrors."""
    q.syncing, q.sync_mirrors, q.sync_number = True, invited, next_number(t)
    q.sync_began_us, duration_us = t.moment.now_us, effort_us(t)
    q.sync_due_us = t.moment.now_us + duration_us
    t.begun[t.notes.begun % len(t.begun), 0] = t.moment.now_us
    t.begun[t.notes.begun % len(t.begun), 1] = duration_us
    t.notes.begun += 1
    schedule(t, duration_us, SYNC_FINISHED, q.sync_number)


@inner
def effort_us(t):
    """Return the microseconds of sending all that the queue holds: `hawb.engine.classic.sync_effort`."""
    setup, messages, sent_bytes = t.setup, count(t, content(t)), bytes_of(t, content(t))
    longest_us = max(
        messages * 1_000_000 // setup.sync_messages_per_s, sent_bytes * 1_000_000 // setup.network_bytes_per_s
    )
    if setup.sync_bytes_per_s:
        longest_us = max(longest_us, sent_bytes * 1_000_000 // setup.sync_bytes_per_s)
    return longest_us + -(-messages // setup.sync_batch_size) * setup.link_us
