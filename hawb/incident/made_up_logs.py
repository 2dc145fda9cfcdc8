"""Made-up logs of clusters whose rates are known, in RabbitMQ's own words: for trying out what reads them.

What happens to a cluster is a history of a study (`hawb.study.histories`), so the rates are those of an environment,
and the same environment, seed and number give the same bytes. Nodes say what those of 3.13 do of boots, stops, of each
other, and of a mirrored queue that is synchronised after a boot; one that is killed says nothing, and others miss it,
after net_ticktime where it lost power. All clocks are right. None of it is anybody's.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

from hawb.incident.absences import SILENCE
from hawb.scenario.document import Timing
from hawb.study import histories
from hawb.study.environment import Environment
from hawb.study.histories import DAY_US, SECOND_US

FIRST = datetime(2025, 1, 1, tzinfo=UTC)
"""When logs begin."""
TICKTIME_US, BOOT_US, BETWEEN_US = 60 * SECOND_US, 5 * SECOND_US, 60 * SECOND_US
"""Time until a node without power is seen as down, duration of a boot, and pause of a rolling restart between two
nodes."""
ALIVE_US = 7 * DAY_US
"""Interval at which each node logs something in any case: a client connects."""
BOOTS = " Starting RabbitMQ 3.13.7 on Erlang 26.2.5 [jit]\n\n  node           : "
QUEUE = "Mirrored queue 'orders' in vhost '/': Synchronising: "
DEEPEST = 200_000
"""Maximum number of messages that are synchronised."""
UNEVEN = 0.3
"""Standard deviation of the logarithm of the synchronisation rate."""
NAMES = "abcdefghijklmnopqrstuvwxyz"


def write(
    folder: Path, environment: Environment, clusters: int, nodes: int = 3, days: float = 365, seed: int = 0,
    before_days: float = 0,
) -> None:  # fmt: skip
    """Write logs of `days` of so many clusters, a folder each with a file for each node.

    The clusters start `before_days` before the logs begin: with 0 each log begins with a boot. Raise OSError if a file
    cannot be written.
    """
    for number in range(clusters):
        place = folder / f"cluster-{number:04}"
        place.mkdir(parents=True)
        for node, lines in enumerate(_Cluster(environment, nodes, days, seed, number, before_days).play()):
            (place / f"{_called(node)}.log").write_text("".join(_lines(lines)), encoding="utf-8")


def _lines(messages: list[tuple[int, str]]) -> Iterator[str]:
    """Yield messages as lines. Lines of one time belong to one message, so each message has its own time."""
    last_us = -1
    for at_us, said in messages:
        last_us = max(at_us, last_us + 1)
        yield from (f"{_time(last_us)} [info] <0.229.0> {line}\n" for line in said.split("\n"))


def _time(at_us: int) -> str:
    return f"{(FIRST + timedelta(microseconds=at_us)).strftime('%Y-%m-%d %H:%M:%S.%f')}+00:00"


def _called(node: int) -> str:
    return f"rabbit@{NAMES[node]}"


class _Cluster:
    """A simulated cluster: the nodes that run, the messages that each node has logged, and the events that are due."""

    def __init__(
        self, environment: Environment, nodes: int, days: float, seed: int, number: int, before_days: float
    ) -> None:
        self.nodes, self.begin_us, self.end_us = (
            nodes,
            round(before_days * DAY_US),
            round((before_days + days) * DAY_US),
        )
        self.environment, self.timing = environment, environment.timing or Timing()
        self.history = histories.history(environment, nodes, seed, number, self.end_us)
        self.random = Random(f"{seed} {number}")
        self.runs, self.empty = [True] * nodes, [False] * nodes
        self.logged: list[list[tuple[int, str]]] = [[] for _ in range(nodes)]
        self.cut: set[int] = set()
        self.missing: set[int] = set()
        self.due: list[tuple[int, int, Callable[..., None], tuple]] = []
        self.count = 0

    def play(self) -> list[list[tuple[int, str]]]:
        """Return what each node logs, in order."""
        if not self.begin_us:
            self.runs = [False] * self.nodes
            for node in range(self.nodes):
                self.then(node * SECOND_US, self.start, node)
        for at_us in range(self.begin_us + SECOND_US, self.end_us, ALIVE_US):
            self.then(at_us, self.go_on)
        for at_us, kind, nodes in self.history:
            self.then(int(at_us), self.happen, int(kind), int(nodes))
        self.then(self.end_us - SECOND_US, self.go_on)
        while self.due:
            at_us, _, what, given = heapq.heappop(self.due)
            if at_us < self.end_us:
                what(at_us, *given)
        return [sorted(lines, key=lambda line: line[0]) for lines in self.logged]

    def then(self, at_us: int, what: Callable[..., None], *given: object) -> None:
        """Schedule a call."""
        self.count += 1
        heapq.heappush(self.due, (at_us, self.count, what, given))

    def say(self, node: int, at_us: int, *said: str) -> None:
        """Log messages of a node, once the logs have begun."""
        if at_us >= self.begin_us:
            self.logged[node] += [(at_us - self.begin_us, one) for one in said]

    def seers(self, node: int) -> Iterator[int]:
        """Yield the running nodes that reach another node."""
        return (one for one in range(self.nodes)
                if one != node and self.runs[one] and (one in self.cut) == (node in self.cut))  # fmt: skip

    def happen(self, at_us: int, kind: int, nodes: int) -> None:
        """Apply an event of the history."""
        named = [node for node in range(self.nodes) if nodes >> node & 1]
        if kind == histories.START:
            for node in named:
                self.start(at_us, node)
        elif kind in (histories.STOP, histories.KILL, histories.POWER_OFF):
            going = [node for node in named if self.runs[node]]
            for node in going:
                self.runs[node] = False
            for node in going:
                self.go(at_us, node, kind)
        elif kind == histories.LOSE_DISK:
            for node in named:
                self.empty[node] = True
        elif kind == histories.ROLLING_UPGRADE:
            away_us = round(self.environment.rolling_upgrades.down_s * SECOND_US)
            for node in range(self.nodes):
                self.then(at_us + node * (away_us + BETWEEN_US), self.restart, node, away_us)
        elif kind in (histories.CUT, histories.HEAL):
            self.part(at_us, set(named) if kind == histories.CUT else set())

    def go(self, at_us: int, node: int, kind: int) -> None:
        """Stop a node, and have the others log it."""
        if kind == histories.STOP:
            self.say(node, at_us, "RabbitMQ is asked to stop...")
            self.say(node, at_us + SECOND_US, "Successfully stopped RabbitMQ and its dependencies",
                     "Halting Erlang VM with the following applications:")  # fmt: skip
        late, why = (TICKTIME_US, SILENCE) if kind == histories.POWER_OFF else (1000, "connection_closed")
        self.then(at_us + late, self.notice_down, node, why)

    def notice_down(self, at_us: int, node: int, why: str) -> None:
        """Have the other nodes log that a node is down."""
        if not self.runs[node]:
            for seer in self.seers(node):
                self.say(seer, at_us, f"rabbit on node {_called(node)} down",
                         f"node {_called(node)} down: {why}")  # fmt: skip

    def start(self, at_us: int, node: int) -> None:
        """Boot a node."""
        if self.runs[node]:
            return
        self.say(node, at_us, f"{BOOTS}{_called(node)}")
        if self.empty[node] or (not self.begin_us and not self.logged[node][2:]):
            self.say(node, at_us + 10, "DB: virgin node -> run peer discovery")
        self.runs[node], self.empty[node] = True, False
        done_us = at_us + BOOT_US
        for other in self.seers(node):
            self.say(other, done_us - SECOND_US, f"node {_called(node)} up", f"rabbit on node {_called(node)} up")
            self.say(node, done_us - SECOND_US, f"rabbit on node {_called(other)} up")
        self.say(node, done_us, "Server startup complete; 3 plugins started.")
        if other := next(self.seers(node), None):
            self.then(done_us + SECOND_US, self.synchronise, other)

    def restart(self, at_us: int, node: int, away_us: int) -> None:
        """Restart a node as part of a rolling restart."""
        if self.runs[node]:
            self.happen(at_us, histories.STOP, 1 << node)
            self.then(at_us + away_us, self.start, node)

    def synchronise(self, at_us: int, master: int) -> None:
        """Synchronise the mirror that has come back."""
        messages = self.random.randint(1000, DEEPEST)
        uneven = math.exp(self.random.gauss(-(UNEVEN**2) / 2, UNEVEN))
        lasts_us = round(messages / self.timing.sync_messages_s * SECOND_US * uneven)
        self.say(master, at_us, f"{QUEUE}{messages} messages to synchronise")
        self.then(at_us + lasts_us, self.synchronised, master)

    def synchronised(self, at_us: int, master: int) -> None:
        """Complete a synchronisation if the master still runs."""
        if self.runs[master]:
            self.say(master, at_us, f"{QUEUE}complete")

    def part(self, at_us: int, cut: set[int]) -> None:
        """Change the cut: nodes inside and outside lose contact, or find each other again."""
        former, self.cut = self.cut, cut
        self.then(at_us + TICKTIME_US, self.miss_side, cut)
        for seer, peer in self.across(former & self.missing):
            met = f"mnesia_event got {{inconsistent_database, running_partitioned_network, '{_called(peer)}'}}"
            self.say(seer, at_us, f"node {_called(peer)} up", f"Mnesia('{_called(seer)}'): ** ERROR ** {met}",
                     f"rabbit on node {_called(peer)} up")  # fmt: skip
        self.missing = set()

    def miss_side(self, at_us: int, cut: set[int]) -> None:
        """Have both sides of a cut log it, if it still exists."""
        if cut and cut == self.cut:
            self.missing = cut
            for seer, peer in self.across(cut):
                self.say(seer, at_us, f"rabbit on node {_called(peer)} down",
                         f"node {_called(peer)} down: net_tick_timeout")  # fmt: skip

    def across(self, cut: set[int]) -> Iterator[tuple[int, int]]:
        """Yield the pairs of running nodes on both sides of a cut."""
        running = [node for node in range(self.nodes) if self.runs[node]]
        return ((one, other) for one in running for other in running if cut and (one in cut) != (other in cut))

    def go_on(self, at_us: int) -> None:
        """Let each running node log a message."""
        for node in range(self.nodes):
            if self.runs[node]:
                self.say(node, at_us, "accepting AMQP connection <0.900.0> (10.0.0.9:40000 -> 10.0.0.1:5672)")
