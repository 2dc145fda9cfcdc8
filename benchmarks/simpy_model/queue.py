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
        """Return True if a mirror lacks messages, or may lack some."""
        return len(self.synchronised) < len(self.mirrors)

    def serves(self) -> bool:
        """Return True if the queue serves clients."""
        return self.up and self.syncing is None

    def is_busy(self) -> bool:
        """Return True if what clients send waits."""
        return self.syncing is not None if self.up else not self.awaits_master

    def keeps(self) -> bool:
        """Return True if published messages wait, including at mirrors without a master."""
        return self.is_busy() or (self.awaits_master and not self.absent and bool(self.living()))

    def living(self) -> set[int]:
        """Return the running mirrors."""
        return {node for node in self.mirrors if self.cluster.runs(node)}

    def silent(self) -> list[int]:
        """Return mirrors that have died and that no node has missed yet."""
        return [node for node in self.mirrors if not self.cluster.runs(node)] if self.up else []

    # Messages

    def store(self, count: int) -> None:
        """Store messages on every replica that they reach."""
        self.content = runs.union(self.content, runs.run(self.taken + 1, count))
        self.taken += count
        self.copies += count * len(self.living())

    def take_out(self, some: runs.Runs) -> None:
        """Remove messages from the queue's head. Its mirrors may lack none afterwards."""
        self.content = runs.minus(self.content, some)
        if some and self.lags:
            self.trial.after(0, self.synchronise_drained)

    def lose(self, some: runs.Runs) -> None:
        """Lose messages for good."""
        self.content, self.lost = runs.minus(self.content, some), runs.union(self.lost, some)

    def up_to(self, last: int) -> runs.Runs:
        """What it holds up to a message."""
        if not self.content or self.content[-1][1] <= last:
            return self.content
        return runs.common(self.content, runs.run(1, last))

    # Mirrors

    def strike(self, nodes: Iterable[int]) -> None:
        """Remove mirrors from the record."""
        gone = set(nodes)
        self.mirrors = [node for node in self.mirrors if node not in gone]
        self.synchronised -= gone

    def drop(self, nodes: set[int]) -> None:
        """Remove mirrors that no confirm waits for any more."""
        self.strike(nodes)
        self.trial.confirms.forget(nodes)

    def add_mirrors(self) -> None:
        """Start missing mirrors."""
        for node in self.cluster.running():
            if node != self.master and node not in self.mirrors:
                self.start_mirror(node)

    def start_mirror(self, node: int) -> None:
        """Start to add a mirror."""
        self.trial.after(self.given.link_us(self.master, node), self.join, node)

    def join(self, node: int) -> None:
        """Add an empty mirror, whatever it held before."""
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
        """Mark mirrors as synchronised that hold all that the master holds."""
        if self.lags and self.serves():
            known = self.living() - self.depth_unknown
            self.synchronised |= {node for node in known if not self.up_to(self.since[node])}

    # Explicit synchronisation

    def take_effect(self) -> None:
        """Let the master apply its policy."""
        if self.serves():
            self.add_mirrors()
            self.trial.after(0, self.synchronise)

    def synchronise(self) -> None:
        """Start a synchronisation if ha-sync-mode is automatic and a mirror needs one."""
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
        """End a synchronisation with its last batch: mirrors that took part hold what the master holds."""
        took_part = self.syncs_with & self.living()
        self.since |= dict.fromkeys(took_part, 0)
        self.copies += messages * len(took_part)
        self.depth_unknown -= took_part
        self.end_sync()
        self.synchronise_drained()
        self.goes_on()

    def abort_sync(self) -> None:
        """End a synchronisation early: the mirrors are empty and do not know the master's depth."""
        self.syncing.interrupt()
        left = self.syncs_with & set(self.mirrors)
        self.since |= dict.fromkeys(left, self.taken)
        self.depth_unknown |= left
        self.end_sync()
        if self.up:
            self.goes_on()

    def end_sync(self) -> None:
        """Serve clients again."""
        self.syncing, self.syncs_with = None, set()
        self.blocked.stops(self.env.now)

    def leave_sync(self, dead: set[int]) -> None:
        """Remove dead mirrors from a synchronisation, which ends if none is left."""
        self.syncs_with -= dead
        if not self.syncs_with:
            self.abort_sync()

    def goes_on(self) -> None:
        """Serve again: the policy takes effect first, then waiting operations try again."""
        self.trial.after(0, self.take_effect)
        self.mailbox.release()
        self.trial.consumer.gets(flowing=False)
        self.trial.tell_news()
