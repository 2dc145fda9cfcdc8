"""The sets of messages in a state's key.

For each stretch of messages that are in the same sets it has their number, and for each set its stretches. Messages
that exist nowhere are left out.
"""

from __future__ import annotations

from hawb.study.compiled import inner
from hawb.study.kernel.raft_log import bits_in
from hawb.study.kernel.search_names import place_in, say
from hawb.study.kernel.search_state import REMEMBERED
from hawb.study.kernel.state import AFTER


@inner
def say_messages(t, words, here, sides):
    """Write the sets of messages: for each stretch the number of messages, and for each set its stretches.

    Messages that exist nowhere are left out.
    """
    present, held, stored = 0, 0, 0
    for k in range(sides + t.setup.nodes):
        place = place_of_record(t, k, here, sides)
        if place >= 0:
            stored |= t.kept[place].stored
            for node in range(t.setup.nodes):
                present |= t.kept_contents[place, node]
        if k < sides:
            held = present
    for k in range(t.moment.awaiting):
        present |= t.awaiting[k, AFTER]
    promised = t.ledger.confirmed & held
    breaks = promised & ~(promised << 1)
    starts = breaks | changes(promised, present)
    for kind in t.kinds:
        starts |= changes(kind & stored, present)
    for k in range(t.moment.awaiting):
        starts |= changes(t.awaiting[k, AFTER], present)
    for k in range(sides + t.setup.nodes):
        place = place_of_record(t, k, here, sides)
        if place >= 0:
            starts |= changes_of_record(t, place, present)
    starts &= present
    say_stretches(t, words, starts, present)
    say(words, picked(promised, starts))
    say(words, picked(breaks, starts))
    for kind in t.kinds:
        say(words, picked(kind & stored, starts))
    for k in range(t.moment.awaiting):
        say(words, picked(t.awaiting[k, AFTER], starts))
    for k in range(sides + t.setup.nodes):
        place = place_of_record(t, k, here, sides)
        if place >= 0:
            say_sets(t, words, place, starts, present)


@inner
def place_of_record(t, k, here, sides):
    """Return the place of the k-th record: first those of sides, then what nodes remember; -1 if one remembers none."""
    if k < sides:
        return place_in(t, t.order[k], here)
    node = t.available[k - sides]
    return REMEMBERED + node if t.notes.remembers >> node & 1 else -1


@inner
def changes(some, present):
    """Return the messages present that are in a set while the one before is not, or the other way round."""
    found, before, k = 0, 0, 0
    while present >> k:
        if present >> k & 1:
            now = some >> k & 1
            found |= (now ^ before) << k
            before = now
        k += 1
    return found | present & -present


@inner
def firsts(queue, present):
    """Return the messages present that are the first ones of a batch."""
    found, begins, k = 0, 0, 0
    while present >> k:
        begins |= queue.starts >> k & 1
        if present & queue.stored & 1 << k and begins:
            found |= 1 << k
            begins = 0
        k += 1
    return found


@inner
def changes_of_record(t, place, present):
    """Return the messages that are in other sets of a record than those before."""
    queue = t.kept[place]
    found = changes(queue.stored, present) | changes(queue.redelivered, present) | changes(queue.unwritten, present)
    for node in range(t.setup.nodes):
        found |= changes(t.kept_contents[place, node], present)
    return found | firsts(queue, present)


@inner
def say_stretches(t, words, starts, present):
    """Write the length of each stretch."""
    say(words, bits_in(starts))
    length, k = 0, 0
    while present >> k:
        if starts >> k & 1 and length:
            say(words, length)
            length = 0
        if present >> k & 1:
            length += t.counts[k] if k < t.notes.given else 1
        k += 1
    say(words, length)


@inner
def picked(some, starts):
    """Return the stretches of a set, as bits."""
    found = k = at = 0
    while starts >> k:
        if starts >> k & 1:
            found |= (some >> k & 1) << at
            at += 1
        k += 1
    return found


@inner
def count_before(t, present, piece):
    """Return how many existing messages come before a piece."""
    total = 0
    for k in range(piece):
        if present >> k & 1:
            total += t.counts[k] if k < t.notes.given else 1
    return total


@inner
def say_sets(t, words, place, starts, present):
    """Write the sets of a record."""
    queue = t.kept[place]
    for k in range(t.setup.nodes):
        say(words, picked(t.kept_contents[place, t.available[k]], starts))
    say(words, picked(queue.stored, starts))
    say(words, picked(firsts(queue, present), starts))
    say(words, picked(queue.redelivered, starts))
    say(words, picked(queue.unwritten, starts))
    say(words, 1 + count_before(t, present, queue.uncounted - 1) if queue.uncounted else 0)
    for k in range(queue.lagging):
        say(words, count_before(t, present, t.kept_lag_from[place, t.kept_lagging[place, k]]))
