"""Races of consumers on a real cluster; `races` has all others.

- A channel that tries to consume again gives up after a minute (`rabbit_amqqueue:retry_wait`). Steps that begin once
  the cluster has settled may take as long there and no time in the model: a consumer that waits may be cancelled.
- A channel that is notified of a quorum queue's end consumes from it again, which succeeds as long as the record is
  there (`rabbit_channel:handle_consuming_queue_down_or_eol`; without mirroring it does not try): then no consumer is
  cancelled.
- When a mirrored queue's master is gone each of its consumers' channels consumes again for itself
  (`rabbit_channel:handle_consuming_queue_down_or_eol`): any may come first, be the active one, and get the messages of
  other consumers, regardless of its priority.
- A node that stops closes its clients' channels in any order: the deliveries of one may go to another for a moment,
  and its client receives them or not.
- The place of a consumer whose client is gone does not matter: a quorum queue keeps one that went with its node as
  suspected until the node is back, and clients do not see it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from hawb.conformance.races import Outcome, whole, without
from hawb.rules.nearest_profile import profile_for
from hawb.scenario.document import Scenario
from hawb.scenario.verbs import Declare

OF_HOLDERS = ("messages_ready", "messages_unacknowledged", "redelivered")
"""A queue's fields about messages that are held by consumers."""
CONTENTS = ("ids", "messages", "synchronised_mirrors", "critical_nodes", *OF_HOLDERS)
"""A queue's fields about its messages, and about the mirrors that have them all."""
ANSWERS = ("confirmed", "nacked", "refused")
"""An account's fields about the messages that its queue had room for."""
SHARES = ("received", "unacknowledged", "activity_status")
"""A consumer's fields that depend on the messages of other consumers of its queue."""


def luckily_cancelled(scenario: Scenario, mine: Outcome, its: Outcome) -> dict[str, str]:
    """Return the consumers whose cancellation is a race, each with its queue.

    Only those that differ in it between model and broker are included.
    """
    lucky = {**waiting(scenario, mine), **reconsuming(scenario, mine)}
    both = ((name, one, its.get("consumers", {}).get(name, one)) for name, one in mine["consumers"].items())
    return {
        name: one["queue"] for name, one, other in both
        if name in lucky and (one["state"], one["cancel_notified"]) != (other["state"], other["cancel_notified"])
    }  # fmt: skip


def waiting(scenario: Scenario, model: Outcome) -> dict[str, int]:
    """Return the consumers that waited through a step without a time, each with the step at which its wait began.

    Such a step may take a minute on a real cluster.
    """
    events = [event for event in model["events"] if event["event"] == "consumer_waits"]
    since = {event["detail"]["consumer"]: event["step"] for event in reversed(events)}
    untimed = max((index for index, step in enumerate(scenario.steps) if step.at is None), default=0)
    return {name: step for name, step in since.items() if step < untimed}


def reconsuming(scenario: Scenario, model: Outcome) -> dict[str, int]:
    """Return the consumers of deleted quorum queues, in releases with mirroring, each with the step of the deletion."""
    quorum = {whole(step.verb.queue) for step in scenario.steps
              if isinstance(step.verb, Declare) and step.verb.arguments.get("x-queue-type") == "quorum"}  # fmt: skip
    if not profile_for(scenario.cluster.version).mirroring:
        return {}
    return {
        event["detail"]["consumer"]: event["step"] for event in model["events"]
        if event["event"] == "consumer_cancelled" and event["detail"]["reason"] == "queue_deleted"
        and event["queue"] in quorum
    }  # fmt: skip


def luckily_served(model: Outcome) -> dict[str, str]:
    """Return the consumers that consumed again at the same moment as others of their queue, each with its queue.

    Consumers that went with the same stopping node are included.
    """
    stopping_at = {event["t"] for event in model["events"] if event["event"] == "node_stopping"}
    found: dict[tuple[str, str, float], set[str]] = defaultdict(set)
    for event in model["events"]:
        kind, time_s = event["event"], event["t"]
        if kind == "consumer_moved" or (kind == "consumer_closed" and time_s in stopping_at):
            found[kind, event["queue"], time_s].add(event["detail"]["consumer"])
    return {name: queue for (_, queue, _), names in found.items() if len(names) > 1 for name in names}


def without_shares(had: Outcome, consumers: dict[str, str]) -> Outcome:
    """Return a part of an outcome without the messages of these consumers, and without which of them is active."""
    if not consumers.keys() & had.get("consumers", {}).keys():
        return had
    named = {name: without(had["consumers"][name], *SHARES) for name in consumers.keys() & had["consumers"].keys()}
    queues = {name: without(queue, *OF_HOLDERS) if name in consumers.values() else queue
              for name, queue in had.get("queues", {}).items()}  # fmt: skip
    return had | {"consumers": had["consumers"] | named, "queues": queues}


def rejecting(scenario: Scenario) -> set[str]:
    """Return the queues that reject messages when they are full."""
    declared = (step.verb for step in scenario.steps if isinstance(step.verb, Declare))
    return {whole(verb.queue) for verb in declared if "reject-publish" in str(verb.arguments.get("x-overflow"))}


def without_consumers(
    had: Outcome, consumers: dict[str, str], events: Iterable[Outcome], refusing: set[str]
) -> Outcome:
    """Return a part of an outcome without some consumers, and without their queues' messages.

    Limits drop messages that no consumer holds, which are dead-lettered, or in `refusing` queues leave no room for
    others.
    """
    if not consumers.keys() & had.get("consumers", {}).keys():
        return had
    dropping = dict.fromkeys(consumers.values(), CONTENTS)
    for event in events:
        if event["event"] == "messages_dead_lettered" and event["queue"] in dropping:
            dropping |= dict.fromkeys(event["detail"]["targets"], CONTENTS)
    queues = {name: without(queue, *dropping.get(name, ())) for name, queue in had.get("queues", {}).items()}
    ledger = {name: without(account, *ANSWERS) if name in refusing & dropping.keys() else account
              for name, account in had.get("ledger", {}).items()}  # fmt: skip
    return had | {"consumers": without(had["consumers"], *consumers), "queues": queues, "ledger": ledger}


def without_lost_places(consumers: dict[str, Outcome]) -> dict[str, Outcome]:
    """Return a broker's consumers, without the place at their queue of those whose clients are gone."""
    gone = {name for name, consumer in consumers.items() if consumer["state"] == "closed"}
    return consumers | {name: without(consumers[name], "activity_status") for name in gone}
