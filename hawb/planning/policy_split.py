"""Split policies for the time after a move to quorum queues: one policy for each queue type where one covered both.

A policy with one setting that a type does not support does not apply to that type, so the parts for both types are
separated by apply-to, which knows queue types from 3.12 on. In 3.10 a setting at its default value, which only one type
knows, separates them; 3.8's classic queues accept any setting, so there the part for quorum queues has the lower
priority.

A policy without any setting left is deleted, unless it overrode another policy: then messages would expire, or be
dropped, because mirroring was removed. It is kept with a limit that no queue reaches.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from hawb.planning.quorum_translation import LOCATOR_SOURCE, Reason, definition, is_balanced
from hawb.rules.denied_features import MASTER_LOCATOR
from hawb.rules.feature_matrix import Feature
from hawb.rules.policies import QUEUE_TYPES_BY_APPLY_TO, Policy
from hawb.rules.policy_validation import refusal
from hawb.rules.profiles import HA_SETTINGS, Profile

CLASSIC_ONLY = {"queue-mode": "default"}
QUORUM_ONLY = {"dead-letter-strategy": "at-most-once"}
"""Settings with their defaults that only one type of queue knows (quorum queues do from 3.10 on)."""

NOTHING = {"max-length": 10**12}
"""Definition of a policy that limits nothing but still overrides other policies."""

FORMER_LOCATOR, LOCATOR = "queue-master-locator", "queue-leader-locator"
OF_EXCHANGES = ("alternate-exchange",)
OF_STREAMS = {"max-age", "stream-max-segment-size-bytes", "stream-filter-size-bytes", "initial-cluster-size"}


class Part(Struct, frozen=True):
    """A policy after the move. `of` is what it applies to: classic, quorum or exchanges; None if it is unchanged."""

    policy: Policy
    of: str | None
    stands_in: bool = False


class Split(Struct, frozen=True):
    """The result for one policy: its parts (none if it is deleted) and why. `both` is True if it covered both types."""

    policy: Policy
    operator: bool
    parts: list[Part]
    reasons: list[Reason]
    both: bool = False

    @property
    def said(self) -> str:
        """Return in words the settings of a policy of which nothing is left after the move."""
        keys = self.policy.definition.keys()
        return "nothing but mirroring" if keys <= HA_SETTINGS else f"nothing but {', '.join(sorted(keys))}"


def split(
    policy: Policy, types: Collection[str], silences: Collection[str], matrix: Mapping[str, Feature], profile: Profile,
    operator: bool,
) -> Split:  # fmt: skip
    """Return the result for a policy.

    `types` are the queue types that it is to apply to after the move, `silences` the types for which it overrides other
    policies.
    """
    covered = QUEUE_TYPES_BY_APPLY_TO.get(policy.apply_to, ())
    meant = [kind for kind in ("classic", "quorum") if kind in types and kind in covered]
    if not meant or OF_STREAMS & policy.definition.keys():
        return _untouched(policy, profile, operator)
    known = profile.operator_policy_settings if operator else profile.policy_settings
    given = {key: value for key, value in policy.definition.items() if key in known}
    translated = definition(policy.definition, matrix, profile)
    wanted = {
        "classic": _for_classic(given, profile),
        "quorum": {key: value for key, value in translated.settings.items() if key in known},
    }
    of_exchanges = {key: given[key] for key in OF_EXCHANGES if key in given and policy.apply_to == "all"}
    left = {kind: wanted[kind] or (dict(NOTHING) if kind in silences else {}) for kind in meant}
    reasons = translated.reasons if "quorum" in meant else _renamed(wanted["classic"], given)
    if len({str(sorted(each.items())) for each in left.values()}) == 1:
        return Split(policy, operator, _whole(policy, left[meant[0]], wanted[meant[0]], meant), reasons)
    parts = _apart(policy, left, profile) + _exchanges(policy, of_exchanges)
    parts = [replace(part, stands_in=not wanted.get(part.of, True)) for part in parts]
    return Split(policy, operator, parts, reasons, both=len(meant) > 1)


def _for_classic(given: Mapping[str, object], profile: Profile) -> dict[str, object]:
    """Return the settings that classic queues keep; a locator under its former name is renamed where that is denied."""
    settings = {key: value for key, value in given.items() if key not in profile.unsupported_by("classic")}
    if MASTER_LOCATOR in profile.denied_features and FORMER_LOCATOR in settings:
        balanced = is_balanced(settings.pop(FORMER_LOCATOR))
        settings = ({LOCATOR: "balanced"} if balanced else {}) | settings
    return settings


def _renamed(settings: Mapping[str, object], given: Mapping[str, object]) -> list[Reason]:
    """Return the reason for a locator that is renamed or removed."""
    if FORMER_LOCATOR not in given or FORMER_LOCATOR in settings:
        return []
    what = "replaced by queue-leader-locator balanced" if LOCATOR in settings else "left out: the declaring node leads"
    return [Reason("changes", f"policy setting {FORMER_LOCATOR}: {what}", LOCATOR_SOURCE)]


def _untouched(policy: Policy, profile: Profile, operator: bool) -> Split:
    """Return the result for a policy that applies to no queue: kept with the settings that the release knows."""
    known = profile.operator_policy_settings if operator else profile.policy_settings
    settings = {key: value for key, value in policy.definition.items() if key in known}
    kept = _with(policy, settings)
    lost = sorted(policy.definition.keys() - known)
    reasons = [Reason("changes", f"policy setting {key}: left out: RabbitMQ {profile.release} does not know it",
                      "rabbit_policies") for key in lost]  # fmt: skip
    fields = {"pattern": kept.pattern, "definition": settings, "priority": kept.priority, "apply_to": kept.apply_to}
    taken = settings and refusal(fields, profile, operator=operator) is None
    return Split(policy, operator, [Part(kept, None)] if taken else [], reasons)


def _whole(policy: Policy, settings: dict, wanted: dict, meant: Sequence[str]) -> list[Part]:
    if not settings:
        return []
    return [Part(_with(policy, settings), meant[0] if len(meant) == 1 else None, stands_in=not wanted)]


def _apart(policy: Policy, left: Mapping[str, dict], profile: Profile) -> list[Part]:
    """Return a policy for each queue type with settings in `left`."""
    parts = []
    by_type = "quorum_queues" in profile.apply_to
    for kind, settings in left.items():
        if not settings:
            continue
        changed = {}
        if len(left) > 1 and by_type:
            changed["apply_to"] = f"{kind}_queues"
        elif len(left) > 1:
            settings = settings | _marker(kind, settings, profile)
        name = policy.name if kind == "classic" or len(left) == 1 else f"{policy.name}-quorum"
        parts.append(Part(replace(_with(policy, settings), name=name, **changed), kind))
    return parts


def _marker(kind: str, settings: Mapping[str, object], profile: Profile) -> dict[str, object]:
    """Return a setting that makes queues of the other type ignore a part; {} if there is none, or it is not needed."""
    other = "quorum" if kind == "classic" else "classic"
    marker = CLASSIC_ONLY if kind == "classic" else QUORUM_ONLY
    if settings.keys() & profile.unsupported_by(other) or not marker.keys() & profile.unsupported_by(other):
        return {}
    return marker


def _exchanges(policy: Policy, settings: dict[str, object]) -> list[Part]:
    """Return the part for exchanges of a policy with apply-to all, if its parts for queues do not reach exchanges."""
    if not settings:
        return []
    named = replace(_with(policy, settings), name=f"{policy.name}-exchanges", apply_to="exchanges")
    return [Part(named, "exchanges")]


def _with(policy: Policy, settings: Mapping[str, object]) -> Policy:
    return Policy.of(policy.name, policy.pattern, settings, policy.priority, policy.apply_to, policy.vhost)


def in_order(splits: Iterable[Split], profile: Profile) -> list[Split]:
    """Return the splits with unused names for their parts.

    In 3.8, also set priorities that put a part for quorum queues right below the part for classic ones.
    """
    found = list(splits)
    taken = {(one.operator, one.policy.vhost, one.policy.name) for one in found}
    ranked = not profile.declare_knows_type and any(one.both for one in found)
    ranks = {priority: rank for rank, priority in enumerate(sorted({one.policy.priority for one in found}))}
    new = []
    for one in found:
        parts = []
        for part in one.parts:
            policy = part.policy
            if policy.name != one.policy.name:
                policy = replace(policy, name=_free(policy, one.operator, taken))
            if ranked:
                below = one.both and part.of == "quorum"
                policy = replace(policy, priority=2 * ranks[policy.priority] + (not below))
            parts.append(replace(part, policy=policy))
        new.append(replace(one, parts=parts))
    return new


def _free(policy: Policy, operator: bool, taken: set[tuple[bool, str, str]]) -> str:
    name, number = policy.name, 1
    while (operator, policy.vhost, name) in taken:
        number += 1
        name = f"{policy.name}-{number}"
    taken.add((operator, policy.vhost, name))
    return name
