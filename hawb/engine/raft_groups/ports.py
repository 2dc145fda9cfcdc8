"""The ports through which the rules of Raft groups use a turn.

This module is the engine's implementation; the kernel's is in `hawb.study.kernel.host_ports`. The docstrings here
describe both. `g` is the group's record, a turn's own copy.
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from hawb.engine import streams
from hawb.engine.core import bookkeeping, randomness
from hawb.engine.core.events import MetadataAvailable
from hawb.engine.core.moment import Ballot
from hawb.engine.core.runs import size
from hawb.engine.core.state import RUNNING, STARTED, Queue, StoreView, bits_of, nodes_of
from hawb.engine.core.turn import TIMER, Turn
from hawb.engine.quorum import fifo
from hawb.engine.quorum.losses import end_with_log
from hawb.engine.quorum.queue_record import change_members
from hawb.engine.raft_groups.events import (
    ElectionDue,
    HandoverDue,
    LeaderElected,
    LogCut,
    MajorityReached,
    MembersAbreast,
    RaftArrives,
    RaftWritten,
    RemovalWritten,
)
from hawb.engine.raft_groups.group import STORE, Group, Proposal
from hawb.raft.joining import ACCEPTED, REFUSALS
from hawb.raft.log import Run
from hawb.raft.member import Member, start
from hawb.raft.membership import on_command
from hawb.raft.messages import (
    AnyMessage,
    AppendEntries,
    Command,
    Committed,
    OfElection,
    Output,
    PreVote,
    Refused,
    Write,
    Written,
)
from hawb.raft.ports import members_of

CONDITION_US = 30_000_000
"""The time for which a leader that hands over waits for the new one (Ra's await_condition_timeout)."""

ELECTION_DUE, LEADER_ELECTED, MAJORITY_REACHED = ElectionDue, LeaderElected, MajorityReached
LOG_CUT, MEMBERS_ABREAST = LogCut, MembersAbreast
"""The kinds of events of a group."""

METADATA = "metadata"
"""The command of a change of the metadata."""

# Facts


def is_member(_: Turn, g: Group, node: int) -> bool:
    """Return True if the group has a member on a node, whether it runs or not."""
    return node in g.members


def member_of(_: Turn, g: Group, node: int) -> Member:
    """Return the member on a node."""
    return g.members[node]


def hosted(t: Turn, g: Group) -> int:
    """Return the nodes whose members run, as bits."""
    bits, nodes, statuses = 0, t.nodes, STARTED if g.name == STORE else (RUNNING,)
    for node in g.members:
        if nodes[node].status in statuses:
            bits |= 1 << node
    return bits & ~g.stopped


def reached(t: Turn, g: Group, node: int) -> int:
    """Return the nodes whose members run and are reached from a node, as bits."""
    here = hosted(t, g)
    return bits_of(other for other in nodes_of(here) if t.linked(node, other)) if t.cuts else here


def in_sight(t: Turn, g: Group) -> int:
    """Return the nodes whose members run and are reached from a running node of the current side, as bits."""
    here, running = hosted(t, g), t.running()
    if not t.cuts:
        return here if running else 0
    return bits_of(other for other in nodes_of(here) if any(t.linked(node, other) for node in running))


def has_given_up(t: Turn, a: int, b: int) -> bool:
    """Return True if the failure detectors of two nodes suspect each other."""
    return (min(a, b), max(a, b)) in t.suspected


def lacks_coordinator(t: Turn, g: Group, node: int) -> bool:
    """Return True if a member may not be elected because a stream's coordinator is not available."""
    return streams.is_stream(t, g.name) and not streams.coordinates(t, node)


def drawn(t: Turn, g: Group, term: int) -> tuple[int, ...]:
    """Return the members in the random order of a term."""
    return randomness.shuffled(tuple(sorted(g.members)), t.settings.seed, randomness.ELECTION, g.number, 16 * term)


# Scheduling


def event_of(g: Group, kind: type[Struct], node: int) -> object:
    """Return an event of the group; of the member on a node, if the kind has one."""
    return kind(g.name) if len(kind.__struct_fields__) == 1 else kind(g.name, node, g.number)


def plan(t: Turn, g: Group, delay_us: int, kind: type, node: int) -> None:
    """Schedule an event of the group, or of its member on a node."""
    t.schedule(delay_us, event_of(g, kind, node))


def unplan(t: Turn, g: Group, kind: type, node: int) -> None:
    """Unschedule an event."""
    t.unschedule(event_of(g, kind, node))


def is_planned(t: Turn, g: Group, kind: type, node: int) -> bool:
    """Return True if an event is scheduled."""
    return t.is_planned(event_of(g, kind, node))


def await_handover(t: Turn, g: Group, node: int) -> None:
    """Schedule that a leader accepts commands again if its handover to another member failed."""
    t.schedule(CONDITION_US, HandoverDue(g.name, node, g.number), priority=TIMER)


# Outputs of a member


def outbox(_: Turn) -> list[Output]:
    """Return an empty list for the outputs of a member's step."""
    return []


def outputs(out: list[Output]) -> list[Output]:
    """Return the outputs, in their order."""
    return out


def say_refused_by(t: Turn, output: Output) -> None:
    """Refuse an operator's request that a member has refused; a client's proposal waits for another leader."""
    if isinstance(output, Refused) and not isinstance(getattr(output.asked, "command", None), Proposal):
        t.refuse(None, output.reason)


def transfer_us(t: Turn, g: Group, message: AnyMessage) -> int:
    """Return the transfer time of the bodies in a message, and count them as replicated."""
    entries = message.entries if isinstance(message, AppendEntries) else ()
    sent_bytes = sum(
        run.count * run.command.operation.size_bytes
        for run in entries
        if isinstance(run.command, Proposal) and run.command.numbers
    )
    count_replicated(t, g, sent_bytes)
    return sent_bytes * 1_000_000 // t.settings.timing.network_bytes_per_s


def count_replicated(t: Turn, g: Group, sent_bytes: int) -> None:
    """Count bytes as sent to members."""
    if sent_bytes:
        t.book(g.name, bytes_replicated=t.account(g.name).bytes_replicated + sent_bytes)


def behind_us(t: Turn, g: Group, source: int, target: int) -> int:
    """Return the time until all that was sent before over the same link has arrived."""
    before = (due_us for due_us, event in t.planned(g.name, RaftArrives)
              if event.node == target and event.message.source == source)  # fmt: skip
    return max(before, default=0) - t.now_us


def plan_arrival(t: Turn, g: Group, message: AnyMessage, delay_us: int) -> None:
    """Schedule the arrival of a message."""
    t.schedule(delay_us, RaftArrives(g.name, message.target, g.number, message))
    note_ballot(t, g, message, t.now_us + delay_us, arrived=False)


def note_ballot(t: Turn, g: Group, message: AnyMessage, due_us: int, *, arrived: bool) -> None:
    """Record a message of an election, except of a group's first election, which is a part of the declaration."""
    if isinstance(message, OfElection) and g.applied and t.traced:
        t.ballots.append(Ballot(t.now_us, g.name, message, due_us, arrived))


def plan_write(t: Turn, g: Group, output: Write) -> None:
    """Schedule the completion of a member's disk write."""
    node, written = output.source, Written(output.generation, output.index)
    t.schedule(t.setup.fsync_us, RaftWritten(g.name, node, g.number, t.nodes[node].boots, written))


# Logs


def enter(_: Turn, __: Group, leader: Member, out: list[Output], proposal: Proposal) -> None:
    """Append a client's proposal to the leader's log."""
    on_command(out, leader, Command(proposal, max(1, size(proposal.numbers))))


def take_committed(t: Turn, g: Group, output: Committed) -> int:
    """Add newly committed proposals to those to execute (`hawb.engine.quorum.requests.committed`).

    Return the last index among the entries; 0 if no entry is new.
    """
    new = [run for run in output.entries if run.last > g.applied]
    for run in new:
        if isinstance(run.command, Proposal):
            t.committed.append((g.name, output.source, run.command, t.because))
    return new[-1].last if new else 0


def is_committing(t: Turn, g: Group) -> bool:
    """Return True if a committed proposal is still to be executed."""
    return any(entry[0] == g.name for entry in t.committed)


def is_to_be_done(t: Turn, g: Group, number: int) -> bool:
    """Return True if this proposal is committed and still to be executed."""
    return any(entry[0] == g.name and entry[2].number == number for entry in t.committed)


def waiting_of(_: Turn, g: Group) -> tuple[Proposal, ...]:
    """Return the waiting proposals, in the order in which they were made."""
    return g.waiting


def offset_of(leader: Member, says: object) -> int:
    """Return the offset within their batch of the next entries with command `says`."""
    last = leader.log.runs[-1] if leader.log.runs else None
    goes_on = last is not None and last.term == leader.term and last.command == says
    return last.offset + last.count if goes_on else 0


def extend(_: Turn, member: Member, leader: Member, says: object, count: int) -> None:
    """Append `count` entries, on disk and committed, to a leader's log or to that of a member behind it."""
    first = member.last_index + 1
    if member is leader:
        new = Run(first, count, leader.term, says, offset_of(leader, says))
    else:
        (new,) = leader.log.between(first, leader.last_index)
    member.log = replace(member.log.append(new), written=new.last)
    member.commit_index = new.last


# Members that come and go


def begin_member(_: Turn, g: Group, node: int, members: int) -> None:
    """Begin a member with an empty disk in a new group of `members`, as bits; with 0 it is about to join one."""
    g.members[node] = start(node, nodes_of(members))


def drop_member(_: Turn, g: Group, node: int) -> None:
    """Delete a node's member with its log, if the node has one."""
    g.members.pop(node, None)


def has_changed(_: Turn, g: Group) -> bool:
    """Return True if a member's log names other members than the group has."""
    here = bits_of(g.members)
    return any(here & ~members_of((), member) for member in g.members.values())


def plan_question(t: Turn, g: Group, member: Member, leader: int, delay_us: int) -> None:
    """Schedule that the request for votes of a member without a log reaches a leader."""
    plan_arrival(t, g, PreVote(member.id, leader, member.term, 0, 0), delay_us)


def plan_removal(t: Turn, g: Group, leader: int, removed: int) -> None:
    """Schedule that a leader's disk has the removal of a member."""
    t.schedule(t.setup.fsync_us, RemovalWritten(g.name, leader, g.number, removed))


def say_not_changed(t: Turn, refusal: int) -> None:
    """Refuse the step for the reason why a leader refuses to change its group, if there is one."""
    if refusal != ACCEPTED:
        t.refuse(None, REFUSALS[refusal])


# Record of the queue


def has_record(t: Turn, g: Group) -> bool:
    """Return True if the current side knows the queue."""
    return g.name in t.queues or g.name == STORE


def record(t: Turn, g: Group) -> Queue | StoreView:
    """Return the queue, or the metadata store, as the current side knows it."""
    return t.focus.store if g.name == STORE else t.own(g.name)


def say_available(t: Turn, g: Group, leader: int, up: bool) -> None:
    """Record that the queue can commit, or no longer can, as the current side's nodes see it."""
    seen_by = t.settings.named(t.running())
    what, named = ("metadata", {}) if g.name == STORE else ("queue", {"queue": g.name})
    if seen_by:
        views = {"seen_by": seen_by} if len(t.sides) > 1 else {}
        t.emit(f"{what}_available" if up else f"{what}_unavailable", node=leader, **named, **views)
    if up and g.name == STORE:
        t.schedule(0, MetadataAvailable())


def count_times(t: Turn, g: Group) -> None:
    """Start or stop counting the time for which the queue is out of service."""
    if g.name != STORE:
        bookkeeping.count_times(t, g.name)


def crown(t: Turn, g: Group, leader: Member) -> None:
    """Record the election of a leader.

    The leader's log has every committed entry (Raft's leader completeness), except entries that were lost with a disk.
    The first election is a part of the declaration and does not count.
    """
    name, node = g.name, leader.id
    if name == STORE:
        t.because = t.emit("metadata_leader_elected", node=node, term=leader.term)
        return
    focus = t.focus
    t.look_from(node)
    t.because = t.emit("leader_elected", node=node, queue=name, term=leader.term)
    if g.applied:
        t.book(name, elections=t.account(name).elections + 1)
    end_with_log(t, g, leader)
    if name in t.queues:
        queue = t.queues[name]
        content = queue.contents[queue.holder]
        contents = tuple(
            content if at == node else had if at in leader.members else None for at, had in enumerate(queue.contents)
        )
        t.change_queue(name, contents=contents, holder=node)
    t.focus = focus


def recorded(t: Turn, g: Group) -> int:
    """Return the members in the queue's record, as bits; 0 for the metadata store, which has none."""
    for side in (t.focus, *t.sides.values()):
        if g.name in side.queues:
            return bits_of(side.queues[g.name].members)
    return 0


def note_members(t: Turn, g: Group, members: int) -> None:
    """Give the queue's record on the current side, if there is one, other members."""
    if g.name in t.queues:
        change_members(t, t.queues[g.name], nodes_of(members))


def note_abreast(t: Turn, g: Group, abreast: int) -> bool:
    """Record that members have caught up with the queue.

    Return True if there are new ones and messages that the last leader could not deliver.
    """
    side = next((side for side in t.sides.values() if g.name in side.queues), None)
    if side is None:
        return False
    queue = side.queues[g.name]
    nodes = tuple(node for node in nodes_of(abreast) if node in queue.members)
    had = queue.synchronised
    if nodes != had:
        focus, t.focus = t.focus, side
        content = queue.contents[queue.holder]
        contents = tuple(content if node in nodes else had for node, had in enumerate(queue.contents))
        t.change_queue(g.name, synchronised=nodes, contents=contents)
        t.focus = focus
    return bool(fifo.of(queue).missing) and not set(nodes) <= set(had)


PORTS = (
    "ELECTION_DUE", "LEADER_ELECTED", "MAJORITY_REACHED", "LOG_CUT", "MEMBERS_ABREAST", "is_member", "member_of",
    "hosted", "reached", "in_sight", "has_given_up", "lacks_coordinator", "drawn", "plan", "unplan", "is_planned",
    "await_handover", "outbox", "outputs", "say_refused_by", "transfer_us", "count_replicated", "behind_us",
    "plan_arrival", "plan_write", "enter", "take_committed", "is_committing", "is_to_be_done", "waiting_of",
    "offset_of", "extend", "METADATA", "begin_member", "drop_member", "has_changed", "plan_question", "plan_removal",
    "say_not_changed", "has_record", "record", "say_available", "count_times", "crown", "recorded", "note_members",
    "note_abreast",
)  # fmt: skip
"""The ports that engine and kernel both implement."""
