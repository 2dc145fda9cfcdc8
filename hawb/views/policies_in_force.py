"""Which policy an outcome's events say was in force for a queue at any of them, and what it said."""

from __future__ import annotations

from hawb.engine.naming import split_queue


class PoliciesInForce:
    """The policies of an outcome over its events."""

    def __init__(self, outcome: dict):
        self._events = outcome["events"]
        self._at_the_end = {name: queue["policy"] for name, queue in outcome["queues"].items()}

    def name(self, queue: str, index: int) -> str | None:
        """The policy that applies to a queue after event `index`; None if there is none."""
        for event in reversed(self._events[: index + 1]):
            if event["queue"] == queue and event["event"] in ("policy_applied", "queue_declared"):
                return event["detail"]["policy"]
        later = (event for event in self._events[index + 1 :] if event["queue"] == queue)
        change = next((event for event in later if event["event"] == "policy_applied"), None)
        return self._at_the_end.get(queue) if change is None else change["detail"]["was"]

    def definition(self, queue: str, index: int) -> dict | None:
        """What that policy said then; None if there was none, or if the outcome does not tell."""
        name, vhost = self.name(queue, index), split_queue(queue)[0]
        if name is None:
            return None
        for event in reversed(self._events[: index + 1]):
            detail = event["detail"]
            sets = event["event"] in ("policy_set", "policy_in_force")
            if sets and (detail["name"], detail["vhost"]) == (name, vhost):
                return detail["definition"]
        return None
