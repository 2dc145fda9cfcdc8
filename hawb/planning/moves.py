"""List the possible next steps of a search: the faults and operations that a cluster's state allows, and their times.

A fault happens to a cluster; an operator or a client performs an operation. Nodes that are killed together count as
that many faults. A publish is one message to a queue from one partition, and waits for its confirm. Waiting is free: it
lasts as long as nodes need to detect that another node is down or back.

Left out: crashes of single processes, single broken links, alarms, policy changes, consumers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations
from typing import NamedTuple

from hawb.engine.core.moment import Moment
from hawb.engine.core.settings import Settings
from hawb.engine.core.state import DOWN, RUNNING, State
from hawb.scenario.beginning import MICROSECONDS
from hawb.scenario.fields import Verb
from hawb.scenario.run import Run
from hawb.scenario.verbs import Heal, Kill, Partition, PowerOff, Publish, Start, Stop, SyncQueue, Wait, Wipe

PATIENCE = 1.25
"""Number of net_ticktimes after which silent nodes are seen as down (Erlang checks four times in each)."""


class Spent(NamedTuple):
    """Numbers of faults and operations that a scenario has, or may have."""

    faults: int = 0
    operations: int = 0

    def __add__(self, other: tuple[int, int]) -> Spent:  # type: ignore[override]
        return Spent(self.faults + other[0], self.operations + other[1])

    def within(self, other: Spent) -> bool:
        """Return True if neither number exceeds that of `other`."""
        return self.faults <= other.faults and self.operations <= other.operations


class Move(NamedTuple):
    """A possible step, and the faults and operations that it counts as."""

    verb: Verb
    cost: Spent


Moves = Callable[[Moment, Settings], Iterator[Move]]
FAULT, OPERATION = Spent(faults=1), Spent(operations=1)


def _kills(moment: Moment, settings: Settings) -> Iterator[Move]:
    running = _running(moment.state, settings)
    for count in range(1, len(running) + 1):
        for nodes in combinations(running, count):
            yield Move(Kill(nodes), Spent(faults=count))


def _power_losses(moment: Moment, settings: Settings) -> Iterator[Move]:
    for node in _running(moment.state, settings):
        yield Move(PowerOff((node,)), FAULT)


def _partitions(moment: Moment, settings: Settings) -> Iterator[Move]:
    """Yield every way to split the running nodes in two, while the network is whole."""
    first, *others = _running(moment.state, settings) or [None]
    if moment.state.cuts or len(moment.state.sides) > 1:
        return
    for count in range(1, len(others) + 1):
        for away in combinations(others, count):
            here = tuple(node for node in (first, *others) if node not in away)
            yield Move(Partition((here, away)), FAULT)


def _lost_disks(moment: Moment, settings: Settings) -> Iterator[Move]:
    for index, node in enumerate(moment.state.nodes):
        if node.status == DOWN and node.member and not node.virgin:
            yield Move(Wipe(settings.names[index]), FAULT)


def _stops(moment: Moment, settings: Settings) -> Iterator[Move]:
    for node in _running(moment.state, settings):
        yield Move(Stop((node,)), OPERATION)


def _starts(moment: Moment, settings: Settings) -> Iterator[Move]:
    for index, node in enumerate(moment.state.nodes):
        if node.status == DOWN and node.member:
            yield Move(Start((settings.names[index],)), OPERATION)


def _publishes(moment: Moment, settings: Settings) -> Iterator[Move]:
    """Yield a publish to each queue of each partition at its first running node, where its clients connect."""
    for side in moment.state.sides:
        nodes = [node for node in moment.state.nodes_of(side) if moment.state.nodes[node].status == RUNNING]
        for name in sorted(side.queues) if nodes else ():
            yield Move(Publish(queue=name, count=1, node=settings.names[nodes[0]]), OPERATION)


def _synchronisations(moment: Moment, settings: Settings) -> Iterator[Move]:
    for name, queue in sorted(moment.state.queues.items()):
        if not queue.has_group and queue.up and queue.sync is None and set(queue.mirrors) - set(queue.synchronised):
            yield Move(SyncQueue(name), OPERATION)


def _heal(moment: Moment, settings: Settings) -> Iterator[Move]:
    if moment.state.cuts:
        yield Move(Heal(), OPERATION)


def _wait(moment: Moment, settings: Settings) -> Iterator[Move]:
    state = moment.state
    if state.cuts or len(state.sides) > 1 or any(node.silent for node in state.nodes):
        yield Move(Wait(PATIENCE * settings.net_ticktime_s), Spent())


MOVES: dict[str, Moves] = {
    "wait": _wait,
    "publish": _publishes,
    "start": _starts,
    "sync_queue": _synchronisations,
    "heal": _heal,
    "stop": _stops,
    "kill": _kills,
    "power_off": _power_losses,
    "partition": _partitions,
    "wipe": _lost_disks,
}
"""Moves by verb, in the order they are tried: of two scenarios of one length that with the milder step wins."""


class Instant(NamedTuple):
    """A time for the next step, as `at` in a scenario (None: once the cluster has settled), and the moment then."""

    at: float | None
    moment: Moment


def instants(run: Run) -> Iterator[Instant]:
    """Yield the times for the next step.

    They are: when the cluster has settled; at once, if anything is in flight; and in the middle of each synchronisation
    until the cluster has settled.
    """
    settled = run.moment()
    yield Instant(None, settled)
    at_once = run.moment_at(run.reached_s)
    if at_once.state.agenda == settled.state.agenda and at_once.state.time_us == settled.state.time_us:
        return
    yield Instant(run.reached_s, at_once)
    for entry in settled.trace(at_once.entries_so_far):
        if entry.event == "sync_started":
            at = entry.t_us / MICROSECONDS + float(entry.detail["expected_s"]) / 2
            yield Instant(at, run.moment_at(at))


def moves(moment: Moment, settings: Settings, left: Spent, verbs: frozenset[str]) -> Iterator[Move]:
    """Yield the possible next steps with these verbs and within the bound left."""
    for verb, possible in MOVES.items():
        if verb in verbs:
            yield from (move for move in possible(moment, settings) if move.cost.within(left))


def _running(state: State, settings: Settings) -> list[str]:
    return [settings.names[index] for index in state.running()]
