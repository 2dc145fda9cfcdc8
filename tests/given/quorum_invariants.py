"""What must be so of quorum queues and their Raft groups, in every state and after every event.

Raft's own promises: at most one leader in a term, logs that match, leaders that have all that is committed, one order
of what is committed. The queue's: what is confirmed is committed and is lost only with disks, a queue is up exactly
while its leader reaches a majority, all members that are abreast hold the same, and what a channel waits for is not
done yet. `hawb.raft` alone is held against a hostile network in `test_raft_properties`.
"""

from __future__ import annotations

from collections import Counter
from itertools import combinations

from hawb.engine.core import runs
from hawb.engine.core.events import MessagesExpire
from hawb.engine.core.moment import Moment
from hawb.engine.core.operations import ChannelDown
from hawb.engine.core.state import NOWHERE, STREAM, Queue
from hawb.engine.core.turn import OF_A_SIDE, Turn
from hawb.engine.quorum import visibility
from hawb.engine.raft_groups.enqueuers import channel_of
from hawb.engine.raft_groups.events import LeaderElected, LogCut
from hawb.engine.raft_groups.group import GONE, Group, Proposal
from hawb.engine.raft_groups.leadership import hosts
from hawb.engine.raft_groups.registration import asks_unreachable_node, is_registered
from hawb.raft.log import Log
from hawb.raft.member import Member
from hawb.rules.quorum import majority

MOST_PLANNED = 1_000
"""More events than this on the agenda are messages that beget messages."""

LONGEST_WITHOUT_LEADER_US = 30_000_000
"""How long after the last node or link is back each quorum queue that can be served is."""

BACK = {"node_running", "node_revived", "links_healed"}
"""Events with which faults end."""

DISKS_LOST = {"disk_lost", "node_reset", "node_stands_alone", "shrunk_by_force"}
"""Events after which members have forgotten what they had promised."""


def lost_disks(entries: object) -> bool:
    """Return True if a trace reports lost disks, or members that have deleted their data."""
    return any(entry.event in DISKS_LOST or entry.detail.get("reason") == "members_deleted" for entry in entries)


# What is so in every state


def check_groups(turn: Turn) -> None:
    """Check what needs no earlier state."""
    assert len(turn.agenda) < MOST_PLANNED, f"{len(turn.agenda)} events are planned"
    for name, group in turn.groups.items():
        found = [side.queues[name] for side in turn.sides.values() if name in side.queues]
        assert all(queue.has_group for queue in found), f"{name}: a group without a quorum queue or a stream"
        check_leaders(turn, name, group)
        check_undecided(turn, name, group, found)
    for side in turn.sides.values():
        for name, queue in side.queues.items():
            if queue.has_group:
                assert name in turn.groups, f"{name}: a {queue.type} queue without a group"
                check_record(turn, turn.groups[name], queue, side.number)
    check_one_machine(turn)


def check_leaders(turn: Turn, name: str, group: Group) -> None:
    """Check that a term has at most one leader, as far as they still believe it, unless votes are lost with disks."""
    terms = Counter(leader.term for leader in group.leaders())
    once = not terms or max(terms.values()) == 1
    disks_lost = not once and (lost_disks(turn.before.trace()) or lost_disks(turn.entries))
    assert once or disks_lost, f"{name}: two leaders in a term: {group.leaders()}"


def check_undecided(turn: Turn, name: str, group: Group, found: list[Queue]) -> None:
    """What waits is in no log as decided, and stands for what the queue has as pending, but for what is refused until
    its channel sends it again."""
    numbers = [proposal.number for proposal in group.waiting]
    assert len(set(numbers)) == len(numbers), f"{name}: {group.waiting} has a proposal twice"
    sent = runs.normal(pair for proposal in group.waiting for pair in proposal.numbers)
    for queue in found:
        pending = runs.minus(sent, turn.account(name).refused)
        assert pending == queue.pending, f"{name}: channels have sent {pending}, {queue.pending} is pending"
    early = runs.common(turn.account(name).confirmed, sent)
    assert not early, f"{name}: {early} is confirmed and not committed"
    logged = {proposal.number for member in group.members.values() for proposal in group.undecided(member.log)}
    looks = any(isinstance(entry[-1], LogCut) and entry[-1].queue == name for entry in turn.agenda)
    for proposal in () if looks else group.waiting:
        assert proposal.node != GONE or proposal.number in logged, f"{name}: nobody is left to send {proposal}"


