"""The order of nodes in a state's key: interchangeable nodes are sorted by what they are and hold.

See `hawb.engine.keys.state_key`.
"""

from __future__ import annotations

from hawb.study.compiled import inner
from hawb.study.kernel.partitioned_state import ELSEWHERE, place_of_side
from hawb.study.kernel.raft_log import bits_in
from hawb.study.kernel.state import RUNNING, is_among


@inner
def say(words, value):
    """Write one more word. Raise OverflowError if the key is too long."""
    if words[0] + 1 == len(words):
        raise OverflowError("a state's name is longer than a search has room for")
    words[0] += 1
    words[words[0]] = value


@inner
def place_in(t, number, here):
    """Return the place of a side's records, given that of the current side's."""
    return here if number == t.net.focus else place_of_side(t, number)


@inner
def rename(t, here, sides):
    """Write nodes in the order of their new names into `available`, and these names into `free`."""
    count = t.setup.nodes
    renames = interchangeable(t, sides)
    place = place_in(t, t.order[0], here)
    for node in range(count):
        at = node
        while renames and at > 0 and differs(t, place, node, t.available[at - 1]) < 0:
            t.available[at] = t.available[at - 1]
            at -= 1
        t.available[at] = node
    for k in range(count):
        t.free[t.available[k]] = k


@inner
def interchangeable(t, sides):
    """Return True if no rule depends on nodes' names."""
    for node in range(t.setup.nodes):
        if t.suspected[node]:
            return False
    return bool(t.notes.renames and not t.net.severed and sides == 1)


@inner
def differs(t, place, node, other):
    """Compare two nodes by what they are and hold: below 0 if the first one comes first, 0 if they are alike."""
    own_sign, believed = sign(t, place, node), bits_in(t.nodes[node].believes)
    other_sign, other_believed = sign(t, place, other), bits_in(t.nodes[other].believes)
    if believed != other_believed:
        return believed - other_believed
    if own_sign != other_sign:
        return own_sign - other_sign
    return runs_differ(t.kept_contents[place, node], t.kept_contents[place, other])


@inner
def sign(t, place, node):
    """Return a node's state and its role in the queue, without what it holds."""
    queue = t.kept[place]
    role = int(queue.master == node) << 1 | int(is_among(t.kept_synchronised[place], queue.synchronised, node))
    role = role << 1 | int(is_among(t.kept_recoverable[place], queue.recoverable, node))
    position = 0
    for k in range(queue.mirrors):
        if t.kept_mirrors[place, k] == node:
            position = k + 1
    role = role << 3 | position
    flags = bit(t.moment.virgin, node) << 2 | (t.nodes[node].drained != 0) << 1 | t.nodes[node].silent
    return role << 8 | status(t, node) << 3 | flags


@inner
def bit(bits, node):
    """Return 1 if a node is in a set, 0 otherwise."""
    return bits >> node & 1


@inner
def status(t, node):
    """Return a node's status, on whatever side."""
    return RUNNING if t.nodes[node].status == ELSEWHERE else t.nodes[node].status


@inner
def runs_differ(some, others):
    """Return a number below 0 if the runs of one set come before those of another, as tuples do."""
    if some == others:
        return 0
    k = 0
    while some >> k & 1 == others >> k & 1:
        k += 1
    longer, shorter = (some, others) if some >> k & 1 else (others, some)
    longest = 1 if some >> k & 1 else -1
    within = k > 0 and longer >> k - 1 & 1
    return -longest if not within and shorter >> k else longest
