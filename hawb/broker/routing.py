"""How messages find queues, from a definitions export: virtual hosts, exchanges and bindings, for definitions that are
written anew.

Only arguments that decide routing are kept, by their names. Whatever else an export holds stays out, users, permissions
and parameters first, for they hold password hashes and addresses with passwords in them.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from msgspec import Raw, Struct

from hawb.broker.definitions import X_QUEUE_TYPE, holds_export, queue_type
from hawb.broker.imported import split_source
from hawb.broker.resources import export_text
from hawb.broker.untrusted import Table, check_json, decode, properties
from hawb.rules.arguments_read import READ_BY
from hawb.scenario.fields import Name

EXCHANGE_ARGUMENTS = ("alternate-exchange", "x-delayed-type", "hash-header", "hash-property")
HEADERS = "headers"


class Exchange(Struct, gc=False):
    """An exchange of an export."""

    name: str
    vhost: Name | None = None
    type: str = "direct"
    durable: bool = True
    auto_delete: bool = False
    internal: bool = False
    arguments: Table = None


class Binding(Struct, gc=False):
    """A binding of an export."""

    source: str
    destination: str
    vhost: Name | None = None
    destination_type: str = "queue"
    routing_key: str = ""
    arguments: Table = None


class _Vhost(Struct):
    name: Name
    metadata: Any = None
    default_queue_type: Any = None

    def default_type(self) -> str | None:
        """Return the default queue type: classic, quorum or stream; None if it is none of them."""
        told = self.metadata.get("default_queue_type") if isinstance(self.metadata, dict) else None
        kind = queue_type(told or self.default_queue_type or "none", {})
        return kind if kind in READ_BY[X_QUEUE_TYPE] else None


class _Parameter(Struct):
    component: Name


class _Sections(Struct):
    original_vhost_name: Name | None = None
    vhosts: list[_Vhost] = []
    exchanges: list[Exchange] = []
    bindings: list[Binding] = []
    parameters: list[_Parameter] = []
    global_parameters: list[Raw] = []
    users: list[Raw] = []


class Routing(Struct):
    """The parts of an export that decide where messages go; every exchange and binding has its virtual host. `left`
    counts the parts that stay out: users, parameters and arguments. `default_types` are the default queue types of the
    virtual hosts that have one."""

    vhosts: list[str] = []
    exchanges: list[Exchange] = []
    bindings: list[Binding] = []
    left: dict[str, int] = {}
    default_types: dict[str, str] = {}


def read_routing(sources: Sequence[str | Path]) -> Routing:
    """The routing of the definitions export among these files; empty without one. Raises ImportRefused."""
    for source in sources:
        file, vhost = split_source(source)
        if holds_export(file):
            return _read(file, vhost)
    return Routing()


def _read(file: Path, vhost: str | None) -> Routing:
    text, _ = export_text(file)
    check_json(file, text)
    given = decode(file, "", text, _Sections)
    home = vhost or given.original_vhost_name or "/"
    dropped = 0
    for section, entries in (("exchanges", given.exchanges), ("bindings", given.bindings)):
        for number, one in enumerate(entries):
            one.vhost = one.vhost or home
            one.arguments = properties(file, f"{section}[{number}].arguments", one.arguments)
    kinds = {(one.vhost, one.name): one.type for one in given.exchanges}
    for one in given.exchanges:
        kept = {key: value for key, value in one.arguments.items() if key in EXCHANGE_ARGUMENTS}
        dropped += len(one.arguments) - len(kept)
        one.arguments = kept
    for one in given.bindings:
        by_headers = kinds.get((one.vhost, one.source)) == HEADERS or one.source in ("amq.headers", "amq.match")
        dropped += 0 if by_headers else len(one.arguments)
        one.arguments = one.arguments if by_headers else {}
    parameters = [one for one in given.parameters if one.component != "operator_policy"]
    left = {
        "users": len(given.users),
        "parameters": len(parameters) + len(given.global_parameters),
        "arguments of exchanges and bindings": dropped,
    }
    return Routing(
        list(dict.fromkeys(one.name for one in given.vhosts)),
        [one for one in given.exchanges if one.name and not one.name.startswith("amq.")],
        [one for one in given.bindings if one.source],
        {what: count for what, count in left.items() if count},
        {one.name: kind for one in given.vhosts if (kind := one.default_type()) is not None},
    )
