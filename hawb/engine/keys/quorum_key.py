"""The part of a quorum queue in a state's key (`hawb.engine.keys.state_key`): what decides its future.

Terms and indices are replaced by what distinguishes them: terms by their order, indices by their distance from the last
entry that all members have on disk, the same, and applied. The length of a log up to there decides only how long a new
member's copy takes and how much disk the log uses, and is left out. While a message between members or a disk write is
under way, it contains terms and indices as they are, and so does the key then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import attrgetter

from msgspec.structs import astuple

from hawb.engine.core.runs import Runs, common
from hawb.engine.core.state import Queue, State
from hawb.engine.queues.expiry import TICK_US
from hawb.engine.quorum.fifo import limits_of
from hawb.engine.quorum.fifo_state import Fifo
from hawb.engine.raft_groups.events import RaftArrives, RaftWritten
from hawb.engine.raft_groups.group import Channel, Group, Proposal
from hawb.raft.log import Log, Run
from hawb.raft.member import Member, nodes_in
from hawb.raft.messages import AnyMessage, AppendEntries

Ranked = Callable[[Runs], object]
KNOWN_OF = attrgetter("match_index", "commit_sent", "commit_index")
"""A leader's fields about another member."""


def group_key(state: State, name: str, names: tuple[int, ...], proposal: Callable[[Proposal], tuple]) -> tuple:
    """Return the key of a group: its members, under their nodes' new `names`, and its undecided proposals.

    `proposal` returns the key of one proposal.
    """
    group = state.groups[name]
    members = sorted(group.members.values(), key=lambda member: names[member.id])
    decided = (
        tuple(map(proposal, group.waiting)), tuple(sorted(_renamed(nodes_in(group.stopped), names))),
        tuple(sorted((_channel_key(channel, names), names[node]) for channel, node in group.asked)),
    )  # fmt: skip
    base = _base(group)
    if is_in_flight(state, name):
        seen = _Seen(base, 0, {}, names, proposal)
        return (*decided, group.applied, base, tuple(map(seen.member, members)))
    terms = sorted({term for member in members for term in _terms(member, base)})
    seen = _Seen(base, base, {term: rank for rank, term in enumerate(terms)}, names, proposal)
    return (*decided, group.applied - base, tuple(map(seen.member, members)))


def message_key(message: AnyMessage, proposal: Callable[[Proposal], tuple]) -> tuple:
    """Return the key of a message under way between members; `proposal` returns the key of one proposal in it."""
    fields = astuple(message)
    if isinstance(message, AppendEntries):
        fields = tuple(_entries_key(part, proposal) if part is message.entries else part for part in fields)
    return message.kind, fields


def _entries_key(entries: tuple[Run, ...], proposal: Callable[[Proposal], tuple]) -> tuple:
    return tuple((run.first, run.count, run.offset, run.term, _command_key(run.command, proposal)) for run in entries)


def _command_key(command: object, proposal: Callable[[Proposal], tuple]) -> object:
    return proposal(command) if isinstance(command, Proposal) else (type(command).__name__, repr(command))


def numbers_of(state: State, name: str) -> Iterable[Runs]:
    """Yield the messages of all undecided proposals: of those that wait, are in logs, or are under way to a member."""
    group = state.groups[name]
    yield from (proposal.numbers for proposal in group.waiting)
    for member in group.members.values():
        yield from (proposal.numbers for proposal in group.undecided(member.log))
    sent = (event.message for event in _of_raft(state, name) if isinstance(event, RaftArrives))
    runs = (run for message in sent if isinstance(message, AppendEntries) for run in message.entries)
    yield from (run.command.numbers for run in runs if isinstance(run.command, Proposal))


def fifo_key(state: State, queue: Queue, names: tuple[int, ...], ranked: Ranked) -> tuple:
    """Return the key of a queue's state machine.

    A past time counts as now, however long ago it was, so that a search that only waits comes to an end.
    """
    fifo = queue.fifo
    held = ((us, common(these, queue.unacknowledged)) for us, these in fifo.ends)
    return (
        ranked(fifo.returns), *(_ranked_pairs(pairs, ranked) for pairs in _by_name(fifo)),
        tuple((ranked(((1, behind),)), ranked(these)) for behind, these in fifo.moved),
        tuple(sorted(fifo.suspected)), fifo.quiescing, fifo.extra_credit,
        tuple(
            (_channel_key(one.channel, names), one.blocked, one.rejecting, max(one.from_us - state.time_us, 0))
            for one in fifo.enqueuers
        ),
        fifo.roomy, fifo.levels, fifo.dequeued, _unused(state, queue),
        tuple((max(us - state.time_us, 0), ranked(these)) for us, these in fifo.delayed),
        tuple((max(us - state.time_us, 0), ranked(these)) for us, these in held if these),
    )  # fmt: skip


