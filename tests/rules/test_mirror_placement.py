"""The nodes that hold a replica: RabbitMQ's own test cases, and properties of every input of up to five nodes."""

from __future__ import annotations

import pytest
from conftest import LONG
from rule_inputs import Record, arrangements, subsets, subsets_both_ways, with_available

from hawb.rules.mirror_placement import (
    ALL,
    EXACTLY,
    NODES,
    all_nodes,
    exactly,
    listed_nodes,
    wanted_replicas,
    without_repeats,
)

SIZES = (1, 2, 3, 4)
A, B, C, D, ELSEWHERE = range(5)
RUNNING = (A, B, C, D)


# RabbitMQ's unit test of the node selection (dynamic_ha_SUITE, dynamic_mirroring), restated: what is asked, the record
# before, and master and mirrors after; of `extra` more mirrors only the number is given.


@pytest.mark.parametrize(
    ("before", "mirrors"),
    [(Record(A, (), ()), [B, C]), (Record(A, (B, C), (B, C)), [B, C]), (Record(A, (D,), (D,)), [B, C])],
)
def test_ha_mode_all_agrees_with_rabbitmqs_tests(before, mirrors):
    assert all_nodes(before.master, (A, B, C)) == [A, *mirrors]


@pytest.mark.parametrize(
    ("listed", "before", "after"),
    [
        pytest.param((A, B, C), Record(A, (B,), (B,)), [A, B, C], id="add a node"),
        pytest.param((A, B, C), Record(B, (A,), (A,)), [B, A, C], id="add a node to another master"),
        pytest.param((A, B, C), Record(A, (D,), (D,)), [A, B, C], id="add two and drop one"),
        pytest.param((A, B, ELSEWHERE), Record(A, (B,), (B,)), [A, B], id="not those that do not run"),
        pytest.param((ELSEWHERE,), Record(A, (B,), (B,)), [A], id="none runs: the master alone"),
        pytest.param((B, C), Record(A, (), ()), [A, B, C], id="an unlisted master stays without mirrors"),
        pytest.param((B, C), Record(A, (B,), ()), [A, B, C], id="an unlisted master stays while none is synchronised"),
        pytest.param((B, C), Record(A, (B,), (B,)), [B, C], id="a synchronised mirror takes over"),
        pytest.param((C, B), Record(A, (B,), (B,)), [B, C], id="the synchronised one, not the first listed"),
    ],
)
def test_ha_mode_nodes_agrees_with_rabbitmqs_tests(listed, before, after):
    master, *mirrors = listed_nodes(listed, before.master, before.synchronised, RUNNING)
    assert [master, *sorted(mirrors)] == after


@pytest.mark.parametrize(
    ("count", "before", "mirrors", "extra"),
    [
        (2, Record(A, (), ()), set(), 1),
        (3, Record(A, (), ()), set(), 2),
        (2, Record(A, (C,), (C,)), {C}, 0),
        (3, Record(A, (C,), (C,)), {C}, 1),
        (2, Record(A, (C, D), (C, D)), {C}, 0),
        (3, Record(A, (C, D), (C, D)), {C, D}, 0),
    ],
)
def test_ha_mode_exactly_agrees_with_rabbitmqs_tests(count, before, mirrors, extra):
    for shuffled in arrangements(free(before, RUNNING)):
        if len(shuffled) == len(free(before, RUNNING)):
            master, *after = exactly(count, before.master, before.mirrors, shuffled)
            assert master == A
            assert mirrors <= set(after) <= set(RUNNING) and len(after) == len(mirrors) + extra


def free(record: Record, available: tuple[int, ...]) -> tuple[int, ...]:
    """Return the available nodes without a replica."""
    return tuple(node for node in available if node != record.master and node not in record.mirrors)


# Every input


def sizes() -> tuple[int, ...]:
    """Return the cluster sizes to try. Five nodes give half a million pairs of a record and available nodes."""
    return (*SIZES, 5) if LONG else SIZES


@pytest.mark.parametrize("size", sizes())
def test_ha_mode_all_picks_every_running_node_and_keeps_the_master(size):
    for record, available in with_available(size):
        wanted = wanted_replicas(ALL, 0, (), *record, available, free(record, available))
        assert wanted[0] == record.master
        assert wanted[1:] == [node for node in available if node != record.master]


@pytest.mark.parametrize("size", sizes())
def test_ha_mode_exactly_keeps_the_oldest_mirrors_and_adds_others(size):
    for record, available in with_available(size):
        candidates = free(record, available)[::-1]
        for count in range(1, size + 2):
            master, *mirrors = wanted_replicas(EXACTLY, count, (), *record, available, candidates)
            kept = min(count - 1, len(record.mirrors))
            assert master == record.master
            assert tuple(mirrors[:kept]) == record.mirrors[:kept], "the oldest stay, in their order"
            assert tuple(mirrors[kept:]) == candidates[: count - 1 - kept], "the rest is as shuffled"
            assert len(mirrors) == min(count - 1, len(record.mirrors) + len(candidates)) or kept == count - 1


@pytest.mark.parametrize("size", sizes())
def test_ha_mode_nodes_picks_the_listed_running_nodes(size):
    lists = list(arrangements(tuple(range(size))) if size < 5 else subsets_both_ways(tuple(range(size))))
    for record, available in with_available(size):
        if record.synchronised or record.master in available:  # a queue without either is never asked
            for listed in lists:
                check_listed(record, available, listed)


def check_listed(record: Record, available: tuple[int, ...], listed: tuple[int, ...]) -> None:
    master, *mirrors = wanted_replicas(NODES, 0, listed, *record, available, ())
    running = [node for node in listed if node in available]
    replicas = {master, *mirrors}
    assert len(replicas) == 1 + len(mirrors), "no node twice"
    if not record.synchronised:
        assert master == record.master
        assert mirrors == sorted({*running} - {master})
    elif not running:
        assert [master, *mirrors] == [record.master]
    elif record.master in running:
        assert master == record.master and mirrors == [node for node in running if node != master]
    else:
        heirs = [node for node in running if node in record.synchronised]
        assert master == (heirs or list(record.synchronised))[0]
        assert mirrors == [node for node in running if node != master]


def test_node_listed_twice_counts_once():
    assert without_repeats([C, B, C, C, A, B]) == [C, B, A]
    assert listed_nodes((C, B, C), A, (B,), RUNNING) == [B, C]
    assert listed_nodes((C, C), A, (), RUNNING) == [A, C]


def test_generated_inputs_are_complete():
    assert len(list(subsets((0, 1, 2)))) == 8
    assert len(list(arrangements((0, 1, 2)))) == 16
    assert len(set(with_available(3))) == len(list(with_available(3))) == 3 * (1 + 2 * 2 + 2 * 5) * 8
