"""Read a definitions export, as `rabbitmqctl export_definitions` and the management API's /api/definitions write it.

An export has policies, virtual hosts and queues with their arguments. It has no nodes, no placement and no depth of
queues. Operator policies are among the runtime parameters, as component `operator_policy`
(rabbit_runtime_parameters:list leaves out the component `policy` alone). An export of one virtual host leaves out the
key `vhost` (rabbit_mgmt_wm_definitions).

Users and permissions are counted and not decoded, so that none of their content can be kept or printed.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Raw, Struct

from hawb.exports.resources import Manifest, export_text, manifests
from hawb.exports.untrusted import (
    ImportRefused,
    Table,
    Value,
    check_json,
    decode,
    named,
    properties,
    quoted,
    read_text,
    worded,
)
from hawb.rules.queue_types import CLASSIC, DEFAULT_TYPE_SINCE, TYPE, TYPES, release_numbers, takes_default_type
from hawb.scenario.fields import Name, Priority

Key = tuple[str, str]
"""(virtual host, name)."""

_TYPES = {f"rabbit_{kind}_queue": kind for kind in TYPES}
_NO_TYPE = (None, "", "undefined")
"""The values of a virtual host without a default queue type (`rabbit_vhost:default_queue_type`)."""
_SECTIONS = {"queues", "policies", "vhosts"}
_LETTERHEAD = {"product_name", "product_version", "explanation", "original_cluster_name", "rabbitmq_definition_format"}
_NOTHING = (b"[]", b"{}", b'""', b"null")


class PolicyBody(Struct, rename={"apply_to": "apply-to"}, gc=False):
    """A policy without its name, as exports and listings write it.

    rabbitmqctl lists the definition as text. Exports up to 4.2 write that of an operator policy as pairs of key and
    value.
    """

    pattern: str
    definition: Table | str
    priority: Priority = 0
    apply_to: str = "all"


class Policy(PolicyBody, rename={"apply_to": "apply-to"}, gc=False, kw_only=True):
    """A policy with its name. `vhost` is None in the export of a single virtual host."""

    name: Name
    vhost: Name | None = None


class DefinedQueue(Struct, gc=False):
    """A queue of an export."""

    name: Name
    vhost: Name | None = None
    type: str | None = None
    durable: bool = True
    auto_delete: bool = False
    exclusive: bool = False
    arguments: Table = None


class Vhost(Struct):
    """A virtual host of an export.

    4.0 to 4.2 export the default queue type in force beside the metadata; that may be the node's default
    (`rabbit_definitions:vhost_definition`).
    """

    name: Name
    limits: Table = None
    metadata: Table = None
    default_queue_type: str | None = None


class Parameter(Struct):
    """A runtime parameter. Its value may hold a password; only values of operator policies are decoded."""

    component: Name
    name: Name
    value: Raw
    vhost: Name | None = None


class GlobalParameter(Struct):
    """A parameter of the whole cluster."""

    name: Name


class Exchange(Struct, gc=False):
    """An exchange. Exports leave out the default ones."""

    name: str
    vhost: Name | None = None
    type: str = "direct"
    durable: bool = True
    auto_delete: bool = False
    internal: bool = False
    arguments: Table = None


class Binding(Struct, gc=False):
    """A binding. Those of the default exchange ("") are not exported: they follow from the queues."""

    source: str
    destination: str = ""
    vhost: Name | None = None
    destination_type: str = "queue"
    routing_key: str = ""
    arguments: Table = None


class Export(Struct):
    """The sections of an export that hawb reads. Users and permissions are kept undecoded, to be counted."""

    rabbit_version: str | None = None
    rabbitmq_version: str | None = None
    original_vhost_name: Name | None = None
    users: list[Raw] = []
    permissions: list[Raw] = []
    topic_permissions: list[Raw] = []
    vhosts: list[Vhost] = []
    parameters: list[Parameter] = []
    global_parameters: list[GlobalParameter] = []
    policies: list[Policy] = []
    queues: list[DefinedQueue] = []
    exchanges: list[Exchange] = []
    bindings: list[Binding] = []


@dataclass
class Definitions:
    """The content of an export, with policies as a scenario has them, and notes on what no scenario can hold.

    `nodes` and `settings` come from resources of Kubernetes' operators: the nodes all run, and `settings` has the
    settings of a scenario's cluster. `settings_left` has the settings that the resources have and a scenario cannot
    contain. `queues_listed` and `policies_listed` are False if the export lacks these sections. `queues_listed` is also
    False for resources without a Queue, as applications declare the queues then.
    """

    release: str | None = None
    vhosts: list[str] = field(default_factory=list)
    policies: dict[Key, dict[str, Any]] = field(default_factory=dict)
    operator_policies: dict[Key, dict[str, Any]] = field(default_factory=dict)
    queues: dict[Key, DefinedQueue] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    nodes: dict[str, bool] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    settings_left: set[str] = field(default_factory=set)
    exchanges: list[Exchange] = field(default_factory=list)
    bindings: list[Binding] = field(default_factory=list)
    queues_listed: bool = True
    policies_listed: bool = True


def read_definitions(file: Path, vhost: str | None = None) -> Definitions:
    """Return the content of an export, or of resources of Kubernetes' operators.

    Entries without a virtual host belong to `vhost`, by default to the one that the export itself names, else to /.
    Raise ImportRefused if the file cannot be imported.
    """
    text, manifest = export_text(file)
    check_json(file, text)
    sections = decode(file, "", text, dict[str, Raw])
    if not _SECTIONS & sections.keys():
        raise ImportRefused(
            file, "the whole file", "an object without queues, policies and vhosts", "a definitions export"
        )
    export = decode(file, "", text, Export)
    _make_objects(file, export)
    notes = _fill_vhosts(export, vhost)
    notes += _dropped_people(export)
    notes += (f"section {quoted(name)} of the definitions: not imported" for name in _unread(sections))
    notes += _vhost_notes(export)
    notes += _parameter_notes(export)
    notes += _routing_notes(export)
    notes += manifest.notes
    notes += _fill_types(export, manifest)
    return Definitions(
        release=export.rabbitmq_version or export.rabbit_version,
        vhosts=list(dict.fromkeys(entry.name for entry in export.vhosts)),
        policies=_keyed(file, "policies", ((p.vhost, p.name, policy_entry(file, p)) for p in export.policies)),
        operator_policies=_keyed(file, "parameters", _operator_policies(file, export)),
        queues=_keyed(file, "queues", ((q.vhost, q.name, q) for q in export.queues)),
        notes=notes,
        nodes=dict.fromkeys(manifest.nodes, True),
        settings=manifest.settings,
        settings_left=manifest.settings_left,
        exchanges=export.exchanges,
        bindings=export.bindings,
        queues_listed=bool(export.queues) or ("queues" in sections and not manifest.export),
        policies_listed="policies" in sections or "parameters" in sections,
    )


def holds_export(file: Path) -> bool:
    """Return True if a file looks like a definitions export and not like a listing, or holds operators' resources.

    Raise ImportRefused if the file cannot be read.
    """
    if manifests(file):
        return True
    text = read_text(file)
    if not text.lstrip().startswith("{"):
        return False
    try:
        keys = msgspec.json.decode(text, type=dict[str, Raw]).keys()
    except (msgspec.DecodeError, RecursionError):
        return False
    return bool(_SECTIONS & keys) and not {"items", "running_nodes", "object_totals"} & keys


def policy_entry(file: Path, policy: Policy) -> dict[str, Any]:
    """Return a policy as a scenario file has it. Raise ImportRefused if its definition is no property list."""
    definition = policy.definition
    if isinstance(definition, str):
        place = f"the definition of policy {quoted(policy.name)}"
        check_json(file, definition, place)
        definition = decode(file, place, definition, Table)
    return {
        "name": policy.name,
        "pattern": policy.pattern,
        "definition": properties(file, f"the definition of policy {quoted(policy.name)}", definition),
        "priority": policy.priority,
        "apply_to": policy.apply_to,
        "vhost": policy.vhost or "/",
    }


def queue_type(kind: str | None, arguments: Mapping[str, Value]) -> str:
    """Return the type of a queue: its own, else that of the argument x-queue-type, else classic.

    Releases write a type as a word or as the name of its module; the word is returned.
    """
    kind = str(kind or arguments.get(TYPE) or CLASSIC)
    return _TYPES.get(kind, kind)


def _keyed(file: Path, section: str, entries: Iterable[tuple[str, str, Any]]) -> dict[Key, Any]:
    keyed: dict[Key, Any] = {}
    for vhost, name, entry in entries:
        if (vhost, name) in keyed:
            raise ImportRefused(file, section, f"{quoted(name)} of {quoted(vhost)} twice", "each name once")
        keyed[vhost, name] = entry
    return keyed


def _operator_policies(file: Path, export: Export) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for number, parameter in enumerate(export.parameters):
        if parameter.component == "operator_policy":
            place, value = f"parameters[{number}].value", bytes(parameter.value)
            if value.startswith(b"["):
                value = msgspec.json.encode(properties(file, place, decode(file, place, value, Table)))
            body = decode(file, place, value, PolicyBody)
            policy = Policy(name=parameter.name, vhost=parameter.vhost, **msgspec.structs.asdict(body))
            yield parameter.vhost, parameter.name, policy_entry(file, policy)


def _make_objects(file: Path, export: Export) -> None:
    """Convert all property lists of an export to objects. Raise ImportRefused."""
    for number, queue in enumerate(export.queues):
        queue.arguments = properties(file, f"queues[{number}].arguments", queue.arguments)
    for number, vhost in enumerate(export.vhosts):
        vhost.limits = properties(file, f"vhosts[{number}].limits", vhost.limits)
        vhost.metadata = properties(file, f"vhosts[{number}].metadata", vhost.metadata)
    make_routing_objects(file, export.exchanges, export.bindings)


def make_routing_objects(file: Path, exchanges: list[Exchange], bindings: list[Binding]) -> None:
    """Convert the arguments of exchanges and bindings to objects, in place. Raise ImportRefused."""
    for section, entries in (("exchanges", exchanges), ("bindings", bindings)):
        for number, one in enumerate(entries):
            one.arguments = properties(file, f"{section}[{number}].arguments", one.arguments)


def _fill_types(export: Export, manifest: Manifest) -> list[str]:
    """Set each queue's type. Return notes on queues whose type the file does not have.

    `rabbitmqctl export_definitions` writes the type of every queue. The management API writes only the arguments, and
    so do files written by hand. A declaration fills in the default queue type of the virtual host, else the node's
    (`rabbit_amqqueue:augment_declare_args`), and so does an import since 3.11.0 (`rabbit_definitions:add_queue_int`).

    An import by 3.10 does not, and a queue that the management API of 3.10 exports without x-queue-type was declared
    before there was a default: both are classic. Resources are declared over the management API, where 3.10.8 also
    fills in the type. The node's default came with 3.12.14 and 3.13.3. Up to 3.12 a type that does not fit the queue is
    not filled in; later releases fill in classic, which has the same effect.
    """
    release = release_numbers(export.rabbitmq_version or export.rabbit_version)
    defaults: dict[str, str | None] = {}
    nodes_default = None
    if release is None or release >= (DEFAULT_TYPE_SINCE if manifest.export else (3, 11)):
        defaults = {vhost.name: default_type(vhost) for vhost in export.vhosts}
    if release is None or release >= (3, 13, 3) or (3, 12, 14) <= release < (3, 13):
        nodes_default = manifest.default_queue_type
    filled: dict[tuple[str, str], list[str]] = defaultdict(list)
    for queue in export.queues:
        given = queue.type or queue.arguments.get(TYPE)
        default = defaults.get(queue.vhost) or nodes_default
        if given in _NO_TYPE:
            fits = takes_default_type(queue.durable, queue.exclusive, queue.auto_delete)
            given = queue_type(default, {}) if default and fits else None
            if given is not None:
                filled[queue.vhost, given].append(queue.name)
        queue.type = queue_type(given, {})
    return [f"queues {named(names)} of {quoted(vhost)}: no type in the file, {kind} as the default queue type there"
            for (vhost, kind), names in filled.items() if kind != CLASSIC]  # fmt: skip


def default_type(vhost: Vhost) -> str | None:
    """Return a virtual host's own default queue type: classic, quorum or stream; None if it has none."""
    found = vhost.metadata.get("default_queue_type")
    if found in _NO_TYPE:
        found = vhost.default_queue_type
    kind = queue_type(found, {}) if isinstance(found, str) and found not in _NO_TYPE else None
    return kind if kind in _TYPES.values() else None


