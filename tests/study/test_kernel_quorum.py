"""The kernel and the engine make the same of the same history for a quorum queue: every field of the record, and the
counter behind all that was planned and drawn, message by message of its Raft group.

Random designs in random environments: of 3.x under stops and kills (`random_studies.quorum_case`), of 4.0 and 4.3 under
the same (`today_case`), and of any release with losses of power (`power_case`), lost disks (`disk_case`) and links that
fail (`quorum_cut_case`). Of each kind 20 or fewer in `make test`, but none with links that fail, for which another
kernel is compiled; with `make test-full` as many again of 120, others each day; 5,000 with HAWB_LONG, which counts them
by value of a design key × kind of fault, and prints the table, with how many the kernel left to the engine.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cache

import numpy as np
import pytest
from conftest import LONG
from msgspec import Struct, field
from msgspec.structs import asdict
from random_studies import (
    HORIZON_US,
    SEED,
    Case,
    disk_case,
    power_case,
    quorum_case,
    quorum_cut_case,
    today_case,
    with_prefetch,
)
from samples import of_the_day
from test_kernel_agreement import FAULTS, LEAST_LIMITED, STUDIES, agreed, faults_of, history_of, prefetch_limits

from hawb.engine.core import runs
from hawb.rules.profiles import PROFILES
from hawb.scenario.document import Timing
from hawb.study import histories
from hawb.study.design import Design
from hawb.study.engine_trial import SECOND_US, Played, own_seed
from hawb.study.environment import Distribution, Environment, Partitions, Traffic
from hawb.study.kernel import block, setup
from hawb.study.kernel.trial import HANDED_OVER
from hawb.study.load import load
from hawb.study.trial_record import Record

pytestmark = pytest.mark.kernel

CASES = 5_000 if LONG else 120
FOUND = {203: False, 4535: True, 359: False, 656: False}
"""Cases that once differed, and whether their upgrades wait. 203: what flowed before an event took another off the
agenda, and the kernel then played the one that had moved to its row. 4535: on a network without delay, publishers
heard of what was committed by a flow only with the next one, and no more if their node was killed before. 359: a
consumer that came back before a new leader had looked for its old channel kept what that had held, in the engine. 656:
a leader that reached a node again said so only if it had not found yet that the consumer there was gone, in the
kernel."""
LEAST_PER_PAIR = 100
LEAST_DELIVERED_TWICE, LEAST_GIVEN_UP, LEAST_LOST = 0.2, 0.03, 0.005
MOST_FALLEN_BACK = {"3.x": 0.25, "4.x": 0.2, "power": 0.2, "disks": 0.3, "links": 0.3}
"""The largest shares of the cases; disks are lost every few minutes."""

DESIGN_KEYS = (
    "version", "nodes", "replicas", "cluster_partition_handling", "net_ticktime", "quorum_commands_soft_limit", "drain",
    "rebalance", "await_online_quorum_plus_one", "delivery-limit",
)  # fmt: skip


Result = tuple[dict[str, float], int]
"""A trial's record, and its counter."""


def played_by_engine(given: Case, history: np.ndarray, horizon_us: int = HORIZON_US) -> Played:
    """Play a history on the engine."""
    trial = Played(given.design, given.environment, own_seed(SEED, given.number))
    trial.through(history.tolist(), horizon_us)
    return trial


def result_of(trial: Played) -> Result:
    """Return the result of a trial that the engine played."""
    return asdict(trial.record()), trial.turn.counter


def by_engine(given: Case, history: np.ndarray, horizon_us: int = HORIZON_US) -> Result:
    """Return the engine's result for a history."""
    return result_of(played_by_engine(given, history, horizon_us))


def by_kernel(given: Case, horizon_us: int = HORIZON_US) -> Result:
    """Return the kernel's result. The kernel draws the history itself."""
    begun = setup.begin_trial(given.design, given.environment, 0)
    table = histories.sources(given.environment, given.design.nodes)
    (row,) = block.rows_in(begun, table, SEED, given.number, 1, horizon_us).tolist()
    result = dict(zip(Record.__struct_fields__, row, strict=True))
    in_seconds = {name: value / SECOND_US if name.endswith("_s") else value for name, value in result.items()}
    return in_seconds, int(begun["moment"]["counter"][0])


