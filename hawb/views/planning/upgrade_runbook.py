"""A plan as a runbook in Markdown: the commands (bash), what to wait for and why, and what is predicted.

Source: `rabbitmqctl`, `rabbitmq-upgrade` and `rabbitmq-queues` of 3.8.9 to 4.0.5. Their `await_online_…` commands end
when RabbitMQ's checks pass; those about mirrors do nothing in 4.0, which has none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from hawb.engine.core.naming import split_queue
from hawb.planning.full_stop import Stopped
from hawb.planning.upgrade import Plan, Prediction, Stage, Task
from hawb.planning.upgrade_search import Answer
from hawb.planning.waits import QUORUM_PLUS_ONE, SYNCED
from hawb.views.formatting import counted, seconds, shown
from hawb.views.markdown import bash_word, block, plain, table
from hawb.views.planning.upgrade import MEASURED, compared, extent, never, stuck

TIMEOUT_S = 3600
"""Seconds after which a waiting command fails, and with it the upgrade."""

MOST_EFFECTS = 20

AWAITS = {
    SYNCED: ("rabbitmq-upgrade", "await_online_synchronized_mirror"),
    QUORUM_PLUS_ONE: ("rabbitmq-upgrade", "await_online_quorum_plus_one"),
}
CHECKS = {
    SYNCED: ("rabbitmq-queues", "check_if_node_is_mirror_sync_critical"),
    QUORUM_PLUS_ONE: ("rabbitmq-queues", "check_if_node_is_quorum_critical"),
}


LAST_FIRST = """\
The node that stops last has to start first: every other node waits for one that still ran when it stopped."""
MAJORITY_FIRST = """\
With Khepri no node is ready before a majority has been started: start {} at once, in any order, and do not wait in
between. A node that waits for other nodes gives up after five minutes."""


def line(tool: str, verb: str, node: str, *options: str, names: Sequence[str] = ()) -> str:
    """Return a command addressed to a node; names come last, after "--" if one begins with a dash."""
    dashes = ["--"] if any(name.startswith("-") for name in names) else []
    return " ".join([tool, f"--node={bash_word(node)}", verb, *options, *dashes, *map(bash_word, names)])


def commands(stage: Stage, task: Task, before: str | None = None) -> list[str]:
    """Return the commands that restart a node; `before` is the previously restarted node."""
    node = stage.node
    return [
        *([] if before is None or stage.wait == "none" else [started(before)]),
        *sync_lines(node, stage.sync),
        *(line(*AWAITS[wait], node, f"--timeout={TIMEOUT_S}") for wait in stage.wait.split(", ") if wait in AWAITS),
        *(line(*CHECKS[wait], node) for wait in stage.wait.split(", ") if wait in CHECKS),
        *([line("rabbitmq-upgrade", "drain", node)] if task.drain else []),
        line("rabbitmqctl", "stop", node),
        f"# on the host of {shown(node)}: install the new release, then",
        "systemctl start rabbitmq-server",
    ]


def started(node: str) -> str:
    """Return the command that waits until a node runs."""
    return line("rabbitmqctl", "await_startup", node, f"--timeout={TIMEOUT_S}")


def sync_lines(node: str, queues: Sequence[str]) -> Iterator[str]:
    """Yield commands that synchronise queues in parallel and wait until all are synchronised."""
    for queue in queues:
        vhost, name = split_queue(queue)
        yield line("rabbitmqctl", "sync_queue", node, f"--vhost={bash_word(vhost)}", names=[name]) + " &"
    if queues:
        yield "wait"


def runbook(answer: Answer, task: Task, title: str, beside: str = "") -> str:
    """Return the plan of a rolling upgrade as Markdown, with the text `beside` below the predictions."""
    plan, before = answer.plan, None
    parts = [
        f"# Rolling upgrade: {plain(title)}",
        "hawb wrote this plan from a simulation, with the rules of one release and the times of a model; rehearse"
        f" it before you use it. Each node is down for {seconds(task.away_s)} s, plus the time of its stop and its "
        f"boot. If a"
        " command fails, stop: do not stop the next node.",
        "## What is predicted",
        table(("plan", *MEASURED), in_cells(compared(one.name, one.prediction) for one in (plan, *answer.others))),
        *filter(None, [plain(beside), plain(never(answer))]),
        extent(answer),
    ]
    for number, stage in enumerate(plan.stages, 1):
        parts += [f"## {number}. {plain(stage.node)}", _about(stage), block(commands(stage, task, before))]
        before = stage.node
    if before is not None:
        parts += ["## At the end", block([started(before)]), _at_the_end(answer)]
    return "\n\n".join([*parts, *_felt(plan.prediction)]) + "\n"


def _about(stage: Stage) -> str:
    """Return what to wait for, why, and the times of the stage."""
    lines = [f"Wait for: {stage.wait}. {plain(stage.reason)}"]
    if stage.sync:
        lines.append(f"{counted(len(stage.sync), 'queue')} will not synchronise automatically.")
    runs = "it does not come back" if stage.end_s is None else f"runs again at {seconds(stage.end_s)} s"
    return " ".join([*lines, f"In the model it stops at {seconds(stage.stop_s)} s and {runs}."])


def _at_the_end(answer: Answer) -> str:
    rebalanced: Plan = answer.others[0]
    was, now = answer.plan.prediction, rebalanced.prediction
    return (
        f"One node has {counted(was.skew, 'master or leader', 'masters and leaders')} more than another. "
        f"`rabbitmq-queues rebalance all` would leave a difference of {now.skew:,}, and cost "
        f"{now.outage_s - was.outage_s:,.2f} s of outage in all, and {counted(now.lost - was.lost)}."
    )


def _felt(predicted: Prediction) -> Iterator[str]:
    if predicted.effects:
        rows = [[one.queue, f"{one.lost:,}", f"{one.down_s:,.3f} s", f"{one.blocked_s:,.3f} s"]
                for one in predicted.effects[:MOST_EFFECTS]]  # fmt: skip
        yield "## Affected queues"
        yield table(("queue", "lost", "out of use", "blocked"), in_cells(rows))
        if len(predicted.effects) > MOST_EFFECTS:
            yield f"And {counted(len(predicted.effects) - MOST_EFFECTS, 'more queue')}."


def stop_runbook(stopped: Stopped, task: Task, title: str, beside: str = "") -> str:
    """Return a full stop and start as Markdown, with the text `beside` below the predictions."""
    plan = stopped.plan
    first, others = plan.starts[: plan.together], plan.starts[plan.together :]
    starts = [typed for node in first for typed in _start(node)] + [started(node) for node in first]
    for node in others:
        starts += [*_start(node), started(node)]
    rows = [[*compared(one.name, one.prediction), stuck(one)] for one in (plan, *stopped.others)]
    return "\n\n".join([
        f"# Full stop and start: {plain(title)}",
        "hawb wrote this plan from a simulation, with the rules of one release and the times of a model. "
        + (LAST_FIRST if plan.together == 1 else MAJORITY_FIRST.format(plan.together)),
        "## What is predicted",
        table(("plan", *MEASURED, "deadlock"), in_cells(rows)),
        *filter(None, [plain(beside)]),
        "## Stop, one after the other",
        block([line("rabbitmqctl", "stop", node) for node in plan.stops]),
        "## Start, each when the previous one runs"
        if plan.together == 1
        else f"## Start the first {plan.together} together, then each other node when the previous one runs",
        block(starts),
        *_felt(plan.prediction),
    ]) + "\n"  # fmt: skip


def _start(node: str) -> list[str]:
    return [f"# on the host of {shown(node)}", "systemctl start rabbitmq-server"]


def in_cells(rows: Iterable[Sequence[object]]) -> list[list[str]]:
    """Return rows of any values as rows of Markdown text."""
    return [[plain(cell) for cell in row] for row in rows]
