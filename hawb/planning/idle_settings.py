"""Find a policy's settings that have no effect where it applies, and say why.

Sources: `rabbit_mirror_queue_misc` (`sync_batch_size`; a master without mirrors), `rabbit_mirror_queue_slave`
(promotion on shutdown or failure), `rabbit_amqqueue_process` (how overflow and dead-letter keys are read),
`rabbit_quorum_queue:dlx_mfa`, `rabbit_variable_queue:set_queue_mode` since 3.12, `hawb.rules.quorum_profiles`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct

from hawb.planning.assignments import Assignment
from hawb.rules.policies import QUEUE_TYPES_BY_APPLY_TO, Policy
from hawb.rules.profiles import Profile
from hawb.rules.quorum_profiles import QUORUM_PROFILES

EXCHANGES_TOO = "all"
AFTER_HA_MODE = ("ha-sync-mode", "ha-sync-batch-size", "ha-promote-on-shutdown", "ha-promote-on-failure")
LENGTHS = ("max-length", "max-length-bytes")
LAZY_FOR_ALL = ("3.13", "4.0", "4.3")
OF_QUORUM_QUEUES = ("delivery-limit", "max-in-memory-length", "max-in-memory-bytes")


class Case(Struct, frozen=True):
    """A policy, the part of its definition that the release knows, and the queues that it applies to."""

    policy: Policy
    definition: dict[str, object]
    profile: Profile
    applied: Sequence[Assignment]

    def sets(self, *keys: str) -> bool:
        """Return True if the policy sets one of the keys, or the operator policy or an argument of its queues does."""
        return any(
            key in self.definition or key in one.in_force.definition or f"x-{key}" in (one.queue.facts.arguments or ())
            for one in self.applied
            for key in keys
        )


def idle_settings(case: Case) -> Iterator[tuple[str, str]]:
    """Yield (setting, why it has no effect) in the definition's order.

    Nothing for a policy that applies to no queue.
    """
    if not case.applied:
        return
    for key in case.definition:
        for reason in (reason for keys, reason in REASONS if key in keys):
            if why := reason(case):
                yield key, why
                break


def _keeps_no_mirror(case: Case) -> str | None:
    alone = case.definition.get("ha-mode") == "exactly" and case.definition.get("ha-params") == 1
    return "exactly 1 means no mirror" if alone else None


def _default_batch(case: Case) -> str | None:
    return "1 means the default, 4096" if case.definition["ha-sync-batch-size"] == 1 else None


def _failure_decides(case: Case) -> str | None:
    asked = [case.definition.get(key) for key in ("ha-promote-on-shutdown", "ha-promote-on-failure")]
    if asked == ["always", "when-synced"]:
        return "ha-promote-on-failure when-synced also applies to stops, and promotes no unsynchronised mirror"
    return None


def _no_exchange_to(case: Case) -> str | None:
    return None if case.sets("dead-letter-exchange") else "no dead-letter-exchange, here or in a queue's arguments"


def _falls_back(case: Case) -> str | None:
    if case.definition["dead-letter-strategy"] != "at-least-once":
        return None
    drops = case.definition.get("overflow", "drop-head") != "reject-publish" and not case.sets("overflow")
    return _no_exchange_to(case) or ("at-least-once needs overflow reject-publish" if drops else None)


def _no_length(case: Case) -> str | None:
    if case.sets(*LENGTHS) or case.definition.get("dead-letter-strategy") == "at-least-once":
        return None
    return "no max-length and no max-length-bytes, here or in a queue's arguments"


def _lazy_anyway(case: Case) -> str | None:
    for_all = case.profile.version in LAZY_FOR_ALL
    return "from 3.12 on, all classic queues behave much like lazy queues" if for_all else None


def _not_read(key: str) -> Callable[[Case], str | None]:
    def check(case: Case) -> str | None:
        read = {setting for setting, _ in QUORUM_PROFILES[case.profile.version].settings}
        readers = [one for one in case.applied if one.queue.type == "quorum" and key in read]
        return None if readers else "no queue that it applies to supports it"

    return check


def _for_exchanges(case: Case) -> str | None:
    covers = QUEUE_TYPES_BY_APPLY_TO.get(case.policy.apply_to)
    mismatched = covers and case.policy.apply_to != EXCHANGES_TOO
    return f"it is for exchanges, and the policy applies to {case.policy.apply_to}" if mismatched else None


REASONS: tuple[tuple[tuple[str, ...], Callable[[Case], str | None]], ...] = (
    (AFTER_HA_MODE, _keeps_no_mirror),
    (("ha-sync-batch-size",), _default_batch),
    (("ha-promote-on-shutdown",), _failure_decides),
    (("dead-letter-routing-key",), _no_exchange_to),
    (("dead-letter-strategy",), _falls_back),
    (("overflow",), _no_length),
    (("queue-mode",), _lazy_anyway),
    *(((key,), _not_read(key)) for key in OF_QUORUM_QUEUES),
    (("alternate-exchange",), _for_exchanges),
)
"""Which settings can be idle, and the function that says why they are, or None where they are not."""
