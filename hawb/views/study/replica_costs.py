"""The costs and benefits of each number of replicas, for a terminal and for programs.

Each figure comes with what it leaves out.
"""

from __future__ import annotations

import textwrap
from collections import Counter, defaultdict
from collections.abc import Sequence

from hawb.rules.quorum import tolerated_failures
from hawb.study.intervals import BATCHES
from hawb.study.prediction import Prediction
from hawb.study.replicas import CONSUMED_PER_S, HORIZON_DAYS, PUBLISHED_PER_S, Advice, Cell, Played, WhatIf
from hawb.views.formatting import counted, listing, percent, shown, too_few
from hawb.views.report import Part, Report
from hawb.views.tables import WIDTH, Table
from hawb.views.verdicts import replicas

COLUMNS = ("type", "replicas", "tolerates", "disk", "memory", "network", "messages/s", "loses confirmed", "out of use")
ADVICE = ("now", "recommended", "tolerates", "queues", "why not quorum")

TOLERATES = (
    "nodes that may fail while the queue stays in use. Quorum queue: its members minus a majority. Mirrored queue:"
    " all but one while its mirrors are synchronised; none if no mirror is."
)
HELD = (
    "the bodies of all messages in the files, on all replicas together. Left out: indices, logs that are not"
    " truncated yet, transient messages, and memory of classic queues, which decide themselves when to page."
)
NETWORK = (
    "how often each byte of a published message is sent from one node to another, counted in a simulation. Left out:"
    " traffic to clients, synchronisations, and members that catch up."
)
RATES = (
    "the rate of one queue on an otherwise idle cluster, with its interval, estimated from published measurements; "
    "{error}. * is outside the range of these measurements. Left out: your machines, other load, distant replicas."
)
PLAYED = (
    "{found.trials:,} trials a row{fewer}, seed {found.seed}, "
    f"{HORIZON_DAYS} days each, on seven nodes, {{failing}};"
    f" {PUBLISHED_PER_S} messages a second in, {CONSUMED_PER_S} out. Out of use: the mean of all"
    " trials. Intervals are 95 % intervals. For a share it is Wilson's: a loss in none of {found.trials:,} trials can"
    " still happen. For a mean it comes from batch means, from {least} trials on; it is too narrow if few trials had"
    " an outage. Left out: {without}partitions, deep backlogs."
)
FAILING = "of which each fails once a month and is back within an hour (assumed)"
WITHOUT = "losses of power, lost disks, "
BY_NUMBERS = "which fail at the rates of {own.numbers}{open}"
OPEN = (
    ", whose {draws} draws widen the intervals by the uncertainty of its rates, except in rows that the engine"
    " simulates"
)
FEWER = "; {trials:,} in each of {rows}, by the engine, because the compiled kernel does not support {reason}"
UNPLAYED = "no trials: none were requested, or the network cannot carry such messages to seven replicas."

NOT_MODELLED, NOT_MEASURED, NOT_PLAYED = "not modelled", "not measured", "no trials"


def report_of(found: WhatIf) -> Report:
    """Return the report on a cluster's queues."""
    costs, _, advised = tables(found)
    return Report(
        f"Do the queues survive {counted(found.failures, 'failure')}?", heading(found), replicas.verdict(found),
        replicas.todo(found),
        (
            Part("Queue by queue", advised, (recommendation(found), *replicas.on_streams(found))),
            *([Part("What one to seven replicas cost and achieve", costs)] if found.queues else []),
        ),
        tuple(" ".join(each.split()) for each in (legend(found) if found.queues else ())), tuple(found.notes),
    )  # fmt: skip


def heading(found: WhatIf) -> str:
    """Return the queues that the answer is about, in words."""
    size = f"{found.size_bytes:,} bytes{' (assumed)' if found.assumed_size else ''}"
    streams = [one for one in found.advice if one.queue.type == "stream"]
    nodes = "an unknown number of nodes" if found.nodes is None else counted(found.nodes, "node")
    about = f"{counted(len(found.queues), 'queue')} with {counted(found.messages)} of {size}"
    about = [*([about] if found.queues or not streams else []), *([counted(len(streams), "stream")] if streams else [])]
    return f"{' and '.join(about)} on {nodes}, RabbitMQ {found.profile.release}"


def rows(found: WhatIf) -> list[tuple[str, ...]]:
    """Return a row for each type and number of replicas."""
    return [
        (
            cell.queue_type, str(cell.replicas), counted(cell.tolerated, "failure"), _size(cell.disk_bytes),
            NOT_MODELLED if cell.memory_bytes is None else _size(cell.memory_bytes), f"{cell.network:.1f}x",
            _rate(cell.rate), *_played(cell.played),
        )
        for cell in found.cells
    ]  # fmt: skip


def _size(size_bytes: int) -> str:
    return f"{size_bytes / 2**20:,.1f} MiB"


def _rate(rate: Prediction | None) -> str:
    if rate is None:
        return NOT_MEASURED
    beyond = " *" if rate.warnings else ""
    return f"{rate.value:,.0f} ({rate.low:,.0f} to {rate.high:,.0f}){beyond}"


def _played(played: Played | None) -> tuple[str, str]:
    if played is None:
        return NOT_PLAYED, NOT_PLAYED
    low, high = played.share_interval
    share = f"{played.lost.some:,} of {played.lost.trials:,} ({percent(low)} to {percent(high)})"
    down = played.down
    low, high, takes = down.low_s, down.high_s, down.takes
    between = too_few(takes) if low is None else f"{_seconds(max(0.0, low))} to {_seconds(high)}"
    return share, f"{_seconds(down.mean_s)} s{f' ({between})' if between else ''}, at most {_seconds(down.most_s)}"