def check_record(turn: Turn, group: Group, queue: Queue, side: int) -> None:
    """Check that a side's record of a queue is true."""
    name, seen = queue.name, None
    here = [node for node, value in enumerate(turn.nodes) if value.side == side and turn.runs_anywhere(node)]
    for leader in group.leaders():
        if hosts(turn, group, leader.id) and any(turn.linked(node, leader.id) for node in here):
            seen = leader
            break
    assert queue.master == (NOWHERE if seen is None else seen.id), f"{name}: led by {queue.master}, not {seen}"
    near = [] if seen is None else [
        node for node in seen.members
        if node == seen.id or (hosts(turn, group, node) and turn.linked(node, seen.id))
    ]  # fmt: skip
    commits = seen is not None and len(near) >= majority(len(seen.members))
    assert queue.up == commits, f"{name}: up is {queue.up}, its leader {seen} reaches {near}"
    assert not (queue.mirrors or queue.waiting or queue.sync or queue.lagging), f"{name}: it has what classic ones have"
    content = queue.contents[queue.holder]
    for node in queue.synchronised:
        assert node in queue.members, f"{name}: {node} is abreast and no member"
        assert queue.contents[node] == content, f"{name}: {node} holds {queue.contents[node]}, the queue {content}"
    assert not runs.common(content or (), queue.pending), f"{name}: {queue.pending} is pending, {content} is committed"
    if queue.type == STREAM:
        return
    fifo = queue.fifo
    returned = runs.normal(fifo.returns)
    assert not runs.minus(returned, content or ()), f"{name}: {returned} was given back and is not there"
    assert not runs.common(returned, queue.unacknowledged), f"{name}: {returned} is given back and held"
    counted = runs.normal(pair for _, these in fifo.counts for pair in these)
    assert not runs.minus(counted, content or ()), f"{name}: counts of {counted}, which is not there"


def check_one_machine(turn: Turn) -> None:
    """Check that sides know one quorum queue, apart from its leader and which policies apply."""
    for name in turn.groups:
        found = [side.queues[name] for side in turn.sides.values() if name in side.queues]
        for one, other in combinations(found, 2):
            for field in one.__struct_fields__:
                same = getattr(one, field) == getattr(other, field)
                assert field in OF_A_SIDE or same, f"{name}: {field} differs between sides"


def will_look(turn: Turn, queue: Queue) -> bool:
    """Whether a queue will look whether its head has expired: a new leader's first act, or what it waits to commit."""
    begins = any(isinstance(entry[-1], LeaderElected) and entry[-1].queue == queue.name for entry in turn.agenda)
    return begins or any(isinstance(one.operation, MessagesExpire) for one in turn.groups[queue.name].waiting)


def closes(turn: Turn, queue: Queue, consumer: str) -> bool:
    """Return True if a consumer's channel is gone and its quorum queue has not yet committed that it knows."""
    waiting = turn.groups[queue.name].waiting if queue.name in turn.groups else ()
    return any(isinstance(one.operation, ChannelDown) and one.operation.consumer == consumer for one in waiting)


# What an event may change


def check_group_changes(before: dict[str, Group], turn: Turn, *, disks_lost: bool) -> None:
    """Check what an event may not do to a group. Promises of lost disks are forgotten."""
    for name, group in turn.groups.items():
        had = before.get(name)
        if had is group:
            continue
        if had is None or had.number != group.number:
            had = None
        if disks_lost:
            continue
        check_logs(name, had, group)
        check_committed(name, group)
        if had is not None:
            assert group.applied >= had.applied, f"{name}: {group.applied} is applied, {had.applied} was"
            check_terms(name, had, group)
            if group.applied > had.applied:
                check_majority(name, group)


