"""Sets of messages as windows: rows (after, last), sorted, neither overlapping nor touching; row 0 has their number.

They are `hawb.engine.core.runs` for a kernel, changed in place.
"""

from __future__ import annotations

from hawb.study.compiled import inner


@inner
def clear(windows):
    """Remove everything."""
    windows[0, 0] = 0


@inner
def total(windows):
    """Return how many messages there are."""
    total = 0
    for k in range(1, windows[0, 0] + 1):
        total += windows[k, 1] - windows[k, 0]
    return total


@inner
def count_between(windows, after, last):
    """Return how many of them lie after `after` up to `last`."""
    total = 0
    for k in range(1, windows[0, 0] + 1):
        total += max(0, min(windows[k, 1], last) - max(windows[k, 0], after))
    return total


@inner
def add(windows, after, last):
    """Add those after `after` up to `last`."""
    if last <= after:
        return
    end = windows[0, 0] + 1
    while end > 1 and windows[end - 1, 0] > last:
        end -= 1
    first = end
    while first > 1 and windows[first - 1, 1] >= after:
        first -= 1
        after, last = min(after, windows[first, 0]), max(last, windows[first, 1])
    if end != first + 1:
        move(windows, end, first + 1 - end)
    windows[first, 0], windows[first, 1] = after, last


@inner
def move(windows, start, by):
    """Move the windows from row `start` on by so many rows."""
    count = windows[0, 0]
    if count + by >= len(windows):
        raise OverflowError("more windows than a trial has room for")
    if by > 0:
        for k in range(count, start - 1, -1):
            windows[k + by, 0], windows[k + by, 1] = windows[k, 0], windows[k, 1]
    elif by < 0:
        for k in range(start, count + 1):
            windows[k + by, 0], windows[k + by, 1] = windows[k, 0], windows[k, 1]
    windows[0, 0] = count + by


@inner
def take_first(windows, most):
    """Remove up to `most` messages from the oldest window; return them as (after, last)."""
    if windows[0, 0] == 0 or most <= 0:
        return 0, 0
    after = windows[1, 0]
    last = min(windows[1, 1], after + most)
    windows[1, 0] = last
    if last == windows[1, 1]:
        move(windows, 2, -1)
    return after, last


@inner
def remove(windows, after, last):
    """Remove those after `after` up to `last`."""
    k = 1
    while after < last and k <= windows[0, 0]:
        first, end = windows[k, 0], windows[k, 1]
        if end <= after or last <= first:
            k += 1
        elif first < after and last < end:
            move(windows, k + 1, 1)
            windows[k, 1] = after
            windows[k + 1, 0], windows[k + 1, 1] = last, end
            return
        elif first < after:
            windows[k, 1] = after
            k += 1
        elif last < end:
            windows[k, 0] = last
            return
        else:
            move(windows, k + 1, -1)


@inner
def copy(windows, to, after, last):
    """Add those of a set that lie after `after` up to `last` to another."""
    for k in range(1, windows[0, 0] + 1):
        add(to, max(after, windows[k, 0]), min(last, windows[k, 1]))


@inner
def copy_all(windows, to):
    """Add a set to another."""
    for k in range(1, windows[0, 0] + 1):
        add(to, windows[k, 0], windows[k, 1])


@inner
def reach(windows, count):
    """Return the message up to which there are so many, or all if there are fewer; 0 for none."""
    last = 0
    for k in range(1, windows[0, 0] + 1):
        if count <= 0:
            break
        last = min(windows[k, 1], windows[k, 0] + count)
        count -= last - windows[k, 0]
    return last


@inner
def last_by(windows, limit):
    """Return the last message up to `limit`; 0 if there is none."""
    last = 0
    for k in range(1, windows[0, 0] + 1):
        if windows[k, 0] < limit:
            last = min(windows[k, 1], limit)
    return last
