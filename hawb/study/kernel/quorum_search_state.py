"""The record of a cluster with one quorum queue in a search.

It has `quorum_state`'s fields of the groups, `search_state`'s of nodes and sides, and sets of messages as bits. A
quorum queue, like the metadata store, is one on all sides, except for the leader that a side sees
(`hawb.engine.core.turn.OF_A_SIDE`). So of the other sides only that is kept, and nodes that are down remember the queue
as it was.
"""

from __future__ import annotations

import numpy as np

from hawb.study.compiled import inner
from hawb.study.kernel.partitioned_state import NET, copy_list
from hawb.study.kernel.quorum_state import (
    COLUMNS,
    DELAY,
    ENTRY,
    LETTER,
    LINKS_SUSPECTED,
    LOG_CUT,
    MEMBER,
    MEMBERS_ABREAST,
    METADATA_AVAILABLE,
    OF_STORE,
    PEER,
    QUORUM_SETUP,
    REGISTRATION_GIVEN_UP,
    REJECTED,
    with_letter,
)
from hawb.study.kernel.search_state import (
    LEDGER,
    MOST_GIVEN,
    MOST_KINDS,
    MOST_NODES,
    MOST_SIDES,
    MOST_UNCONFIRMED,
)
from hawb.study.kernel.state import LINKS_TIME_OUT, LOOK_AROUND, MOMENT, NODE, POLICY_TAKES_EFFECT, record

OTHER = 9
"""The command of an entry from before this search, beside those of `quorum_state`."""
MOST_PLANNED, MOST_TERMS, MOST_ENTRIES, MOST_ASKED, MOST_OUTPUTS, MOST_MOVED = 64, 32, 40, 12, 40, 6

HERE = MOST_NODES
"""The place of the present queue, while a key is written, behind what nodes remember."""

RECORD = record("master up holder abreast copies pending stored starts known roomy moved")
"""The queue's record: its leader, whether that can commit, and the one before it; the members that have caught up and
the nodes that have a copy, as bits; uncommitted messages, its batches' messages, and which of these are the first of
theirs. `known` are the nodes whose channels it knows in their order (`with_node`); `roomy` and `moved` are its state
machine's (`hawb.engine.quorum.fifo_state`), the latter the number of rows."""
GROUP = record(
    " ".join(RECORD.names) + " number applied stopped present waiting entries looked out committed"
    " awaiting_registration drawn_for store last_term under_way key_from ranks"
)
"""The same, and the group: `stopped`, and the nodes with a member (`present`), are bits; `store` is 1 for the metadata
store's group, 0 for the queue's; `last_term` is the last term for which `terms` has room. From `under_way` on for one
key only: whether anything is under way between members, the index from which logs are written, and the number of terms
in `ranks`."""
NOTES = record("remembers pieces given begun renames limited union starts")
"""The fields of `search_state.NOTES`; whether the queue has a limit, far away; from `union` on for one key only."""