class Compared(Struct):
    """Cases compared: how often each pair of a design key's value and a kind of fault occurred, how many delivered
    messages twice, how many gave messages up, how many lost messages, and how many the kernel left to the engine, which
    count for nothing."""

    pairs: Counter = field(default_factory=Counter)
    twice: int = 0
    given_up: int = 0
    lost: int = 0
    fallen_back: int = 0


KINDS = {
    "3.x": quorum_case, "4.x": today_case, "power": power_case, "disks": disk_case, "links": quorum_cut_case,
}  # fmt: skip
"""The kinds of cases by their names."""
SIZES = {"3.x": 20, "4.x": 20, "power": 10, "disks": 10, "links": 10}
"""How many cases a test compares of each kind."""
PARTS_OF = [(kind, part) for kind, size in SIZES.items() for part in range(CASES // size)]
"""Tests of sizes that end within pytest's limit for one."""


def parts(first: Sequence[str]) -> list[object]:
    """Return the parameters of tests: the first part of these kinds, and with `make test-full` another of each kind."""
    begun: list[object] = [(kind, 0) for kind in first]
    others = [[part for part in PARTS_OF if part[0] == kind and part not in begun] for kind in SIZES]
    return begun + [part for of_kind in others for part in of_the_day(of_kind, 1, pytest.mark.full)]


@cache
def compared(kind: str, part: int) -> Compared:
    """Compare a part of the cases of a kind."""
    found = Compared()
    for number in range(part * SIZES[kind], (part + 1) * SIZES[kind]):
        given = KINDS[kind](number)
        history = history_of(given)
        kernel = by_kernel(given)
        if kernel[0]["published"] == HANDED_OVER and may_fall_back(given, history):
            found.fallen_back += 1
            continue
        played = played_by_engine(given, history)
        assert kernel == result_of(played), f"case {number} of {kind}: {dict(given.chosen)}"
        assert kind == "disks" or played.account.lost == runs.EMPTY
        found.lost += bool(played.account.lost)
        found.twice += bool(played.account.delivered_twice)
        found.given_up += bool(dict(played.account.removed)["dropped"])
        chosen = [f"{key}: {value}" for key, value in given.chosen if key in DESIGN_KEYS]
        found.pairs.update((value, fault) for value in chosen for fault in faults_of(history))
    return found


def all_of(kind: str) -> Compared:
    """Compare all cases of a kind."""
    found = [compared(*part) for part in PARTS_OF if part[0] == kind]
    return Compared(
        sum((one.pairs for one in found), Counter()), sum(one.twice for one in found),
        sum(one.given_up for one in found), sum(one.lost for one in found), sum(one.fallen_back for one in found),
    )  # fmt: skip


def may_fall_back(given: Case, history: np.ndarray) -> bool:
    """Return True if the kernel may leave a case to the engine. With Mnesia that is where a node can come up first that
    has no member, and does not know the queue; with Khepri where a node can be drained without a majority; with both
    where disks are lost, as `quorum_disks` says."""
    design = given.design
    if "lose_disk" in faults_of(history):
        return True
    if PROFILES[design.version].khepri:
        return design.upgrade.drain
    return design.replicas is None or design.replicas < design.nodes


@pytest.mark.parametrize("number", FOUND)
def test_kernel_agrees_on_histories_that_once_differed(number):
    given = quorum_case(number, awaits=FOUND[number])
    assert by_kernel(given) == by_engine(given, history_of(given))


@pytest.mark.parametrize(("kind", "part"), parts([kind for kind in SIZES if kind != "links"]))
def test_kernel_agrees_on_random_histories(kind, part):
    assert compared(kind, part).fallen_back <= SIZES[kind] * (0.8 if kind == "disks" else 0.5)


@pytest.mark.parametrize(("kind", "part"), parts(["power"]))
def test_kernel_agrees_on_consumers_with_a_prefetch(kind, part):
    limited(kind, part)


@cache
def limited(kind: str, part: int) -> int:
    """The cases of a part compared with a prefetch: in how many of them it changes the record."""
    numbers = range(part * SIZES[kind], (part + 1) * SIZES[kind])
    return sum(prefetch_limits(with_prefetch(KINDS[kind](number))) for number in numbers)


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_prefetch_changes_many_records(kind):
    assert sum(limited(*part) for part in PARTS_OF if part[0] == kind) >= LEAST_LIMITED * CASES


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_cases_cover_design_values_and_faults(kind, capsys):
    found = all_of(kind)
    assert found.fallen_back <= MOST_FALLEN_BACK[kind] * CASES, found.fallen_back
    # Where power is lost few nodes are killed alone: each value meets that in the other kinds.
    with_power = ("power_off", *(fault for fault in FAULTS if fault != "kill"))
    faults = {"power": with_power, "disks": ("lose_disk",), "links": with_power}.get(kind, FAULTS)
    values = sorted({value for value, _ in found.pairs})
    with capsys.disabled():
        print(f"\n{CASES:,} histories of quorum queues ({kind}) by value of a design key and kind of fault;"
              f" {found.fallen_back:,} left to the engine")  # fmt: skip
        print(f"{'':<42}" + "".join(f"{fault:>16}" for fault in faults))
        for value in values:
            print(f"{value:<42}" + "".join(f"{found.pairs[value, fault]:>16,}" for fault in faults))
    least = LEAST_PER_PAIR // 2 if kind == "disks" else LEAST_PER_PAIR
    rare = [(value, fault) for value in values for fault in faults if found.pairs[value, fault] < least]
    assert rare == ([] if kind == "disks" else [("nodes: 1", "several at once")])


@pytest.mark.long
def test_nodes_are_cut_off_and_single_links_fail():
    found = Counter(fault for _, fault in all_of("links").pairs.elements())
    assert min(found["cut"], found["cut_link"]) >= CASES // 5


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_many_cases_deliver_messages_twice(kind):
    assert all_of(kind).twice >= LEAST_DELIVERED_TWICE * CASES


@pytest.mark.long
@pytest.mark.parametrize("kind", ["4.x", "power"])
def test_some_cases_reach_the_delivery_limit(kind):
    assert all_of(kind).given_up >= LEAST_GIVEN_UP * CASES


@pytest.mark.long
def test_some_cases_lose_messages_with_their_disks():
    assert all_of("disks").lost >= LEAST_LOST * CASES


SECOND = 1_000_000
SLOW = Environment(traffic=Traffic(publish_per_s=1.0, consume_per_s=0.01))


def given_back_twice(version: str, limit: int, kind: int = histories.KILL) -> Record:
    """Return the record if the consumer's node dies twice, first a, then b."""
    design = Design(queue_type="quorum", nodes=3, replicas=3, version=version, policy={"delivery-limit": limit})
    result = agreed(Case(0, design, SLOW, ()), np.array([
        (20 * SECOND, kind, 0b001), (30 * SECOND, histories.START, 0b001),
        (100 * SECOND, kind, 0b010), (110 * SECOND, histories.START, 0b010),
    ]))  # fmt: skip
    assert result is not None, "the kernel left it to the engine"
    return result


# In 4.3 what a consumer out of sight holds comes back after a minute, and that counts for no return.
@pytest.mark.parametrize(("version", "kind"), [
    ("4.0", histories.KILL), ("4.0", histories.STOP), ("4.0", histories.POWER_OFF),
    ("4.3", histories.KILL), ("4.3", histories.STOP),
])  # fmt: skip
def test_message_beyond_the_delivery_limit_is_dropped(version, kind):
    once, twice, never = (given_back_twice(version, limit, kind).messages for limit in (0, 1, 2))
    assert once <= twice < never


@pytest.mark.parametrize("version", ["4.0", "4.3"])
def test_subscription_that_is_committed_too_late_returns_the_messages_of_its_prefetch(version):
    """The other nodes are killed before a subscription is committed. When they are back, its channel has given it up:
    the queue sends messages to it, gets them back, and drops them for that."""
    design = Design(
        queue_type="quorum", nodes=3, replicas=3, version=version, policy={"delivery-limit": 0}, net_ticktime=5
    )
    history = np.array([
        (5 * SECOND, histories.CONSUMERS_AWAY, 0), (20 * SECOND + SECOND // 2, histories.CONSUMERS_BACK, 0),
        (21 * SECOND + 300, histories.KILL, 0b110), (40 * SECOND, histories.START, 0b110),
    ])  # fmt: skip

    def left(prefetch: int) -> float:
        traffic = Traffic(publish_per_s=1.0, consume_per_s=1.0, prefetch=prefetch)
        result = agreed(Case(0, design, Environment(traffic=traffic), ()), history)
        assert result is not None, "the kernel left it to the engine"
        return result.messages

    assert left(1) > left(5) > left(0)


def held_after(back_s: int) -> Record:
    """What comes of messages whose consumer goes with its node, and comes back so much later, by 4.3, which gives up
    what comes back once."""
    design = Design(queue_type="quorum", nodes=3, replicas=3, version="4.3", policy={"delivery-limit": 0})
    result = agreed(Case(0, design, SLOW, ()), np.array([
        (20 * SECOND, histories.KILL, 0b001), (20 * SECOND + SECOND // 10, histories.CONSUMERS_AWAY, 0),
        ((20 + back_s) * SECOND, histories.CONSUMERS_BACK, 0),
    ]))  # fmt: skip
    assert result is not None, "the kernel left it to the engine"
    return result


def test_messages_of_an_unreachable_consumer_return_after_a_minute():
    assert held_after(50).messages < held_after(70).messages


def after_lost_disk(version: str, replicas: int) -> Record:
    """Return the record if the first node is killed without a consumer, loses its disk, and is replaced."""
    design = Design(queue_type="quorum", nodes=3, replicas=replicas, version=version)
    result = agreed(Case(0, design, SLOW, ()), np.array([
        (5 * SECOND, histories.CONSUMERS_AWAY, 0), (20 * SECOND, histories.KILL, 0b001),
        (20 * SECOND, histories.LOSE_DISK, 0b001), (40 * SECOND, histories.START, 0b001),
        (60 * SECOND, histories.KILL, 0b010),
    ]))  # fmt: skip
    assert result is not None, "the kernel left it to the engine"
    return result


@pytest.mark.parametrize("version", ["3.8", "3.10", "3.13", "4.0", "4.3"])
def test_only_members_without_others_lose_messages_with_their_disks(version):
    alone, beside_others = after_lost_disk(version, 1), after_lost_disk(version, 3)
    assert beside_others.lost == 0 < alone.lost
    assert beside_others.queue_down_s < 5 < alone.queue_down_s


CUT, HEAL = histories.CUT, histories.HEAL
LINKS_FAIL = Partitions(every=Distribution(mean_s=9), lasts=Distribution(mean_s=9))


def with_cuts(version: str, events: Sequence[tuple[float, int, int]], **design: object) -> Record | None:
    """Return the record of events (time in seconds, kind, nodes) in a network whose links may fail.

    None if the trial falls back to the engine.
    """
    given = Design(queue_type="quorum", nodes=3, replicas=3, version=version, **design)
    environment = Environment(traffic=Traffic(publish_per_s=20.0, consume_per_s=40.0), partitions=LINKS_FAIL)
    return agreed(Case(0, given, environment, ()), np.array([(round(at * SECOND), *event) for at, *event in events]))


RELEASES = ("3.8", "3.10", "3.13", "4.0", "4.3")


@pytest.mark.full
@pytest.mark.parametrize("version", RELEASES)
def test_short_cut_stops_a_leader_without_other_members_and_costs_no_message(version):
    result = with_cuts(version, [(20, CUT, 0b001), (25, HEAL, 0)])
    assert result is not None, "the kernel left it to the engine"
    assert (result.outages, result.lost, result.refused, result.delivered_twice) == (1, 0, 0, 0)
    assert 5 <= result.queue_down_s < 5.1


@pytest.mark.full
@pytest.mark.parametrize("handling", ["ignore", "autoheal"])
@pytest.mark.parametrize("version", RELEASES[:-1])
def test_clients_leave_a_minority_that_pauses(version, handling):
    """A majority elects a leader after six seconds. Clients of the minority wait until links heal, unless their node
    pauses after net_ticktime. Without a pause one side, here the larger one, is restarted once the links work again."""
    events = [(20, CUT, 0b001), (140, HEAL, 0)]
    stays = with_cuts(version, events, cluster_partition_handling=handling, net_ticktime=10)
    pauses = with_cuts(version, events, cluster_partition_handling="pause_minority", net_ticktime=10)
    assert stays is not None and pauses is not None, "the kernel left it to the engine"
    assert (pauses.outages, stays.outages) == (1, 2)
    assert 6 < pauses.queue_down_s < 8 < stays.queue_down_s
    assert pauses.publish_down_s < 8 < 110 < stays.publish_down_s
    assert (stays.lost, pauses.lost) == (0, 0)


@pytest.mark.full
def test_sides_of_a_cluster_with_khepri_rejoin():
    result = with_cuts("4.3", [(20, CUT, 0b001), (140, HEAL, 0)], net_ticktime=10)
    assert result is not None, "the kernel left it to the engine"
    assert result.publish_down_s > 110 and result.lost == 0 and result.outages == 1


@pytest.mark.full
@pytest.mark.parametrize("version", RELEASES)
def test_disks_that_are_lost_during_a_partition_are_left_to_the_engine(version):
    lost = [(30, histories.KILL, 0b010), (30, histories.LOSE_DISK, 0b010), (50, histories.START, 0b010)]
    assert with_cuts(version, [(20, CUT, 0b001), *lost, (90, HEAL, 0)]) is None
    assert with_cuts(version, [*lost[:2], (31, CUT, 0b001), lost[2], (90, HEAL, 0)]) is None
    assert with_cuts(version, [*lost, (150, CUT, 0b001), (190, HEAL, 0)]) is not None


BACK = [(3, histories.KILL, 1), (4, histories.START, 1), (15, histories.CONSUMERS_AWAY, 0),
        (20, histories.CONSUMERS_BACK, 0)]  # fmt: skip
"""The clients' node is back as a follower, and the consumer comes back after a while."""


@pytest.mark.full
@pytest.mark.parametrize(
    ("seed", "version", "handling", "ticktime", "latency_s", "traffic", "cut"),
    [
        # A second request to consume came when the first one had just been committed.
        (0, "3.10", "pause_minority", 5.0, 0.1, (3.0, 40.0, "auto"), (1, 20.090740, 22.090740)),
        # Messages under way to a leader that stepped down wait at their publisher at once.
        (0, "3.13", "pause_minority", 20.0, 1.0, (3.0, 2.0, "manual"), (1, 26.426574, 34.426574)),
        # Deliveries are under way when the links fail.
        (0, "3.8", "autoheal", 5.0, 1.0, (3.0, 40.0, "manual"), (1, 24.806174, 26.806174)),
        (0, "4.3", "ignore", 20.0, 0.5, (3.0, 2.0, "manual"), (1, 22.5, 52.5)),
        # Messages that did not arrive were returned and came again, and counted as delivered twice.
        (0, "3.13", "autoheal", 20.0, 1.0, (3.0, 40.0, "manual"), (1, 23.171550, 53.171550)),
        # A consumer answered for messages that had been returned, when no member led: the engine failed.
        (0, "3.8", "autoheal", 5.0, 0.5, (3.0, 2.0, "manual"), (1, 23.512506, 31.512506)),
        # A leader stepped down as messages flowed to it, and more came: the engine failed.
        (9, "4.0", "autoheal", 20.0, 1.0, (20.0, 40.0, "manual"), (2, 20.915805, 28.915805)),
    ],
)
def test_kernel_agrees_on_deliveries_over_links_that_fail(seed, version, handling, ticktime, latency_s, traffic, cut):
    publish, consume, ack = traffic
    nodes, from_s, to_s = cut
    design = Design(queue_type="quorum", nodes=3, replicas=3, version=version, net_ticktime=ticktime,
                    cluster_partition_handling=handling)  # fmt: skip
    environment = Environment(
        partitions=LINKS_FAIL, timing=Timing(link_latency_s=latency_s, election_s=0.2, start_s=0.4),
        traffic=Traffic(publish_per_s=publish, consume_per_s=consume, message_size_bytes=1000, ack=ack),
    )  # fmt: skip
    events = [*BACK, (from_s, CUT, nodes), (to_s, HEAL, 0), (80, CUT, 1), (82, HEAL, 0)]
    history = np.array([(round(at * SECOND), *event) for at, *event in events])
    assert agreed(Case(seed, design, environment, ()), history) is not None


@pytest.mark.parametrize("number", range(3))
@pytest.mark.parametrize(
    ("file", "design", "around"),
    [("monthly-failures", "quorum", "monthly"), ("today", "today", "stops-and-kills"), ("today", "today", "power")],
)
def test_kernel_agrees_on_a_year(file, design, around, number):
    study = load(STUDIES / f"{file}.yaml")
    given, year_us = Case(number, study.designs[design], study.environments[around], ()), 365 * histories.DAY_US
    history = histories.history(given.environment, given.design.nodes, SEED, number, year_us)
    assert by_kernel(given, year_us) == by_engine(given, history, year_us)


@pytest.mark.parametrize("number", range(40))
def test_trial_is_the_same_alone_and_after_others(number):
    given, trials = quorum_case(number), 4
    together = block.rows(given.design, given.environment, SEED, number, trials, HORIZON_US)
    alone = [block.rows(given.design, given.environment, SEED, number + k, 1, HORIZON_US)[0] for k in range(trials)]
    assert together.tolist() == np.array(alone).tolist(), f"case {number}: {dict(given.chosen)}"
