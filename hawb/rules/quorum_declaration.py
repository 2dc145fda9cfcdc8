"""What RabbitMQ makes of the declaration of a quorum queue: what it refuses, in its words, and what it takes.

Source: `rabbit_amqqueue` (`check_declare_arguments`, `declare_args`, `assert_args_equivalence`), `rabbit_quorum_queue`
(`declare`, `check_invalid_arguments`, `ra_machine_config`, `dead_letter_handler`, `overflow`),
`rabbit_queue_type_util` (`args_policy_lookup`, `run_checks`), `rabbit_queue_location:leader_locator`.

An argument that no release knows is carried and changes nothing, so `x-quorum-queue-size` and `x-quorum-cluster-size`,
which a guide names beside `x-quorum-initial-group-size`, leave the group as large as it would be without them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from math import inf

from msgspec import Struct

from hawb.rules.consumer_timeouts import SETTING as CONSUMER_TIMEOUT
from hawb.rules.delayed_retry import DelayedRetry, delayed_retry
from hawb.rules.limits import DROP_HEAD, REJECT_PUBLISH
from hawb.rules.locators import CLIENT_LOCAL, LEADER_LOCATORS
from hawb.rules.profiles import Profile
from hawb.rules.queue_arguments import (
    CHECKED_3_8,
    CHECKS,
    SENT_ANYWAY_4_0,
    TIMEOUTS_4_3,
    Check,
    amqp_type,
    first_difference,
    invalid,
)
from hawb.rules.quorum import ALL_MEMBERS
from hawb.rules.quorum_profiles import QUORUM_PROFILES, QuorumProfile, Resolve

AT_MOST_ONCE, AT_LEAST_ONCE = "at-most-once", "at-least-once"

LOCATORS_3_10 = tuple(name for name in LEADER_LOCATORS if name != "min-masters")


class QuorumSettings(Struct, frozen=True):
    """What a quorum queue keeps to, None where there is no limit. Lengths count ready messages, bytes their bodies and,
    of each, `properties_bytes` beside.

    `group_size` is how many members are wanted, ALL_MEMBERS for one on every node. `leader_locator` is CLIENT_LOCAL or
    MIN_MASTERS, which with MANY_QUEUES queues chooses at random. `consumer_disconnected_timeout_ms` is None where what
    consumers out of reach hold is returned at once, `consumer_timeout_ms` where the configuration says how
    long they may take to answer, and `delayed_retry` where what is given back is ready at once.
    """

    group_size: int
    max_length: int | None
    max_length_bytes: int | None
    overflow: str
    max_in_memory_length: int | None
    max_in_memory_bytes: int | None
    message_ttl_ms: int | None
    expires_ms: int | None
    delivery_limit: float | None
    dead_letter_exchange: str | None
    dead_letter_routing_key: str | None
    dead_letter_strategy: str
    leader_locator: int
    consumer_disconnected_timeout_ms: int | None = None
    consumer_timeout_ms: int | None = None
    delayed_retry: DelayedRetry | None = None
    properties_bytes: int = 0


def refusal(
    arguments: Mapping[str, object], described: str, profile: Profile, *,
    durable: bool = True, exclusive: bool = False, auto_delete: bool = False,
) -> str | None:  # fmt: skip
    """The text of the 406 with which RabbitMQ refuses to declare a quorum queue; None if it does not. `described` is
    the queue as its texts name it."""
    terse, known = profile.version == "3.8", QUORUM_PROFILES[profile.version]
    error = invalid(arguments, described, CHECKS_OF_VERSION[profile.version], terse)
    if error is not None:
        return error
    for key in known.refused if terse else arguments:
        if key in known.refused and key in arguments:
            return f"invalid arg '{key}' for {described}{known.refused_as}"
    properties = {"auto-delete": auto_delete, "exclusive-owner": exclusive, "non-durable": not durable}
    return next((f"invalid property '{name}' for {described}" for name, given in properties.items() if given), None)


def not_formed(described: str, node: str, leader: str, profile: Profile) -> str:
    """The text of the 541 for a group whose members do not start in sufficient number to elect a leader (`ra`
    `start_cluster`); the queue then does not exist. Nodes are named as RabbitMQ names them."""
    if profile.version == "3.8":
        return f"Cannot declare a queue '{described}' on node '{node}': cluster_not_formed"
    return f"Cannot declare quorum {described} on node '{node}' with leader on node '{leader}': cluster_not_formed"


def inequivalent(
    given: Mapping[str, object], current: Mapping[str, object], profile: Profile
) -> tuple[str, str, str] | None:
    """The first argument of a quorum queue that differs when it is declared again, as
    `queue_arguments.first_difference` gives it."""
    given = (SENT_ANYWAY_4_0 if profile.leader_locator else {}) | given
    return first_difference(given, current, QUORUM_PROFILES[profile.version].compared, profile)


def ignored_arguments(arguments: Mapping[str, object], profile: Profile) -> list[str]:
    """Which of a queue's arguments, all accepted, change nothing, in their order."""
    known = {*_settings(profile), *([CONSUMER_TIMEOUT] if profile.queues_set_consumer_timeout else [])}
    return [key for key in arguments if key not in WITHOUT_POLICY and key.removeprefix("x-") not in known]


def _settings(profile: Profile) -> dict[str, Resolve]:
    return dict(QUORUM_PROFILES[profile.version].settings)


