"""Sets of message numbers, kept as runs `((first, last), ...)`: sorted, disjoint, never adjacent.

A queue of a hundred million messages is one pair. The cost of an operation grows with the number of runs, never with
the depth. Runs are plain tuples: immutable, hashable and comparable.

A classic queue delivers in the order of its numbers, since a requeued message returns to its place
(`rabbit_variable_queue:requeue_merge`). So a sorted set is all that the content of a replica needs.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable

Runs = tuple[tuple[int, int], ...]

EMPTY: Runs = ()


def run(first: int, count: int) -> Runs:
    """Return the `count` numbers from `first` on."""
    return ((first, first + count - 1),) if count > 0 else EMPTY


def size(runs: Runs) -> int:
    """Return how many numbers there are."""
    if len(runs) == 1:  # most often
        return runs[0][1] - runs[0][0] + 1
    return sum(last - first + 1 for first, last in runs)


def normal(pairs: Iterable[tuple[int, int]]) -> Runs:
    """Return any pairs, overlapping, adjacent or out of order, as runs.

    A pair with its last below its first is empty.
    """
    pairs = sorted(pairs)
    if len(pairs) == 1 and pairs[0][0] <= pairs[0][1]:  # most often
        return ((pairs[0][0], pairs[0][1]),)
    merged: list[tuple[int, int]] = []
    for first, last in pairs:
        if last < first:
            continue
        if merged and first <= merged[-1][1] + 1:
            if last > merged[-1][1]:
                merged[-1] = (merged[-1][0], last)
        else:
            merged.append((first, last))
    return tuple(merged)


def union(a: Runs, b: Runs) -> Runs:
    """Return the numbers in either."""
    if not a or not b:
        return a or b
    if a[-1][1] + 1 < b[0][0]:
        return a + b
    return normal(a + b)


def minus(a: Runs, b: Runs) -> Runs:
    """Return the numbers of `a` that are not in `b`."""
    if not a or not b or a[-1][1] < b[0][0] or b[-1][1] < a[0][0]:
        return a
    left: list[tuple[int, int]] = []
    i = 0
    for first, last in a:
        while i < len(b) and b[i][1] < first:
            i += 1
        j = i
        while j < len(b) and b[j][0] <= last:
            if first < b[j][0]:
                left.append((first, b[j][0] - 1))
            first = b[j][1] + 1
            j += 1
        if first <= last:
            left.append((first, last))
    return tuple(left)


def common(a: Runs, b: Runs) -> Runs:
    """Return the numbers in both."""
    both: list[tuple[int, int]] = []
    i = j = 0
    while i < len(a) and j < len(b):
        first, last = max(a[i][0], b[j][0]), min(a[i][1], b[j][1])
        if first <= last:
            both.append((first, last))
        if a[i][1] < b[j][1]:
            i += 1
        else:
            j += 1
    return tuple(both)


def head(runs: Runs, count: int) -> Runs:
    """Return the `count` smallest numbers, or all if there are fewer."""
    taken: list[tuple[int, int]] = []
    for first, last in runs:
        if count <= 0:
            break
        last = min(last, first + count - 1)
        taken.append((first, last))
        count -= last - first + 1
    return tuple(taken)


def split(runs: Runs, count: int) -> tuple[Runs, Runs]:
    """Return the first `count` numbers and the rest, in the order of `runs`, which need not be sorted."""
    for at, (first, last) in enumerate(runs):
        if count <= last - first:
            before, after = ((first, first + count - 1),), ((first + count, last), *runs[at + 1 :])
            return runs[:at] + (before if count > 0 else EMPTY), after
        count -= last - first + 1
    return runs, EMPTY


def within(runs: Runs, b: Runs) -> Runs:
    """Return the numbers that are in `b` too, in the order of `runs`, which need not be sorted."""
    firsts = [first for first, _ in b]
    kept: list[tuple[int, int]] = []
    for first, last in runs:
        at = max(0, bisect_right(firsts, first) - 1)
        while at < len(b) and b[at][0] <= last:
            kept.append((max(first, b[at][0]), min(last, b[at][1])))
            at += 1
    return tuple((first, last) for first, last in kept if first <= last)


def chain(a: Runs, b: Runs) -> Runs:
    """Return `a` followed by `b`. Neither need be sorted."""
    if a and b and a[-1][1] + 1 == b[0][0]:
        return (*a[:-1], (a[-1][0], b[0][1]), *b[1:])
    return a + b


def contains(runs: Runs, number: int) -> bool:
    """Return True if `number` is among the runs."""
    return any(first <= number <= last for first, last in runs)


def as_lists(runs: Runs) -> list[list[int]]:
    """Return the runs as outcomes write them: `[[first, last], ...]`."""
    return [[first, last] for first, last in runs]
