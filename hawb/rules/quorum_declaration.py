"""The declaration of a quorum queue: RabbitMQ's refusals, with its error texts, and the settings that result.

Source: `rabbit_amqqueue` (`check_declare_arguments`, `declare_args`, `assert_args_equivalence`), `rabbit_quorum_queue`
(`declare`, `check_invalid_arguments`, `ra_machine_config`, `dead_letter_handler`, `overflow`), `rabbit_queue_type_util`
(`args_policy_lookup`, `run_checks`), `rabbit_queue_location:leader_locator`.

An unknown argument is kept and changes nothing, so `x-quorum-queue-size` and `x-quorum-cluster-size`, which a guide
names beside `x-quorum-initial-group-size`, do not change the size of the group.
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
    """The settings of a quorum queue, None where there is no limit.

    Lengths count ready messages, bytes their bodies and, for each, `properties_bytes` more. `group_size` is the number
    of members wanted, ALL_MEMBERS for one on every node. `leader_locator` is CLIENT_LOCAL or MIN_MASTERS, which with
    MANY_QUEUES queues chooses at random. `consumer_disconnected_timeout_ms` is None if what consumers out of reach hold
    is requeued at once, `consumer_timeout_ms` if the configuration gives the time within which they have to answer, and
    `delayed_retry` if returned messages are ready at once.
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
    """Return the text of the 406 with which RabbitMQ refuses to declare a quorum queue; None if it accepts.

    `described` is the queue as its texts name it.
    """
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
    """Return the text of the 541 for a group of which too few members start to elect a leader (`ra` `start_cluster`).

    The queue then does not exist. Nodes are named as RabbitMQ names them.
    """
    if profile.version == "3.8":
        return f"Cannot declare a queue '{described}' on node '{node}': cluster_not_formed"
    return f"Cannot declare quorum {described} on node '{node}' with leader on node '{leader}': cluster_not_formed"


def inequivalent(
    given: Mapping[str, object], current: Mapping[str, object], profile: Profile
) -> tuple[str, str, str] | None:
    """Return the first argument of a quorum queue that differs in a new declaration.

    Its form is that of `queue_arguments.first_difference`.
    """
    given = (SENT_ANYWAY_4_0 if profile.leader_locator else {}) | given
    return first_difference(given, current, QUORUM_PROFILES[profile.version].compared, profile)


def ignored_arguments(arguments: Mapping[str, object], profile: Profile) -> list[str]:
    """Return those of a queue's arguments, all of them valid, that change nothing, in their order."""
    known = {*_settings(profile), *([CONSUMER_TIMEOUT] if profile.queues_set_consumer_timeout else [])}
    return [key for key in arguments if key not in WITHOUT_POLICY and key.removeprefix("x-") not in known]


def _settings(profile: Profile) -> dict[str, Resolve]:
    return dict(QUORUM_PROFILES[profile.version].settings)


def quorum_settings(
    definition: Mapping[str, object], arguments: Mapping[str, object], profile: Profile, quorum_cluster_size: int
) -> QuorumSettings:
    """Return the settings of a quorum queue under the effective definition of its policies, and with valid arguments.

    `quorum_cluster_size` is the configured one, which 3.8.9 does not read: it looks for a key that does not exist, and
    Erlang orders every number below the `undefined` that it finds.
    """
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
    """Return the delivery limit that counts.

    Erlang orders a value that is no number above every number, so that no message reaches such a limit. A number below
    0 means no limit in 4.0; elsewhere it gives a message up with its first return.
    """
    if limit is None:
        return known.delivery_limit
    none_below_0 = known.delivery_limit is not None
    return None if none_below_0 and limit < 0 else limit


def _strategy(asked: str | None, exchange: str | None, overflow: str) -> str:
    """Return the dead letter strategy in force.

    At least once needs a dead letter exchange and overflow reject-publish; without these, RabbitMQ uses at most once.
    """
    possible = exchange is not None and overflow == REJECT_PUBLISH
    return AT_LEAST_ONCE if asked == AT_LEAST_ONCE and possible else AT_MOST_ONCE


def _one_of(accepted: Collection[str], error: str) -> Check:
    def check(arguments: Mapping[str, object], key: str, _terse: bool) -> str | None:
        kind = amqp_type(arguments[key])
        return f"{{unacceptable_type,{kind}}}" if kind != "longstr" else None if arguments[key] in accepted else error

    return check


WITHOUT_POLICY = ("x-queue-type", "x-single-active-consumer", "x-quorum-initial-group-size")
"""Arguments that have an effect and no policy setting."""

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
"""The checks of a quorum queue's arguments, in RabbitMQ's order. 3.8 makes those of a classic queue; from 3.10 on an
argument that the type does not take is not checked here. No release checks x-delivery-limit."""
