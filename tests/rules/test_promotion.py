"""The mirror that is promoted, for every input of up to four nodes, and RabbitMQ's defaults."""

from __future__ import annotations

from itertools import product

import pytest
from rule_inputs import arrangements, records, subsets

from hawb.rules.policies import Promote, mirroring
from hawb.rules.promotion import (
    ALWAYS,
    NO_NODE,
    WHEN_SYNCED,
    candidate,
    offline_candidate,
    recoverable_mirrors,
    refuses_on_failure,
    takes_mirrors_down,
)

SIZES = (1, 2, 3, 4)


@pytest.mark.parametrize("size", SIZES)
def test_candidate_is_the_master_or_the_oldest_running_mirror(size):
    for record, alive in product(records(size), list(subsets(tuple(range(size))))):
        line = [node for node in (record.master, *record.mirrors) if node in alive]
        assert candidate(record.master, record.mirrors, alive) == (line[0] if line else NO_NODE)


@pytest.mark.parametrize("decides", [refuses_on_failure, takes_mirrors_down])
@pytest.mark.parametrize("synchronised", range(4))
def test_when_synced_refuses_promotion_without_a_synchronised_mirror(decides, synchronised):
    assert decides(synchronised, WHEN_SYNCED) == (synchronised == 0)
    assert not decides(synchronised, ALWAYS)


def test_default_is_always_on_failure_and_when_synced_on_shutdown():
    asked = mirroring({"ha-mode": "all"})
    assert (asked.promote_on_failure, asked.promote_on_shutdown) == (Promote.ALWAYS, Promote.WHEN_SYNCED)


@pytest.mark.parametrize("size", SIZES)
def test_recoverable_mirrors_are_current_mirrors_and_nodes_that_are_down(size):
    nodes = tuple(range(size))
    for recoverable, mirrors in product(arrangements(nodes), list(arrangements(nodes))):
        for running in subsets(nodes):
            after = recoverable_mirrors(recoverable, mirrors, running)
            assert len(set(after)) == len(after)
            assert set(after) == {*mirrors} | {node for node in recoverable if node not in running}
            known = [node for node in after if node in recoverable]
            assert after[: len(known)] == known, "new ones come last"
            assert known == [node for node in recoverable if node in known], "the others keep their order"


@pytest.mark.parametrize("size", SIZES)
def test_offline_candidate_is_the_first_recoverable_member_that_is_down(size):
    nodes = tuple(range(size))
    for recoverable, forgotten in product(list(arrangements(nodes)), nodes):
        for members, running in product(list(subsets(nodes)), list(subsets(nodes))):
            fit = [node for node in recoverable if node in set(members) - set(running) - {forgotten}]
            assert offline_candidate(recoverable, forgotten, members, running) == (fit[0] if fit else NO_NODE)
