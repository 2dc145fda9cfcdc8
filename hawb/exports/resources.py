"""Read resources of RabbitMQ's operators for Kubernetes (rabbitmq.com/v1beta1).

They are read as the definitions export that the cluster would write after they are applied. Policy, OperatorPolicy,
Queue, Vhost, Exchange and Binding (messaging-topology-operator) become sections of an export, with the defaults of
their definitions and of the operator's code: a Queue or an Exchange without `durable` is not durable
(`GenerateQueueSettings`).

A RabbitmqCluster (cluster-operator) has the nodes, by the names of its pods (`internal/resource/statefulset.go`), the
release, by the tag of its image, and settings, with the operator's own defaults (`internal/resource/configmap.go`). Of
other resources messages name only the kinds: no message shows a Secret's data.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta, Struct

from hawb.exports.untrusted import ImportRefused, Table, explain, named, quoted, read_text
from hawb.scenario import inputs, text
from hawb.scenario.fields import Name, Priority
from hawb.scenario.refused import ScenarioRefused

Part = TypeVar("Part")
GROUP = "rabbitmq.com/v1beta1"
SUFFIXES = (".yaml", ".yml")
API_VERSION = re.compile(rb"""^(\{\s*)?["']?apiVersion["']?\s*:""", re.MULTILINE)
"""A manifest has this key at its margin, or first in its braces; scenarios, exports and listings never have."""
RELEASE = re.compile(r":v?(\d+\.\d+(?:\.\d+)?)[^/]*$")
SETTING = re.compile(r"^[ \t]*([a-z_.]+)[ \t]*=[ \t]*([^\s#]+)[ \t]*(?:#.*)?$", re.MULTILINE)
TERM_COMMENT = re.compile(r"%.*")
TERM = re.compile(r"""\{\s*'?([a-z_]+)'?\s*,\s*(?:<<\s*"([^"]*)"\s*>>|'?([\w-]+)'?(?=\s*\})|[{\[])""", re.ASCII)
"""A setting of advanced.config: a key, and a binary, an atom or a number, or the beginning of another term."""
TYPE_MODULES = ("rabbit_classic_queue", "rabbit_quorum_queue", "rabbit_stream_queue")
DEFAULT_TYPE = "default_queue_type"
SETTINGS: dict[str, tuple[str, ...] | type[int]] = {
    "cluster_partition_handling": ("ignore", "pause_minority", "autoheal"),
    "queue_master_locator": ("client-local", "min-masters", "random"),
    "net_ticktime": int,
    "quorum_cluster_size": int,
    "quorum_commands_soft_limit": int,
    "mirroring_sync_batch_size": int,
    DEFAULT_TYPE: ("classic", "quorum", "stream", *TYPE_MODULES),
    "consumer_timeout": int,
}
"""The settings of rabbitmq.conf that are read, with their accepted values.

A scenario has all but the default queue type.
"""
OF_OPERATOR = {"cluster_partition_handling": "pause_minority", "queue_master_locator": "min-masters"}
MOST_NODES = 99
MOST_LETTERS = 1000
"""The longest accepted name of an image, in characters; real ones are far shorter."""


class _Secret(Struct):
    name: str = ""


class _Reference(Struct, rename="camel"):
    name: str = ""
    connection_secret: _Secret | None = None


class _Spec(Struct, rename="camel", kw_only=True):
    rabbitmq_cluster_reference: _Reference = msgspec.field(default_factory=_Reference)
    vhost: Name = "/"


class _Policy(_Spec, rename="camel", kw_only=True):
    name: Name
    pattern: str
    definition: Table
    priority: Priority = 0
    apply_to: str = "all"


class _OperatorPolicy(_Policy, rename="camel", kw_only=True):
    apply_to: str = "queues"


class _Queue(_Spec, rename="camel", kw_only=True):
    name: Name
    type: str = ""
    durable: bool = False
    auto_delete: bool = False
    arguments: Table = None


class _Vhost(_Spec, rename="camel", kw_only=True):
    name: Name
    default_queue_type: str = ""
    limits: Table = None


class _Exchange(_Spec, rename="camel", kw_only=True):
    name: Name
    type: str = "direct"
    durable: bool = False
    auto_delete: bool = False
    arguments: Table = None


class _Binding(_Spec, rename="camel", kw_only=True):
    source: str = ""
    destination: str = ""
    destination_type: str = "queue"
    routing_key: str = ""
    arguments: Table = None


class _Configuration(Struct, rename="camel"):
    additional_config: str = ""
    advanced_config: str = ""


class _Cluster(Struct, rename="camel"):
    replicas: Annotated[int, Meta(ge=0, le=MOST_NODES)] = 1
    image: Annotated[str, Meta(max_length=MOST_LETTERS)] = ""
    rabbitmq: _Configuration = msgspec.field(default_factory=_Configuration)


class _Metadata(Struct):
    name: str = ""
    namespace: str = "default"


KINDS: dict[str, tuple[str, type[Any]]] = {
    "Policy": ("policies", _Policy),
    "OperatorPolicy": ("parameters", _OperatorPolicy),
    "Queue": ("queues", _Queue),
    "Vhost": ("vhosts", _Vhost),
    "Exchange": ("exchanges", _Exchange),
    "Binding": ("bindings", _Binding),
}
"""The resources that are read, each with its section of an export."""
CLUSTER = "RabbitmqCluster"


class Manifest(Struct):
    """The content of resources: an export's sections, and the nodes and settings of a RabbitmqCluster.

    `nodes` and `settings` are as a scenario has them. `settings_left` has the settings that a scenario cannot hold, and
    `notes` a line for each part that is not imported.
    """

    export: dict[str, Any]
    nodes: list[str] = []
    settings: dict[str, Any] = {}
    default_queue_type: str | None = None
    settings_left: set[str] = set()
    notes: list[str] = []


def manifests(source: Path) -> list[Path]:
    """Return the files that hold resources: the source itself, or those of a folder. The list may be empty."""
    files = [source]
    if source.is_dir():
        files = sorted(file for file in source.rglob("*") if file.suffix in SUFFIXES and file.is_file())
    return [file for file in files if _is_manifest(file)]


def _is_manifest(file: Path) -> bool:
    try:
        begun = inputs.content(file, text.MAX_BYTES)
    except OSError:
        return False
    return b"apiVersion" in begun and API_VERSION.search(begun) is not None


def export_text(source: Path) -> tuple[str, Manifest]:
    """Return the text of a definitions export, and the resources that it was made from.

    The second value is empty if the source is an export itself. Raise ImportRefused.
    """
    files = manifests(source)
    if not files:
        return read_text(source), Manifest({})
    found = _read([resource for file in files for resource in _resources(file)])
    return json.dumps(found.export), found


class _Resource(Struct, frozen=True):
    """A resource, its file, and the number of its document there, from 1."""

    file: Path
    document: int
    content: dict[str, Any]

    @property
    def kind(self) -> str:
        """Return its kind if its group is that of the operators, else ""."""
        return str(self.content.get("kind")) if self.content.get("apiVersion") == GROUP else ""

    def place(self, part: str) -> str:
        """Return the place of a part of it, as errors name it."""
        metadata = self.content.get("metadata")
        name = quoted(str(metadata.get("name"))) if isinstance(metadata, dict) else "without metadata"
        return f"document {self.document}, {self.kind} {name}, {part}"

    def converted(self, part: str, form: type[Part]) -> Part:
        """Return a part of it, converted to a type. Raise ImportRefused."""
        given = self.content.get(part)
        try:
            return msgspec.convert({} if given is None else given, form)
        except msgspec.ValidationError as error:
            raise ImportRefused(self.file, *explain(self.place(part), str(error), given)) from None


def _resources(file: Path) -> Iterator[_Resource]:
    """Yield the resources of a file's documents; each item of a list is one resource."""
    try:
        documents = text.parse_many(read_text(file))
    except ScenarioRefused as refused:
        place = f"line {refused.line}" if refused.line else "the file"
        raise ImportRefused(file, place, refused.problem, refused.accepted or "resources as YAML") from None
    for number, document in enumerate(documents, 1):
        items = document.get("items") if isinstance(document, dict) else None
        for one in items if isinstance(items, list) else () if document is None else (document,):
            if not isinstance(one, dict):
                raise ImportRefused(file, f"document {number}", "no map", "resources, each with apiVersion and kind")
            yield _Resource(file, number, one)


def _read(resources: Iterable[_Resource]) -> Manifest:
    found = Manifest({section: [] for section, _ in KINDS.values()})
    clusters: dict[str, _Resource] = {}
    names: set[tuple[str, str, str]] = set()
    others: Counter[str] = Counter()
    for resource in resources:
        if resource.kind == CLUSTER:
            metadata, spec = resource.converted("metadata", _Metadata), resource.converted("spec", _Cluster)
            clusters.setdefault(metadata.name, resource)
            if found.nodes:
                raise ImportRefused(resource.file, resource.place("kind"), f"a second {CLUSTER}", "one in all files")
            _take_cluster(found, metadata, spec)
        elif resource.kind in KINDS:
            section, form = KINDS[resource.kind]
            spec = resource.converted("spec", form)
            if resource.kind != "Binding":
                _once(resource, (resource.kind, spec.vhost, spec.name), names)
            reference = spec.rabbitmq_cluster_reference
            if name := reference.name or (reference.connection_secret or _Secret()).name:
                clusters.setdefault(name, resource)
            found.export[section].append(_entry(resource.kind, spec))
        else:
            others[str(resource.content.get("kind"))] += 1
    if len(clusters) > 1:
        last = [*clusters.values()][-1]
        where = last.place("metadata" if last.kind == CLUSTER else "spec.rabbitmqClusterReference")
        raise ImportRefused(last.file, where, f"resources of {named(clusters)}", "those of one cluster")
    counts = ", ".join(f"{count} {quoted(kind)}" for kind, count in sorted(others.items()))
    found.notes += [f"resources of other kinds: ignored ({counts})"] if counts else []
    return found


def _once(resource: _Resource, key: tuple[str, str, str], names: set[tuple[str, str, str]]) -> None:
    if key in names:
        kind, vhost, name = key
        given = f"{quoted(name)} of {quoted(vhost)} twice"
        raise ImportRefused(resource.file, resource.place("spec.name"), given, f"one {kind} of a name")
    names.add(key)


def _entry(kind: str, spec: Any) -> dict[str, Any]:
    """Return a resource as an entry of its section of an export."""
    fields = {key: value for key, value in msgspec.structs.asdict(spec).items() if key != "rabbitmq_cluster_reference"}
    if "apply_to" in fields:
        fields["apply-to"] = fields.pop("apply_to")
    if kind == "OperatorPolicy":
        name, vhost = fields.pop("name"), fields.pop("vhost")
        return {"component": "operator_policy", "name": name, "vhost": vhost, "value": fields}
    if kind == "Vhost":
        metadata = {"default_queue_type": fields["default_queue_type"]} if fields["default_queue_type"] else {}
        return {"name": fields["name"], "limits": fields["limits"], "metadata": metadata}
    if "arguments" in fields:
        fields["arguments"] = fields["arguments"] or {}
    return fields | {"type": fields["type"] or None} if kind == "Queue" else fields


def _take_cluster(found: Manifest, metadata: _Metadata, spec: _Cluster) -> None:
    name, pods = metadata.name, f"{metadata.name}-nodes.{metadata.namespace}"
    found.nodes = [f"rabbit@{name}-server-{number}.{pods}" for number in range(spec.replicas)]
    release = RELEASE.search(spec.image)
    if release is not None:
        found.export["rabbitmq_version"] = release[1]
    else:
        why = "has an image without a release" if spec.image else "names no image; the operator uses its default image"
        found.notes.append(f"{CLUSTER} {quoted(name)} {why}: release unknown")
    given = dict(SETTING.findall(spec.rabbitmq.additional_config)) | _advanced(spec.rabbitmq.advanced_config)
    for key, accepted in SETTINGS.items():
        value = given.get(key, OF_OPERATOR.get(key))
        if value is None:
            continue
        if accepted is int and value.isascii() and value.isdigit() and 0 < len(value) < 10:
            found.settings[key] = int(value)
        elif accepted is not int and value in accepted:
            found.settings[key] = value
        else:
            found.settings_left.add(key)
            found.notes.append(f"{key} of {CLUSTER} {quoted(name)}: not imported")
    found.default_queue_type = found.settings.pop(DEFAULT_TYPE, None)


def _advanced(config: str) -> dict[str, str]:
    """Return the settings of an advanced.config, which override those of rabbitmq.conf.

    The value is "" where it is neither a word nor a number.
    """
    terms = TERM.findall(TERM_COMMENT.sub("", config))
    return {key: binary or word for key, binary, word in terms if key in SETTINGS}