def _fill_vhosts(export: Export, vhost: str | None) -> list[str]:
    """Set the virtual host of entries that have none. Return a note that names it."""
    home = vhost or export.original_vhost_name or "/"
    homeless = [
        entry
        for section in (export.queues, export.policies, export.parameters, export.exchanges, export.bindings)
        for entry in section
        if entry.vhost is None
    ]
    for entry in homeless:
        entry.vhost = home
    if homeless:
        source = "as asked" if vhost else "as the export says" if export.original_vhost_name else "the default"
        return [f"the definitions are of one virtual host: taken as {quoted(home)}, {source}"]
    return [f"the definitions name their virtual hosts, {quoted(vhost)} is not used"] if vhost else []


def _dropped_people(export: Export) -> Iterator[str]:
    counts = {
        "users": len(export.users),
        "permissions": len(export.permissions),
        "topic permissions": len(export.topic_permissions),
    }
    if any(counts.values()):
        yield ", ".join(f"{number} {kind}" for kind, number in counts.items()) + ": dropped"


def _unread(sections: dict[str, Raw]) -> list[str]:
    known = _LETTERHEAD | set(Export.__struct_fields__)
    return [name for name, value in sections.items() if name not in known and bytes(value) not in _NOTHING]


def _vhost_notes(export: Export) -> Iterator[str]:
    for vhost in export.vhosts:
        if vhost.limits:
            yield f"limits of virtual host {quoted(vhost.name)} ({named(vhost.limits)}): not imported"
        if others := [key for key, value in vhost.metadata.items() if value not in ("", [], None)]:
            yield f"metadata of virtual host {quoted(vhost.name)} ({named(others)}): not imported"


def _parameter_notes(export: Export) -> Iterator[str]:
    for parameter in export.parameters:
        if parameter.component != "operator_policy":
            kind, name, vhost = quoted(parameter.component), quoted(parameter.name), quoted(parameter.vhost)
            yield f"parameter {name} of {kind} in {vhost}: not imported"
    if export.global_parameters:
        yield f"global parameters {named(entry.name for entry in export.global_parameters)}: not imported"


def _routing_notes(export: Export) -> Iterator[str]:
    kinds = {(entry.vhost, entry.name): entry.type for entry in export.exchanges if entry.name}
    bindings = Counter((entry.vhost, entry.source) for entry in export.bindings if entry.source)
    for vhost, name in kinds | bindings:
        kind = kinds.get((vhost, name), "predeclared")
        yield (
            f"exchange {quoted(name)} ({worded(kind)}, {bindings[vhost, name]} bindings) of {quoted(vhost)}:"
            " not imported, a message sent or dead-lettered to it reaches no queue"
        )
