"""What a real cluster leaves to luck about consumers; `races` has all other luck.

- A channel that tries to consume again gives up after a minute (`rabbit_amqqueue:retry_wait`). Steps that begin once
  the cluster has settled may take as long there and no time in the model: a consumer that waits may be cancelled.
- A channel that hears of a quorum queue's end consumes from it again, which succeeds as long as the record is there
  (`rabbit_channel:handle_consuming_queue_down_or_eol`; without mirroring it does not try): then nobody is cancelled.
- When a mirrored queue's master is gone each of its consumers' channels consumes again for itself
  (`rabbit_channel:handle_consuming_queue_down_or_eol`): any may come first, be the active one, and get what the others
  had, whatever its priority.
- A node that stops closes its clients' channels in any order: what one held may go to another for a moment, which hears
  of it or not.
- A consumer whose client is gone has no place that matters: a quorum queue keeps one that went with its node as
  suspected until the node is back, and clients do not hear of it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from hawb.conformance.races import Told, whole, without
from hawb.rules.profiles import PROFILES
from hawb.scenario.document import Scenario
from hawb.scenario.verbs import Declare

OF_HOLDERS = ("messages_ready", "messages_unacknowledged", "redelivered")
"""A queue's fields about messages that somebody holds."""
CONTENTS = ("ids", "messages", "synchronised_mirrors", "critical_nodes", *OF_HOLDERS)
"""A queue's fields about its messages, and about the mirrors that have them all."""
ANSWERS = ("confirmed", "nacked", "refused")
"""An account's fields about the messages that its queue had room for."""
SHARES = ("received", "unacknowledged", "activity_status")
"""A consumer's fields that depend on what other consumers of its queue get."""


def luckily_cancelled(scenario: Scenario, mine: Told, its: Told) -> dict[str, str]:
    """The consumers that were cancelled or not by luck, and in just one of model and broker; each with its queue."""
    lucky = {**waiting(scenario, mine), **reconsuming(scenario, mine)}
    both = ((name, told, its.get("consumers", {}).get(name, told)) for name, told in mine["consumers"].items())
    return {
        name: told["queue"] for name, told, other in both
        if name in lucky and (told["state"], told["cancel_notified"]) != (other["state"], other["cancel_notified"])
    }  # fmt: skip


def waiting(scenario: Scenario, model: Told) -> dict[str, int]:
    """The consumers that waited through a step without a time, which may take a minute on a real cluster; each with
    the step at which its wait began."""
    events = [event for event in model["events"] if event["event"] == "consumer_waits"]
    since = {event["detail"]["consumer"]: event["step"] for event in reversed(events)}
    untimed = max((index for index, step in enumerate(scenario.steps) if step.at is None), default=0)
    return {name: step for name, step in since.items() if step < untimed}


def reconsuming(scenario: Scenario, model: Told) -> dict[str, int]:
    """The consumers of quorum queues that were deleted, in releases that mirror, each with the step of the deletion."""
    quorum = {whole(step.verb.queue) for step in scenario.steps
              if isinstance(step.verb, Declare) and step.verb.arguments.get("x-queue-type") == "quorum"}  # fmt: skip
    if not PROFILES[scenario.cluster.version].mirroring:
        return {}
    return {
        event["detail"]["consumer"]: event["step"] for event in model["events"]
        if event["event"] == "consumer_cancelled" and event["detail"]["reason"] == "queue_deleted"
        and event["queue"] in quorum
    }  # fmt: skip


def luckily_served(model: Told) -> dict[str, str]:
    """The consumers that consumed again, or went with a node that stops, at the same moment as others of their queue,
    each with its queue."""
    stopping_at = {event["t"] for event in model["events"] if event["event"] == "node_stopping"}
    found: dict[tuple[str, str, float], set[str]] = defaultdict(set)
    for event in model["events"]:
        kind, time_s = event["event"], event["t"]
        if kind == "consumer_moved" or (kind == "consumer_closed" and time_s in stopping_at):
            found[kind, event["queue"], time_s].add(event["detail"]["consumer"])
    return {name: queue for (_, queue, _), names in found.items() if len(names) > 1 for name in names}


def without_shares(told: Told, consumers: dict[str, str]) -> Told:
    """A part of an outcome without which messages each of these consumers got, and which of them is active."""
    if not consumers.keys() & told.get("consumers", {}).keys():
        return told
    named = {name: without(told["consumers"][name], *SHARES) for name in consumers.keys() & told["consumers"].keys()}
    queues = {name: without(queue, *OF_HOLDERS) if name in consumers.values() else queue
              for name, queue in told.get("queues", {}).items()}  # fmt: skip
    return told | {"consumers": told["consumers"] | named, "queues": queues}


def rejecting(scenario: Scenario) -> set[str]:
    """The queues that reject messages for which they have no room."""
    declared = (step.verb for step in scenario.steps if isinstance(step.verb, Declare))
    return {whole(verb.queue) for verb in declared if "reject-publish" in str(verb.arguments.get("x-overflow"))}


def without_consumers(told: Told, consumers: dict[str, str], events: Iterable[Told], refusing: set[str]) -> Told:
    """A part of an outcome without some consumers, and without their queues' messages: limits drop messages that nobody
    holds, which are dead-lettered, or in `refusing` queues leave no room for others."""
    if not consumers.keys() & told.get("consumers", {}).keys():
        return told
    dropping = dict.fromkeys(consumers.values(), CONTENTS)
    for event in events:
        if event["event"] == "messages_dead_lettered" and event["queue"] in dropping:
            dropping |= dict.fromkeys(event["detail"]["targets"], CONTENTS)
    queues = {name: without(queue, *dropping.get(name, ())) for name, queue in told.get("queues", {}).items()}
    ledger = {name: without(account, *ANSWERS) if name in refusing & dropping.keys() else account
              for name, account in told.get("ledger", {}).items()}  # fmt: skip
    return told | {"consumers": without(told["consumers"], *consumers), "queues": queues, "ledger": ledger}


def without_lost_places(consumers: dict[str, Told]) -> dict[str, Told]:
    """A broker's consumers, without the place at their queue of those whose clients are gone."""
    gone = {name for name, told in consumers.items() if told["state"] == "closed"}
    return consumers | {name: without(consumers[name], "activity_status") for name in gone}
