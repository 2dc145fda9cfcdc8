"""Arguments of a queue that RabbitMQ reads, by the type of the queue, in the releases from 3.8 to 4.3.

A queue keeps every other argument without an effect. Whether a release refuses an argument, or its value, is in
`hawb.rules.queue_arguments`, `hawb.rules.quorum_declaration` and `hawb.rules.streams`.

Source: `queue_arguments` in the `capabilities` of `rabbit_classic_queue`, `rabbit_quorum_queue` and
`rabbit_stream_queue` of each release, `rabbit_amqqueue:declare_args` for 3.8, and four arguments that are read
elsewhere: x-consumer-timeout by the channel for a queue of any type from 3.12 to 4.2
(`rabbit_channel:get_queue_consumer_timeout`) and by the quorum queue itself in 4.3, which refuses it for other types;
x-quorum-target-group-size from 3.13 on (`rabbit_quorum_queue_periodic_membership_reconciliation:get_target_size`);
x-stream-filter-size-bytes from 3.13 on (`rabbit_stream_queue`); x-queue-master-locator up to 4.2
(`rabbit_queue_master_location_misc`, `rabbit_queue_location`).
"""

from __future__ import annotations

from hawb.rules.queue_types import CLASSIC, QUORUM, STREAM

READ_BY: dict[str, tuple[str, ...]] = {
    "x-queue-type": (CLASSIC, QUORUM, STREAM),
    "x-expires": (CLASSIC, QUORUM),
    "x-message-ttl": (CLASSIC, QUORUM),
    "x-dead-letter-exchange": (CLASSIC, QUORUM),
    "x-dead-letter-routing-key": (CLASSIC, QUORUM),
    "x-dead-letter-strategy": (QUORUM,),
    "x-max-length": (CLASSIC, QUORUM),
    "x-max-length-bytes": (CLASSIC, QUORUM, STREAM),
    "x-max-in-memory-length": (QUORUM,),
    "x-max-in-memory-bytes": (QUORUM,),
    "x-max-priority": (CLASSIC,),
    "x-overflow": (CLASSIC, QUORUM),
    "x-queue-mode": (CLASSIC,),
    "x-queue-version": (CLASSIC,),
    "x-queue-master-locator": (CLASSIC,),
    "x-queue-leader-locator": (CLASSIC, QUORUM, STREAM),
    "x-single-active-consumer": (CLASSIC, QUORUM),
    "x-quorum-initial-group-size": (QUORUM,),
    "x-quorum-target-group-size": (QUORUM,),
    "x-delivery-limit": (QUORUM,),
    "x-consumer-timeout": (CLASSIC, QUORUM, STREAM),
    "x-consumer-disconnected-timeout": (QUORUM,),
    "x-delayed-retry-type": (QUORUM,),
    "x-delayed-retry-min": (QUORUM,),
    "x-delayed-retry-max": (QUORUM,),
    "x-max-age": (STREAM,),
    "x-stream-max-segment-size-bytes": (STREAM,),
    "x-stream-filter-size-bytes": (STREAM,),
    "x-initial-cluster-size": (STREAM,),
}
"""The types that read an argument in at least one release. Where a quorum queue does not read a classic queue's
argument, it may have another one with that effect: see `hawb.planning.quorum_translation`."""


def reads(queue_type: str, argument: str) -> bool:
    """Return True if queues of this type read the argument in at least one release."""
    return queue_type in READ_BY.get(argument, ())
