"""The host of quorum queues' Raft groups: it carries their messages, writes their logs and calls elections.
What reaches members is in `hawb.engine.raft_inputs`.

What `hawb.raft` leaves open is decided here:

- A message takes a link's latency and the transfer of the bodies that it carries, and overtakes none. A link that
  drops everything drops it; when something is back leaders send again what was not answered (Ra looks at each tick,
  once a second).
- A member's log counts once it is on disk, a disk write after it was sent there.
- Members that miss their leader stand for election one after the other, in an order drawn from the seed, so that the
  first has been elected when `election_s` is over, unless another has a better log. One that could not win, since it
  does not reach a majority, does not try before something has come back: its asking would change nothing.

Source: `ra_server_proc`, `aten`, `rabbit_quorum_queue`.
"""

from __future__ import annotations

from msgspec.structs import replace

from hawb.engine import chance, quorum_view
from hawb.engine.quorum_group import GONE, Group, Proposal
from hawb.engine.quorum_view import hosts, reaches
from hawb.engine.raft_events import (
    ElectionDue,
    HandoverDue,
    LeaderElected,
    LogCut,
    MembersAbreast,
    RaftArrives,
    RaftWritten,
)
from hawb.engine.turn import TIMER, Turn
from hawb.raft.election import up_to_date
from hawb.raft.member import FOLLOWER, LEADER, NOWHERE, Member
from hawb.raft.messages import (
    AppendEntries,
    Command,
    Committed,
    Input,
    Installed,
    Message,
    PreVote,
    Refused,
    StartElectionTimer,
    Store,
    Write,
    Written,
)
from hawb.raft.step import step
from hawb.rules.quorum import majority

CONDITION_US = 30_000_000
"""How long a leader that hands over waits for the other to lead (Ra's await_condition_timeout)."""

LEAST_PATIENCE_US = 1_000
"""However short elections are made, a member that was not elected waits before it asks again."""


def feed(turn: Turn, name: str, node: int, event: Input) -> None:
    """Something happens at a member, and what it wants done is done."""
    group = turn.groups[name]
    before = group.members[node]
    after, outputs = step(before, event)
    turn.groups[name] = group.with_member(after)
    for output in outputs:
        (_send if isinstance(output, Message) else OUTPUTS[type(output)])(turn, name, after, output)
    retired = _retire(turn, name)
    if not misses_leader(turn, turn.groups[name], node):
        turn.unschedule(ElectionDue(name, node, group.number))
    if after.role == LEADER and before.role != LEADER:
        quorum_view.crown(turn, name, node)
        turn.schedule(turn.settings.timing.link_latency_us, LeaderElected(name, node, group.number))
    if [leader.id for leader in turn.groups[name].leaders()][:1] == [node]:
        quorum_view.change_members(turn, name, after.members)
    # A leader that has left the group still sends out what it has committed; then `quorum.committed` looks again.
    goes = before.role == LEADER != after.role and any(entry[0] == name for entry in turn.committed)
    changed = (after.role, after.leader, after.members) != (before.role, before.leader, before.members)
    if (changed or retired) and not goes:
        quorum_view.refresh(turn, name)
    if quorum_view.level(turn, name):
        turn.schedule(0, MembersAbreast(name))
    if before.role == LEADER != after.role:
        call_elections(turn, name)
    if after.log.generation != before.log.generation:
        turn.schedule(0, LogCut(name))
    if after.transferring_to != NOWHERE and before.transferring_to == NOWHERE:
        turn.schedule(CONDITION_US, HandoverDue(name, node, group.number), priority=TIMER)


# What a member wants done


def _send(turn: Turn, name: str, member: Member, message: Message) -> None:
    if turn.linked(member.id, message.target):
        delay_us = turn.link_us(member.id, message.target) + _transfer_us(turn, name, message)
        delay_us = max(delay_us, _last_arrival_us(turn, name, message) - turn.now_us)
        turn.schedule(delay_us, RaftArrives(name, message.target, turn.groups[name].number, message))


