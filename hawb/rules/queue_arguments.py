"""RabbitMQ's checks of a classic queue's arguments when the queue is declared, with its error texts.

Source: `rabbit_amqqueue` (`check_declare_arguments`, `declare_args`, `assert_args_equivalence`), `rabbit_channel` for
queue.declare, `rabbit_misc` (`check_expiry`, `assert_args_equivalence`), `rabbit_classic_queue:capabilities`. The first
error ends the check. From 3.9 on an argument that only other queue types know is refused too, the first in the order in
which the client sends them; 4.0 adds the queue's type if a client sends none, and thereby sorts them
(`rabbit_amqqueue:augment_declare_args`). An unknown argument is kept and has no effect. The arguments of a queue that
exists are not checked but compared: 3.8 compares the arguments that it checks, later releases those of classic queues
(`COMPARED`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from hawb.rules.erlang_terms import erlang_term
from hawb.rules.limits import DROP_HEAD, REJECT_PUBLISH, REJECT_PUBLISH_DLX
from hawb.rules.locators import LEADER_LOCATORS
from hawb.rules.profiles import Profile

LONGEST_EXPIRY_MS = 315_360_000_000
MOST_PRIORITIES = 255

AMQP_TYPES = {str: "longstr", bool: "bool", int: "signedint", float: "double", type(None): "void"}


def amqp_type(value: object) -> str:
    """Return the AMQP type with which a client sends a value: a small enough integer has 32 bits."""
    if type(value) is int and not -(2**31) <= value < 2**31:
        return "long"
    return AMQP_TYPES.get(type(value), "array")


def refusal(arguments: Mapping[str, object], described: str, profile: Profile) -> str | None:
    """Return the text of the 406 with which RabbitMQ refuses to declare a classic queue; None if it accepts.

    `described` is the queue as its texts name it.
    """
    terse = profile.version == "3.8"
    checks = {key: CHECKS[key] for key in (CHECKED_3_8 if terse else CHECKED)}
    checks |= CHECKS_4_0 if profile.leader_locator else {}
    if profile.version == "4.3":
        checks |= CHECKS_4_3
        del checks["x-queue-mode"]
    error = invalid(arguments, described, checks, terse)
    if error is not None:
        return error
    sent = arguments if "x-queue-type" in arguments or not profile.leader_locator else sorted(arguments)
    others = OF_OTHER_TYPES | (OF_OTHER_TYPES_4_3 if profile.version == "4.3" else frozenset())
    foreign = () if terse else [key for key in sent if key in others and key not in checks]
    return next((f"invalid arg '{key}' for {described} of queue type rabbit_classic_queue" for key in foreign), None)


def unknown_type(value: object, described: str, profile: Profile) -> str:
    """Return the text of the 406 for a queue of a type that does not exist (`rabbit_amqqueue:check_queue_type`)."""
    error = "invalid_queue_type" if profile.version == "3.8" else f"\"unsupported queue type '{value}'\""
    if not isinstance(value, str):
        error = f"{{unacceptable_type,{amqp_type(value)}}}"
    return f"invalid arg 'x-queue-type' for {described}: {error}"


def invalid(arguments: Mapping[str, object], described: str, checks: Mapping[str, Check], terse: bool) -> str | None:
    """Return the text of the 406 for the first argument, in the order of `checks`, with an invalid value.

    None if none has.
    """
    exchange = arguments.get("x-dead-letter-exchange", "")
    if not isinstance(exchange, str):
        return f"invalid type '{amqp_type(exchange)}' for arg 'x-dead-letter-exchange' in {described}"
    for key, check in checks.items():
        error = check(arguments, key, terse) if key in arguments else None
        if error is not None:
            return f"invalid arg '{key}' for {described}: {error}"
    return None


def inequivalent(
    given: Mapping[str, object], current: Mapping[str, object], profile: Profile
) -> tuple[str, str, str] | None:
    """Return the first argument of a classic queue that differs in a new declaration, as `first_difference` does."""
    compared = (*CHECKED_3_8, "x-queue-type") if profile.version == "3.8" else COMPARED
    if profile.leader_locator:
        current = SENT_ANYWAY_4_0 | current
        compared = (*compared, *CHECKS_4_0)
    return first_difference(given, current, compared, profile)


def first_difference(
    given: Mapping[str, object], current: Mapping[str, object], keys: Iterable[str], profile: Profile
) -> tuple[str, str, str] | None:
    """Return the first of `keys` that differs in a new declaration, with both values as the 406 shows them.

    The values are the given one and the queue's. Return None if all are the same. Numbers of different types differ; no
    type is the classic type (`rabbit_misc:assert_field_equivalence`).
    """
    for key in keys:
        asked, had = ((amqp_type(one[key]), one[key]) if key in one else None for one in (given, current))
        if (asked or UNSAID.get(key)) != (had or UNSAID.get(key)):
            show = _value if asked and had else _value_and_type
            return key, show(asked, profile.unicode_errors), show(had, profile.unicode_errors)
    return None


def _value(argument: tuple[str, object], unicode: bool) -> str:
    return f"'{_term(argument[1], unicode)}'"


def _value_and_type(argument: tuple[str, object] | None, unicode: bool) -> str:
    return "none" if argument is None else f"the value {_value(argument, unicode)} of type '{argument[0]}'"


def _term(value: object, unicode: bool) -> str:
    if isinstance(value, tuple):
        return "[" + ",".join(f"{{{amqp_type(one)},{_leaf(one, unicode)}}}" for one in value) + "]"
    return value if isinstance(value, str) else _leaf(value, unicode)


def _leaf(value: object, unicode: bool) -> str:
    shown = erlang_term(value, unicode, column=0)
    # Where Erlang shows each byte of a string as a letter, these are sent as bytes again, so that its letters are right
    # (`rabbit_binary_generator:amqp_exception_explanation`).
    return shown if unicode else shown.encode("latin-1").decode("utf-8", "replace")


Check = Callable[[Mapping[str, object], str, bool], str | None]
"""A check of an argument, which returns Erlang's error: (all arguments, its key, True for the texts of 3.8)."""


