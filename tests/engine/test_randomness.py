"""Counter-based randomness: known answers of Philox, and properties of draws and shuffles."""

from __future__ import annotations

from collections import Counter
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hawb.engine.core.randomness import RANDOM_LOCATOR, SHUFFLE_MIRRORS, below, draw, philox, shuffled

ALL_ONES = 0xFFFFFFFF
PI = (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344, 0xA4093822, 0x299F31D0)

seeds = st.integers(0, 2**64 - 1)
words = st.integers(0, 2**32 - 1)


@pytest.mark.parametrize(
    ("counter_and_key", "answer"),
    [
        ((0,) * 6, (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
        ((ALL_ONES,) * 6, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
        (PI, (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1)),
    ],
)
def test_philox_gives_the_known_answers_of_random123(counter_and_key, answer):
    assert philox(*counter_and_key) == answer


def test_draw_is_the_first_two_words_for_seed_purpose_trial_and_number():
    low, high, _, _ = philox(7, 5, RANDOM_LOCATOR, 0, 0x55667788, 0x11223344)
    assert draw(0x1122334455667788, RANDOM_LOCATOR, 5, 7) == high << 32 | low


@given(seeds, words, words)
def test_each_part_of_the_key_changes_the_draw(seed, trial, n):
    here = draw(seed, SHUFFLE_MIRRORS, trial, n)
    others = [
        draw(seed ^ 1, SHUFFLE_MIRRORS, trial, n),
        draw(seed ^ 1 << 63, SHUFFLE_MIRRORS, trial, n),
        draw(seed, RANDOM_LOCATOR, trial, n),
        draw(seed, SHUFFLE_MIRRORS, trial ^ 1, n),
        draw(seed, SHUFFLE_MIRRORS, trial, n ^ 1),
    ]
    assert len({here, *others}) == 6
    assert 0 <= here < 2**64


@given(st.integers(1, 2**63), seeds, words, words)
def test_below_returns_a_number_under_its_bound(bound, seed, trial, n):
    assert 0 <= below(bound, seed, RANDOM_LOCATOR, trial, n) < bound


@given(st.lists(st.integers(0, 9), max_size=8), seeds, words)
def test_shuffle_is_a_reproducible_permutation(items, seed, trial):
    shuffle = shuffled(tuple(items), seed, SHUFFLE_MIRRORS, trial, 0)
    assert sorted(shuffle) == sorted(items)
    assert shuffle == shuffled(tuple(items), seed, SHUFFLE_MIRRORS, trial, 0)


def chi_square(counts: Counter, kinds: int) -> float:
    """Return the chi-square statistic of counts of equally likely kinds."""
    expected = counts.total() / kinds
    return sum((count - expected) ** 2 / expected for count in counts.values()) + (kinds - len(counts)) * expected


def test_shuffled_orders_are_equally_likely():
    counts = Counter(shuffled((0, 1, 2, 3), seed, SHUFFLE_MIRRORS, 1, 0) for seed in range(4_800))
    assert set(counts) == set(permutations(range(4)))
    assert chi_square(counts, 24) < 60  # 23 degrees of freedom: exceeded once in 30,000


@pytest.mark.parametrize("varied", ["seed", "trial", "n"])
def test_numbers_are_equally_likely(varied):
    keys = ({"seed": 3, "trial": 4, "n": 5} | {varied: value} for value in range(7_000))
    counts = Counter(below(7, purpose=RANDOM_LOCATOR, **key) for key in keys)
    assert chi_square(counts, 7) < 30  # 6 degrees of freedom: exceeded once in 25,000
