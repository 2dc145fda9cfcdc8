"""Streams: RabbitMQ's checks of a declaration, and how its releases differ in what they do with streams.

A stream is a log that is replicated by osiris: its leader writes, replicas read from it, and an entry is confirmed once
a majority has it. Only retention removes entries. hawb has rules only for what a stream shares with a quorum queue:
replicas, their leader, and publishing. 3.8.9 has no streams.

Source: `rabbit_stream_queue` (`capabilities`, `declare`, `create_stream`, `delete_replica`, `transfer_leadership`,
`list_with_minimum_quorum`), `rabbit_amqqueue` (`check_declare_arguments`, `declare_args`, `check_max_age`,
`filter_per_type`), `rabbit_stream_coordinator:filter_command`, forget_cluster_node_command.ex, `rabbitmq-streams`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec import Struct

from hawb.rules.limits import DROP_HEAD
from hawb.rules.locators import CLIENT_LOCAL, LEADER_LOCATORS
from hawb.rules.policy_validation import MAX_STREAM_SEGMENT_BYTES
from hawb.rules.profiles import Profile
from hawb.rules.queue_arguments import (
    CHECKED,
    CHECKS,
    OF_OTHER_TYPES,
    OF_OTHER_TYPES_4_3,
    SENT_ANYWAY_4_0,
    Check,
    amqp_type,
    first_difference,
    invalid,
)
from hawb.rules.quorum import ALL_MEMBERS
from hawb.rules.quorum_declaration import AT_MOST_ONCE, CHECKS_OF_VERSION, QuorumSettings

SOFT_LIMIT = 256
"""The number of messages that a channel sends before it waits for an answer (stream_messages_soft_limit)."""

MAX_AGE = re.compile(r"(0*[1-9][0-9]*)([YMDhms])")
MS_OF_UNIT = {"s": 1_000, "m": 60_000, "h": 3_600_000, "D": 86_400_000, "M": 2_592_000_000, "Y": 31_536_000_000}
"""The form of x-max-age, and what its units are (`rabbit_amqqueue:unit_value_in_ms`)."""
MOST_DIGITS = 1_000
"""Longer numbers are compared as they are written."""
SIMULATED = ("x-queue-type", "x-initial-cluster-size", "x-queue-leader-locator")
"""The arguments that hawb simulates. The others are about retention, and how readers find messages."""


class StreamProfile(Struct, frozen=True):
    """One release's facts.

    `moves_leaders` is True if a stream's leader can be moved, by hand or by rebalancing, `deletes_where_down` if a
    replica can be deleted while its node is down, `forgets` if a node that is forgotten loses its replicas, `grows` if
    all streams can be grown and shrunk (`rabbitmq-streams grow`), `checked` if `check_if_node_is_quorum_critical`
    counts streams and their coordinator, and `takes_dead_letters` if dead letters are written to a stream (`deliver`,
    stateless).
    """

    moves_leaders: bool = True
    deletes_where_down: bool = True
    forgets: bool = True
    grows: bool = False
    checked: bool = True
    takes_dead_letters: bool = True


STREAM_PROFILES: dict[str, StreamProfile] = {
    "3.10": StreamProfile(
        moves_leaders=False, deletes_where_down=False, forgets=False, checked=False, takes_dead_letters=False
    ),
    "3.13": StreamProfile(),
    "4.0": StreamProfile(),
    "4.3": StreamProfile(grows=True),
}
"""The profiles by the version that a scenario names. 3.8 has none, since it has no streams."""


def refusal(
    arguments: Mapping[str, object], described: str, profile: Profile, *,
    durable: bool = True, exclusive: bool = False, auto_delete: bool = False,
) -> str | None:  # fmt: skip
    """Return the text of the 406 with which RabbitMQ refuses to declare a stream; None if it accepts.

    `described` is the queue as its texts name it.
    """
    error = invalid(arguments, described, _checks(profile), terse=False)
    if error is not None:
        return error
    known = {*CHECKED, "x-queue-master-locator", *OF_OTHER_TYPES}
    known |= OF_OTHER_TYPES_4_3 if profile.version == "4.3" else set()
    foreign = next((key for key in arguments if key in known and key not in _own(profile)), None)
    if foreign is not None:
        return f"invalid arg '{foreign}' for {described} of queue type rabbit_stream_queue"
    properties = {"auto-delete": auto_delete, "exclusive-owner": exclusive, "non-durable": not durable}
    wrong = next((name for name, given in properties.items() if given), None)
    return _sizes(arguments, profile) if wrong is None else f"invalid property '{wrong}' for {described}"


def _sizes(arguments: Mapping[str, object], profile: Profile) -> str | None:
    """Return the error of the checks that `rabbit_stream_queue:declare` makes itself."""
    if arguments.get("x-stream-max-segment-size-bytes", 0) > MAX_STREAM_SEGMENT_BYTES:
        return "Exceeded max value for x-stream-max-segment-size-bytes"
    size_bytes = arguments.get("x-stream-filter-size-bytes", 16)
    if profile.version == "3.10" or (type(size_bytes) is int and 16 <= size_bytes <= 255):
        return None
    gap = " " if profile.version == "4.3" else "  "
    return f"Invalid value for{gap}x-stream-filter-size-bytes"


def inequivalent(
    given: Mapping[str, object], current: Mapping[str, object], profile: Profile
) -> tuple[str, str, str] | None:
    """Return the first argument of a stream that differs in a new declaration.

    Its form is that of `queue_arguments.first_difference`. 4.3.6 compares and names a valid x-max-age in milliseconds
    (`rabbit_amqqueue:normalize_max_age`).
    """
    given = (SENT_ANYWAY_4_0 if profile.leader_locator else {}) | given
    if profile.version == "4.3":
        given, current = _with_age_in_ms(given), _with_age_in_ms(current)
    return first_difference(given, current, _own(profile), profile)


def _with_age_in_ms(arguments: Mapping[str, object]) -> Mapping[str, object]:
    age = arguments.get("x-max-age")
    if not isinstance(age, str) or len(age) > MOST_DIGITS or not (found := MAX_AGE.fullmatch(age)):
        return arguments
    return {**arguments, "x-max-age": str(int(found[1]) * MS_OF_UNIT[found[2]])}


def ignored_arguments(arguments: Mapping[str, object], profile: Profile) -> list[str]:
    """Return those of a stream's arguments, all of them valid, that RabbitMQ ignores, in their order."""
    return [key for key in arguments if key not in (*_own(profile), "x-stream-filter-size-bytes")]


