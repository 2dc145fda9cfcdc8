"""Where the master of a new queue goes."""

from __future__ import annotations

from itertools import product

import pytest
from rule_inputs import subsets

from hawb.rules.locators import CLIENT_LOCAL, MIN_MASTERS, RANDOM, locate, master_candidates
from hawb.rules.selection import ALL, EXACTLY, NODES

A, B, C, D = range(4)
NOT_MIRRORED = -1


@pytest.mark.parametrize("mode", [NOT_MIRRORED, ALL, EXACTLY])
def test_every_running_node_is_a_candidate_but_under_nodes(mode):
    for running in subsets((A, B, C, D)):
        assert master_candidates(mode, (A,), A, running) == list(running)


def test_under_nodes_the_listed_and_the_declaring_node_are_candidates():
    for listed, running in product(list(subsets((A, B, C, D))), list(subsets((B, C, D)))):
        running = (A, *running)
        listed_running = [node for node in running if node in (*listed, A)]
        expected = listed_running if listed_running != [A] else list(running)
        assert master_candidates(NODES, listed, A, running) == expected


def test_under_nodes_all_running_nodes_are_candidates_when_no_mirror_would_be_left():
    assert master_candidates(NODES, (A, D), A, (A, B, C)) == [A, B, C]


def test_client_local_is_the_declaring_node_even_if_it_is_no_candidate():
    assert locate(CLIENT_LOCAL, C, [A, B], [0, 0, 5], 1) == C


@pytest.mark.parametrize("index", range(3))
def test_random_takes_the_candidate_that_was_drawn(index):
    assert locate(RANDOM, A, [A, C, D], [9, 9, 9, 9], index) == [A, C, D][index]


def test_min_masters_takes_the_least_loaded_and_of_equals_the_first_by_name():
    for counts in product(range(3), repeat=4):
        for candidates in filter(None, subsets((A, B, C, D))):
            least = min(counts[node] for node in candidates)
            first = next(node for node in candidates if counts[node] == least)
            assert locate(MIN_MASTERS, D, list(candidates), list(counts), 0) == first
