"""Rolling upgrade plans as data, and the engine's prediction for them.

One node after the other is stopped in a controlled way, upgraded while it is away, and started again. A prediction is
what the engine plays from the end of a scenario until the cluster has settled after the last node; so a rehearsal,
which is the scenario with the plan's steps appended, reproduces it exactly. Every release is played by the rules of the
scenario's profile: effects of a cluster with mixed releases are not modelled, nor is a move to a release without
mirroring. The time to install a package is a parameter, `away_s`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from hawb.engine.core import runs
from hawb.engine.core.ledger import Account
from hawb.engine.core.moment import Moment
from hawb.engine.core.state import NOWHERE, RUNNING
from hawb.planning.waits import HASTE_S, READY, TICK_S, Go, synchronise, wait_for
from hawb.scenario.beginning import MICROSECONDS
from hawb.scenario.document import Scenario, Step
from hawb.scenario.run import Run
from hawb.scenario.verbs import Drain, Rebalance, Start, Stop, Wait

MEASURES = ("lost_confirmed", "lost", "outage_s", "skew", "duration_s")
"""Measures of a plan in default order: each counts only between plans that are equal in those before it."""

GRAIN_S = 0.01
"""Outages and durations that differ by less are equal: a planned failover takes a link's latency."""

ORDINALS = re.compile(r"\d+|\D+")


class Task(Struct, frozen=True):
    """The upgrade to plan.

    Its fields are the running nodes in the order given, how long each is away in seconds, and whether each is put into
    maintenance mode before it stops (`rabbitmq-upgrade drain`).
    """

    nodes: tuple[str, ...]
    away_s: float = 30.0
    drain: bool = False


class Restart(Struct, frozen=True):
    """One node's restart: what is waited for before it is stopped, and why."""

    node: str
    wait: str
    reason: str = ""


class Stage(Struct, frozen=True):
    """The times of a node's restart, in seconds of the scenario.

    They are: its wait begins, its stop begins, it has stopped, it is started, it runs (None: it does not). `sync` are
    the queues that an operator synchronises first.
    """

    node: str
    wait: str
    sync: tuple[str, ...]
    begin_s: float
    stop_s: float
    down_s: float
    start_s: float
    end_s: float | None
    reason: str = ""


class Effect(Struct, frozen=True):
    """Effect of a plan on a queue: messages lost, seconds without a serving node, seconds blocked by a sync."""

    queue: str
    lost: int
    lost_confirmed: int
    down_s: float
    blocked_s: float


class Prediction(Struct, frozen=True):
    """The result of a plan.

    It holds the messages lost, the confirmed ones among them, the sum of the queues' seconds of unavailability, the
    difference in masters and leaders between the nodes at the end, and the plan's duration. `effects` are those on
    queues that suffer, worst first; `away` lists the nodes that do not run at the end.
    """

    lost_confirmed: int
    lost: int
    outage_s: float
    skew: int
    duration_s: float
    effects: tuple[Effect, ...] = ()
    away: tuple[str, ...] = ()

    def cost(self, objective: Sequence[str] = MEASURES) -> tuple[int, ...]:
        """Return the figures by which plans are compared; smaller is better.

        A node that does not come back outweighs all other figures.
        """
        grain = {"outage_s": GRAIN_S, "duration_s": GRAIN_S}
        return len(self.away), *(round(getattr(self, name) / grain.get(name, 1)) for name in objective)


class Plan(Struct, frozen=True):
    """A plan with its name, its prediction, and the scenario that rehearses it."""

    name: str
    stages: tuple[Stage, ...]
    prediction: Prediction
    rehearsal: Scenario

    @property
    def restarts(self) -> tuple[Restart, ...]:
        """Return the plan's restarts, without their times."""
        return tuple(Restart(stage.node, stage.wait, stage.reason) for stage in self.stages)


def task_of(run: Run, nodes: Iterable[str] = (), **how: object) -> Task:
    """Return the task for the running nodes of a run, in the order of `nodes`, by default that of the scenario."""
    names, state = run.settings.names, run.moment().state
    running = [names[index] for index in run.settings.file_order if state.nodes[index].status == RUNNING]
    return Task(tuple(nodes) or tuple(running), **how)


def restart_node(run: Run, task: Task, node: str, go: Go) -> Stage:
    """Restart one node on a run, and return the times."""
    begin_s, at = run.reached_s, go.at
    if go.sync:
        synchronise(run, go.sync)
        at = None
    if task.drain:
        run.apply(Step(Drain(node), at))
        at = None if at is None else round(at + HASTE_S, 6)
    run.apply(Step(Stop((node,)), at))
    stop_s, moment = run.reached_s, run.moment()
    down_s = next((entry.t_us / MICROSECONDS for entry in reversed(moment.trace(run.moment_at(stop_s).entries_so_far))
                   if entry.event == "node_stopped"), stop_s)  # fmt: skip
    if _seconds(moment) - down_s > HASTE_S:  # a synchronisation is under way, and no operator waits for it
        run.apply(Step(Start((node,)), round(down_s + task.away_s + TICK_S, 6)))
    else:
        if task.away_s:
            run.apply(Step(Wait(task.away_s)))
        run.apply(Step(Start((node,))))
    return Stage(node, go.wait, go.sync, begin_s, stop_s, down_s, run.reached_s, _up_s(run, node))


def _up_s(run: Run, node: str) -> float | None:
    """Return the time at which a node that was just started runs, or None."""
    index = run.settings.names.index(node)
    entries = run.moment().trace(run.moment_at(run.reached_s).entries_so_far)
    up = (entry for entry in entries if entry.event == "node_running" and entry.node == index)
    return next((entry.t_us / MICROSECONDS for entry in up), None)


