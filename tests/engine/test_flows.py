"""Clients with a rate: times of publishes and acks, blocked operations, and a cost independent of the rate."""

from __future__ import annotations

from unittest import mock

import pytest
from flow_runs import NODES, consumer, publisher, run_of, what_matters
from invariants import watched

from hawb.engine import advance
from hawb.engine.clients.steady import ticks
from hawb.engine.clients.steady.credit_flow import left
from hawb.engine.clients.steady.publishers import clock_from
from hawb.engine.core.ledger import Account, imbalance
from hawb.engine.core.runs import EMPTY, size
from hawb.engine.core.turn import Turn
from hawb.engine.keys.state_key import key
from hawb.scenario.load import read_scenario
from hawb.scenario.outcome import outcome
from hawb.scenario.run import Run


def shop(run: Run) -> dict:
    return outcome(run)["publishers"]["p"]


@pytest.mark.parametrize("rate", [0.1, 0.3, 1, 3, 7.5, 1e6, 1e9])
def test_message_k_is_published_at_start_plus_k_divided_by_the_rate(rate):
    run = run_of(publisher(rate, mode="plain"), {"wait": 100})
    assert shop(run)["published"] == round(rate * 100)


def test_rate_is_the_exact_decimal_not_a_binary_fraction():
    clock = clock_from(Turn(run_of().settings, run_of().moment(), 0), 0.1)
    assert [ticks.beyond(clock, time_us, 0) for time_us in (9_999_999, 10_000_000)] == [0, 1]


def test_consumer_with_automatic_ack_keeps_its_rate():
    run = run_of({"publish": {"queue": "q", "count": 100}}, consumer(4, ack="auto"), {"wait": 10})
    assert outcome(run)["queues"]["q"]["ids"] == [[41, 100]]
    assert outcome(run)["consumers"]["c"] | {"activity_status": None} == {
        "state": "active", "activity_status": None, "queue": "q", "received": [[1, 40]], "unacknowledged": [],
        "cancel_notified": False,
    }  # fmt: skip


def test_several_consumers_share_messages_each_at_its_rate():
    steps = [consumer(rate, consumer=name, prefetch=2) for name, rate in (("slow", 1), ("fast", 5))]
    run = run_of({"publish": {"queue": "q", "count": 1000}}, *steps, {"wait": 100})
    found = outcome(run)
    assert found["ledger"]["q"]["acknowledged"][-1][1] <= 604
    assert sum(last - first + 1 for first, last in found["ledger"]["q"]["acknowledged"]) == 600
    assert {size(tuple(map(tuple, one["unacknowledged"]))) for one in found["consumers"].values()} == {2}


def test_cancelled_consumer_acks_what_it_holds():
    run = run_of({"publish": {"queue": "q", "count": 5}}, consumer(1), {"cancel": "c"}, {"wait": 3.5})
    assert outcome(run)["consumers"]["c"]["unacknowledged"] == [[4, 5]]


def test_ack_step_works_for_a_consumer_with_a_rate():
    run = run_of(
        {"publish": {"queue": "q", "count": 9}}, consumer(1), {"wait": 2.5}, {"ack": {"consumer": "c", "count": 3}}
    )
    assert outcome(run)["queues"]["q"]["ids"] == [[6, 9]]


def test_tick_before_the_first_message_acks_nothing():
    run = run_of(consumer(1) | {"at": 1}, publisher(1) | {"at": 1.5}, {"wait": 0, "at": 10.6})
    found = outcome(run)
    assert (found["ledger"]["q"]["acknowledged"], found["queues"]["q"]["ids"]) == ([[1, 8]], [[9, 9]])


