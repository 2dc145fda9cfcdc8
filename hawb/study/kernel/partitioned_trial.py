"""One trial in a network whose links may fail: the differences from one in a whole network."""

from __future__ import annotations

from hawb.study import histories
from hawb.study.compiled import inner
from hawb.study.kernel import (
    answers,
    arrival,
    books,
    copies,
    deliveries,
    disks,
    links,
    network_rules,
    node_ports,
    partitioned_nodes,
    partitioned_state,
    state,
    steady_ports,
    trial,
    upkeep,
    windows,
)
from hawb.study.kernel.closing import close_with_nodes
from hawb.study.kernel.network_rules import cut, heal, time_out
from hawb.study.kernel.partitioned_nodes import parted, stop_parted
from hawb.study.kernel.partitioned_state import (
    MOST_SIDES,
    NO_SIDE,
    SIDE,
    focus_on,
    is_about_queue,
    is_of_side,
    look_from,
    look_from_outside,
    oldest,
    stand_on_one_side,
)
from hawb.study.kernel.state import (
    CONFIRMS_DUE,
    CONSUME,
    KIND,
    LINKS_TIME_OUT,
    NUMBER,
    PUBLISH,
    RESUME,
    SETTLE,
    A,
    B,
    C,
    D,
    hand_to_engine,
    remove_row,
)
from hawb.study.kernel.trial import handle, read_message
from hawb.study.kernel.upkeep import idle, look

CUT, CUT_LINK, HEAL = histories.CUT, histories.CUT_LINK, histories.HEAL
stand_together, does_what_can_be_done, acts = trial.set_up, upkeep.do_next, upkeep.act
has_what_they_want = upkeep.is_content
cleans_up, mends = trial.clean_up, upkeep.mend


@inner
def set_up(t):
    """Set up the cluster and its queue before anything has happened: all nodes are on one side."""
    stand_on_one_side(t)
    stand_together(t)


@inner
def clean_up(t, words, beginning):
    """Clear a trial's memory of the last one."""
    cleans_up(t, words, beginning)
    windows.clear(t.behind)
    windows.clear(t.held_up)
    windows.clear(t.left)


@inner
def messages(t):
    """Return how many messages are in the queue, on whatever side."""
    windows.clear(t.here)
    windows.copy_all(t.content, t.here)
    for place in range(MOST_SIDES):
        if t.kept_side[place] != NO_SIDE:
            windows.copy_all(t.kept_content[place], t.here)
    return windows.total(t.here)


# Events


@inner
def happen(t, row):
    """Handle an event on the side of its node, or without a node on the side on which it was scheduled.

    If that side is gone an event about the queue does not happen.
    """
    read_message(t, row)
    number, kind, side = t.agenda[row, NUMBER], t.agenda[row, KIND], t.agenda[row, SIDE]
    a, b, c, d = t.agenda[row, A], t.agenda[row, B], t.agenda[row, C], t.agenda[row, D]
    remove_row(t, row)
    if not is_of_side(kind):
        look_from(t, b if kind in (CONFIRMS_DUE, PUBLISH, SETTLE, CONSUME, RESUME) else a)
    elif not focus_on(t, side):
        if is_about_queue(kind):
            return
        focus_on(t, oldest(t))
    if kind == LINKS_TIME_OUT:
        time_out(t, a)
    else:
        handle(t, number, kind, a, b, c, d)


# Upkeep


@inner
def is_content(t):
    """Return True if clients are connected as they want, and nothing is left to do."""
    return has_what_they_want(t) and not parted(t)


@inner
def do_next(t):
    """Do the next thing that can be done now."""
    does_what_can_be_done(t)
    stop_parted(t)
    look_from_outside(t)


@inner
def mend(t):
    """Let empty nodes join again.

    While nodes do not see each other the engine decides which forget them, and which they join.
    """
    if (t.net.severed or t.net.sides > 1) and (t.queue.gone or idle(t) & t.moment.virgin):
        hand_to_engine(t)
    mends(t)


@inner
def connect(t, node):
    """Note that a client's connection leads to a node."""
    t.net.connected |= 1 << node


@inner
def cut_between(t, bits, others):
    """Cut the links between some nodes and others."""
    for node in range(t.setup.nodes):
        t.lost_links[node] = others * (bits >> node & 1) | bits * (others >> node & 1)
    cut(t, t.lost_links)


@inner
def act(t, kind, about):
    """Apply the next entry of the history."""
    all_nodes = (1 << t.setup.nodes) - 1
    if kind == CUT:
        cut_between(t, about & all_nodes, all_nodes & ~about)
    elif kind == CUT_LINK:
        cut_between(t, about & -about & all_nodes, about & about - 1)
    elif kind == HEAL:
        heal(t)
    if kind in (CUT, CUT_LINK, HEAL):
        close_with_nodes(t)
        look(t)
    else:
        acts(t, kind, about)


PARTS = {
    state.linked: partitioned_state.linked, state.is_here: partitioned_state.is_here,
    state.runs_anywhere: partitioned_state.runs_anywhere, state.look_from: partitioned_state.look_from,
    state.look_from_outside: partitioned_state.look_from_outside,
    state.put_on_agenda: partitioned_state.put_here, state.unschedule: partitioned_state.unschedule,
    state.count_times: books.count_times, copies.lose: books.lose, copies.inherit: books.inherit,
    copies.note_silent: books.note_silent,
    deliveries.take_out: books.take_out,
    deliveries.receive: links.receive, deliveries.deliver: links.deliver, deliveries.arrive: links.arrive,
    copies.purged_at: links.purged_at, steady_ports.lacked_up_to: links.lacked_up_to,
    answers.client_gone: partitioned_nodes.client_gone,
    node_ports.connections_at: partitioned_nodes.connections_at, node_ports.sides: partitioned_nodes.sides,
    node_ports.focused: partitioned_nodes.focused, node_ports.focus_on: partitioned_state.focus_on,
    arrival.find_records: network_rules.find_records,
    trial.set_up: set_up, trial.happen: happen, trial.messages: messages, trial.clean_up: clean_up,
    disks.keep_sides: network_rules.drop_unheld, upkeep.mend: mend,
    upkeep.is_content: is_content, upkeep.do_next: do_next, upkeep.connect: connect, upkeep.act: act,
}  # fmt: skip
"""The functions of a trial in a network whose links may fail, by those of a whole network that they replace."""
OF_SIDES = {part: PARTS[part] for part in (
    state.linked, state.is_here, state.runs_anywhere, state.look_from, state.look_from_outside, state.put_on_agenda,
    state.unschedule, node_ports.connections_at, node_ports.sides, node_ports.focused, node_ports.focus_on,
    arrival.find_records,
)}  # fmt: skip
"""Those of nodes, links and sides, which are the same for all types of queues."""
