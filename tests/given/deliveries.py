"""What a program's trace tells of its messages, put together anew and held against the ledger.

`check_deliveries` reads the trace as a client would that sees everything: nothing is delivered that was never
published, messages come to each consumer or holder in publishing order unless they are flagged as redelivered, what
comes twice is flagged the second time, and whatever is not in its queue in the end left it in a way that was told. A
queue numbers its messages as they reach it, so the order of the numbers is each publisher's order. A quorum queue's are
numbered when they are sent, and while some wait for a leader others may find one: only those of one channel keep their
order, and in 4.0 those of one urgency.

A classic queue's count of deliveries stands still at a transient message that it lost undelivered as its node stopped
(`hawb.engine.classic.copies.uncounted_from`): of what comes behind that nothing says that it was delivered before.
One of 4.3 remembers of a controlled stop what was given back before, not what consumers had.

The two sides of a partition know nothing of each other: what was there before it and had not been delivered may be
delivered by both without a flag.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable

from hawb.engine.core import runs
from hawb.engine.core.runs import EMPTY, Runs
from hawb.engine.core.state import QUORUM
from hawb.engine.core.trace import Entry
from hawb.engine.quorum.fifo import URGENT
from hawb.scenario.run import Run
from hawb.scenario.verbs import Consume, Declare, Publish

APART = {"cluster_partitioned", "records_restored", "records_taken_over"}
"""Events with which nodes go on with other records than others have, or had."""

LEAVES = {
    "messages_acknowledged": "acknowledged",
    "messages_expired": "expired",
    "messages_dropped": "dropped",
    "messages_rejected": "rejected",
    "messages_dead_lettered": "dead_lettered",
}
"""The events that tell how messages leave a queue, with what the ledger calls it."""


class Traced:
    """The deliveries and acknowledgements of one queue in a trace, up to an event."""

    def __init__(self) -> None:
        self.published = self.delivered = self.once_per_side = self.lost = EMPTY
        self.left: dict[str, Runs] = defaultdict(lambda: EMPTY)
        self.counted: dict[str, int] = defaultdict(int)
        self.latest: dict[tuple[str, object], int] = defaultdict(int)
        self.has_priorities = self.is_quorum = self.counts_deliveries = self.remembers_returns = False
        self.forgotten = EMPTY
        self.sent: dict[object, Runs] = defaultdict(lambda: EMPTY)

    def apart(self, back: bool) -> None:
        """Several sides may have the queue from now on, or one as it was when its node went: that knows nothing of what
        others have delivered since."""
        undelivered = self.published if back else runs.minus(self.published, self.delivered)
        self.once_per_side = runs.union(self.once_per_side, undelivered)
        self.latest.clear()


def check_deliveries(run: Run) -> None:
    """Everything above, for a program that began without queues. Raises AssertionError."""
    queues: dict[str, Traced] = defaultdict(Traced)
    automatic = {step.verb.consumer for step in run.steps if isinstance(step.verb, Consume) and step.verb.ack == "auto"}
    for entry in run.moment().trace():
        if entry.event in APART:
            for traced in queues.values():
                traced.apart(back=entry.event == "records_restored")
        elif entry.event == "queue_declared":
            step = run.steps[entry.step].verb
            assert isinstance(step, Declare), entry
            queues[entry.queue].has_priorities = "x-max-priority" in step.arguments
            queues[entry.queue].is_quorum = entry.detail["type"] == QUORUM
            queues[entry.queue].counts_deliveries = run.settings.profile.counts_deliveries
            queues[entry.queue].remembers_returns = run.settings.profile.remembers_returns
        elif entry.event in READ:
            ids = runs.normal(map(tuple, entry.detail.get("ids", ())))
            READ[entry.event](queues[entry.queue], entry, ids)
            if entry.event == "messages_published":
                traced, channel = queues[entry.queue], sender(run, entry) if queues[entry.queue].is_quorum else None
                traced.sent[channel] = runs.union(traced.sent[channel], ids)
            if entry.event == "messages_delivered" and entry.detail["consumer"] in automatic:
                leave(queues[entry.queue], entry, ids)
    for name, traced in queues.items():
        check_end(run, name, traced)


def sender(run: Run, entry: Entry) -> object:
    """Return the channel whose messages a quorum queue has taken, if that is reported, or the step that sent them."""
    verb = run.steps[entry.step].verb if entry.step >= 0 else None
    if isinstance(verb, Publish) and verb.node is not None:
        return verb.connection, verb.node, verb.mode, (verb.priority or 0) >= URGENT
    return entry.step


def publish(traced: Traced, entry: Entry, ids: Runs) -> None:
    assert not runs.common(traced.published, ids), f"{entry} has messages that were published before"
    traced.published = runs.union(traced.published, ids)


def deliver(traced: Traced, entry: Entry, ids: Runs) -> None:
    flagged = runs.normal(map(tuple, entry.detail["redelivered"]))
    first_time, holder = runs.minus(runs.minus(ids, flagged), traced.forgotten), entry.detail["consumer"]
    assert not runs.minus(ids, traced.published), f"{entry} delivers what was never published"
    again = runs.minus(runs.common(first_time, traced.delivered), traced.once_per_side)
    assert not again, f"{entry} delivers {again} again and does not say so"
    traced.delivered = runs.union(traced.delivered, ids)
    for channel, numbers in () if traced.has_priorities else traced.sent.items():
        theirs = runs.common(first_time, numbers)
        if theirs:
            latest = traced.latest[holder, channel]
            assert theirs[0][0] > latest, f"{entry} delivers what comes before {latest}"
            traced.latest[holder, channel] = theirs[-1][1]


def leave(traced: Traced, entry: Entry, ids: Runs) -> None:
    way = LEAVES.get(entry.event, "acknowledged")
    traced.left[way] = runs.union(traced.left[way], ids)


def lose(traced: Traced, entry: Entry, ids: Runs) -> None:
    traced.lost = runs.union(traced.lost, ids)
    never = runs.minus(ids, traced.delivered)
    if traced.counts_deliveries and never and entry.detail["cause"] == "transient_message":
        traced.forgotten = runs.union(traced.forgotten, ((never[0][0], sys.maxsize),))


def come_back(traced: Traced, _entry: Entry, ids: Runs) -> None:
    traced.lost = runs.minus(traced.lost, ids)


def count(traced: Traced, entry: Entry, _ids: Runs) -> None:
    traced.counted[entry.event] += entry.detail["messages"]


def end_process(traced: Traced, entry: Entry, _ids: Runs) -> None:
    """A process that deletes itself, and its record not yet, tells so as it ends."""
    traced.counted["queue_deleted"] += entry.detail.get("messages", 0)
    if traced.remembers_returns and entry.detail["reason"] == "node_stopped":
        traced.forgotten = runs.union(traced.forgotten, traced.delivered)


READ: dict[str, Callable[[Traced, Entry, Runs], None]] = {
    "messages_published": publish,
    "messages_delivered": deliver,
    **dict.fromkeys(LEAVES, leave),
    "messages_lost": lose,
    "messages_returned": come_back,
    "queue_purged": count,
    "queue_deleted": count,
    "master_down": end_process,
}


def check_end(run: Run, name: str, traced: Traced) -> None:
    """What was published and is not in the queue is lost or has left it, and the trace has told how."""
    moment = run.moment()
    account, queue = moment.ledger[name], moment.state.queues.get(name)
    left = dict(account.removed)
    assert not runs.minus(account.lost, traced.lost), f"{name}: {account.lost} is lost, {traced.lost} in the trace"
    for way in LEAVES.values():
        missing = runs.minus(left[way], traced.left[way])
        assert not missing, f"{name}: {missing} is {way}, and nothing was told of it"
    assert runs.size(left["purged"]) <= traced.counted["queue_purged"], f"{name}: {left['purged']} was purged"
    assert runs.size(left["deleted"]) <= traced.counted["queue_deleted"], f"{name}: {left['deleted']} was deleted"
    there = EMPTY if queue is None else queue.content
    gone = runs.normal(pair for numbers in (account.lost, *left.values(), there) for pair in numbers)
    assert not runs.minus(traced.published, gone), f"{name}: {runs.minus(traced.published, gone)} is missing"