@pytest.mark.parametrize(
    ("version", "synchronised_s"),
    # By 20 s the consumer has answered for 99 of 1,000. It is sent 901 again, and answers first for those that nobody
    # waits for any more: that counts from 3.9 on.
    [("3.8", 200.101), ("3.10", 110.001)],
)
def test_mirror_is_synchronised_when_its_last_missing_message_is_acked(version, synchronised_s):
    run = Run.of(
        read_scenario(
            {
                "scenario": "late answers",
                "cluster": {"nodes": ["a", "b", "c"], "version": version},
                "policies": [{"name": "all", "pattern": "", "definition": {"ha-mode": "all"}}],
                "steps": [
                    {"declare": {"queue": "shop", "node": "a"}},
                    {"publish": {"queue": "shop", "count": 1000, "node": "a"}},
                    {"consume": {"queue": "shop", "consumer": "till", "node": "c", "rate": 10}, "at": 10},
                    {"kill": "a", "at": 20},
                    {"start": "a", "at": 25},
                    {"wait": 300},
                ],
            }
        )
    )
    found = [event for event in outcome(run)["events"] if event["event"] == "mirror_synchronised" and event["t"] > 20]
    assert [(event["node"], event["t"]) for event in found] == [("a", synchronised_s)]


def test_acks_wait_for_a_synchronisation():
    late = [{"kill": "b"}, {"publish": {"queue": "q", "count": 300}}, {"start": "b"}]
    sync = {"sync_queue": "q", "at": 12.05}
    run = run_of(*late, consumer(10) | {"at": 10}, sync, {"wait": 0, "at": 14.8}, {"wait": 0, "at": 20.05})
    before, after = (outcome(run, run.moment_of(step))["ledger"]["q"]["acknowledged"] for step in (6, 7))
    assert (before, after) == ([[1, 20]], [[1, 100]])


BEHIND = [{"kill": "b"}, {"publish": {"queue": "q", "count": 1000}}, {"start": "b"}]
"""Queue q has 1,000 messages, and its mirror on b lacks them."""


def while_synchronising(*steps: dict) -> dict:
    """Return the outcome of these steps while the queue synchronises for 10 s from 20 s on."""
    timed = sorted([{"sync_queue": "q", "at": 20}, *steps], key=lambda step: step["at"])
    return outcome(run_of(*BEHIND, *timed, {"wait": 0, "at": 30.5}))


def test_publishes_after_a_waiting_purge_are_not_purged():
    found = while_synchronising(publisher(1) | {"at": 20}, {"purge": "q", "at": 24.5}, {"close": "p", "at": 29.5})
    assert found["queues"]["q"]["ids"] == [[1005, 1009]]


def test_acks_after_a_waiting_get_free_no_credit_before_it():
    get = {"get": {"queue": "q", "count": 2, "ack": False, "consumer": "g"}}
    found = while_synchronising(consumer(0.5, prefetch=5) | {"at": 19.5}, get | {"at": 24.5})["consumers"]
    assert (found["c"]["received"], found["g"]["received"]) == ([[1, 7], [10, 12]], [[8, 9]])


def test_waiting_nack_is_not_followed_by_an_ack_of_the_same_message():
    found = while_synchronising(consumer(1, prefetch=2) | {"at": 19.7}, {"nack": {"consumer": "c"}, "at": 20.2})
    assert found["ledger"]["q"]["acknowledged"] == []
    assert found["consumers"]["c"]["unacknowledged"] == [[1, 2]]


def test_blocked_queue_has_one_waiting_operation_per_client():
    clients = [consumer(5) | {"at": 19}, publisher(5) | {"at": 19}, {"sync_queue": "q", "at": 20}]
    run = run_of(*BEHIND, *clients, *({"wait": 0, "at": time_s} for time_s in range(21, 30)))
    waiting = run.moment_of(len(run.steps) - 1).state.queues["q"].waiting
    assert sorted(type(one.operation).__name__ for one in waiting) == ["Publish", "Settle"]


def test_messages_of_several_publishers_wait_for_a_blocked_queue():
    publishers = [publisher(1, name=name) | {"at": 20} for name in ("p", "r")]
    found = while_synchronising(*publishers, {"wait": 0, "at": 23.5}, {"wait": 0, "at": 27.5})
    assert found["queues"]["q"]["ids"] == [[1, 1020]]


