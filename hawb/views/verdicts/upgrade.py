"""The verdict on an upgrade and what to do: for a rolling one, for a full stop, and across several releases."""

from __future__ import annotations

from collections.abc import Sequence

from hawb.planning.full_stop import FullStop, Stopped
from hawb.planning.upgrade import Effect, Plan, Prediction
from hawb.planning.upgrade_search import Answer
from hawb.views.formatting import counted, listing, shown
from hawb.views.hawb_commands import asking
from hawb.views.report import ToDo, Verdict

LONG_S = 1.0
"""Seconds: the sentence mentions longer outages. Shorter ones are failovers, which clients see as slow answers."""
EVERY_QUEUE = "every queue stays in use"


def verdict(answer: Answer) -> Verdict:
    """Return the verdict on a rolling upgrade.

    Yes: nothing is lost, and no queue is out of use for long. No: messages are lost, or a node does not come back. Yes
    with a but: queues are out of use for longer.
    """
    judged = _judged(answer.plan)
    return Verdict(judged.answer, f"{judged.why}{_without(answer)}")


def stop_verdict(stopped: Stopped) -> Verdict:
    """Return the verdict on a full stop and start; the best is yes with a but, because nothing is usable meanwhile."""
    plan = stopped.plan
    if plan.stuck is not None:
        return Verdict("no", f"{shown(plan.stuck)} waits for {listing(plan.waits_for)} for ever")
    if _is_bad(plan.prediction):
        return _judged(plan)
    first, last = shown(plan.starts[0]), shown(plan.stops[-1])
    order = f"{last} has to stop last and start first" if first == last else f"{last} has to stop last"
    return Verdict("but", f"no queue can be used meanwhile; nothing is lost, and {order}")


def _judged(plan: Plan | FullStop) -> Verdict:
    predicted = plan.prediction
    if predicted.away:
        return Verdict("no", f"{listing(predicted.away)} {'does' if len(predicted.away) == 1 else 'do'} not come back")
    if predicted.lost or predicted.lost_confirmed:
        queues = [effect.queue for effect in predicted.effects if effect.lost]
        known = f"{predicted.lost_confirmed:,} of them confirmed" if predicted.lost_confirmed else "not confirmed"
        return Verdict("no", f"even the best plan loses {counted(predicted.lost)} of {listing(queues)}, {known}")
    away = sorted((one for one in predicted.effects if out_of_use_s(one) > LONG_S), key=out_of_use_s, reverse=True)
    if not away:
        return Verdict("yes", f"nothing is lost and {EVERY_QUEUE}, if the plan is followed")
    name, for_s = shown(away[0].queue), f"{out_of_use_s(away[0]):,.0f} s"
    if len(away) == 1:
        return Verdict("but", f"{name} cannot be used for {for_s}; nothing is lost")
    many = counted(len(away), "queue")
    return Verdict("but", f"{many} cannot be used while nodes are down, {name} for {for_s}; nothing is lost")


def out_of_use_s(effect: Effect) -> float:
    """Return how many seconds a queue is out of use: down or blocked."""
    return effect.down_s + effect.blocked_s


def _is_bad(predicted: Prediction) -> bool:
    return bool(predicted.away or predicted.lost or predicted.lost_confirmed)


def _without(answer: Answer) -> str:
    """Return a clause about the additional losses without a plan; "" if there are none."""
    worst = max((plan.prediction.lost for plan in answer.others[1:]), default=0)
    more = worst - answer.plan.prediction.lost
    return f"; without a plan, {counted(more, 'more message')} would be lost" if more > 0 else ""


def todo(answer: Answer, files: Sequence[str] = ()) -> tuple[ToDo, ...]:
    """Return what to do for a rolling upgrade: the order of nodes, and warnings; `files` are those of the cluster."""
    stages, rebalanced = answer.plan.stages, answer.others[0]
    order = ", then ".join(shown(stage.node) for stage in stages)
    waits = listing(dict.fromkeys(stage.wait for stage in stages if stage.wait != "none"))
    before = f". Before each restart, wait for: {waits}" if waits else ""
    asked = [ToDo(f"Restart {order}{before}. The runbook has each command.", written(files))]
    if answer.never:
        waits_for_ever = "Do not wait for quorum + 1 on the nodes of"
        asked.append(ToDo(f"{waits_for_ever} {listing(answer.never)}: with so few members the wait would never end."))
    more = rebalanced.prediction.lost - answer.plan.prediction.lost
    if more > 0:
        asked.append(ToDo(
            "Do not rebalance right after the last node: mirrors that are still empty would take over and lose"
            f" {counted(more, 'more message')}. Synchronise first.",
        ))  # fmt: skip
    return tuple(asked)


def written(files: Sequence[str], *options: str) -> tuple[str, ...]:
    """Return the command that writes the runbook for the cluster of these files; none without files."""
    return asking("upgrade", files, *options, "--runbook runbook.md")


def stop_todo(stopped: Stopped) -> tuple[ToDo, ...]:
    """Return what to do for a full stop and start."""
    plan = stopped.plan
    asked = [
        ToDo(f"Stop in this order: {', '.join(map(shown, plan.stops))}."),
        ToDo(f"Start in this order, each node when the previous one runs: {', '.join(map(shown, plan.starts))}."
             if plan.together == 1 else
             f"Start the first {plan.together} together, then one by one: {', '.join(map(shown, plan.starts))}."),
    ]  # fmt: skip
    stuck = [one for one in stopped.others if one.stuck is not None]
    if stuck:
        asked.append(ToDo(f"Do not start {stuck[0].name}: {shown(stuck[0].stuck)} would wait for ever."))
    return tuple(asked)


def road_verdict(steps: int, judged: Sequence[tuple[str, Verdict]]) -> Verdict:
    """Return the worst of the verdicts on the upgrades to a release."""
    worst = min(judged, key=lambda pair: ("no", "unknown", "but", "yes").index(pair[1].answer))
    if worst[1].answer == "yes":
        return Verdict("yes", f"in {counted(steps, 'step')}; nothing is lost and {EVERY_QUEUE}, if the plan is"
                              " followed")
    return Verdict(worst[1].answer, f"{worst[0]}: {worst[1].why}")
