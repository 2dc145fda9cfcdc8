"""The yardstick's mirrored queue in SimPy, as one would write it without a kernel: a process for everything that
happens, and an agenda that SimPy keeps. It is what the kernel's speed is compared with.

It plays the histories of a design of three nodes, all of them replicas, with `pause_minority`: who dies, who notices,
who pauses and comes back, who is promoted, how long nobody serves the queue. `tests/test_simpy_queue.py` holds it to
the kernel, history by history. Promotion and majority are asked of `hawb.rules`, as engine and kernel do.

What it leaves out is messages and clients: a mirror that joins holds at once what the master holds. With messages that
are consumed within milliseconds that is so but for a death in those milliseconds, and nothing is lost. And it leaves
out in which order mirrors that are started at once join, which is by lot under ha-mode exactly. The kernel does all of
it, so that a comparison of their speeds is in SimPy's favour.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable

import simpy
from msgspec import Struct

from hawb.engine import chance
from hawb.engine.membership import BOOT_RETRIES
from hawb.engine.partition_handling import POLL_US
from hawb.rules.partitions import has_majority
from hawb.rules.profiles import PROFILES
from hawb.rules.promotion import ALWAYS, NOBODY, WHEN_SYNCED, candidate, refuses_on_failure, takes_mirrors_down
from hawb.scenario.beginning import timing_of
from hawb.scenario.document import Timing
from hawb.study import histories
from hawb.study.design import Design
from hawb.study.environment import Environment
from hawb.study.played import LOOK_US

FIRST = 1
"""The number of the first draw in a trial."""

RUNNING, STOPPING, DOWN, BOOTING, WAITING, PAUSED = range(6)

Event = tuple[int, int, int]
"""A row of a history (`hawb.study.histories`)."""

Process = Generator[simpy.Event, object, None]


class Told(Struct, frozen=True):
    """What has come of a trial, under the names of `hawb.study.record.Record`, times in microseconds."""

    promotions: int
    unsynchronised_promotions: int
    outages: int
    publish_down_us: int


def told_of(design: Design, environment: Environment, seed: int, history: Iterable[Event], horizon_us: int) -> Told:
    """What comes of one history. The `seed` draws the mirrors' order (`hawb.study.played.own_seed`), by lot but under
    ha-mode all."""
    mirrors = range(1, design.nodes)
    if design.definition["ha-mode"] == "exactly":
        mirrors = chance.shuffled(mirrors, seed, chance.SHUFFLE_MIRRORS, FIRST, 0)
    rounds = PROFILES[design.version].lone_boot_rounds
    cluster = Cluster(simpy.Environment(), list(mirrors), environment.timing, rounds)
    cluster.env.process(cluster.befalls(history))
    cluster.env.run(until=horizon_us)
    return cluster.queue.told()


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


class Cluster:
    """Nodes that die, stop, pause and come back."""

    def __init__(self, env: simpy.Environment, mirrors: list[int], timing: Timing, rounds: int) -> None:
        self.env, self.timing, self.rounds = env, timing_of(timing), rounds
        self.nodes = [Node(number, len(mirrors) + 1) for number in range(len(mirrors) + 1)]
        self.departures: dict[int, simpy.Process] = {}
        self.looks = False
        self.queue = Queue(self, mirrors)

    def running(self) -> list[int]:
        """The nodes that run."""
        return [node.number for node in self.nodes if node.status == RUNNING]

    def befalls(self, history: Iterable[Event]) -> Process:
        """What the history holds: nodes that die, and nodes that nothing keeps down any more. Raises ValueError for
        other faults, which it has no rules for."""
        for time_us, kind, about in history:
            if kind not in (histories.START, histories.KILL):
                raise ValueError(f"no such fault here: {histories.NAMES[kind]}; accepted: start, kill")
            yield self.env.timeout(time_us - self.env.now)
            chosen = [node for node in self.nodes if about >> node.number & 1]
            for node in chosen:
                node.wanted = kind == histories.START
            if kind == histories.START:
                self.start_idle()
            else:
                self.kill(chosen)

    def kill(self, nodes: list[Node]) -> None:
        """Nodes die without warning."""
        known = [node for node in nodes if node.status in (RUNNING, STOPPING)]
        for node in nodes:
            node.status, node.awaits = DOWN, False
        for node in known:
            self.queue.ends_at(node.number, stopped=False)
            self.departs(node)

    def start_idle(self) -> None:
        """Nodes boot that are down though nothing keeps them down."""
        for node in self.nodes:
            if node.wanted and node.status == DOWN:
                self.boot(node)
        self.look_again()

    def starts_idle(self) -> Process:
        """With the next second somebody sees to them."""
        yield self.env.timeout(LOOK_US - self.env.now % LOOK_US)
        self.start_idle()

    def boot(self, node: Node) -> None:
        """A node's broker starts."""
        node.status, node.boots, node.awaits = BOOTING, node.boots + 1, False
        self.env.process(self.boots(node, node.boots))

    def departs(self, node: Node) -> None:
        """The others will notice that a node has gone."""
        self.departures[node.number] = self.env.process(self.noticed(node))

    def noticed(self, node: Node) -> Process:
        """It takes them a link's latency, if the node is not back by then."""
        try:
            yield self.env.timeout(self.timing.link_latency_us)
        except simpy.Interrupt:
            return
        self.departures.pop(node.number)
        self.miss(node)

    def miss(self, gone: Node) -> None:
        """Whoever runs knows that a node is gone, and those who see too few pause."""
        for number in self.running():
            self.nodes[number].believes.discard(gone.number)
        self.decide_who_pauses()
        if gone.number in (self.queue.master, *self.queue.mirrors):
            self.queue.bury()
        self.pause()

    def sees_enough(self, node: Node) -> bool:
        """Whether a node takes a majority for connected."""
        seen = 1
        for other in self.nodes:
            if other is not node:
                runs = other.number in node.believes or other.status not in (DOWN, RUNNING)
                seen += runs if node.status == RUNNING else other.status != DOWN
        return has_majority(seen, len(self.nodes))

    def decide_who_pauses(self) -> None:
        """Those that run and see too few."""
        for number in self.running():
            node = self.nodes[number]
            node.awaits = node.awaits or not self.sees_enough(node)

    def pause(self) -> None:
        """Those that are to pause begin to stop."""
        for number in self.running():
            if self.nodes[number].awaits:
                self.env.process(self.stops(self.nodes[number]))

    def stops(self, node: Node) -> Process:
        """A node stops by itself, and waits until it may come back."""
        yield self.env.timeout(0)
        if node.status != RUNNING:
            return
        node.status, boot = STOPPING, node.boots
        self.queue.ends_at(node.number, stopped=True)
        self.departs(node)
        yield self.env.timeout(self.timing.stop_us)
        if node.status == STOPPING and node.boots == boot:
            node.status = PAUSED
            self.look_again()

    def look_again(self) -> None:
        """Something has changed: in a second paused nodes look whether they may go on."""
        if not self.looks and any(node.status == PAUSED for node in self.nodes):
            self.looks = True
            self.env.process(self.looks_around())

    def looks_around(self) -> Process:
        """The second is over."""
        yield self.env.timeout(POLL_US)
        self.looks = False
        for node in self.nodes:
            if node.status == PAUSED and self.sees_enough(node):
                self.boot(node)

    def boots(self, node: Node, boot: int) -> Process:
        """A node boots, waits for those that may know more, gives up and is started again."""
        yield self.env.timeout(self.timing.start_us)
        if node.status != BOOTING or node.boots != boot:
            return
        node.status = WAITING
        self.let_in()
        if node.status != WAITING:
            return
        others = any(other.status == WAITING for other in self.nodes if other is not node)
        yield self.env.timeout((1 if others else self.rounds) * BOOT_RETRIES * self.timing.boot_retry_us)
        if node.status == WAITING and node.boots == boot:
            node.status = DOWN
            self.env.process(self.starts_idle())

    def let_in(self) -> None:
        """Every waiting node comes up that need not wait any longer."""
        while ready := [node for node in self.nodes if node.status == WAITING and not self.must_wait(node)]:
            self.come_up(ready[0])

    def must_wait(self, node: Node) -> bool:
        """Whether a node waits for one that it believed running when it went."""
        others = [self.nodes[number] for number in node.believes]
        return not self.running() and any(
            other.status != WAITING or node.number not in other.believes for other in others
        )

    def come_up(self, node: Node) -> None:
        """A node joins its cluster."""
        if node.number in self.departures:
            self.departures.pop(node.number).interrupt()
            self.miss(node)
        others = self.running()
        node.status, node.believes, node.awaits = RUNNING, set(others), False
        for other in others:
            self.nodes[other].believes.add(node.number)
        self.queue.comes_back(node.number, alone=not others)
        self.look_again()


