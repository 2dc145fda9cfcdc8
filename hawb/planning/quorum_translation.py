"""Translate a classic queue's settings to those of a quorum queue of a release, with reasons.

Each of `ROWS` says what replaces something that a quorum queue does not support; the feature matrix says where
RabbitMQ's code forbids it (`hawb.rules.feature_matrix`), so without a matrix ({}) reasons name no such source.
Arguments (`x-…`) and policy settings use the same rows. No text holds a value from the file, as an argument may hold
anything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Literal

from msgspec import Struct

from hawb.planning.inventory import Queue
from hawb.rules.arguments_read import reads
from hawb.rules.feature_matrix import Feature
from hawb.rules.profiles import HA_SETTINGS, Profile
from hawb.rules.queue_types import QUORUM
from hawb.rules.quorum_declaration import refusal

ANY = object()
SINCE_4_0 = ("4.0", "4.3")
SINCE_3_10 = ("3.10", "3.13", *SINCE_4_0)
BEFORE_4_0 = ("3.8", "3.10", "3.13")
EVER = (*BEFORE_4_0, *SINCE_4_0)

Weight = Literal["blocks", "changes", "note"]


class Reason(Struct, frozen=True, gc=False):
    """A reason for the verdict on a queue's move: its weight, its text, and its source."""

    weight: Weight
    what: str
    source: str


class Row(Struct, frozen=True):
    """A setting (without x-), or one value of it, that quorum queues of some `versions` do not support.

    `into` is its replacement by version; in a version that is not listed there is none, and the queue cannot be moved.
    `feature` is its row in the matrix, None for a setting that has no row: then `source` says where it is documented.
    """

    key: str
    description: str
    versions: tuple[str, ...]
    into: Mapping[str, Mapping[str, object]] = {}
    value: object = ANY
    feature: str | None = None
    source: str = ""

    def meets(self, value: object, version: str) -> bool:
        """Return True if the row is about this value of its setting in a version."""
        if version not in self.versions:
            return False
        if self.value is ANY:
            return True
        return self.value(value) if callable(self.value) else value == self.value


def _in_all(versions: tuple[str, ...], **into: object) -> dict[str, dict[str, object]]:
    return {version: {key.replace("_", "-"): value for key, value in into.items()} for version in versions}


def _is_negative(value: object) -> bool:
    return type(value) in (int, float) and value < 0


def is_balanced(value: object) -> bool:
    """Return True if a queue-master-locator spreads masters over the nodes."""
    return value in ("min-masters", "random")


LOCATOR_SOURCE = "rabbit_quorum_queue:capabilities; rabbit_queue_location:leader_locator"
CAPABILITIES = "rabbit_quorum_queue:capabilities"

