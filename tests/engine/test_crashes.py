"""Crashes of a queue process on a node that keeps running."""

from __future__ import annotations

import pytest

from hawb.engine.keys.state_key import key
from hawb.scenario.load import read_scenario
from hawb.scenario.outcome import outcome
from hawb.scenario.run import Run
from hawb.views.story.why import why


def run_of(*steps: dict) -> Run:
    cluster = {"nodes": ["a", "b", "c"], "version": "3.10"}
    return Run.of(read_scenario({"scenario": "t", "cluster": cluster, "steps": list(steps)}))


def played(*steps: dict) -> dict:
    return outcome(run_of(*steps))


def mirrored(mode: str, **more: object) -> list[dict]:
    policy = {"set_policy": {"name": "p", "pattern": "^q", "definition": {"ha-mode": mode, **more}}}
    return [policy, {"declare": {"queue": "q", "node": "a"}}]


def publish(count: int, **more: object) -> dict:
    return {"publish": {"queue": "q", "count": count, **more}}


def crash(node: str | None = None) -> dict:
    return {"crash": {"queue": "q"} | ({} if node is None else {"node": node})}


PLAIN = {"declare": {"queue": "q", "node": "a"}}


def test_crashed_master_is_replaced_and_rejoins_as_an_extra_mirror():
    queue = played(*mirrored("exactly", **{"ha-params": 2}), publish(5), crash())["queues"]["q"]
    assert queue["master"] != "a" and sorted([queue["master"], *queue["mirrors"]]) == ["a", "b", "c"]
    assert queue["synchronised_mirrors"] == [] and queue["messages"] == 5


def test_next_policy_change_drops_the_extra_mirror():
    wider = {"set_policy": {"name": "p", "pattern": "^q", "definition": {"ha-mode": "exactly", "ha-params": 2, "ha-sync-mode": "automatic"}}}  # noqa: E501
    queue = played(*mirrored("exactly", **{"ha-params": 2}), publish(5), crash(), wider)["queues"]["q"]
    assert len(queue["mirrors"]) == len(queue["synchronised_mirrors"]) == 1


def test_master_restarts_from_its_disk_if_no_mirror_may_be_promoted():
    steps = mirrored("all", **{"ha-promote-on-failure": "when-synced"})
    steps += [publish(3), publish(1, persistent=False), {"stop": ["b", "c"]}, {"start": ["b", "c"]}, crash()]
    found = played(*steps)
    queue = found["queues"]["q"]
    assert (queue["state"], queue["master"], queue["ids"], queue["mirrors"]) == ("running", "a", [[1, 3]], ["b", "c"])
    assert "The master on a crashed at" in why(found, "q", 4)


def test_mirror_that_crashed_too_often_rejoins_at_the_next_policy_change():
    steps = [*mirrored("all"), *[crash("b")] * 6]
    assert played(*steps)["queues"]["q"]["mirrors"] == ["c"]
    again = {"set_policy": {"name": "p", "pattern": "^q", "definition": {"ha-mode": "nodes", "ha-params": ["a", "b"]}}}
    assert played(*steps, again)["queues"]["q"]["mirrors"] == ["b"]


def test_sixth_crash_within_ten_seconds_takes_the_queue_down():
    assert played(PLAIN, *[crash()] * 5)["queues"]["q"]["state"] == "running"
    assert played(PLAIN, *[crash()] * 6)["queues"]["q"]["state"] == "down"
    assert played(PLAIN, *[crash()] * 5, {"wait": 10.1}, crash())["queues"]["q"]["state"] == "running"


def test_crashes_before_a_node_restart_do_not_count():
    steps = [PLAIN, *[crash()] * 5, {"stop": "a"}, {"start": "a"}, crash()]
    assert played(*steps)["queues"]["q"]["state"] == "running"


@pytest.mark.parametrize("operation", [PLAIN, {"purge": "q"}, {"get": {"queue": "q", "count": 1}}])
def test_operations_on_a_queue_that_crashed_too_often_fail_with_404(operation):
    found = played(PLAIN, *[crash()] * 6, operation)
    text = "NOT_FOUND - queue 'q' in vhost '/' has crashed and failed to restart"
    assert found["errors"] == [{"step": 7, "code": 404, "text": text}]


def test_queue_that_crashed_too_often_can_be_deleted_even_if_not_empty():
    found = played(PLAIN, publish(1), *[crash()] * 6, {"delete": {"queue": "q", "if_empty": True}})
    assert (found["queues"], found["errors"]) == ({}, [])


def test_consumer_of_a_queue_that_crashed_too_often_is_cancelled():
    reader = {"consume": {"consumer": "r", "queue": "q", "node": "b"}}
    steps = [*mirrored("exactly", **{"ha-params": 1}), reader, *[crash()] * 6]
    assert played(*steps)["consumers"]["r"]["state"] == "cancelled"


def test_transient_queue_survives_crashes_until_its_node_goes_down():
    transient = {"declare": {"queue": "q", "node": "a", "durable": False}}
    steps = [transient, publish(2), *[crash()] * 6]
    assert played(*steps)["queues"]["q"]["ids"] == []
    assert played(*steps)["losses"][0]["cause"] == "transient_queue"
    assert played(*steps, {"kill": "a"})["queues"] == {}


def test_message_to_two_queues_is_nacked_if_a_mirror_of_one_crashes():
    # The mirror's answer is due two latencies and a disk write after the master has the message.
    both = {"publish": {"queues": ["q", "r"], "count": 1, "node": "a"}, "at": 1}
    steps = [*mirrored("all"), {"declare": {"queue": "r", "node": "a"}}, both, crash("b") | {"at": 1.0002}]
    found = played(*steps)
    assert found["ledger"]["q"]["nacked"] == found["ledger"]["r"]["nacked"] == [[1, 1]]
    assert found["queues"]["q"]["ids"] == found["queues"]["r"]["ids"] == [[1, 1]]


def test_crash_of_a_mirror_fails_a_waiting_transaction():
    found = played(*mirrored("all"), publish(2, node="a", mode="tx") | {"at": 1}, crash("b") | {"at": 1.0002})
    assert [(error["step"], error["code"]) for error in found["errors"]] == [(2, 406)]


def test_crash_of_a_missing_process_is_refused():
    found = played(PLAIN, crash("b"), crash() | {"at": 1}, crash() | {"at": 1})
    assert [error["step"] for error in found["errors"]] == [1, 3]


def test_search_key_includes_the_number_of_recent_crashes():
    once, twice = run_of(PLAIN, crash()), run_of(PLAIN, crash(), crash())
    assert key(once.moment().state, once.settings) != key(twice.moment().state, twice.settings)
