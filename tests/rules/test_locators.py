"""The node on which the master of a new queue is placed."""

from __future__ import annotations

from itertools import product

import pytest
from rule_inputs import subsets

from hawb.rules.locators import CLIENT_LOCAL, MIN_MASTERS, RANDOM, locate, master_candidates
from hawb.rules.mirror_placement import ALL, EXACTLY, NODES

A, B, C, D = range(4)
NOT_MIRRORED = -1


@pytest.mark.parametrize("mode", [NOT_MIRRORED, ALL, EXACTLY])
def test_each_running_node_is_a_candidate_unless_ha_mode_is_nodes(mode):
    for running in subsets((A, B, C, D)):
        assert master_candidates(mode, (A,), A, running) == list(running)


def test_ha_mode_nodes_limits_candidates_to_listed_and_declaring_node():
    for listed, running in product(list(subsets((A, B, C, D))), list(subsets((B, C, D)))):
        running = (A, *running)
        listed_running = [node for node in running if node in (*listed, A)]
        expected = listed_running if listed_running != [A] else list(running)
        assert master_candidates(NODES, listed, A, running) == expected


def test_ha_mode_nodes_makes_all_running_nodes_candidates_without_a_mirror():
    assert master_candidates(NODES, (A, D), A, (A, B, C)) == [A, B, C]


def test_client_local_picks_the_declaring_node_even_if_not_a_candidate():
    assert locate(CLIENT_LOCAL, C, [A, B], [0, 0, 5], 1) == C


@pytest.mark.parametrize("index", range(3))
def test_random_picks_the_drawn_candidate(index):
    assert locate(RANDOM, A, [A, C, D], [9, 9, 9, 9], index) == [A, C, D][index]


def test_min_masters_picks_the_node_with_fewest_masters_then_the_first_name():
    for counts in product(range(3), repeat=4):
        for candidates in filter(None, subsets((A, B, C, D))):
            least = min(counts[node] for node in candidates)
            first = next(node for node in candidates if counts[node] == least)
            assert locate(MIN_MASTERS, D, list(candidates), list(counts), 0) == first
