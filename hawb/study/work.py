"""Planned work as the engine plays it: nodes are taken down and brought back one after another.

Which node and when depends on the cluster, so it is decided here, second by second, and not in the history:

* The next node goes down, in a controlled way, once it runs and `between_s` are over since the last one came back. With
  `await_online_synchronized_mirror` it waits, no longer than `await_timeout_s`, until it has no master without a
  running synchronised mirror, with `await_online_quorum_plus_one` until the queue's members would still be a majority
  without it (`rabbitmq-upgrade`, the commands of these names). With `drain` it is then put into maintenance mode, which
  its boot ends, a second before it stops: a drained node's own members have stopped, and the wait would not end.
* It is down for `down_s`, and longer if a failure keeps it down. When it runs again the queue is synchronised by hand,
  if the procedure says so; after the last node masters are rebalanced, which changes nothing for a lone queue.
* Work that is due while other work is under way is left out.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import inf
from typing import Protocol

from hawb.engine.core.state import Queue
from hawb.engine.core.turn import Turn
from hawb.rules.health_checks import mirror_check_applies, quorum_check_applies
from hawb.rules.quorum import is_critical
from hawb.scenario.beginning import microseconds
from hawb.scenario.fields import Verb
from hawb.scenario.verbs import Drain, Rebalance, Stop, SyncQueue
from hawb.study import histories
from hawb.study.design import QUEUE, Design, Upgrade
from hawb.study.environment import Environment

LOOK_US = 1_000_000
"""The interval between tries of clients, operators and service managers, in microseconds."""


def pause_us(upgrade: Upgrade) -> int:
    """Return the pause after a node is back before the next one goes down, in microseconds: at least one `LOOK_US`."""
    return max(LOOK_US, microseconds(upgrade.between_s))


class Operated(Protocol):
    """A cluster with planned work while it is played."""

    turn: Turn

    @property
    def queue(self) -> Queue | None:
        """Return the queue as the current partition has it."""

    def names(self, nodes: Iterable[int]) -> tuple[str, ...]:
        """Return the names of nodes."""

    def do(self, verb: Verb) -> None:
        """Play a step of a scenario now."""


class Work:
    """The work under way: the nodes that are `left`, of which the first is down or the next to stop."""

    def __init__(self, design: Design, environment: Environment):
        self._upgrade, self._version = design.upgrade, design.profile.version
        calendars = {
            histories.MAINTENANCE: environment.maintenance, histories.ROLLING_UPGRADE: environment.rolling_upgrades,
        }  # fmt: skip
        self._down_us = {kind: microseconds(given.down_s) for kind, given in calendars.items() if given}
        self.left: list[int] = []
        self._kind = 0
        self._away = self._coming = False
        self._from_us = self._asked_us = 0

    @property
    def keeps_down(self) -> int | None:
        """Return the node that is down for planned work."""
        return self.left[0] if self._away and not self._coming else None

    def begin(self, kind: int, nodes: list[int]) -> None:
        """Begin work that is due on nodes, unless other work is under way."""
        if not self.left:
            self.left, self._kind = nodes, kind
            self._away = self._coming = False
            self._from_us = self._asked_us = 0

    def due_us(self, now_us: int) -> float:
        """Return when the next part of the work is due, independent of the cluster's state; infinite if none is."""
        if not self.left:
            return inf
        times_us = [self._from_us]
        if self._asked_us:
            times_us.append(self._asked_us + microseconds(self._upgrade.await_timeout_s))
        return min((time_us for time_us in times_us if time_us > now_us), default=inf)

    def do_next(self, played: Operated) -> None:
        """Do the next part of the work that is possible now."""
        now_us = played.turn.now_us
        if not self.left or now_us < self._from_us:
            return
        runs = played.turn.runs_anywhere(self.left[0])
        if self._away:
            self._coming = True
            if runs:
                self._bring_back(played)
        elif runs:
            self._asked_us = self._asked_us or now_us
            drained = played.turn.nodes[self.left[0]].drained
            if not (drained or self._is_content(played) or self._has_waited(now_us)):
                return
            if self._upgrade.drain and not drained:
                played.do(Drain(node=played.names(self.left[:1])[0]))
                return
            played.do(Stop(played.names(self.left[:1])))
            self._away, self._coming, self._asked_us = True, False, 0
            self._from_us = now_us + self._down_us[self._kind]

    def _bring_back(self, played: Operated) -> None:
        played.turn.look_from(self.left[0])
        queue = played.queue
        if self._upgrade.sync_queue and queue is not None and queue.mirrored and queue.up:
            played.do(SyncQueue(QUEUE))
        self.left = self.left[1:]
        if self._upgrade.rebalance and not self.left:
            played.do(Rebalance())
        self._away = self._coming = False
        self._from_us = played.turn.now_us + pause_us(self._upgrade)

    def _has_waited(self, now_us: int) -> bool:
        return now_us >= self._asked_us + microseconds(self._upgrade.await_timeout_s)

    def _is_content(self, played: Operated) -> bool:
        turn, node = played.turn, self.left[0]
        turn.look_from(node)
        queue = played.queue
        if queue is None:
            return True
        if self._upgrade.await_online_synchronized_mirror and mirror_check_applies(len(turn.nodes)):
            here = queue.mirrored and queue.up and queue.master == node
            return not here or any(map(turn.is_running, queue.synchronised))
        if self._upgrade.await_online_quorum_plus_one and quorum_check_applies(len(turn.nodes), False, self._version):
            stopped = turn.groups[queue.name].stopped
            online = [member for member in queue.members if turn.is_running(member) and not stopped >> member & 1]
            return node not in queue.members or not is_critical(len(online), len(queue.members))
        return True
