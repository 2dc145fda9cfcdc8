"""The queue table that `rabbitmqctl list_queues` would print, as text and as HTML."""

from __future__ import annotations

from collections.abc import Callable

from hawb.engine.core.naming import split_queue
from hawb.engine.core.state import CLASSIC, GROUPED
from hawb.languages import _, ngettext
from hawb.views import terminal
from hawb.views.cluster.replicas import seen_by
from hawb.views.formatting import listing, shown, size
from hawb.views.tables import CELL, NAME_CELL, cell, name_cell, table

LISTED = 4
"""The number of nodes in a cell from which the rest is only counted."""

COLUMNS: dict[str, Callable[[str, dict], str]] = {
    "vhost": lambda name, queue: shown(split_queue(name)[0]),
    "name": lambda name, queue: shown(split_queue(name)[1]),
    "policy": lambda name, queue: "" if queue["policy"] is None else shown(queue["policy"]),
    "type": lambda name, queue: queue["type"],
    "state": lambda name, queue: queue["state"],
    "messages": lambda name, queue: str(queue["messages"]),
    "uncommitted": lambda name, queue: str(size(queue["uncommitted"])) if queue.get("uncommitted") else "",
    "node": lambda name, queue: node(queue),
    "mirrors": lambda name, queue: nodes(queue.get("mirrors"), queue.get("mirrored")),
    "synchronised mirrors": lambda name, queue: nodes(queue.get("synchronised_mirrors"), queue.get("mirrored")),
    "members": lambda name, queue: nodes(queue.get("members"), True),
    "online": lambda name, queue: nodes(queue.get("online"), True),
}
"""The columns, and their cells for a queue's name and entry. RabbitMQ does not count uncommitted messages."""

COUNTS = ("messages", "uncommitted")
"""Columns of numbers."""

ONLY_FOR = {"mirrors": (CLASSIC,), "synchronised mirrors": (CLASSIC,), "members": GROUPED, "online": GROUPED}
"""Columns that are left out if there is no queue of these types."""


def columns(outcome: dict) -> list[str]:
    """Return the columns that an outcome needs."""
    queues = outcome["queues"]
    types = {queue["type"] for queue in queues.values()}
    vhosts = {split_queue(name)[0] for name in queues}
    needed = {"vhost": vhosts - {"/"}, "uncommitted": any(queue.get("uncommitted") for queue in queues.values())}
    return [name for name in COLUMNS if types & set(ONLY_FOR.get(name, types)) and needed.get(name, True)]


def node(queue: dict) -> str:
    """Return a queue's node with the number of its other replicas as the management UI shows it: a +2.

    Unsynchronised mirrors are counted apart: a +1 (+1 unsynchronised). A quorum queue without a leader: none +3.
    """
    home = queue["master"] if queue["type"] == "classic" else queue.get("leader")
    if queue["type"] != "classic":
        replicas, behind = len(queue["members"]) - (home is not None), 0
    else:
        replicas = len(queue["synchronised_mirrors"])
        behind = len(queue["mirrors"]) - replicas
    parts = [_("none") if home is None else shown(home)]
    parts += [f"+{replicas}"] if replicas > 0 else []
    parts += [_("(+{count} unsynchronised)", count=behind)] if behind > 0 else []
    return " ".join(parts)


def nodes(names: list[str] | None, applies: bool | None) -> str:
    """Return nodes as rabbitmqctl lists them, [b, c]; of many nodes the rest is counted.

    Return "" if the column does not apply to the queue.
    """
    if names is None or not applies:
        return ""
    listed = [shown(name) for name in names]
    if len(listed) > LISTED:
        listed = [*listed[: LISTED - 1], f"{len(listed) - LISTED + 1} more"]
    return f"[{', '.join(listed)}]"


def queue_tables(outcome: dict, width: int, colour: bool = False) -> list[str]:
    """Return the queue table within a width, or one for each partition."""
    sides = outcome["partitions"]
    if not sides:
        return [list_queues(outcome, width, colour)]
    lines = []
    for side in sides:
        sees = ngettext("As {nodes} sees it:", "As {nodes} see it:", len(side), nodes=listing(side))
        lines += [sees, list_queues(as_seen(outcome, side), width, colour), ""]
    return lines[:-1]


def as_seen(outcome: dict, side: list[str]) -> dict:
    """Return an outcome with the queues that one partition knows, as it sees them."""
    queues = outcome["queues"] | outcome["queues_elsewhere"]
    known = {
        name: queue
        for name, queue in queues.items()
        if "views" not in queue or any(side[0] in view["nodes"] for view in queue["views"])
    }
    return outcome | {"queues": {name: seen_by(queue, side) for name, queue in known.items()}}


def list_queues(outcome: dict, width: int | None = None, colour: bool = False) -> str:
    """Return the queue table, sorted by name, within a width if there is one."""
    if not outcome["queues"]:
        return _("There is no queue.")
    names = columns(outcome)
    rows = [[COLUMNS[column](name, queue) for column in names] for name, queue in sorted(outcome["queues"].items())]
    return terminal.columns(rows, names, width, [at for at, column in enumerate(names) if column in COUNTS], colour)


def html(outcome: dict, was: dict | None = None) -> str:
    """Return the queue table of `list_queues` as HTML, with changes marked."""
    before = (outcome if was is None else was)["queues"]
    names = columns(outcome)
    body = "".join(
        f"<tr>{''.join(_entry(column, name, queue, before.get(name)) for column in names)}</tr>"
        for name, queue in sorted(outcome["queues"].items())
    )
    return table(_("Queues"), {name: _align(name) for name in names}, body)


def _align(column: str) -> str:
    return CELL if column in COUNTS else NAME_CELL


def _entry(column: str, name: str, queue: dict, was: dict | None) -> str:
    if column == "name":
        return name_cell(COLUMNS[column](name, queue))
    value = COLUMNS[column](name, queue)
    return cell(value, None if was is None else COLUMNS[column](name, was), _align(column))