def _unused(state: State, queue: Queue) -> tuple[int, int] | None:
    """Return for how long a queue with `x-expires` has been unused, and how far its leader's tick timer has come.

    The first number is at most a little more than the expiry. Return None without `x-expires`.
    """
    expires_ms = limits_of(queue).expires_ms
    if expires_ms is None:
        return None
    led_us = state.time_us - queue.fifo.led_from_us
    return min(state.time_us - queue.fifo.used_us, expires_ms * 1_000 + 1), led_us and TICK_US + led_us % TICK_US


def _channel_key(channel: Channel, names: tuple[int, ...]) -> tuple:
    connection, node, *rest = channel
    return connection, _new_name(node, names), tuple(rest)


def _by_name(fifo: Fifo) -> tuple:
    return fifo.counts, fifo.discards, fifo.confirmed, fifo.missing, fifo.timed_out


def _ranked_pairs(pairs: Iterable[tuple[object, Runs]], ranked: Ranked) -> tuple:
    return tuple((name, ranked(numbers)) for name, numbers in pairs)


def is_in_flight(state: State, name: str) -> bool:
    """Return True if a message between a group's members, or a write to a member's disk, is under way."""
    return any(True for _ in _of_raft(state, name))


def _of_raft(state: State, name: str) -> Iterable[RaftArrives | RaftWritten]:
    planned = (entry[-1] for entry in state.agenda)
    return (event for event in planned if isinstance(event, RaftArrives | RaftWritten) and event.queue == name)


def _base(group: Group) -> int:
    """Return the last applied index up to which all members have the same entries on disk."""
    return group.applied - max((group.behind(node) for node in group.members), default=0)


def _terms(member: Member, base: int) -> Iterable[int]:
    log = member.log
    yield from (member.term, _term_at(log, base), *(run.term for run in log.between(base + 1, log.last_index)))


def _term_at(log: Log, index: int) -> int:
    """Return the term of an entry. If the snapshot includes the entry, return the snapshot's term."""
    return log.snapshot.term if index <= log.snapshot.index else log.term_at(index) or 0


def _new_name(node: int | None, names: tuple[int, ...]) -> int | None:
    return node if node is None or node < 0 else names[node]


def _renamed(nodes: Iterable[int], names: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(names[node] for node in nodes)


class _Seen:
    """Make keys of members from their log entries after index `start`.

    In a key, indices count from `base`, and a term is replaced by its rank if it has one.
    """

    def __init__(
        self, start: int, base: int, ranks: dict[int, int], names: tuple[int, ...],
        proposal: Callable[[Proposal], tuple],
    ):  # fmt: skip
        self._start, self._base, self._ranks, self._names, self._proposal = start, base, ranks, names, proposal

    def member(self, member: Member) -> tuple:
        """Return the key of a member, without fields that only depend on its past."""
        names, base = self._names, self._base
        peers = tuple(
            (names[peer.id], peer.next_index - base, *map(self._known, KNOWN_OF(peer)), peer.receiving)
            for peer in member.peers
        )
        return (
            names[member.id], member.role, self._term(member.term), _new_name(member.voted_for, names),
            _new_name(member.leader, names), member.commit_index - base,
            tuple(sorted(_renamed(nodes_in(member.votes), names))), peers, self._known(member.agreed),
            member.asked and member.asked - base,
            _new_name(member.transferring_to, names), self._log(member.log),
        )  # fmt: skip

    def _known(self, index: int) -> int:
        """Return an index relative to `base`, or 0 if it is smaller: up to `base` all members are the same."""
        return max(index - self._base, 0)

    def _term(self, term: int) -> int:
        return self._ranks.get(term, term)

    def _log(self, log: Log) -> tuple:
        entries = log.between(self._start + 1, log.last_index)
        logged = tuple((run.count, run.offset, self._term(run.term), self._command(run.command)) for run in entries)
        _, members = log.configurations[-1]
        return self._term(_term_at(log, self._start)), logged, log.written - self._base, _renamed(members, self._names)

    def _command(self, command: object) -> object:
        if isinstance(command, Proposal):
            return self._proposal(command)
        members = getattr(command, "members", None)
        return type(command).__name__ if members is None else _renamed(members, self._names)
