"""What to wait for before the next node is stopped, and when each wait is over.

`none`: nothing; the next node stops while the last one boots. `ready`: the last node runs, which is what a readiness
probe sees. `quorum + 1`: every quorum queue with a member on the next node has one more online than a majority, and
those have caught up (RabbitMQ's own check counts a member that still catches up: rabbitmq-server issue 7547). `synced`:
every mirrored queue with its master there has a synchronised mirror; queues that do not synchronise by themselves are
synchronised by a command. Each includes those before it.

A wait is over when its condition holds on the engine. No operator or probe looks more often than once in `HASTE_S`: if
the cluster settles within that time, the wait is over when it has.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct

from hawb.engine.core.moment import Moment
from hawb.engine.core.state import RUNNING, State
from hawb.engine.core.trace import Entry
from hawb.planning.safe_to_stop import coordinator_fails, mirror_sync_critical
from hawb.rules.health_checks import types_counted
from hawb.rules.quorum import is_critical
from hawb.scenario.beginning import MICROSECONDS
from hawb.scenario.document import Step
from hawb.scenario.run import Run
from hawb.scenario.verbs import Start, SyncQueue

NONE, READY, QUORUM_PLUS_ONE, SYNCED, BOTH = WAITS = "none", "ready", "quorum + 1", "synced", "synced, quorum + 1"
"""Waits, weakest first."""

HASTE_S = 1.0
TICK_S = 1 / MICROSECONDS


class Go(Struct, frozen=True):
    """When the next node may be stopped: at a time, or None for when the cluster has settled.

    `sync` are queues that an operator synchronises once it has; their synchronisation is waited for too. `over_s` is
    when the wait is over.
    """

    wait: str
    at: float | None
    over_s: float
    sync: tuple[str, ...] = ()


def stop_moments(run: Run, node: str, waits: Iterable[str]) -> list[Go]:
    """Return the times at which a node may be stopped after one of `waits`, soonest first.

    Of waits that are over at the same time the strongest is given. Waits that are never over are left out.
    """
    found: dict[float, Go] = {}
    for wait in sorted(waits, key=WAITS.index):
        go = wait_for(run, node, wait)
        if go is not None:
            found[go.over_s] = go
    return [found[over_s] for over_s in sorted(found)]


def wait_for(run: Run, node: str, wait: str) -> Go | None:
    """Return when a wait after the last step is over, so that a node may be stopped; None if never."""
    begun_s = run.reached_s
    starts = bool(run.steps) and isinstance(run.steps[-1].verb, Start)
    if wait == NONE and starts:
        return Go(wait, begun_s, begun_s)
    index = run.settings.names.index(node)
    version = run.settings.profile.version
    checks = [check for name, check in CHECKS.items() if name in wait.split(", ")]
    for at, moment in _looks(run):
        if all(check(moment.state, index, version) for check in checks):
            return Go(wait, at, _seconds(moment) if at is None else at)
    return _synchronised(run, node, wait, checks) if SYNCED in wait and _all_up(run) else None


def _looks(run: Run) -> Iterator[tuple[float | None, Moment]]:
    """Yield the times at which an operator looks, in the form of a step's `at`, with the state then.

    They are: when all nodes run, when a queue has synchronised, when the cluster has settled.
    """
    settled = run.moment()
    if not _all_up(run):
        return
    entries = settled.trace(run.moment_at(run.reached_s).entries_so_far)
    up_s = max(_times(entries, "node_running"), default=run.reached_s)
    if _seconds(settled) - up_s > HASTE_S:
        times = {up_s + HASTE_S, *(time + TICK_S for time in _times(entries, "sync_finished"))}
        for at in sorted(round(time, 6) for time in times if up_s + HASTE_S <= time < _seconds(settled)):
            yield at, run.moment_at(at)
    yield None, settled


def _times(entries: Iterable[Entry], event: str) -> list[float]:
    return [entry.t_us / MICROSECONDS for entry in entries if entry.event == event]


def _all_up(run: Run) -> bool:
    """Return True if the nodes that the last step started run once the cluster has settled."""
    last = run.steps[-1].verb if run.steps else None
    nodes = run.moment().state.nodes
    started = last.nodes if isinstance(last, Start) else ()
    return all(nodes[run.settings.names.index(name)].status == RUNNING for name in started)


def _synchronised(run: Run, node: str, wait: str, checks: list) -> Go | None:
    """Return when a wait is over if the operator synchronises the node's queues that do not do so themselves."""
    settled = run.moment()
    index = run.settings.names.index(node)
    queues = mirror_sync_critical(settled.state, index)
    ahead = run.copy()
    synchronise(ahead, queues)
    then = ahead.moment()
    version = run.settings.profile.version
    if queues and all(check(then.state, index, version) for check in checks):
        return Go(wait, None, _seconds(then), queues)
    return None


def synchronise(run: Run, queues: Iterable[str]) -> None:
    """Synchronise queues, all at once, when the cluster has settled."""
    at = None
    for queue in queues:
        run.apply(Step(SyncQueue(queue), at))
        at = run.reached_s


def _is_synced(state: State, node: int, _version: str) -> bool:
    return not mirror_sync_critical(state, node)


def _has_quorum_plus_one(state: State, node: int, version: str) -> bool:
    """Return True if every quorum queue with a member there has more than a bare majority that has caught up.

    Where the release checks them, so must every stream and the stream coordinator.
    """
    if sum(value.member for value in state.nodes) < 2:
        return True
    return not coordinator_fails(state, version) and not any(
        queue.type in types_counted(version)
        and node in queue.members
        and is_critical(sum(state.nodes[one].status == RUNNING for one in queue.synchronised), len(queue.members))
        for queue in state.queues.values()
    )


CHECKS = {SYNCED: _is_synced, QUORUM_PLUS_ONE: _has_quorum_plus_one}
"""Conditions for a wait to be over, besides that the previous node runs."""


def _seconds(moment: Moment) -> float:
    return moment.state.time_us / MICROSECONDS