class Queue:
    """A mirrored queue on all nodes, under ha-promote-on-failure always and ha-promote-on-shutdown when-synced."""

    def __init__(self, cluster: Cluster, mirrors: list[int]) -> None:
        self.cluster, self.env = cluster, cluster.env
        self.master, self.mirrors = 0, mirrors
        self.synchronised = set(self.mirrors)
        self.up, self.stopped, self.abandoned, self.absent = True, False, False, False
        self.unburied: dict[int, bool] = {}
        self.promotions = self.unsynchronised = self.outages = self.down_us = self.since_us = 0

    def told(self) -> Told:
        """What has come of it by now."""
        down_us = self.down_us + (0 if self.up else self.env.now - self.since_us)
        return Told(self.promotions, self.unsynchronised, self.outages, down_us)

    def serves(self, master: int) -> None:
        """A node serves the queue from now on."""
        self.master, self.up, self.abandoned, self.unburied = master, True, False, {}
        self.down_us += self.env.now - self.since_us
        self.env.process(self.takes_effect())

    def takes_effect(self) -> Process:
        """Next the master looks what its policy asks for."""
        yield self.env.timeout(0)
        if self.up:
            self.add_mirrors()

    def ends_at(self, node: int, stopped: bool) -> None:
        """A node ends, and the queue's master if it is there. In a controlled way that takes along mirrors of which
        none is synchronised."""
        if not self.up or self.master != node:
            return
        self.up, self.stopped = False, stopped
        self.outages, self.since_us = self.outages + 1, self.env.now
        living = set(self.mirrors) & set(self.cluster.running())
        if stopped and living and takes_mirrors_down(len(self.synchronised), WHEN_SYNCED):
            self.strike(self.mirrors)
            self.abandon()

    def strike(self, nodes: Iterable[int]) -> None:
        """Mirrors leave the record."""
        gone = set(nodes)
        self.mirrors = [node for node in self.mirrors if node not in gone]
        self.synchronised -= gone

    def abandon(self) -> None:
        """No replica may serve the queue: it waits for its master's node."""
        self.synchronised, self.abandoned = set(), True

    def is_unmissed(self, node: int) -> bool:
        """Whether a node has gone and somebody still takes it for running."""
        nodes, running = self.cluster.nodes, self.cluster.running()
        return node not in running and any(node in nodes[watcher].believes for watcher in running)

    def bury(self) -> None:
        """The survivors act on the deaths of the others."""
        if not self.abandoned and self.is_unmissed(self.master):
            return
        running = set(self.cluster.running()) - {self.master}
        alive = sorted(running & set(self.mirrors) | ({self.master} if self.up else set()))
        dead = [node for node in self.mirrors if node not in alive]
        heir = candidate(self.master, self.mirrors, alive)
        counted = len(self.synchronised) + sum(self.unburied.values())
        if heir == self.master or (self.abandoned and not dead and not self.unburied):
            self.bury_mirrors(dead)
        elif heir == NOBODY:
            self.leave_unburied(dead)
        elif not refuses_on_failure(counted, ALWAYS):
            self.promote(heir)

    def bury_mirrors(self, dead: list[int]) -> None:
        """Mirrors that died are struck out, and others started."""
        self.strike(dead)
        if dead and not self.abandoned:
            self.add_mirrors()

    def leave_unburied(self, dead: list[int]) -> None:
        """Nobody is left to strike the dead out of the record."""
        first = not self.abandoned
        taken_along = self.stopped and takes_mirrors_down(len(self.synchronised), WHEN_SYNCED)
        unburied = {self.master: False} if first else self.unburied
        unburied |= {node: node in self.synchronised for node in dead}
        self.unburied = {} if first and taken_along else unburied
        if first:
            self.abandon()
        self.strike(dead)

    def promote(self, heir: int) -> None:
        """The oldest mirror becomes master."""
        self.promotions += 1
        self.unsynchronised += heir not in self.synchronised
        keep = set(self.mirrors) & set(self.cluster.running()) - {heir}
        self.strike(set(self.mirrors) - keep)
        self.serves(heir)
        self.synchronise()

    def comes_back(self, node: int, alone: bool) -> None:
        """What the queue makes of a node that is back: its master serves it from its disk, another joins."""
        if alone and self.master != node:
            self.unburied, self.absent = {}, True
            self.strike(self.mirrors)
        if self.absent and self.master != node:
            return
        self.strike([node])
        if self.master != node:
            self.env.process(self.joins(node))
        elif not self.up:
            self.strike(self.mirrors)
            self.absent = False
            self.serves(node)
            self.add_mirrors()

    def add_mirrors(self) -> None:
        """Starts the mirrors that are missing."""
        for node in self.cluster.running():
            if node != self.master and node not in self.mirrors:
                self.env.process(self.joins(node))

    def joins(self, node: int) -> Process:
        """A mirror joins, and holds what the master holds as soon as there is one."""
        yield self.env.timeout(self.cluster.timing.link_latency_us)
        is_there = node in self.mirrors or (self.up and node == self.master)
        if is_there or node not in self.cluster.running() or not (self.up or self.abandoned):
            return
        self.mirrors.append(node)
        self.unburied.pop(node, None)
        if self.unburied:
            self.bury()
        self.synchronise()

    def synchronise(self) -> None:
        """Mirrors that run hold what the master holds."""
        if self.up:
            self.synchronised |= set(self.mirrors) & set(self.cluster.running())
