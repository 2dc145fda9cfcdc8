"""A plan for a rolling upgrade, or for a full stop and start, as tables, sentences and plain values."""

from __future__ import annotations

from typing import Any

from msgspec import to_builtins

from hawb.planning.full_stop import FullStop, Stopped
from hawb.planning.upgrade import Plan, Prediction
from hawb.planning.upgrade_search import Answer
from hawb.scenario.dump import plain
from hawb.views.formatting import counted, listing, seconds, shown
from hawb.views.tables import Table

STAGES = ("", "node", "wait for", "sync_queue", "stop at", "runs at", "takes", "why")
MEASURED = ("lost", "confirmed", "outage", "skew", "duration")
PREDICTED = "What is predicted"
STOPPED = ("plan", *MEASURED, "deadlock")
FELT = ("queue", "lost", "confirmed", "out of use", "blocked")
MOST_FELT = 20
"""The maximum number of affected queues in the table."""


def tables(answer: Answer) -> list[Table]:
    """Return the plan, its comparison with other plans, and the affected queues, for a notebook and a page."""
    stages = [tuple(row) for row in stage_rows(answer)]
    return [
        Table("The plan, node by node", STAGES, stages),
        Table(PREDICTED, ("plan", *MEASURED), [tuple(row) for row in _compared(answer)]),
        *effect_tables(answer.plan.prediction),
    ]


def stage_rows(answer: Answer) -> list[list[str]]:
    """Return a row for each node's restart."""
    rows, before = [], None
    for number, stage in enumerate(answer.plan.stages, 1):
        ends = stage.end_s if stage.end_s is not None else stage.start_s
        until = "never" if stage.end_s is None else f"{seconds(stage.end_s)} s"
        synced = counted(len(stage.sync), "queue") if stage.sync else ""
        takes = f"{seconds(ends - (before or stage.begin_s))} s"
        rows.append([f"{number}", shown(stage.node), stage.wait, synced, f"{seconds(stage.stop_s)} s", until, takes,
                     shown(stage.reason)])  # fmt: skip
        before = stage.end_s
    return rows


def _compared(answer: Answer) -> list[list[str]]:
    return [compared(plan.name, plan.prediction) for plan in (answer.plan, *answer.others)]


def compared(name: str, predicted: Prediction) -> list[str]:
    """Return a plan's name and predicted figures: a cell for the name, and one for each of MEASURED."""
    away = f" ({listing(predicted.away)}: not back)" if predicted.away else ""
    return [name + away, f"{predicted.lost:,}", f"{predicted.lost_confirmed:,}", f"{predicted.outage_s:,.2f} s",
            counted(predicted.skew, "queue"), f"{predicted.duration_s:,.1f} s"]  # fmt: skip


def effect_tables(predicted: Prediction) -> list[Table]:
    """Return a table of the queues that a plan affects, in a list; an empty list if there are none."""
    rows: list[tuple[object, ...]] = [
        (shown(one.queue), f"{one.lost:,}", f"{one.lost_confirmed:,}", f"{one.down_s:,.3f} s",
         f"{one.blocked_s:,.3f} s")
        for one in predicted.effects[:MOST_FELT]
    ]  # fmt: skip
    return [Table("Affected queues, the worst first", FELT, rows)] if rows else []


def effects_left_out(predicted: Prediction) -> str:
    """Return a sentence with the number of affected queues that are not in the table; "" if all are."""
    more = len(predicted.effects) - MOST_FELT
    return f"And {counted(more, 'more queue')}." if more > 0 else ""


def never(answer: Answer) -> str:
    """Return a sentence about quorum queues for which RabbitMQ's own command would never end; "" if there are none."""
    if not answer.never:
        return ""
    return (
        "rabbitmq-upgrade await_online_quorum_plus_one would wait for ever on the nodes of"
        f" {listing(answer.never)}: with one or two members there is never more than a bare majority."
    )  # fmt: skip


def extent(answer: Answer) -> str:
    """Return what was searched, and how far the answer can be relied on."""
    how = (
        "tried every order and every wait" if answer.exact
        else f"continued only the best {answer.width:,} plans after each node, so it may have missed a better plan"
    )  # fmt: skip
    return (
        f"hawb searched for the plan that minimises {', '.join(answer.objective)}, the most important measure first."
        f" The plan may wait for: {'; '.join(answer.waits)}. The search simulated {counted(answer.tried, 'restart')} of"
        f" a node with {counted(answer.queues, 'queue')} of {counted(answer.kinds, 'kind')} (equal queues only once),"
        f" and {how}. Random choices follow the scenario's seed."
    )


def orders(stopped: Stopped) -> str:
    """Return the orders in which nodes stop and start, and why no deadlock is possible."""
    plan = stopped.plan
    lines = [
        f"stop:  {', '.join(map(shown, plan.stops))}",
        f"start: {', '.join(map(shown, plan.starts))}, each when the previous one runs",
        f"{shown(plan.stops[-1])} stops last, so it waits for no node; every other node boots while it runs.",
    ]
    return "\n".join(lines)


def stop_extent(stopped: Stopped) -> str:
    """Return which orders of nodes were tried."""
    return "every order was tried" if stopped.exact else "each node was tried as the last to stop, but not every order"


def stop_tables(stopped: Stopped) -> list[Table]:
    """Return a full stop and start as tables."""
    rows = [tuple(_stop_row(plan)) for plan in (stopped.plan, *stopped.others)]
    return [Table(PREDICTED, STOPPED, rows), *effect_tables(stopped.plan.prediction)]


def _stop_row(plan: FullStop) -> list[str]:
    return [*compared(plan.name, plan.prediction), stuck(plan)]


def stuck(plan: FullStop) -> str:
    """Return which node waits for which others forever; "" if none does."""
    return f"{shown(plan.stuck)} waits for {listing(plan.waits_for)}" if plan.stuck is not None else ""


def plain_answer(answer: Answer) -> dict[str, Any]:
    """Return the answer as plain values."""
    found = {field: getattr(answer, field) for field in answer.__struct_fields__ if field not in ("plan", "others")}
    return to_builtins(found) | {"plan": _plain(answer.plan), "others": [_plain(plan) for plan in answer.others]}


def plain_stop(stopped: Stopped) -> dict[str, Any]:
    """Return a full stop and start as plain values."""
    others = [_plain(plan) for plan in stopped.others]
    return {"plan": _plain(stopped.plan), "others": others, "tried": stopped.tried, "exact": stopped.exact}


def _plain(plan: Plan | FullStop) -> dict[str, Any]:
    fields = {field: getattr(plan, field) for field in plan.__struct_fields__ if field != "rehearsal"}
    return to_builtins(fields) | {"rehearsal_steps": [plain(step) for step in plan.rehearsal.steps]}
