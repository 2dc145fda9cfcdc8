"""The page of `hawb safe`: the report, the matrix of nodes and queues, and harm that RabbitMQ's own checks miss."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from hawb.planning.safe_to_stop import WAYS, Effect, Forecast, Outlook
from hawb.views.formatting import listing
from hawb.views.page import LIMITS, figure, report_page
from hawb.views.planning import forecast_matrix
from hawb.views.planning.forecast import COLUMNS, checks, effect_rows, happens, many, why
from hawb.views.planning.forecast_matrix import Row
from hawb.views.report import Part, Report
from hawb.views.tables import Table
from hawb.views.verdicts import safe

QUESTION, QUESTION_OF = "Is it safe to stop a node now?", "Is it safe to stop {} now?"
ALREADY = "Out of use before any node is stopped"
QUEUES = "What stopping or killing each node does to each queue"
DRAWN = f"{QUEUES}: its losses, or how long it is out of use (empty: no effect)"
MISSED = "Queues that a controlled stop harms although both of RabbitMQ's checks pass"
NOTHING_MISSED = "Nothing: for each queue that a controlled stop harms, one of the checks fails."
KINDS = {"loss": "lose messages", "outage": "cannot be used", "safe": "not affected, or only for a moment"}
ASSUMED = (
    LIMITS,
    "A stop is a controlled shutdown; a kill is not. Each forecast stops or kills one node, with all other nodes"
    " as they are now, and does not start it again.",
)


def rows(forecasts: Sequence[Forecast]) -> list[Row]:
    """Return the queues that any node's stop or kill affects, the worst first.

    Queues with the same effects share a row.
    """
    by_queue: dict[str, dict[str, dict[str, Effect]]] = defaultdict(lambda: defaultdict(dict))
    for forecast in forecasts:
        for way in WAYS:
            for effect in forecast.effects[way]:
                by_queue[effect.queue][forecast.node][way] = effect
    found: dict[tuple[str, ...], tuple[list[str], list[dict[str, Effect]]]] = {}
    for queue in sorted(by_queue, key=lambda name: (_harm(by_queue[name]), name)):
        ways = [by_queue[queue][forecast.node] for forecast in forecasts]
        found.setdefault(tuple(map(forecast_matrix.cell, ways)), ([], ways))[0].append(queue)
    return list(found.values())


def by_queue(forecasts: Sequence[Forecast]) -> Table:
    """Return a table with a column for each node: the effects of its stop and kill on queues, as in `rows`.

    Queues that no node affects are left out.
    """
    nodes = (f"{forecast.node} ends" for forecast in forecasts)
    cells = [(many(names), *map(forecast_matrix.cell, ways)) for names, ways in rows(forecasts)]
    return Table(QUEUES, ("queues", *nodes), cells)


def _harm(by_node: dict[str, dict[str, Effect]]) -> tuple:
    effects = [effect for ways in by_node.values() for effect in ways.values()]
    most = max(effects, key=lambda one: one.unavailable_s).unavailable_s
    return -max(one.lost for one in effects), -sum(one.down for one in effects), -most


def missed(forecasts: Sequence[Forecast]) -> Table:
    """Return the queues that a controlled stop harms although RabbitMQ's own checks pass."""
    unseen = [
        (forecast.node, effect.queue, happens(effect), why(effect))
        for forecast in forecasts
        for effect in forecast.missed("stop")
    ]
    return Table(MISSED, ("node", "queue", "what happens", "why"), unseen)


def report_of(
    title: str, found: Outlook | Sequence[Forecast], notes: Sequence[str] = (), files: Sequence[str] = (),
    node: str = "",
) -> Report:  # fmt: skip
    """Return the report on a cluster's nodes, or on one `node`; `notes` say what the cluster's `files` lack."""
    found = Outlook.of(found)
    forecasts, known = found.forecasts, bool(found.forecasts) and found.live.queues_listed
    unseen = missed(forecasts)
    failing = tuple(f"{forecast.node}: {'; '.join(checks(forecast))}" for forecast in forecasts)
    by_node = [(kind, row) for forecast in forecasts for kind, row in effect_rows(forecast)]
    unlisted = found.live.unlisted
    left = (f"What happens to {listing(unlisted)} is left out: the files do not say enough.",) if unlisted else ()
    parts = [
        Part("Node by node", Table("Node by node", COLUMNS, [row for _, row in by_node]), left,
             tuple(KINDS[kind] for kind, _ in by_node)),
        Part("What RabbitMQ's own checks say", notes=failing),
        Part("What these checks miss", unseen, (MISSED + ".",)) if unseen.rows
        else Part("What these checks miss", notes=(NOTHING_MISSED,)),
    ]  # fmt: skip
    out = [(one.queue, safe.why_out(one)) for one in found.out_of_use]
    before = [Part(ALREADY, Table(ALREADY, ("queue", "why"), out))] if out else []
    return Report(
        QUESTION_OF.format(node) if node else QUESTION, title, safe.verdict(found),
        safe.todo(found, files), (*before, *(parts if known else ())),
        ASSUMED if known else (), tuple(notes),
    )  # fmt: skip


def page(
    title: str, found: Outlook | Sequence[Forecast], notes: Sequence[str] = (), files: Sequence[str] = (),
    node: str = "",
) -> str:  # fmt: skip
    """Return the report as one page, which fetches and runs nothing; the arguments are those of `report_of`."""
    forecasts = Outlook.of(found).forecasts
    by_queue = rows(forecasts)
    broad, slim = (forecast_matrix.svg(forecasts, by_queue, slim=slim) for slim in (False, True))
    drawn = [figure(broad, DRAWN, slim=slim)] if by_queue else []
    return report_page(report_of(title, found, notes, files, node), drawn)