ROWS = (
    Row("message-ttl", "messages expire, which quorum queues support from 3.10 on", ("3.8",), feature="message-ttl"),
    Row("expires", "the queue expires, which quorum queues support from 3.10 on", ("3.8",), feature="queue-ttl"),
    Row("max-priority", "left out: quorum queues always have two priorities, up to 4 and above 4", ("4.0",),
        _in_all(("4.0",)), feature="message-priority"),
    Row("max-priority", "left out: quorum queues always have 32 priorities, 0 to 31, and deliver the highest first",
        ("4.3",), _in_all(("4.3",)), feature="message-priority"),
    Row("max-priority", "messages have priorities, which quorum queues support from 4.0 on", BEFORE_4_0,
        feature="message-priority"),
    Row("overflow", "publishers get nacks (reject-publish), which quorum queues support from 3.10 on", ("3.8",),
        value="reject-publish", feature="reject-publish"),
    Row("overflow", "replaced by reject-publish, because quorum queues would use drop-head; refused messages are"
                    " not dead-lettered",
        EVER, _in_all(SINCE_3_10, overflow="reject-publish"), value="reject-publish-dlx", feature="reject-publish-dlx"),
    Row("overflow", "left out, because this is the default", ("3.8",), {"3.8": {}}, value="drop-head",
        source="rabbit_quorum_queue:check_invalid_arguments"),
    Row("queue-mode", "replaced by max-in-memory-length 0, which keeps bodies out of memory", ("3.8",),
        {"3.8": {"max-in-memory-length": 0}}, value="lazy", feature="lazy"),
    Row("queue-mode", "left out: quorum queues always keep bodies on disk only", SINCE_3_10, _in_all(SINCE_3_10),
        value="lazy", feature="lazy"),
    Row("queue-mode", "left out: quorum queues have no modes", EVER, _in_all(EVER), source=CAPABILITIES),
    Row("queue-version", "left out: quorum queues have no such versions", EVER, _in_all(EVER), source=CAPABILITIES),
    Row("max-in-memory-length", "left out: no body stays in memory", SINCE_3_10, _in_all(SINCE_3_10),
        feature="in-memory-limit"),
    Row("max-in-memory-bytes", "left out: no body stays in memory", SINCE_3_10, _in_all(SINCE_3_10),
        feature="in-memory-limit"),
    Row("dead-letter-strategy", "left out: 3.8 dead-letters at most once", ("3.8",), {"3.8": {}},
        feature="dead-letters-at-least-once"),
    Row("queue-leader-locator", "left out: the declaring node leads", ("3.8",), {"3.8": {}}, feature="leader-locator"),
    Row("queue-master-locator", "replaced by queue-leader-locator balanced", SINCE_3_10,
        _in_all(SINCE_3_10, queue_leader_locator="balanced"), value=is_balanced, source=LOCATOR_SOURCE),
    Row("queue-master-locator", "left out: the declaring node leads", EVER, _in_all(EVER), source=LOCATOR_SOURCE),
    Row("delivery-limit", "left out: a negative limit means no limit from 4.0 on, and before 4.0 the first return"
                          " drops the message",
        BEFORE_4_0, _in_all(BEFORE_4_0), value=_is_negative, source="rabbit_fifo:return_one"),
)  # fmt: skip
"""Of several rows about one setting the first counts. Where a row has a feature, the matrix says no or partly of its
versions; a test holds the two together."""

ROWS_OF = {key: [row for row in ROWS if row.key == key] for key in dict.fromkeys(row.key for row in ROWS)}

PROPERTIES = (
    ("durable", False, "non-durable", "is not durable: quorum queues are always durable"),
    ("exclusive", True, "exclusive", "is exclusive: it is deleted with its connection"),
    ("auto_delete", True, "auto-delete", "is auto-delete: it is deleted with its last consumer"),
)
"""Properties that a quorum queue cannot have: the fact, the value that blocks, its row in the matrix, and words."""

SERVER_NAMED = "amq.gen-"
"""Prefix of the name that RabbitMQ generates for a queue declared without one (`rabbit_channel`, queue.declare)."""

MIRRORING_SOURCE = "rabbit_quorum_queue:capabilities; 4.0 rabbit_policies, without them"
UNREAD_SOURCE = "rabbit_quorum_queue:capabilities, queue_arguments"
DEAD_LETTER_EXCHANGE = "x-dead-letter-exchange"
"""RabbitMQ refuses a dead-letter routing key without it, so every argument is tried with it."""


class Translated(Struct):
    """Settings for a quorum queue, and the reasons for each change to them."""

    settings: dict[str, object]
    reasons: list[Reason]

    @property
    def blocked(self) -> bool:
        """Return True if a setting has no replacement."""
        return any(reason.weight == "blocks" for reason in self.reasons)


class Becoming(Struct, frozen=True):
    """The arguments and the policy settings that a queue gets as a quorum queue, and all reasons about its move."""

    arguments: Translated
    definition: Translated
    reasons: list[Reason]


def becoming(
    queue: Queue, in_force: Mapping[str, object], matrix: Mapping[str, Feature], profile: Profile
) -> Becoming:
    """Return the result for a queue with the settings that apply to it; notes about policy settings are left out."""
    given = queue.facts.arguments or {}
    of_arguments, of_policy = arguments(given, matrix, profile), definition(in_force, matrix, profile)
    reasons = [*properties(queue, matrix, profile.version), *of_arguments.reasons]
    reasons += [one for one in of_policy.reasons if one.weight != "note"]
    if queue.type == "classic":
        reasons += _other_winner(given, in_force, profile)
    return Becoming(of_arguments, of_policy, reasons)