def _seconds(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:,.1f}"


def recommendation(found: WhatIf) -> str:
    """Return the recommendation and its rule."""
    failures = counted(found.failures, "failure")
    kinds = f"quorum queues of {counted(found.members, 'member')}"
    if any(one.queue.type == "stream" for one in found.advice):
        kinds = f"quorum queues and streams of {counted(found.members, 'member')}"
    text = f"Recommended for {failures}: {kinds}."
    if found.nodes is not None and _tolerates(found) < found.failures:
        text += f" That tolerates {counted(_tolerates(found), 'failure')}: {counted(found.nodes, 'node')} are too few."
    return f"{text} The rule: {found.rule}."


def _tolerates(found: WhatIf) -> int:
    return next(cell.tolerated for cell in found.cells if (cell.queue_type, cell.replicas) == ("quorum", found.members))


def advice_rows(found: WhatIf) -> list[tuple[str, ...]]:
    """Return the advice for the queues; queues with the same advice share a row."""
    groups: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for one in found.advice:
        groups[_advised(one)].append(one.queue.full_name)
    return [(*row[:3], f"{len(names):,}: {listing(sorted(names))}", row[3]) for row, names in sorted(groups.items())]


def _advised(one: Advice) -> tuple[str, ...]:
    has = "not told" if one.has is None else str(one.has)
    offline = f", {one.online} of them online" if one.online not in (None, one.has) else ""
    now = f"{one.queue.type}, {has}{offline}"
    tolerates = counted(one.replicas - 1 if one.type == "classic" else tolerated_failures(one.replicas), "failure")
    return now, f"{one.type}, {one.replicas}", tolerates, shown("; ".join(one.blockers))


def legend(found: WhatIf) -> list[str]:
    """Return what each column means, where its figures come from, and what they leave out."""
    measured = {cell.queue_type: cell.rate for cell in found.cells if cell.rate is not None}
    errors = ", ".join(f"{kind} {rate.error:.0%} ({rate.rows} figures)" for kind, rate in measured.items())
    error = (f"the median error on measurements that were not used for the estimate: {errors}" if errors
             else "nothing similar was measured")  # fmt: skip
    played = [cell.played for cell in found.cells if cell.played is not None]
    failing = UNPLAYED
    if played:
        without = "" if found.own else WITHOUT
        failing = PLAYED.format(
            found=found, fewer=_fewer(played), least=2 * BATCHES, failing=_failing(found), without=without
        )
    texts = {
        "tolerates": TOLERATES,
        "disk, memory": HELD,
        "network": NETWORK,
        "messages/s": RATES.format(error=error),
        "loses confirmed, out of use": failing,
    }
    return ["\n".join(textwrap.wrap(f"{name}: {text}", WIDTH, subsequent_indent="  ")) for name, text in texts.items()]


def _failing(found: WhatIf) -> str:
    """Return how nodes fail in the simulated trials."""
    if found.own is None:
        return FAILING
    return BY_NUMBERS.format(own=found.own, open=OPEN.format(draws=len(found.own.draws)) if found.own.draws else "")


def _fewer(played: Sequence[Played]) -> str:
    """Return which rows have fewer trials, and why; "" if none has."""
    groups = Counter((one.refused, one.lost.trials) for one in played if one.refused)
    return "".join(
        FEWER.format(trials=trials, rows=counted(count, "row"), reason=reason)
        for (reason, trials), count in groups.items()
    )


def plain(found: WhatIf) -> dict[str, object]:
    """Return the whole answer as JSON values."""
    return {
        "release": found.profile.release,
        "nodes": found.nodes,
        "messages": found.messages,
        "size_bytes": found.size_bytes,
        "assumed_size": found.assumed_size,
        "failures": found.failures,
        "members": found.members,
        "rule": found.rule,
        "trials": found.trials,
        "seed": found.seed,
        "horizon_days": HORIZON_DAYS,
        "replicas": [_plain_cell(cell) for cell in found.cells],
        "queues": [
            {"queue": one.queue.full_name, "type": one.queue.type, "has": one.has, "recommended_type": one.type,
             "recommended": one.replicas, "blockers": one.blockers,
             "online": one.online, "survives": one.survives, "declared": one.declared}
            for one in found.advice
        ],
        "legend": [" ".join(text.split()) for text in legend(found)],
    }  # fmt: skip


def _plain_cell(cell: Cell) -> dict[str, object]:
    rate, played = cell.rate, cell.played
    return {
        "type": cell.queue_type,
        "replicas": cell.replicas,
        "tolerated": cell.tolerated,
        "disk_bytes": cell.disk_bytes,
        "memory_bytes": cell.memory_bytes,
        "network": cell.network,
        "messages_per_s": rate and {"value": rate.value, "low": rate.low, "high": rate.high, "error": rate.error,
                                    "warnings": list(rate.warnings)},
        "lost_confirmed": played and {"trials": played.lost.trials, "with_loss": played.lost.some,
                                      "share_low": played.share_interval[0], "share_high": played.share_interval[1]},
        "down_s": played and {"mean": played.down.mean_s, "mean_low": played.down.low_s,
                              "mean_high": played.down.high_s, "trials_for_mean": played.down.takes,
                              "most": played.down.most_s},
    }  # fmt: skip


def tables(found: WhatIf) -> tuple[Table, Table, Table]:
    """Return the costs, the meaning of the columns, and the advice, for a notebook and a page."""
    legend_rows = [tuple(" ".join(text.split()).split(": ", 1)) for text in legend(found)]
    return (
        Table(heading(found), COLUMNS, rows(found)),
        Table("What the columns mean, and what they leave out", ("column", "what it is"), legend_rows),
        Table(recommendation(found), ADVICE, advice_rows(found)),
    )
