"""Policies: which one applies to a queue, and its definition.

Source: `rabbit_policy` (`match_all`, `matches`, `merge_operator_definitions`), `rabbit_policies` and
`rabbit_mirror_queue_misc` (`merge_policy_value`). Only one policy applies to a queue: policies are not merged with
each other. An operator policy is merged with it, key by key.

A policy is part of a cluster's state, so it is a value: its definition is kept as sorted pairs with lists as tuples,
which can be compared and hashed, and `definition` returns it as it was written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import IntEnum

from msgspec import Struct

from hawb.rules import mirror_placement, promotion
from hawb.rules.patterns import Match, TooSlow, outcome
from hawb.rules.profiles import Profile

QUEUE_TYPES_BY_APPLY_TO = {
    "queues": ("classic", "quorum", "stream"),
    "all": ("classic", "quorum", "stream"),
    "classic_queues": ("classic",),
    "quorum_queues": ("quorum",),
    "streams": ("stream",),
}
"""The types of queue by the value of apply-to; `exchanges` means none of these."""


class Policy(Struct, frozen=True, cache_hash=True):
    """A policy, or an operator policy, that RabbitMQ has accepted. Made by `Policy.of`."""

    name: str
    pattern: str
    settings: tuple[tuple[str, object], ...]
    priority: int
    apply_to: str
    vhost: str

    @classmethod
    def of(
        cls,
        name: str,
        pattern: str,
        definition: Mapping[str, object],
        priority: int = 0,
        apply_to: str = "queues",
        vhost: str = "/",
    ) -> Policy:
        """Return the policy with this definition, whose values are strings, numbers, booleans or lists of them."""
        settings = tuple((key, _frozen(definition[key])) for key in sorted(definition))
        return cls(name, pattern, settings, priority, apply_to, vhost)

    @property
    def definition(self) -> dict[str, object]:
        """Return the definition as a fresh dictionary, keys sorted."""
        return {key: list(value) if isinstance(value, tuple) else value for key, value in self.settings}


def _frozen(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value


def matching(
    policies: Iterable[Policy], vhost: str, queue: str, queue_type: str, profile: Profile, *, declaring: bool
) -> list[Policy]:
    """Return the policies that could apply to a queue, the winning one first.

    They are the `candidates` that its name matches.
    """
    found = candidates(policies, vhost, queue_type, profile, declaring=declaring)
    return [policy for policy in found if matched(policy, queue) is Match.YES]


def matched(policy: Policy, queue: str, search: Callable[[str, str], Match] = outcome) -> Match:
    """Return the result of searching a queue's name for a policy's pattern. Raise TooSlow, which names the policy."""
    try:
        return search(policy.pattern, queue)
    except TooSlow:
        raise TooSlow(policy.pattern, policy.name) from None


def candidates(
    policies: Iterable[Policy], vhost: str, queue_type: str, profile: Profile, *, declaring: bool
) -> list[Policy]:
    """Return the policies that could apply to a virtual host's queues of a type, the winning one first.

    Their patterns are not tried here. The highest priority wins. Among equal priorities RabbitMQ takes whichever its
    storage lists first; hawb takes the first by name, and `ties` returns such policies.

    A policy with a setting that the queue's type does not support is passed over as a whole. 3.8.9 looks the type up in
    a table that does not have a queue while it is being declared (`declaring`), and so passes over no policy at that
    moment.
    """
    blind = declaring and not profile.declare_knows_type
    unsupported = frozenset() if blind else profile.unsupported_by(queue_type)
    return sorted(
        (
            policy
            for policy in policies
            if policy.vhost == vhost
            and queue_type in QUEUE_TYPES_BY_APPLY_TO.get(policy.apply_to, ())
            and unsupported.isdisjoint(key for key, _ in policy.settings)
        ),
        key=lambda policy: (-policy.priority, policy.name),
    )


def ties(winners: list[Policy]) -> list[Policy]:
    """Return those of `winners`, as `matching` returns them, that share the highest priority, if more than one does.

    RabbitMQ does not define which of them it applies, so reports warn of it.
    """
    tied = [policy for policy in winners if policy.priority == winners[0].priority]
    return tied if len(tied) > 1 else []


def effective_definition(policy: Policy | None, operator_policy: Policy | None) -> dict[str, object]:
    """Return the definition that applies to a queue under both policies: a key that both have is merged by `MERGES`."""
    mine = policy.definition if policy else {}
    theirs = operator_policy.definition if operator_policy else {}
    return mine | {
        key: MERGES.get(key, _operators)(mine[key], value) if key in mine else value for key, value in theirs.items()
    }


def _operators(_value: object, operator_value: object) -> object:
    return operator_value


def _stricter_delivery_limit(value: int, operator_value: int) -> int:
    """Return the lower of two delivery limits. A negative number means no limit (4.0)."""
    return (max if min(value, operator_value) < 0 else min)(value, operator_value)


def _wider_params(value: object, operator_value: object) -> object:
    """Return the larger number; a number rather than a list; the longer list, of equal ones the operator's."""
    numbers = {given for given in (value, operator_value) if isinstance(given, int)}
    return max(numbers) if numbers else max(operator_value, value, key=len)


