"""The result of one more step, compiled, for a cluster with one quorum queue: `search` with other parts.

Some parts are those of a trial in a network whose links may fail, or of a trial of a quorum queue.
"""

from __future__ import annotations

from hawb.engine.cluster import partitions
from hawb.raft.member import LEADER
from hawb.raft.messages import APPEND_ENTRIES_RPC, INSTALL_SNAPSHOT_RPC
from hawb.study.compiled import Assembly, inner
from hawb.study.kernel import (
    arrival,
    channels,
    copies,
    departure,
    disks,
    enqueuers,
    host_ports,
    metadata_store,
    mirror_ports,
    network_ports,
    node_ports,
    node_rules,
    partitioned_state,
    partitioned_trial,
    quorum_links,
    quorum_nodes,
    quorum_search_channels,
    quorum_search_key,
    quorum_search_nodes,
    quorum_search_ports,
    quorum_search_state,
    quorum_trial,
    raft_log,
    replicas,
    search,
    search_books,
    search_key,
    search_moves,
    search_names,
    search_nodes,
    search_state,
    silence,
    trial,
)
from hawb.study.kernel.asking import (
    ask,
    drop_orphans,
    end_waiting,
    is_waiting,
    offer_again,
    register,
    registration_given_up,
    set_unsent_aside,
)
from hawb.study.kernel.boot_order import boot, give_up_boot
from hawb.study.kernel.channels import await_batch, settle_batch
from hawb.study.kernel.enqueuers import to_be_known
from hawb.study.kernel.going_down import node_gone, shut_down, stopped
from hawb.study.kernel.host_ports import member_of
from hawb.study.kernel.hosting import election_due, hosts, message_arrives, refresh, written
from hawb.study.kernel.network_rules import NETWORK
from hawb.study.kernel.node_ports import focus_on
from hawb.study.kernel.node_rules import look_around
from hawb.study.kernel.quorum import wait_behind
from hawb.study.kernel.quorum_group import row_of
from hawb.study.kernel.quorum_links import suspect
from hawb.study.kernel.quorum_search_ports import (
    answer,
    gets_to_leader,
    note_sender,
    note_taken,
    offer_what_is_in_sight,
    sent_by_informed,
    sent_over,
)
from hawb.study.kernel.quorum_search_state import MOST_MOVED
from hawb.study.kernel.quorum_state import (
    ELECTION_DUE,
    ENQUEUE,
    LEADER_ELECTED,
    LINKS_SUSPECTED,
    LOG_CUT,
    MAJORITY_REACHED,
    OF_STORE,
    RAFT_ARRIVES,
    RAFT_WRITTEN,
    REGISTRATION_GIVEN_UP,
)
from hawb.study.kernel.search_moves import HEAL, WAIT, any_silent
from hawb.study.kernel.search_state import MOST_PIECES, OWN_KIND
from hawb.study.kernel.state import (
    BOOT,
    BOOT_GIVES_UP,
    CONFIRMS_DUE,
    LOOK_AROUND,
    NODE_GONE,
    NONE,
    PUBLISH,
    SHUT_DOWN,
    STOPPED,
    A,
    is_running,
    link_us,
    linked,
    look_from,
    next_number,
    schedule,
)

happens = partitioned_trial.happen

# Events


@inner
def happen(t, row):
    """Handle an event, and its consequences."""
    for column in range(len(t.message)):
        t.message[column] = t.agenda[row, column]
    happens(t, row)
    do_committed(t)
    send_awaiting_registration(t)


@inner
def handle(t, number, kind, a, b, c, d):
    """Handle an event, of the kinds that a search has."""
    if kind in (RAFT_ARRIVES, RAFT_WRITTEN, ELECTION_DUE):
        reach_member(t, t.queue, kind, a, b)
    elif kind == LEADER_ELECTED:
        drop_orphans(t, t.queue)
        offer_again(t, t.queue, a, sent_by_informed(t))
    elif kind == MAJORITY_REACHED:
        if t.queue.master == a:
            offer_what_is_in_sight(t, a, False)
            if not t.setup.registers:
                set_unsent_aside(t, t.queue)
    elif kind == LOG_CUT:
        drop_orphans(t, t.queue)
        set_unsent_aside(t, t.queue)
    elif kind == LINKS_SUSPECTED:
        suspect(t, a)
    elif kind >= OF_STORE + RAFT_ARRIVES:
        reach_member(t, t.store, kind - OF_STORE, a, b)
    elif kind == REGISTRATION_GIVEN_UP:
        if row_of(t, a) != NONE:
            registration_given_up(t, t.queue, t.waiting[row_of(t, a)])
    elif kind == CONFIRMS_DUE:
        settle_batch(t, a)
    elif kind == NODE_GONE:
        node_gone(t, a)
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
        publish(t, b)


