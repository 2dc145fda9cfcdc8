"""Convert an engine's moment with a quorum queue to the whole numbers of a search (`quorum_search_state`).

With Khepri these include the metadata store.
"""

from __future__ import annotations

from typing import Any

from hawb.engine.core.moment import Moment
from hawb.engine.core.operations import NodeSuspected
from hawb.engine.core.state import NOWHERE, Queue
from hawb.engine.raft_groups.events import RaftArrives, RaftWritten
from hawb.engine.raft_groups.group import STORE, Group, Proposal
from hawb.raft.member import Member
from hawb.raft.messages import AppendEntries, AppendEntriesReply, PreVote, RequestVote
from hawb.study.kernel import quorum_search_state
from hawb.study.kernel.khepri_search import KHEPRI_SEARCHED
from hawb.study.kernel.quorum_search_state import HERE, MOST_TERMS, OTHER, QUORUM_SEARCHED
from hawb.study.kernel.quorum_state import ENQUEUE, FIFTH, FIRST, MEMBER_FIELDS, PEER, SECOND, SUSPECTS
from hawb.study.kernel.search_state import MOST_NODES
from hawb.study.kernel.setup import group
from hawb.study.moments import Classic, Numbers, bits
from hawb.study.quorum_refusals import (
    BESIDE_KHEPRI,
    KHEPRI_REFUSALS,
    REFUSALS,
    cuts,
    entries,
    logs,
    messages,
    numbers_of,
    terms,
    the_group,
    with_node,
)


class WithGroups(Numbers):
    """Write a moment with Raft groups."""

    def _views(self) -> None:
        """Write what sides, and nodes that are down, know of the metadata store; without Khepri it has no leader."""
        t = self.t
        t.store.master, t.kept_store[:], t.known_store[:] = NOWHERE, NOWHERE, NOWHERE
        for place, side in enumerate(self.now.sides):
            if side.store is not None and place:
                t.kept_store[place - 1], t.kept_store_up[place - 1] = side.store.master, side.store.up
            elif side.store is not None:
                t.store.master, t.store.up = side.store.master, side.store.up
        for node, value in enumerate(self.now.nodes):
            if value.remembers is not None and value.remembers.store is not None:
                view = value.remembers.store
                t.known_store[node], t.known_store_up[node] = view.master, view.up

    def _group(self, g, of: Group) -> None:
        """Write a group into the queue's record or the metadata store's."""
        g.number, g.applied, g.stopped, g.store = of.number, of.applied, of.stopped, of.name == STORE
        g.present, g.drawn_for = bits(of.members), NOWHERE
        g.last_term = min(terms(self.now, of)) + MOST_TERMS - 1
        for member in of.members.values():
            self._member(g.store, member)
        for runs in logs(self.now, of):
            for run, before in zip(runs, (None, *runs), strict=False):
                if before is not None and before.term != run.term:
                    self._begins(g.store, run.term, before.last, before.term)
        for member in of.members.values():
            if member.log.runs:
                self._begins(g.store, member.log.runs[0].term, 0, 0)
        for message in messages(self.now, of):
            if isinstance(message, AppendEntries) and message.entries:
                first = message.entries[0]
                if first.term != message.prev_term:
                    self._begins(g.store, first.term, message.prev_index, message.prev_term)

    def _begins(self, store: int, term: int, index: int, before: int) -> None:
        """Record that a term begins after an entry, unless that is known."""
        row = self.t.terms[term % MOST_TERMS + store * MOST_TERMS]
        if row[0] != term:
            row[:] = term, index, before

    def _member(self, store: int, member: Member) -> None:
        row = member.id + store * MOST_NODES
        record = self.t.members[row]
        record.store, record.opened, record.group, record.others = store, 1, bits(member.members), len(member.peers)
        for name in MEMBER_FIELDS:
            record[name] = member.log.snapshot.term if name == "snapshot_term" else getattr(member, name)
        for k, peer in enumerate(member.peers):
            for name in PEER.names:
                self.t.peers[row, k][name] = getattr(peer, name)

    def plan(self, row: int, entry: tuple, event: tuple) -> None:
        """Write a scheduled event into a row of the agenda, with the content of a message or a write."""
        super().plan(row, entry, event)
        if isinstance(entry[-1], RaftArrives):
            self.t.agenda[row, FIRST : FIFTH + 1] = words_of(entry[-1].message)
        if isinstance(entry[-1], RaftWritten):
            written = entry[-1].written
            self.t.agenda[row, FIRST], self.t.agenda[row, SECOND] = written.generation, written.index


class OfKhepri(WithGroups, Classic):
    """A moment with a classic queue and the metadata store as a row."""

    kind, refusals = KHEPRI_SEARCHED, KHEPRI_REFUSALS

    def write(self) -> None:
        """Write queue records, scheduled events, and the metadata store."""
        super().write()
        self._views()
        self._group(self.t.store, self.now.groups[STORE])

    def numbers_of(self, event: Any) -> tuple:
        """Return a planned event as its kind and its numbers."""
        return numbers_of(event) if isinstance(event, BESIDE_KHEPRI) else super().numbers_of(event)


