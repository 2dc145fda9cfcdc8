"""Replication in a Raft group: a leader's entries and snapshots, followers' handling of them, and commits.

It follows Ra (`ra_server`) and the Raft paper (section 5.3, 5.4.2, 7). An entry counts at a member, the leader
included, once it is on that member's disk. It is stricter than Ra in three points:

- Ra's links keep their order, so a follower truncates whatever a leader's empty message does not name, and answers with
  all that it has on disk. Here messages may overtake each other: a follower answers with what it knows to be the
  leader's too (`agreed`), and truncates only what contradicts an entry.
- A leader that has left the group does not count itself; Ra's does until the change is committed.
- There is no limit on how far a leader sends ahead of the answers (Ra's max_pipeline_count, 4096 entries).

Source: `ra_server` (`evaluate_quorum`, `agreed_commit`, `handle_follower`); the Raft paper, 5.3 and 5.4.2.
"""

from __future__ import annotations

from hawb.raft.member import FOLLOWER, LEADER, NOWHERE, Member, Peer
from hawb.raft.messages import APPEND_ENTRIES_REPLY, AppendEntries, AppendEntriesReply, InstallSnapshot, Write, Written
from hawb.raft.ports import (
    NO_TERM,
    Out,
    append_entries,
    bits_in,
    configured_at,
    forget_peers,
    install,
    members_of,
    merge,
    peers_of,
    raise_two_leaders,
    say_committed,
    say_unwritten,
    send_entries,
    send_message,
    send_snapshot,
    term_at,
)
from hawb.rules.quorum import majority

SHARED = True  # the kernel of studies compiles this module

# Leaders


def append(t: Out, leader: Member, command: object, count: int, offset: int) -> None:
    """Append `count` entries to the leader's log, and send them to the other members."""
    append_entries(t, leader, command, count, offset)
    replicate(t, leader)


def replicate(t: Out, leader: Member) -> None:
    """Send each peer the entries and the commit index that were not sent to it yet."""
    last, commit_index = leader.last_index, leader.commit_index
    for peer in peers_of(t, leader):
        if (peer.next_index <= last or peer.commit_sent < commit_index) and not peer.receiving:
            send_to(t, leader, peer)


def enforce_leadership(t: Out, leader: Member) -> None:
    """Send each peer a message, so that it learns which member leads (`ra_server:make_all_rpcs`)."""
    for peer in peers_of(t, leader):
        if not peer.receiving:
            send_to(t, leader, peer)


def on_tick(t: Out, member: Member) -> None:
    """Send again to the peers that have not answered."""
    if member.role == LEADER:
        for peer in peers_of(t, member):
            if is_stale(member, peer):
                send_to(t, member, peer)


def is_stale(leader: Member, peer: Peer) -> bool:
    """Return True if a `Tick` sends again to a peer.

    It does until the peer has reported that it has all entries on disk and the leader's commit index
    (`ra_server:stale_peers`, which takes the latter for known once it is sent).
    """
    return peer.match_index < leader.last_index or peer.commit_index < leader.commit_index or peer.receiving


def send_to(t: Out, leader: Member, peer: Peer) -> None:
    """Send entries, or the snapshot if those wanted are gone."""
    previous = peer.next_index - 1
    term = term_at(t, leader, previous)
    if term == NO_TERM:
        send_snapshot(t, leader, peer.id)
        peer.receiving = True
    else:
        last = send_entries(t, leader, peer.id, previous, term)
        peer.next_index, peer.commit_sent, peer.receiving = last + 1, leader.commit_index, False


def on_append_entries_reply(t: Out, member: Member, message: AppendEntriesReply) -> None:
    """Record a follower's progress, commit what a majority has, and send on."""
    is_led = member.role == LEADER and members_of(t, member) >> message.source & 1
    if message.term < member.term or not is_led:
        return
    take_in(peer_of(t, member, message.source), message)
    advance(t, member)
    replicate(t, member)
    step_down_if_gone(t, member)


def peer_of(t: Out, leader: Member, other: int) -> Peer:
    """Return the progress record of a peer. Raise LookupError if there is none."""
    for peer in peers_of(t, leader):
        if peer.id == other:
            return peer
    raise LookupError("no peer")


def take_in(peer: Peer, message: AppendEntriesReply) -> None:
    """Record a peer's answer."""
    # A peer that asks for entries that it had has lost its disk (`ra_server:handle_leader`).
    lost = not message.success and message.next_index <= peer.match_index
    peer.match_index = message.next_index - 1 if lost else max(peer.match_index, message.last_index)
    wanted = max(peer.next_index, message.next_index) if message.success else min(peer.next_index, message.next_index)
    peer.next_index, peer.receiving = max(peer.match_index + 1, wanted), False
    peer.commit_index = max(peer.commit_index, message.commit_index)


def advance(t: Out, leader: Member) -> None:
    """Commit what a majority has on disk, if it ends in an entry of the leader's own term.

    An older entry may be on a majority and still be replaced (Raft, figure 8).
    """
    index = agreed_commit(t, leader)
    if index > leader.commit_index and term_at(t, leader, index) == leader.term:
        commit(t, leader, index)