def _last_arrival_us(turn: Turn, name: str, message: Message) -> int:
    """When what was sent before over the same link will all have arrived: nothing overtakes there."""
    return max(
        (due_us for due_us, event in turn.planned(name, RaftArrives)
         if (event.node, event.message.source) == (message.target, message.source)),
        default=0,
    )  # fmt: skip


def _transfer_us(turn: Turn, name: str, message: Message) -> int:
    """How long the bodies of the messages in it take, which count as replicated."""
    entries = message.entries if isinstance(message, AppendEntries) else ()
    sent_bytes = sum(
        run.count * run.command.operation.size_bytes
        for run in entries
        if isinstance(run.command, Proposal) and run.command.numbers
    )
    turn.book(name, bytes_replicated=turn.account(name).bytes_replicated + sent_bytes)
    return sent_bytes * 1_000_000 // turn.settings.timing.network_bytes_per_s


def _write(turn: Turn, name: str, member: Member, output: Write) -> None:
    written = Written(output.generation, output.index)
    boot = turn.nodes[member.id].boots
    event = RaftWritten(name, member.id, turn.groups[name].number, boot, written)
    turn.schedule(turn.settings.timing.fsync_us, event)


def _commit(turn: Turn, name: str, member: Member, output: Committed) -> None:
    """What nobody has committed before is on its way into the queue (`quorum.committed`). What stands in other logs at
    the same places is nowhere any more."""
    group = turn.groups[name]
    new = [run for run in output.entries if run.last > group.applied]
    if not new:
        return
    turn.groups[name] = replace(group, applied=new[-1].last)
    for run in new:
        if isinstance(run.command, Proposal):
            turn.committed.append((name, member.id, run.command, turn.because))
    if any(proposal.node == GONE for proposal in group.waiting):
        turn.schedule(0, LogCut(name))


def _start_election_timer(turn: Turn, name: str, member: Member, _output: StartElectionTimer) -> None:
    _arm(turn, name, member.id)


def _refuse(turn: Turn, _name: str, _member: Member, output: Refused) -> None:
    """A proposal waits for another leader; what an operator asked for has failed."""
    if not isinstance(getattr(output.asked, "command", None), Proposal):
        turn.refuse(None, output.reason)


def _nothing(_turn: Turn, _name: str, _member: Member, _output: Store | Installed) -> None:
    """Term and vote are written before anything leaves; the queue is one for all members, and a snapshot changes
    nothing in it."""


OUTPUTS = {
    Write: _write,
    Committed: _commit,
    StartElectionTimer: _start_election_timer,
    Refused: _refuse,
    Store: _nothing,
    Installed: _nothing,
}


def _retire(turn: Turn, name: str) -> bool:
    """Members that have left the group for good are deleted, wherever they are; on a node that is down one is not
    started again (`rabbit_quorum_queue:delete_member`, `rabbit_amqqueue:find_recoverable_queues`). Whether there were
    any."""
    group = turn.groups[name]
    latest = max(group.members.values(), key=lambda member: (member.commit_index, member.log.configurations[-1][0]))
    index, members = latest.log.configurations[-1]
    if index > latest.commit_index or set(group.members) <= set(members):
        return False
    left = {node: member for node, member in group.members.items() if node in members}
    turn.groups[name] = replace(group, members=left)
    turn.schedule(0, LogCut(name))
    call_elections(turn, name)
    return True


