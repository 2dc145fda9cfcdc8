"""A consumer without a prefetch: it is sent all there is, and acknowledges one message at each beat of its clock.

`handed` is the last message that it was sent by the present master. `stale` are those that it still believes to hold
from a master that is gone; `early` those that have left the queue because an answer meant for such a master has
settled them, and for which it will answer once more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.simpy_model.clock import Clock
from benchmarks.simpy_model.mailbox import CONSUME, RESUME, SETTLE, Operation
from benchmarks.simpy_model.nodes import RUNNING, STOPPING
from hawb.engine.core import runs

if TYPE_CHECKING:
    from benchmarks.simpy_model.nodes import Process
    from benchmarks.simpy_model.trial import Trial

CLOSED, ACTIVE, CANCELLED = range(3)


class Consumer:
    """A client at a `node`, and its subscription to the queue, which its channel renews by itself."""

    def __init__(self, trial: Trial) -> None:
        self.trial, self.env, self.given = trial, trial.env, trial.given
        self.cluster, self.queue = trial.cluster, trial.queue
        self.node: int | None = None
        self.state, self.wanted, self.subscribed, self.subscription = CLOSED, True, False, 0
        self.clock, self.beats = Clock(0, self.given.consumed), 0
        self.handed, self.stale, self.early = 0, runs.EMPTY, runs.EMPTY
        self.delivered = self.delivered_twice = runs.EMPTY
        self.restless = self.env.event()

    # It connects

    def connects(self) -> Process:
        """Each second it tries to be what it wants to be, connected or away, but for those in which it would find no
        master."""
        while True:
            if self.is_content():
                self.restless = self.env.event()
                yield self.restless
            elif self.wanted and not (self.queue.serves() and self.cluster.running()):
                yield self.trial.news
            else:
                self.trial.catches_up(self.env.now - 1)
                self.tries()
            yield self.trial.next_second()

    def is_content(self) -> bool:
        """Whether it is."""
        return (self.state == ACTIVE) == self.wanted

    def becomes(self, state: int) -> None:
        """Change the state."""
        self.state = state
        self.look()

    def look(self) -> None:
        """Try again at the next second if not satisfied."""
        if not self.is_content() and not self.restless.triggered:
            self.restless.succeed()

    def wants(self, wanted: bool) -> None:
        """Set whether the consumer wants to be connected."""
        self.wanted = wanted
        if not wanted and self.node is not None:
            self.trial.after(0, self.close)
        self.look()

    def tries(self) -> None:
        """Close the channel, or consume from the first running node."""
        if self.wanted:
            node = self.cluster.running()[0]
            delay_us = self.given.link_us(node, self.queue.master)
            self.trial.after(delay_us, self.consume, Operation(CONSUME, node))
        else:
            self.trial.after(0, self.close)

    def consume(self, operation: Operation) -> None:
        """basic.consume reaches the queue."""
        if self.cluster.runs(operation.node) and self.is_served(operation) and self.state != ACTIVE:
            self.node, self.subscription = operation.node, self.subscription + 1
            self.clock, self.beats = Clock(self.env.now, self.given.consumed), 0
            self.becomes(ACTIVE)
            self.subscribed = True
            self.gets(flowing=False)

    def is_served(self, operation: Operation) -> bool:
        """Return True if the queue serves the consumer now. Otherwise it waits, or no node knows the queue."""
        queue = self.queue
        if not queue.serves() and not (queue.awaits_master and queue.absent):
            queue.mailbox.waits(operation)
        return queue.serves()

    @property
    def is_open(self) -> bool:
        """Return True if the channel is open."""
        return self.state != CLOSED

    def close(self) -> None:
        """End the channel. Its messages are ready again."""
        if self.state != CLOSED:
            self.subscribed, self.handed, self.stale, self.early = False, 0, runs.EMPTY, runs.EMPTY
            self.becomes(CLOSED)

    def loses(self, node: int) -> None:
        """Handle a node that went down."""
        if self.node == node:
            self.close()

    def detach(self) -> bool:
        """The queue's master is gone: what it held is stale. Whether its channel goes on."""
        if self.state != CLOSED:
            held = runs.union(self.queue.up_to(self.handed), self.early)
            self.stale, self.early = runs.union(self.stale, held), runs.EMPTY
        self.subscribed, self.handed = False, 0
        return self.state == ACTIVE and self.cluster.runs(self.node)

    def resumes(self) -> Operation:
        """Let the channel try to consume again."""
        return Operation(RESUME, self.node, number=self.subscription)

    def wants_to_resume(self, operation: Operation) -> bool:
        """Whether it still wants what its channel tries."""
        return self.state == ACTIVE and self.subscription == operation.number and not self.subscribed

    def resume(self, operation: Operation) -> None:
        """Consume again on the channel."""
        if self.wants_to_resume(operation) and self.is_served(operation):
            self.subscribed = True
            self.gets(flowing=False)

    def cancel(self, operation: Operation) -> None:
        """Give up after the channel has tried for too long."""
        if self.wants_to_resume(operation):
            self.becomes(CANCELLED)

    # What it gets

    def gets(self, flowing: bool) -> None:
        """All that is ready is sent to it. What flows is with it at once."""
        queue = self.queue
        if not self.subscribed or not queue.serves():
            return
        ready = runs.common(queue.content, runs.run(self.handed + 1, queue.taken - self.handed))
        if not ready:
            return
        self.handed = queue.taken
        delay_us = 0 if flowing else self.given.link_us(queue.master, self.node)
        if delay_us:
            self.trial.after(delay_us, self.receives, queue.master, ready)
        else:
            self.receives(queue.master, ready)

    def receives(self, sender: int, some: runs.Runs) -> None:
        """Receive messages, unless the client's or the sender's node is down by now."""
        sent = self.cluster.nodes[sender].status in (RUNNING, STOPPING)
        if sent and self.cluster.runs(self.node):
            self.delivered_twice = runs.union(self.delivered_twice, runs.common(self.delivered, some))
            self.delivered = runs.union(self.delivered, some)

    # What it answers

    def answers(self) -> bool:
        """Return True if the consumer acks at its ticks."""
        return self.state != CLOSED and self.cluster.runs(self.node)

    def beats_by(self, time_us: int) -> int:
        """Return how many further ticks have reached the queue by a time."""
        return max(0, self.clock.by(time_us - self.given.link_us(self.node, self.queue.master)) - self.beats)

    def useful(self, count: int) -> int:
        """At how many of its next `count` beats it finds something to answer for. As messages come at a steady rate,
        they are too few from the first beat on or up to the last."""
        queue, publisher = self.queue, self.trial.publisher
        if not self.subscribed or not queue.serves():
            return count
        there = runs.size(self.stale) + runs.size(self.early) + runs.size(queue.content)
        if there >= count:
            return count
        later_us = self.given.link_us(self.node, queue.master)
        first = there + publisher.reached_by(self.clock, self.beats + 1, later_us)
        last = there + publisher.reached_by(self.clock, self.beats + count, later_us)
        return max(0, min(count, first + count - 1, last))

    def late(self) -> runs.Runs:
        """Return the stale messages that were delivered again."""
        return runs.common(self.stale, self.queue.up_to(self.handed)) if self.stale else runs.EMPTY

    def answers_later(self, beats: int) -> None:
        """Answers to a queue that reads nothing wait, for no more than there is. Answers to a master that is gone reach
        nobody anyway, unless what they are for was sent again and they count."""
        stale, mailbox = runs.size(self.stale), self.queue.mailbox
        counts = self.given.late_answers_count and bool(self.late())
        nowhere = 0 if counts else min(beats, stale)
        if nowhere:
            self.settles(nowhere)
        has = runs.size(self.early) + runs.size(self.queue.up_to(self.handed)) + (stale if counts else 0)
        count = min(beats - nowhere, has - mailbox.count(SETTLE, 0))
        if count > 0:
            mailbox.more_waits(SETTLE, count, self.node, 0)

    def answers_reach(self, operation: Operation) -> None:
        """Apply acks that waited for the queue."""
        self.settles(operation.count, unheard=operation.old)

    def settles(self, count: int, unheard: bool = False) -> None:
        """It acknowledges its oldest messages: first what it believes to hold from a master that is gone, then what it
        holds. From 3.9 on the first count, too, for what was sent again, unless they were sent to that one."""
        held = self.queue.up_to(self.handed)
        if not self.stale and not self.early:
            leaving = runs.head(held, count)
            if leaving and self.is_served(Operation(SETTLE, self.node, count, old=unheard)):
                self.queue.take_out(leaving)
            return
        stale, answered = runs.head(self.stale, count), runs.EMPTY
        late = runs.common(stale, held) if self.given.late_answers_count and not unheard else runs.EMPTY
        if count > runs.size(stale):
            answered = runs.head(runs.union(held, self.early), count - runs.size(stale))
        leaving = runs.union(late, runs.common(held, answered))
        if leaving and not self.is_served(Operation(SETTLE, self.node, count, old=unheard)):
            return
        self.stale = runs.minus(self.stale, stale)
        self.early = runs.minus(runs.union(self.early, late), answered)
        self.queue.take_out(leaving)
