"""The compiled rules decide as the interpreted ones on every input of up to four nodes.

A compiled function can call only compiled ones, so each is compiled after those that it calls. Sequences go in as
arrays, as the kernel of the studies holds them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from itertools import product
from types import FunctionType, ModuleType

import numba
import numpy as np
import pytest
from conftest import LONG
from rule_inputs import Nodes, arrangements, records, subsets, subsets_both_ways, with_available

from hawb.rules import locators, mirror_placement, promotion, quorum, quorum_costs, rebalancing

pytestmark = [pytest.mark.full, pytest.mark.kernel]

SIZES = (1, 2, 3, 4, 5) if LONG else (1, 2, 3, 4)
LARGEST = SIZES[-1]


def rules_of(module: ModuleType) -> list[FunctionType]:
    """Return the functions that a module defines."""
    return [rule for rule in vars(module).values() if getattr(rule, "__module__", None) == module.__name__]


@cache
def compiled(rule: FunctionType) -> Callable:
    """Return the rule compiled with the compiled rules that it calls."""
    called = {name: rule.__globals__[name] for name in rule.__code__.co_names if name in rule.__globals__}
    jitted = {name: compiled(other) for name, other in called.items() if isinstance(other, FunctionType)}
    return numba.njit(FunctionType(rule.__code__, rule.__globals__ | jitted, rule.__name__))


@cache
def array(nodes: Nodes) -> np.ndarray:
    """Return nodes as the array that the kernel uses."""
    return np.array(nodes, dtype=np.int64)


def agree(rule: FunctionType, *given) -> None:
    """Require that the rule decides the same in both forms."""
    plain = rule(*given)
    fast = compiled(rule)(*(array(value) if isinstance(value, tuple) else value for value in given))
    assert (list(fast) if isinstance(plain, list) else fast) == plain, (rule.__name__, given)


def lists_of(size: int) -> list[Nodes]:
    """Return the node lists of a policy: in every order, or for five nodes in two orders."""
    nodes = tuple(range(size))
    return list(arrangements(nodes) if size < 5 else subsets_both_ways(nodes))


def wanted_inputs(size: int) -> Iterator[tuple]:
    """Every input of `wanted_replicas`. A queue whose master does not run and that has no synchronised mirror asks for
    nothing."""
    lists = lists_of(size)
    for record, available in with_available(size):
        free = tuple(node for node in available if node != record.master and node not in record.mirrors)
        yield mirror_placement.ALL, 0, (), *record, available, free
        for count, shuffled in product(range(1, size + 2), (free, free[::-1])):
            yield mirror_placement.EXACTLY, count, (), *record, available, shuffled
        if record.synchronised or record.master in available:
            for listed in lists:
                yield mirror_placement.NODES, 0, listed, *record, available, free


@pytest.mark.parametrize("module", [mirror_placement, promotion, locators, rebalancing, quorum, quorum_costs])
def test_every_rule_is_compared(module):
    tried = {
        mirror_placement: {"wanted_replicas", "all_nodes", "exactly", "listed_nodes", "without_repeats"},
        promotion: {
            "candidate", "refuses_on_failure", "takes_mirrors_down", "recoverable_mirrors", "offline_candidate",
        },
        locators: {"master_candidates", "locate"},
        rebalancing: {"most_masters", "next_to_move", "destination", "masters_on"},
        quorum: {
            "majority", "tolerated_failures", "is_critical", "members", "others_by_load", "others_by_chance",
            "leader_strategy", "leader_candidates", "is_sent_all",
        },
        quorum_costs: {
            "disk_bytes", "memory_bytes", "snapshot_interval", "cut_up_to",
        },
    }
    assert {rule.__name__ for rule in rules_of(module)} == tried[module]


@pytest.mark.parametrize("size", SIZES)
def test_compiled_wanted_replicas_agrees(size):
    for given in wanted_inputs(size):
        agree(mirror_placement.wanted_replicas, *given)


def test_compiled_selection_functions_agree():
    for record, available in with_available(3):
        free = tuple(node for node in available if node not in (record.master, *record.mirrors))
        agree(mirror_placement.all_nodes, record.master, available)
        agree(mirror_placement.exactly, 2, record.master, record.mirrors, free)
        if record.synchronised or record.master in available:
            agree(mirror_placement.listed_nodes, (2, 0), record.master, record.synchronised, available)
    for nodes in product(range(3), repeat=4):
        agree(mirror_placement.without_repeats, nodes)


def test_compiled_promotion_agrees():
    for size in SIZES[:4]:
        for record, alive in product(records(size), list(subsets(tuple(range(size))))):
            agree(promotion.candidate, record.master, record.mirrors, alive)
    for synchronised, value in product(range(LARGEST), (promotion.WHEN_SYNCED, promotion.ALWAYS)):
        agree(promotion.refuses_on_failure, synchronised, value)
        agree(promotion.takes_mirrors_down, synchronised, value)
    orders = list(arrangements(tuple(range(4))))
    for recoverable, mirrors, running in product(orders, orders, list(subsets(tuple(range(4))))):
        agree(promotion.recoverable_mirrors, recoverable, mirrors, running)
    members = list(subsets(tuple(range(4))))
    for recoverable, forgotten, known in product(orders, range(4), members):
        for running in members[::3]:
            agree(promotion.offline_candidate, recoverable, forgotten, known, running)


def test_compiled_locators_agree():
    nodes = tuple(range(4))
    modes = (-1, mirror_placement.ALL, mirror_placement.EXACTLY, mirror_placement.NODES)
    for mode, listed, client, running in product(modes, list(arrangements(nodes)), nodes, list(subsets(nodes))):
        agree(locators.master_candidates, mode, listed, client, running)
    strategies = (locators.CLIENT_LOCAL, locators.MIN_MASTERS, locators.RANDOM)
    for strategy, client, candidates in product(strategies, nodes, list(filter(None, subsets(nodes)))):
        for counts, index in product(product(range(3), repeat=4), range(len(candidates))):
            agree(locators.locate, strategy, client, candidates, counts, index)


def test_compiled_rebalancing_agrees():
    nodes = (0, 1, 2)
    for queues in range(1, 5):
        for masters in product(nodes, repeat=queues):
            agree(rebalancing.most_masters, queues, len(nodes))
            agree(rebalancing.destination, (1, 2), masters)
            some_tried = [(0,) * queues, (1,) + (0,) * (queues - 1)]
            for lengths, tried in product(product((0, 1, 2), repeat=queues), some_tried):
                agree(rebalancing.next_to_move, masters, lengths, tried, 1, nodes)


def test_compiled_quorum_rules_agree():
    for last_index, match_index in product((0, 5_000, 10_000), repeat=2):
        agree(quorum.is_sent_all, last_index, match_index)
    for members, online in product(range(1, 8), range(8)):
        agree(quorum.majority, members)
        agree(quorum.tolerated_failures, members)
        agree(quorum.is_critical, online, members)
    nodes = (0, 1, 2, 3)
    for client, wanted in product(nodes, range(5)):
        others = tuple(node for node in nodes if node != client)
        for shuffled in (others, others[::-1]):
            agree(quorum.members, wanted, client, nodes, shuffled)
        for running, members_count in product(subsets(nodes), product(range(2), repeat=4)):
            agree(quorum.others_by_load, client, nodes, running, members_count)
        for running in subsets(nodes):
            agree(quorum.others_by_chance, others, running)
    for strategy, queues in product((locators.CLIENT_LOCAL, locators.MIN_MASTERS), (0, 1000)):
        agree(quorum.leader_strategy, strategy, queues)
    for members, running, drained in product(arrangements(nodes[:3]), subsets(nodes), subsets(nodes)):
        agree(quorum.leader_candidates, members, running, drained)


def test_compiled_quorum_costs_agree():
    limits = (quorum_costs.NO_LIMIT, 0, 3, 50)
    for messages, size, max_length, max_bytes in product((0, 5), (0, 7), limits, limits):
        agree(quorum_costs.memory_bytes, messages, size, max_length, max_bytes)
    for messages in (0, 1, 5):
        agree(quorum_costs.disk_bytes, messages, 10, 3)
        agree(quorum_costs.snapshot_interval, messages, 2, 4)
    for smallest in range(6):
        agree(quorum_costs.cut_up_to, (1, 3), smallest, 9)
