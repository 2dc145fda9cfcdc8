"""What an audit keeps of each cluster: a row for each queue, a row for the cluster itself.

This is what a Spark task does and knows no Spark. The rules and the findings are those of `hawb lint`
(`hawb.planning.lint`); `findings` of a queue are the codes found of it and of the policies that apply to it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pyarrow as pa

from hawb.broker.untrusted import ImportRefused
from hawb.engine.naming import join_queue
from hawb.planning.assignments import Assignment
from hawb.planning.findings import Finding
from hawb.planning.inventory import Inventory, of_files
from hawb.planning.lint import Report, lint
from hawb.planning.queue_checks import Found
from hawb.study.fleet import ClusterFiles, readable

TEXT, TEXTS, COUNT = pa.string(), pa.list_(pa.string()), pa.int64()

QUEUES: dict[str, tuple[pa.DataType, Callable[[Assignment], object]]] = {
    "vhost": (TEXT, lambda one: one.queue.vhost),
    "queue": (TEXT, lambda one: one.queue.name),
    "type": (TEXT, lambda one: one.queue.type),
    "policy": (TEXT, lambda one: one.in_force.policy),
    "operator_policy": (TEXT, lambda one: one.in_force.operator_policy),
    "silenced": (TEXTS, lambda one: [policy.name for policy in one.policies[1:]]),
    "messages": (COUNT, lambda one: one.queue.facts.messages),
    "master": (TEXT, lambda one: one.queue.facts.leader or one.queue.facts.node),
    "mirrors": (TEXTS, lambda one: one.queue.facts.mirrors),
    "synchronised_mirrors": (TEXTS, lambda one: one.queue.facts.synchronised),
    "members": (TEXTS, lambda one: one.queue.facts.members),
}
"""The columns of a queue's row that are read off it, beside cluster, definition, findings and blockers."""

FOUND = pa.struct(dict.fromkeys(("code", "kind", "name", "what"), TEXT))
REFUSED = pa.struct(dict.fromkeys(("file", "place", "given", "accepted"), TEXT))

QUEUE_SCHEMA = pa.schema(
    [
        ("cluster", TEXT),
        *((name, kind) for name, (kind, _) in QUEUES.items()),
        ("definition", TEXT),
        ("findings", TEXTS),
        ("blockers", TEXTS),
    ]
)
"""One row a queue. `definition` is the effective one as JSON, `blockers` what stands in the way of a quorum queue; null
is what the files do not tell."""

CLUSTER_SCHEMA = pa.schema(
    [
        ("cluster", TEXT),
        ("version", TEXT),
        ("queues", COUNT),
        ("policies", COUNT),
        ("findings", pa.list_(FOUND)),
        ("refused", pa.list_(REFUSED)),
        ("notes", TEXTS),
    ]
)
"""One row a cluster: the findings of its policies and nodes, the files that could not be read, and what is to be known
of the others. `version` is that of the rules, null where no file could be read."""


NOTHING = pa.RecordBatch.from_pylist([], schema=QUEUE_SCHEMA)


def audited(cluster: ClusterFiles) -> tuple[pa.RecordBatch, pa.RecordBatch]:
    """(the rows of a cluster's queues, its own row).

    The files are of strangers. Whatever goes wrong with them must not stop a thousand others, so it is listed, and even
    what is a fault of hawb's.
    """
    refused: list[dict[str, str]] = []
    try:
        inventory = _read(cluster, refused)
        if inventory is None:
            return NOTHING, _own_row(cluster, refused)
        found = lint(inventory)
        own = {
            "version": inventory.profile.version,
            "queues": len(inventory.queues),
            "policies": len(found.assigned.reaches),
            "findings": [_plain(finding) for finding in [*found.policies, *found.nodes]],
            "notes": inventory.notes,
        }
        return _queue_rows(cluster.name, found), _own_row(cluster, refused, **own)
    except Exception as error:
        fault = {"place": "its files", "given": type(error).__name__, "accepted": "this is a fault of hawb's"}
        return NOTHING, _own_row(cluster, [*refused, {"file": cluster.name, **fault}])


def _own_row(cluster: ClusterFiles, refused: list[dict[str, str]], **told: object) -> pa.RecordBatch:
    row = {"cluster": cluster.name, "queues": 0, "policies": 0, "findings": [], "notes": [], "refused": refused}
    return pa.RecordBatch.from_pylist([row | told], schema=CLUSTER_SCHEMA)


def _read(cluster: ClusterFiles, refused: list[dict[str, str]]) -> Inventory | None:
    """What can be read of a cluster, None if nothing can: a file that is refused is left out, and the rest is read
    again."""
    files = list(cluster.files)
    while files:
        try:
            return of_files(files)
        except ImportRefused as error:
            told = {"place": error.place, "given": error.given, "accepted": error.accepted}
            refused.append({"file": readable(error.file), **told})
            left = [file for file in files if Path(file) != error.file]
            if len(left) == len(files):
                return None
            files = left
    return None


def _plain(finding: Finding) -> dict[str, str]:
    return {"code": finding.code, "kind": finding.kind, "name": finding.name, "what": finding.what}


def _queue_rows(cluster: str, found: Report) -> pa.RecordBatch:
    """The rows of all queues: those of the kinds, each as often as there are queues of it, with their own names."""
    firsts = [one for one, _ in found.kinds]
    kinds = pa.RecordBatch.from_arrays(
        [
            pa.array([cluster] * len(firsts), TEXT),
            *(pa.array([read(one) for one in firsts], kind) for kind, read in QUEUES.values()),
            pa.array([_definition(one) for one in firsts], TEXT),
            pa.array(list(_codes(found)), TEXTS),
            pa.array([_blockers(of_kind) for _, of_kind in found.kinds], TEXTS),
        ],
        schema=QUEUE_SCHEMA,
    )
    rows = kinds.take(pa.array(found.kind_of, pa.int32()))
    names = pa.array([one.queue.name for one in found.assigned.assignments], TEXT)
    return rows.set_column(QUEUE_SCHEMA.get_field_index("queue"), QUEUE_SCHEMA.field("queue"), names)


def _definition(one: Assignment) -> str | None:
    """The effective definition as JSON."""
    definition = one.in_force.definition
    return None if definition is None else msgspec.json.encode(definition).decode()


def _codes(found: Report) -> Iterator[list[str]]:
    """The codes of what is found of each kind of queue and of the policies that apply to it."""
    of_policies: dict[tuple[str, str], list[str]] = defaultdict(list)
    for finding in found.policies:
        of_policies[finding.kind, finding.name].append(finding.code)
    for one, of_kind in found.kinds:
        codes = [code for code, _ in of_kind]
        for kind, name in (("policy", one.in_force.policy), ("operator policy", one.in_force.operator_policy)):
            if name is not None and of_policies:
                codes += of_policies.get((kind, join_queue(one.queue.vhost, name)), ())
        yield codes


def _blockers(of_kind: list[Found]) -> list[str]:
    told = [detail["blocks"].split("; ") for code, detail in of_kind if code == "blocks-quorum"]
    return told[0] if told else []