class OfGroup(WithGroups):
    """Write a moment with a quorum queue."""

    kind, refusals = QUORUM_SEARCHED, REFUSALS

    def cuts_of(self, moment: Moment) -> list[int]:
        """Return where the queue's message numbers are cut into pieces."""
        return cuts(moment)

    def setup(self) -> dict[str, int]:
        """Return the constants of a search: settings, and those of the group."""
        queue = self.now.sides[0].queues[self.name]
        limits = queue.quorum_settings.max_length, queue.quorum_settings.max_length_bytes
        self.t.notes.limited = limits != (None, None)
        return {**super().setup(), **group(queue, self.settings), "members": bits(queue.members)}

    def write(self) -> None:
        """Write records, the group, planned events and waiting operations."""
        t = self.t
        for node, value in enumerate(self.now.nodes):
            if value.remembers is not None:
                self._record(value.remembers.queues[self.name], node)
        for side in self.now.sides[1:]:
            place, queue = self.sides[side.number] - 2, side.queues[self.name]
            t.kept_side[place], t.kept_master[place], t.kept_up[place] = place + 2, queue.master, queue.up
        self._views()
        self._record(self.now.sides[0].queues[self.name], HERE)
        for name in quorum_search_state.RECORD.names:
            t.queue[name] = t.kept[HERE][name]
        t.contents[:], t.moved[:] = t.kept_contents[HERE], t.kept_moved[HERE]
        self._group(t.queue, the_group(self.now))
        if STORE in self.now.groups:
            self._group(t.store, self.now.groups[STORE])
        for channel, node in the_group(self.now).asked:
            t.asks[channel[1]] = node + 1
        for (term, first), (last, says) in sorted(entries(self.now).items()):
            self._entry(term, first, last, says)
        self._waiting()
        self._plans()

    def _record(self, queue: Queue, place: int) -> None:
        kept, fifo = self.t.kept[place], queue.fifo
        for name in ("master", "up", "holder"):
            kept[name] = getattr(queue, name)
        kept.abreast, kept.roomy, kept.moved = bits(queue.synchronised), fifo.roomy, len(fifo.moved)
        kept.copies = bits(node for node, held in enumerate(queue.contents) if held is not None)
        kept.pending = self.some(queue.pending)
        kept.stored = self.some([(batch.first, batch.last) for batch in queue.batches])
        kept.starts = bits(self.piece(batch.first) for batch in queue.batches)
        for enqueuer in fifo.enqueuers:
            kept.known = with_node(kept.known, enqueuer.channel[1])
        for node, held in enumerate(queue.contents):
            self.t.kept_contents[place, node] = self.some(held)
        for row, (behind, these) in enumerate(fifo.moved):
            self.t.kept_moved[place, row] = 1 << self.piece(behind + 1) - 1, self.some(these)

    def _entry(self, term: int, first: int, last: int, says: object) -> None:
        entry = self.t.entries[self.t.queue.entries]
        self.t.queue.entries += 1
        if isinstance(says, Proposal):
            self._proposal(entry, says)
        else:
            entry.asks = OTHER
        entry.first, entry.last, entry.term = first, last, term

    def _proposal(self, row, asked: Proposal) -> None:
        row.number, row.node, row.count = asked.number, asked.node, 1
        if isinstance(asked.operation, NodeSuspected):
            row.asks, row.after, row.client, row.channel = SUSPECTS, asked.operation.node, NOWHERE, NOWHERE
            row.count = 0
        else:
            row.asks, row.after = ENQUEUE, self.some(asked.numbers)
            row.client = row.channel = asked.operation.node
            row.count = sum(last - first + 1 for first, last in asked.numbers)

    def _waiting(self) -> None:
        t, now = self.t, self.now
        t.queue.waiting, t.queue.awaiting_registration = len(the_group(now).waiting), len(now.awaiting_registration)
        for row, asked in enumerate(the_group(now).waiting):
            self._proposal(t.waiting[row], asked)
        for row, one in enumerate(now.awaiting_registration):
            t.awaiting_registration[row] = one.operation.node
        t.moment.awaiting = len(now.unconfirmed)
        for row, waiting in enumerate(now.unconfirmed):
            (share,) = waiting.shares
            ((_, due_us),) = share.due_us
            values = (waiting.number, waiting.node, 0, self.some(share.numbers), 1, due_us, bool(share.rejected))
            t.awaiting[row] = values

    def _plans(self) -> None:
        self.t.moment.agenda = len(self.now.agenda)
        for row, entry in enumerate(self.now.agenda):
            self.plan(row, entry, numbers_of(entry[-1]))


def words_of(message: Any) -> tuple[int, int, int, int, int]:
    """Return the content of a message between members, in the columns from `FIRST` on (`quorum_state.COLUMN_OF`)."""
    if isinstance(message, AppendEntries):
        last_term = message.entries[-1].term if message.entries else message.prev_term
        return message.prev_index, message.prev_term, message.last_index, last_term, message.leader_commit
    if isinstance(message, PreVote | RequestVote):
        return 0, 0, message.last_index, message.last_term, 0
    if isinstance(message, AppendEntriesReply):
        return message.success, message.next_index, message.last_index, message.commit_index, 0
    return message.granted, 0, 0, 0, 0
