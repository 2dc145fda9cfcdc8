"""Which policies an outcome's events say were in force for a queue at any of them, and what they said.

The kind of a policy is the name of its field in a queue's record: `policy`, or `operator_policy`.
"""

from __future__ import annotations

from hawb.engine.naming import split_queue
from hawb.rules.policies import Policy, effective_definition

KINDS = ("policy", "operator_policy")


class PoliciesInForce:
    """The policies of an outcome over its events."""

    def __init__(self, outcome: dict):
        self._events = outcome["events"]
        self._at_the_end = outcome["queues"]

    def name(self, queue: str, index: int, kind: str = "policy") -> str | None:
        """The policy that applies to a queue after event `index`; None if there is none."""
        applied = f"{kind}_applied"
        for event in reversed(self._events[: index + 1]):
            if event["queue"] == queue and event["event"] == applied:
                return event["detail"]["policy"]
            if event["queue"] == queue and event["event"] == "queue_declared":
                return event["detail"].get(kind)
        later = (event for event in self._events[index + 1 :] if event["queue"] == queue)
        change = next((event for event in later if event["event"] == applied), None)
        return self._at_the_end.get(queue, {}).get(kind) if change is None else change["detail"]["was"]

    def names(self, queue: str, index: int) -> list[str]:
        """The policies of both kinds that apply to a queue after event `index`."""
        return [name for kind in KINDS if (name := self.name(queue, index, kind)) is not None]

    def definition(self, queue: str, index: int) -> dict | None:
        """What they said together; None if there were none, or if the outcome does not tell of each."""
        found = self._policies(queue, index)
        told = found is not None and any(found)
        return effective_definition(*found) if told else None

    def decided_by_operator(self, queue: str, index: int, key: str) -> str | None:
        """The operator policy whose value of `key` is the one in force; None where it is not the operator's."""
        policy, operator_policy = self._policies(queue, index) or (None, None)
        if operator_policy is None or key not in operator_policy.definition:
            return None
        decided = effective_definition(policy, operator_policy)[key] == operator_policy.definition[key]
        return operator_policy.name if decided else None

    def _policies(self, queue: str, index: int) -> tuple[Policy | None, Policy | None] | None:
        """The policy and the operator policy that applied then; None if the outcome does not tell what one of them
        said."""
        found = [self._policy(queue, index, kind) for kind in KINDS]
        return None if len(self.names(queue, index)) > len([one for one in found if one]) else (found[0], found[1])

    def _policy(self, queue: str, index: int, kind: str) -> Policy | None:
        name, vhost = self.name(queue, index, kind), split_queue(queue)[0]
        for event in reversed(self._events[: index + 1]):
            detail = event["detail"]
            sets = event["event"] in (f"{kind}_set", f"{kind}_in_force")
            if sets and (detail["name"], detail["vhost"]) == (name, vhost):
                return Policy.of(name, detail["pattern"], detail["definition"])
        return None