@inner
def reach_member(t, g, kind, a, b):
    """Handle an event at a member of a group; other events of the metadata store change nothing."""
    if kind == RAFT_ARRIVES:
        arrive(t, g, t.letter)
    elif kind == RAFT_WRITTEN:
        if hosts(t, g, a) and t.nodes[a].boots == b:
            written(t, g, a, t.letter)
    elif kind == ELECTION_DUE:
        election_due(t, g, a)


@inner
def arrive(t, g, message):
    """Pass a message to a running member, unless the link has been cut meanwhile."""
    node = message.target
    if not hosts(t, g, node) or not linked(t, message.source, node):
        return
    leads = message.kind == APPEND_ENTRIES_RPC or message.kind == INSTALL_SNAPSHOT_RPC
    member = member_of(t, g, node)
    if leads and message.term == member.term and member.role == LEADER:
        raise OverflowError("two leaders in a term")
    message_arrives(t, g, node, message)


# Publishing


@inner
def send_awaiting_registration(t):
    """Send what channels that no longer wait have held back, in its order."""
    left, focus = 0, t.net.focus
    for k in range(t.queue.awaiting_registration):
        node = t.awaiting_registration[k]
        look_from(t, node)
        if is_waiting(t, t.queue, to_be_known(t, node)):
            t.awaiting_registration[left] = node
            left += 1
        else:
            schedule(t, 0, PUBLISH, 1, node)
    t.queue.awaiting_registration = left
    focus_on(t, focus)


@inner
def publish(t, node):
    """Deliver a message to the queue's channel, which waits until it is committed."""
    queue = t.queue
    if is_waiting(t, queue, to_be_known(t, node)):
        wait_in_channel(t, node)
        return
    piece = new_piece(t)
    if not is_running(t, node):
        t.ledger.refused |= piece
        return
    if queue.up and linked(t, node, queue.master):
        register(t, queue, to_be_known(t, node))
    if queue.master != NONE and queue.waiting and gets_to_leader(t, queue, node):
        offer_again(t, queue, queue.master, sent_over(t, node))
        look_from(t, node)
    queue.pending |= piece
    store(t, piece)
    send(t, node, piece)
    await_batch(t, node, 0, piece, 1)


@inner
def send(t, node, piece):
    """Propose a message, which waits for a leader that its channel reaches."""
    proposal = wait_behind(t, ENQUEUE, node, node, piece, 1)
    note_sender(t, t.queue, node)
    if gets_to_leader(t, t.queue, node):
        ask(t, t.queue, proposal)
    else:
        set_unsent_aside(t, t.queue)


@inner
def wait_in_channel(t, node):
    """Let a message wait in a channel's mailbox."""
    if t.queue.awaiting_registration == len(t.awaiting_registration):
        raise OverflowError("more is held back than a search has room for")
    next_number(t)
    t.awaiting_registration[t.queue.awaiting_registration] = node
    t.queue.awaiting_registration += 1


@inner
def new_piece(t):
    """Return the next message, as a bit."""
    if t.notes.pieces == MOST_PIECES:
        raise OverflowError("more is published than a search has room for")
    t.notes.pieces += 1
    t.kinds[OWN_KIND] |= 1 << t.notes.pieces - 1
    return 1 << t.notes.pieces - 1


@inner
def store(t, piece):
    """Add a message to the batch of those just before it of its kind."""
    before = t.queue.stored & piece >> 1 & t.kinds[OWN_KIND]
    t.queue.starts |= piece * int(not before)
    t.queue.stored |= piece


@inner
def do_committed(t):
    """Execute committed proposals, one after the other; the leader of the last message committed them."""
    queue = t.queue
    for k in range(queue.committed):
        entry = t.committed[k]
        look_from(t, t.message[A])
        end_waiting(t, queue, entry.number)
        if entry.asks == ENQUEUE:
            note_taken(t, queue, entry.client)
            put_into_queue(t, entry.client, entry.after)
        if queue.known:
            queue.roomy = t.notes.limited
    if queue.committed:
        queue.committed = 0
        refresh(t, queue)


@inner
def put_into_queue(t, client, some):
    """Add committed messages to the copies of the members that have caught up, and of the last leader."""
    queue = t.queue
    queue.pending &= ~some
    end = last_piece(t)
    if some & -some < end:
        move_behind(t, end, some)
    for node in range(t.setup.nodes):
        if (queue.abreast | 1 << queue.holder) >> node & 1:
            t.contents[node] |= some
            queue.copies |= 1 << node
    answer(t, client, some, 0, link_us(t, queue.master, client))


