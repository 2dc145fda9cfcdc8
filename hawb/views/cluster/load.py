"""The load of each node of an outcome: its replicas, the clients that it serves, and the published messages it wrote.

Mirroring does not distribute work: each message goes to the master, which serves all of the queue's clients, and from
there to every mirror. So a message published to a queue with three replicas is written three times. Bytes, deliveries
and acknowledgements are not counted here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from msgspec import Struct

from hawb.languages import N_, Plural, _, ngettext
from hawb.views import style, tables
from hawb.views.cluster.matrix import common_prefix
from hawb.views.formatting import counted, html, paragraph, sentence, shown, size, whole
from hawb.views.terminal import columns

SERVES, COPIES = ("master", "leader", "leader_alone"), ("mirror", "member")
"""The roles of replicas that serve a queue's clients, and of those that only hold a copy."""


class Load(Struct, frozen=True):
    """The load of a node: queues it serves as master or leader, other replicas, and messages in all of them.

    `written` counts the published messages that were written on the node.
    """

    node: str
    serves: int = 0
    copies: int = 0
    messages: int = 0
    written: int = 0


COLUMNS = {"serves": "master", "copies": "synchronised", "messages": "running", "written": "promoted"}
"""The columns, each with the look that gives its bars their colour."""

WORDS = {"serves": N_("masters and leaders"), "copies": N_("mirrors and followers"), "messages": N_("messages held"),
         "written": N_("publishes written")}  # fmt: skip

BAR_PX = 80
"""The length of the longest bar in pixels."""


WRITTEN = Plural(
    "{messages} was published and written {count} times in all, {each} times each: every replica writes every message.",
    "{messages} were published and written {count} times in all, {each} times each: every replica writes every"
    " message.",
)


def loads(outcome: dict) -> list[Load]:
    """Return the load of each node, in the order of the outcome.

    Replicas on a stopped node do not count; the messages that were written there do.
    """
    serves, copies, held = Counter(), Counter(), Counter()
    for node, replica in _replicas(outcome):
        serves[node] += replica["role"] in SERVES
        copies[node] += replica["role"] in COPIES
        held[node] += replica["messages"]
    written = _written(outcome)
    return [Load(node, serves[node], copies[node], held[node], written[node]) for node in outcome["nodes"]]


def _replicas(outcome: dict) -> Iterator[tuple[str, dict]]:
    """Yield each running replica with its node, for every queue and every partition's view of it."""
    for queue in (*outcome["queues"].values(), *outcome.get("queues_elsewhere", {}).values()):
        for seen in queue.get("replicas_by_view", [queue.get("replicas", {})]):
            yield from ((node, replica) for node, replica in seen.items() if replica["online"])


def _written(outcome: dict) -> Counter[str]:
    """Return the number of published messages that each node has written."""
    written: Counter[str] = Counter()
    for event in outcome["events"]:
        if event["event"] == "messages_published":
            count = size(event["detail"]["ids"])
            written.update(dict.fromkeys(event["detail"]["replicas"], count))
    return written


def summary(outcome: dict) -> str:
    """Return the loads in sentences: the node that serves most queues, and how many times each message was written."""
    found = loads(outcome)
    published = sum(size(e["detail"]["ids"]) for e in outcome["events"] if e["event"] == "messages_published")
    written, served = sum(one.written for one in found), sum(one.serves for one in found)
    busiest = max(found, key=lambda one: one.serves)
    parts = []
    if served:
        words = {"node": shown(busiest.node), "count": busiest.serves, "queues": counted(served, "queue")}
        parts.append(_("{node} has the most masters and leaders: it leads {count} of {queues}.", **words))
    if published:
        times = {"count": whole(written), "each": f"{written / published:.1f}"}
        parts.append(ngettext(*WRITTEN, published, messages=sentence(counted(published)), **times))
    return paragraph(parts) or _("No queue has a master or leader, and no message was published.")


def text(outcome: dict) -> str:
    """Return the table for a terminal, followed by the summary."""
    table = [[shown(one.node), *(whole(getattr(one, column)) for column in COLUMNS)] for one in loads(outcome)]
    drawn = columns(table, [_("node"), *heads()], None, range(1, len(COLUMNS) + 1))
    return f"{drawn}\n{summary(outcome)}"


def heads() -> list[str]:
    """Return the heads of COLUMNS."""
    return [_(word) for word in WORDS.values()]


def table_html(outcome: dict) -> str:
    """Return the table as HTML; each figure has a bar in proportion to the largest of its column."""
    found, cut = loads(outcome), len(common_prefix(outcome["nodes"]))
    most = {column: max(getattr(one, column) for one in found) for column in COLUMNS}
    body = "".join(
        f"<tr>{tables.name_cell(one.node[cut:])}{''.join(_cell(one, column, most[column]) for column in COLUMNS)}</tr>"
        for one in found
    )
    names = dict.fromkeys((_("node"), *heads()), tables.NAME_CELL)
    return tables.table(_("The work of each node"), names, body) + f"<p>{html(summary(outcome))}</p>"


def _cell(load: Load, column: str, most: int) -> str:
    number, colour = getattr(load, column), style.LOOKS[COLUMNS[column]].colour
    width = 0 if most == 0 else round(BAR_PX * number / most)
    look = f"display:inline-block;height:9px;width:{width}px;background:{colour}"
    return f'<td style="{tables.NAME_CELL}"><span aria-hidden="true" style="{look}"></span> {whole(number)}</td>'
