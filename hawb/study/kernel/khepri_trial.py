"""One trial of a classic queue in a cluster with Khepri: the differences from one without a metadata store.

Such a queue has one replica. A trial falls back to the engine where metadata is to be changed while the store has no
majority: a node to be drained or forgotten, or a lost queue to be declared again.
"""

from __future__ import annotations

from hawb.study.compiled import inner
from hawb.study.kernel import (
    arrival,
    departure,
    disks,
    host_ports,
    khepri_state,
    metadata_store,
    node_ports,
    quorum_disks,
    quorum_nodes,
    raft_log,
    silence,
    trial,
    upkeep,
)
from hawb.study.kernel.hosting import call_elections, look_around, lose_member, member_down, refresh
from hawb.study.kernel.metadata_store import note_change, store_changes, store_happens
from hawb.study.kernel.partitioned_state import copy_list
from hawb.study.kernel.quorum_nodes import suspect, suspect_no_more
from hawb.study.kernel.quorum_state import LINKS_SUSPECTED, METADATA_CHANGED, OF_STORE, RAFT_ARRIVES
from hawb.study.kernel.raft_log import is_member
from hawb.study.kernel.state import hand_to_engine

handles, return_queue, lose_copies = trial.handle, arrival.return_to_queues, disks.lose_disks
declares_again = disks.declare_again

# Events


@inner
def read_message(t, row):
    """Note the event in a row, of which the message between members is read by name (`letter`)."""
    copy_list(t.agenda[row], t.message)


@inner
def handle(t, number, kind, a, b, c, d):
    """Handle an event of the metadata store, or any other."""
    if kind >= OF_STORE + RAFT_ARRIVES:
        store_happens(t, kind, a, b)
    elif kind == LINKS_SUSPECTED:
        suspect(t, a, b)
    elif kind == METADATA_CHANGED:
        store_changes(t)
    elif kind < RAFT_ARRIVES:
        handles(t, number, kind, a, b, c, d)


# Nodes


@inner
def members_down(t):
    """Update the metadata store after a node went down, noticed or not."""
    member_down(t, t.store)


@inner
def members_noticed_down(t):
    """Let members without a leader set their election timers, after a node was noticed as down."""
    call_elections(t, t.store)


@inner
def refresh_groups(t):
    """Update the leader of the metadata store that each side sees."""
    refresh(t, t.store)


@inner
def return_to_queues(t, node, others):
    """Let the queue react to a node that is back, and leaders of the metadata store reach its member again."""
    return_queue(t, node, others)
    suspect_no_more(t, node)
    look_around(t, t.store)


# Lost disks


@inner
def lose_members_at(t, node):
    """Lose what a node has on its disk: its member of the metadata store, and the queue's messages."""
    if is_member(t, t.store, node):
        lose_member(t, t.store, node)
    lose_copies(t, 1 << node, 0, 0)


@inner
def declare_again(t, node):
    """Let a client at a node declare the queue again, if the metadata store can write that."""
    if not t.store.up:
        hand_to_engine(t)
    note_change(t)
    declares_again(t, node)


WITHOUT_CLIENTS = (
    host_ports.note_hosts, host_ports.transfer_us, host_ports.lose_content, raft_log.note_run, raft_log.last_sent,
    quorum_disks.lose_channels_of, quorum_disks.lose_member_of_forgotten, quorum_disks.note_missing_member,
)  # fmt: skip
"""Functions of a quorum queue's group and its clients."""
PARTS = {
    trial.set_up_store: metadata_store.stand, trial.read_message: read_message, trial.handle: handle,
    **{getattr(host_ports, port): getattr(khepri_state, port) for port in (
        "waiting_of", "take_committed", "note_abreast",
    )},
    **dict.fromkeys(WITHOUT_CLIENTS, silence.nothing),
    departure.members_down: members_down, departure.members_noticed_down: members_noticed_down,
    departure.fall_silent: quorum_nodes.fall_silent,
    quorum_nodes.members_noticed_down: members_noticed_down, quorum_nodes.refresh_groups: refresh_groups,
    arrival.store_starts: metadata_store.store_starts, arrival.return_to_queues: return_to_queues,
    node_ports.reaches_store: metadata_store.reaches_store, node_ports.note_change: metadata_store.note_change,
    upkeep.mark: metadata_store.mark, upkeep.force_boot: quorum_disks.force_boot,
    disks.lose_nodes: quorum_disks.lose_nodes, disks.replace: quorum_disks.replace,
    disks.declare_again: declare_again,
    quorum_disks.lose_members_at: lose_members_at, quorum_disks.bequeath: disks.forget_node,
}  # fmt: skip
"""The functions of a trial of a classic queue beside Khepri, by those without a metadata store that they replace."""
