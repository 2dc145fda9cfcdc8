"""A mirrored queue while it lives: what it holds, what its mirrors lack of it, and how they are synchronised."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import simpy

from benchmarks.simpy_model import failover
from benchmarks.simpy_model.clock import Stopwatch
from benchmarks.simpy_model.mailbox import Mailbox
from benchmarks.simpy_model.nodes import Process
from hawb.engine.core import runs

if TYPE_CHECKING:
    from benchmarks.simpy_model.trial import Trial


class Queue:
    """A queue with a mirror on every node.

    `content` are the numbers of its messages, `taken` how many it has ever taken. A mirror holds all after message
    `since`, unless its `depth_unknown` keeps it from knowing whether that is all. `awaits_master` is
    True if no mirror can take over, and `absent` if no running node knows of the queue. `dead_gm_members` are the dead
    that its record still counts, with whether they count as synchronised.
    """

    def __init__(self, trial: Trial, mirrors: Iterable[int]) -> None:
        self.trial, self.cluster, self.env, self.given = trial, trial.cluster, trial.env, trial.given
        self.mailbox = Mailbox(trial)
        self.master, self.mirrors = 0, list(mirrors)
        self.synchronised = set(self.mirrors)
        self.since, self.depth_unknown = dict.fromkeys(range(trial.given.nodes), 0), set()
        self.up, self.stopped, self.awaits_master, self.absent = True, False, False, False
        self.dead_gm_members: dict[int, bool] = {}
        self.syncing: simpy.Process | None = None
        self.syncs_with: set[int] = set()
        self.content = self.lost = runs.EMPTY
        self.taken = self.refused = self.copies = 0
        self.promotions = self.unsynchronised_promotions = self.outages = 0
        self.down, self.blocked = Stopwatch(), Stopwatch()

    @property
    def lags(self) -> bool:
        """Whether a mirror lacks messages, or may."""
        return len(self.synchronised) < len(self.mirrors)

    def serves(self) -> bool:
        """Whether it does what clients ask for."""
        return self.up and self.syncing is None

    def is_busy(self) -> bool:
        """Whether what clients send waits."""
        return self.syncing is not None if self.up else not self.awaits_master

    def keeps(self) -> bool:
        """Whether what clients publish waits: also at mirrors that live without a master."""
        return self.is_busy() or (self.awaits_master and not self.absent and bool(self.living()))

    def living(self) -> set[int]:
        """The mirrors that are running processes."""
        return {node for node in self.mirrors if self.cluster.runs(node)}

    def silent(self) -> list[int]:
        """The mirrors that have died, while nobody has missed them."""
        return [node for node in self.mirrors if not self.cluster.runs(node)] if self.up else []

    # Messages

    def store(self, count: int) -> None:
        """Every replica that they reach takes messages."""
        self.content = runs.union(self.content, runs.run(self.taken + 1, count))
        self.taken += count
        self.copies += count * len(self.living())

    def take_out(self, some: runs.Runs) -> None:
        """Messages leave the queue in an orderly way, and its mirrors may lack none any more."""
        self.content = runs.minus(self.content, some)
        if some and self.lags:
            self.trial.after(0, self.synchronise_drained)

    def lose(self, some: runs.Runs) -> None:
        """Messages are gone for good."""
        self.content, self.lost = runs.minus(self.content, some), runs.union(self.lost, some)

    def up_to(self, last: int) -> runs.Runs:
        """What it holds up to a message."""
        if not self.content or self.content[-1][1] <= last:
            return self.content
        return runs.common(self.content, runs.run(1, last))

    # Mirrors

    def strike(self, nodes: Iterable[int]) -> None:
        """Mirrors leave the record."""
        gone = set(nodes)
        self.mirrors = [node for node in self.mirrors if node not in gone]
        self.synchronised -= gone

    def drop(self, nodes: set[int]) -> None:
        """Mirrors leave, and nobody waits for them any more."""
        self.strike(nodes)
        self.trial.confirms.forget(nodes)

    def add_mirrors(self) -> None:
        """Starts the mirrors that are missing."""
        for node in self.cluster.running():
            if node != self.master and node not in self.mirrors:
                self.start_mirror(node)

    def start_mirror(self, node: int) -> None:
        """A mirror is to join."""
        self.trial.after(self.given.link_us(self.master, node), self.join, node)

    def join(self, node: int) -> None:
        """A mirror joins, empty whatever it held before."""
        is_there = node in self.mirrors or (self.up and node == self.master)
        if is_there or not self.cluster.runs(node) or not (self.up or self.awaits_master):
            return
        self.mirrors.append(node)
        self.since[node] = self.taken
        self.depth_unknown.clear()
        self.dead_gm_members.pop(node, None)
        if self.dead_gm_members:
            self.trial.after(0, failover.remove_from_queue, self)
        self.synchronise_drained()
        self.trial.after(0, self.synchronise)

    def synchronise_drained(self) -> None:
        """Mirrors that hold all that the master holds are synchronised."""
        if self.lags and self.serves():
            known = self.living() - self.depth_unknown
            self.synchronised |= {node for node in known if not self.up_to(self.since[node])}

    # Explicit synchronisation

    def take_effect(self) -> None:
        """The master looks what its policy asks for."""
        if self.serves():
            self.add_mirrors()
            self.trial.after(0, self.synchronise)

    def synchronise(self) -> None:
        """ha-sync-mode automatic looks whether there is something to do."""
        invited = self.living() - self.synchronised
        if invited and self.given.syncs and self.serves():
            self.syncs_with = invited
            self.syncing = self.env.process(self.synchronises())
            self.blocked.starts(self.env.now)

    def synchronises(self) -> Process:
        """The master sends all that it holds, and serves nobody meanwhile. It may be interrupted."""
        messages = runs.size(self.content)
        try:
            yield self.env.timeout(self.given.sync_us(messages))
        except simpy.Interrupt:
            return
        self.trial.happens(self.finish_sync, messages)

    def finish_sync(self, messages: int) -> None:
        """The last batch has arrived: the mirrors that took part hold what the master holds."""
        took_part = self.syncs_with & self.living()
        self.since |= dict.fromkeys(took_part, 0)
        self.copies += messages * len(took_part)
        self.depth_unknown -= took_part
        self.end_sync()
        self.synchronise_drained()
        self.goes_on()

    def abort_sync(self) -> None:
        """A synchronisation ends early: the mirrors are left empty, and have lost count of the master's depth."""
        self.syncing.interrupt()
        left = self.syncs_with & set(self.mirrors)
        self.since |= dict.fromkeys(left, self.taken)
        self.depth_unknown |= left
        self.end_sync()
        if self.up:
            self.goes_on()

    def end_sync(self) -> None:
        """It serves clients again."""
        self.syncing, self.syncs_with = None, set()
        self.blocked.stops(self.env.now)

    def leave_sync(self, dead: set[int]) -> None:
        """Mirrors that died leave a synchronisation; without others it ends."""
        self.syncs_with -= dead
        if not self.syncs_with:
            self.abort_sync()

    def goes_on(self) -> None:
        """It serves again, from now on: next its policy takes effect, and what has waited tries again."""
        self.trial.after(0, self.take_effect)
        self.mailbox.release()
        self.trial.consumer.gets(flowing=False)
        self.trial.tell_news()
