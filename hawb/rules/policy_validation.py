"""RabbitMQ's validation of a policy, with its error texts.

Source: `rabbit_policy` (`parse_set`, `validation`), `rabbit_parameter_validation`, `rabbit_policies`,
`rabbit_mirror_queue_misc:validate_policy`, the `validate_policy` of the ha-modes, `rabbit_queue_location_validator`,
`rabbit_quorum_queue` and `rabbit_federation_parameters`; the frame around the errors is `rabbit_runtime_parameters`'.

RabbitMQ checks definition, apply-to and pattern and reports each that is wrong, in that order; within the definition
the first error ends the check. There, settings are checked module by module, in an order that follows from Erlang's
hash of the modules' names and differs between versions of Erlang (`ORDER`, as recorded with refused-in-order). Unknown
keys are reported only when nothing else is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping

from hawb.rules.erlang_terms import erlang_term
from hawb.rules.locators import LEADER_LOCATORS
from hawb.rules.patterns import pattern_error
from hawb.rules.profiles import FEDERATION_SETTINGS, HA_SETTINGS, Profile

ABSENT = object()
"""In place of a missing value, which RabbitMQ shows as the atom none."""

Check = tuple[Callable[[object], bool], str]
"""A test of a value, and the error text for one that fails it, with {} where RabbitMQ shows the value."""


class _Crashed(Exception):  # noqa: N818 - named for what it says
    """RabbitMQ's check crashed on a value; the text is the error that the check would have returned."""


def refusal(fields: Mapping[str, object], profile: Profile, *, operator: bool) -> str | None:
    """Return RabbitMQ's error for a policy that it refuses to set, as `rabbitmqctl` and the HTTP API print it.

    Return None if it accepts the policy. `fields` are those of set_policy: pattern, definition, priority and apply_to.
    Each error has a line of its own; the line break that ends RabbitMQ's text is left out. Where the check crashes, as
    on a max-age that is no text, the error is badarg with the reason.
    """
    show = _shower(profile)
    priority = fields["priority"]
    if not _is_integer(priority):
        return f"{show(priority)} priority must be a number"
    try:
        of_definition = _definition_error(fields["definition"], profile, operator)
    except _Crashed as crashed:
        return f"badarg: {crashed}"
    errors = [
        of_definition,
        _apply_to_error(fields["apply_to"], profile),
        _pattern_error(fields["pattern"], show),
    ]
    found = [error for error in errors if error is not None]
    return "\n".join(["Validation failed\n", *found]) if found else None


def _definition_error(definition: Mapping[str, object], profile: Profile, operator: bool) -> str | None:
    """Return the first error of a definition, without the frame; None if it is valid."""
    show = _shower(profile)
    if not definition:
        return "no policy provided"
    known = profile.operator_policy_settings if operator else profile.policy_settings
    values = {key: definition[key] for key in definition if key in known}
    checks = CHECKS | CHECKS_OF_VERSION.get(profile.version, {})
    modules: dict[str, Callable[[], str | None]] = {
        "locator": lambda: _first_error(values, ["queue-master-locator"], checks, show),
        "ha": lambda: _ha_error(values, show),
        "common": lambda: _first_error(values, COMMON_SETTINGS, checks, show),
        "federation": lambda: _federation_error(values) or _first_error(values, FEDERATION_SETTINGS, checks, show),
        "group": lambda: _first_error(values, GROUP_SETTINGS, checks, show) or _delayed_retry_error(values),
    }
    found = (modules[name]() for name in ORDER.get(profile.version, USUAL_ORDER))
    return next((error for error in found if error is not None), None) or _unknown_error(definition, known, show)


def _shower(profile: Profile) -> Callable[..., str]:
    """Return a function that prints values as this release does.

    Its second argument is the text that precedes the value in its line.
    """
    return lambda value, before="": erlang_term(value, profile.unicode_errors, len(before))


def _first_error(values: Mapping[str, object], keys: Collection[str], checks: Mapping[str, Check], show) -> str | None:
    for key in keys:
        if key in values:
            accepts, text = checks[key]
            if not accepts(values[key]):
                refused = _with_value(text, values[key], show)
                if key in OF_TEXT_ALONE and not _is_string(values[key]):
                    raise _Crashed(refused)
                return refused
    return None


def _with_value(text: str, value: object, show) -> str:
    before, shown, after = text.partition("{}")
    if not shown:
        return text
    return f"{before}{'none' if value is ABSENT else show(value, before)}{after}"