def quorum_settings(
    definition: Mapping[str, object], arguments: Mapping[str, object], profile: Profile, quorum_cluster_size: int
) -> QuorumSettings:
    """What a quorum queue keeps to under the effective definition of its policies and with arguments that were
    accepted. `quorum_cluster_size` is the configured one, which 3.8.9 does not read: it looks for a key that does not
    exist, and Erlang orders every number below the `undefined` that it finds."""
    known = QUORUM_PROFILES[profile.version]
    read = {key: _value(key, resolve, definition, arguments) for key, resolve in known.settings}
    overflow = read.get("overflow") if read.get("overflow") == REJECT_PUBLISH else DROP_HEAD
    exchange = read["dead-letter-exchange"]
    default_size = ALL_MEMBERS if profile.quorum_cluster_size is None else quorum_cluster_size
    return QuorumSettings(
        group_size=arguments.get("x-quorum-initial-group-size", default_size),
        max_length=read["max-length"],
        max_length_bytes=read["max-length-bytes"],
        overflow=overflow,
        max_in_memory_length=read.get("max-in-memory-length"),
        max_in_memory_bytes=read.get("max-in-memory-bytes"),
        message_ttl_ms=read.get("message-ttl"),
        expires_ms=read.get("expires"),
        delivery_limit=_delivery_limit(read["delivery-limit"], known),
        dead_letter_exchange=exchange,
        dead_letter_routing_key=None if exchange is None else read["dead-letter-routing-key"],
        dead_letter_strategy=_strategy(read.get("dead-letter-strategy"), exchange, overflow),
        leader_locator=LEADER_LOCATORS.get(read.get("queue-leader-locator"), CLIENT_LOCAL),
        consumer_disconnected_timeout_ms=_or_else(
            read.get("consumer-disconnected-timeout"), known.consumer_disconnected_timeout_ms
        ),
        consumer_timeout_ms=read.get("consumer-timeout"),
        delayed_retry=delayed_retry(*(read.get(f"delayed-retry-{key}") for key in ("type", "min", "max"))),
        properties_bytes=known.properties_bytes,
    )


def _value(
    key: str, resolve: Resolve, definition: Mapping[str, object], arguments: Mapping[str, object]
) -> object | None:
    given = [source[name] for source, name in ((definition, key), (arguments, f"x-{key}")) if name in source]
    if key == "delivery-limit":
        given = [limit if type(limit) in (int, float) else inf for limit in given]
    return resolve.decide(*given) if len(given) == 2 else next(iter(given), None)


def _or_else(given: int | None, default: int | None) -> int | None:
    return default if given is None else given


def _delivery_limit(limit: float | None, known: QuorumProfile) -> float | None:
    """The delivery limit that counts. Erlang orders what is not a number above every number, so that nothing reaches
    it; a number below 0 means no limit in 4.0, and elsewhere ends a message's life with its first return."""
    if limit is None:
        return known.delivery_limit
    none_below_0 = known.delivery_limit is not None
    return None if none_below_0 and limit < 0 else limit


def _strategy(asked: str | None, exchange: str | None, overflow: str) -> str:
    """At least once takes an exchange and reject-publish; otherwise RabbitMQ warns and falls back."""
    possible = exchange is not None and overflow == REJECT_PUBLISH
    return AT_LEAST_ONCE if asked == AT_LEAST_ONCE and possible else AT_MOST_ONCE


def _one_of(accepted: Collection[str], error: str) -> Check:
    def check(arguments: Mapping[str, object], key: str, _terse: bool) -> str | None:
        kind = amqp_type(arguments[key])
        return f"{{unacceptable_type,{kind}}}" if kind != "longstr" else None if arguments[key] in accepted else error

    return check


WITHOUT_POLICY = ("x-queue-type", "x-single-active-consumer", "x-quorum-initial-group-size")
"""Arguments with an effect for which there is no policy setting."""

_CHECKS_3_10: dict[str, Check] = {
    **{
        key: CHECKS[key]
        for key in ("x-expires", "x-message-ttl", "x-dead-letter-exchange", "x-dead-letter-routing-key")
    },
    "x-dead-letter-strategy": _one_of((AT_MOST_ONCE, AT_LEAST_ONCE), "invalid_dlx_strategy"),
    **{key: CHECKS[key] for key in ("x-max-length", "x-max-length-bytes", "x-max-in-memory-length")},
    **{key: CHECKS[key] for key in ("x-max-in-memory-bytes", "x-overflow", "x-single-active-consumer")},
    "x-quorum-initial-group-size": CHECKS["x-quorum-initial-group-size"],
    "x-queue-leader-locator": _one_of(LOCATORS_3_10, "invalid_queue_locator_arg"),
}

_CHECKS_4_0 = _CHECKS_3_10 | {"x-queue-leader-locator": _one_of(LEADER_LOCATORS, "invalid_queue_locator_arg")}
_CHECKS_4_3: dict[str, Check] = {}
for _key, _check in _CHECKS_4_0.items():
    _CHECKS_4_3[_key] = _check
    if _key == "x-single-active-consumer":
        _CHECKS_4_3 |= dict.fromkeys(reversed(TIMEOUTS_4_3), CHECKS["x-max-length"])

CHECKS_OF_VERSION: dict[str, dict[str, Check]] = {
    "3.8": {key: CHECKS[key] for key in CHECKED_3_8},
    "3.10": _CHECKS_3_10,
    "3.13": _CHECKS_3_10,
    "4.0": _CHECKS_4_0,
    "4.3": _CHECKS_4_3,
}
"""The checks of a quorum queue's arguments, in RabbitMQ's order. 3.8 makes those of a classic queue; from 3.10 on what
the type does not take is not looked at here. No release looks at x-delivery-limit."""
