"""Publishing in transactions: one answer for all messages, or the end of the channel."""

from __future__ import annotations

import pytest

from hawb.scenario.load import read_scenario
from hawb.scenario.outcome import outcome
from hawb.scenario.run import Run
from hawb.views.story.why import why


def played(*steps: dict, version: str = "3.10") -> dict:
    cluster = {"nodes": ["a", "b"], "version": version, "timing": {"link_latency_s": 1}}
    return outcome(Run.of(read_scenario({"scenario": "t", "cluster": cluster, "steps": list(steps)})))


def publish(**more: object) -> dict:
    return {"publish": {"queue": "q", "count": 3, "node": "b", "mode": "tx", **more}}


DECLARE = {"declare": {"queue": "q", "node": "a"}}


def test_a_commit_is_told_as_such_and_counts_as_confirmed():
    found = played(DECLARE, publish())
    assert found["ledger"]["q"]["confirmed"] == [[1, 3]]
    assert [event["event"] for event in found["events"]][-2:] == ["messages_published", "transaction_committed"]


def test_a_transaction_with_a_queue_that_is_not_there_commits():
    found = played(publish())
    assert found["ledger"]["q"]["confirmed"] == found["ledger"]["q"]["refused"] == [[1, 3]]


def test_a_failed_one_is_an_error_of_the_step_that_published_and_neither_confirmed_nor_nacked():
    found = played(DECLARE, {"wait": 0}, publish() | {"at": 5}, {"kill": "a", "at": 6.0005})
    assert found["errors"] == [{"step": 2, "code": 406, "text": "PRECONDITION_FAILED - partial tx completion"}]
    assert (found["ledger"]["q"]["confirmed"], found["ledger"]["q"]["nacked"]) == ([], [])
    end = "The publisher's channel was closed at 7.0 s instead of committing the transaction."
    assert why(found, "q", 1).endswith(end)


def test_one_whose_client_is_gone_is_never_answered():
    found = played(DECLARE, publish(), {"kill": "b", "at": 3})
    assert found["errors"] == []
    found = played(DECLARE, publish() | {"at": 5}, {"kill": "b", "at": 6.5})
    assert found["errors"] == [] and found["ledger"]["q"]["confirmed"] == []


@pytest.mark.parametrize("version", ["3.10", "3.13", "4.0", "4.3"])
def test_what_the_channel_rejects_for_a_quorum_queue_does_not_make_one_fail(version):
    full = {"x-queue-type": "quorum", "x-max-length": 1, "x-overflow": "reject-publish"}
    declare = {"declare": {"queue": "q", "node": "a", "arguments": full}}
    found = played(declare, publish(mode="confirm", count=2), publish(), version=version)
    assert found["queues"]["q"]["ids"] == [[1, 2]]
    assert found["ledger"]["q"]["confirmed"] == [[1, 5]] and found["ledger"]["q"]["refused"] == [[3, 5]]
    assert not found["errors"]


def test_what_it_rejects_since_it_reaches_no_member_does_not_either():
    lone = {
        "declare": {
            "queue": "q",
            "node": "a",
            "arguments": {"x-queue-type": "quorum", "x-quorum-initial-group-size": 1},
        }
    }
    found = played(lone, {"kill": "a"}, publish())
    assert found["ledger"]["q"]["confirmed"] == found["ledger"]["q"]["refused"] == [[1, 3]] and not found["errors"]
