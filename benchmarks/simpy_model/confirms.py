"""What a publisher is told about its messages: a message is confirmed when all replicas that it was sent to have
answered, or those of them that are left."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from benchmarks.simpy_model.clock import Clock
from hawb.engine.core import runs

if TYPE_CHECKING:
    from benchmarks.simpy_model.trial import Trial


class Stretch:
    """Messages that left a publisher at the beats of its clock, from a beat on, and when each replica answers: so long
    after the beat. Never (`inf`) answers who is dead and not missed."""

    def __init__(
        self, client: int, number: int, clock: Clock, beat: int, after: int, count: int, delays: dict[int, float]
    ) -> None:
        self.client, self.number, self.clock, self.delays = client, number, clock, delays
        self.beat, self.after, self.count, self.answered = beat, after, count, False

    def answered_by(self, time_us: int, delay_us: float) -> int:
        """For how many of them a replica with that delay has answered by then."""
        if delay_us == inf:
            return 0
        return min(self.count, max(0, self.clock.by(time_us - delay_us) - self.beat + 1))

    def cut(self, count: int) -> Stretch:
        """Remove the first `count` messages and return them."""
        first = Stretch(self.client, self.number, self.clock, self.beat, self.after, count, self.delays.copy())
        first.answered = self.answered
        self.beat, self.after, self.count = self.beat + count, self.after + count, self.count - count
        return first

    def goes_on_as(self, more: Stretch) -> bool:
        """Return True if more messages follow these and wait for the same replicas."""
        follows = (self.beat + self.count, self.after + self.count) == (more.beat, more.after)
        return follows and self.number == more.number and not self.answered and self.delays == more.delays


class Batch:
    """Messages that came together, and when each replica answers. Those that no queue took have no number (`after` is
    None), wait for nobody, and are `answered` or not."""

    def __init__(self, client: int, number: int, after: int | None, count: int, due_us: dict[int, float]) -> None:
        self.client, self.number, self.after, self.count, self.due_us = client, number, after, count, due_us
        self.answered = False


class Confirms:
    """What waits to be confirmed, and what is."""

    def __init__(self, trial: Trial) -> None:
        self.trial, self.given = trial, trial.given
        self.stretches: list[Stretch] = []
        self.batches: list[Batch] = []
        self.confirmed = runs.EMPTY
        self.refused = self.nacked = 0

    def tell(self, client: int, after: int | None, count: int, answered: bool) -> None:
        """Notify a client if its node runs and is not about to pause."""
        if not self.trial.cluster.nodes[client].hears():
            return
        if not answered:
            self.nacked += count
        elif after is None:
            self.refused += count
        else:
            self.confirmed = runs.union(self.confirmed, runs.run(after + 1, count))

    def delays(self, client: int, count: int, from_us: int) -> dict[int, float]:
        """Return when the reply of each replica for so many messages reaches the client, relative to `from_us`."""
        queue, fsync_us = self.trial.queue, self.given.timing.fsync_us
        transfer_us = self.given.transfer_us(count)
        found = {queue.master: from_us + fsync_us + self.given.link_us(queue.master, client)}
        for node in queue.mirrors:
            told_us = from_us + transfer_us + fsync_us + self.given.link_us(node, client)
            found[node] = told_us if self.trial.cluster.runs(node) else inf
        return found

    # Single messages

    def await_each(self, client: int, number: int, clock: Clock, beat: int, count: int, lag_us: int) -> None:
        """Wait for the confirms of `count` messages that the queue has just accepted, one per tick."""
        after = self.trial.queue.taken - count
        more = Stretch(client, number, clock, beat, after, count, self.delays(client, 1, lag_us))
        if self.stretches and self.stretches[-1].goes_on_as(more):
            self.stretches[-1].count += count
        else:
            self.stretches.append(more)

    def hear(self, now_us: int) -> None:
        """Confirm what all replicas have replied for by now."""
        done = False
        for stretch in self.stretches:
            heard = stretch.answered_by(now_us, max(stretch.delays.values()))
            if heard:
                first = stretch.cut(heard)
                self.tell(first.client, first.after, heard, answered=True)
                done = done or not stretch.count
        if done:
            self.stretches = [stretch for stretch in self.stretches if stretch.count]

    # Batches

    def await_batch(self, client: int, number: int, count: int) -> None:
        """Wait for the confirm of a batch that the queue has just accepted."""
        now_us = self.trial.env.now
        batch = Batch(client, number, self.trial.queue.taken - count, count, self.delays(client, count, now_us))
        self.batches.append(batch)
        last_us = max(due_us for due_us in batch.due_us.values() if due_us < inf)
        self.trial.after(last_us - now_us, self.settle, batch)

    def refuse_batch(self, client: int, number: int, count: int, answered: bool) -> None:
        """Record a batch that no queue accepted."""
        batch = Batch(client, number, None, count, {})
        batch.answered = answered
        self.batches.append(batch)
        self.trial.after(0, self.settle, batch)

    def settle(self, *batches: Batch) -> None:
        """Confirm batches whose replicas have all replied or gone down."""
        for batch in batches:
            if batch in self.batches and max(batch.due_us.values(), default=0) <= self.trial.env.now:
                self.batches.remove(batch)
                self.tell(batch.client, batch.after, batch.count, batch.answered or bool(batch.due_us))

    # Replicas and clients that go

    def forget(self, replicas: set[int]) -> None:
        """Stop waiting for these replicas."""
        now_us = self.trial.env.now
        for batch in self.batches:
            for node in replicas & batch.due_us.keys():
                batch.answered |= batch.due_us.pop(node) <= now_us
        self.settle(*self.batches)
        for node in sorted(replicas):
            self.stretches = [part for whole in self.stretches for part in self.without(whole, node)]
            self.settle_forgotten()

    def without(self, stretch: Stretch, node: int) -> list[Stretch]:
        """A stretch that does not wait for a replica any more: what that had answered for, and the rest."""
        if node not in stretch.delays:
            return [stretch]
        heard = stretch.answered_by(self.trial.env.now, stretch.delays.pop(node))
        if not heard:
            return [stretch]
        first = stretch.cut(heard)
        first.answered = True
        return [first, stretch] if stretch.count else [first]

    def settle_forgotten(self) -> None:
        """Confirm what waits for no replica if one had replied, and nack it otherwise."""
        for stretch in self.stretches:
            if not stretch.delays:
                self.tell(stretch.client, stretch.after, stretch.count, stretch.answered)
        self.stretches = [stretch for stretch in self.stretches if stretch.delays]

    def client_gone(self, node: int) -> None:
        """Drop the confirms of clients whose node is down."""
        self.stretches = [stretch for stretch in self.stretches if stretch.client != node]
        self.batches = [batch for batch in self.batches if batch.client != node]

    def unheard(self, number: int, node: int) -> int:
        """Return for how many of a publisher's messages a replica will not reply."""
        flowing = sum(one.count for one in self.stretches if one.number == number and one.delays.get(node) == inf)
        together = sum(one.count for one in self.batches if one.number == number and one.due_us.get(node) == inf)
        return flowing + together