def _other_winner(given: Mapping[str, object], policy: Mapping[str, object], profile: Profile) -> Iterator[Reason]:
    """Yield a setting for which a classic queue prefers its argument and a quorum queue the policy."""
    both = "x-overflow" in given and "overflow" in policy
    if profile.version != "3.8" and both and given["x-overflow"] != policy["overflow"]:
        yield Reason("changes", "overflow: the policy's value applies from now on, not the argument's",
                     "rabbit_quorum_queue:overflow; rabbit_amqqueue_process:init_overflow")  # fmt: skip


def properties(queue: Queue, matrix: Mapping[str, Feature], version: str) -> Iterator[Reason]:
    """Yield what of a queue's properties and name a quorum queue cannot have."""
    for fact, blocks, feature, words in PROPERTIES:
        if getattr(queue.facts, fact) is blocks:
            yield Reason("blocks", words, _cell_source(matrix, feature, version))
    if queue.name.startswith(SERVER_NAMED):
        what = "RabbitMQ generated its name, and RabbitMQ does not generate names for quorum queues"
        yield Reason("blocks", what, f"{CAPABILITIES}, server_named")


def arguments(given: Mapping[str, object], matrix: Mapping[str, Feature], profile: Profile) -> Translated:
    """Return a queue's arguments, including its type, as a quorum queue of the release accepts them."""
    settings = {key.removeprefix("x-"): value for key, value in given.items() if key != "x-queue-type"}
    found = _translated(settings, "argument x-{}", matrix, profile, _known_arguments(given, profile))
    kept: dict[str, object] = {"x-queue-type": "quorum"}
    kept |= {f"x-{key}": value for key, value in found.settings.items()}
    return Translated(kept, found.reasons)


def definition(given: Mapping[str, object], matrix: Mapping[str, Feature], profile: Profile) -> Translated:
    """Return a policy's settings as a policy for quorum queues of the release; may be empty."""
    return _translated(given, "policy setting {}", matrix, profile, _known_settings(profile))


def _translated(
    given: Mapping[str, object], called: str, matrix: Mapping[str, Feature], profile: Profile,
    known: Callable[[str, object], Reason | None],
) -> Translated:  # fmt: skip
    kept, reasons = {}, []
    for key, value in given.items():
        name = called.format(key)
        row = next((row for row in ROWS_OF.get(key, ()) if row.meets(value, profile.version)), None)
        if row is not None:
            source = row.source or _cell_source(matrix, row.feature, profile.version)
            into = row.into.get(profile.version)
            reasons.append(Reason("blocks" if into is None else "changes", f"{name}: {row.description}", source))
            kept |= {new: worth for new, worth in (into or {}).items() if new == key or new not in given}
        elif (reason := known(key, value)) is not None:
            reasons.append(Reason(reason.weight, f"{name}: {reason.what}", reason.source))
        else:
            kept[key] = value
    return Translated(kept, reasons)


def _cell_source(matrix: Mapping[str, Feature], feature: str, version: str) -> str:
    return matrix[feature].cell("quorum", version).source if matrix else ""


def _known_arguments(given: Mapping[str, object], profile: Profile) -> Callable[[str, object], Reason | None]:
    """Return the check that leaves out arguments that no quorum queue reads, and values that the release refuses."""
    key = DEAD_LETTER_EXCHANGE
    exchange = {key: given[key]} if type(given.get(key)) is str else {}

    def check(key: str, value: object) -> Reason | None:
        if not reads(QUORUM, f"x-{key}"):
            return Reason("changes", "left out: quorum queues do not support it", UNREAD_SOURCE)
        if refusal(exchange | {f"x-{key}": value}, "", profile):
            return Reason("changes", f"left out, because RabbitMQ {profile.release} refuses its value",
                          "rabbit_amqqueue:check_declare_arguments")  # fmt: skip
        return None

    return check


def _known_settings(profile: Profile) -> Callable[[str, object], Reason | None]:
    unsupported = profile.unsupported_by("quorum")

    def check(key: str, _value: object) -> Reason | None:
        if key in HA_SETTINGS:
            return Reason("note", "left out: members replace mirrors", MIRRORING_SOURCE)
        if key not in profile.policy_settings | profile.operator_policy_settings:
            return Reason("changes", f"left out: RabbitMQ {profile.release} does not know it", "rabbit_policies")
        if key in unsupported:
            return Reason("changes", "left out: RabbitMQ would ignore the policy for quorum queues", CAPABILITIES)
        return None

    return check
