"""Search for the best plan for a rolling upgrade, over the order of nodes and the wait before each.

Plans grow node by node, level by level. Of two plans that have upgraded the same nodes and reached the same state (by
`hawb.engine.keys.state_key`) only the better one is extended; a plan that already costs more than a known complete plan
is dropped, since losses and outages only grow; of nodes that are interchangeable in every queue only the first is
tried. If a level has more plans than `width`, the best of them are kept, and the answer says so (`exact`).

Queues that behave alike are played once (`hawb.planning.alike`). The plan found is played again with all queues, which
gives its prediction. Random choices (who is elected, which mirror is promoted) are those of the scenario's seed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from hawb.engine.core.moment import Moment
from hawb.engine.keys.state_key import key
from hawb.planning.alike import alike
from hawb.planning.upgrade import (
    MEASURES,
    Plan,
    Prediction,
    Restart,
    Stage,
    Task,
    baselines,
    plan_of,
    played_plan,
    played_restarts,
    prediction,
    rebalanced,
    restart_node,
)
from hawb.planning.waits import BOTH, NONE, QUORUM_PLUS_ONE, READY, SYNCED, WAITS, Go, stop_moments, wait_for
from hawb.rules.health_checks import types_counted
from hawb.rules.policies import HaMode
from hawb.rules.quorum import is_critical
from hawb.scenario.beginning import MICROSECONDS
from hawb.scenario.run import Run

WORK = 15_000
"""Approximate number of node restarts that a search may play with one queue, on any machine."""
WIDEST = 1_000
CAREFUL = tuple(wait for wait in WAITS if wait != NONE)
"""Waits that are searched by default: all but `none`, which relies on each node's return."""


PLANNED = "planned"


class Answer(Struct, frozen=True):
    """The best plan, the baselines, and how the search went.

    It counts the restarts played, the queues they were played with and the plans kept at most, and says whether no plan
    was left out. `never` are quorum queues with so few members that they never have more than a bare majority.
    """

    plan: Plan
    others: tuple[Plan, ...]
    objective: tuple[str, ...]
    waits: tuple[str, ...]
    tried: int
    queues: int
    kinds: int
    width: int
    exact: bool
    never: tuple[str, ...] = ()


class _Partial(NamedTuple):
    """The first steps of a plan."""

    cost: tuple[int, ...]
    places: tuple[int, ...]
    restarts: tuple[Restart, ...]
    run: Run
    stages: tuple[Stage, ...]
    left: tuple[str, ...]


OnLevel = Callable[[int, int, int], None]
"""Function called after each level with the numbers of upgraded nodes, of plans, and of restarts played."""


def search(
    run: Run, task: Task, objective: Sequence[str] = MEASURES, waits: Sequence[str] = CAREFUL,
    on_level: OnLevel | None = None, orders: Sequence[tuple[str, ...]] = (),
) -> Answer:  # fmt: skip
    """Search the best plan for a run's cluster by an objective (measures, the first counts most) and the given waits.

    `orders` are the only orders of nodes to consider; by default all are.
    """
    objective = (*objective, *(measure for measure in MEASURES if measure not in objective))
    kinds = alike(run.scenario, by_backlog=True)
    few = Run.of(kinds.scenario)
    searched = _Search(few, task, objective, meaningful(few, waits), kinds.counts(), on_level, tuple(orders))
    restarts = searched.best()
    ahead, stages = played_restarts(run, task, searched.reasoned(restarts))
    plan = plan_of(run, ahead, stages, PLANNED)
    others = tuple(played_plan(run, task, theirs, name) for name, theirs in baselines(task).items())
    better = _better_than(plan, others, searched)
    if better is not None:
        ahead, stages = played_restarts(run, task, searched.reasoned(searched.strengthened(better.restarts)))
        plan = plan_of(run, ahead, stages, PLANNED)
    others = (rebalanced(run, ahead, stages, "planned, then rabbitmq-queues rebalance all"), *others)
    return Answer(
        plan, others, objective, searched.waits, searched.tried, len(run.moment().ledger), len(few.moment().ledger),
        searched.width, searched.exact, _never_more(run),
    )  # fmt: skip


def _never_more(run: Run) -> tuple[str, ...]:
    """Return the queues that RabbitMQ checks and that never have more than a bare majority.

    Return () for a cluster of one node, where the command does not wait.
    """
    if sum(node.member for node in run.moment().state.nodes) < 2:
        return ()
    counted = types_counted(run.settings.profile.version)
    quorum = (queue for queue in run.moment().state.queues.values() if queue.type in counted)
    return tuple(sorted(queue.name for queue in quorum if is_critical(len(queue.members), len(queue.members))))


def _better_than(plan: Plan, others: Sequence[Plan], searched: _Search) -> Plan | None:
    """Return the best other plan that beats `plan` with all queues played, or None.

    With all queues each draws its own random choices, so another plan may do better than with the representatives.
    """
    may = [
        other for other in others
        if {restart.wait for restart in other.restarts[1:]} <= set(searched.waits)
        and (not searched.orders or tuple(restart.node for restart in other.restarts) in searched.orders)
    ]  # fmt: skip
    best = min((plan, *may), key=lambda one: one.prediction.cost(searched.objective))
    return None if best is plan else best


