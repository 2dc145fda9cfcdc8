"""A history played by the engine is the scenario that a person would have written, and its record that outcome."""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from hawb.scenario.document import Step
from hawb.scenario.outcome import outcome
from hawb.scenario.run import Run
from hawb.scenario.verbs import Close, Consume, Kill, Publisher, Start, Stop
from hawb.study.design import QUEUE, Design, Upgrade
from hawb.study.environment import Bursts, Calendar, Distribution, Environment, Traffic
from hawb.study.histories import (
    BURST,
    CONSUMERS_AWAY,
    CONSUMERS_BACK,
    KILL,
    MAINTENANCE,
    ROLLING_UPGRADE,
    START,
    STOP,
)
from hawb.study.played import play, scenario
from hawb.study.record import Record

DESIGN = Design(
    queue_type="classic", nodes=3, replicas=2, version="3.10",
    policy={"ha-sync-mode": "manual", "ha-promote-on-shutdown": "always"},
    upgrade=Upgrade(between_s=7),
)  # fmt: skip
A_WHILE = Distribution(mean_s=1)
WORK = Calendar(every_days=1, down_s=10)
ENVIRONMENT = Environment(
    traffic=Traffic(
        publish_per_s=10.0, consume_per_s=20.0, bursts=Bursts(every=A_WHILE, lasts=A_WHILE, publish_times=3)
    ),
    maintenance=WORK,
    rolling_upgrades=WORK,
)
HORIZON_S = 300


def played(*events: tuple[float, int, int]) -> Record:
    """The record of a history, in seconds."""
    rows = np.array([(round(time_s * 1e6), kind, about) for time_s, kind, about in events], np.int64).reshape(-1, 3)
    return play(DESIGN, ENVIRONMENT, rows, 5, HORIZON_S * 1_000_000)


def written(*steps: Step) -> Record:
    """The record that the outcome of a scenario gives."""
    begins = (publisher(1, "a", 0), consumer("a", 0))
    run = Run.of(replace(scenario(DESIGN, ENVIRONMENT, 5), steps=(*begins, *steps)))
    ended = outcome(run, run.moment_at(HORIZON_S))
    ledger, availability = ended["ledger"][QUEUE], ended["availability"][QUEUE]
    counts = {
        name: sum(last - first + 1 for first, last in ledger[name])
        for name in ("confirmed", "nacked", "refused", "lost", "delivered_twice")
    }
    names = ("promotions", "unsynchronised_promotions", "publish_down_s", "consume_down_s", "sync_blocked_s")
    return Record(
        published=ledger["published"], lost_confirmed=ledger["lost_confirmed"], **counts,
        **{name: availability[name] for name in (*names, "bytes_replicated")},
        outages=sum(event["event"] == "master_down" for event in ended["events"]),
        messages=ended["queues"][QUEUE]["messages"],
    )  # fmt: skip


def publisher(number: int, node: str, at: float, rate: float = 10.0) -> Step:
    """A publisher connects."""
    return Step(Publisher(name=f"publisher {number}", queue=QUEUE, node=node, rate=rate), at=at)


def consumer(node: str, at: float) -> Step:
    """The consumer connects."""
    return Step(Consume(consumer="consumer", queue=QUEUE, node=node, rate=20.0), at=at)


def test_clients_connect_to_the_next_node_a_second_after_they_lost_theirs():
    found = played((100.25, KILL, 0b001), (160, START, 0b001))
    assert found == written(
        Step(Kill(("a",)), at=100.25), publisher(2, "b", 101), consumer("b", 101), Step(Start(("a",)), at=160)
    )
    assert found.promotions == found.outages == 1


def test_consumers_stay_away_and_come_back():
    found = played((50, CONSUMERS_AWAY, 0), (90.5, CONSUMERS_BACK, 0))
    assert found == written(Step(Close("consumer"), at=50), consumer("a", 91))
    assert found.messages == 0


def test_another_rate_is_another_publisher():
    found = played((50, BURST, 1), (60, BURST, 0))
    steps = (
        Step(Close("publisher 1"), at=50), publisher(2, "a", 50, 30.0),
        Step(Close("publisher 2"), at=60), publisher(3, "a", 60),
    )  # fmt: skip
    assert found == written(*steps)


def test_maintenance_takes_a_node_down_with_the_next_second_and_brings_it_back():
    found = played((50.5, MAINTENANCE, 0b100))
    assert found == written(Step(Stop(("c",)), at=51), Step(Start(("c",)), at=61))


def test_a_rolling_upgrade_takes_one_node_after_another():
    found = played((50, ROLLING_UPGRADE, 0b111))
    assert found == written(
        Step(Stop(("a",)), at=51), publisher(2, "b", 52), consumer("b", 52), Step(Start(("a",)), at=61),
        Step(Stop(("b",)), at=75), publisher(3, "a", 76), consumer("a", 76), Step(Start(("b",)), at=85),
        Step(Stop(("c",)), at=99), Step(Start(("c",)), at=109),
    )  # fmt: skip


def test_a_node_stopped_twice_is_started_when_nothing_keeps_it_down():
    found = played((50, STOP, 0b010), (50.5, START, 0b010))
    assert found == written(Step(Stop(("b",)), at=50), Step(Start(("b",)), at=52))
