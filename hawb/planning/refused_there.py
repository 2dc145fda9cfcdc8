"""List what a later release refuses or ignores of a cluster: queues, their arguments and policies, by name.

Existing objects are kept in an upgrade, except as the table of releases says; they are refused when an application or a
tool declares, sets or imports them again. A queue is checked as it is declared today, by the rules of the release
(`hawb.rules.queue_arguments`, `quorum_declaration`, `denied_features`), a policy likewise
(`hawb.rules.policy_validation`). No text holds the value of an argument or a setting, as it may hold anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct

from hawb.engine.core.naming import join_queue
from hawb.planning.inventory import Inventory, Queue
from hawb.rules import policy_validation, queue_arguments, quorum_declaration, streams
from hawb.rules.denied_features import MASTER_LOCATOR
from hawb.rules.policies import Policy
from hawb.rules.profiles import HA_SETTINGS, Profile

LOCATOR = "x-queue-master-locator"
TRANSIENT_QUEUES = "transient_nonexcl_queues"
DENIED_EARLIER = {"4.3": (TRANSIENT_QUEUES,)}
"""Features that earlier releases of a profile's series denied, which the profile permits: 4.3.0 to 4.3.5."""
ALLOW = "or set deprecated_features.permit.{} = true on every node"


class Refused(Struct, frozen=True):
    """Something that the release refuses: a code, what it is, what has it, the remedy, and the source."""

    code: str
    what: str
    names: tuple[str, ...]
    do: str
    source: str


def refused_there(inventory: Inventory, target: Profile) -> list[Refused]:
    """Return everything of a cluster that a release refuses."""
    return [*_queues(inventory.queues, target), *_policies(inventory, target)]


def _queues(queues: Iterable[Queue], target: Profile) -> Iterator[Refused]:
    by_argument: dict[str, list[str]] = {}
    transient = []
    for queue in queues:
        if was_denied(queue, target):
            transient.append(queue.full_name)
        for key in refused_arguments(queue, target):
            by_argument.setdefault(key, []).append(queue.full_name)
    if transient:
        yield Refused(
            "transient-queues", "neither durable nor exclusive: up to 4.3.5, declaring such a queue is refused"
                                " with 541, and no node boots while the cluster has one; 4.3.6 accepts them",
            tuple(transient),
            f"upgrade directly to {target.release}, or declare them as durable (with x-expires if they are"
            f" temporary), {ALLOW.format(TRANSIENT_QUEUES)}",
            "rabbit_amqqueue:is_queue_args_combination_permitted; rabbit_ff_controller:sync_cluster_task;"
            " rabbitmq-server#17163",
        )  # fmt: skip
    for key, names in by_argument.items():
        denied = key == LOCATOR and MASTER_LOCATOR in target.denied_features
        yield Refused(
            "arguments", f"argument {key}: {'refused with 541' if denied else 'refused with 406'} when such a queue is"
            " declared or imported again", tuple(names),
            f"use x-queue-leader-locator instead of {LOCATOR}" if denied
            else f"leave {key} out, or give it a value that {target.release} accepts",
            "deprecated feature queue_master_locator" if denied else "rabbit_amqqueue:check_declare_arguments",
        )  # fmt: skip


def was_denied(queue: Queue, target: Profile) -> bool:
    """Return True if earlier releases of the series refuse queues like this: neither durable nor exclusive."""
    transient = queue.type == "classic" and queue.facts.durable is False and not queue.facts.exclusive
    return transient and TRANSIENT_QUEUES in DENIED_EARLIER.get(target.version, ())


REFUSAL = {
    "classic": queue_arguments.refusal, "quorum": quorum_declaration.refusal, "stream": streams.refusal,
}  # fmt: skip
"""Function that returns the text of a refused declaration, by queue type."""


def refused_arguments(queue: Queue, target: Profile) -> list[str]:
    """Return the arguments with which a release refuses to declare a queue; none of a type without rules there."""
    given = queue.facts.arguments or {}
    if queue.type not in REFUSAL or (queue.type == "stream" and target.version not in streams.STREAM_PROFILES):
        return []
    refusal = REFUSAL[queue.type]
    exchange = {key: value for key, value in given.items() if key == "x-dead-letter-exchange" and type(value) is str}
    kind = {key: value for key, value in given.items() if key == "x-queue-type"}
    found = [key for key, value in given.items() if refusal({**kind, **exchange, key: value}, "", target)]
    if LOCATOR in given and MASTER_LOCATOR in target.denied_features and LOCATOR not in found:
        found.append(LOCATOR)
    return found


def _policies(inventory: Inventory, target: Profile) -> Iterator[Refused]:
    for operator, policies in ((False, inventory.policies), (True, inventory.operator_policies)):
        kind = "operator policies" if operator else "policies"
        mirroring: list[str] = []
        others: list[str] = []
        keys: dict[str, None] = {}
        for policy in policies:
            name = join_queue(policy.vhost, policy.name)
            if not target.mirroring and HA_SETTINGS & policy.definition.keys():
                mirroring.append(name)
            elif _refusal(policy, target, operator):
                others.append(name)
                keys |= dict.fromkeys(_refused_settings(policy, target, operator))
        if mirroring:
            yield Refused(
                kind, f"{kind} that mirror queues: existing policies have no effect, and RabbitMQ refuses to set or"
                      " import such policies",
                tuple(mirroring), "clear them, or set them without its ha- settings once no queue is mirrored",
                "release notes of 4.0.1; rabbit_policies",
            )  # fmt: skip
        if others:
            yield Refused(
                kind, f"{kind} with a setting or a value that the release does not accept: RabbitMQ refuses to set or"
                      " import such policies", tuple(others),
                f"set them without {', '.join(keys)}, or with a value that {target.release} accepts" if keys
                else f"give them a pattern and settings that {target.release} accepts",
                "rabbit_policy:validation",
            )  # fmt: skip


def _refused_settings(policy: Policy, target: Profile, operator: bool) -> list[str]:
    """Return the settings that a release refuses in a policy.

    Each is checked alone, with a pattern and a priority that the release accepts.
    """

    def alone(key: str) -> Policy:
        one = {key: policy.definition[key]}
        return Policy.of(policy.name, ".*", one, 0, policy.apply_to, policy.vhost)

    return [key for key in policy.definition if _refusal(alone(key), target, operator)]


def _refusal(policy: Policy, target: Profile, operator: bool) -> str | None:
    fields = {"pattern": policy.pattern, "definition": policy.definition, "priority": policy.priority,
              "apply_to": policy.apply_to}  # fmt: skip
    return policy_validation.refusal(fields, target, operator=operator)