def check_logs(name: str, had: Group | None, group: Group) -> None:
    """Logs that have an entry of the same term at the same place are the same up to there (log matching), and no
    command is in a log twice or in part."""
    for node, member in group.members.items():
        old = None if had is None else had.members.get(node)
        if old is not None and old.log is member.log:
            continue
        check_commands(name, member.log)
        for other in group.members.values():
            if other is not member:
                check_match(name, member.log, other.log)


def check_match(name: str, log: Log, other: Log) -> None:
    """Log matching for two logs."""
    first = max(log.snapshot.index, other.snapshot.index) + 1
    last = min(log.last_index, other.last_index)
    while last >= first and log.term_at(last) != other.term_at(last):
        last -= 1
    assert log.between(first, last) == other.between(first, last), f"{name}: {log} and {other} differ before {last}"


def check_commands(name: str, log: Log) -> None:
    """Check that a command is in a log once and whole."""
    seen = set()
    for run in log.runs:
        if isinstance(run.command, Proposal):
            proposal = run.command
            assert proposal.number not in seen, f"{name}: {proposal} stands in a log twice"
            assert run.count == max(1, runs.size(proposal.numbers)), f"{name}: a part of {proposal} in a log"
            seen.add(proposal.number)


def check_committed(name: str, group: Group) -> None:
    """Check that two members have the same committed entries, and that leaders of later terms have them (leader
    completeness).
    """
    for one, other in combinations(group.members.values(), 2):
        index = min(one.commit_index, other.commit_index)
        assert agree(one.log, other.log, index), f"{name}: {one} and {other} have committed otherwise"
    for leader in group.leaders():
        for member in group.members.values():
            index = member.commit_index
            if member.term <= leader.term:
                assert agree(leader.log, member.log, index), f"{name}: the leader {leader} lacks what {member} has"
    for member in group.members.values():
        assert member.commit_index <= group.applied, f"{name}: {member} knows of more than {group.applied}"
        decided = [run.command for run in member.log.between(member.log.snapshot.index + 1, member.commit_index)]
        waiting = {proposal.number for proposal in group.waiting}
        done = [one for one in decided if isinstance(one, Proposal) and one.number in waiting]
        assert not done, f"{name}: {done} is done and waits"


def agree(log: Log, other: Log, index: int) -> bool:
    """Return True if two logs have the same entry at an index, as far as both still have it."""
    if index < max(log.snapshot.index, other.snapshot.index):
        return True
    return log.term_at(index) == other.term_at(index) is not None


def check_terms(name: str, had: Group, group: Group) -> None:
    """Check that a member's term never decreases and that it votes once in each."""
    for node, member in group.members.items():
        old = had.members.get(node)
        if old is not None:
            assert member.term >= old.term, f"{name}: the term of {node} went back"
            again = member.term == old.term and old.voted_for != NOWHERE
            assert not again or member.voted_for == old.voted_for, f"{name}: {node} voted twice in {member.term}"


def check_majority(name: str, group: Group) -> None:
    """Check that a new committed entry is on the disks of a majority of the members."""
    leader = next((one for one in group.leaders() if one.commit_index >= group.applied), None)
    if leader is not None:
        term = leader.log.term_at(group.applied)
        on_disk = [
            node for node in leader.members
            if node in group.members and has_written(group.members[node], group.applied, term)
        ]  # fmt: skip
        assert len(on_disk) >= majority(len(leader.members)), f"{name}: {group.applied} is on the disks of {on_disk}"


def has_written(member: Member, index: int, term: int | None) -> bool:
    """Return True if an entry is on a member's disk."""
    log = member.log
    return log.written >= index and (log.snapshot.index > index or log.term_at(index) == term)


def check_losses(before: object, turn: Turn, *, disks_lost: bool) -> None:
    """Check that a quorum queue or stream loses nothing that was confirmed."""
    for name, account in turn.ledger.items():
        was_one = [side[name].has_group for side in before.sides.values() if name in side]
        if name in turn.groups and was_one and all(was_one) and not disks_lost:
            had = before.ledger[name]
            unrouted = runs.common(runs.minus(account.confirmed, had.confirmed), had.refused)
            lost = account.lost_confirmed - had.lost_confirmed - runs.size(unrouted)
            assert lost <= 0, f"{name}: {lost} confirmed messages are lost"