def _integer(arguments: Mapping[str, object], key: str, terse: bool) -> str | None:
    if type(arguments[key]) is int:
        return None
    kind = amqp_type(arguments[key])
    return f"{{unacceptable_type,{kind}}}" if terse else f'"expected integer, got {kind}"'


def _not_negative(arguments: Mapping[str, object], key: str, terse: bool) -> str | None:
    value = arguments[key]
    return _integer(arguments, key, terse) or (f"{{value_negative,{value}}}" if value < 0 else None)


def _time_to_live(arguments: Mapping[str, object], key: str, terse: bool) -> str | None:
    error, value = _not_negative(arguments, key, terse), arguments[key]
    if error is None and not terse and value > LONGEST_EXPIRY_MS:
        return f"{{value_too_large,{value}}}"
    return error


def _expiry(arguments: Mapping[str, object], key: str, terse: bool) -> str | None:
    return _time_to_live(arguments, key, terse) or _not_zero(arguments[key])


def _group_size(arguments: Mapping[str, object], key: str, terse: bool) -> str | None:
    return _not_negative(arguments, key, terse) or _not_zero(arguments[key])


def _not_zero(value: object) -> str | None:
    return "{value_zero,0}" if value == 0 else None


def _max_priority(arguments: Mapping[str, object], key: str, terse: bool) -> str | None:
    error, value = _not_negative(arguments, key, terse), arguments[key]
    return f"{{max_value_exceeded,{value}}}" if error is None and value > MOST_PRIORITIES else error


def _queue_version(arguments: Mapping[str, object], key: str, terse: bool) -> str | None:
    error, value = _not_negative(arguments, key, terse), arguments[key]
    return f"\"unsupported queue version '{value}'\"" if error is None and value not in (1, 2) else error


def _queue_version_4_3(arguments: Mapping[str, object], key: str, terse: bool) -> str | None:
    error, value = _not_negative(arguments, key, terse), arguments[key]
    return f"\"unsupported queue version '{value}'\"" if error is None and value != 2 else error


