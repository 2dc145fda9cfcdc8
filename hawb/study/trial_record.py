"""The record of a trial, whoever played it."""

from __future__ import annotations

from msgspec import Struct

TRIAL, WEIGHT, BATCH = "trial", "weight", "batch"
"""The columns beside those of a record: a trial's number, its weight (`hawb.study.renewals`; 1 where rows have none),
and the micro-batch in which Spark wrote it."""


class Record(Struct, frozen=True, kw_only=True):
    """What came of a trial, under the names of an outcome (`hawb.scenario.outcome`): from its ledger how many messages
    were published, confirmed, nacked, refused, lost and delivered twice, and lost though confirmed; from its
    availability all but elections. `outages` is how often the queue was without a master, `messages` how many it holds
    at the end. A queue without a master can neither be published to nor consumed from.

    `metadata_down_s` is for how long metadata (queues, bindings, policies, members) could be changed from no node that
    runs: with Mnesia while none runs, paused ones and those that wait for others at boot included, or while those that
    run wait for one that is gone and not yet missed; with Khepri while none of them reaches a leader that has a
    majority. What can be changed on one side of a partition counts as changeable, whoever is on the other."""

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
