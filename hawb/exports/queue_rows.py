"""Read the rows of a queue listing as facts about queues.

hawb reads the management API's /api/queues and `rabbitmqctl list_queues` as text and as JSON, with columns in any
order. Every form becomes `QueueFacts`, in which None means that the listing lacks the fact. The text form writes a
process as <NODE.CREATION.ID.SERIAL> (rabbit_misc:pid_to_string), the JSON form as #PID<...>, which does not name the
node.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from hawb.exports.definitions import queue_type
from hawb.exports.untrusted import Empty, ImportRefused, Table, Value, as_object, decode
from hawb.scenario.fields import Count, Name

LISTINGS = (
    "/api/queues, /api/nodes, /api/policies or /api/overview, rabbitmqctl list_queues with its header line,"
    " or rabbitmqctl list_queues, list_policies or cluster_status with --formatter json"
)
"""The accepted listings, as errors name them."""

_BANNER = re.compile(r"Listing queues for vhost (?P<vhost>.+) \.\.\.")
_TIMEOUT = re.compile(r"Timeout: .* \.\.\.")
_HEADER = re.compile(r"[a-z_]+(\t[a-z_]+)*")
_PID = re.compile(r"<(?P<node>.+)\.\d+\.\d+\.\d+>")
_NODELESS_PID = re.compile(r"(#PID)?<\d+\.\d+\.\d+>")

ByteCount = Annotated[int, Meta(ge=0, le=2**63 - 1)]
NodeNames = list[Name] | str | UnsetType | None
Flag = bool | str | UnsetType | None


class Details(Struct, gc=False):
    """The details of a counter in `message_stats`: its recent rate in messages a second."""

    rate: Annotated[float, Meta(ge=0, le=10**8)] | None = None


class MessageStats(Struct, gc=False):
    """The management API's counters of a queue's messages. RabbitMQ leaves out counters of 0."""

    publish_details: Details | None = None
    deliver_get_details: Details | None = None
    ack_details: Details | None = None


class Row(Struct, gc=False):
    """A queue as a listing writes it. The text form has text in every column, and "" where a column does not apply."""

    name: Name
    vhost: Name | None = None
    type: str | UnsetType | None = UNSET
    state: str | UnsetType | None = UNSET
    durable: Flag = UNSET
    auto_delete: Flag = UNSET
    exclusive: Flag = UNSET
    arguments: Table | str | UnsetType = UNSET
    policy: str | UnsetType | None = UNSET
    operator_policy: str | UnsetType | None = UNSET
    effective_policy_definition: Table | str | UnsetType = UNSET
    messages: Count | str | UnsetType | None = UNSET
    messages_ready: Count | str | UnsetType | None = UNSET
    messages_unacknowledged: Count | str | UnsetType | None = UNSET
    message_bytes: ByteCount | str | UnsetType | None = UNSET
    node: str | UnsetType | None = UNSET
    pid: str | UnsetType | None = UNSET
    slave_nodes: NodeNames = UNSET
    slave_pids: NodeNames = UNSET
    synchronised_slave_nodes: NodeNames = UNSET
    synchronised_slave_pids: NodeNames = UNSET
    recoverable_slaves: NodeNames = UNSET
    leader: str | UnsetType | None = UNSET
    members: NodeNames = UNSET
    online: NodeNames = UNSET
    message_stats: MessageStats | Empty | str | UnsetType | None = UNSET


class QueueFacts(Struct, gc=False, omit_defaults=True):
    """The facts about a queue that listings have; None means not known.

    `node` is where the queue process runs, `mirrors` are ordered oldest first, and `per_s` has messages a second by the
    keys of `MessageStats`.
    """

    type: str | None = None
    state: str | None = None
    durable: bool | None = None
    auto_delete: bool | None = None
    exclusive: bool | None = None
    arguments: dict[str, Value] | None = None
    policy: str | None = None
    operator_policy: str | None = None
    effective_definition: dict[str, Value] | None = None
    messages: int | None = None
    ready: int | None = None
    unacknowledged: int | None = None
    message_bytes: int | None = None
    node: str | None = None
    mirrors: list[str] | None = None
    synchronised: list[str] | None = None
    recoverable: list[str] | None = None
    leader: str | None = None
    members: list[str] | None = None
    online: list[str] | None = None
    per_s: dict[str, float] | None = None

    def offline(self) -> list[str]:
        """Return the members that the listing has as not online."""
        return [node for node in self.members or () if self.online is not None and node not in self.online]

    def stopped(self, nodes: Mapping[str, bool]) -> list[str]:
        """Return the offline members whose nodes run. `nodes` maps each node to whether it runs."""
        return [node for node in self.offline() if nodes.get(node)]


# --- readers of one cell of a queue listing: they raise ValueError, whose text names the accepted values ---


def _word(value: str | None) -> str | None:
    return value or None


def _type(value: str | None) -> str | None:
    return queue_type(value, {}) if value else None


def _flag(value: bool | str | None) -> bool | None:
    known = {True: True, False: False, "true": True, "false": False, "": None, None: None}
    if value not in known:
        raise ValueError("true or false")
    return known[value]


def _count(value: int | str | None) -> int | None:
    if not isinstance(value, str):
        return value
    if value and not (value.isascii() and value.isdigit() and len(value) <= 12):
        raise ValueError("a whole number of at most 12 digits")
    return int(value) if value else None


def _byte_count(value: int | str | None) -> int | None:
    if not isinstance(value, str):
        return value
    if value and not (value.isascii() and value.isdigit() and len(value) <= 18):
        raise ValueError("a whole number of at most 18 digits")
    return int(value) if value else None


def _names(value: list[str] | str | None) -> list[str]:
    if isinstance(value, str):
        bare = value.strip()
        if bare and not (bare.startswith("[") and bare.endswith("]")):
            raise ValueError("a list of names in brackets")
        value = [name.strip() for name in bare[1:-1].split(",") if name.strip()]
    names = value or []
    if len(set(names)) < len(names):
        raise ValueError("each name once")
    return names


def _node_of(pid: str | None) -> str | None:
    if not pid or _NODELESS_PID.fullmatch(pid):
        return None
    if match := _PID.fullmatch(pid):
        return match["node"]
    raise ValueError("a process as <NODE.CREATION.ID.SERIAL> or #PID<...>")


def _nodes_of(pids: list[str] | str | None) -> list[str] | None:
    nodes = [_node_of(pid) for pid in _names(pids)]
    return None if None in nodes else _names(nodes)


def _properties(value: Table | str) -> dict[str, Value] | None:
    """Return a property list as an object.

    The text form writes an empty one as [] and any other as an Erlang term, which is not parsed: the result is None.
    """
    if isinstance(value, str):
        return {} if value == "[]" else None
    return None if value is None else as_object(value)


def _per_s(value: MessageStats | list | str | None) -> dict[str, float] | None:
    if isinstance(value, str) and value:
        raise ValueError("an object of counters")
    if not isinstance(value, MessageStats):
        return None
    rates = ((name, getattr(value, name)) for name in MessageStats.__struct_fields__)
    return {name: details.rate for name, details in rates if details and details.rate is not None} or None


_READERS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    # column: (fact, reader)
    "type": ("type", _type),
    "state": ("state", _word),
    "durable": ("durable", _flag),
    "auto_delete": ("auto_delete", _flag),
    "exclusive": ("exclusive", _flag),
    "arguments": ("arguments", _properties),
    "policy": ("policy", _word),
    "operator_policy": ("operator_policy", _word),
    "effective_policy_definition": ("effective_definition", _properties),
    "messages": ("messages", _count),
    "messages_ready": ("ready", _count),
    "messages_unacknowledged": ("unacknowledged", _count),
    "message_bytes": ("message_bytes", _byte_count),
    "node": ("node", _word),
    "pid": ("node", _node_of),
    "slave_nodes": ("mirrors", _names),
    "slave_pids": ("mirrors", _nodes_of),
    "synchronised_slave_nodes": ("synchronised", _names),
    "synchronised_slave_pids": ("synchronised", _nodes_of),
    "recoverable_slaves": ("recoverable", _names),
    "leader": ("leader", _word),
    "members": ("members", _names),
    "online": ("online", _names),
    "message_stats": ("per_s", _per_s),
}

_TELLING = _READERS.keys() - {"arguments", "type", "policy", "message_stats"}
"""Columns that other listings, such as those of exchanges, do not have."""


_FOREIGN = {"internal", "user"}
"""Columns of exchanges, connections and channels, whose listings share other columns with those of queues."""


def is_queue_listing(columns: set[str]) -> bool:
    """Return True if these are columns of a queue listing."""
    return "name" in columns and bool(_TELLING & columns) and not _FOREIGN & columns


def json_rows(file: Path, place: str, source: str | Raw) -> Iterator[tuple[str | None, str, QueueFacts]]:
    """Yield (virtual host or None, name, facts) of each row of a JSON listing. Raise ImportRefused."""
    for number, row in enumerate(decode(file, place, source, list[Row])):
        yield row.vhost, row.name, _facts(file, f"{place}[{number}]", row)


def text_rows(file: Path, text: str) -> Iterator[tuple[str | None, str, QueueFacts]]:
    """Yield (virtual host or None, name, facts) of each row of `rabbitmqctl list_queues`. Raise ImportRefused.

    A line above the header may name the virtual host; empty columns at the end of a line may be missing.
    """
    lines = [(number, line.removesuffix("\r")) for number, line in enumerate(text.split("\n"), start=1) if line.strip()]
    start, vhost = _header(file, lines)
    columns = lines[start][1].split("\t")
    for number, line in lines[start + 1 :]:
        cells = line.split("\t")
        if len(cells) > len(columns) or not cells[columns.index("name")]:
            raise ImportRefused(file, f"line {number}", f"{len(cells)} columns", f"{len(columns)} columns and a name")
        cells += [""] * (len(columns) - len(cells))
        fields = {column: cell for column, cell in zip(columns, cells, strict=True) if column in Row.__struct_fields__}
        row = Row(**fields)
        yield row.vhost or vhost, row.name, _facts(file, f"line {number}", row)


def _header(file: Path, lines: list[tuple[int, str]]) -> tuple[int, str | None]:
    """Return (index of the header line, virtual host named above it or None). Raise ImportRefused without a header."""
    vhost = None
    for index, (number, line) in enumerate(lines):
        columns = line.split("\t")
        if _HEADER.fullmatch(line) and is_queue_listing(set(columns)) and len(set(columns)) == len(columns):
            return index, vhost
        if match := _BANNER.fullmatch(line):
            vhost = match["vhost"]
        elif not _TIMEOUT.fullmatch(line):
            raise ImportRefused(file, f"line {number}", "no header line of a queue listing", LISTINGS)
    raise ImportRefused(file, "the whole file", "no header line of a queue listing", LISTINGS)


def _facts(file: Path, place: str, row: Row) -> QueueFacts:
    facts = QueueFacts()
    for column, (fact, reader) in _READERS.items():
        value = getattr(row, column)
        if value is UNSET:
            continue
        try:
            known = reader(value)
        except ValueError as error:
            raise ImportRefused(file, f"{place}, {column}", f"{type(value).__name__}", str(error)) from None
        if known is not None:
            setattr(facts, fact, known)
    # The management API leaves slave_nodes out of the row of a classic queue that is not mirrored.
    if row.node is not UNSET and row.slave_nodes is UNSET and row.recoverable_slaves is not UNSET:
        facts.mirrors = []
    return facts
