"""Who runs, who leads and who has come how far: `hawb.engine.quorum_view` for one group on a whole network."""

from __future__ import annotations

from hawb.raft.member import LEADER, NOWHERE
from hawb.study.compiled import inner
from hawb.study.kernel.quorum_state import MAJORITY_REACHED
from hawb.study.kernel.raft_log import bits_in
from hawb.study.kernel.state import NEVER, running_bits, schedule


@inner
def note_hosts(t):
    """Notes whose members run, whenever one has gone or come: that is asked more often than it changes."""
    t.queue.here = running_bits(t) & t.setup.members & ~t.queue.stopped


@inner
def hosts(t, node):
    """Whether the group's member on a node runs."""
    return t.queue.here >> node & 1 == 1


@inner
def hosted(t):
    """The nodes whose members run, as bits."""
    return t.queue.here


@inner
def latest_leader(t, among):
    """Who leads in the latest term, of a set of nodes; NOWHERE if nobody does."""
    found = NOWHERE
    for node in range(t.setup.nodes):
        leads = among >> node & 1 and t.members[node].role == LEADER
        if leads and (found == NOWHERE or t.members[node].term > t.members[found].term):
            found = node
    return found


@inner
def refresh(t):
    """The queue's record says who leads and whether it can commit. The time before its first leader counts as no outage
    (`hawb.study.engine_trial`)."""
    queue, here = t.queue, hosted(t)
    master = latest_leader(t, here)
    up = int(master != NOWHERE and bits_in(here) >= t.setup.majority)
    if queue.master != master or queue.up != up:
        queue.master, queue.up = master, up
        if up and queue.waiting:
            schedule(t, t.setup.link_us, MAJORITY_REACHED, master)
    book, now_us = t.book, t.moment.now_us
    if up and book.down_since != NEVER:
        book.down_us, book.down_since = book.down_us + now_us - book.down_since, NEVER
    elif not up and book.down_since == NEVER and queue.led:
        book.down_since = now_us
    queue.led |= up


@inner
def level(t):
    """Members that have caught up hold what the queue does. Whether there are any new ones, and messages that the last
    leader could not deliver."""
    abreast = 0
    for node in range(t.setup.nodes):
        if hosts(t, node) and t.members[node].commit_index >= t.queue.applied:
            abreast |= 1 << node
    had, t.queue.abreast = t.queue.abreast, abreast
    return t.missing[0, 0] > 0 and abreast & ~had != 0
