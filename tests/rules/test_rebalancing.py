"""The masters that rebalancing moves. On every small input it ends, as RabbitMQ's loop does."""

from __future__ import annotations

from itertools import product

import pytest

from hawb.rules.rebalancing import NOTHING, destination, most_masters, next_to_move

NODES = (0, 1, 2)


@pytest.mark.parametrize(("queues", "nodes", "most"), [(6, 3, 2), (7, 3, 3), (1, 3, 1), (0, 3, 0), (3, 1, 3)])
def test_each_node_keeps_at_most_its_share_of_masters_rounded_up(queues, nodes, most):
    assert most_masters(queues, nodes) == most


def test_shortest_queue_of_the_first_overloaded_node_moves_first():
    assert next_to_move([0, 0, 0, 1], [5, 2, 9, 1], [0, 0, 0, 0], 2, NODES) == 1
    assert next_to_move([0, 0, 0, 1], [5, 2, 9, 1], [0, 1, 0, 0], 2, NODES) == 0
    assert next_to_move([0, 0, 1, 1], [5, 2, 9, 1], [0, 0, 0, 0], 2, NODES) == NOTHING


def test_ties_pick_the_first_queue_and_the_first_node():
    assert next_to_move([1, 1, 1], [4, 4, 4], [0, 0, 0], 2, NODES) == 0
    assert destination([2, 1], [0, 0]) == 2
    assert destination([2, 1], [2, 0]) == 1
    assert destination([], [0]) == NOTHING


def test_rebalancing_ends_balanced_when_each_node_has_a_replica(subtests: pytest.Subtests):
    for first in product(NODES, repeat=5):
        with subtests.test(msg="no master is left to move, and no node has too many", first=first):
            check_balancing(list(first))


def check_balancing(masters: list[int]) -> None:
    """Move masters until the rule finds none to move. Require that no node has too many then."""
    tried, most = [0] * 5, most_masters(5, 3)
    for _ in masters:
        moving = next_to_move(masters, [1, 2, 3, 4, 5], tried, most, NODES)
        if moving == NOTHING:
            break
        tried[moving] = 1
        masters[moving] = destination([node for node in NODES if node != masters[moving]], masters)
    assert next_to_move(masters, [1, 2, 3, 4, 5], tried, most, NODES) == NOTHING
    assert max(masters.count(node) for node in NODES) <= most
