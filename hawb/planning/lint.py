"""The linter: everything that is found of one cluster's policies, queues and nodes."""

from __future__ import annotations

from collections import defaultdict
from itertools import chain

from msgspec import Struct

from hawb.planning.advice import SEVERITIES
from hawb.planning.assignments import Assigned, Assignment, assign
from hawb.planning.findings import Finding
from hawb.planning.inventory import Inventory
from hawb.planning.policy_checks import policy_findings
from hawb.planning.queue_checks import node_findings, queue_findings


class Report(Struct, frozen=True):
    """What each queue is under, and the findings: those of policies, those of each queue in the order of the
    assignments, and those of nodes."""

    assigned: Assigned
    policies: list[Finding]
    queues: list[list[Finding]]
    nodes: list[Finding]

    @property
    def findings(self) -> list[Finding]:
        """All findings, the worst first."""
        every = [*self.policies, *chain.from_iterable(self.queues), *self.nodes]
        return sorted(every, key=lambda one: SEVERITIES.index(one.severity))


def lint(inventory: Inventory) -> Report:
    """All that is found."""
    assigned = assign(inventory)
    applied: dict[tuple[bool, str, str | None], list[Assignment]] = defaultdict(list)
    for one in assigned.assignments:
        applied[False, one.queue.vhost, one.in_force.policy].append(one)
        applied[True, one.queue.vhost, one.in_force.operator_policy].append(one)
    return Report(
        assigned,
        [
            finding
            for reach in assigned.reaches
            for finding in policy_findings(
                reach, applied[reach.operator, reach.policy.vhost, reach.policy.name], inventory
            )
        ],
        [list(queue_findings(one, inventory)) for one in assigned.assignments],
        list(node_findings(inventory)),
    )
