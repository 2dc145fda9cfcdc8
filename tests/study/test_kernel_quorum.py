"""The kernel and the engine make the same of the same history for a quorum queue: every field of the record, and the
counter behind all that was planned and drawn, message by message of its Raft group.

Random designs in random environments (`random_studies.quorum_case`): 50 in `make test`, 300 with `make test-full`,
5,000 with HAWB_LONG. They are counted by value of a design key × kind of fault, and the table is printed.
"""

from __future__ import annotations

from collections import Counter
from functools import cache

import numpy as np
import pytest
from conftest import LONG
from msgspec.structs import asdict
from random_studies import HORIZON_US, SEED, Case, quorum_case
from samples import sample
from test_kernel_agreement import FAULTS, STUDIES, faults_of, history_of

from hawb.study import histories
from hawb.study.engine_trial import SECOND_US, Played, own_seed
from hawb.study.kernel import block, setup
from hawb.study.kernel.trial import HANDED_OVER
from hawb.study.load import load
from hawb.study.trial_record import Record

pytestmark = pytest.mark.kernel

CASES = 5_000 if LONG else 300
PART = 50
PARTS = range(CASES // PART)
"""Tests of a size that ends within pytest's limit for one."""
FOUND = {203: False, 4535: True, 359: False, 656: False}
"""Cases that once differed, and whether their upgrades wait. 203: what flowed before an event took another off the
agenda, and the kernel then played the one that had moved to its row. 4535: on a network without delay, publishers
heard of what was committed by a flow only with the next one, and no more if their node was killed before. 359: a
consumer that came back before a new leader had looked for its old channel kept what that had held, in the engine. 656:
a leader that reached a node again said so only if it had not found yet that the consumer there was gone, in the
kernel."""
LEAST_PER_PAIR = 100 if LONG else 5
LEAST_DELIVERED_TWICE = 0.2

DESIGN_KEYS = (
    "version", "nodes", "replicas", "cluster_partition_handling", "net_ticktime", "quorum_commands_soft_limit", "drain",
    "rebalance", "await_online_quorum_plus_one",
)  # fmt: skip


Told = tuple[dict[str, float], int]
"""A trial's record, and its counter."""


def by_engine(given: Case, history: np.ndarray, horizon_us: int = HORIZON_US) -> Told:
    """What the engine makes of a history."""
    trial = Played(given.design, given.environment, own_seed(SEED, given.number))
    trial.through(history.tolist(), horizon_us)
    return asdict(trial.record()), trial.turn.counter


def by_kernel(given: Case, horizon_us: int = HORIZON_US) -> Told:
    """What the kernel makes of it, which it draws itself."""
    begun = setup.begin_trial(given.design, given.environment, 0)
    table = histories.sources(given.environment, given.design.nodes)
    (row,) = block.rows_in(begun, table, SEED, given.number, 1, horizon_us).tolist()
    told = dict(zip(Record.__struct_fields__, row, strict=True))
    in_seconds = {name: value / SECOND_US if name.endswith("_s") else value for name, value in told.items()}
    return in_seconds, int(begun["moment"]["counter"][0])


@cache
def compared(part: int) -> tuple[Counter, int]:
    """`PART` cases compared: how often each pair of a design key's value and a kind of fault occurred, and how many
    delivered messages twice."""
    pairs, twice, fallen_back = Counter(), 0, 0
    for number in range(part * PART, (part + 1) * PART):
        given = quorum_case(number)
        history = history_of(given)
        engine, kernel = by_engine(given, history), by_kernel(given)
        if kernel[0]["published"] == HANDED_OVER and has_a_node_without_member(given):
            fallen_back += 1
            continue
        assert kernel == engine, f"case {number}: {dict(given.chosen)}"
        assert engine[0]["lost"] == 0
        twice += engine[0]["delivered_twice"] > 0
        chosen = [f"{key}: {value}" for key, value in given.chosen if key in DESIGN_KEYS]
        pairs.update((value, fault) for value in chosen for fault in faults_of(history))
    assert fallen_back <= PART // 5, fallen_back
    return pairs, twice


def has_a_node_without_member(given: Case) -> bool:
    """Return True if a node can come up first that has no member: then the engine plays the trial."""
    return int(dict(given.chosen)["replicas"]) < int(dict(given.chosen)["nodes"])


@pytest.mark.parametrize("number", FOUND)
def test_the_same_of_histories_that_once_differed(number):
    given = quorum_case(number, awaits=FOUND[number])
    assert by_kernel(given) == by_engine(given, history_of(given))


@pytest.mark.parametrize("part", sample(PARTS))
def test_the_same_of_random_histories(part):
    compared(part)


@pytest.mark.full
def test_each_value_of_a_design_key_meets_each_kind_of_fault(capsys):
    pairs = sum((compared(part)[0] for part in PARTS), Counter())
    values = sorted({value for value, _ in pairs})
    with capsys.disabled():
        print(f"\n{CASES:,} histories of quorum queues by value of a design key and kind of fault")
        print(f"{'':<42}" + "".join(f"{fault:>16}" for fault in FAULTS))
        for value in values:
            print(f"{value:<42}" + "".join(f"{pairs[value, fault]:>16,}" for fault in FAULTS))
    rare = [(value, fault) for value in values for fault in FAULTS if pairs[value, fault] < LEAST_PER_PAIR]
    assert rare == [("nodes: 1", "several at once")]


@pytest.mark.full
def test_many_of_them_deliver_messages_twice():
    assert sum(compared(part)[1] for part in PARTS) >= LEAST_DELIVERED_TWICE * CASES


@pytest.mark.parametrize("number", range(3))
def test_the_same_of_a_year(number):
    study = load(STUDIES / "monthly-failures.yaml")
    given, year_us = Case(number, study.designs["quorum"], study.environments["monthly"], ()), 365 * histories.DAY_US
    history = histories.history(given.environment, given.design.nodes, SEED, number, year_us)
    assert by_kernel(given, year_us) == by_engine(given, history, year_us)


@pytest.mark.parametrize("number", range(40))
def test_a_trial_is_the_same_after_others_and_alone(number):
    given, trials = quorum_case(number), 4
    together = block.rows(given.design, given.environment, SEED, number, trials, HORIZON_US)
    alone = [block.rows(given.design, given.environment, SEED, number + k, 1, HORIZON_US)[0] for k in range(trials)]
    assert together.tolist() == np.array(alone).tolist(), f"case {number}: {dict(given.chosen)}"
