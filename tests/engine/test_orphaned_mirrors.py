"""Mirrors that stay on the record of a master that came back without a policy that mirrors. What comes of most of it
stands in data/scenarios (strays-take-over and others)."""

from __future__ import annotations

from found_stories import run_of
from invariants import watched

LEFT_ON_RECORD = """
  - declare: {queue: q, node: a}
  - publish: {queue: q, count: 6, node: a}
  - set_policy: {name: p, pattern: ^q, definition: {ha-mode: all, ha-promote-on-failure: when-synced}}
  - kill: a
  - publish: {queue: q, count: 3, node: c}
  - clear_policy: p
  - start: a
  - kill: b
"""


def test_what_no_queue_took_is_told_to_be_in_it_when_a_mirror_that_had_it_takes_over() -> None:
    with watched():
        run = run_of("none", LEFT_ON_RECORD, nodes=["a", "b", "c", "d"])
        moment = run.moment()
    told = [(entry.event, entry.detail["ids"]) for entry in moment.trace()
            if entry.event in ("messages_refused", "messages_taken_after_all")]  # fmt: skip
    assert told == [("messages_refused", [[7, 9]]), ("messages_taken_after_all", [[7, 9]])]
    assert moment.ledger["q"].refused == ()


def test_one_that_holds_as_little_as_the_master_is_not_synchronised_with_it() -> None:
    drained = LEFT_ON_RECORD.replace("  - kill: b\n", "  - purge: q\n  - publish: {queue: q, count: 1, node: a}\n")
    with watched():
        run = run_of("none", drained)
        queue = run.moment().state.queues["q"]
    assert queue.orphaned_mirrors and queue.mirrors and not queue.synchronised