def meaningful(run: Run, waits: Sequence[str]) -> tuple[str, ...]:
    """Return those of `waits` for which the cluster has queues that they concern."""
    queues, counted = run.moment().state.queues.values(), types_counted(run.settings.profile.version)
    nothing = {
        SYNCED: not any(queue.mirrored for queue in queues),
        QUORUM_PLUS_ONE: not any(queue.type in counted for queue in queues),
    }
    nothing[BOTH] = nothing[SYNCED] or nothing[QUORUM_PLUS_ONE]
    return tuple(wait for wait in waits if not nothing.get(wait)) or (READY,)


class _Search:
    """A search on the queues that stand for all."""

    def __init__(
        self, run: Run, task: Task, objective: Sequence[str], waits: tuple[str, ...], counts: Mapping[str, int],
        on_level: OnLevel | None, orders: tuple[tuple[str, ...], ...],
    ):  # fmt: skip
        self.run, self.task, self.objective, self.waits, self.counts = run, task, objective, waits, counts
        self.on_level, self.orders, self.tried, self.exact = on_level, orders, 0, True
        queues = max(1, len(run.moment().ledger))
        self.width = max(2, min(WIDEST, WORK // (queues * max(1, len(task.nodes)) ** 2)))
        self.same = interchangeable(run, task.nodes)

    def best(self) -> tuple[Restart, ...]:
        """Return the best plan's restarts."""
        bound = self._predicted(tuple(Restart(node, READY) for node in (self.orders or [self.task.nodes])[0]))
        level = [_Partial((), (), (), self.run, (), self.task.nodes)]
        known = bound.cost(self.objective)
        for done in range(len(self.task.nodes)):
            following: dict[tuple, _Partial] = {}
            last = done + 1 == len(self.task.nodes)
            for partial in level:
                for found in self._after(partial, last):
                    if found.cost > known:
                        continue
                    name = (frozenset(found.left), self._name(found.run))
                    if name not in following or found[:2] < following[name][:2]:
                        following[name] = found
            self.exact &= len(following) <= self.width
            level = sorted(following.values(), key=lambda partial: partial[:2])[: self.width]
            if self.on_level is not None:
                self.on_level(done + 1, len(following), self.tried)
            if not level:  # no plan is better than the baseline
                return tuple(Restart(node, READY) for node in (self.orders or [self.task.nodes])[0])
        return level[0].restarts

    def _after(self, partial: _Partial, last: bool):
        """Extend a plan by one more node."""
        gone = {restart.node for restart in partial.restarts}
        tried: set[int] = set()
        for node in self._next(partial):
            alike_nodes = self.same[node]
            if alike_nodes in tried and not self.orders:
                continue
            tried.add(alike_nodes)
            for go in stop_moments(partial.run, node, self.waits):
                ahead = partial.run.copy()
                stage = restart_node(ahead, self.task, node, go)
                self.tried += 1
                stages = (*partial.stages, stage)
                found = prediction(self.run.moment(), ahead, stages, self.counts)
                cost = (found if last else replace(found, skew=0)).cost(self.objective)
                places = (*partial.places, self.task.nodes.index(node))
                left = tuple(one for one in self.task.nodes if one not in gone and one != node)
                yield _Partial(cost, places, (*partial.restarts, Restart(node, go.wait)), ahead, stages, left)

    def _next(self, partial: _Partial) -> list[str]:
        """Return the possible next nodes."""
        if not self.orders:
            return list(partial.left)
        so_far = tuple(restart.node for restart in partial.restarts)
        following = [order[len(so_far)] for order in self.orders if order[: len(so_far)] == so_far]
        return list(dict.fromkeys(following))

    def _name(self, run: Run) -> tuple:
        """Return the name of a run's state: its key once it has settled, and the microseconds until then."""
        settled = run.moment()
        under_way_us = settled.state.time_us - round(run.reached_s * MICROSECONDS)
        return key(settled.state, run.settings, rename=False), under_way_us

    def _predicted(self, restarts: Sequence[Restart]) -> Prediction:
        self.tried += len(restarts)
        return prediction(self.run.moment(), *played_restarts(self.run, self.task, restarts), self.counts)

    def strengthened(self, restarts: Sequence[Restart]) -> tuple[Restart, ...]:
        """Return the same order, with the strongest waits that are over at the same times."""
        ahead, found = self.run.copy(), []
        for restart in restarts:
            given = wait_for(ahead, restart.node, restart.wait)
            moments = stop_moments(ahead, restart.node, self.waits)
            same = (go for go in moments if given is None or go.over_s == given.over_s)
            go = next(same, given or Go(restart.wait, None, ahead.reached_s))
            restart_node(ahead, self.task, restart.node, go)
            found.append(Restart(restart.node, go.wait))
        return tuple(found)

    # Why

    def reasoned(self, restarts: Sequence[Restart]) -> tuple[Restart, ...]:
        """Return the restarts with the reason for each wait."""
        return tuple(replace(restart, reason=self.reason(restarts, index)) for index, restart in enumerate(restarts))

    def reason(self, restarts: Sequence[Restart], index: int) -> str:
        """Return why a restart waits as it does: the cost of the next shorter wait."""
        ahead = self.run.copy()
        stages = []
        for restart in restarts[:index]:
            go = wait_for(ahead, restart.node, restart.wait) or Go(restart.wait, None, ahead.reached_s)
            stages.append(restart_node(ahead, self.task, restart.node, go))
        node = restarts[index].node
        weaker = WAITS[: WAITS.index(restarts[index].wait) + 1]
        options = stop_moments(ahead, node, dict.fromkeys((*meaningful(self.run, weaker), restarts[index].wait)))
        if len(options) < 2:
            return "This holds from the start." if index == 0 else "This holds as soon as the previous node is back."
        other = options[-2]
        with_it = self._rest(ahead, stages, node, options[-1], restarts[index + 1 :])
        without = self._rest(ahead, stages, node, other, restarts[index + 1 :])
        return worth_of_wait(other.wait, with_it, without)

    def _rest(self, run: Run, stages: Sequence[Stage], node: str, go: Go, restarts: Sequence[Restart]) -> Prediction:
        ahead, done = run.copy(), list(stages)
        done.append(restart_node(ahead, self.task, node, go))
        for restart in restarts:
            found = wait_for(ahead, restart.node, restart.wait) or Go(restart.wait, None, ahead.reached_s)
            done.append(restart_node(ahead, self.task, restart.node, found))
            self.tried += 1
        return prediction(self.run.moment(), ahead, done, self.counts)


def worth_of_wait(weaker: str, with_it: Prediction, without: Prediction) -> str:
    """Return a sentence that says what a wait is worth."""
    lost = without.lost - with_it.lost
    outage_s = without.outage_s - with_it.outage_s
    worst = _worst(with_it, without, "lost" if lost > 0 else "down_s")
    about = f", {worst} among them" if worst else ""
    named = {"none": "Without a wait,", READY: "With only the readiness probe,"}.get(weaker, f"With {weaker} alone,")
    if lost > 0:
        return f"{named} {lost:,} message{'' if lost == 1 else 's'} would be lost{about}."
    if without.away and not with_it.away:
        return f"{named} {', '.join(without.away)} would not come back."
    if outage_s > 0.01:
        return f"{named} queues would be out of use for {outage_s:,.2f} s longer in all{about}."
    if without.skew > with_it.skew:
        return f"{named} one node would end with {without.skew - with_it.skew} more masters and leaders."
    return f"{named} nothing would be worse; the wait costs {max(0.0, with_it.duration_s - without.duration_s):,.1f} s."


def _worst(with_it: Prediction, without: Prediction, field: str) -> str:
    """Return the queue that is worse off by most, with its name unquoted; empty if none is."""
    had = {effect.queue: getattr(effect, field) for effect in with_it.effects}
    more = {effect.queue: getattr(effect, field) - had.get(effect.queue, 0) for effect in without.effects}
    name = max(sorted(more), key=more.__getitem__, default="")
    return name if name and more[name] > 0 else ""


def interchangeable(run: Run, nodes: Sequence[str]) -> dict[str, int]:
    """Return a number for each node; nodes that are interchangeable in every queue share one.

    No two nodes share one if a rule looks at names: under ha-mode all or nodes, whose mirrors are ordered by name.
    """
    names, state = run.settings.names, run.moment().state
    modes = {queue.mirroring.mode for queue in state.queues.values() if queue.mirroring is not None}
    by_name = bool(modes - {HaMode.EXACTLY})
    found: dict[str, int] = {}
    for node in nodes:
        index = names.index(node)
        swaps = (other for other in found if not by_name and _may_swap(run.moment(), index, names.index(other)))
        alike = next(swaps, None)
        found[node] = len(found) if alike is None else found[alike]
    return found


def _may_swap(moment: Moment, one: int, other: int) -> bool:
    """Return True if swapping two nodes leaves as many queues of each form."""
    swapped = {one: other, other: one}
    return _forms(moment, {}) == _forms(moment, swapped) and not (moment.state.consumers or moment.state.publishers)


def _forms(moment: Moment, names: dict[int, int]) -> Counter:
    def renamed(nodes) -> tuple[int, ...]:
        return tuple(names.get(node, node) for node in nodes)

    forms = Counter()
    for queue in moment.state.queues.values():
        held = {names.get(node, node): content for node, content in enumerate(queue.contents)}
        forms[
            queue.type, queue.durable, queue.policy, queue.operator_policy, queue.arguments, queue.up, queue.batches,
            renamed((queue.master,)), renamed(queue.mirrors), renamed(queue.synchronised) if queue.type == "classic"
            else tuple(sorted(renamed(queue.synchronised))), renamed(queue.recoverable),
            tuple(sorted(renamed(queue.members))), tuple(held[node] for node in sorted(held)),
        ] += 1  # fmt: skip
    return forms
