"""The kernel and the engine make the same of the same history of a classic queue with clients on every node: every
field of the record, and the counter behind all that was scheduled and drawn.

`make test` plays short histories with the kernel's source as Python (`kernel_as_python`). `make test-full` compiles one
of the two kernels, that of mirrored queues or that of 4.3, and the other one the next day, or both if their sources
have changed (`of_kernels`). It compares 120 random histories of each kind, 3,000 with HAWB_LONG: with and without
partitions, with and without a prefetch.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import kernel_as_python
import pytest
from conftest import LONG
from kernel_as_python import Asked
from msgspec.structs import asdict, replace
from random_studies import SEED, Case, case, cut_case, khepri_case, khepri_cut_case, with_prefetch
from samples import of_kernels
from test_kernel_agreement import agreed, by_kernel, history_of, in_record

from hawb.study import histories, trial_rows
from hawb.study.design import Design
from hawb.study.engine_trial import SECOND_US, Played
from hawb.study.environment import ConsumerOutages, Distribution, Environment, Partitions, Traffic
from hawb.study.kernel import setup
from hawb.study.kernel.trial import HANDED_OVER
from hawb.study.trial_clients import share_of

pytestmark = pytest.mark.kernel

CASES = 3_000 if LONG else 120
PART = 20
PARTS = range(CASES // PART)
"""Tests of a size that ends within pytest's limit for one."""
KINDS: dict[str, Callable[[int], Case]] = {
    "mirrored": case, "mirrored, links fail": cut_case, "4.3": khepri_case, "4.3, links fail": khepri_cut_case,
}  # fmt: skip
"""The kinds of cases by their names."""
KERNELS = of_kernels(["mirrored", "4.3"])
COMPILED = [pytest.param(kind, marks=KERNELS[kind.partition(",")[0]]) for kind in KINDS]
MOST_FALLEN_BACK = 0.5
"""The share of the cases; disks are lost every few minutes, and deep backlogs are dealt message by message."""

CUT, CUT_LINK, HEAL, KILL, START = (
    histories.CUT, histories.CUT_LINK, histories.HEAL, histories.KILL, histories.START
)  # fmt: skip
AWAY, BACK = histories.CONSUMERS_AWAY, histories.CONSUMERS_BACK
LINKS_FAIL = Partitions(every=Distribution(mean_s=9), lasts=Distribution(mean_s=9))
STAY_AWAY = ConsumerOutages(every=Distribution(mean_s=9), lasts=Distribution(mean_s=9))
STORIES: dict[str, tuple[dict[str, object], list[tuple[float, int, int]]]] = {
    "consumers stay away for a while": ({}, [(2, AWAY, 0), (8, BACK, 0)]),
    "the master's node is killed": ({}, [(5, KILL, 0b001), (12, START, 0b001)]),
    "the master's node is killed, with a backlog": (
        {"prefetch": 0}, [(1, AWAY, 0), (5, BACK, 0), (5.2, KILL, 0b001), (12, START, 0b001)],
    ),
    "the master is cut off": ({}, [(3, CUT, 0b001), (20, HEAL, 0)]),
    "another node is cut off": ({}, [(3, CUT, 0b010), (20, HEAL, 0)]),
    "links work again before net_ticktime": ({}, [(3, CUT, 0b001), (6, HEAL, 0)]),
    "one link fails": ({}, [(3, CUT_LINK, 0b011), (20, HEAL, 0)]),
    "consumers stay away during a partition": ({}, [(2, AWAY, 0), (3, CUT, 0b001), (15, BACK, 0), (20, HEAL, 0)]),
    "consumers acknowledge automatically": ({"ack": "auto", "prefetch": 0}, [(5, KILL, 0b001), (12, START, 0b001)]),
}  # fmt: skip
"""Short histories by what happens: what is special about traffic, and times in seconds, kinds and nodes."""
HORIZON_S = 30
PLAYED = [
    *((name, handling) for name, (_, events) in STORIES.items() for handling in ("pause_minority", "autoheal")
      if handling == "autoheal" or {CUT, CUT_LINK} & {kind for _, kind, _ in events}),
    ("the master's node is killed", "4.3"), ("the master is cut off", "4.3"),
]  # fmt: skip
"""The stories that are played, each with how nodes of 3.13 handle partitions, or with a release that has Khepri."""


