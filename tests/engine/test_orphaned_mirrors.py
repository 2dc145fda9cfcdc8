"""Orphaned mirrors: they stay on the queue record after the master restarted without a mirroring policy.

Most stories are in data/scenarios (strays-take-over and others)."""

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


def test_refused_messages_of_a_promoted_orphaned_mirror_return_to_the_queue() -> None:
    with watched():
        run = run_of("none", LEFT_ON_RECORD, nodes=["a", "b", "c", "d"])
        moment = run.moment()
    found = [(entry.event, entry.detail["ids"]) for entry in moment.trace()
            if entry.event in ("messages_refused", "messages_taken_after_all")]  # fmt: skip
    assert found == [("messages_refused", [[7, 9]]), ("messages_taken_after_all", [[7, 9]])]
    assert moment.ledger["q"].refused == ()


def test_orphaned_mirror_with_the_masters_length_is_not_synchronised() -> None:
    drained = LEFT_ON_RECORD.replace("  - kill: b\n", "  - purge: q\n  - publish: {queue: q, count: 1, node: a}\n")
    with watched():
        run = run_of("none", drained)
        queue = run.moment().state.queues["q"]
    assert queue.orphaned_mirrors and queue.mirrors and not queue.synchronised