def _of_type(kind: type) -> Check:
    def check(arguments: Mapping[str, object], key: str, _terse: bool) -> str | None:
        return None if type(arguments[key]) is kind else f"{{unacceptable_type,{amqp_type(arguments[key])}}}"

    return check


def _routing_key(arguments: Mapping[str, object], key: str, terse: bool) -> str | None:
    alone = None if "x-dead-letter-exchange" in arguments else "routing_key_but_no_dlx_defined"
    return _of_type(str)(arguments, key, terse) or alone


def _overflow(arguments: Mapping[str, object], key: str, terse: bool) -> str | None:
    known = arguments[key] in (DROP_HEAD, REJECT_PUBLISH, REJECT_PUBLISH_DLX)
    return _of_type(str)(arguments, key, terse) or (None if known else "invalid_overflow")


def _queue_mode(arguments: Mapping[str, object], key: str, terse: bool) -> str | None:
    error, value = _of_type(str)(arguments, key, terse), arguments[key]
    unknown = "invalid_queue_mode" if terse else f"\"unsupported queue mode '{value}'\""
    return unknown if error is None and value not in ("default", "lazy") else error


def _leader_locator(arguments: Mapping[str, object], key: str, terse: bool) -> str | None:
    unknown = None if arguments[key] in LEADER_LOCATORS else "invalid_queue_locator_arg"
    return _of_type(str)(arguments, key, terse) or unknown


CHECKS: dict[str, Check] = {
    "x-expires": _expiry,
    "x-message-ttl": _time_to_live,
    "x-dead-letter-exchange": _of_type(str),
    "x-dead-letter-routing-key": _routing_key,
    "x-max-length": _not_negative,
    "x-max-length-bytes": _not_negative,
    "x-max-in-memory-length": _not_negative,
    "x-max-in-memory-bytes": _not_negative,
    "x-max-priority": _max_priority,
    "x-overflow": _overflow,
    "x-queue-mode": _queue_mode,
    "x-queue-version": _queue_version,
    "x-single-active-consumer": _of_type(bool),
    "x-quorum-initial-group-size": _group_size,
}
"""The arguments that are checked, in RabbitMQ's order."""

CHECKS_4_0: dict[str, Check] = {"x-queue-leader-locator": _leader_locator}
"""The checks of arguments that classic queues know from 4.0 on (`rabbit_classic_queue:capabilities`)."""

CHECKS_4_3: dict[str, Check] = {"x-queue-version": _queue_version_4_3}
"""The checks that differ in 4.3, which has no first version of classic queues, and ignores x-queue-mode."""

QUORUM_ONLY = ("x-max-in-memory-length", "x-max-in-memory-bytes", "x-quorum-initial-group-size")

CHECKED_3_8 = tuple(key for key in CHECKS if key != "x-queue-version")
CHECKED = tuple(key for key in CHECKS if key not in QUORUM_ONLY)

OF_OTHER_TYPES = frozenset(QUORUM_ONLY) | {
    "x-dead-letter-strategy", "x-delivery-limit", "x-queue-leader-locator",
    "x-max-age", "x-stream-max-segment-size-bytes", "x-initial-cluster-size",
}  # fmt: skip
"""Arguments that quorum queues or streams know, and classic queues do not."""

DELAYS_4_3 = ("x-delayed-retry-type", "x-delayed-retry-min", "x-delayed-retry-max")
TIMEOUTS_4_3 = ("x-consumer-disconnected-timeout", "x-consumer-timeout")
OF_OTHER_TYPES_4_3 = frozenset({*DELAYS_4_3, *TIMEOUTS_4_3, "x-stream-filter-size-bytes"})
"""The arguments added to these in 4.3."""

SENT_ANYWAY_4_0 = {"x-queue-type": "classic"}
"""The argument that 4.0 adds to a declaration without it (`rabbit_amqqueue:augment_declare_args`)."""

UNSAID = {"x-queue-type": ("longstr", "classic")}
"""The type that a declaration without x-queue-type means."""

COMPARED = (*CHECKED, "x-queue-type", "x-queue-master-locator")
"""The arguments that must be the same when a queue is declared again, in the order in which they are compared."""
