"""The kernel and the engine make the same of the same history of a classic queue whose nodes' links fail: every field
of the record, to the message and to the microsecond, and the counter behind all that was planned and drawn.

Random designs in random environments (`random_studies.cut_case`): 200, 5,000 with HAWB_LONG. They are counted by how
partitions are handled × what is cut off, and the table is printed.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from conftest import LONG
from msgspec.structs import replace
from random_studies import HORIZON_US, SEED, Case, cut_case, with_prefetch
from test_kernel_agreement import (
    LEAST_LIMITED,
    agreed,
    by_kernel,
    classic,
    history_of,
    prefetch_limits,
    with_traffic,
)

from hawb.study import histories, trial_rows
from hawb.study.design import Design
from hawb.study.environment import Distribution, Partitions
from hawb.study.kernel import block
from hawb.study.load import load
from hawb.study.trial_record import Record

pytestmark = [pytest.mark.kernel, pytest.mark.full]

CASES = 5_000 if LONG else 200
PART = 50
PARTS = range(CASES // PART)
"""Tests of a size that ends within pytest's limit for one."""
CROWDED = 618
"""A case in which more operations wait for the queue than a trial has room for."""
LEAST_PER_PAIR = 30 if LONG else 2
LEAST_LOSSES = 0.1
MOST_HANDED_OVER = 0.25
"""The share of the cases, in a good part of which disks are lost every few minutes."""

SECOND = 1_000_000
HANDLINGS = ("ignore", "autoheal", "pause_minority", "pause_if_all_down")


def handling_of(design: Design) -> str:
    """Return how a design's nodes handle partitions."""
    handling = design.cluster_partition_handling
    return handling if isinstance(handling, str) else "pause_if_all_down"


@cache
def compared(part: int) -> tuple[Counter, int, int]:
    """`PART` cases compared: how often each pair of a handling and of what is cut off occurred, how many lost messages,
    and how many the kernel handed over, which count for no pair."""
    pairs, losses, handed_over = Counter(), 0, 0
    for number in range(part * PART, (part + 1) * PART):
        given = cut_case(number)
        result = agreed(given, history_of(given))
        if result is None:
            handed_over += 1
        else:
            losses += result.lost > 0
            pairs[handling_of(given.design), given.environment.partitions.cut] += given.design.nodes > 1
    return pairs, losses, handed_over


@pytest.mark.parametrize("part", PARTS)
def test_kernel_agrees_on_random_histories_with_partitions(part):
    compared(part)


@cache
def limited(part: int) -> int:
    """Half of a part's cases compared with a prefetch: in how many of them it changes the record."""
    first = part * PART
    return sum(prefetch_limits(with_prefetch(cut_case(number))) for number in range(first, first + PART // 2))


@pytest.mark.parametrize("part", PARTS)
def test_kernel_agrees_on_consumers_with_a_prefetch_and_partitions(part):
    limited(part)


def test_prefetch_changes_many_records():
    assert sum(map(limited, PARTS)) >= LEAST_LIMITED * CASES / 2


def test_trial_that_overflows_a_table_falls_back_to_the_engine():
    given = cut_case(CROWDED)
    assert by_kernel(given, history_of(given)) is None


def test_cases_cover_partition_handling_and_cuts(capsys):
    pairs = sum((compared(part)[0] for part in PARTS), Counter())
    with capsys.disabled():
        print(f"\n{CASES:,} histories by cluster_partition_handling and what is cut off")
        print(f"{'':<20}" + "".join(f"{cut:>12}" for cut in histories.CUTS))
        for handling in HANDLINGS:
            print(f"{handling:<20}" + "".join(f"{pairs[handling, cut]:>12,}" for cut in histories.CUTS))
    assert min(pairs[handling, cut] for handling in HANDLINGS for cut in histories.CUTS) >= LEAST_PER_PAIR


def test_some_cases_end_in_a_loss():
    assert sum(compared(part)[1] for part in PARTS) >= LEAST_LOSSES * CASES


def test_few_cases_fall_back_to_the_engine():
    assert sum(compared(part)[2] for part in PARTS) <= MOST_HANDED_OVER * CASES


def cut_for(seconds: int, handling: str) -> Record:
    """Return the record if node a, with master and clients, is isolated from two others for so long."""
    partitions = Partitions(every=Distribution(mean_s=9), lasts=Distribution(mean_s=9))
    given = Case(
        0, classic(cluster_partition_handling=handling, policy={"ha-promote-on-failure": "always"}),
        replace(with_traffic(publish_per_s=10.0, consume_per_s=1.0), partitions=partitions), (),
    )  # fmt: skip
    return agreed(given, np.array([
        (10 * SECOND, histories.CUT, 1), ((10 + seconds) * SECOND, histories.HEAL, 0),
    ]))  # fmt: skip


def test_links_healed_within_net_ticktime_cost_nothing():
    result = cut_for(59, "autoheal")
    assert (result.lost, result.promotions, result.outages, result.delivered_twice) == (0, 0, 0, 0)


def test_one_of_two_sides_is_restarted():
    """Under autoheal the side with the clients wins, and what the other promoted is forgotten; under ignore a person
    restarts it."""
    for handling in ("autoheal", "ignore"):
        result = cut_for(100, handling)
        assert (result.promotions, result.outages, result.lost) == (1, 0, 0)


def test_pausing_minority_loses_messages_that_only_it_had():
    """Its master serves for net_ticktime. What it accepts in that time is lost when it returns as a mirror."""
    result = cut_for(100, "pause_minority")
    assert result.promotions == 1 and result.lost > 0


@pytest.mark.parametrize("design", ["classic-1", "classic-2", "quorum-3"])
def test_kernel_agrees_on_a_year_of_the_preset(design: str):
    asked = load(Path(__file__).parents[2] / "data" / "studies" / "replicas.yaml")
    given = asked.designs[design], asked.environments["datacentre"], asked.seed, 0, 1, 365 * histories.DAY_US
    by_kernel, by_engine = trial_rows.by_kernel(*given), trial_rows.by_engine(*given)
    assert [column.tolist() for column in by_kernel] == [list(column) for column in by_engine]


def test_trial_is_the_same_alone_and_after_others():
    for number in range(20):
        given = cut_case(number)
        together = block.rows(given.design, given.environment, SEED, number, 4, HORIZON_US)
        alone = [block.rows(given.design, given.environment, SEED, number + k, 1, HORIZON_US)[0] for k in range(4)]
        assert together.tolist() == np.array(alone).tolist(), f"case {number}: {dict(given.chosen)}"
