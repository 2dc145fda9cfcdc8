"""How a Raft group's log grows: a leader's entries and snapshots, what followers make of them, and what is committed.

As Ra does it (`ra_server`) and as the Raft paper says (section 5.3, 5.4.2, 7). An entry counts at a member, the leader
included, once it is on that member's disk. Where this is stricter than Ra:

- Ra's links keep their order, so a follower cuts off whatever a leader's empty message does not name, and answers with
  all that it has on disk. Here messages overtake each other: a follower answers with what it knows to be the leader's
  too (`agreed`), and cuts off only what contradicts an entry.
- A leader that has left the group does not count itself; Ra's does until the change is committed.
- There is no limit on how far a leader sends ahead of the answers (Ra's max_pipeline_count, 4096 entries).

Source: `ra_server` (`evaluate_quorum`, `agreed_commit`, `handle_follower`); the Raft paper, 5.3 and 5.4.2.
"""

from __future__ import annotations

from msgspec.structs import replace

from hawb.engine.raft_log import Run
from hawb.engine.raft_member import FOLLOWER, LEADER, Member, Peer, change_peer, is_gone, stale
from hawb.engine.raft_messages import (
    AppendEntries,
    AppendEntriesReply,
    Committed,
    ConditionTimeout,
    Installed,
    InstallSnapshot,
    ReleaseCursor,
    Tick,
    Written,
)
from hawb.rules.quorum import majority

RUNS_PER_MESSAGE = 128
"""The most runs in a message; Ra sends 128 entries in one (AER_CHUNK_SIZE)."""

# A leader


def append(leader: Member, command: object, out: list, count: int = 1, offset: int = 0) -> Member:
    """The leader with `count` more entries in its log, on their way to the others."""
    run = Run(leader.log.last_index + 1, count, leader.term, command, offset)
    return replicate(replace(leader, log=leader.log.append(run)), out)


def replicate(leader: Member, out: list) -> Member:
    """Sends each other member the entries and the commit index that were not sent to it yet."""
    last, commit = leader.log.last_index, leader.commit_index
    behind = [
        peer for peer in leader.peers if (peer.next_index <= last or peer.commit_sent < commit) and not peer.receiving
    ]
    return _send(leader, behind, out)


def enforce_leadership(leader: Member, out: list) -> Member:
    """Sends each other member something, so that it knows who leads (`ra_server:make_all_rpcs`)."""
    return _send(leader, [peer for peer in leader.peers if not peer.receiving], out)


def on_tick(member: Member, _: Tick, out: list) -> Member:
    """Sends again to those who have not answered."""
    if member.role != LEADER:
        return member
    behind = stale(member)
    return _send(member, [peer for peer in member.peers if peer.id in behind], out)


def on_append_entries_reply(member: Member, message: AppendEntriesReply, out: list) -> Member:
    """Takes in what a follower has, commits what a majority has, and sends on."""
    peer = next((peer for peer in member.peers if peer.id == message.source), None)
    if message.term < member.term or peer is None:
        return member
    member = change_peer(member, _answered(peer, message))
    return _step_down_if_gone(replicate(advance(member, out), out))


def advance(leader: Member, out: list) -> Member:
    """Commits what a majority has on disk, if it ends in an entry of the leader's own term: an older one may be on
    a majority and still be replaced (Raft, figure 8)."""
    index = agreed_commit(leader)
    if index > leader.commit_index and leader.log.term_at(index) == leader.term:
        return _commit(leader, index, out)
    return leader


def agreed_commit(leader: Member) -> int:
    """The highest index that a majority of the members has on disk."""
    indexes = [peer.match_index for peer in leader.peers]
    if leader.id in leader.members:
        indexes.append(leader.log.written)
    return sorted(indexes, reverse=True)[majority(len(leader.members)) - 1]


def _answered(peer: Peer, message: AppendEntriesReply) -> Peer:
    # Who asks for what it is known to have had has lost its disk (`ra_server:handle_leader`).
    lost = not message.success and message.next_index <= peer.match_index
    match = message.next_index - 1 if lost else max(peer.match_index, message.last_index)
    wanted = max(peer.next_index, message.next_index) if message.success else min(peer.next_index, message.next_index)
    return Peer(
        peer.id,
        next_index=max(match + 1, wanted),
        match_index=match,
        commit_sent=peer.commit_sent,
        commit_index=max(peer.commit_index, message.commit_index),
    )


def _step_down_if_gone(leader: Member) -> Member:
    """A leader that has left the group goes as soon as that is committed, and everybody has been told."""
    if is_gone(leader):
        return replace(leader, role=FOLLOWER, leader=None, peers=(), transferring_to=None)
    return leader


def _send(leader: Member, behind: list[Peer], out: list) -> Member:
    if not behind:
        return leader
    sent = {peer.id: _send_to(leader, peer, out) for peer in behind}
    return replace(leader, peers=tuple(sent.get(peer.id, peer) for peer in leader.peers))


