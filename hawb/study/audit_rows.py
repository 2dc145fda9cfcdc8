"""Build the rows of an audit: a row for each queue, and one for the cluster itself.

A Spark task runs this module, which does not import Spark. The rules and the findings are those of `hawb lint`
(`hawb.planning.lint`); `findings` of a queue are the codes found for it and for the policies that apply to it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

import msgspec
import pyarrow as pa

from hawb.engine.core.naming import join_queue
from hawb.exports.untrusted import ImportRefused
from hawb.planning.assignments import Assignment
from hawb.planning.findings import Finding
from hawb.planning.inventory import of_files
from hawb.planning.lint import Report, lint
from hawb.planning.queue_checks import Found
from hawb.rules.patterns import Budget, TooSlow
from hawb.study.fleet import ClusterFiles, readable
from hawb.study.fleet_tables import CLUSTERS, FINDINGS, QUEUES, REFUSALS
from hawb.study.tables import TEXT, TEXTS

READ: dict[str, Callable[[Assignment], object]] = {
    "vhost": lambda one: one.queue.vhost,
    "queue": lambda one: one.queue.name,
    "type": lambda one: one.queue.type,
    "policy": lambda one: one.in_force.policy,
    "operator_policy": lambda one: one.in_force.operator_policy,
    "silenced": lambda one: [policy.name for policy in one.policies[1:]],
    "messages": lambda one: one.queue.facts.messages,
    "master": lambda one: one.queue.facts.leader or one.queue.facts.node,
    "mirrors": lambda one: one.queue.facts.mirrors,
    "synchronised_mirrors": lambda one: one.queue.facts.synchronised,
    "members": lambda one: one.queue.facts.members,
}
"""The columns of a queue's row that come from its assignment: all but cluster, definition, findings and blockers."""

QUEUE_SCHEMA, QUEUE_TYPES = QUEUES.arrow, {column.name: column.type for column in QUEUES.columns}
FOUND, REFUSED = (
    pa.struct([(column.name, column.type) for column in table.columns if column.name != "cluster"])
    for table in (FINDINGS, REFUSALS)
)  # fmt: skip
OWN_SCHEMA = pa.schema([*CLUSTERS.arrow, ("findings", pa.list_(FOUND)), ("refused", pa.list_(REFUSED))])
"""A cluster's own row, with the rows that go to the tables of findings and refusals."""


Read = TypeVar("Read")
NOTHING = pa.RecordBatch.from_pylist([], schema=QUEUE_SCHEMA)


def audited(cluster: ClusterFiles) -> tuple[pa.RecordBatch, pa.RecordBatch]:
    """Return the rows of a cluster's queues, and the cluster's own row.

    The files are untrusted. Any error in reading them, even a bug in hawb, becomes a row of refusals, so that one
    cluster does not end the audit of a thousand.
    """
    refused: list[dict[str, str]] = []
    try:
        inventory = read_rest(cluster, refused, of_files)
        if inventory is None:
            return NOTHING, _own_row(cluster, refused)
        with Budget().in_force():
            found = lint(inventory)
        own = {
            "version": inventory.profile.version,
            "queues": len(inventory.queues),
            "policies": len(found.assigned.reaches),
            "findings": [
                *map(_plain, [*found.policies, *found.nodes]),
                *(_plain(one) | {"queues": 1} for one in found.dead_letters),
                *_of_queues(found),
            ],
            "notes": inventory.notes,
        }
        return _queue_rows(cluster.name, found), _own_row(cluster, refused, **own)
    except TooSlow as slow:
        fault = {"place": slow.problem, "given": slow.given, "accepted": slow.accepted}
        return NOTHING, _own_row(cluster, [*refused, {"file": cluster.name, **fault}])
    except Exception as error:
        fault = {"place": "its files", "given": type(error).__name__, "accepted": "this is a bug in hawb"}
        return NOTHING, _own_row(cluster, [*refused, {"file": cluster.name, **fault}])


def _own_row(cluster: ClusterFiles, refused: list[dict[str, str]], **fields: object) -> pa.RecordBatch:
    row = {"cluster": cluster.name, "queues": 0, "policies": 0, "findings": [], "notes": [], "refused": refused}
    return pa.RecordBatch.from_pylist([row | fields], schema=OWN_SCHEMA)


def read_rest(
    cluster: ClusterFiles, refused: list[dict[str, str]], read: Callable[[Sequence[str]], Read]
) -> Read | None:
    """Return the result of `read` for a cluster's files; None if it can read none of them.

    A refused file is added to `refused` and left out, and the rest is read again.
    """
    files = list(cluster.files)
    while files:
        try:
            return read(files)
        except ImportRefused as error:
            refusal = {"place": error.place, "given": error.given, "accepted": error.accepted}
            refused.append({"file": readable(error.file), **refusal})
            left = [file for file in files if Path(file) != error.file]
            if len(left) == len(files):
                return None
            files = left
    return None


def _plain(finding: Finding) -> dict[str, str | int]:
    return {"code": finding.code, "kind": finding.kind, "name": finding.name, "what": finding.what, "queues": 0}


def _of_queues(found: Report) -> Iterator[dict[str, str | int | None]]:
    """Yield each code of queues, or of policies that apply to them, with its count and the first queue."""
    of_kind = Counter(found.kind_of)
    counts: Counter[str] = Counter()
    firsts: dict[str, str] = {}
    for kind, codes in enumerate(_codes(found)):
        for code in codes:
            counts[code] += of_kind[kind]
            firsts.setdefault(code, found.kinds[kind][0].queue.full_name)
    for code, queues in counts.items():
        yield {"code": code, "kind": "queue", "name": firsts[code], "what": None, "queues": queues}


def _queue_rows(cluster: str, found: Report) -> pa.RecordBatch:
    """Return the rows of all queues: each kind of queue is built once and repeated, with the queues' own names."""
    firsts = [one for one, _ in found.kinds]
    kinds = pa.RecordBatch.from_arrays(
        [
            pa.array([cluster] * len(firsts), TEXT),
            *(pa.array([read(one) for one in firsts], QUEUE_TYPES[name]) for name, read in READ.items()),
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
    """Return the effective definition as JSON, or None."""
    definition = one.in_force.definition
    return None if definition is None else msgspec.json.encode(definition).decode()


def _codes(found: Report) -> Iterator[list[str]]:
    """Yield the codes of the findings about each kind of queue and about the policies that apply to it."""
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
    blocked = [detail["blocks"].split("; ") for code, detail in of_kind if code == "blocks-quorum"]
    return blocked[0] if blocked else []
