"""The kernel and the engine make the same of the same history of a classic queue of 4.3: every field of the record, and
the counter behind all that was scheduled and drawn, message by message of the metadata store's group.

`make test` plays short histories with the kernel's source as Python (`kernel_as_python`). `make test-full` compiles one
of both kernels, the other one the next day, or both if their sources have changed (`of_kernels`). It compares 120
random histories of its kind, 5,000 with HAWB_LONG. They are counted by kind of fault, and the table is printed, with
how many the kernel left to the engine.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache

import kernel_as_python
import numpy as np
import pytest
from conftest import LONG
from kernel_as_python import Asked
from msgspec.structs import asdict
from random_studies import SEED, Case, khepri_case, khepri_cut_case
from samples import of_kernels
from test_kernel_agreement import agreed, faults_of, history_of

from hawb.study import histories
from hawb.study.design import Design, Upgrade
from hawb.study.engine_trial import SECOND_US, Played
from hawb.study.environment import Calendar, Distribution, Environment, Partitions, Traffic
from hawb.study.kernel.trial import HANDED_OVER
from hawb.study.trial_record import Record

pytestmark = pytest.mark.kernel

CASES = 5_000 if LONG else 120
PART = 40
PARTS = range(CASES // PART)
"""Tests of a size that ends within pytest's limit for one."""
KINDS: dict[str, Callable[[int], Case]] = {"whole": khepri_case, "links": khepri_cut_case}
"""The kinds of cases by their names, for each of which another kernel is compiled."""
KERNELS = of_kernels(list(KINDS))
COMPILED = [pytest.param(kind, marks=mark) for kind, mark in KERNELS.items()]
MOST_FALLEN_BACK = 0.4
"""The share of the cases; disks are lost, and nodes drained in a minority, every few minutes."""
SHORT_US, DRAWN = 150 * SECOND_US, {"whole": (0, 6, 7, 10), "links": (0, 1, 6, 8)}
"""The horizon of random cases that the kernel's source plays as Python, and the numbers of some with several faults."""

SECOND = SECOND_US
CUT, HEAL, KILL, START = histories.CUT, histories.HEAL, histories.KILL, histories.START
LINKS_FAIL = Partitions(every=Distribution(mean_s=9), lasts=Distribution(mean_s=9))


def of_4_3(partitions: Partitions | None, **design: object) -> Case:
    """Return a case with three nodes of 4.3 and clients."""
    given = Design(queue_type="classic", nodes=3, replicas=1, version="4.3", net_ticktime=10, **design)
    traffic = Traffic(publish_per_s=20.0, consume_per_s=40.0)
    work = Calendar(every_days=1, down_s=5)
    return Case(0, given, Environment(traffic=traffic, partitions=partitions, maintenance=work), ())


STORIES: dict[str, tuple[Case, list[tuple[float, int, int]]]] = {
    "the queue's node is killed": (of_4_3(None), [(20, KILL, 0b001), (40, START, 0b001)]),
    "a minority waits as it boots": (
        of_4_3(None), [(20, KILL, 0b111), (40, START, 0b001), (60, START, 0b010), (70, START, 0b100)],
    ),
    "the queue's node loses power": (of_4_3(None), [(20, histories.POWER_OFF, 0b011), (60, START, 0b011)]),
    "the queue is lost with a disk": (
        of_4_3(None), [(20, KILL, 0b001), (20, histories.LOSE_DISK, 0b001), (40, START, 0b001)],
    ),
    "a node is drained": (
        of_4_3(None, upgrade=Upgrade(drain=True)), [(20, histories.MAINTENANCE, 0b001), (40, KILL, 0b010)],
    ),
    "a node is drained in a minority": (
        of_4_3(None, upgrade=Upgrade(drain=True)), [(20, KILL, 0b110), (30, histories.MAINTENANCE, 0b001)],
    ),
    "the queue is in a minority": (of_4_3(LINKS_FAIL), [(20, CUT, 0b001), (60, HEAL, 0)]),
    "the clients' node is in a minority": (
        of_4_3(LINKS_FAIL), [(5, KILL, 0b001), (6, START, 0b001), (30, CUT, 0b010), (60, HEAL, 0)],
    ),
    "links work again before net_ticktime": (of_4_3(LINKS_FAIL), [(20, CUT, 0b001), (28, HEAL, 0)]),
    "one link fails": (of_4_3(LINKS_FAIL), [(20, histories.CUT_LINK, 0b011), (60, HEAL, 0)]),
    "a node goes down during a partition": (
        of_4_3(LINKS_FAIL), [(20, CUT, 0b001), (40, KILL, 0b001), (50, START, 0b001), (70, HEAL, 0)],
    ),
}  # fmt: skip
"""Short histories by what happens: times in seconds, kinds and nodes."""
FALLS_BACK = {"a node is drained in a minority"}


