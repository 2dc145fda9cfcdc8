"""The policies in force for a queue at any event of an outcome, and their definitions, as far as events have them.

The kind of a policy is the name of its field in a queue record: `policy`, or `operator_policy`.
"""

from __future__ import annotations

from hawb.engine.core.naming import split_queue
from hawb.rules.policies import Policy, effective_definition
from hawb.views.story.chronicle import Chronicle

KINDS = ("policy", "operator_policy")


class PoliciesInForce:
    """The policies of an outcome at its events."""

    def __init__(self, chronicle: Chronicle):
        self._chronicle = chronicle

    def name(self, queue: str, index: int, kind: str = "policy") -> str | None:
        """Return the policy of a kind that applies to a queue after event `index`; None if there is none."""
        applied = f"{kind}_applied"
        latest = next(self._chronicle.latest((applied, "queue_declared"), queue, until=index + 1), None)
        if latest is not None:
            return latest["detail"].get("policy" if latest["event"] == applied else kind)
        later = self._chronicle.events_of((applied,), queue, since=index + 1)
        return later[0]["detail"]["was"] if later else self._chronicle.outcome["queues"].get(queue, {}).get(kind)

    def names(self, queue: str, index: int) -> list[str]:
        """Return the policies of both kinds that apply to a queue after event `index`."""
        return [name for kind in KINDS if (name := self.name(queue, index, kind)) is not None]

    def definition(self, queue: str, index: int) -> dict | None:
        """Return the merged definition of these policies; None if there are none or the outcome lacks a definition."""
        found = self._policies(queue, index)
        known = found is not None and any(found)
        return effective_definition(*found) if known else None

    def decided_by_operator(self, queue: str, index: int, key: str) -> str | None:
        """Return the operator policy whose value of `key` is in force; None if the value has another source."""
        policy, operator_policy = self._policies(queue, index) or (None, None)
        if operator_policy is None or key not in operator_policy.definition:
            return None
        decided = effective_definition(policy, operator_policy)[key] == operator_policy.definition[key]
        return operator_policy.name if decided else None

    def _policies(self, queue: str, index: int) -> tuple[Policy | None, Policy | None] | None:
        """Return the policy and the operator policy that applied; None if the outcome lacks a definition of them."""
        found = [self._policy(queue, index, kind) for kind in KINDS]
        return None if len(self.names(queue, index)) > len([one for one in found if one]) else (found[0], found[1])

    def _policy(self, queue: str, index: int, kind: str) -> Policy | None:
        name, vhost = self.name(queue, index, kind), split_queue(queue)[0]
        latest = self._chronicle.latest((f"{kind}_set", f"{kind}_in_force"), queue, until=index + 1)
        for detail in (event["detail"] for event in latest):
            if (detail["name"], detail["vhost"]) == (name, vhost):
                return Policy.of(name, detail["pattern"], detail["definition"])
        return None
