"""A publisher: it connects to the first running node and sends at its rate unless flow control blocks it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.simpy_model.clock import Clock
from benchmarks.simpy_model.mailbox import PUBLISH, Operation
from hawb.engine.clients.steady.credit_flow import TO_MASTER, TO_MIRROR, left

if TYPE_CHECKING:
    from benchmarks.simpy_model.nodes import Process
    from benchmarks.simpy_model.trial import Trial


class Publisher:
    """A client at a `node`, None while it has none. Of each connection, which has a `number`: its clock, how many
    messages it has sent, and whether it is held up."""

    def __init__(self, trial: Trial) -> None:
        self.trial, self.env, self.given = trial, trial.env, trial.given
        self.cluster, self.queue, self.confirms = trial.cluster, trial.queue, trial.confirms
        self.node: int | None = None
        self.clock, self.sent, self.number, self.blocked = Clock(0, self.given.published), 0, 0, False
        self.lost = self.env.event()

    def connects(self) -> Process:
        """It connects, and when its node is lost or nobody ran it tries again each second, but for those in which it
        would find nobody."""
        while True:
            running = self.cluster.running()
            if running:
                self.trial.catches_up(self.env.now - 1)
                self.opens(running[0])
            yield self.lost if running else self.trial.news
            yield self.trial.next_second()

    def opens(self, node: int) -> None:
        """Begin to send."""
        self.node, self.clock, self.sent = node, Clock(self.env.now, self.given.published), 0
        self.number, self.blocked, self.lost = self.number + 1, False, self.env.event()

    def loses(self, node: int) -> None:
        """Handle a node that went down. Messages that were sent are on their way; the queue never sees blocked ones."""
        if self.node == node:
            if not self.blocked:
                self.sends_together()
            self.node = None
            self.lost.succeed()

    def lag_us(self) -> int:
        """Return how long its messages take to the queue's master."""
        return self.given.link_us(self.node, self.queue.master) if self.queue.up else 0

    # What flows

    def reached_by(self, clock: Clock, beat: int, later_us: int) -> int:
        """How many messages more than so far will have reached the queue so long after the beat of another clock."""
        if self.node is None or self.blocked:
            return 0
        return max(0, self.clock.by_beat_of(clock, beat, self.lag_us() - later_us) - self.sent)

    def sends(self, until_us: int) -> int:
        """What it may send reaches the queue; with the first message that it may not, it is held up. Returns how many
        came."""
        if self.node is None or self.blocked:
            return 0
        count = self.clock.by(until_us - self.lag_us()) - self.sent
        if count <= 0:
            return 0
        free = self.credit()
        may = count if free is None else min(count, free)
        if may:
            self.reaches(may)
            self.sent += may
        self.blocked = may < count
        return may

    def reaches(self, count: int) -> None:
        """Messages reach the queue one after the other."""
        queue = self.queue
        if queue.keeps():
            queue.mailbox.more_waits(PUBLISH, count, self.node, self.number)
        elif queue.up:
            queue.store(count)
            self.confirms.await_each(self.node, self.number, self.clock, self.sent + 1, count, self.lag_us())
        else:
            queue.refused += count
            self.confirms.tell(self.node, None, count, queue.absent)

    def credit(self) -> int | None:
        """Return how many more messages its channel may send, or None if nothing blocks it."""
        if self.queue.is_busy():
            return left(self.sent, self.queue.mailbox.count(PUBLISH, self.number), TO_MASTER)
        silent = self.queue.silent()
        frees = (left(self.sent, self.confirms.unheard(self.number, node), TO_MIRROR) for node in silent)
        return min(frees, default=None)

    def goes_on(self) -> None:
        """Send all blocked messages if nothing blocks the publisher any more."""
        if self.blocked and self.node is not None and self.credit() is None:
            self.blocked = False
            self.sends_together()

    # What it sends together

    def sends_together(self) -> None:
        """All that there is to send by now is on its way."""
        count = self.clock.by(self.env.now) - self.sent
        if count > 0:
            self.sent += count
            batch = Operation(PUBLISH, self.node, count, self.number)
            self.trial.after(self.lag_us(), self.arrives, batch)

    def arrives(self, batch: Operation) -> None:
        """Let a batch reach the queue, or wait for it."""
        queue = self.queue
        if queue.keeps():
            queue.mailbox.waits(batch)
        elif batch.orphaned or not self.cluster.runs(batch.node):
            self.arrives_for_nobody(batch)
        elif batch.lost or not queue.up:
            queue.refused += batch.count
            answered = queue.absent and not batch.lost
            self.confirms.refuse_batch(batch.node, batch.number, batch.count, answered)
        else:
            queue.store(batch.count)
            self.confirms.await_batch(batch.node, batch.number, batch.count)
            self.trial.consumer.gets(flowing=False)

    def arrives_for_nobody(self, batch: Operation) -> None:
        """The same where its channel is gone: the heir of the master to which it was sent has it from the channel."""
        if batch.old and not batch.lost and self.queue.up:
            self.queue.store(batch.count)
            self.trial.consumer.gets(flowing=False)
        else:
            self.queue.refused += batch.count