def _ha_error(values: Mapping[str, object], show) -> str | None:
    if not values.keys() & HA_SETTINGS:
        return None
    if "ha-mode" not in values:
        return "ha-mode must be specified to specify ha-params, ha-sync-mode or ha-promote-on-shutdown"
    return (
        _first_error(values, ["ha-mode"], HA_CHECKS, show)
        or _ha_params_error(values, show)
        or _first_error(values, HA_CHECKS, HA_CHECKS, show)
    )


def _ha_params_error(values: Mapping[str, object], show) -> str | None:
    mode, params = values["ha-mode"], values.get("ha-params", ABSENT)
    if mode == "all":
        return None if params is ABSENT else 'ha-mode="all" does not take parameters'
    if mode == "exactly":
        accepted = _is_integer(params) and params > 0
        return None if accepted else _with_value('ha-mode="exactly" takes an integer, {} given', params, show)
    if not isinstance(params, list):
        return _with_value('ha-mode="nodes" takes a list, {} given', params, show)
    if not params:
        return 'ha-mode="nodes" list must be non-empty'
    others = [node for node in params if not isinstance(node, str)]
    text = 'ha-mode="nodes" takes a list of strings, {} was not a string'
    return _with_value(text, others, show) if others else None


def _federation_error(values: Mapping[str, object]) -> str | None:
    if len(values.keys() & FEDERATION_SETTINGS) < 2:
        return None
    return "cannot specify federation-upstream, federation-upstream-set or federation-upstream-pattern together"


def _delayed_retry_error(values: Mapping[str, object]) -> str | None:
    """Return the error for settings that contradict each other.

    Source: `rabbit_quorum_queue:validate_delayed_retry_constraints`.
    """
    kind, least, most = (values.get(f"delayed-retry-{key}") for key in ("type", "min", "max"))
    if least is None:
        needed = kind not in (None, "disabled")
        return f"delayed-retry-min is required when delayed-retry-type is {kind}" if needed else None
    if most is not None and most < least:
        return f"delayed-retry-max ({most}) must not be smaller than delayed-retry-min ({least})"
    return None


def _unknown_error(definition: Mapping[str, object], known: Collection[str], show) -> str | None:
    unknown = [(key, definition[key]) for key in sorted(definition) if key not in known]
    return f"{show(unknown)} are not recognised policy settings" if unknown else None


def _apply_to_error(apply_to: object, profile: Profile) -> str | None:
    return None if apply_to in profile.apply_to else f"apply-to '{apply_to}' unrecognised; {profile.apply_to_advice}"


def _pattern_error(pattern: object, show) -> str | None:
    if not isinstance(pattern, str):
        return _with_value("pattern should be a binary but was {}", pattern, show)
    error = pattern_error(pattern)
    return None if error is None else f"pattern should be regular expression but is invalid: {error}"


def _is_integer(value: object) -> bool:
    """Return the result of Erlang's is_integer for a JSON value: 2.0 is a float there, and true is an atom."""
    return isinstance(value, int) and not isinstance(value, bool)


def _is_string(value: object) -> bool:
    return isinstance(value, str)


def _at_least(least: int, most: float = float("inf")) -> Callable[[object], bool]:
    return lambda value: _is_integer(value) and least <= value <= most


def _one_of(*accepted: object) -> Callable[[object], bool]:
    return lambda value: any(type(value) is type(choice) and value == choice for choice in accepted)


def _is_max_age(value: object) -> bool:
    return _is_string(value) and re.fullmatch("0*[1-9][0-9]*[YMDhms]", value) is not None


def _is_pattern(value: object) -> bool:
    return _is_string(value) and pattern_error(value) is None


MAX_STREAM_SEGMENT_BYTES = 3_000_000_000
_PROMOTIONS = _one_of("always", "when-synced")

HA_CHECKS: dict[str, Check] = {
    "ha-mode": (_one_of("all", "exactly", "nodes"), "{} is not a valid ha-mode value"),
    "ha-sync-mode": (_one_of("automatic", "manual"), 'ha-sync-mode must be "manual" or "automatic", got {}'),
    "ha-sync-batch-size": (_at_least(1), "ha-sync-batch-size takes an integer greater than 0, {} given"),
    "ha-promote-on-shutdown": (_PROMOTIONS, 'ha-promote-on-shutdown must be "always" or "when-synced", got {}'),
    "ha-promote-on-failure": (_PROMOTIONS, 'ha-promote-on-failure must be "always" or "when-synced", got {}'),
}
"""The checks of mirroring settings, in RabbitMQ's order; ha-params, which depend on ha-mode, come second."""

