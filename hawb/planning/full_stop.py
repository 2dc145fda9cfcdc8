"""Plan a full cluster stop and start: an order to stop the nodes in, and an order to start them in without deadlock.

A node that stopped while other nodes ran waits for one of them when it boots, and the node that stopped last waits for
none (`hawb.engine.cluster.booting.awaited`). So an operator that starts one node after the other, each once the one
before is ready, as Kubernetes' OrderedReady does, waits for ever unless the last node to stop is the first to start.
The plan starts the nodes in the reverse of the order in which they stopped.

With Khepri no node is ready before a majority of the cluster has been started, in any order (`rabbit_khepri:setup`): a
majority is started together, the other nodes one after the other.

The choice to make is which node stops last: every mirrored queue is served from that node's disk. With up to FEW nodes
every order is tried; with more, each node as the last one, with the other nodes in the order given.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations

from msgspec import Struct
from msgspec.structs import replace

from hawb.engine.core.state import RUNNING
from hawb.planning.alike import alike
from hawb.planning.upgrade import MEASURES, Prediction, Stage, Task, prediction, rehearsal
from hawb.rules.quorum import majority
from hawb.scenario.beginning import MICROSECONDS
from hawb.scenario.document import Scenario, Step
from hawb.scenario.run import Run
from hawb.scenario.verbs import Start, Stop, Wait

FEW = 4


class FullStop(Struct, frozen=True):
    """The orders, the prediction, and the scenario that rehearses it.

    The first `together` nodes are started at once. `stuck` is the node that is not ready after its start, so that the
    next one is never started, and `waits_for` are the nodes that it waits for.
    """

    name: str
    stops: tuple[str, ...]
    starts: tuple[str, ...]
    stages: tuple[Stage, ...]
    prediction: Prediction
    rehearsal: Scenario
    together: int = 1
    stuck: str | None = None
    waits_for: tuple[str, ...] = ()


class Stopped(Struct, frozen=True):
    """The best full stop and start, other orders for comparison, and whether every order was tried."""

    plan: FullStop
    others: tuple[FullStop, ...]
    tried: int
    exact: bool


def plan_full_stop(run: Run, task: Task, objective: Sequence[str] = MEASURES) -> Stopped:
    """Return the best order to stop a run's nodes in, and the order to start them in."""
    objective = (*objective, *(measure for measure in MEASURES if measure not in objective))
    kinds = alike(run.scenario, by_backlog=True)
    few, counts = Run.of(kinds.scenario), kinds.counts()
    exact = len(task.nodes) <= FEW
    orders = list(permutations(task.nodes)) if exact else [_with_last(task.nodes, node) for node in task.nodes]

    def cost(order: tuple[str, ...]) -> tuple[int, ...]:
        played, stages, _ = _play(few, task, order, order[::-1])
        return prediction(few.moment(), played, stages, counts).cost(objective)

    best = min(orders, key=cost)
    plan = full_stop(run, task, best, best[::-1], "planned: the node that stops last starts first")
    others = (
        full_stop(run, task, best, best, "started in the order in which they stopped, each as soon as the previous"
                                         " node is ready"),
        full_stop(run, task, task.nodes, task.nodes[::-1], "stopped in the given order, and started in reverse order"),
    )
    return Stopped(plan, others, len(orders), exact)


def _with_last(nodes: Sequence[str], last: str) -> tuple[str, ...]:
    return (*(node for node in nodes if node != last), last)


def full_stop(run: Run, task: Task, stops: Sequence[str], starts: Sequence[str], name: str) -> FullStop:
    """Play a stop and a start of the nodes in these orders, from the end of a run, which is not changed.

    Each step follows when the cluster has settled after the one before. A node that does not become ready ends the
    play: the next node is never started.
    """
    ahead, stages, stuck = _play(run, task, stops, starts)
    result = prediction(run.moment(), ahead, stages)
    waits_for: tuple[str, ...] = ()
    if stuck is not None:
        waiting = [entry for entry in ahead.moment().trace() if entry.event == "node_waiting"]
        waits_for = tuple(waiting[-1].detail["waits_for"]) if waiting else ()
        result = replace(result, away=tuple(node for node in task.nodes if not _runs(ahead, node)))
    played = rehearsal(ahead, f"full stop and start, {name}", result)
    together = len(started_together(run, starts)[0])
    return FullStop(name, tuple(stops), tuple(starts), tuple(stages), result, played, together, stuck, waits_for)


def started_together(run: Run, starts: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the nodes to start, grouped into those started at once.

    With Khepri the first group completes the metadata store's majority; without it each node is started on its own.
    """
    named = zip(run.settings.names, run.moment().state.nodes, strict=True)
    stays_up = [node.status == RUNNING and name not in starts for name, node in named if node.member]
    first = max(1, majority(len(stays_up)) - sum(stays_up)) if run.settings.profile.khepri else 1
    return [tuple(starts[:first]), *((node,) for node in starts[first:])]


def _play(
    run: Run, task: Task, stops: Sequence[str], starts: Sequence[str]
) -> tuple[Run, list[Stage], str | None]:
    """Return the run after all stops and starts, the stages in the starting order, and the stuck node or None."""
    ahead, times = run.copy(), {}
    for node in stops:
        ahead.apply(Step(Stop((node,))))
        times[node] = ahead.reached_s, _seconds(ahead)
    if task.away_s:
        ahead.apply(Step(Wait(task.away_s)))
    stages: list[Stage] = []
    for nodes in started_together(run, starts):
        ahead.apply(Step(Start(nodes)))
        for node in nodes:
            stop_s, down_s = times[node]
            up_s = _seconds(ahead) if _runs(ahead, node) else None
            start_s = ahead.reached_s
            stages.append(Stage(node, "ready", (), min(stop_s, start_s), stop_s, down_s, start_s, up_s))
        if stuck := next((stage.node for stage in stages if stage.end_s is None), None):
            return ahead, stages, stuck
    return ahead, stages, None


def _runs(run: Run, node: str) -> bool:
    return run.moment().state.nodes[run.settings.names.index(node)].status == RUNNING


def _seconds(run: Run) -> float:
    return run.moment().state.time_us / MICROSECONDS