def as_history(events: Sequence[tuple[float, int, int]]) -> np.ndarray:
    """Return the events of a story as a history."""
    return np.array([(round(at * SECOND), kind, about) for at, kind, about in events])


def by_engine(asked: Asked) -> tuple[dict[str, float], int]:
    """Return the engine's record and counter."""
    played = Played(asked.given.design, asked.given.environment, asked.given.number)
    played.through(asked.history, asked.horizon_us)
    return asdict(played.record()), played.turn.counter


@cache
def played_by_source() -> dict[str, tuple[Asked, kernel_as_python.Played]]:
    """Return stories and random cases by name, each with what the kernel's source makes of it."""
    asked = {name: Asked(given, as_history(events).tolist(), 80 * SECOND) for name, (given, events) in STORIES.items()}
    for kind, case in KINDS.items():
        for number in DRAWN[kind]:
            given = case(number)
            history = histories.history(given.environment, given.design.nodes, SEED, number, SHORT_US)
            asked[f"{kind} {number}"] = Asked(given, history.tolist(), SHORT_US)
    found = kernel_as_python.played(list(asked.values()))
    return {name: (asked[name], kernel) for name, kernel in zip(asked, found, strict=True)}


@pytest.mark.parametrize("name", [*STORIES, *(f"{kind} {number}" for kind in KINDS for number in DRAWN[kind])])
def test_source_agrees_with_the_engine(name):
    asked, kernel = played_by_source()[name]
    if name in FALLS_BACK:
        assert kernel.row[0] == HANDED_OVER
        return
    values = zip(Record.__struct_fields__, kernel.row, strict=True)
    record = {name: value / SECOND_US if name.endswith("_s") else value for name, value in values}
    assert (record, kernel.counter) == by_engine(asked), f"case {asked.given.number}: {dict(asked.given.chosen)}"


@cache
def compared(kind: str, part: int) -> tuple[Counter, int, int]:
    """Return how often each kind of fault occurred in a part of the cases, and how many lost messages and fell back."""
    faults, losses, fallen_back = Counter(), 0, 0
    for number in range(part * PART, (part + 1) * PART):
        given = KINDS[kind](number)
        history = history_of(given)
        result = agreed(given, history)
        if result is None:
            fallen_back += 1
            continue
        losses += result.lost > 0
        faults.update(faults_of(history))
    return faults, losses, fallen_back


@pytest.mark.full
@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("kind", COMPILED)
def test_kernel_agrees_on_random_histories(kind, part):
    compared(kind, part)


@pytest.mark.full
@pytest.mark.parametrize("kind", COMPILED)
def test_cases_cover_faults(kind, capsys):
    found = [compared(kind, part) for part in PARTS]
    faults, fallen_back = sum((one[0] for one in found), Counter()), sum(one[2] for one in found)
    with capsys.disabled():
        print(f"\n{CASES:,} histories of classic queues of 4.3 ({kind}) by kind of fault; {fallen_back:,} left to the"
              f" engine\n{dict(faults)}")  # fmt: skip
    assert fallen_back <= MOST_FALLEN_BACK * CASES
    assert sum(one[1] for one in found) >= CASES // 20
    wanted = {"kill", "stop", "power_off", "maintenance", "rolling_upgrade", "consumers_away", "several at once"}
    assert min(faults[fault] for fault in wanted | ({"cut", "cut_link"} if kind == "links" else set())) >= CASES // 40


def compiled(name: str) -> Record:
    """Return the record of a story, which the compiled kernel plays too."""
    given, events = STORIES[name]
    result = agreed(given, as_history(events))
    assert result is not None, "the kernel left it to the engine"
    return result


@pytest.mark.full
@KERNELS["links"]
def test_queue_in_a_minority_serves_its_clients_there():
    """Its process and its clients are on one node, which the partition changes nothing for."""
    result = compiled("the queue is in a minority")
    assert (result.lost, result.outages, result.refused) == (0, 0, 0)
    assert result.publish_down_s < 1


@pytest.mark.full
@KERNELS["whole"]
def test_cluster_in_minority_changes_no_metadata():
    waits, whole = compiled("a minority waits as it boots"), compiled("the queue's node is killed")
    assert whole.metadata_down_s < 1 < 35 < waits.metadata_down_s
