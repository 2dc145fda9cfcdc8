"""Counted randomness: Philox 4x32-10, keyed (seed, purpose, trial, n).

A draw depends on its key alone. So it is the same whatever was drawn before, on any machine, in any order of Spark
partitions and in the compiled kernel. It uses only 32-bit products, exclusive-ors and shifts.

Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3" (SC11). Tests compare it with the
known answers of Random123.

A draw below a bound is a product without rejection; with 64 bits its bias is below bound / 2**64.
"""

from __future__ import annotations

SHUFFLE_MIRRORS = 1
RANDOM_LOCATOR = 2
DRAIN_DESTINATION = 3
CUT_OFF = 4
ELECTION = 5
MEMBERS = 6
GROUP_RING = 7
"""Purposes of draws. Those of studies begin at 100 (`hawb.study`)."""

_WORD = 0xFFFFFFFF


def philox(c0: int, c1: int, c2: int, c3: int, k0: int, k1: int) -> tuple[int, int, int, int]:
    """Return four 32-bit words from a counter of four words and a key of two."""
    for _ in range(10):
        p0 = 0xD2511F53 * c0
        p1 = 0xCD9E8D57 * c2
        c0, c1, c2, c3 = (p1 >> 32) ^ c1 ^ k0, p1 & _WORD, (p0 >> 32) ^ c3 ^ k1, p0 & _WORD
        k0 = (k0 + 0x9E3779B9) & _WORD
        k1 = (k1 + 0xBB67AE85) & _WORD
    return c0, c1, c2, c3


def draw(seed: int, purpose: int, trial: int, n: int) -> int:
    """Return 64 random bits for draw `n` of `trial`. Both are below 2**32; `seed` is taken modulo 2**64."""
    low, high, _, _ = philox(n & _WORD, trial & _WORD, purpose, 0, seed & _WORD, (seed >> 32) & _WORD)
    return high << 32 | low


def below(bound: int, seed: int, purpose: int, trial: int, n: int) -> int:
    """Return a random number from 0 to `bound` - 1."""
    return draw(seed, purpose, trial, n) * bound >> 64


def shuffled(items: tuple[int, ...], seed: int, purpose: int, trial: int, n: int) -> tuple[int, ...]:
    """Return `items` in random order. Uses the draws `n` to `n + len(items) - 2`."""
    order = list(items)
    for i in range(len(order) - 1, 0, -1):
        j = below(i + 1, seed, purpose, trial, n + len(order) - 1 - i)
        order[i], order[j] = order[j], order[i]
    return tuple(order)
