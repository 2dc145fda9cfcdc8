"""How logs grow, and what is committed: `hawb.engine.raft_replication`."""

from __future__ import annotations

from hawb.study.compiled import inner
from hawb.study.kernel.quorum_state import (
    AGREED,
    APPEND,
    APPENDED,
    ASKED,
    COMMIT,
    COMMIT_HEARD,
    COMMIT_SENT,
    FIFTH,
    FIRST,
    FOLLOWER,
    FOURTH,
    GENERATION,
    INSTALL,
    LAST,
    LAST_TERM,
    LEADER,
    LEADING,
    MATCH,
    NEXT,
    NOWHERE,
    RECEIVING,
    ROLE,
    SECOND,
    SNAPSHOT,
    SNAPSHOT_TERM,
    SOURCE,
    TERM,
    TERM_SENT,
    THIRD,
    VOTES,
    WRITTEN,
)
from hawb.study.kernel.raft_log import NO_TERM, agrees, is_member, last_sent, merge, note_run, term_at
from hawb.study.kernel.raft_messages import commit, tell

# A leader


@inner
def append(t, node, says, count):
    """The leader has `count` more entries in its log, on their way to the others."""
    member = t.members[node]
    note_run(t, member[LAST] + 1, member[TERM], says)
    member[LAST] += count
    member[LAST_TERM] = member[TERM]
    replicate(t, node)


@inner
def replicate(t, node):
    """Sends each other member what was not sent to it yet."""
    last, committed = t.members[node, LAST], t.members[node, COMMIT]
    for other in range(t.setup.nodes):
        peer = t.peers[node, other]
        behind = peer[NEXT] <= last or peer[COMMIT_SENT] < committed
        if behind and other != node and is_member(t, other) and not peer[RECEIVING]:
            send_to(t, node, other)


@inner
def send_to(t, node, other):
    """Sends entries, or the snapshot if those wanted are gone."""
    member, peer = t.members[node], t.peers[node, other]
    previous = peer[NEXT] - 1
    term = term_at(t, node, previous)
    if term == NO_TERM:
        tell(t, INSTALL, node, other, member[SNAPSHOT], member[SNAPSHOT_TERM], 0, 0, 0)
        peer[RECEIVING] = 1
        return
    last = last_sent(t, previous + 1, member[LAST]) if previous < member[LAST] else previous
    tell(t, APPEND, node, other, previous, term, last, term_at(t, node, last), member[COMMIT])
    peer[NEXT], peer[COMMIT_SENT], peer[RECEIVING] = last + 1, member[COMMIT], 0


@inner
def on_tick(t, node):
    """Sends again to those who have not answered."""
    member = t.members[node]
    if member[ROLE] != LEADING:
        return
    for other in range(t.setup.nodes):
        if other != node and is_member(t, other):
            peer = t.peers[node, other]
            if peer[MATCH] < member[LAST] or peer[COMMIT_HEARD] < member[COMMIT] or peer[RECEIVING]:
                send_to(t, node, other)


@inner
def on_appended(t, node, message):
    """Takes in what a follower has, commits what a majority has, and sends on."""
    if message[TERM_SENT] < t.members[node, TERM] or t.members[node, ROLE] != LEADING:
        return
    peer, fitted, wanted = t.peers[node, message[SOURCE]], message[FIRST], message[SECOND]
    lost = not fitted and wanted <= peer[MATCH]
    peer[MATCH] = wanted - 1 if lost else max(peer[MATCH], message[THIRD])
    wanted = max(peer[NEXT], wanted) if fitted else min(peer[NEXT], wanted)
    peer[NEXT], peer[RECEIVING] = max(peer[MATCH] + 1, wanted), 0
    peer[COMMIT_HEARD] = max(peer[COMMIT_HEARD], message[FOURTH])
    advance(t, node)
    replicate(t, node)


@inner
def advance(t, node):
    """Commits what a majority has on disk, if it ends in an entry of the leader's own term."""
    member = t.members[node]
    index = agreed_commit(t, node)
    if index > member[COMMIT] and term_at(t, node, index) == member[TERM]:
        commit(t, node, index)


