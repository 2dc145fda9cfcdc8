"""One trial of a quorum queue: the differences of `trial`, `nodes`, `upkeep` and `flows` from a classic queue's."""

from __future__ import annotations

from hawb.engine.core import randomness
from hawb.rules import quorum as quorum_rules
from hawb.study.compiled import inner, rule
from hawb.study.draws import below
from hawb.study.kernel import (
    arrival,
    client_times,
    closing,
    departure,
    disks,
    flows,
    metadata_store,
    node_ports,
    quorum_disks,
    quorum_nodes,
    silence,
    steady,
    trial,
    upkeep,
    windows,
)
from hawb.study.kernel.asking import drop_orphans, offer_again, registration_given_up
from hawb.study.kernel.boot_order import boot, give_up_boot
from hawb.study.kernel.channels import hear, settle_batch, settle_each
from hawb.study.kernel.fifo import arrive_at_client, deliver_missing, follow_leader, waits
from hawb.study.kernel.going_down import drain, node_gone, shut_down, stopped
from hawb.study.kernel.host_ports import note_hosts
from hawb.study.kernel.hosting import (
    call_elections,
    election_due,
    hosts,
    level,
    message_arrives,
    removal_written,
    stand_for_election,
    written,
)
from hawb.study.kernel.metadata_store import stand, store_changes, store_happens
from hawb.study.kernel.node_rules import look_around
from hawb.study.kernel.quorum import (
    answers,
    ask_for,
    channel_down,
    connection_fails,
    credit,
    do_committed,
    give_up_proposal,
    hold_ends,
    look_for_channels,
    publish,
)
from hawb.study.kernel.quorum_disks import node_forgotten
from hawb.study.kernel.quorum_flows import flow, next_change_us
from hawb.study.kernel.quorum_group import pending, row_of, stand_members
from hawb.study.kernel.quorum_nodes import followers_stop, suspect
from hawb.study.kernel.quorum_state import (
    CONNECTION_FAILS,
    CONSUMES,
    ELECTION_DUE,
    FOLLOWERS_STOP,
    HOLD_ENDS,
    LEADER_ELECTED,
    LINKS_SUSPECTED,
    LOG_CUT,
    MAJORITY_REACHED,
    MEMBERS_ABREAST,
    METADATA_CHANGED,
    NODE_FORGOTTEN,
    NOOP,
    OF_STORE,
    PROPOSAL_GIVEN_UP,
    RAFT_ARRIVES,
    RAFT_WRITTEN,
    REGISTRATION_GIVEN_UP,
    REMOVAL_WRITTEN,
)
from hawb.study.kernel.raft_log import bits_in, note_run
from hawb.study.kernel.state import (
    ACTIVE,
    BOOT,
    BOOT_GIVES_UP,
    CLOSED,
    CONFIRMS_DUE,
    CONSUME,
    CONSUMER_CLOSES,
    DELIVERY_ARRIVES,
    KIND,
    LOOK_AROUND,
    NEVER,
    NODE_DRAINS,
    NODE_GONE,
    NONE,
    NUMBER,
    PUBLISH,
    RUNNING,
    SHUT_DOWN,
    STOPPED,
    TIME,
    A,
    B,
    D,
    earliest,
    is_running,
    linked,
    look_from,
    next_number,
    remove_row,
    running_bits,
)
from hawb.study.kernel.steady import flows_us, react

MEMBERS = randomness.MEMBERS
is_critical = rule(quorum_rules.is_critical)
look_again = upkeep.look


# The beginning


@inner
def set_up(t):
    """Set up the cluster and its queue before anything has happened.

    All nodes run, and the first one stands for election.
    """
    all_nodes = (1 << t.setup.nodes) - 1
    for node in range(t.setup.nodes):
        t.nodes[node].status, t.nodes[node].believes, t.wanted[node] = RUNNING, all_nodes & ~(1 << node), 1
    t.moment.poll_us, t.consumer.wanted = 0, 1
    t.book.down_since = t.book.metadata_down_since = NEVER
    client_times.begin(t)
    t.consumer.node = t.publisher.node = t.queue.master = NONE
    t.publisher.closed = 1
    stand(t)
    t.setup.members = chosen(t, all_nodes)
    t.queue.present = t.queue.recorded = t.setup.members
    note_hosts(t)
    t.queue.number, t.queue.applied = next_number(t), 1
    note_run(t, 1, 1, NOOP)
    stand_members(t, t.queue)
    level(t, t.queue)
    stand_for_election(t, t.queue, 0)
    call_elections(t, t.queue)