QUORUM_SEARCHED = with_letter(
    [
        ("setup", QUORUM_SETUP), ("moment", MOMENT), ("queue", GROUP), ("store", GROUP), ("ledger", LEDGER),
        ("notes", NOTES), ("net", NET), ("nodes", NODE, (MOST_NODES,)),
        *((name, np.int64, (MOST_NODES,)) for name in (
            "cut", "lost_links", "suspected", "available", "free", "contents", "asks", "known_store", "known_store_up",
        )),
        *((name, np.int64, (MOST_SIDES + 1,)) for name in ("born", "order")),
        *((name, np.int64, (MOST_SIDES,)) for name in (
            "kept_side", "kept_master", "kept_up", "kept_store", "kept_store_up",
        )),
        ("message", np.int64, (COLUMNS,)), ("begun", np.int64, (1, 2)), ("ranks", np.int64, (2 * MOST_TERMS,)),
        ("counts", np.int64, (MOST_GIVEN,)), ("kinds", np.int64, (MOST_KINDS,)),
        ("moved", np.int64, (MOST_MOVED, 2)), ("awaiting_registration", np.int64, (MOST_ASKED,)),
        ("members", MEMBER, (2 * MOST_NODES,)), ("peers", PEER, (2 * MOST_NODES, MOST_NODES - 1)),
        ("drawn", np.int64, (2 * MOST_NODES,)), ("terms", np.int64, (2 * MOST_TERMS, 3)),
        ("waiting", ENTRY, (MOST_ASKED,)),
        ("awaiting", np.int64, (MOST_UNCONFIRMED, REJECTED + 1)), ("unanswered", np.int64, (1, DELAY + 1)),
        ("kept", RECORD, (HERE + 1,)), ("kept_contents", np.int64, (HERE + 1, MOST_NODES)),
        ("kept_moved", np.int64, (HERE + 1, MOST_MOVED, 2)),
        ("agenda", np.int64, (MOST_PLANNED, COLUMNS)), ("entries", ENTRY, (MOST_ENTRIES,)),
        ("out", LETTER, (MOST_OUTPUTS,)), ("committed", ENTRY, (MOST_ASKED,)),
    ]
)  # fmt: skip
"""One cluster while stories are searched, in one piece of memory.

`asks` has for each node the leader that its channel asks, and one more (0: none); `awaiting_registration` are the nodes
of publishes that wait in their channels; `moved` are rows (behind which piece, messages). A proposal's messages are in
`after`, its node in `channel`. `kept` and all fields whose names begin so are what nodes remember, except `kept_side`
and, of the other sides' views, `kept_master`, `kept_up`, `kept_store` and `kept_store_up`: the leaders of the queue and
of the metadata store, and whether these can commit. `known_store` and `known_store_up` are the latter as nodes remember
it. Rows of the metadata store's members, terms and draws are behind those of the queue's."""


@inner
def with_node(nodes, node):
    """Return a list of nodes with one more: three bits for each below a bit that ends it, 0 for none."""
    return max(1, nodes) << 3 | node


@inner
def without_node(nodes, node):
    """Return a list of nodes without one."""
    left, at = 0, 0
    while nodes >> 3 * (at + 1):
        at += 1
    for k in range(at - 1, -1, -1):
        if nodes >> 3 * k & 7 != node:
            left = with_node(left, nodes >> 3 * k & 7)
    return left


@inner
def has_node(nodes, node):
    """Return True if a node is in a list."""
    while nodes > 1:
        if nodes & 7 == node:
            return True
        nodes >>= 3
    return False


# Sides and remembered records


@inner
def remember_at(t, node):
    """Keep the queue's record for a node."""
    kept, queue = t.kept[node], t.queue
    kept.master, kept.up, kept.holder, kept.abreast, kept.copies = (
        queue.master, queue.up, queue.holder, queue.abreast, queue.copies
    )  # fmt: skip
    kept.pending, kept.stored, kept.starts, kept.known = queue.pending, queue.stored, queue.starts, queue.known
    kept.roomy, kept.moved = queue.roomy, queue.moved
    copy_list(t.contents, t.kept_contents[node])
    for k in range(queue.moved):
        t.kept_moved[node, k, 0], t.kept_moved[node, k, 1] = t.moved[k, 0], t.moved[k, 1]


@inner
def content(t):
    """Return what the queue holds, committed or not."""
    return t.contents[t.queue.holder] | t.queue.pending


# The agenda


@inner
def is_about_queue(kind):
    """Return True if an event is about the queue as such, on its side."""
    return kind in (POLICY_TAKES_EFFECT, MEMBERS_ABREAST, REGISTRATION_GIVEN_UP)


@inner
def is_of_side(kind):
    """Return True if an event happens on the side on which it was scheduled, and not where a node is."""
    return is_about_queue(kind) or kind in (
        LOG_CUT, OF_STORE + LOG_CUT, LOOK_AROUND, LINKS_TIME_OUT, LINKS_SUSPECTED, METADATA_AVAILABLE,
    )  # fmt: skip
