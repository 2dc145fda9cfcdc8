"""Quorum queues: majorities, members, leaders, and their cost in disk, memory, log entries and atoms."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hawb.rules import atoms, locators, quorum, quorum_costs
from hawb.rules.quorum_profiles import QUORUM_PROFILES

GUIDES_TABLE = {1: 0, 2: 0, 3: 1, 4: 1, 5: 2, 6: 2, 7: 3}
OLD, NEW, NEWEST = QUORUM_PROFILES["3.8"], QUORUM_PROFILES["3.10"], QUORUM_PROFILES["4.0"]


@pytest.mark.parametrize(("members_count", "failures"), GUIDES_TABLE.items())
def test_tolerated_failures_are_those_of_the_guide(members_count: int, failures: int):
    assert quorum.tolerated_failures(members_count) == failures
    assert members_count - failures >= quorum.majority(members_count) > members_count - failures - 1


@given(st.integers(1, 15), st.integers(0, 15))
def test_queue_is_critical_when_one_more_failure_loses_the_majority(members_count: int, online_count: int):
    online_count = min(online_count, members_count)
    assert quorum.is_critical(online_count, members_count) == (online_count - 1 < quorum.majority(members_count))


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [(quorum.ALL_MEMBERS, [0, 1, 2, 3]), (4, [0, 1, 2, 3]), (7, [0, 1, 2, 3]), (3, [1, 3, 0]), (1, [1])],
)
def test_members_are_the_declaring_node_and_the_next_candidates(wanted: int, expected: list):
    assert quorum.members(wanted, 1, (0, 1, 2, 3), (3, 0, 2)) == expected


@pytest.mark.parametrize(
    ("running", "members_count", "expected"),
    [
        ((0, 1, 2, 3), (0, 0, 0, 0), [0, 2, 3]),
        ((0, 1, 2, 3), (2, 0, 1, 1), [2, 3, 0]),
        ((0, 1), (5, 0, 1, 0), [0, 3, 2]),
    ],
)
def test_running_nodes_with_the_fewest_members_come_first(running: tuple, members_count: tuple, expected: list):
    assert quorum.others_by_load(1, (0, 1, 2, 3), running, members_count) == expected


def test_running_nodes_are_shuffled_and_leaders_random_from_1000_queues():
    assert quorum.others_by_chance((3, 0, 4, 2), (0, 2)) == [0, 2, 3, 4]
    assert quorum.leader_strategy(locators.MIN_MASTERS, 999) == locators.MIN_MASTERS
    assert quorum.leader_strategy(locators.MIN_MASTERS, 1000) == locators.RANDOM
    assert quorum.leader_strategy(locators.CLIENT_LOCAL, 1000) == locators.CLIENT_LOCAL


@pytest.mark.parametrize(
    ("running", "drained", "expected"),
    [
        ((0, 2, 3), (), [0, 2]),
        ((0, 2, 3), (0,), [2]),
        ((0, 2), (0, 2), [0, 2]),
        ((0,), (0,), [0]),
        ((3,), (0,), [0, 1, 2]),
    ],
)
def test_leader_candidates_are_running_members_not_in_maintenance(running: tuple, drained: tuple, expected: list):
    assert quorum.leader_candidates((2, 0, 1), running, drained) == expected


def test_balanced_locator_picks_the_node_with_fewest_leaders():
    candidates = quorum.leader_candidates((2, 0, 1), (0, 1, 2), ())
    assert locators.locate(locators.MIN_MASTERS, 2, candidates, (1, 0, 0), 0) == 1
    assert locators.locate(locators.CLIENT_LOCAL, 2, candidates, (1, 0, 0), 0) == 2


@pytest.mark.parametrize(
    ("version", "facts"),
    [
        ("3.8", (False, True, False, 64_000, 3_200_000)),
        ("3.10", (True, False, True, 2_048, 3_200_000)),
        ("3.13", (True, False, True, 2_048, 3_200_000)),
        ("4.0", (True, False, True, 4_096, 666_667)),
        ("4.3", (True, False, False, 4_096, 666_667)),
    ],
)
def test_profile_of_each_release(version: str, facts: tuple):
    known = QUORUM_PROFILES[version]
    found = (known.places_by_load, known.keeps_bodies, known.requeues_at_tail)
    assert (*found, known.snapshot_every, known.snapshot_every_at_most) == facts


def test_disk_bytes_count_each_message_once_per_member():
    assert quorum_costs.disk_bytes(1_000_000, 1024, 3) == 3_072_000_000
    assert quorum_costs.disk_bytes(1_000_000, 1024, 5) == 5_120_000_000


@pytest.mark.parametrize(
    ("max_length", "max_bytes", "expected"),
    [
        (quorum_costs.NO_LIMIT, quorum_costs.NO_LIMIT, 100_000),
        (10, quorum_costs.NO_LIMIT, 1_000),
        (quorum_costs.NO_LIMIT, 1_050, 1_000),
        (quorum_costs.NO_LIMIT, 99, 0),
        (5, 1_050, 500),
        (0, quorum_costs.NO_LIMIT, 0),
        (2_000, 1_000_000, 100_000),
    ],
)
def test_memory_up_to_3_9(max_length: int, max_bytes: int, expected: int):
    assert quorum_costs.memory_bytes(1_000, 100, max_length, max_bytes) == expected


def test_empty_bodies_never_reach_max_in_memory_bytes():
    assert quorum_costs.memory_bytes(1_000, 0, quorum_costs.NO_LIMIT, 0) == 0
    assert quorum_costs.memory_bytes(1_000, 1, quorum_costs.NO_LIMIT, 5) == 5


def test_snapshot_interval_grows_with_the_queue_up_to_a_maximum():
    assert quorum_costs.snapshot_interval(10, 2048, 3_200_000) == 2048
    assert quorum_costs.snapshot_interval(100_000, 2048, 3_200_000) == 100_000
    assert quorum_costs.snapshot_interval(10_000_000, 2048, 3_200_000) == 3_200_000


@pytest.mark.parametrize(
    ("places", "smallest_index", "expected"),
    [((), 1, 0), ((10, 20, 30), 21, 20), ((10, 20, 30), 20, 10), ((10, 20, 30), 5, 0), ((10,), 0, 99)],
)
def test_log_is_truncated_below_the_oldest_message(places: tuple, smallest_index: int, expected: int):
    assert quorum_costs.cut_up_to(places, smallest_index, 99) == expected


def test_queue_name_uses_one_atom_however_often_it_is_declared():
    assert atoms.atoms_used([("/", f"reply.{number}") for number in range(1_000)] * 2) == 1_000
    assert atoms.atoms_used([("/", "q")] * 1_000) == 1


def test_name_too_long_for_an_atom_uses_one_per_declaration():
    fits, too_long = "q" * (255 - len("%2F_")), "q" * (256 - len("%2F_"))
    assert atoms.atoms_used([("/", fits)] * 3) == 1
    assert atoms.atoms_used([("/", too_long)] * 3) == 3
    assert atoms.atoms_used([("/", "é" * 126)] * 2) == 2


def test_two_queues_can_have_the_same_ra_name():
    assert atoms.ra_name("/", "q") == "%2F_q"
    assert atoms.ra_name("a", "b_c") == atoms.ra_name("a_b", "c")
    assert atoms.atoms_used([("a", "b_c"), ("a_b", "c")]) == 1
