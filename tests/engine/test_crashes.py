"""A queue's process crashes while its node runs on."""

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


def test_another_mirror_takes_its_place_and_it_comes_back_all_the_same():
    queue = played(*mirrored("exactly", **{"ha-params": 2}), publish(5), crash())["queues"]["q"]
    assert queue["master"] != "a" and sorted([queue["master"], *queue["mirrors"]]) == ["a", "b", "c"]
    assert queue["synchronised_mirrors"] == [] and queue["messages"] == 5


def test_the_next_change_of_policy_drops_what_is_too_much():
    wider = {"set_policy": {"name": "p", "pattern": "^q", "definition": {"ha-mode": "exactly", "ha-params": 2, "ha-sync-mode": "automatic"}}}  # noqa: E501
    queue = played(*mirrored("exactly", **{"ha-params": 2}), publish(5), crash(), wider)["queues"]["q"]
    assert len(queue["mirrors"]) == len(queue["synchronised_mirrors"]) == 1


def test_where_no_mirror_may_take_over_it_serves_again_from_its_own_disk():
    steps = mirrored("all", **{"ha-promote-on-failure": "when-synced"})
    steps += [publish(3), publish(1, persistent=False), {"stop": ["b", "c"]}, {"start": ["b", "c"]}, crash()]
    found = played(*steps)
    queue = found["queues"]["q"]
    assert (queue["state"], queue["master"], queue["ids"], queue["mirrors"]) == ("running", "a", [[1, 3]], ["b", "c"])
    assert "The master on a crashed at" in why(found, "q", 4)


def test_a_mirror_that_crashed_for_good_comes_back_with_the_next_policy_only():
    steps = [*mirrored("all"), *[crash("b")] * 6]
    assert played(*steps)["queues"]["q"]["mirrors"] == ["c"]
    again = {"set_policy": {"name": "p", "pattern": "^q", "definition": {"ha-mode": "nodes", "ha-params": ["a", "b"]}}}
    assert played(*steps, again)["queues"]["q"]["mirrors"] == ["b"]


def test_five_crashes_within_ten_seconds_are_survived_and_the_sixth_is_not():
    assert played(PLAIN, *[crash()] * 5)["queues"]["q"]["state"] == "running"
    assert played(PLAIN, *[crash()] * 6)["queues"]["q"]["state"] == "down"
    assert played(PLAIN, *[crash()] * 5, {"wait": 10.1}, crash())["queues"]["q"]["state"] == "running"


def test_crashes_before_the_node_restarted_do_not_count():
    steps = [PLAIN, *[crash()] * 5, {"stop": "a"}, {"start": "a"}, crash()]
    assert played(*steps)["queues"]["q"]["state"] == "running"


@pytest.mark.parametrize("operation", [PLAIN, {"purge": "q"}, {"get": {"queue": "q", "count": 1}}])
def test_a_queue_that_crashed_for_good_answers_404(operation):
    found = played(PLAIN, *[crash()] * 6, operation)
    text = "NOT_FOUND - queue 'q' in vhost '/' has crashed and failed to restart"
    assert found["errors"] == [{"step": 7, "code": 404, "text": text}]


def test_a_queue_that_crashed_for_good_can_be_deleted_whatever_is_in_it():
    found = played(PLAIN, publish(1), *[crash()] * 6, {"delete": {"queue": "q", "if_empty": True}})
    assert (found["queues"], found["errors"]) == ({}, [])


def test_a_consumer_of_a_queue_that_crashed_for_good_is_cancelled():
    reader = {"consume": {"consumer": "r", "queue": "q", "node": "b"}}
    steps = [*mirrored("exactly", **{"ha-params": 1}), reader, *[crash()] * 6]
    assert played(*steps)["consumers"]["r"]["state"] == "cancelled"


def test_a_transient_queue_outlives_a_crash_and_a_final_one_until_its_node_goes():
    transient = {"declare": {"queue": "q", "node": "a", "durable": False}}
    steps = [transient, publish(2), *[crash()] * 6]
    assert played(*steps)["queues"]["q"]["ids"] == []
    assert played(*steps)["losses"][0]["cause"] == "transient_queue"
    assert played(*steps, {"kill": "a"})["queues"] == {}


def test_a_message_of_two_queues_is_nacked_though_one_of_them_has_it():
    # The mirror's answer is due two latencies and a disk write after the master has the message.
    both = {"publish": {"queues": ["q", "r"], "count": 1, "node": "a"}, "at": 1}
    steps = [*mirrored("all"), {"declare": {"queue": "r", "node": "a"}}, both, crash("b") | {"at": 1.0002}]
    found = played(*steps)
    assert found["ledger"]["q"]["nacked"] == found["ledger"]["r"]["nacked"] == [[1, 1]]
    assert found["queues"]["q"]["ids"] == found["queues"]["r"]["ids"] == [[1, 1]]


def test_the_end_of_a_transaction_that_waited_for_it():
    found = played(*mirrored("all"), publish(2, node="a", mode="tx") | {"at": 1}, crash("b") | {"at": 1.0002})
    assert [(error["step"], error["code"]) for error in found["errors"]] == [(2, 406)]


def test_a_process_that_is_not_there_cannot_crash():
    found = played(PLAIN, crash("b"), crash() | {"at": 1}, crash() | {"at": 1})
    assert [error["step"] for error in found["errors"]] == [1, 3]


def test_the_key_of_a_state_tells_how_near_the_last_crash_is():
    once, twice = run_of(PLAIN, crash()), run_of(PLAIN, crash(), crash())
    assert key(once.moment().state, once.settings) != key(twice.moment().state, twice.settings)