def everywhere(given: Case) -> Case:
    """Return a case with clients on every node; those of odd cases have a prefetch."""
    given = with_prefetch(given) if given.number % 2 else given
    traffic = replace(given.environment.traffic, clients="every_node")
    return replace(given, environment=replace(given.environment, traffic=traffic))


def story(name: str, handling: str) -> Asked:
    """Return a story of three nodes whose clients share rates that no float divides by three."""
    more, events = STORIES[name]
    traffic = {"publish_per_s": 50.0, "consume_per_s": 100.0, "prefetch": 10, "clients": "every_node"} | more
    mirrored = {
        "replicas": 3, "version": "3.13", "policy": {"ha-sync-mode": "automatic"},
        "cluster_partition_handling": handling,
    }  # fmt: skip
    own = {"version": "4.3"} if handling == "4.3" else mirrored
    design = Design(queue_type="classic", nodes=3, net_ticktime=8, **own)
    around = Environment(traffic=Traffic(**traffic, consumer_outages=STAY_AWAY), partitions=LINKS_FAIL)
    rows = [(round(at * SECOND_US), kind, about) for at, kind, about in events]
    return Asked(Case(0, design, around, ()), rows, HORIZON_S * SECOND_US)


@cache
def played_by_source() -> dict[tuple[str, str], tuple[Asked, kernel_as_python.Played]]:
    """Return the stories by name and handling of partitions, each with what the kernel's source makes of it."""
    asked = {one: story(*one) for one in PLAYED}
    found = kernel_as_python.played(list(asked.values()))
    return {name: (asked[name], kernel) for name, kernel in zip(asked, found, strict=True)}


@pytest.mark.parametrize(("name", "handling"), PLAYED)
def test_source_agrees_with_the_engine(name: str, handling: str):
    asked, kernel = played_by_source()[name, handling]
    assert kernel.row[0] != HANDED_OVER
    played = Played(asked.given.design, asked.given.environment, asked.given.number)
    played.through(asked.history, asked.horizon_us)
    assert (asdict(in_record(asked.given, kernel.row)), kernel.counter) == (
        asdict(played.record()), played.turn.counter
    )  # fmt: skip


def test_stories_differ():
    """The stories reach what clients on every node add: losses, redeliveries, and clients that wait in a minority."""
    found = [in_record(asked.given, kernel.row) for asked, kernel in played_by_source().values()]
    assert sum(one.lost > 0 for one in found) >= 2
    assert sum(one.delivered_twice > 0 for one in found) >= 2
    assert sum(one.publish_down_s > 0 for one in found) >= 4
    assert sum(one.consume_down_s > 0 for one in found) >= 4


def test_shared_rates_are_exact():
    given = story("one link fails", "autoheal").given
    begun = setup.begin_trial(given.design, given.environment, 0)
    assert begun["rates"][0, 0, 0].tolist() == [1, 60_000]
    assert share_of(50.0, 3) * 3 == 50
    assert begun["setup"]["consume_ticks"][0] * 30_000 == begun["setup"]["consume_us"][0]


@cache
def compared(kind: str, part: int) -> int:
    """Compare a part of the cases; return how many fell back to the engine."""
    numbers = range(part * PART, (part + 1) * PART)
    cases = [everywhere(KINDS[kind](number)) for number in numbers]
    return sum(agreed(given, history_of(given)) is None for given in cases)


@pytest.mark.full
@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("kind", COMPILED)
def test_kernel_agrees_on_random_histories(kind: str, part: int):
    compared(kind, part)


@pytest.mark.full
@pytest.mark.parametrize("kind", COMPILED)
def test_some_cases_fall_back_to_the_engine(kind: str):
    assert sum(compared(kind, part) for part in PARTS) <= MOST_FALLEN_BACK * CASES


@KERNELS["mirrored"]
@pytest.mark.full
def test_trial_is_the_same_alone_and_after_others():
    given = everywhere(cut_case(22))
    alone = by_kernel(given, history_of(given))
    other = everywhere(cut_case(23))
    by_kernel(other, history_of(other))
    assert by_kernel(given, history_of(given)) == alone
    rows = trial_rows.by_kernel(given.design, given.environment, SEED, 0, 3, HORIZON_S * SECOND_US)
    last = trial_rows.by_kernel(given.design, given.environment, SEED, 2, 1, HORIZON_S * SECOND_US)
    assert [column[2] for column in rows] == [column[0] for column in last]
