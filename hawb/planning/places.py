"""Locate the objects that the linter names in a cluster's files: the file, and the line if it can be found.

Lines are found in exports, operator resources and scenarios, as all can be parsed as YAML. An object in a file that
cannot be parsed, or is large, gets no line.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from hawb.engine.core.naming import join_queue
from hawb.exports.imported import split_source
from hawb.exports.resources import manifests
from hawb.scenario import inputs, text
from hawb.scenario.refused import ScenarioRefused

MOST_BYTES = 4 * 2**20
"""Larger files are not searched: line numbers are not worth parsing all of an export's queues again."""
DEPTH = 4
NAME, VHOST = "name", "vhost"
SCENARIO_LISTS = {
    "policies": ("policy", NAME), "operator_policies": ("operator policy", NAME), "queues": ("queue", "queue"),
}  # fmt: skip
STEPS = {"set_policy": "policy", "set_operator_policy": "operator policy", "declare": "queue"}
RESOURCES = {"Policy": "policy", "OperatorPolicy": "operator policy", "Queue": "queue"}

Thing = tuple[str, str]
"""Kind and name of the object that a finding is about."""


class Place(Struct, frozen=True):
    """A file, and a line of it, from 1, where it is known."""

    file: str
    line: int | None = None


def places(sources: Sequence[str | Path]) -> dict[Thing, Place]:
    """Return where these files first name each policy, operator policy, queue and node."""
    found: dict[Thing, Place] = {}
    for source in sources:
        named, vhost = split_source(source)
        for file in manifests(named) or [named]:
            for thing, line in _named(file, vhost or "/"):
                found.setdefault(thing, Place(str(file), line))
    return found


def _named(file: Path, vhost: str) -> Iterator[tuple[Thing, int | None]]:
    try:
        content = inputs.content(file, MOST_BYTES + 1)
        if len(content) > MOST_BYTES:
            return
        documents = text.parse_many(content)
    except (OSError, ScenarioRefused):
        return
    lines = text.lines(content, DEPTH, many=True)
    for number, document in enumerate(documents):
        for thing, path in _things(document, vhost):
            yield thing, lines.get((number, *path))


def _things(document: Any, vhost: str) -> Iterator[tuple[Thing, tuple[str | int, ...]]]:
    """Yield the objects that a document names, each with its path."""
    if isinstance(document, list):
        for index, entry in _maps(document):
            yield from _named_by(entry, "node" if "running" in entry else "queue", NAME, vhost, (index,))
        return
    if not isinstance(document, dict):
        return
    for index, resource in _maps(document.get("items")):
        yield from _resource(resource, ("items", index))
    yield from _resource(document, ())
    for section, (kind, key) in SCENARIO_LISTS.items():
        for index, entry in _maps(document.get(section)):
            yield from _named_by(entry, kind, key if key in entry else NAME, vhost, (section, index))
    for index, entry in _maps(document.get("parameters")):
        if entry.get("component") == "operator_policy":
            yield from _named_by(entry, "operator policy", NAME, vhost, ("parameters", index))
    for index, step in _maps(document.get("steps")):
        for verb, kind in STEPS.items():
            if isinstance(entry := step.get(verb), dict):
                key = "queue" if kind == "queue" else NAME
                yield from _named_by(entry, kind, key, vhost, ("steps", index, verb))
    cluster = document.get("cluster")
    for index, node in enumerate(cluster.get("nodes") or () if isinstance(cluster, dict) else ()):
        if isinstance(node, str):
            yield ("node", node), ("cluster", "nodes", index)


def _resource(resource: dict[str, Any], path: tuple[str | int, ...]) -> Iterator[tuple[Thing, tuple[str | int, ...]]]:
    kind = RESOURCES.get(str(resource.get("kind")))
    if kind is not None and isinstance(spec := resource.get("spec"), dict):
        yield from _named_by(spec, kind, NAME, "/", (*path, "spec"))


def _named_by(
    entry: dict[str, Any], kind: str, key: str, vhost: str, path: tuple[str | int, ...]
) -> Iterator[tuple[Thing, tuple[str | int, ...]]]:
    """Yield an object by the name in its entry; a scenario's queue has its vhost in its name."""
    if isinstance(name := entry.get(key), str):
        if kind == "node" or key == "queue":
            yield (kind, name), path
        else:
            yield (kind, join_queue(str(entry.get(VHOST) or vhost), name)), path


def _maps(entries: Any) -> Iterator[tuple[int, dict[str, Any]]]:
    for index, entry in enumerate(entries if isinstance(entries, list) else ()):
        if isinstance(entry, dict):
            yield index, entry