def agreed_commit(t: Out, leader: Member) -> int:
    """Return the highest index that a majority of the members has on disk, at least the commit index."""
    best = leader.commit_index
    if leader.written > best and is_agreed(t, leader, leader.written):
        best = leader.written
    for peer in peers_of(t, leader):
        if peer.match_index > best and is_agreed(t, leader, peer.match_index):
            best = peer.match_index
    return best


def is_agreed(t: Out, leader: Member, index: int) -> bool:
    """Return True if a leader knows that a majority of the members has an index on disk."""
    members = members_of(t, leader)
    count = members >> leader.id & 1 if leader.written >= index else 0
    for peer in peers_of(t, leader):
        count += peer.match_index >= index
    return count >= majority(bits_in(members))


def step_down_if_gone(t: Out, leader: Member) -> None:
    """Step down as soon as the leader's own removal is committed and sent to all peers."""
    if is_gone(t, leader):
        leader.role, leader.leader, leader.transferring_to = FOLLOWER, NOWHERE, NOWHERE


def is_gone(t: Out, member: Member) -> bool:
    """Return True if it is certain that a member does not belong to the group, because it left or has not joined yet.

    As long as its removal is not committed the other members may need it (Ongaro's thesis, 4.2.2).
    """
    return members_of(t, member) >> member.id & 1 == 0 and configured_at(t, member) <= member.commit_index


# Followers


def on_append_entries(t: Out, member: Member, message: AppendEntries) -> None:
    """Append a leader's entries if the one before them agrees, or ask for others.

    The answer to new entries is sent once they are on disk.
    """
    if message.term < member.term:
        reply(t, member, message.source, False, member.last_index + 1)
        return
    follow(t, member, message.source)
    if not agrees(t, member, message.prev_index, message.prev_term):
        ask_for_others(t, member, message)
        return
    is_new = merge(t, member, message)
    member.agreed, member.asked = max(member.agreed, message.last_index), 0
    commit_index = min(message.leader_commit, member.agreed)
    if commit_index > member.commit_index:
        commit(t, member, commit_index)
    if not is_new:
        reply(t, member, message.source, True, member.agreed + 1)


def agrees(t: Out, member: Member, index: int, term: int) -> bool:
    """Return True if a member's log and one that has an entry of `term` at `index` are the same up to there.

    What a snapshot replaces was committed, so every leader has it.
    """
    return index < member.snapshot_index or term_at(t, member, index) == term


def on_install_snapshot(t: Out, member: Member, message: InstallSnapshot) -> None:
    """Install a snapshot that is ahead of the commit index."""
    if message.term < member.term:
        reply(t, member, message.source, False, member.last_index + 1)
        return
    follow(t, member, message.source)
    if message.snapshot_index > member.commit_index:
        install(t, member, message)
        member.commit_index = message.snapshot_index
    member.agreed, member.asked = max(member.agreed, message.snapshot_index), 0
    reply(t, member, message.source, True, member.agreed + 1)


def follow(t: Out, member: Member, leader: int) -> None:
    """Follow a leader of this term."""
    if member.role != FOLLOWER or member.leader != leader:
        if member.role == LEADER:
            raise_two_leaders(t, member, leader)
        member.role, member.leader, member.votes = FOLLOWER, leader, 0


def ask_for_others(t: Out, member: Member, message: AppendEntries) -> None:
    """Ask the leader for entries after the last one or, where that contradicts the leader's, after the commit index.

    It asks once, not for each message that does not fit (Ra: the state await_condition).
    """
    wanted = (member.last_index if message.prev_index > member.last_index else member.commit_index) + 1
    if member.asked == 0 or wanted < member.asked:
        member.asked = wanted
        reply(t, member, message.source, False, wanted)


def reply(t: Out, member: Member, leader: int, success: bool, next_index: int) -> None:
    """Report a follower's progress to a leader."""
    on_disk = min(member.written, member.agreed)
    send_message(t, APPEND_ENTRIES_REPLY, member, leader, success, next_index, on_disk, member.commit_index)


# All members


def on_written(t: Out, member: Member, event: Written | Write) -> None:
    """Count entries that are on disk: a leader may commit them, a follower reports them to its leader."""
    if event.generation != member.generation or event.index <= member.written:
        return
    member.written = event.index
    if member.role == LEADER:
        advance(t, member)
        replicate(t, member)
        step_down_if_gone(t, member)
    elif member.leader != NOWHERE:
        reply(t, member, member.leader, True, member.agreed + 1)


def end_step(t: Out, member: Member, last_index: int, generation: int) -> None:
    """End a step: write new entries of the log to disk, and clear a follower's progress records.

    `last_index` and `generation` are those of the log before the step.
    """
    if member.role != LEADER:
        forget_peers(t, member)
    last = member.last_index
    if last > member.written and (last != last_index or member.generation != generation):
        say_unwritten(t, member)


def commit(t: Out, member: Member, index: int) -> None:
    """Emit newly committed entries, and advance the commit index."""
    say_committed(t, member, index)
    member.commit_index = index


def on_condition_timeout(t: Out, member: Member) -> None:
    """Let a leader that was not replaced lead on; let a follower ask again."""
    if member.role == LEADER:
        member.transferring_to = NOWHERE
    elif member.asked and member.leader != NOWHERE:
        reply(t, member, member.leader, False, member.asked)
