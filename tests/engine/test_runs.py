"""Runs behave as sets of numbers and are always in normal form."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from hawb.engine.core import runs
from hawb.engine.core.runs import Runs

numbers = st.frozensets(st.integers(1, 30))


def of(members: frozenset[int]) -> Runs:
    """Return the runs of a set, made without the module under test."""
    firsts = sorted(number for number in members if number - 1 not in members)
    lasts = sorted(number for number in members if number + 1 not in members)
    return tuple(zip(firsts, lasts, strict=True))


def test_runs_of_a_set_are_maximal():
    assert of(frozenset({1, 2, 3, 5, 9, 10})) == ((1, 3), (5, 5), (9, 10))


@given(numbers, numbers)
@example(frozenset({1, 2}), frozenset({3}))
def test_union_minus_and_common_agree_with_sets(a, b):
    assert runs.union(of(a), of(b)) == of(a | b)
    assert runs.minus(of(a), of(b)) == of(a - b)
    assert runs.common(of(a), of(b)) == of(a & b)


@given(numbers, st.integers(-1, 35))
def test_head_returns_the_smallest_numbers(a, count):
    assert runs.head(of(a), count) == of(frozenset(sorted(a)[: max(count, 0)]))


@given(numbers, st.integers(0, 31))
def test_size_contains_and_lists(a, number):
    assert runs.size(of(a)) == len(a)
    assert runs.contains(of(a), number) == (number in a)
    assert runs.as_lists(of(a)) == [list(pair) for pair in of(a)]


@given(st.lists(st.tuples(st.integers(1, 30), st.integers(0, 30)), max_size=8))
def test_normal_merges_any_pairs(pairs):
    assert runs.normal(pairs) == of(frozenset(n for first, last in pairs for n in range(first, last + 1)))


@given(st.integers(1, 30), st.integers(-2, 10))
def test_run_has_count_numbers(first, count):
    assert runs.run(first, count) == of(frozenset(range(first, first + count)))


@given(numbers, st.integers(0, 10**15))
def test_size_of_numbers_does_not_affect_the_cost(a, far):
    moved = tuple((first + far, last + far) for first, last in of(a))
    assert runs.minus(runs.run(1, 10**16), moved) == runs.minus(runs.union(moved, runs.run(1, 10**16)), moved)
    assert len(runs.minus(runs.run(1, 10**16), moved)) <= len(moved) + 1