# What is so once a cluster has settled, and what a trace tells


def check_quorum_settled(turn: Turn, queue: Queue) -> None:
    """A queue that can commit has decided everything, but for what stands in the log of a member that is away and was
    asked by a client that is gone, and what a stream's channel writes to a leader that was."""
    group = turn.groups[queue.name]
    away = [member for node, member in group.members.items() if not hosts(turn, group, node)]
    kept = {proposal.number for member in away for proposal in group.undecided(member.log)}
    waiting = [one for one in group.waiting if one.node != GONE or one.number not in kept]
    waiting = [one for one in waiting if is_heard(turn, group, one)]
    assert not (queue.up and waiting) or hands_over(group), f"{queue.name}: {waiting} waits for ever"


def is_heard(turn: Turn, group: Group, proposal: Proposal) -> bool:
    """Return True if what waits gets to the leader that there is, or its channel hears of that one."""
    channel = channel_of(turn, proposal)
    if not is_registered(turn, group, channel) and asks_unreachable_node(turn, group, channel):
        return False
    return visibility.learns_of_leader(turn, group, proposal)


def hands_over(group: Group) -> bool:
    """Return True if a leader takes nothing for a while, as it waits for another to lead."""
    return any(leader.transferring_to != NOWHERE for leader in group.leaders())


def check_elections(trace: object) -> None:
    """Check that no term of a group has two leaders, unless votes are lost with disks."""
    elected: dict[str, set[int]] = {}
    for entry in trace:
        if entry.event in DISKS_LOST:
            elected.clear()
        elif entry.event in ("queue_declared", "queue_deleted"):
            elected.pop(entry.queue, None)
        elif entry.event == "leader_elected":
            term = entry.detail["term"]
            terms = elected.setdefault(entry.queue, set())
            assert term not in terms, f"{entry.queue}: two leaders in term {term}"
            terms.add(term)


def check_served_soon(moment: Moment) -> None:
    """Check that no served queue waited for its leader long after its fault, or after the last node or link was back.
    """
    trace = moment.trace()
    over_us = max((entry.t_us for entry in trace if entry.event in BACK), default=0)
    for entry in trace:
        if entry.event in ("leader_elected", "queue_available") and entry.queue in moment.state.groups:
            began = entry
            while began.because is not None:
                began = trace[began.because]
            waited_us = entry.t_us - max(over_us, began.t_us)
            assert waited_us <= LONGEST_WITHOUT_LEADER_US, f"{entry} comes late after {began}"


def check_quorum_well(moment: Moment) -> None:
    """When the faults are over and enough time has passed, each queue that has not lost a majority of its members'
    disks for good has a leader, and nothing is left undecided."""
    state = moment.state
    check_served_soon(moment)
    disks_lost = lost_disks(moment.trace())
    for name, group in state.groups.items():
        queue = state.queues.get(name)
        if queue is None:
            continue
        if not queue.up:
            assert disks_lost, f"{name}: no leader, though nothing was lost"
            continue
        # What a channel keeps, and does not send before it publishes again, counts as refused.
        kept = runs.normal(pair for one in group.waiting for pair in one.numbers)
        undecided = [one for one in group.waiting if not one.numbers]
        assert not undecided and not queue.pending, f"{name}: {undecided} and {queue.pending} are undecided"
        waits = [share for waiting in state.unconfirmed for share in waiting.shares if share.queue == name]
        waits = [share for share in waits if runs.minus(share.numbers, kept)]
        assert not waits, f"{name}: {waits} is unconfirmed"
        leader = group.leaders()[0]
        for node in leader.members:
            member = group.members[node]
            assert member.commit_index == leader.commit_index, f"{name}: {node} is behind"
        assert set(queue.synchronised) == set(leader.members), f"{name}: only {queue.synchronised} are abreast"
