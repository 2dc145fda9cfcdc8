"""Differences of quorum queues between the releases that a scenario can name, as one table.

It stands beside the one of `hawb.rules.profiles`.

Source: each release's `rabbit_quorum_queue` (`ra_machine_config`, `gather_policy_config`, `dlx_mfa`,
`dead_letter_handler`, `check_invalid_arguments`, `capabilities`), the `capabilities` of the other types, `rabbit_fifo`.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

from msgspec import Struct
from msgspec.structs import replace


class Resolve(Enum):
    """The value that counts where a policy and an argument both give one."""

    SMALLER = "smaller"
    STRICTER = "stricter"
    """The smaller, but a negative one means no limit, and then the other counts."""
    LEAST_TERM = "least term"
    """The smaller in Erlang's order, in which numbers come before all other values: the argument may be any value."""
    POLICY = "policy"
    ARGUMENT = "argument"

    @property
    def decide(self) -> Callable:
        """Return the function that chooses between the policy's and the argument's value."""
        return _DECIDE[self]


_DECIDE: dict[Resolve, Callable] = {
    Resolve.SMALLER: min,
    Resolve.STRICTER: lambda policy, argument: (max if min(policy, argument) < 0 else min)(policy, argument),
    Resolve.LEAST_TERM: lambda policy, argument: min(policy, argument) if type(argument) in (int, float) else policy,
    Resolve.POLICY: lambda policy, _: policy,
    Resolve.ARGUMENT: lambda _, argument: argument,
}

Settings = tuple[tuple[str, Resolve], ...]
"""Settings of policies, which are also arguments with x- before them, each with the value that counts."""


class QuorumProfile(Struct, frozen=True):
    """One release's facts.

    `settings` are read, from policy or argument, and no others are; `compared` are the arguments that must be the same
    in a new declaration, in the order in which they are compared. `refused` are arguments that a quorum queue does not
    accept, in 3.8 in the order of its checks, and `refused_as` is the end of the error text. `delivery_limit` is the
    default limit.

    `places_by_load` is True if members are placed on nodes with few members (`rabbit_queue_location`), not at random.
    `registers_enqueuers` is True if a channel's first publish registers the channel with the queue first
    (`rabbit_fifo_client:enqueue`, 3.8.10 and later), and `asks_leader_first` if the channel asks the last leader's node
    for its version before that, and rejects if that is down. `resends_at_soft_limit` is True if a channel with more
    messages pending than the soft limit looks for the leader after 10 s, to send them again
    (`rabbit_fifo_client:set_timer`, up to 4.1). `explains_consume_errors` is True if the refusal of a subscription
    gives the reason (`rabbit_quorum_queue:consume_error`, 4.1).

    `compares_policies` is True if leaders check at their ticks whether their queues apply the policy on record
    (`rabbit_quorum_queue:maybe_apply_policies`), `ticks_at_once` if a new leader's first tick comes at once (Ra 2.16.4,
    and so 4.1), and `overlooks_delivery_limit` if that check takes every delivery limit for none
    (`canonicalize_delivery_limit`, 4.3). `spares_laggards` is True if a leader refuses to hand over to a member that it
    has not sent all entries (Ra 3.1.8), `awaits_members` if add_member fails when the change is not in effect in time
    (4.1.0), `shrinks_by_force` if an operator can reduce a queue to one member (3.12), and `shrinks_as_forgetting` if
    queues lose their members on a node that is forgotten: 3.8.9 leaves them on record (rabbitmq-cli #454 is newer).
    `keeps_bodies` is True if members hold messages in memory, `requeues_at_tail` if a message that is returned without
    a delivery limit is appended again at the log's end: from 3.10 on, and no more in 4.3
    (`rabbit_fifo_client:send_command`).

    `properties_bytes` is how much of a message counts beside its body for limits in bytes: since 4.3 its properties as
    they are sent (`rabbit_fifo:maybe_enqueue`), of which there are always flags and mostly the delivery mode.
    `least_cut` is the fewest entries by which a log is cut (Ra's snapshot_interval). `snapshot_every` is how many
    messages, in 4.0 entries of the log, are written between places up to which the log may be cut; it grows with the
    queue up to `snapshot_every_at_most`. `consumer_disconnected_timeout_ms` is the default time for which a consumer
    whose node is out of reach keeps what it holds, None in releases that requeue that at once.
    """

    settings: Settings
    compared: tuple[str, ...]
    refused: tuple[str, ...]
    refused_as: str
    delivery_limit: int | None
    places_by_load: bool
    registers_enqueuers: bool
    asks_leader_first: bool
    compares_policies: bool
    keeps_bodies: bool
    requeues_at_tail: bool
    least_cut: int
    snapshot_every: int
    snapshot_every_at_most: int
    ticks_at_once: bool = False
    overlooks_delivery_limit: bool = False
    spares_laggards: bool = False
    awaits_members: bool = False
    shrinks_by_force: bool = False
    shrinks_as_forgetting: bool = True
    consumer_disconnected_timeout_ms: int | None = None
    properties_bytes: int = 0
    resends_at_soft_limit: bool = True
    explains_consume_errors: bool = False


