"""Check which scenarios can be driven on a real cluster, and why others cannot."""

from __future__ import annotations

from collections.abc import Iterator

from hawb.scenario import numbering, verbs
from hawb.scenario.document import Scenario

MOST_MESSAGES = 50_000
"""The most messages of one step, or of one queue at the beginning."""
MOST_BYTES = 500_000_000
"""The most bytes of these messages: the broker's memory is limited, and so is the time."""

HARMLESS = frozenset(
    {
        verbs.SetPolicy, verbs.SetOperatorPolicy, verbs.ClearPolicy, verbs.ClearOperatorPolicy,
        verbs.Declare, verbs.Delete, verbs.Purge, verbs.Bind, verbs.Publish, verbs.Publisher, verbs.Consume, verbs.Get,
        verbs.Ack, verbs.Nack, verbs.Cancel, verbs.Close, verbs.SyncQueue, verbs.CancelSyncQueue, verbs.AddMember,
        verbs.DeleteMember, verbs.Grow, verbs.Shrink, verbs.TransferLeadership, verbs.Rebalance, verbs.Wait,
        verbs.Expect,
    }
)  # fmt: skip
"""Verbs that do nothing to nodes, links or processes."""


def harmless(scenario: Scenario) -> bool:
    """Return True if a cluster is as good as new after the virtual hosts of this scenario are deleted."""
    return not scenario.cluster.down and {type(step.verb) for step in scenario.steps} <= HARMLESS


def undriven(scenario: Scenario) -> list[str]:
    """Return the reasons why a scenario cannot be driven on a real cluster; empty if it can."""
    return list(_reasons(scenario))


def _reasons(scenario: Scenario) -> Iterator[str]:
    for index, entry in enumerate(scenario.queues):
        if entry.type != "classic" and entry.members and entry.leader is None:
            yield f"queues[{index}]: a {entry.type} queue without a leader cannot be built"
        if reason := too_much(entry.messages, entry.size):
            yield f"queues[{index}]: {reason}"
    for index, step in enumerate(scenario.steps):
        verb = step.verb
        if isinstance(verb, verbs.Consume) and verb.rate is not None and verb.ack == "auto":
            yield f"{numbering.place(index)}: a consumer with a rate that acknowledges nothing"
        if isinstance(verb, verbs.Publisher) and verb.mode == "tx":
            yield f"{numbering.place(index)}: a steady publisher with transactions"
        if isinstance(verb, verbs.Publish) and (reason := too_much(verb.count, verb.size)):
            yield f"{numbering.place(index)}: {reason}"


def too_much(count: int, size_bytes: int) -> str | None:
    """Return why this many messages are not played; None if they are."""
    if count > MOST_MESSAGES:
        return f"{count} messages, at most {MOST_MESSAGES} are played"
    if count * size_bytes > MOST_BYTES:
        return f"{count * size_bytes} bytes, at most {MOST_BYTES} are played"
    return None
