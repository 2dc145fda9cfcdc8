"""Publishing in transactions: one commit for all messages, or a channel error."""

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


def test_commit_is_reported_and_counts_as_confirmed():
    found = played(DECLARE, publish())
    assert found["ledger"]["q"]["confirmed"] == [[1, 3]]
    assert [event["event"] for event in found["events"]][-2:] == ["messages_published", "transaction_committed"]


def test_transaction_to_a_missing_queue_commits():
    found = played(publish())
    assert found["ledger"]["q"]["confirmed"] == found["ledger"]["q"]["refused"] == [[1, 3]]


def test_failed_transaction_is_an_error_of_the_publish_step():
    found = played(DECLARE, {"wait": 0}, publish() | {"at": 5}, {"kill": "a", "at": 6.0005})
    assert found["errors"] == [{"step": 2, "code": 406, "text": "PRECONDITION_FAILED - partial tx completion"}]
    assert (found["ledger"]["q"]["confirmed"], found["ledger"]["q"]["nacked"]) == ([], [])
    end = "The publisher's channel was closed at 7.0 s instead of committing the transaction."
    assert why(found, "q", 1).endswith(end)


def test_transaction_of_a_dead_client_is_never_committed_or_refused():
    found = played(DECLARE, publish(), {"kill": "b", "at": 3})
    assert found["errors"] == []
    found = played(DECLARE, publish() | {"at": 5}, {"kill": "b", "at": 6.5})
    assert found["errors"] == [] and found["ledger"]["q"]["confirmed"] == []


@pytest.mark.parametrize("version", ["3.10", "3.13", "4.0", "4.3"])
def test_reject_publish_of_a_quorum_queue_does_not_fail_the_transaction(version):
    full = {"x-queue-type": "quorum", "x-max-length": 1, "x-overflow": "reject-publish"}
    declare = {"declare": {"queue": "q", "node": "a", "arguments": full}}
    found = played(declare, publish(mode="confirm", count=2), publish(), version=version)
    assert found["queues"]["q"]["ids"] == [[1, 2]]
    assert found["ledger"]["q"]["confirmed"] == [[1, 5]] and found["ledger"]["q"]["refused"] == [[3, 5]]
    assert not found["errors"]


def test_unreachable_quorum_queue_does_not_fail_the_transaction():
    lone = {
        "declare": {
            "queue": "q",
            "node": "a",
            "arguments": {"x-queue-type": "quorum", "x-quorum-initial-group-size": 1},
        }
    }
    found = played(lone, {"kill": "a"}, publish())
    assert found["ledger"]["q"]["confirmed"] == found["ledger"]["q"]["refused"] == [[1, 3]] and not found["errors"]
