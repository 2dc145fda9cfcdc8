"""The result of one more step, compiled: the moves of `hawb.planning.moves` at every moment, with one classic queue.

The functions of a trial in a network whose links may fail play it, with other parts where a search distinguishes more
than a trial. `followers` is `hawb.planning.explore.followers`; `hawb.study.compiled_search` stands between them.
"""

from __future__ import annotations

import numpy as np

from hawb.study.compiled import Assembly, compiled, inner
from hawb.study.kernel import (
    answers,
    arrival,
    books,
    copies,
    deliveries,
    departure,
    disks,
    failover_ports,
    mirror_ports,
    network_ports,
    node_ports,
    partitioned_state,
    partitioned_trial,
    search_books,
    search_copies,
    search_nodes,
    search_queue,
    search_record,
    search_state,
    state,
    trial,
)
from hawb.study.kernel.partitioned_state import copy_list, focus_on
from hawb.study.kernel.search_key import name
from hawb.study.kernel.search_moves import (
    WIPE,
    act,
    any_silent,
    faults_of,
    handle,
    is_settled,
    let_settle,
    nodes_for,
    operations_of,
    running_anywhere,
    stand_at,
)
from hawb.study.kernel.search_state import content, renumber
from hawb.study.kernel.state import LINKS_TIME_OUT, NEVER, is_planned

LOST_CONFIRMED, UNAVAILABLE, DIVERGED = range(3)
"""Goals, in the order of `hawb.planning.goals.GOALS`."""

VERB, STEP_NODES, REACHED, WHEN, FROM_US, DURATION_US, FAULTS, OPERATIONS, HARMED = range(9)
"""The columns of a result: the step's verb and nodes (bits; of a partition one group behind the other), the row of the
state that the step has led to before any reaction, and the moment after it: when all has SETTLED, AT_ONCE (from then
on), or IN_SYNC, in the middle of a synchronisation from then on that takes so long. Then the costs of the step, and
whether the goal is reached."""
SETTLED, AT_ONCE, IN_SYNC = range(3)
NOW, THEN, FIRST_REACHED = range(3)
"""The rows of states: the one that a step finds, and a later one that is only read; from the third on results."""


# Goals


@inner
def has_come_true(t, goal):
    """Return True if a goal is reached (`hawb.planning.goals`)."""
    if goal == LOST_CONFIRMED:
        return t.ledger.confirmed & (t.ledger.lost | t.ledger.refused) != 0
    up, served, differ = 0, 0, 0
    for number in range(1, t.net.last_side + 1):
        if focus_on(t, number) and t.queue.up:
            differ = differ or (up and content(t) != served)
            up, served = 1, content(t)
    if goal == UNAVAILABLE:
        noticed = not is_planned(t, LINKS_TIME_OUT) and not any_silent(t)
        return noticed and running_anywhere(t) != 0 and not up
    return goal == DIVERGED and differ != 0


# Steps


@compiled
def named(states, words):
    """Write the key of the first state."""
    name(states[NOW], words)


@inner
def reach_moment(t, time_us):
    """Let time pass until the moment that a step at `time_us` finds; until all has settled for NEVER."""
    if time_us == NEVER:
        let_settle(t)
        renumber(t)
    else:
        stand_at(t, time_us)


@compiled
def followers(states, words, names, rows, subsets, time_us, verbs, faults, operations, goal, wait_us):
    """Write the results of one more step from the first state; return how many rows of `rows` and `names` they take.

    The step is one of `verbs` (bits) at `time_us`, or once all has settled (NEVER), of at most so many faults and
    operations. The resulting states are in `states`; `words` are the same as plain numbers.
    """
    reach_moment(states[NOW], time_us)
    found, row = 0, FIRST_REACHED
    for verb in range(WIPE + 1):
        for k in range(len(subsets) if verbs >> verb & 1 else 0):
            nodes = nodes_for(states[NOW], verb, k, subsets[k])
            if nodes and faults_of(verb, nodes) <= faults and operations_of(verb) <= operations:
                if row == len(states) or found + len(states[row].begun) + 2 > len(rows):
                    raise OverflowError("more steps are possible than a search has room for")
                copy_list(words[NOW], words[row])
                act(states[row], verb, nodes, wait_us)
                found = write_moments(states, words, names, rows, found, row, verb, nodes, goal)
                row += 1
    return found


