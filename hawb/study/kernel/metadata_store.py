"""Khepri in a trial or a search: the metadata store of 4.3 as a second Raft group, `hawb.engine.cluster.khepri`.

Its log has the entries that open terms, and one for each node that is marked as drained, forgotten or joins, and for a
classic queue that is declared again: in a trial no other metadata changes. A trial in which a node is to be marked or
forgotten while the store has no majority falls back to the engine.
"""

from __future__ import annotations

from hawb.raft.member import NOWHERE
from hawb.study.compiled import inner
from hawb.study.kernel.host_ports import member_of
from hawb.study.kernel.hosting import (
    commit_at_once,
    elect_at_once,
    election_due,
    hosts,
    member_up,
    message_arrives,
    written,
)
from hawb.study.kernel.node_ports import members
from hawb.study.kernel.quorum_group import stand_members
from hawb.study.kernel.quorum_state import (
    ELECTION_DUE,
    ENQUEUED,
    METADATA_CHANGED,
    OF_STORE,
    RAFT_ARRIVES,
    RAFT_WRITTEN,
)
from hawb.study.kernel.state import hand_to_engine, linked, look_from, next_number, schedule


@inner
def stand(t):
    """Create the store of a cluster at the start, led by the first node."""
    if t.setup.khepri:
        t.store.store, t.store.number, t.store.applied, t.store.present = 1, next_number(t), 1, members(t)
        stand_members(t, t.store)
        elect_at_once(t, t.store, 0)
        t.store.master, t.store.up, t.store.led_term = 0, 1, member_of(t, t.store, 0).term


@inner
def store_happens(t, kind, a, b):
    """Handle an event of the store's group."""
    if not hosts(t, t.store, a):
        return
    if kind == OF_STORE + RAFT_ARRIVES:
        if linked(t, b, a):
            message_arrives(t, t.store, a, t.letter)
    elif kind == OF_STORE + RAFT_WRITTEN:
        if t.nodes[a].boots == b:
            written(t, t.store, a, t.letter)
    elif kind == OF_STORE + ELECTION_DUE:
        election_due(t, t.store, a)


@inner
def mark(t, node):
    """Mark a node as drained, which is written to the store's log."""
    if t.setup.khepri:
        look_from(t, node)
        if not reaches_store(t, node):
            hand_to_engine(t)
        note_change(t)


@inner
def note_change(t):
    """Append a change of the metadata to Khepri's log, if the cluster uses Khepri."""
    if t.setup.khepri:
        schedule(t, 0, METADATA_CHANGED)


@inner
def store_changes(t):
    """Append a change to the log and commit it, if a leader can commit."""
    if t.store.up:
        commit_at_once(t, t.store, ENQUEUED, 1, 0)


@inner
def store_starts(t, node):
    """Start a booting node's member of the metadata store."""
    if t.setup.khepri:
        member_up(t, t.store, node)


@inner
def reaches_store(t, node):
    """Return True if a request at a node of the current side, or at any (NOWHERE), reaches a leader that can commit."""
    return t.store.up == 1 and (node == NOWHERE or linked(t, node, t.store.master))
