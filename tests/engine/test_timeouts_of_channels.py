"""Consumer timeouts of channels, up to 4.2: a channel closes if its oldest delivery is unacknowledged too long."""

from __future__ import annotations

import pytest

from hawb.cluster import Cluster
from hawb.engine.keys.state_key import key

HALF_AN_HOUR = 1_800
BY_CHANNEL = ["3.10", "3.13", "4.0"]
KINDS = {
    "classic": {},
    "quorum": {"x-queue-type": "quorum"},
}


def cluster(version: str, kind: str = "quorum", *, arguments: dict | None = None, **settings: object) -> Cluster:
    three = Cluster("a", "b", "c", version=version, **settings)
    return three.declare("q", node="a", arguments=KINDS[kind] | (arguments or {}))


def consumer(of: Cluster, name: str = "slow") -> tuple[str, list]:
    one = of.outcome["consumers"][name]
    return one["state"], one["unacknowledged"]


def timed_out(of: Cluster) -> list[dict]:
    return [event for event in of.outcome["events"] if event["event"] == "channel_timed_out"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("version", BY_CHANNEL)
def test_channel_closes_after_30_minutes_and_requeues_its_messages(version: str, kind: str):
    three = cluster(version, kind).publish("q", 5).consume(consumer="slow", queue="q", node="b", prefetch=2)
    three.wait(HALF_AN_HOUR - 60)
    assert consumer(three) == ("active", [[1, 2]])
    three.wait(180)
    queue = three.outcome["queues"]["q"]
    assert consumer(three) == ("closed", [])
    assert (queue["messages_ready"], queue["messages_unacknowledged"], queue["redelivered"]) == (5, 0, [[1, 2]])
    (event,) = timed_out(three)
    assert (event["node"], event["queue"], event["detail"]["code"]) == ("b", "q", 406)
    assert "Timeout value used: 1800000 ms" in event["detail"]["text"]
    assert three.outcome["errors"] == []


@pytest.mark.parametrize("version", ["3.8", "3.10"])
def test_mirrored_queue_redelivers_to_the_next_consumer(version: str):
    three = Cluster("a", "b", "c", version=version, consumer_timeout=120_000)
    three.set_policy("ha", "^q$", {"ha-mode": "all"}).declare("q", node="a").publish("q", 2)
    three.consume(consumer="slow", queue="q", node="a").consume(consumer="next", queue="q", node="c").wait(125)
    assert (consumer(three), consumer(three, "next")) == (("closed", []), ("active", [[1, 2]]))


def test_3_8_9_has_no_timeout_unless_one_is_configured():
    patient = cluster("3.8").publish("q").consume(consumer="slow", queue="q").wait(100_000)
    assert consumer(patient) == ("active", [[1, 1]])
    short = cluster("3.8", consumer_timeout=5_000).publish("q").consume(consumer="slow", queue="q").wait(61)
    assert consumer(short) == ("closed", [])
    assert timed_out(short)[0]["detail"]["text"] == "PRECONDITION_FAILED - consumer ack timed out on channel 1"


@pytest.mark.parametrize("version", BY_CHANNEL)
def test_timeout_can_be_disabled(version: str):
    never = cluster(version, consumer_timeout="undefined").publish("q").consume(consumer="slow", queue="q")
    assert consumer(never.wait(100_000)) == ("active", [[1, 1]])


@pytest.mark.parametrize("version", BY_CHANNEL)
def test_channel_checks_once_a_minute(version: str):
    short = cluster(version, consumer_timeout=5_000).publish("q").consume(consumer="slow", queue="q", node="a").wait(59)
    assert consumer(short) == ("active", [[1, 1]])
    assert consumer(short.wait(2)) == ("closed", [])


@pytest.mark.parametrize(
    ("command", "closed"),
    [("ack", False), ("nack", True)],
)
def test_oldest_unacknowledged_delivery_decides(command: str, closed: bool):
    """A requeued message is redelivered, and its timeout restarts."""
    three = cluster("4.0").publish("q", 3).consume(consumer="slow", queue="q", node="a", prefetch=3).wait(1_000)
    three.ack("slow", count=2).publish("q", 1).wait(1_000)
    assert consumer(three) == ("closed", [])
    again = cluster("4.0").publish("q", 1).consume(consumer="slow", queue="q", node="a", prefetch=1).wait(1_000)
    getattr(again, command)("slow").wait(1_000)
    assert consumer(again)[0] == "active"
    assert (consumer(again.wait(1_000))[0] == "closed") == closed


def test_basic_gets_and_cancelled_consumers_time_out_too():
    three = cluster("3.10", "classic").publish("q", 3).get("q", 1, ack=False, consumer="holder")
    three.consume(consumer="slow", queue="q", node="a", prefetch=1).cancel("slow").wait(HALF_AN_HOUR + 60)
    assert [consumer(three, name)[0] for name in ("holder", "slow")] == ["closed", "closed"]
    assert three.outcome["queues"]["q"]["messages_ready"] == 3


@pytest.mark.parametrize("kind", KINDS)
def test_automatic_acknowledgement_and_an_idle_consumer_have_no_timeout(kind: str):
    three = cluster("3.10", kind).publish("q", 3).consume(consumer="slow", queue="q", ack="auto").wait(10_000)
    assert consumer(three)[0] == "active"
    idle = cluster("3.10", kind).consume(consumer="slow", queue="q").wait(10_000).publish("q").ack("slow").wait(10_000)
    assert consumer(idle)[0] == "active"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("version", ["3.13", "4.0"])
def test_policy_and_queue_argument_apply_since_3_12(version: str, kind: str):
    by_argument = cluster(version, kind, arguments={"x-consumer-timeout": 60_000}).publish("q")
    assert consumer(by_argument.consume(consumer="slow", queue="q").wait(61))[0] == "closed"
    by_policy = cluster(version, kind).publish("q").consume(consumer="slow", queue="q").wait(200)
    by_policy.set_policy("short", "^q$", {"consumer-timeout": 60_000}).wait(61)
    assert consumer(by_policy)[0] == "closed"
    longer = cluster(version, kind, consumer_timeout=60_000).set_policy("long", "^q$", {"consumer-timeout": 600_000})
    longer.publish("q").consume(consumer="slow", queue="q").wait(300)
    assert consumer(longer)[0] == "active"
    assert consumer(longer.clear_policy("long").wait(61))[0] == "closed"
    assert not [event for event in longer.outcome["events"] if event["event"] == "not_simulated"]


@pytest.mark.parametrize("kind", KINDS)
def test_argument_is_ignored_before_3_12(kind: str):
    three = cluster("3.10", kind, arguments={"x-consumer-timeout": 60_000}).publish("q")
    assert consumer(three.consume(consumer="slow", queue="q").wait(1_000))[0] == "active"
    event_names = {event["event"] for event in three.outcome["events"]}
    assert event_names & {"not_simulated", "arguments_ignored"}


def test_timeout_counts_towards_the_delivery_limit_of_a_quorum_queue():
    limited = cluster("4.0", arguments={"x-delivery-limit": 0, "x-consumer-timeout": 60_000}).publish("q")
    limited.consume(consumer="slow", queue="q").wait(120)
    assert limited.outcome["ledger"]["q"]["removed"]["dropped"] == [[1, 1]]


def test_ack_stops_the_timeout_before_it_is_committed():
    three = cluster("3.10").publish("q", 2).consume(consumer="slow", queue="q", node="a", prefetch=1)
    three.kill("b", "c").ack("slow").wait(2 * HALF_AN_HOUR)
    assert consumer(three)[0] == "active"


def test_failover_does_not_restart_the_timeout():
    three = Cluster("a", "b", "c", version="3.10").set_policy("ha", "^q$", {"ha-mode": "all"}).declare("q", node="a")
    three.publish("q", 1).consume(consumer="slow", queue="q", node="b", prefetch=1).wait(1_000).kill("a").wait(900)
    assert consumer(three)[0] == "closed"


@pytest.mark.parametrize("version", ["3.10", "4.0", "4.3"])
def test_consumer_with_too_low_a_rate_times_out(version: str):
    three = cluster(version).publish("q", 10).consume(consumer="slow", queue="q", node="a", prefetch=1, rate=0.0003)
    three.wait(2 * HALF_AN_HOUR)
    assert consumer(three)[0] == "closed" if version != "4.3" else three.outcome["consumers"]["slow"]["cancel_notified"]
    steady = cluster(version).publish("q", 10).consume(consumer="slow", queue="q", node="a", prefetch=1, rate=0.001)
    assert consumer(steady.wait(5 * HALF_AN_HOUR))[0] == "active"


def test_4_3_applies_the_configured_timeout_to_quorum_queues_only():
    classic = cluster("4.3", "classic").publish("q").consume(consumer="slow", queue="q").wait(100_000)
    assert consumer(classic) == ("active", [[1, 1]])
    short = cluster("4.3", consumer_timeout=60_000).publish("q").consume(consumer="slow", queue="q").wait(61)
    assert short.outcome["queues"]["q"]["messages_ready"] == 1
    day = cluster("4.3", consumer_timeout="undefined").publish("q").consume(consumer="slow", queue="q").wait(86_000)
    assert consumer(day) == ("active", [[1, 1]])
    assert day.wait(500).outcome["queues"]["q"]["messages_ready"] == 1


def test_search_key_includes_how_long_a_delivery_has_waited():
    def key_after(seconds: float) -> tuple:
        three = cluster("3.10").publish("q").consume(consumer="slow", queue="q", node="a").wait(seconds)
        return key(three.run.moment().state, three.run.settings)

    assert key_after(100) != key_after(1_000)