CHECKS: dict[str, Check] = {
    "alternate-exchange": (_is_string, "{} is not a valid alternate exchange name"),
    "consumer-disconnected-timeout": (_at_least(0), "{} is not a valid consumer disconnected timeout"),
    "consumer-timeout": (_at_least(0), "{} is not a valid consumer timeout"),
    "dead-letter-exchange": (_is_string, "{} is not a valid dead letter exchange name"),
    "dead-letter-routing-key": (_is_string, "{} is not a valid dead letter routing key"),
    "dead-letter-strategy": (_one_of("at-most-once", "at-least-once"), "{} is not a valid dead letter strategy"),
    "delayed-retry-max": (
        _at_least(1),
        "{} is not a valid delayed retry maximum delay. Must be a positive integer",
    ),
    "delayed-retry-min": (
        _at_least(1),
        "{} is not a valid delayed retry minimum delay. Must be a positive integer",
    ),
    "delayed-retry-type": (
        _one_of("all", "failed", "returned", "disabled"),
        "{} is not a valid delayed retry type. Must be one of: all, failed, returned, disabled",
    ),
    "delivery-limit": (_at_least(0), "{} is not a valid delivery limit"),
    "expires": (_at_least(1), "{} is not a valid queue expiry"),
    "federation-upstream": (_is_string, "{} is not a valid federation upstream name"),
    "federation-upstream-pattern": (_is_pattern, "{} is not a valid federation upstream pattern name"),
    "federation-upstream-set": (_is_string, "{} is not a valid federation upstream set name"),
    "initial-cluster-size": (_at_least(0), "{} is not a valid cluster size"),
    "max-age": (_is_max_age, "{} is not a valid max age"),
    "max-in-memory-bytes": (_at_least(0), "{} is not a valid maximum memory in bytes"),
    "max-in-memory-length": (_at_least(0), "{} is not a valid maximum memory in bytes"),
    "max-length": (_at_least(0), "{} is not a valid maximum length"),
    "max-length-bytes": (_at_least(0), "{} is not a valid maximum length in bytes"),
    "message-ttl": (_at_least(0), "{} is not a valid message TTL"),
    "overflow": (_one_of("drop-head", "reject-publish", "reject-publish-dlx"), "{} is not a valid overflow value"),
    "queue-leader-locator": (
        _one_of("client-local", "balanced", "random", "least-leaders"),
        "{} is not a valid queue leader locator value",
    ),
    "queue-master-locator": (
        _one_of("min-masters", "client-local", "random"),
        "{} invalid queue-master-locator value",
    ),
    "queue-mode": (_one_of("default", "lazy"), "{} is not a valid queue-mode value"),
    "queue-version": (_one_of(1, 2), "{} is not a valid queue-version value"),
    "stream-filter-size-bytes": (_at_least(16, 255), "{} is not a valid filter size. Valid range is 16-255"),
    "stream-max-segment-size-bytes": (_at_least(0, MAX_STREAM_SEGMENT_BYTES), "{} is not a valid segment size"),
    "target-group-size": (_at_least(1), "{} is not a valid qq target count value"),
}
"""The checks of all other settings."""

GROUP_SETTINGS = ("delayed-retry-max", "delayed-retry-min", "delayed-retry-type", "target-group-size")
"""The settings that `rabbit_quorum_queue` checks."""

COMMON_SETTINGS = sorted(CHECKS.keys() - FEDERATION_SETTINGS - {"queue-master-locator", *GROUP_SETTINGS})
"""The settings that `rabbit_policies` checks itself, in the order in which Erlang keeps a small map's keys."""

USUAL_ORDER = ("locator", "ha", "common", "federation", "group")
ORDER: dict[str, tuple[str, ...]] = {
    "3.8": ("locator", "common", "ha", "federation"),
    "4.0": ("common", "locator", "federation", "group"),
}
"""The order of the modules' checks in versions whose Erlang has another order."""

OF_TEXT_ALONE = frozenset({"max-age"})
"""Settings whose check crashes on a value that is no text (`rabbit_amqqueue:check_max_age`), hiding all other
errors."""

_CHECKS_4_0: dict[str, Check] = {
    "delivery-limit": (_is_integer, "{} is not a valid delivery limit"),
    "queue-master-locator": (_one_of(*LEADER_LOCATORS), "{} is not a valid master locator"),
}

_CHECKS_4_3 = _CHECKS_4_0 | {
    "queue-master-locator": (lambda _: False, "use of deprecated queue-master-locator argument is not permitted"),
}

CHECKS_OF_VERSION: dict[str, dict[str, Check]] = {"4.0": _CHECKS_4_0, "4.3": _CHECKS_4_3}
"""The checks in which a version differs. 4.0 takes a negative delivery limit for none, and every leader locator under
the old key, which is permitted unless configured otherwise (`rabbit_classic_queue:validate_policy`), and in 4.3 only
where that is configured."""
