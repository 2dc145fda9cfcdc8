"""The linter: find everything worth reporting about one cluster's policies, queues and nodes."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import chain

from msgspec import Struct
from msgspec.msgpack import Encoder
from msgspec.structs import replace

from hawb.planning.advice import SEVERITIES
from hawb.planning.assignments import Assigned, Assignment, assign
from hawb.planning.dead_letter_checks import dead_letter_findings
from hawb.planning.findings import Finding
from hawb.planning.inventory import Inventory
from hawb.planning.policy_checks import policy_findings
from hawb.planning.queue_checks import Found, by_name, node_findings, queue_found


class Report(Struct, frozen=True):
    """The policies that apply to each queue, and the findings about policies, queues and nodes.

    Queues that differ only in their names are of one kind: `kinds` holds the first queue of each kind with its
    findings, and `kind_of` the kind of each queue in the order of the assignments. `dead_letters` are findings that
    follow from several queues together, `missing` lists what the answer needs and no file holds, and `of` is the
    cluster.
    """

    assigned: Assigned
    policies: list[Finding]
    kinds: list[tuple[Assignment, list[Found]]]
    kind_of: list[int]
    nodes: list[Finding]
    dead_letters: list[Finding]
    missing: list[str]
    of: Inventory

    @property
    def queues(self) -> list[list[Finding]]:
        """Return the findings of each queue, in the order of the assignments."""
        return [
            [Finding(code, "queue", one.queue.full_name, detail) for code, detail in self.kinds[kind][1]]
            for one, kind in zip(self.assigned.assignments, self.kind_of, strict=True)
        ]

    @property
    def findings(self) -> list[Finding]:
        """Return all findings, worst first."""
        every = [*self.policies, *chain.from_iterable(self.queues), *self.nodes, *self.dead_letters]
        return sorted(every, key=lambda one: SEVERITIES.index(one.severity))


def lint(inventory: Inventory) -> Report:
    """Return the findings about a cluster."""
    hosted = Counter(node for queue in inventory.queues for node in queue.facts.members or ())
    inventory = replace(inventory, hosted=dict(hosted))
    assigned = assign(inventory)
    applied: dict[tuple[bool, str, str | None], list[Assignment]] = defaultdict(list)
    for one in assigned.assignments:
        applied[False, one.queue.vhost, one.in_force.policy].append(one)
        applied[True, one.queue.vhost, one.in_force.operator_policy].append(one)
    firsts, kind_of = _kinds(assigned.assignments)
    policies = [
        finding
        for reach in assigned.reaches
        for finding in policy_findings(reach, applied[reach.operator, reach.policy.vhost, reach.policy.name], inventory)
    ]
    dead_letters = list(dead_letter_findings(assigned.assignments, inventory))
    return Report(
        assigned,
        policies + [one for one in dead_letters if one.kind == "policy"],
        [(one, queue_found(one, inventory)) for one in firsts],
        kind_of,
        list(node_findings(inventory)),
        [one for one in dead_letters if one.kind == "queue"],
        list(_missing(inventory)),
        inventory,
    )


def _missing(inventory: Inventory) -> Iterator[str]:
    """Yield the inputs that no file has. Effective definitions of queues replace a list of policies."""
    if not inventory.queues_listed:
        yield "the queues"
    if not inventory.policies_listed and any(one.facts.effective_definition is None for one in inventory.queues):
        yield "the policies"


def _kinds(assignments: list[Assignment]) -> tuple[list[Assignment], list[int]]:
    """Return the first queue of each kind, and the kind of each queue.

    Most queues of an export are of a few kinds; those of a listing differ in their contents.
    """
    encode = Encoder().encode
    places: dict[tuple, int] = {}
    firsts, kind_of = [], []
    for one in assignments:
        matching = (*map(id, one.policies), None, *map(id, one.operator_policies))
        about = id(one.in_force), matching, one.queue.vhost, by_name(one.queue), encode(one.queue.facts)
        place = places.setdefault(about, len(firsts))
        if place == len(firsts):
            firsts.append(one)
        kind_of.append(place)
    return firsts, kind_of
