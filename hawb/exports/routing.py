"""Read virtual hosts, exchanges and bindings of a definitions export, for definitions that hawb writes.

Only arguments that decide routing are kept, by their names. All else is left out, above all users, permissions and
parameters, which hold password hashes and addresses with passwords in them.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from msgspec import Raw, Struct

from hawb.exports.definitions import Binding, Exchange, Vhost, default_type, holds_export, make_routing_objects
from hawb.exports.imported import split_source
from hawb.exports.resources import export_text
from hawb.exports.untrusted import check_json, decode, properties
from hawb.scenario.fields import Name

EXCHANGE_ARGUMENTS = ("alternate-exchange", "x-delayed-type", "hash-header", "hash-property")
HEADERS = "headers"


class _Parameter(Struct):
    component: Name


class _Sections(Struct):
    original_vhost_name: Name | None = None
    vhosts: list[Vhost] = []
    exchanges: list[Exchange] = []
    bindings: list[Binding] = []
    parameters: list[_Parameter] = []
    global_parameters: list[Raw] = []
    users: list[Raw] = []


class Routing(Struct):
    """The parts of an export that decide where messages go. Every exchange and binding has its virtual host.

    `left` counts the parts that are left out: users, parameters and arguments. `default_types` has the default queue
    types of the virtual hosts that have one.
    """

    vhosts: list[str] = []
    exchanges: list[Exchange] = []
    bindings: list[Binding] = []
    left: dict[str, int] = {}
    default_types: dict[str, str] = {}


def read_routing(sources: Sequence[str | Path]) -> Routing:
    """Return the routing of the definitions export among these files; empty without an export. Raise ImportRefused."""
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
    make_routing_objects(file, given.exchanges, given.bindings)
    for number, vhost_given in enumerate(given.vhosts):
        vhost_given.metadata = properties(file, f"vhosts[{number}].metadata", vhost_given.metadata)
    for one in (*given.exchanges, *given.bindings):
        one.vhost = one.vhost or home
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
        {one.name: kind for one in given.vhosts if (kind := default_type(one)) is not None},
    )