def left_out(arguments: Mapping[str, object], profile: Profile) -> list[str]:
    """Return those of a stream's arguments that have an effect in RabbitMQ and none in hawb, in their order."""
    ignored = ignored_arguments(arguments, profile)
    return [key for key in arguments if key not in SIMULATED and key not in ignored]


def settings(definition: Mapping[str, object], arguments: Mapping[str, object]) -> QuorumSettings:
    """Return the settings of a stream under the effective definition of its policies, and with valid arguments.

    The definition comes first. Without a size there is a replica on every node.
    """
    size = definition.get("initial-cluster-size", arguments.get("x-initial-cluster-size", ALL_MEMBERS))
    locator = definition.get("queue-leader-locator", arguments.get("x-queue-leader-locator"))
    return QuorumSettings(
        group_size=size, max_length=None, max_length_bytes=None, overflow=DROP_HEAD, max_in_memory_length=None,
        max_in_memory_bytes=None, message_ttl_ms=None, expires_ms=None, delivery_limit=None,
        dead_letter_exchange=None, dead_letter_routing_key=None, dead_letter_strategy=AT_MOST_ONCE,
        leader_locator=LEADER_LOCATORS.get(locator, CLIENT_LOCAL),
    )  # fmt: skip


def not_formed(described: str, node: str, profile: Profile) -> str:
    """Return the text of the 541 for a stream that is declared while its coordinator has no majority."""
    queue = f"a queue '{described}'" if profile.version == "3.10" else described
    return f"Cannot declare {queue} on node '{node}': {{error,coordinator_unavailable}}"


def not_deleted(described: str, node: str, profile: Profile) -> str:
    """Return the text of the 541 for a stream that is deleted while its coordinator has no majority."""
    queue = f"queue '{described}'" if profile.version == "3.10" else described
    return f"Cannot delete {queue} on node '{node}': {{error,coordinator_unavailable}} "


def _max_age(arguments: Mapping[str, object], key: str, _terse: bool) -> str | None:
    value = arguments[key]
    if not isinstance(value, str):
        return f"{{unacceptable_type,{amqp_type(value)}}}"
    return None if MAX_AGE.fullmatch(value) else "invalid_max_age"


def _own(profile: Profile) -> tuple[str, ...]:
    """Return the arguments that a release's streams accept, in the order in which they are compared."""
    filters = ("x-stream-filter-size-bytes",) if profile.version == "4.3" else ()
    return (
        "x-max-length-bytes", "x-queue-type", "x-max-age", "x-stream-max-segment-size-bytes", *filters,
        "x-initial-cluster-size", "x-queue-leader-locator",
    )  # fmt: skip


def _checks(profile: Profile) -> dict[str, Check]:
    """Return the checks of a stream's arguments, in RabbitMQ's order."""
    filters = {"x-stream-filter-size-bytes": CHECKS["x-max-length"]} if profile.version == "4.3" else {}
    return {
        "x-max-length-bytes": CHECKS["x-max-length-bytes"],
        "x-max-age": _max_age,
        "x-stream-max-segment-size-bytes": CHECKS["x-max-length"],
        **filters,
        "x-initial-cluster-size": CHECKS["x-quorum-initial-group-size"],
        "x-queue-leader-locator": CHECKS_OF_VERSION[profile.version]["x-queue-leader-locator"],
    }
