"""A trial: SimPy's environment, the cluster and its clients, and what flows between two events."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import simpy
from simpy.events import NORMAL, URGENT

from benchmarks.simpy_model.confirms import Confirms
from benchmarks.simpy_model.consumer import Consumer
from benchmarks.simpy_model.given import Given
from benchmarks.simpy_model.nodes import Cluster
from benchmarks.simpy_model.publisher import Publisher
from benchmarks.simpy_model.queue import Queue
from hawb.engine.core import randomness, runs
from hawb.study.histories import SECOND_US
from hawb.study.trial_record import Record

FIRST_DRAW = 1
"""The number of the first draw in a trial, which brings mirrors into their order."""

LATE = NORMAL + 1


class Due(simpy.Event):
    """SimPy's Timeout, which may come before whatever else is due then, or after it."""

    def __init__(self, env: simpy.Environment, delay_us: int, priority: int) -> None:
        super().__init__(env)
        self._ok, self._value = True, None
        env.schedule(self, priority, delay_us)


class Trial:
    """A cluster, its queue and its clients, all running in the beginning."""

    def __init__(self, given: Given, seed: int) -> None:
        self.given, self.env = given, simpy.Environment()
        self.news = self.env.event()
        mirrors = tuple(range(1, given.nodes))
        if given.by_lot:
            mirrors = randomness.shuffled(mirrors, seed, randomness.SHUFFLE_MIRRORS, FIRST_DRAW, 0)
        self.cluster = Cluster(self)
        self.queue = Queue(self, mirrors)
        self.confirms = Confirms(self)
        self.publisher, self.consumer = Publisher(self), Consumer(self)

    def through(self, history: Iterable[tuple[int, int, int]], horizon_us: int) -> Record:
        """Return the outcome of a history (`hawb.study.histories`) by the horizon."""
        for process in (self.cluster.befalls(history), self.publisher.connects(), self.consumer.connects()):
            self.env.process(process)
        self.env.run(until=Due(self.env, horizon_us, URGENT))
        self.catches_up(horizon_us - 1)
        return self.record()

    def record(self) -> Record:
        """Return the outcome so far."""
        queue, confirms, consumer, now_us = self.queue, self.confirms, self.consumer, self.env.now
        down_s = queue.down.at(now_us) / SECOND_US
        return Record(
            published=queue.taken + queue.refused,
            confirmed=runs.size(confirms.confirmed) + confirms.refused,
            nacked=confirms.nacked,
            refused=queue.refused,
            lost=runs.size(queue.lost),
            lost_confirmed=runs.size(runs.common(confirms.confirmed, queue.lost)) + confirms.refused,
            delivered_twice=runs.size(consumer.delivered_twice),
            promotions=queue.promotions,
            unsynchronised_promotions=queue.unsynchronised_promotions,
            outages=queue.outages,
            publish_down_s=0.0,
            consume_down_s=0.0,
            sync_blocked_s=queue.blocked.at(now_us) / SECOND_US,
            metadata_down_s=self.cluster.dark.at(now_us) / SECOND_US,
            bytes_replicated=queue.copies * self.given.size_bytes,
            messages=runs.size(queue.content),
            queue_down_s=down_s,
        )

    # Time passes

    def after(self, delay_us: int, act: Callable[..., None], *about: object) -> None:
        """Schedule something after a while."""
        self.env.timeout(delay_us).callbacks.append(lambda _: self.happens(act, *about))

    def next_second(self) -> Due:
        """Wait for the next whole second, before what else is due then."""
        return Due(self.env, SECOND_US - self.env.now % SECOND_US, URGENT)

    def tell_news(self) -> None:
        """A node has come up, or the queue serves again: clients who wait for that may try again."""
        if self.news.callbacks:
            self.news.succeed()
            self.news = self.env.event()

    def later(self, delay_us: int) -> Due:
        """Start a timer that fires after what else is due then."""
        return Due(self.env, delay_us, LATE)

    def happens(self, act: Callable[..., None], *about: object) -> None:
        """Something happens now, when all has flowed that was to flow."""
        now_us = self.env.now
        if self.queue.lags:
            self.catches_up(now_us - 1)
        self.flows(now_us)
        act(*about)
        self.publisher.goes_on()

    def catches_up(self, until_us: int) -> None:
        """All flows that was to flow by then, and mirrors that have caught up by it are synchronised."""
        self.flows(until_us)
        self.queue.synchronise_drained()

    def flows(self, until_us: int) -> None:
        """What flowed to and from the queue since the last time: nothing but the clients' clocks has changed
        anything."""
        queue, consumer = self.queue, self.consumer
        answers = consumer.answers()
        beats = consumer.beats_by(until_us) if answers else 0
        useful = consumer.useful(beats) if beats else 0
        arrived = self.publisher.sends(until_us)
        consumer.beats += beats
        if answers and queue.is_busy():
            consumer.answers_later(useful)
        elif arrived or useful:
            consumer.gets(flowing=True)
            if useful:
                consumer.settles(useful)
        self.confirms.hear(until_us)