def played_plan(run: Run, task: Task, restarts: Iterable[Restart], name: str = "") -> Plan:
    """Play a plan from the end of a run, which is not changed.

    If a wait is never over, the next node is stopped when the cluster has settled.
    """
    return plan_of(run, *played_restarts(run, task, restarts), name)


def played_restarts(run: Run, task: Task, restarts: Iterable[Restart]) -> tuple[Run, tuple[Stage, ...]]:
    """Return the run after a plan, and the plan's stages."""
    ahead, stages = run.copy(), []
    for restart in restarts:
        go = wait_for(ahead, restart.node, restart.wait) or Go(restart.wait, None, _seconds(ahead.moment()))
        stages.append(replace(restart_node(ahead, task, restart.node, go), reason=restart.reason))
    return ahead, tuple(stages)


def plan_of(run: Run, ahead: Run, stages: tuple[Stage, ...], name: str) -> Plan:
    """Return the plan, with its stages, that led from `run` to `ahead`."""
    predicted = prediction(run.moment(), ahead, stages)
    return Plan(name, stages, predicted, rehearsal(ahead, f"rolling upgrade, {name}", predicted))


def rebalanced(run: Run, ahead: Run, stages: tuple[Stage, ...], name: str) -> Plan:
    """Return the same plan, followed by `rabbitmq-queues rebalance all` once the cluster has settled."""
    further = ahead.copy()
    further.apply(Step(Rebalance()))
    return plan_of(run, further, stages, name)


def rehearsal(run: Run, title: str, predicted: Prediction) -> Scenario:
    """Return the scenario of a played plan under a title that names its purpose.

    It expects the prediction: running nodes, messages lost, and the outages of queues that have any.
    """
    moment, names = run.moment(), run.settings.names
    ledger, now_us = moment.ledger, moment.state.time_us
    statuses = {names[index]: "running" for index in moment.state.running()}
    times = {
        effect.queue: {
            "publish_down_s": ledger[effect.queue].down.at(now_us) / MICROSECONDS,
            "sync_blocked_s": ledger[effect.queue].syncing.at(now_us) / MICROSECONDS,
        }
        for effect in predicted.effects
    }
    lost = {name: {"lost": runs.as_lists(ledger[name].lost)} for name in sorted(ledger)}
    expected = {"nodes": statuses, "ledger": lost, "availability": times}
    title = f"{run.scenario.scenario}: {title}"
    return replace(run.scenario, scenario=title, expect={part: it for part, it in expected.items() if it}, racy=None)


def prediction(
    before: Moment, run: Run, stages: Sequence[Stage], counts: Mapping[str, int] | None = None
) -> Prediction:
    """Return what happened in a run since `before`; `counts` says how many queues each queue stands for."""
    after = run.moment()
    effects = [_effect(name, before, after) for name in before.ledger]
    often = counts or {}

    def total(field: str) -> float:
        return sum(getattr(effect, field) * often.get(effect.queue, 1) for effect in effects)

    harmful = [effect for effect in effects if effect.lost or effect.down_s or effect.blocked_s]
    worst = sorted(harmful, key=lambda one: (-one.lost, -(one.down_s + one.blocked_s), one.queue))
    ends = [stage.end_s or _seconds(after) for stage in stages]
    return Prediction(
        lost_confirmed=int(total("lost_confirmed")),
        lost=int(total("lost")),
        outage_s=round(total("down_s") + total("blocked_s"), 6),
        skew=skew(after, often),
        duration_s=round(max(ends, default=_seconds(after)) - _seconds(before), 6),
        effects=tuple(worst),
        away=tuple(stage.node for stage in stages if stage.end_s is None),
    )


def _effect(name: str, before: Moment, after: Moment) -> Effect:
    was, now = before.ledger[name], after.ledger[name]
    lost = runs.minus(now.lost, was.lost)

    def span_s(field: str) -> float:
        def at(account: Account, moment: Moment) -> int:
            return getattr(account, field).at(moment.state.time_us)

        return (at(now, after) - at(was, before)) / MICROSECONDS

    confirmed = runs.size(runs.common(lost, now.confirmed))
    return Effect(name, runs.size(lost), confirmed, span_s("down"), span_s("syncing"))


def skew(moment: Moment, counts: Mapping[str, int] | None = None) -> int:
    """Return the difference in masters and leaders between the running nodes with the most and the fewest."""
    state, hosted = moment.state, Counter()
    for queue in state.queues.values():
        if queue.up and queue.master != NOWHERE:
            hosted[queue.master] += (counts or {}).get(queue.name, 1)
    numbers = [hosted[node] for node in state.running()]
    return max(numbers) - min(numbers) if numbers else 0


def baselines(task: Task) -> dict[str, tuple[Restart, ...]]:
    """Return, by name, the plans of operators who do not search for one."""
    reverse = tuple(sorted(task.nodes, key=_ordinal, reverse=True))
    return {
        "naive: in the given order, with only the readiness probe": tuple(Restart(node, READY) for node in task.nodes),
        "without any wait": tuple(Restart(node, "none") for node in task.nodes),
        "Kubernetes: in reverse ordinal order, with only the readiness probe":
            tuple(Restart(node, READY) for node in reverse),
    }


def _ordinal(node: str) -> list[tuple[bool, int, str]]:
    """Return a sort key that orders pods by their numbers: 10 after 9."""
    return [(part.isdigit(), int(part) if part.isdecimal() else 0, part) for part in ORDINALS.findall(node)]


def _seconds(moment: Moment) -> float:
    return moment.state.time_us / MICROSECONDS