@inner
def write_moments(states, words, names, rows, found, row, verb, nodes, goal):
    """Write the moments after a step; return how many results there are by then."""
    t, then = states[row], states[THEN]
    t.notes.begun = 0
    copy_list(words[row], words[THEN])
    let_settle(then)
    begun = then.notes.begun
    if begun > len(then.begun):
        raise OverflowError("more synchronisations begin than a search has room for")
    write_state(then, names, rows, found, row, verb, nodes)
    rows[found, WHEN], rows[found, HARMED] = SETTLED, int(has_come_true(then, goal))
    found += 1
    if is_settled(t):
        return found
    for k in range(begun):
        rows[found + 1 + k, FROM_US], rows[found + 1 + k, DURATION_US] = then.begun[k, 0], then.begun[k, 1]
    write_state(t, names, rows, found, row, verb, nodes)
    rows[found, WHEN], rows[found, FROM_US] = AT_ONCE, t.moment.now_us
    found += 1
    for _ in range(begun):
        copy_list(words[row], words[THEN])
        stand_at(then, middle_us(rows[found, FROM_US], rows[found, DURATION_US]))
        write_state(then, names, rows, found, row, verb, nodes)
        rows[found, WHEN] = IN_SYNC
        found += 1
    return found


@inner
def write_state(t, names, rows, found, row, verb, nodes):
    """Write a state's key, and the step that led to it."""
    name(t, names[found])
    rows[found, VERB], rows[found, STEP_NODES], rows[found, REACHED] = verb, nodes, row
    rows[found, FAULTS], rows[found, OPERATIONS], rows[found, HARMED] = faults_of(verb, nodes), operations_of(verb), 0


@compiled
def differences(words, begun, changed):
    """Write into `changed` the places at which a state differs from the first one, each with its value.

    Return their length.
    """
    count = 0
    for k in range(len(words)):
        if words[k] != begun[k]:
            changed[count], changed[count + 1] = k, words[k]
            count += 2
    return count


@compiled
def restore(words, begun, changed):
    """Restore the state of which these are the differences."""
    copy_list(begun, words)
    for k in range(0, len(changed), 2):
        words[changed[k]] = changed[k + 1]


@inner
def middle_us(from_us, duration_us):
    """Return the middle of a synchronisation, as `hawb.planning.moves.instants` does."""
    return np.int64(np.rint((from_us / 1_000_000 + duration_us / 1_000_000 / 2) * 1_000_000))


PARTS = {
    **{part: partitioned_trial.PARTS[part] for part in (
        state.linked, state.is_here, state.runs_anywhere, state.look_from, state.look_from_outside, state.put_on_agenda,
        state.unschedule, answers.client_gone, node_ports.connections_at, node_ports.sides, node_ports.focused,
        node_ports.focus_on, arrival.find_records, disks.keep_sides, trial.happen,
    )},
    partitioned_state.put_aside: search_state.put_aside, partitioned_state.take_up: search_state.take_up,
    state.count_times: search_books.count_times, answers.answer_publisher: search_books.answer_publisher,
    answers.forget_in_each: search_books.forget_in_each, books.note_silent: search_copies.note_silent,
    deliveries.deliver: search_books.deliver, deliveries.close: search_books.close,
    deliveries.detach: search_books.close,
    copies.holds_all: search_copies.holds_all, copies.begin_copy: search_copies.begin_copy,
    copies.note_silent: search_copies.note_silent, copies.purge_copies: search_copies.purge_copies,
    copies.delete_copies: search_copies.delete, copies.fill_copies: search_copies.fill_copies,
    copies.leave_on_disks: search_copies.leave_on_disks, copies.inherit: search_copies.inherit,
    copies.keep_masters_copy: search_copies.keep_masters_copy,
    copies.keep_orphaned_mirrors: search_copies.keep_orphaned_mirrors,
    copies.lose_unwritten: search_copies.lose_unwritten,
    mirror_ports.note_recoverable: search_record.note_recoverable,
    mirror_ports.note_returned: search_record.note_returned, mirror_ports.start_sync: search_record.start_sync,
    failover_ports.meet: search_record.meet,
    departure.remember: search_nodes.remember, arrival.return_to_queues: search_nodes.return_to_queues,
    **{getattr(network_ports, port): getattr(search_nodes, port) for port in (
        "bring_back", "leave_side", "drop_side", "in_reach", "note_suspects", "has_copy", "lose_content",
    )},
    network_ports.receive_late: search_queue.receive_late,
    network_ports.forget_recoverable: search_queue.forget_recoverable,
    network_ports.send_what_waited: search_books.count_times,
    network_ports.give_up_what_waited: search_books.count_times,
    trial.handle: handle,
}  # fmt: skip
"""The functions of a search, by those of a trial that they replace."""

AS_WRITTEN = followers, named
followers, named = map(Assembly(PARTS).of, AS_WRITTEN)