def commit_at_once(turn: Turn, name: str, kind: str, count: int, size_bytes: int = 0) -> None:
    """A leader that can commit takes in what flowed to it since the last event: `count` commands of a kind, which by
    now every member that it reaches has on disk."""
    group = turn.groups[name]
    leader = group.leaders()[0]
    last = leader.log.runs[-1] if leader.log.runs else None
    offset = last.offset + last.count if last is not None and (last.command, last.term) == (kind, leader.term) else 0
    others = [node for node in leader.members if node != leader.id and reaches(turn, group, leader.id, node)]
    sent_bytes = len(others) * count * size_bytes
    turn.book(name, bytes_replicated=turn.account(name).bytes_replicated + sent_bytes)
    events: list[tuple[int, Input]] = [(leader.id, Command(kind, count, offset))]
    while events:
        node, event = events.pop(0)
        member, outputs = step(turn.groups[name].members[node], event)
        turn.groups[name] = turn.groups[name].with_member(member)
        for output in outputs:
            if isinstance(output, Committed):
                _commit(turn, name, member, output)
            elif isinstance(output, Write):
                events.append((node, Written(output.generation, output.index)))
            elif isinstance(output, Message) and output.target in (*others, leader.id):
                events.append((output.target, output))
    quorum_view.level(turn, name)


# Elections


def call_elections(turn: Turn, name: str) -> None:
    """Members that miss their leader get ready to be elected."""
    for node in sorted(turn.groups[name].members):
        if hosts(turn, turn.groups[name], node) and misses_leader(turn, turn.groups[name], node):
            _arm(turn, name, node)


def misses_leader(turn: Turn, group: Group, node: int) -> bool:
    member = group.members.get(node)
    if member is None or member.role == LEADER:
        return False
    known = group.members.get(member.leader)
    return known is None or known.role != LEADER or _is_suspected(turn, group, node, member.leader)


def _is_suspected(turn: Turn, group: Group, node: int, other: int) -> bool:
    """Whether a node takes another for dead."""
    link = (min(node, other), max(node, other))
    if reaches(turn, group, node, other):
        return False
    return link in turn.suspected or (not hosts(turn, group, other) and not turn.nodes[other].silent)


def _ask_who_leads(turn: Turn, name: str, member: Member) -> None:
    """Who has lost its disk cannot be elected, but asks like everybody who starts without a leader. A leader answers
    that it leads: it has nothing else to send to a member that it takes to have everything."""
    for leader in turn.groups[name].leaders():
        _send(turn, name, member, PreVote(member.id, leader.id, member.term, 0, 0))


def _arm(turn: Turn, name: str, node: int) -> None:
    """Sets a member's election timer where a majority hears it. Who was refused for its log, or is a stranger to a
    leader that has struck it off, asks in vain again, and a real one does so for ever: here it rests until somebody
    else is within reach, or that leader gives way."""
    group = turn.groups[name]
    member = group.members[node]
    if not member.members:
        _ask_who_leads(turn, name, member)
    electors = [other for other in member.members if other == node or reaches(turn, group, node, other)]
    if member.role != FOLLOWER:
        electors = [other for other in electors if _hears_out(group.members[other], member)]
    event = ElectionDue(name, node, group.number)
    if len(electors) < majority(len(member.members)) or turn.is_planned(event):
        return
    turn.schedule(_patience_us(turn, group, node), event)


def _hears_out(member: Member, candidate: Member) -> bool:
    """Whether it would not turn down a candidate, or pass over it, in any case."""
    stranger = member.role == LEADER and candidate.id not in member.members
    return not stranger and up_to_date(candidate, member)


def _patience_us(turn: Turn, group: Group, node: int) -> int:
    """How long a member waits before it asks: the first in the drawn order so long that after its two rounds of
    questions and answers `election_s` is over, each further one as much longer. Who has asked waits long enough for the
    answers, however slow the links are."""
    timing = turn.settings.timing
    term = max(member.term for member in group.members.values())
    drawn = chance.shuffled(tuple(sorted(group.members)), turn.settings.seed, chance.ELECTION, group.number, 16 * term)
    place = [other for other in drawn if hosts(turn, group, other)].index(node)
    round_us = 4 * timing.link_latency_us
    apart_us = max(timing.election_us, 2 * round_us)
    asked = group.members[node].role != FOLLOWER
    return max(LEAST_PATIENCE_US, apart_us if asked else timing.election_us - round_us) + place * apart_us