def _send_to(leader: Member, peer: Peer, out: list) -> Peer:
    """Sends entries, or the snapshot if those wanted are gone; the peer as it is then."""
    log, previous = leader.log, peer.next_index - 1
    term = log.term_at(previous)
    if term is None:
        out.append(InstallSnapshot(leader.id, peer.id, leader.term, log.snapshot))
        return replace(peer, receiving=True)
    entries = log.between(peer.next_index, log.last_index, RUNS_PER_MESSAGE)
    commit = leader.commit_index
    opening = () if previous else log.snapshot.members
    out.append(AppendEntries(leader.id, peer.id, leader.term, previous, term, entries, commit, opening))
    next_index = entries[-1].last + 1 if entries else peer.next_index
    return Peer(peer.id, next_index, peer.match_index, commit, peer.commit_index)


# A follower


def on_append_entries(member: Member, message: AppendEntries, out: list) -> Member:
    """Takes the entries if the one before them is the same here, or asks for others. The answer to entries that are new
    comes when they are on disk."""
    if message.term < member.term:
        return _reply(member, message.source, False, member.log.last_index + 1, out)
    member = _follow(member, message.source)
    if not member.log.agrees(message.prev_index, message.prev_term):
        return _ask_for_others(member, message, out)
    had = member.log.opened(message.opening)
    log = had.merge(message.entries)
    last = message.entries[-1].last if message.entries else message.prev_index
    is_new = log is not had
    member = replace(member, log=log, agreed=max(member.agreed, last), asked=0)
    commit = min(message.leader_commit, member.agreed)
    if commit > member.commit_index:
        member = _commit(member, commit, out)
    return member if is_new else _reply(member, message.source, True, member.agreed + 1, out)


def on_install_snapshot(member: Member, message: InstallSnapshot, out: list) -> Member:
    """Takes a snapshot that is ahead of what it knows to be committed."""
    if message.term < member.term:
        return _reply(member, message.source, False, member.log.last_index + 1, out)
    member, snapshot = _follow(member, message.source), message.snapshot
    if snapshot.index > member.commit_index:
        member = replace(member, log=member.log.install(snapshot), commit_index=snapshot.index)
        out.append(Installed(snapshot))
    member = replace(member, agreed=max(member.agreed, snapshot.index), asked=0)
    return _reply(member, message.source, True, member.agreed + 1, out)


def _follow(member: Member, leader: int) -> Member:
    if member.role == FOLLOWER and member.leader == leader:
        return member
    if member.role == LEADER:
        raise RuntimeError(f"members {member.id} and {leader} lead in the same term, {member.term}")
    return replace(member, role=FOLLOWER, leader=leader, votes=frozenset())


def _ask_for_others(member: Member, message: AppendEntries, out: list) -> Member:
    """Asks for what comes after its last entry or, where that contradicts the leader's, after what is committed. It
    asks once, not for each message that does not fit (Ra: the state await_condition)."""
    last = member.log.last_index
    wanted = last + 1 if message.prev_index > last else member.commit_index + 1
    if member.asked and wanted >= member.asked:
        return member
    return _reply(replace(member, asked=wanted), message.source, False, wanted, out)


def _reply(member: Member, leader: int, success: bool, next_index: int, out: list) -> Member:
    last = min(member.log.written, member.agreed)
    out.append(AppendEntriesReply(member.id, leader, member.term, success, next_index, last, member.commit_index))
    return member


# Either


def on_written(member: Member, event: Written, out: list) -> Member:
    """What is on disk counts: at a leader for what is committed, a follower tells its leader."""
    log = member.log.write(event.generation, event.index)
    if log is member.log:
        return member
    member = replace(member, log=log)
    if member.role == LEADER:
        return _step_down_if_gone(replicate(advance(member, out), out))
    if member.leader is not None:
        return _reply(member, member.leader, True, member.agreed + 1, out)
    return member


def on_condition_timeout(member: Member, _: ConditionTimeout, out: list) -> Member:
    """A leader that was not followed leads on; a follower asks again."""
    if member.role == LEADER:
        return replace(member, transferring_to=None)
    if member.asked and member.leader is not None:
        return _reply(member, member.leader, False, member.asked, out)
    return member


def on_release_cursor(member: Member, event: ReleaseCursor, _: list) -> Member:
    """A snapshot in place of entries that are committed and on disk; of others it has to be asked for again."""
    if member.log.snapshot.index < event.index <= min(member.commit_index, member.log.written):
        return replace(member, log=member.log.compact(event.index, event.state))
    return member


def _commit(member: Member, index: int, out: list) -> Member:
    out.append(Committed(member.log.between(member.commit_index + 1, index)))
    return replace(member, commit_index=index)
