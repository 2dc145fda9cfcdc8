"""One trial of a quorum queue in a network whose links may fail: the differences from one in a whole network.

A trial falls back to the engine if a node loses its disk while links are cut or nodes are on several sides, or if links
are cut while an empty node is still to be replaced.
"""

from __future__ import annotations

from hawb.engine.cluster import partitions
from hawb.study.compiled import inner
from hawb.study.kernel import (
    channels,
    copies,
    departure,
    disks,
    enqueuers,
    fifo,
    host_ports,
    mirror_ports,
    network_ports,
    out_of_reach,
    partitioned_quorum,
    partitioned_state,
    partitioned_trial,
    quorum,
    quorum_disks,
    quorum_group,
    quorum_links,
    quorum_trial,
    replicas,
    search_nodes,
    silence,
    trial,
    upkeep,
    windows,
)
from hawb.study.kernel.asking import drop_orphans, set_unsent_aside
from hawb.study.kernel.network_rules import NETWORK, time_out
from hawb.study.kernel.partitioned_quorum import offer_in_sight, seek_leader
from hawb.study.kernel.partitioned_quorum_state import is_about_queue, is_of_side, place_of
from hawb.study.kernel.partitioned_state import SIDE, focus_on, look_from, oldest, stand_on_one_side
from hawb.study.kernel.quorum import do_committed
from hawb.study.kernel.quorum_links import suspect
from hawb.study.kernel.quorum_state import LEADER_SOUGHT, LINKS_SUSPECTED, LOG_CUT, MAJORITY_REACHED
from hawb.study.kernel.quorum_trial import take_row
from hawb.study.kernel.state import KIND, LINKS_TIME_OUT, A, B, hand_to_engine

stand_together, clears, handles, talks = (
    quorum_trial.set_up, quorum_trial.clean_up, quorum_trial.handle, quorum_trial.talk
)  # fmt: skip
cuts, loses_nodes = partitioned_trial.cut_between, quorum_disks.lose_nodes


@inner
def set_up(t):
    """Set up the cluster with all nodes on one side, and its quorum queue."""
    stand_on_one_side(t)
    stand_together(t)


@inner
def clean_up(t, words, beginning):
    """Clear the memory of the last trial, with its stale messages."""
    clears(t, words, beginning)
    windows.clear(t.stale)


# Events


@inner
def happen(t, row):
    """Handle an event on the side of its node, or without a node on the side on which it was scheduled.

    If that side is gone an event about the queue does not happen.
    """
    take_row(t, row)
    kind, side = t.message[KIND], t.message[SIDE]
    if not is_of_side(kind):
        look_from(t, place_of(kind, t.message[A], t.message[B]))
    elif not focus_on(t, side):
        if is_about_queue(kind):
            return
        focus_on(t, oldest(t))
    handle(t, t.message)
    do_committed(t)


@inner
def handle(t, event):
    """Handle an event with the function that handles it in the engine (`hawb.engine.advance`)."""
    kind, a, b = event[KIND], event[A], event[B]
    if kind == LINKS_TIME_OUT:
        time_out(t, a)
    elif kind == LINKS_SUSPECTED:
        suspect(t, a)
    elif kind == LEADER_SOUGHT:
        seek_leader(t, a, b)
    elif kind == MAJORITY_REACHED:
        if t.queue.master == a:
            offer_in_sight(t, a)
            if not t.setup.registers:
                set_unsent_aside(t, t.queue)
    elif kind == LOG_CUT:
        drop_orphans(t, t.queue)
        set_unsent_aside(t, t.queue)
    else:
        handles(t, event)


@inner
def talk(t, stop_us):
    """Handle events of the groups before anything flows, while no link drops messages and there is one side."""
    if is_whole(t):
        talks(t, stop_us)


@inner
def is_whole(t):
    """Return True if no link is cut and there is one side."""
    return not t.net.severed and t.net.sides == 1


# What the engine plays


@inner
def cut_between(t, bits, others):
    """Cut the links between some nodes and others, unless an empty node is to be replaced."""
    if t.moment.virgin or t.moment.without_member:
        hand_to_engine(t)
    cuts(t, bits, others)


@inner
def lose_nodes(t, bits):
    """Lose the disks of nodes, and what runs on them."""
    if not is_whole(t):
        hand_to_engine(t)
    loses_nodes(t, bits)


@inner
def classic_names(t):
    """Return the names of the classic queues: there are none."""
    return range(0)


UNASKED = (
    copies.note_silent, NETWORK.of(partitions.keep_own), network_ports.bring_back, network_ports.leave_side,
    network_ports.receive_late, network_ports.forget_recoverable, replicas.finish_late, mirror_ports.release,
    host_ports.note_hosts,
)  # fmt: skip
"""Functions of classic queues' replicas, and of a network without cut links."""
PARTS = quorum_trial.PARTS | partitioned_trial.OF_SIDES | quorum_links.PARTS | {
    **{part: partitioned_trial.PARTS[part] for part in (
        upkeep.is_content, upkeep.do_next, upkeep.connect, upkeep.act,
    )},
    partitioned_state.is_about_queue: is_about_queue, partitioned_state.is_of_side: is_of_side,
    **{getattr(host_ports, port): getattr(partitioned_quorum, port) for port in ("count_times", "take_committed")},
    **{getattr(enqueuers, port): getattr(partitioned_quorum, port) for port in (
        "is_chosen", "refuse", "set_aside", "take_up",
    )},
    quorum_group.pending: partitioned_quorum.pending,
    **{getattr(quorum, part): getattr(partitioned_quorum, part) for part in (
        "wait_behind", "look_from_leader", "look_from_committer", "seek_leader_later", "connection_fails",
    )},
    **{getattr(out_of_reach, part): getattr(partitioned_quorum, part) for part in (
        "hold_up", "stale_count", "late_answers", "answer_stale", "note_stale", "forget_stale", "carry_stale",
    )},
    fifo.lose: partitioned_quorum.lose, channels.client_gone: partitioned_quorum.client_gone,
    departure.clients_gone: partitioned_quorum.clients_gone,
    **{getattr(network_ports, port): getattr(partitioned_quorum, port) for port in (
        "in_reach", "give_up_what_waited", "send_what_waited", "drop_side",
    )},
    network_ports.note_suspects: search_nodes.note_suspects, network_ports.classic_names: classic_names,
    **dict.fromkeys(UNASKED, silence.nothing),
    partitioned_trial.cut_between: cut_between, disks.lose_nodes: lose_nodes,
    trial.set_up: set_up, trial.happen: happen, quorum_trial.handle: handle, trial.talk: talk,
}  # fmt: skip
"""The functions of a trial in a network whose links may fail, by those that they replace."""
