"""A history played by the engine equals a hand-written scenario, and its record that scenario's outcome."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from conftest import LONG
from msgspec.structs import replace
from random_studies import HORIZON_US, SEED, any_case

from hawb.engine.core import runs
from hawb.engine.core.ledger import imbalance
from hawb.engine.core.state import RUNNING
from hawb.engine.raft_groups.group import STORE
from hawb.scenario.document import Step
from hawb.scenario.outcome import outcome
from hawb.scenario.run import Run
from hawb.scenario.verbs import (
    Close,
    Consume,
    Cut,
    ForgetClusterNode,
    Heal,
    Join,
    Kill,
    Partition,
    PowerOff,
    Publisher,
    Start,
    Stop,
    Wipe,
)
from hawb.study import histories
from hawb.study.design import QUEUE, Design, Upgrade
from hawb.study.engine_trial import Played, play, scenario
from hawb.study.environment import Bursts, Calendar, Distribution, Environment, Traffic
from hawb.study.histories import (
    BURST,
    CONSUMERS_AWAY,
    CONSUMERS_BACK,
    CUT,
    CUT_LINK,
    HEAL,
    KILL,
    LOSE_DISK,
    MAINTENANCE,
    POWER_OFF,
    ROLLING_UPGRADE,
    START,
    STOP,
)
from hawb.study.trial_record import Record

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
DEADLINE_S = ENVIRONMENT.traffic.late_after_s


def played(*events: tuple[float, int, int]) -> Record:
    """Return the record of a history given in seconds."""
    rows = np.array([(round(time_s * 1e6), kind, about) for time_s, kind, about in events], np.int64).reshape(-1, 3)
    return play(DESIGN, ENVIRONMENT, rows, 5, HORIZON_S * 1_000_000)


def written(
    *steps: Step, metadata_down_s: float = 0.0, publish_down_s: float = 0.0, consume_down_s: float = 0.0
) -> Record:
    """The record that the outcome of a scenario gives, with the times of metadata and of clients, which it lacks."""
    begins = (publisher(1, "a", 0), consumer("a", 0))
    run = Run.of(replace(scenario(DESIGN, ENVIRONMENT, 5), steps=(*begins, *steps)))
    ended = outcome(run, run.moment_at(HORIZON_S))
    ledger, availability = ended["ledger"][QUEUE], ended["availability"][QUEUE]
    counts = {
        name: sum(last - first + 1 for first, last in ledger[name])
        for name in ("confirmed", "nacked", "refused", "lost", "delivered_twice")
    }
    names = ("promotions", "unsynchronised_promotions", "sync_blocked_s", "bytes_replicated")
    return Record(
        published=ledger["published"], lost_confirmed=ledger["lost_confirmed"], **counts,
        **{name: availability[name] for name in names}, queue_down_s=availability["publish_down_s"],
        publish_down_s=publish_down_s, consume_down_s=consume_down_s,
        outages=sum(event["event"] == "master_down" for event in ended["events"]),
        messages=ended["queues"][QUEUE]["messages"], metadata_down_s=metadata_down_s,
    )  # fmt: skip


def publisher(number: int, node: str, at: float, rate: float = 10.0) -> Step:
    """Return the step with which a publisher connects."""
    return Step(Publisher(name=f"publisher {number}", queue=QUEUE, node=node, rate=rate), at=at)


def consumer(node: str, at: float) -> Step:
    """Return the step with which the consumer connects."""
    return Step(Consume(consumer="consumer", queue=QUEUE, node=node, rate=20.0), at=at)


def test_clients_reconnect_to_the_next_node_after_a_second():
    found = played((100.25, KILL, 0b001), (160, START, 0b001))
    assert found == written(
        Step(Kill(("a",)), at=100.25), publisher(2, "b", 101), consumer("b", 101), Step(Start(("a",)), at=160)
    )
    assert found.promotions == found.outages == 1


def test_consumers_disconnect_and_return():
    found = played((50, CONSUMERS_AWAY, 0), (90.5, CONSUMERS_BACK, 0))
    assert found == written(Step(Close("consumer"), at=50), consumer("a", 91))
    assert found.messages == 0


def test_changed_rate_starts_a_new_publisher():
    found = played((50, BURST, 1), (60, BURST, 0))
    steps = (
        Step(Close("publisher 1"), at=50), publisher(2, "a", 50, 30.0),
        Step(Close("publisher 2"), at=60), publisher(3, "a", 60),
    )  # fmt: skip
    assert found == written(*steps)


def test_maintenance_stops_a_node_at_the_next_second_and_restarts_it():
    found = played((50.5, MAINTENANCE, 0b100))
    assert found == written(Step(Stop(("c",)), at=51), Step(Start(("c",)), at=61))


def test_rolling_upgrade_restarts_one_node_after_another():
    found = played((50, ROLLING_UPGRADE, 0b111))
    assert found == written(
        Step(Stop(("a",)), at=51), publisher(2, "b", 52), consumer("b", 52), Step(Start(("a",)), at=61),
        Step(Stop(("b",)), at=75), publisher(3, "a", 76), consumer("a", 76), Step(Start(("b",)), at=85),
        Step(Stop(("c",)), at=99), Step(Start(("c",)), at=109),
    )  # fmt: skip


@pytest.mark.parametrize("drain", [False, True])
def test_procedure_awaits_quorum_plus_one_and_then_drains(drain: bool):
    faults = [(40_000_000, KILL, 0b100), (50_000_000, MAINTENANCE, 0b010), (100_000_000, START, 0b100)]
    down_s = {}
    for awaits in (False, True):
        procedure = Upgrade(drain=drain, await_online_quorum_plus_one=awaits)
        design = Design(queue_type="quorum", nodes=3, replicas=3, version="3.10", upgrade=procedure)
        trial = Played(design, ENVIRONMENT, 5)
        trial.through(faults, 150_000_000)
        down_s[awaits] = trial.record().queue_down_s
    assert down_s[False] > 10 > 1 > down_s[True]


def test_rolling_upgrade_without_waits_continues_at_the_next_second():
    design = replace(DESIGN, policy=DESIGN.policy | {"ha-sync-mode": "automatic"}, upgrade=Upgrade())
    trial = Played(design, ENVIRONMENT, 5)
    trial.through([(50_000_000, ROLLING_UPGRADE, 0b111)], 120_000_000)
    assert trial._work.left == []


def test_node_stopped_twice_starts_after_the_last_reason_ends():
    found = played((50, STOP, 0b010), (50.5, START, 0b010))
    assert found == written(Step(Stop(("b",)), at=50), Step(Start(("b",)), at=52))


def test_power_loss_is_detected_after_net_ticktime():
    found = played((100, POWER_OFF, 0b001), (110, START, 0b001))
    assert found == written(
        Step(PowerOff(("a",)), at=100), publisher(2, "b", 101), Step(Start(("a",)), at=110), consumer("a", 117),
        metadata_down_s=15, publish_down_s=15 - DEADLINE_S, consume_down_s=11.0005,
    )
    assert found.queue_down_s == 15
    missed = played((100, POWER_OFF, 0b001))
    assert (missed.queue_down_s, missed.publish_down_s, missed.consume_down_s) == (60, 55, 56)


def test_wiped_node_is_forgotten_and_joins_again():
    found = played((100, KILL, 0b001), (100, LOSE_DISK, 0b001), (160.5, START, 0b001))
    assert found == written(
        Step(Kill(("a",)), at=100), Step(Wipe("a"), at=100), publisher(2, "b", 101), consumer("b", 101),
        Step(ForgetClusterNode("a"), at=161), Step(Join("a"), at=161),
    )  # fmt: skip
    assert found.lost == 0


def test_replaced_node_of_4_3_counts_for_the_majority_of_the_metadata_store():
    """It joins once its removal is committed, though both commands are given at the same moment."""
    quorum = Design(queue_type="quorum", nodes=3, replicas=3, version="4.3")
    trial = Played(quorum, ENVIRONMENT, 5)
    trial.through([
        (100_000_000, KILL, 0b001), (100_000_000, LOSE_DISK, 0b001), (120_000_000, START, 0b001),
        (150_000_000, KILL, 0b010),
    ], 200_000_000)  # fmt: skip
    assert trial.turn.groups[STORE].members[2].members == (0, 1, 2)
    assert trial.turn.focus.store.up
    assert not [refused for refused in trial.turn.refusals if "not_permitted" in refused.text]


def test_only_member_without_its_disk_starts_anew_with_what_the_consumer_holds():
    alone = Played(Design(queue_type="quorum", nodes=3, replicas=1, version="4.0"), ENVIRONMENT, 5)
    alone.through([
        (50_000_000, CONSUMERS_AWAY, 0), (100_000_000, KILL, 0b001), (100_000_000, LOSE_DISK, 0b001),
        (120_000_000, START, 0b001),
    ], 200_000_000)  # fmt: skip
    assert alone.queue.up
    assert alone.record().lost_confirmed > 0


def test_node_waiting_for_a_wiped_node_is_force_booted():
    all_down = ((100, KILL, 0b111), (100, LOSE_DISK, 0b110))
    assert played(*all_down).queue_down_s == 200
    assert played(*all_down, (120, START, 0b111)).queue_down_s == 200
    trial = Played(DESIGN, ENVIRONMENT, 5)
    rows = [(round(time_s * 1e6), kind, about) for time_s, kind, about in (*all_down, (120, START, 0b111))]
    trial.through(rows, 1_000_000_000)
    assert [(node.status, node.virgin, node.member) for node in trial.turn.nodes] == [(RUNNING, False, True)] * 3
    assert trial.queue.up


def test_queue_lost_with_its_disk_is_declared_again():
    unmirrored = replace(DESIGN, replicas=1, policy={})
    rows = np.array([(100_000_000, KILL, 1), (100_000_000, LOSE_DISK, 1), (200_000_000, START, 1)], np.int64)
    found = play(unmirrored, ENVIRONMENT, rows, 5, HORIZON_S * 1_000_000)
    assert (found.refused, found.lost_confirmed, found.messages) == (1001, 1000, 0)
    assert (found.queue_down_s, found.publish_down_s) == (101, 101 - DEADLINE_S)


def test_single_wiped_node_starts_empty():
    lone = replace(DESIGN, nodes=1, replicas=1, policy={})
    rows = np.array([(100_000_000, KILL, 1), (100_000_000, LOSE_DISK, 1), (200_000_000, START, 1)], np.int64)
    assert 100 < play(lone, ENVIRONMENT, rows, 5, HORIZON_S * 1_000_000).queue_down_s < 120


def test_quorum_queue_gets_a_member_on_a_rejoined_node():
    trial = Played(replace(DESIGN, queue_type="quorum", replicas=3, policy={}), ENVIRONMENT, 5)
    trial.through([(100_000_000, KILL, 1), (100_000_000, LOSE_DISK, 1), (120_000_000, START, 1)], 300_000_000)
    found = [entry.event for entry in trial.turn.entries if entry.event.startswith(("member_", "node_"))]
    assert trial.queue.members == (0, 1, 2)
    assert found.index("node_joined") < found.index("member_added")
    assert trial.record().lost == 0


@pytest.mark.parametrize("handling", ["ignore", "autoheal", "pause_minority"])
def test_healed_partition_is_one_cluster_again(handling: str):
    trial = Played(replace(DESIGN, cluster_partition_handling=handling), ENVIRONMENT, 5)
    trial.through([(100_000_000, CUT, 0b001), (200_000_000, HEAL, 0b001)], 300_000_000)
    assert (len(trial.turn.sides), trial.turn.cuts) == (1, {})
    assert [node.status for node in trial.turn.nodes] == [RUNNING] * 3
    assert trial.record().promotions == 1


def test_side_is_restarted_by_hand_under_ignore():
    found = played((100, CUT, 0b001), (200.5, HEAL, 0b001))
    assert found.outages == 0  # the trace has each side's, the record those of the queue
    assert replace(found, outages=2) == written(
        Step(Partition((("a",), ("b", "c"))), at=100), Step(Heal(), at=200.5),
        Step(Stop(("b", "c")), at=201), Step(Start(("b", "c")), at=203), metadata_down_s=60,
        publish_down_s=60 - DEADLINE_S,
    )  # fmt: skip


def test_link_healed_within_net_ticktime_has_no_lasting_effect():
    found = played((100, CUT_LINK, 0b011), (130, HEAL, 0b011))
    assert found == written(
        Step(Cut((("a", "b"),)), at=100), Step(Heal(), at=130), metadata_down_s=30, publish_down_s=30 - DEADLINE_S
    )
    assert found.promotions == found.lost == found.outages == 0


@pytest.mark.parametrize(("quorum", "cases"), [(False, 20), (True, 20 if LONG else 4)])
def test_ledger_balances_for_random_histories(quorum: bool, cases: int):
    mended = Counter()
    for number in range(cases):
        given = any_case(number, quorum=quorum)
        trial = Played(given.design, given.environment, number)
        history = histories.history(given.environment, given.design.nodes, SEED, number, HORIZON_US)
        trial.through(history.tolist(), HORIZON_US)
        contents = [side.queues[QUEUE].content for side in trial.turn.sides.values() if QUEUE in side.queues]
        assert imbalance(trial.account, runs.normal(pair for content in contents for pair in content)) is None
        mended.update({entry.event for entry in trial.turn.entries})
    assert min(mended[event] for event in ("disk_lost", "node_joined", "links_timed_out", "node_lost_power")) >= 1


# The first leader

QUORUM = Design(queue_type="quorum", nodes=3, replicas=3, version="3.13")
STEADY = Environment(traffic=Traffic(publish_per_s=10.0, consume_per_s=20.0))


def leader_deaths(count: int) -> np.ndarray:
    """Return a history in which nodes die in turn twice a minute for ten seconds."""
    rows = [((10 + 30 * turn + 10 * back) * 1_000_000, (KILL, START)[back], 1 << turn % 3)
            for turn in range(count) for back in (0, 1)]  # fmt: skip
    return np.array(rows, np.int64).reshape(-1, 3)


@pytest.mark.parametrize("deaths", [0, 6])
def test_outages_count_dead_leaders_and_not_the_first_election(deaths: int):
    history, horizon_us = leader_deaths(deaths), HORIZON_S * 1_000_000
    found = play(QUORUM, STEADY, history, 5, horizon_us)
    assert found.outages == found.nacked == 0 if not deaths else 2 <= found.outages <= deaths
    assert (found.queue_down_s == 0) == (deaths == 0)
    assert found.publish_down_s == found.consume_down_s == 0  # elections and new connections take less than 5 s


# What clients see

CALM = Environment(traffic=Traffic(publish_per_s=10.0, consume_per_s=20.0, deadline_s=2.0))
CLASSIC = Design(queue_type="classic", nodes=3, replicas=3, version="3.13", policy={"ha-sync-mode": "automatic"})


def seen(
    design: Design, *events: tuple[float, int, int], environment: Environment = CALM
) -> tuple[float, float, float]:
    """Return the seconds of publishers, of consumers and of the queue itself in a trial of a history."""
    rows = [(round(time_s * 1e6), kind, about) for time_s, kind, about in events]
    trial = Played(design, environment, 5)
    trial.through(rows, HORIZON_S * 1_000_000)
    found = trial.record()
    return found.publish_down_s, found.consume_down_s, found.queue_down_s


@pytest.mark.parametrize("handling", ["ignore", "autoheal", "pause_minority"])
def test_mirrored_queue_does_not_confirm_until_a_cut_is_detected(handling: str):
    """The master and both clients are on one side of the cut, so the consumer is served."""
    design = replace(CLASSIC, cluster_partition_handling=handling)
    assert seen(design, (100, CUT, 0b100), (250, HEAL, 0)) == (58, 0, 0)


def test_quorum_queue_confirms_by_majority_during_a_cut():
    assert seen(QUORUM, (100, CUT, 0b100), (250, HEAL, 0)) == (0, 0, 0)


@pytest.mark.parametrize("lasts_s", [1.5, 2.0])
def test_interruption_shorter_than_the_deadline_does_not_count(lasts_s: float):
    assert seen(CLASSIC, (100, CUT, 0b100), (100 + lasts_s, HEAL, 0)) == (0, 0, 0)
    at_once = replace(CALM, traffic=replace(CALM.traffic, deadline_s=0.0))
    published_s, _, _ = seen(CLASSIC, (100, CUT, 0b100), (100 + lasts_s, HEAL, 0), environment=at_once)
    assert published_s == pytest.approx(lasts_s, abs=0.01)


def test_failure_of_all_nodes_interrupts_both_queue_types_equally():
    lost = ((100, KILL, 0b111), (150, START, 0b111))
    for design in (CLASSIC, QUORUM):
        published_s, consumed_s, down_s = seen(design, *lost)
        assert 50 < down_s < 60
        assert 48 < published_s < 60
        assert published_s <= consumed_s < 60


def test_idle_clients_are_not_interrupted():
    night = replace(CALM, traffic=replace(CALM.traffic, publish_per_s=(0.0,) * 24))
    lost = ((90, CONSUMERS_AWAY, 0), (100, KILL, 0b111), (150, START, 0b111))
    published_s, consumed_s, down_s = seen(CLASSIC, *lost, environment=night)
    assert (published_s, consumed_s) == (0, 0) != down_s


# Clients on every node

PAUSING_MINORITY = replace(CLASSIC, cluster_partition_handling="pause_minority")
EVERYWHERE = replace(CALM, traffic=replace(CALM.traffic, publish_per_s=30.0, consume_per_s=60.0, clients="every_node"))
CUT_OFF = ((90, CONSUMERS_AWAY, 0), (100, CUT, 0b100), (250, HEAL, 0))
"""Node c is cut off for 150 s. It notices after 60 s, and publishes for the other 90. Nobody consumes."""


def everywhere(design: Design, *events: tuple[float, int, int]) -> Record:
    """Return the record of a history with clients on every node."""
    trial = Played(design, EVERYWHERE, 5)
    trial.through([(round(time_s * 1e6), kind, about) for time_s, kind, about in events], HORIZON_S * 1_000_000)
    return trial.record()


@pytest.mark.parametrize("handling", ["ignore", "autoheal"])
def test_split_brain_loses_confirmed_messages_of_one_side(handling: str):
    found = everywhere(replace(CLASSIC, cluster_partition_handling=handling), *CUT_OFF)
    assert found.lost_confirmed == pytest.approx(150 * 10, abs=20)
    lone = seen(replace(CLASSIC, cluster_partition_handling=handling), *CUT_OFF)
    assert lone == (58, 0, 0)


@pytest.mark.parametrize("design", [PAUSING_MINORITY, QUORUM], ids=["pause_minority", "quorum"])
def test_clients_of_a_minority_wait_without_loss(design: Design):
    assert everywhere(design, *CUT_OFF).lost_confirmed == 0


def test_clients_on_an_isolated_node_are_interrupted():
    found = everywhere(QUORUM, (100, CUT, 0b100), (250, HEAL, 0))
    third_s = (150 - EVERYWHERE.traffic.late_after_s) / 3
    assert found.publish_down_s == pytest.approx(third_s, abs=0.1)
    assert found.consume_down_s == pytest.approx(third_s, abs=0.1)


def test_clients_use_their_own_node_or_the_next_while_it_is_down():
    trial = Played(CLASSIC, EVERYWHERE, 5)

    def nodes() -> list[int]:
        return sorted(one.node for one in trial.turn.publishers.values() if not one.closed)

    trial.through([(50_000_000, KILL, 0b010)], 60_000_000)
    assert nodes() == [0, 2, 2]
    assert sorted(trial.turn.consumers[f"consumer {name}"].node for name in "abc") == [0, 2, 2]
    trial.through([(70_000_000, START, 0b010), (100_000_000, KILL, 0b100)], 120_000_000)
    assert nodes() == [0, 0, 1]  # the client of b is at its own node again
    assert trial.record().published == pytest.approx(119 * 30, abs=5)  # a second each for three connections


# Metadata


TODAY = Design(queue_type="quorum", nodes=3, replicas=3, version="4.3")
MIRRORED = Design(queue_type="classic", nodes=3, replicas=3, version="3.13", policy={"ha-sync-mode": "automatic"})
PAUSING = replace(MIRRORED, cluster_partition_handling="pause_minority")
A, AB, ALL = 0b001, 0b011, 0b111


@pytest.mark.parametrize(
    ("history", "khepri_s", "mnesia_s", "pausing_s"),
    [
        ([(100, KILL, A)], 0.3, 0, 0),  # it led the store, and another was elected
        ([(100, KILL, 0b010)], 0, 0, 0),
        ([(100, KILL, AB), (200, START, AB)], 105.3, 0, 106),  # c alone: no majority; runs on; pauses
        ([(100, STOP, AB), (200, START, AB)], 105.3, 0, 105),
        ([(100, KILL, ALL), (200, START, ALL)], 105.3, 105, 105),
        ([(100, POWER_OFF, A)], 6.3, 60, 60),  # Mnesia waits for net_ticktime, Khepri for its suspicion
        ([(100, POWER_OFF, 0b100)], 0, 60, 60),  # who follows is missed by nobody
        ([(100, CUT, 0b100), (250, HEAL, 0)], 0, 60, 60),  # the majority, or each side, goes on
        ([(100, CUT, 0b100), (130, HEAL, 0)], 0, 30, 30),
    ],
)
def test_metadata_downtime_by_metadata_store_and_partition_handling(
    history, khepri_s, mnesia_s, pausing_s
):
    rows = [(round(time_s * 1e6), kind, about) for time_s, kind, about in history]
    for design, known_s in ((TODAY, khepri_s), (MIRRORED, mnesia_s), (PAUSING, pausing_s)):
        trial = Played(design, ENVIRONMENT, 5)
        trial.through(rows, 300_000_000)
        assert trial.record().metadata_down_s == pytest.approx(known_s, abs=0.01), design.version


def test_metadata_downtime_counts_up_to_the_horizon():
    trial = Played(TODAY, ENVIRONMENT, 5)
    trial.through([(100_000_000, KILL, AB)], 250_000_000)
    assert trial.record().metadata_down_s == 150


def test_late_acks_of_returned_messages_commit_nothing():
    """While the link was down, the queue requeued the messages; the consumer acknowledges them after it heals."""
    steady = Environment(traffic=Traffic(publish_per_s=50.0, consume_per_s=200.0))
    trial = Played(TODAY, steady, 5)
    trial.through([(100_120_500, CUT, A), (250_120_500, HEAL, 0)], 500_000_000)
    assert trial.account.lost_confirmed == 0
    assert trial.queue.fifo.suspected == frozenset()