@inner
def chosen(t, all_nodes):
    """Return the nodes of the queue's members, as bits: that of the client and as many others as are asked for."""
    count, drawn = t.setup.nodes - 1, next_number(t)
    if t.setup.group_size == 0 or t.setup.nodes <= t.setup.group_size:
        return all_nodes
    for k in range(count):
        t.drawn[k] = k + 1
    if t.setup.shuffles:
        for i in range(count - 1, 0, -1):
            j = below(i + 1, t.setup.seed, MEMBERS, 0, drawn + count - 1 - i)
            t.drawn[i], t.drawn[j] = t.drawn[j], t.drawn[i]
    bits = 1
    for k in range(t.setup.group_size - 1):
        bits |= 1 << t.drawn[k]
    return bits


@inner
def clean_up(t, words, beginning):
    """Clear a trial's memory of the last one."""
    for k in range(len(beginning)):
        words[k] = beginning[k]
    windows.clear(t.ready)
    windows.clear(t.returns)
    windows.clear(t.held)
    windows.clear(t.missing)
    windows.clear(t.moved_before)
    windows.clear(t.confirmed)
    windows.clear(t.delivered)
    windows.clear(t.delivered_twice)
    windows.clear(t.lost)


# Events


@inner
def happen(t, row):
    """Handle an event, and execute what is committed by it."""
    take_row(t, row)
    handle(t, t.message)
    do_committed(t)


@inner
def take_row(t, row):
    """Move an event off the agenda into `message`."""
    for column in range(len(t.message)):
        t.message[column] = t.agenda[row, column]
    remove_row(t, row)


@inner
def talk(t, stop_us):
    """Handle events of the groups before `stop_us` and before anything flows.

    Clients and upkeep notice of them only changes of the leader, of the queue's and the metadata store's ability to
    commit, and what is committed; then it is their turn.
    """
    row = earliest(t)
    if not is_within_group(t, row):
        return
    calm_us = min(stop_us, flows_us(t, t.queue))
    while is_within_group(t, row) and t.agenda[row, TIME] < calm_us:
        t.moment.now_us = max(t.moment.now_us, t.agenda[row, TIME])
        if t.agenda[row, KIND] == RAFT_ARRIVES and not hosts(t, t.queue, t.agenda[row, A]):
            remove_row(t, row)
        else:
            master, down_since = t.queue.master, t.book.down_since
            store_master, store_up = t.store.master, t.store.up
            take_row(t, row)
            handle(t, t.message)
            is_same = t.queue.master == master and t.book.down_since == down_since
            if t.queue.committed or not is_same or t.store.master != store_master or t.store.up != store_up:
                if is_same:
                    settle_each(t)
                    do_committed(t)
                else:  # what was under way to the leader waits at the client now
                    flow(t, t.moment.now_us)
                react(t)
                look(t)
                return
        row = earliest(t)


@inner
def is_within_group(t, row):
    """Return True if the event in a row is between members alone, or between a group and what waits for it."""
    if row == NONE:
        return False
    kind = t.agenda[row, KIND]
    return RAFT_ARRIVES <= kind <= MEMBERS_ABREAST or RAFT_ARRIVES <= kind - OF_STORE <= MEMBERS_ABREAST


@inner
def handle(t, event):
    """Handle an event with the function that handles it in the engine (`hawb.engine.advance`)."""
    kind, a, b = event[KIND], event[A], event[B]
    if kind == RAFT_ARRIVES:
        if hosts(t, t.queue, a) and linked(t, b, a):
            message_arrives(t, t.queue, a, t.letter)
    elif kind == RAFT_WRITTEN:
        if hosts(t, t.queue, a) and t.nodes[a].boots == b:
            written(t, t.queue, a, t.letter)
    elif kind == LOG_CUT:
        drop_orphans(t, t.queue)
    elif kind == ELECTION_DUE:
        election_due(t, t.queue, a)
    elif kind == LEADER_ELECTED:
        deliver_missing(t)
        follow_leader(t)
        look_for_channels(t, a)
        drop_orphans(t, t.queue)
        offer_again(t, t.queue, a, NONE)
    elif kind == MAJORITY_REACHED:
        if t.queue.master == a:
            offer_again(t, t.queue, a, NONE)
    elif kind == MEMBERS_ABREAST:
        deliver_missing(t)
    elif kind == REGISTRATION_GIVEN_UP:
        if row_of(t, a) != NONE:
            registration_given_up(t, t.queue, t.waiting[row_of(t, a)])
    elif kind == PROPOSAL_GIVEN_UP:
        give_up_proposal(t, a)
    elif kind == CONNECTION_FAILS:
        connection_fails(t, a)
    elif kind == LINKS_SUSPECTED:
        suspect(t, a, b)
    elif kind == HOLD_ENDS:
        hold_ends(t, b)
    elif kind == METADATA_CHANGED:
        store_changes(t)
    elif kind == FOLLOWERS_STOP:
        followers_stop(t, a, b)
    elif kind == REMOVAL_WRITTEN:
        removal_written(t, t.queue, a, b)
    elif kind == NODE_FORGOTTEN:
        node_forgotten(t, a)
    elif kind >= OF_STORE + RAFT_ARRIVES:
        store_happens(t, kind, a, b)
    elif kind == CONFIRMS_DUE:
        settle_batch(t, a)
    elif kind == DELIVERY_ARRIVES:
        arrive_at_client(t, event[NUMBER], a)
    elif kind == NODE_GONE:
        node_gone(t, a)
    elif kind == NODE_DRAINS:
        drain(t, a)
    elif kind == SHUT_DOWN:
        shut_down(t, a)
    elif kind == STOPPED:
        stopped(t, a, b)
    elif kind == BOOT:
        boot(t, a, b)
    elif kind == BOOT_GIVES_UP:
        give_up_boot(t, a, b)
    elif kind == LOOK_AROUND:
        look_around(t)
    elif kind == PUBLISH:
        publish(t, a, b, event[D])
    elif kind == CONSUME and is_running(t, b) and t.consumer.state != ACTIVE:
        ask_for(t, CONSUMES, b, NONE, 0, 0)
    elif kind == CONSUMER_CLOSES and t.consumer.state != CLOSED:
        channel_down(t)