@inner
def agreed_commit(t, node):
    """The highest index that a majority of the members has on disk; no less than what is committed."""
    best = t.members[node, COMMIT]
    for one in range(t.setup.nodes):
        if is_member(t, one) and on_disk(t, node, one) > best and is_agreed(t, node, on_disk(t, node, one)):
            best = on_disk(t, node, one)
    return best


@inner
def is_agreed(t, node, index):
    """Whether a leader knows a majority of the members to have an index on disk."""
    count = 0
    for other in range(t.setup.nodes):
        count += is_member(t, other) and on_disk(t, node, other) >= index
    return count >= t.setup.majority


@inner
def on_disk(t, node, other):
    """What a leader knows a member to have on disk."""
    return t.members[node, WRITTEN] if other == node else t.peers[node, other, MATCH]


# A follower


@inner
def on_append(t, node, message):
    """Takes the entries if the one before them is the same here, or asks for others."""
    member = t.members[node]
    if message[TERM_SENT] < member[TERM]:
        reply(t, node, message[SOURCE], 0, member[LAST] + 1)
        return
    follow(t, node, message[SOURCE])
    if not agrees(t, node, message[FIRST], message[SECOND]):
        ask_for_others(t, node, message)
        return
    last = message[THIRD]
    is_new = last > message[FIRST] and merge(t, node, last, message[FOURTH])
    member[AGREED], member[ASKED] = max(member[AGREED], last), 0
    committed = min(message[FIFTH], member[AGREED])
    if committed > member[COMMIT]:
        commit(t, node, committed)
    if not is_new:
        reply(t, node, message[SOURCE], 1, member[AGREED] + 1)


@inner
def on_install(t, node, message):
    """Takes a snapshot that is ahead of what it knows to be committed."""
    member = t.members[node]
    if message[TERM_SENT] < member[TERM]:
        reply(t, node, message[SOURCE], 0, member[LAST] + 1)
        return
    follow(t, node, message[SOURCE])
    index, term = message[FIRST], message[SECOND]
    if index > member[COMMIT]:
        if term_at(t, node, index) != term:
            member[LAST], member[LAST_TERM], member[WRITTEN] = index, term, index
            member[GENERATION] += 1
        member[WRITTEN] = max(member[WRITTEN], index)
        member[SNAPSHOT], member[SNAPSHOT_TERM], member[COMMIT] = index, term, index
    member[AGREED], member[ASKED] = max(member[AGREED], index), 0
    reply(t, node, message[SOURCE], 1, member[AGREED] + 1)


@inner
def follow(t, node, leader):
    """Somebody leads."""
    member = t.members[node]
    if member[ROLE] != FOLLOWER or member[LEADER] != leader:
        if member[ROLE] == LEADING:
            raise RuntimeError("two lead in the same term")
        member[ROLE], member[LEADER], member[VOTES] = FOLLOWER, leader, 0


@inner
def ask_for_others(t, node, message):
    """Asks once for what comes after its last entry or, where that contradicts the leader's, after what is
    committed."""
    member = t.members[node]
    wanted = (member[LAST] if message[FIRST] > member[LAST] else member[COMMIT]) + 1
    if not member[ASKED] or wanted < member[ASKED]:
        member[ASKED] = wanted
        reply(t, node, message[SOURCE], 0, wanted)


@inner
def reply(t, node, leader, fitted, wanted):
    """Tells a leader what it has."""
    member = t.members[node]
    tell(t, APPENDED, node, leader, fitted, wanted, min(member[WRITTEN], member[AGREED]), member[COMMIT], 0)


@inner
def on_written(t, node, generation, index):
    """What is on disk counts: at a leader for what is committed, a follower tells its leader."""
    member = t.members[node]
    if generation != member[GENERATION] or index <= member[WRITTEN]:
        return
    member[WRITTEN] = index
    if member[ROLE] == LEADING:
        advance(t, node)
        replicate(t, node)
    elif member[LEADER] != NOWHERE:
        reply(t, node, member[LEADER], 1, member[AGREED] + 1)