@inner
def last_piece(t):
    """Return the last piece that the queue holds or has put something behind, as a bit."""
    end, some = 0, t.contents[t.queue.holder]
    while some >> 1:
        some >>= 1
        end += 1
    end = 1 << end if t.contents[t.queue.holder] else 0
    return max(end, t.moved[t.queue.moved - 1, 0]) if t.queue.moved else end


@inner
def move_behind(t, end, some):
    """Put messages that are committed late behind others with higher numbers."""
    row = t.queue.moved
    if row and t.moved[row - 1, 0] == end:
        t.moved[row - 1, 1] |= some
        return
    if row == MOST_MOVED:
        raise OverflowError("more messages are late than a search has room for")
    t.moved[row, 0], t.moved[row, 1] = end, some
    t.queue.moved += 1


# Possible steps


@inner
def is_asked(t, verb):
    """Return True if there is anything to wait for, or to heal: there are no mirrors to synchronise."""
    if verb == WAIT:
        return t.net.severed or t.net.sides > 1 or any_silent(t)
    return verb == HEAL and t.net.severed


@inner
def classic_names(t):
    """Return the names of the classic queues: there are none."""
    return range(0)


UNASKED = (
    copies.note_silent, NETWORK.of(partitions.keep_own), network_ports.send_what_waited, network_ports.bring_back,
    network_ports.leave_side, network_ports.receive_late, network_ports.forget_recoverable, replicas.finish_late,
    mirror_ports.release, node_rules.retry_changes,
    departure.lose_unwritten, search_key.is_under_way, search_moves.begin_to_synchronise, host_ports.count_times,
    host_ports.count_replicated, host_ports.note_hosts, host_ports.has_changed, host_ports.note_members,
    raft_log.note_run, raft_log.configure, raft_log.find_configuration,
)  # fmt: skip
"""Functions of classic queues' replicas, and those that a search does not need for a quorum queue."""
PARTS = {
    **partitioned_trial.OF_SIDES, **quorum_links.PARTS, disks.keep_sides: partitioned_trial.PARTS[disks.keep_sides],
    **dict.fromkeys(quorum_trial.NEVER_HAPPENS, silence.nothing),
    partitioned_state.is_about_queue: quorum_search_state.is_about_queue,
    partitioned_state.is_of_side: quorum_search_state.is_of_side,
    search_state.content: quorum_search_state.content,
    **{getattr(host_ports, port): getattr(quorum_search_ports, port) for port in (
        "crown", "note_abreast", "recorded", "begin_member",
    )},
    raft_log.last_sent: quorum_search_ports.last_sent,
    raft_log.row_of_term: quorum_search_ports.row_of_term,
    **{getattr(enqueuers, port): getattr(quorum_search_channels, port) for port in (
        "is_known", "note_known", "asked_node", "note_asked",
    )},
    **{getattr(enqueuers, port): getattr(quorum_search_ports, port) for port in (
        "is_chosen", "refuse_orphan", "set_aside", "take_up", "reject_first",
    )},
    channels.answer_publisher: search_books.answer_publisher,
    **{getattr(departure, port): getattr(quorum_search_nodes, port) for port in (
        "remember", "clients_gone",
    )},
    **{getattr(departure, port): getattr(quorum_nodes, port) for port in (
        "members_down", "members_noticed_down", "publishers_gone",
    )},
    quorum_nodes.channels_gone: quorum_search_nodes.channels_gone,
    arrival.return_to_queues: quorum_search_nodes.return_to_queues,
    **{getattr(network_ports, port): getattr(quorum_search_nodes, port) for port in (
        "in_reach", "give_up_what_waited", "drop_side",
    )},
    arrival.store_starts: metadata_store.store_starts, node_ports.reaches_store: metadata_store.reaches_store,
    **dict.fromkeys(UNASKED, silence.nothing), network_ports.classic_names: classic_names,
    network_ports.note_suspects: search_nodes.note_suspects,
    search_nodes.lose_disk_of: quorum_search_nodes.lose_disk_of,
    search_moves.is_asked: is_asked, trial.handle: handle, trial.happen: happen,
    search.name: quorum_search_key.name, search_key.meaning: quorum_search_key.meaning,
    search_key.say_event: quorum_search_key.say_event,
    search_names.interchangeable: quorum_search_key.interchangeable, search_names.differs: quorum_search_key.differs,
}  # fmt: skip
"""The functions of a search of a quorum queue, by those of a trial or a search of a classic one that they replace."""

followers, named = map(Assembly(PARTS).of, search.AS_WRITTEN)