_LENGTHS: Settings = (("max-length", Resolve.SMALLER), ("max-length-bytes", Resolve.SMALLER))
_DEAD_LETTERS: Settings = (
    ("dead-letter-exchange", Resolve.ARGUMENT),
    ("dead-letter-routing-key", Resolve.ARGUMENT),
)
_SINCE_3_10: Settings = (
    *_LENGTHS,
    *_DEAD_LETTERS,
    ("dead-letter-strategy", Resolve.ARGUMENT),
    ("overflow", Resolve.POLICY),
    ("message-ttl", Resolve.SMALLER),
    ("queue-leader-locator", Resolve.POLICY),
)

_COMPARED_3_8 = (
    "x-expires", "x-message-ttl", "x-dead-letter-exchange", "x-dead-letter-routing-key", "x-max-length",
    "x-max-length-bytes", "x-max-in-memory-length", "x-max-in-memory-bytes", "x-max-priority", "x-overflow",
    "x-queue-mode", "x-single-active-consumer", "x-queue-type", "x-quorum-initial-group-size",
)  # fmt: skip
_COMPARED_3_10 = (
    "x-dead-letter-exchange", "x-dead-letter-routing-key", "x-dead-letter-strategy", "x-expires", "x-max-length",
    "x-max-length-bytes", "x-max-in-memory-length", "x-max-in-memory-bytes", "x-overflow", "x-single-active-consumer",
    "x-queue-type", "x-quorum-initial-group-size", "x-delivery-limit", "x-message-ttl", "x-queue-leader-locator",
)  # fmt: skip

_COMPARED_4_3 = (
    *_COMPARED_3_10, "x-consumer-disconnected-timeout", "x-consumer-timeout",
    "x-delayed-retry-type", "x-delayed-retry-min", "x-delayed-retry-max",
)  # fmt: skip

_REFUSED_3_8 = ("x-expires", "x-message-ttl", "x-max-priority", "x-queue-mode", "x-overflow")
_REFUSED_3_10 = (
    "x-max-priority", "x-queue-mode", "x-queue-version", "x-queue-master-locator",
    "x-max-age", "x-stream-max-segment-size-bytes", "x-initial-cluster-size",
)  # fmt: skip

_PROFILE_3_10 = QuorumProfile(
    settings=(*_SINCE_3_10, ("delivery-limit", Resolve.SMALLER), ("expires", Resolve.POLICY)),
    compared=_COMPARED_3_10,
    refused=_REFUSED_3_10,
    refused_as=" of queue type rabbit_quorum_queue",
    delivery_limit=None,
    places_by_load=True,
    registers_enqueuers=True,
    asks_leader_first=True,
    compares_policies=False,
    keeps_bodies=False,
    requeues_at_tail=True,
    least_cut=8192,
    snapshot_every=2048,
    snapshot_every_at_most=3_200_000,
)

_PROFILE_3_13 = replace(_PROFILE_3_10, asks_leader_first=False, shrinks_by_force=True)

_PROFILE_4_0 = replace(
    _PROFILE_3_13,
    settings=(*_SINCE_3_10, ("delivery-limit", Resolve.STRICTER), ("expires", Resolve.SMALLER)),
    delivery_limit=20,
    compares_policies=True,
    snapshot_every=4096,
    snapshot_every_at_most=666_667,
)

_PROFILE_4_3 = replace(
    _PROFILE_4_0,
    settings=(
        *_PROFILE_4_0.settings,
        ("consumer-disconnected-timeout", Resolve.SMALLER),
        ("consumer-timeout", Resolve.SMALLER),
        ("delayed-retry-type", Resolve.POLICY),
        ("delayed-retry-min", Resolve.LEAST_TERM),
        ("delayed-retry-max", Resolve.LEAST_TERM),
    ),
    compared=_COMPARED_4_3,
    refused=(*_REFUSED_3_10, "x-stream-filter-size-bytes"),
    requeues_at_tail=False,
    ticks_at_once=True,
    overlooks_delivery_limit=True,
    spares_laggards=True,
    awaits_members=True,
    consumer_disconnected_timeout_ms=60_000,
    properties_bytes=3,
    resends_at_soft_limit=False,
    explains_consume_errors=True,
)

QUORUM_PROFILES: dict[str, QuorumProfile] = {
    "3.8": QuorumProfile(
        settings=(
            *_LENGTHS,
            *_DEAD_LETTERS,
            ("max-in-memory-length", Resolve.SMALLER),
            ("max-in-memory-bytes", Resolve.SMALLER),
            ("delivery-limit", Resolve.SMALLER),
        ),
        compared=_COMPARED_3_8,
        refused=_REFUSED_3_8,
        refused_as="",
        delivery_limit=None,
        places_by_load=False,
        registers_enqueuers=False,
        asks_leader_first=False,
        compares_policies=False,
        keeps_bodies=True,
        requeues_at_tail=False,
        shrinks_as_forgetting=False,
        least_cut=4096,
        snapshot_every=64_000,
        snapshot_every_at_most=3_200_000,
    ),
    "3.10": _PROFILE_3_10,
    "3.13": _PROFILE_3_13,
    "4.0": _PROFILE_4_0,
    "4.3": _PROFILE_4_3,
}
"""The profiles by the version that a scenario names."""