def test_publishes_after_a_crash_are_not_flagged_redelivered():
    syncs = [{"sync_queue": "q", "at": time_s} for time_s in (20, 20.5)]
    crash = [{"crash": {"queue": "q"}, "at": 24.5}, {"close": "p", "at": 29.5}]
    queue = run_of(*BEHIND, *syncs, publisher(1) | {"at": 21}, *crash).moment().state.queues["q"]
    assert (queue.redelivered, queue.content) == (((1, 1003),), ((1, 1008),))


def test_publisher_closed_while_blocked_publishes_what_waited():
    run = run_of(*BEHIND, publisher(100), {"sync_queue": "q", "at": 20}, {"close": "p", "at": 29}, {"wait": 60})
    was = outcome(run, run.moment_of(5))["publishers"]["p"]["published"]
    assert (was, shop(run)["published"]) == (1498, 2200)  # 302 to a multiple of 200, and the reader's 400
    assert shop(run)["blocked_s"] == pytest.approx(1.98, abs=0.02)


@pytest.mark.parametrize(
    ("published", "unread", "cost", "more"),
    [
        (400, 0, 2, 600), (400, 1, 2, 400), (450, 0, 2, 550), (10_000, 10, 2, 400), (1050, 600, 2, 0),
        (400, 0, 1, 800), (499, 0, 1, 701),
    ],
)  # fmt: skip
def test_flow_credit_is_granted_per_200_handled_messages(published: int, unread: int, cost: int, more: int):
    assert left(published, unread, cost) == more


def test_close_prefers_consumer_then_publisher_then_connection_of_a_name():
    run = run_of(publisher(1), consumer(1, consumer="p"), consumer(1, connection="p"), {"close": "p"}, {"close": "c"})
    assert (outcome(run)["consumers"]["p"]["state"], shop(run)["state"]) == ("closed", "running")
    run = run_of(publisher(1), consumer(1, connection="p"), {"close": "p"})
    assert (outcome(run)["consumers"]["c"]["state"], shop(run)["state"]) == ("active", "closed")


def test_messages_to_a_missing_queue_are_confirmed_and_refused():
    run = run_of(publisher(10, queue="nowhere"), {"wait": 1})
    found = outcome(run)
    assert (shop(run)["published"], shop(run)["confirmed"]) == (10, 10)
    assert found["ledger"]["nowhere"]["refused"] == [[1, 10]]


def day(rate: float) -> list[dict]:
    """Return the steps of a day of steady clients with a failover and a synchronisation."""
    return [
        publisher(rate, node="b"), consumer(rate, node="c", prefetch=100),
        {"kill": "a", "at": 20_000}, {"start": "a", "at": 40_000}, {"sync_queue": "q", "at": 50_000},
        {"close": "p", "at": 86_400},
    ]  # fmt: skip


def events_of(rate: float) -> tuple[int, int]:
    """Return the number of simulated events of the day, and of events in the outcome."""
    step, happened = advance.step, []
    with mock.patch.object(advance, "step", lambda *given: happened.append(step(*given)) or happened[-1]):
        run = run_of(*day(rate))
        reported = outcome(run)["events"]
    return sum(happened), len(reported)


def test_number_of_events_does_not_depend_on_the_rate():
    counts = {rate: events_of(rate) for rate in (1, 10, 1_000, 100_000, 10_000_000)}
    happened, reported = zip(*counts.values(), strict=True)
    assert max(happened) - min(happened) <= 3 and max(reported) <= 1.5 * min(reported), counts


def test_ledger_balances_at_every_moment():
    run = run_of(*day(100_000))
    moments = [run.moment(steps) for steps in range(len(run.steps) + 1)]
    moments += [run.moment_of(index) for index in range(len(run.steps))]
    for moment in moments:
        content = moment.state.queues["q"].content if "q" in moment.state.queues else EMPTY
        assert imbalance(moment.ledger.get("q", Account()), content) is None


