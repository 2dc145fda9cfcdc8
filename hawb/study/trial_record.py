"""The record of a trial, the same from kernel and engine."""

from __future__ import annotations

from msgspec import Struct

TRIAL, WEIGHT, BATCH = "trial", "weight", "batch"
"""The columns beside those of a record.

They are a trial's number, its weight (`hawb.study.renewals`; 1 where rows have none), and the batch in which Spark
wrote it.
"""


class Record(Struct, frozen=True, kw_only=True):
    """The result of a trial, with the names of an outcome (`hawb.scenario.outcome`).

    From its ledger it has how many messages were published, confirmed, nacked, refused, lost and delivered twice, and
    lost though confirmed; from its availability all but elections. `outages` counts how often the queue lost its
    master, `messages` how many it holds at the end, `queue_down_s` is the time in which it had no master, or no leader
    with a majority.

    `publish_down_s` and `consume_down_s` are what clients see (`hawb.engine.clients.steady.interruptions`): the time
    whose messages were offered and not confirmed within the deadline of `Traffic`, and the time whose ready messages
    were not delivered within it. They include the time in which a channel waits for a mirror that is gone and not known
    to be down, in which a publisher is blocked or a queue synchronises, and in which a client is not connected. They
    leave out what is over before the deadline, such as most elections. The time in which nothing is offered, or
    consumers stay away, does not count, nor does the time before a client is first served.

    `metadata_down_s` is the time in which no running node could change metadata (queues, bindings, policies, members).
    With Mnesia that is while no node runs, paused ones and those that wait for others at boot included, or while the
    running ones wait for one that is down and not yet detected; with Khepri while no running node reaches a leader with
    a majority. Metadata that can be changed in one partition counts as changeable, even if clients are in the other.
    """

    published: int
    confirmed: int
    nacked: int
    refused: int
    lost: int
    lost_confirmed: int
    delivered_twice: int
    promotions: int
    unsynchronised_promotions: int
    outages: int
    publish_down_s: float
    consume_down_s: float
    sync_blocked_s: float
    metadata_down_s: float
    bytes_replicated: int
    messages: int
    queue_down_s: float
