"""Nodes that die, stop, pause and come back, and how the other nodes react."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import TYPE_CHECKING

import simpy

from benchmarks.simpy_model import failover
from benchmarks.simpy_model.clock import Stopwatch
from benchmarks.simpy_model.given import FAULTS
from hawb.engine.cluster.booting import BOOT_RETRIES
from hawb.engine.cluster.partition_handling import POLL_US
from hawb.rules.partitions import has_majority
from hawb.study import histories

if TYPE_CHECKING:
    from benchmarks.simpy_model.trial import Trial

RUNNING, STOPPING, DOWN, BOOTING, WAITING, PAUSED = range(6)

Event = tuple[int, int, int]
"""A row of a history (`hawb.study.histories`)."""

Process = Generator[simpy.Event, object, None]


class Node:
    """A node: its status, the nodes that it believes running, how often it has booted, whether it is to pause and
    whether nothing keeps it down."""

    def __init__(self, number: int, nodes: int) -> None:
        self.number = number
        self.status = RUNNING
        self.believes = set(range(nodes)) - {number}
        self.boots = 0
        self.awaits = False
        self.wanted = True

    def hears(self) -> bool:
        """Return True if the node's clients are answered."""
        return self.status == RUNNING and not self.awaits


class Cluster:
    """The nodes, and who looks after them."""

    def __init__(self, trial: Trial) -> None:
        self.trial, self.env, self.timing = trial, trial.env, trial.given.timing
        self.nodes = [Node(number, trial.given.nodes) for number in range(trial.given.nodes)]
        self.departures: dict[int, simpy.Process] = {}
        self.looks = False
        self.dark = Stopwatch()

    def running(self) -> list[int]:
        """Return the running nodes."""
        return [node.number for node in self.nodes if node.status == RUNNING]

    def runs(self, node: int | None) -> bool:
        """Return True if the node runs."""
        return node is not None and self.nodes[node].status == RUNNING

    def goes_dark(self) -> None:
        """Record that metadata cannot be changed, as no node runs."""
        if bool(self.running()) == (self.dark.since_us is None):
            return
        (self.dark.stops if self.running() else self.dark.starts)(self.env.now)

    def befalls(self, history: Iterable[Event]) -> Process:
        """Process the faults of a history. Raises ValueError for faults without rules."""
        for time_us, kind, about in history:
            if kind not in FAULTS:
                accepted = ", ".join(histories.NAMES[fault] for fault in FAULTS)
                raise ValueError(f"no such fault here: {histories.NAMES[kind]}; accepted: {accepted}")
            yield self.env.timeout(time_us - self.env.now)
            self.befall(kind, [node for node in self.nodes if about >> node.number & 1])

    def befall(self, kind: int, chosen: list[Node]) -> None:
        """Process the next fault."""
        if kind in (histories.CONSUMERS_AWAY, histories.CONSUMERS_BACK):
            self.trial.consumer.wants(kind == histories.CONSUMERS_BACK)
            return
        for node in chosen:
            node.wanted = kind == histories.START
        if kind == histories.START:
            self.start_idle()
        elif kind == histories.KILL:
            self.kill(chosen)
        else:
            for node in chosen:
                self.stop(node)

    # Going down

    def kill(self, nodes: list[Node]) -> None:
        """Kill nodes without warning."""
        self.trial.catches_up(self.env.now - 1)
        known = [node for node in nodes if node.status in (RUNNING, STOPPING)]
        for node in nodes:
            node.status, node.awaits = DOWN, False
        self.goes_dark()
        for node in known:
            failover.lose_master_at(self.trial.queue, node.number)
            self.departs(node)
        for node in known:
            self.trial.publisher.loses(node.number)

    def stop(self, node: Node) -> None:
        """Stop nodes in a controlled way."""
        if node.status == PAUSED:
            self.end(node)
        elif node.status == RUNNING:
            self.trial.after(0, self.shut_down, node)

    def shut_down(self, node: Node) -> None:
        """Begin to end a node's broker: its clients go first, and what they held returns to a master there."""
        queue, consumer = self.trial.queue, self.trial.consumer
        serves = node.status == RUNNING and queue.up and queue.master == node.number
        if serves and consumer.node == node.number and consumer.is_open:
            consumer.close()
            self.trial.after(0, self.shut_down, node)
        elif node.status == RUNNING:
            node.status = STOPPING
            self.goes_dark()
            failover.shut_master_down_at(self.trial.queue, node.number)
            self.departs(node)
            self.env.process(self.stops(node, node.boots))
            self.trial.publisher.loses(node.number)

    def stops(self, node: Node, boot: int) -> Process:
        """Until it has ended. One that did so by itself then waits until it may come back."""
        yield self.env.timeout(self.timing.stop_us)
        if node.status == STOPPING and node.boots == boot:
            self.trial.happens(self.stopped, node)

    def stopped(self, node: Node) -> None:
        """End the broker."""
        if node.awaits:
            node.status = PAUSED
            self.look_again()
        else:
            self.end(node)

    def end(self, node: Node) -> None:
        """Take a node down whose broker has ended."""
        node.status, node.awaits = DOWN, False
        self.decide_who_pauses()
        self.pause()
        if node.wanted:
            self.env.process(self.starts_idle())

    def departs(self, node: Node) -> None:
        """The others will notice that a node has gone, and what waits of its clients' channels waits for nobody."""
        self.trial.queue.mailbox.orphan(node.number)
        self.departures[node.number] = self.env.process(self.noticed(node))

    def noticed(self, node: Node) -> Process:
        """It takes them a link's latency, if the node is not back by then."""
        try:
            yield self.env.timeout(self.timing.link_latency_us)
        except simpy.Interrupt:
            return
        self.departures.pop(node.number, None)
        self.trial.happens(self.miss, node)

    def miss(self, gone: Node) -> None:
        """Let running nodes learn that a node is gone. Those that see too few nodes pause."""
        trial, replicas = self.trial, (self.trial.queue.master, *self.trial.queue.mirrors)
        for number in self.running():
            self.nodes[number].believes.discard(gone.number)
        self.decide_who_pauses()
        trial.confirms.client_gone(gone.number)
        if gone.number in replicas:
            failover.remove_from_queue(trial.queue)
        trial.consumer.loses(gone.number)
        self.pause()

    def is_unmissed(self, node: int) -> bool:
        """Return True if a node has gone and another still takes it for running."""
        running = self.running()
        return node not in running and any(node in self.nodes[watcher].believes for watcher in running)

    # pause_minority

    def sees_enough(self, node: Node) -> bool:
        """Return True if a node believes that it is connected to a majority."""
        seen = 1
        for other in self.nodes:
            if other is not node:
                runs = other.number in node.believes or other.status not in (DOWN, RUNNING)
                seen += runs if node.status == RUNNING else other.status != DOWN
        return has_majority(seen, len(self.nodes))

    def decide_who_pauses(self) -> None:
        """Mark running nodes that see too few others."""
        for number in self.running():
            node = self.nodes[number]
            node.awaits = node.awaits or not self.sees_enough(node)

    def pause(self) -> None:
        """Begin to stop the nodes that are to pause."""
        for number in self.running():
            if self.nodes[number].awaits:
                self.stop(self.nodes[number])

    def look_again(self) -> None:
        """Let paused nodes check in a second whether they may go on."""
        if not self.looks and any(node.status == PAUSED for node in self.nodes):
            self.looks = True
            self.env.process(self.looks_around())

    def looks_around(self) -> Process:
        """The second is over."""
        yield self.trial.later(POLL_US)
        self.looks = False
        for node in self.nodes:
            if node.status == PAUSED and self.sees_enough(node):
                self.boot(node)

    # Coming up

    def start_idle(self) -> None:
        """Boot nodes that are down though nothing keeps them down."""
        for node in self.nodes:
            if node.wanted and node.status == DOWN:
                self.boot(node)
        self.look_again()

    def starts_idle(self) -> Process:
        """With the next second somebody sees to them."""
        yield self.trial.next_second()
        self.start_idle()

    def boot(self, node: Node) -> None:
        """Start a node's broker."""
        node.status, node.boots, node.awaits = BOOTING, node.boots + 1, False
        self.env.process(self.boots(node, node.boots))

    def boots(self, node: Node, boot: int) -> Process:
        """A node boots, waits for those that may know more, gives up and is started again."""
        yield self.env.timeout(self.timing.start_us)
        if node.status != BOOTING or node.boots != boot:
            return
        self.trial.happens(self.finds_others, node)
        if node.status != WAITING:
            return
        others = any(other.status == WAITING for other in self.nodes if other is not node)
        rounds = 1 if others else self.trial.given.lone_boot_rounds
        yield self.trial.later(rounds * BOOT_RETRIES * self.timing.boot_retry_us)
        if node.status == WAITING and node.boots == boot:
            node.status = DOWN
            self.env.process(self.starts_idle())

    def finds_others(self, node: Node) -> None:
        """A node has booted as far as its tables. Every waiting node comes up that need not wait any longer."""
        node.status = WAITING
        while ready := [node for node in self.nodes if node.status == WAITING and not self.must_wait(node)]:
            self.come_up(ready[0])

    def must_wait(self, node: Node) -> bool:
        """Return True if a node waits for another that it believed running when it went down."""
        others = [self.nodes[number] for number in node.believes]
        return not self.running() and any(
            other.status != WAITING or node.number not in other.believes for other in others
        )

    def come_up(self, node: Node) -> None:
        """Let a node join its cluster."""
        if node.number in self.departures:
            self.departures.pop(node.number).interrupt()
            self.miss(node)
        others = self.running()
        node.status, node.believes, node.awaits = RUNNING, set(others), False
        self.goes_dark()
        for other in others:
            self.nodes[other].believes.add(node.number)
        failover.come_back(self.trial.queue, node.number, alone=not others)
        self.look_again()
        self.trial.tell_news()