MERGES: dict[str, Callable] = {
    "message-ttl": min,
    "expires": min,
    "max-length": min,
    "max-length-bytes": min,
    "max-in-memory-length": min,
    "max-in-memory-bytes": min,
    "delivery-limit": _stricter_delivery_limit,
    "target-group-size": max,
    "delayed-retry-min": max,
    "delayed-retry-max": min,
    "ha-mode": min,  # The wider: all, exactly, nodes.
    "ha-params": _wider_params,
}
"""The functions that merge a key that a policy and an operator policy both set. For others the operator's value
counts."""


class HaMode(IntEnum):
    """ha-mode, numbered as the rules number it."""

    ALL = mirror_placement.ALL
    EXACTLY = mirror_placement.EXACTLY
    NODES = mirror_placement.NODES


class SyncMode(IntEnum):
    """ha-sync-mode."""

    MANUAL = 0
    AUTOMATIC = 1


class Promote(IntEnum):
    """ha-promote-on-shutdown and ha-promote-on-failure, numbered as the rules number them."""

    WHEN_SYNCED = promotion.WHEN_SYNCED
    ALWAYS = promotion.ALWAYS


class Mirroring(Struct, frozen=True):
    """The mirroring part of an effective definition, with RabbitMQ's defaults.

    `count` belongs to EXACTLY and includes the master, `nodes` (names) to NODES. `sync_batch_size` None means the
    broker's mirroring_sync_batch_size. `mirrored` is False in a record that stands for a queue without mirrors.
    """

    mode: HaMode
    count: int | None
    nodes: tuple[str, ...]
    sync_mode: SyncMode
    sync_batch_size: int | None
    promote_on_shutdown: Promote
    promote_on_failure: Promote
    mirrored: bool = True

    @property
    def sync_automatic(self) -> bool:
        """Return True if mirrors are synchronised without a command."""
        return self.sync_mode is SyncMode.AUTOMATIC


def mirroring(definition: Mapping[str, object]) -> Mirroring | None:
    """Return the mirroring that a valid effective definition asks for; None without an ha-mode.

    A batch size of 1 is valid and means the default (`rabbit_mirror_queue_misc:sync_batch_size`).
    """
    if "ha-mode" not in definition:
        return None
    mode, params = _member(HaMode, definition["ha-mode"]), definition.get("ha-params")
    batch_size = definition.get("ha-sync-batch-size", 1)
    return Mirroring(
        mode=mode,
        count=params if mode is HaMode.EXACTLY else None,
        nodes=tuple(params) if mode is HaMode.NODES else (),
        sync_mode=_member(SyncMode, definition.get("ha-sync-mode", "manual")),
        sync_batch_size=batch_size if batch_size > 1 else None,
        promote_on_shutdown=_member(Promote, definition.get("ha-promote-on-shutdown", "when-synced")),
        promote_on_failure=_member(Promote, definition.get("ha-promote-on-failure", "always")),
    )


def _member(enum: type[IntEnum], value: str) -> IntEnum:
    return enum[value.upper().replace("-", "_")]