# Upkeep and results


@inner
def look(t):
    """Let clients and operators that are not content try again at the next second."""
    down = int(t.book.down_since != NEVER)
    t.book.outages += down and not t.queue.was_down
    t.queue.was_down = down
    look_again(t)


@inner
def may_go(t, node):
    """Return True if the procedure lets a node go down."""
    members = t.queue.recorded
    look_from(t, node)
    if not t.setup.awaits or t.setup.nodes == 1 or not members >> node & 1:
        return True
    return not is_critical(bits_in(members & running_bits(t) & ~t.queue.stopped), bits_in(members))


@inner
def write_results(t, row):
    """Write the results of a trial into a row, in the order of `Record`, times in microseconds."""
    book = t.book
    down_us = book.down_us + (t.moment.now_us - book.down_since if book.down_since != NEVER else 0)
    for k in range(len(row)):  # as in `trial.summarise`
        row[k] = 0
    row[0], row[1], row[2], row[3] = book.published, windows.total(t.confirmed), book.nacked, book.refused
    row[4], row[5] = windows.total(t.lost), 0
    for k in range(1, t.lost[0, 0] + 1):
        row[5] += windows.count_between(t.confirmed, t.lost[k, 0], t.lost[k, 1])
    row[6], row[9] = windows.total(t.delivered_twice), book.outages
    row[10], row[11] = client_times.unconfirmed_us(t), client_times.undelivered_us(t)
    row[13], row[14] = trial.metadata_down_us(t), book.bytes_replicated
    row[15], row[16] = windows.total(t.held) + waits(t) + pending(t), down_us


NEVER_HAPPENS = (
    departure.end_masters, departure.shut_down_masters, departure.close_masters_consumers,
    departure.remove_dead_replicas, arrival.run_pending_removals,
)  # fmt: skip
"""Functions of classic queues' replicas."""
PARTS = {
    trial.set_up: set_up, trial.happen: happen, trial.write_results: write_results, flows.flow: flow,
    steady.next_change_us: next_change_us, closing.credit: credit, steady.answers: answers,
    disks.lose_nodes: quorum_disks.lose_nodes, departure.lose_unwritten: silence.nothing,
    departure.fall_silent: quorum_nodes.fall_silent, arrival.store_starts: metadata_store.store_starts,
    node_ports.reaches_store: metadata_store.reaches_store, node_ports.note_change: metadata_store.note_change,
    departure.members_down: quorum_nodes.members_down,
    departure.members_noticed_down: quorum_nodes.members_noticed_down,
    departure.publishers_gone: quorum_nodes.publishers_gone, departure.clients_gone: quorum_nodes.clients_gone,
    departure.disconnect: quorum_nodes.disconnect, departure.stop_members: quorum_nodes.stop_members,
    **dict.fromkeys(NEVER_HAPPENS, silence.nothing), arrival.return_to_queues: quorum_nodes.return_to_queues,
    upkeep.look: look, upkeep.mark: metadata_store.mark, disks.replace: quorum_disks.replace,
    upkeep.force_boot: quorum_disks.force_boot, upkeep.restore_queue: quorum_disks.restore_queue, upkeep.may_go: may_go,
    trial.talk: talk, trial.hear: hear,
}  # fmt: skip
"""The functions of a trial of a quorum queue, by those of a classic queue's that they replace."""