def test_reading_the_outcome_in_between_changes_nothing():
    faults = [{"kill": "a", "at": 20_000.0003}, {"start": "a", "at": 40_000.7}]
    looks = [{"wait": 0, "at": time_s} for time_s in (0.00125, 3.7, 20_000.0004, 20_000.0011, 30_000, 40_001)]
    flowing = [publisher(40, node="b"), consumer(30, node="c", prefetch=100)]
    end = {"wait": 0, "at": 50_000.0001}
    plain = run_of(*flowing, *faults, end)
    watched = run_of(*flowing, *sorted([*faults, *looks], key=lambda step: step["at"]), end)
    assert what_matters(plain) == what_matters(watched)


def key_of(*steps: dict) -> tuple:
    run = run_of(*steps)
    return key(run.moment().state, run.settings)


def test_search_key_of_a_flow_ignores_absolute_time():
    clients, later = [publisher(2), consumer(1, prefetch=1)], {"wait": 3.5}
    assert key_of(*clients, later) == key_of({"wait": 5}, *clients, later)
    assert key_of(*clients, later) != key_of(*clients, {"wait": 3.6})
    assert key_of(publisher(2), later) != key_of(publisher(3), later)


def mirrored(steps: list[dict]) -> Run:
    """Play steps on two nodes that mirror all queues. Fail if the cluster does not settle."""
    policies = [{"name": "p", "pattern": "", "definition": {"ha-mode": "all"}}]
    given = {"scenario": "t", "cluster": {"nodes": ["a", "b"]}, "policies": policies, "steps": steps}
    with watched():
        return Run.of(read_scenario(given))


def test_cluster_settles_though_another_consumer_holds_what_the_mirror_lacks():
    steps = [
        {"declare": {"queue": "q", "node": "a"}},
        {"publish": {"queue": "q", "count": 10, "node": "a"}},
        {"consume": {"consumer": "keeps", "queue": "q", "node": "a", "prefetch": 3}},
        {"stop": "b"},
        {"start": "b"},
        {"consume": {"consumer": "takes", "queue": "q", "node": "a", "rate": 5000}},
        {"wait": 60},
    ]
    assert outcome(mirrored(steps))["queues"]["q"]["messages_unacknowledged"] == 3


def test_cluster_settles_though_no_consumer_gets_what_the_mirror_lacks():
    steps = [
        {"declare": {"queue": "q", "node": "a"}},
        {"publish": {"queue": "q", "count": 3}},
        {"stop": "b"},
        {"start": "b"},
        {"consume": {"consumer": "c", "queue": "q", "node": "a", "rate": 5000, "prefetch": 1}},
        {"cancel": "c"},
        {"wait": 60},
    ]
    assert outcome(mirrored(steps))["queues"]["q"]["synchronised_mirrors"] == []


@pytest.mark.parametrize("kind", ["mirrored", "quorum"])
def test_confirms_delayed_by_a_cut_link_arrive_together_when_it_heals(kind: str):
    declared = {"queue": "q", "node": "a", "arguments": {"x-queue-type": "quorum"} if kind == "quorum" else {}}
    run = Run.of(
        read_scenario(
            {
                "scenario": "t", "cluster": {"nodes": list(NODES), "version": "3.10"}, "seed": 1,
                "policies": [{"name": "ha", "pattern": "", "definition": {"ha-mode": "all"}}] * (kind != "quorum"),
                "steps": [
                    {"declare": declared}, publisher(4) | {"at": 1}, {"at": 11.1, "cut": [["a", "b"], ["a", "c"]]},
                    {"at": 15.1, "heal": True},
                ],
            }
        )
    )  # fmt: skip
    run.apply_plain({"at": 15.12, "wait": 0})
    assert (shop(run)["published"], shop(run)["confirmed"]) == (56, 56)
