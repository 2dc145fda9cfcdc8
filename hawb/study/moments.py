"""Convert a moment of the engine to a row of integers for the compiled search (`hawb.study.kernel.search_state`)."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable
from itertools import chain, pairwise
from typing import Any

import numpy as np

from hawb.engine.clients.client_state import NEVER_US
from hawb.engine.core import events, runs
from hawb.engine.core.moment import Moment
from hawb.engine.core.runs import Runs
from hawb.engine.core.settings import Settings
from hawb.engine.core.state import NOWHERE, Queue
from hawb.engine.keys.state_key import NAMES_MATTER
from hawb.rules.policies import HaMode
from hawb.study.kernel import partitioned_state, search_state, state
from hawb.study.kernel.partitioned_state import SIDE
from hawb.study.kernel.search_state import OWN_KIND, REMEMBERED, SEARCHED
from hawb.study.kernel.setup import of_mirroring, of_settings
from hawb.study.search_refusals import OWN_BATCH, PLANNED, REFUSALS, cuts, kind_of, other_kinds, queues

STATUSES = {"running": state.RUNNING, "stopping": state.STOPPING, "down": state.DOWN, "booting": state.BOOTING,
            "waiting": state.WAITING, "paused": state.PAUSED}  # fmt: skip


class SearchRefused(ValueError):  # noqa: N818 - it reads as what happened
    """The compiled search cannot start from a moment, but the engine's search can. The text says why."""


class Numbers:
    """A moment as a row of type `kind`. This class writes the parts that all queue types share."""

    kind: np.dtype
    refusals: dict[str, Callable[[Moment, Settings], bool]]

    def __init__(self, moment: Moment, settings: Settings):
        """Write the moment. Raise SearchRefused, with the reason, if a row cannot hold it."""
        reason = next((reason for reason, applies in self.refusals.items() if applies(moment, settings)), None)
        if reason is not None:
            raise SearchRefused(reason)
        self.now, self.settings = moment.state, settings
        self.row = np.zeros(1, self.kind)
        self.t = self.row.view(np.recarray)[0]
        self.name = next(queues(self.now)).name
        self.cuts = self.cuts_of(moment)
        self.sides = {side.number: place + 1 for place, side in enumerate(self.now.sides)}
        for name, value in self.setup().items():
            self.t.setup[name] = value
        self.write_nodes()
        self.write_messages(moment)
        self.write()

    def cuts_of(self, moment: Moment) -> list[int]:
        """Return the message numbers at which pieces begin; the search treats the messages of a piece alike."""
        return cuts(moment)

    def setup(self) -> dict[str, int]:
        """Return the constants of a search that are single numbers."""
        policies = (*self.now.policies, *self.now.operator_policies)
        self.t.notes.renames = not any(setting in NAMES_MATTER for policy in policies for setting in policy.settings)
        self.t.notes.renames &= self.settings.queue_master_locator != "min-masters"
        own = {"size_bytes": search_state.PUBLISHED_BYTES, "persistent": 1, "confirms": 1}
        return {**of_settings(self.settings), **own}

    def write(self) -> None:
        """Write the fields that only this queue type has."""
        raise NotImplementedError

    def some(self, numbers: Runs | None) -> int:
        """Return a set of messages as bits, one for each piece."""
        places = ((self.piece(first), self.piece(last + 1)) for first, last in numbers or ())
        return sum((1 << end) - (1 << start) for start, end in places)

    def piece(self, number: int) -> int:
        """Return the index of the piece that begins with a message."""
        return bisect_left(self.cuts, number)

    def write_nodes(self) -> None:
        """Write nodes, links and partitions."""
        t, now = self.t, self.now
        t.moment.now_us, t.moment.counter = now.time_us, now.counter
        for node, value in enumerate(now.nodes):
            elsewhere = value.status == "running" and self.sides[value.side] != 1
            t.nodes[node].status = partitioned_state.ELSEWHERE if elsewhere else STATUSES[value.status]
            t.nodes[node].believes, t.nodes[node].boots = value.believes, value.boots
            t.nodes[node].awaits, t.nodes[node].drained = value.awaits, value.drained
            t.nodes[node].side, t.nodes[node].silent = self.sides[value.side], value.silent
            t.moment.virgin |= value.virgin << node
            t.notes.remembers |= (value.remembers is not None) << node
        for a, b in now.suspected:
            t.suspected[a] |= 1 << b
            t.suspected[b] |= 1 << a
        for (a, b), number in now.cuts:
            t.cut[a] |= 1 << b
            t.cut[b] |= 1 << a
            t.net.severed, t.net.cut_number = 1, number
        t.net.connected = bits(node for _, node, _ in now.connections)
        t.net.focus, t.net.sides, t.net.last_side = 1, len(self.sides), len(self.sides)
        for rank, number in enumerate(sorted(self.sides)):
            t.born[self.sides[number]] = rank + 1

    def write_messages(self, moment: Moment) -> None:
        """Write the number of messages and the kind of each piece, and its state in the ledger."""
        t, account = self.t, moment.ledger[self.name]
        t.notes.pieces = t.notes.given = len(self.cuts) - 1
        for piece, (first, end) in enumerate(pairwise(self.cuts)):
            t.counts[piece] = end - first
        places = {kind: place for place, kind in enumerate(other_kinds(self.now))} | {OWN_BATCH: OWN_KIND}
        for batch in (batch for queue in queues(self.now) for batch in queue.batches):
            t.kinds[places[kind_of(batch)]] |= self.some([(batch.first, batch.last)])
        removed = runs.normal(chain.from_iterable(dict(account.removed).values()))
        left = runs.normal(chain.from_iterable(numbers for _, numbers in account.left_one_side))
        sets = (account.confirmed, account.lost, account.refused, removed, left)
        for name, numbers in zip(t.ledger.dtype.names, sets, strict=True):
            t.ledger[name] = self.some(numbers)

    def plan(self, row: int, entry: tuple, event: tuple) -> None:
        """Write a scheduled event into a row of the agenda: its kind, and up to four numbers about it."""
        due_us, priority, number, _, _, side, _ = entry
        about = (*event[1:], *[0] * (5 - len(event)))
        self.t.agenda[row, : SIDE + 1] = (due_us, priority, number, event[0], *about, self.sides.get(side, 0))


class Classic(Numbers):
    """A moment with a classic queue as a row."""

    kind, refusals = SEARCHED, REFUSALS

    def setup(self) -> dict[str, int]:
        """Return the constants of a search: settings, and those of mirroring."""
        t, settings, mirroring = self.t, self.settings, next(queues(self.now)).mirroring
        listed = [settings.node(name) for name in (mirroring.nodes if mirroring else ()) if name in settings.names]
        t.listed[: len(listed)] = listed
        t.notes.counts_deliveries = settings.profile.counts_deliveries
        values = {**super().setup(), **of_mirroring(mirroring, settings), "listed": len(listed)}
        t.notes.renames &= mirroring is None or mirroring.mode == HaMode.EXACTLY
        return values

    def write(self) -> None:
        """Write queue records, scheduled events and waiting operations."""
        self.t.consumer.node = state.NONE
        for batch in (batch for queue in queues(self.now) for batch in queue.batches):
            self.t.sizes[self.piece(batch.first) : self.piece(batch.last + 1)] = batch.size_bytes
        self._records()
        self._plans()

    def numbers_of(self, event: Any) -> tuple:
        """Return a planned event as its kind and its numbers."""
        return PLANNED[type(event)](event)

    def _records(self) -> None:
        for node, value in enumerate(self.now.nodes):
            if value.remembers is not None:
                self._record(value.remembers.queues[self.name], REMEMBERED + node)
        for side in self.now.sides[:0:-1]:
            place = self.sides[side.number] - 2
            self._record(side.queues[self.name], place)
            self.t.kept_side[place] = self.sides[side.number]
        self._record(self.now.sides[0].queues[self.name], None)
        self.t.queue.waiting_changes = len(self.now.waiting_changes)
        for row, one in enumerate(self.now.waiting_changes):
            joins = isinstance(one.operation, events.MirrorJoins)
            self.t.waiting_changes[row] = (state.MIRROR_JOINS, one.operation.node) if joins else (state.REPLICA_GONE, 0)

    def _record(self, queue: Queue, place: int | None) -> None:
        """Write a queue record to the row of that place, or to that of the current partition (None)."""
        t, prefix = self.t, "" if place is None else "kept_"
        record = t.queue if place is None else t.kept[place]
        for name in (
            "up", "stopped", "awaits_master", "absent", "mirrored", "master", "orphaned_gm",
            "dead_gm_members", "dead_gm_synchronised", "depth_unknown",
        ):  # fmt: skip
            record[name] = getattr(queue, name)
        lists = {"mirrors": queue.mirrors, "synchronised": queue.synchronised, "recoverable": queue.recoverable,
                 "lagging": [node for node, _ in queue.lagging]}  # fmt: skip
        lags = dict(queue.lagging)
        lists |= {"lag_from": [self.piece(lags.get(node, 0)) for node in range(len(self.now.nodes))],
                  "contents": [self.some(held) for held in queue.contents]}  # fmt: skip
        for name, values in lists.items():
            table = getattr(t, prefix + name)
            (table if place is None else table[place])[: len(values)] = values
            if name in record.dtype.names:
                record[name] = len(values)
        table = t.waiting if place is None else t.kept_waiting[place]
        for row, values in enumerate(map(waiting_row, queue.waiting)):
            table[row, : len(values)] = values
        record.waiting = len(queue.waiting)
        record.copies = bits(node for node, held in enumerate(queue.contents) if held is not None)
        record.redelivered, record.unwritten = self.some(queue.redelivered), self.some(queue.unwritten)
        record.uncounted = queue.uncounted_from and self.piece(queue.uncounted_from) + 1
        record.stored = self.some([(batch.first, batch.last) for batch in queue.batches])
        record.starts = bits(self.piece(batch.first) for batch in queue.batches)
        if queue.sync is not None:
            record.syncing, record.sync_mirrors, record.sync_number = 1, bits(queue.sync.mirrors), queue.sync.number
            record.sync_began_us = queue.sync.began_us
            record.sync_due_us = queue.sync.began_us + queue.sync.effort.duration_us

    def _plans(self) -> None:
        t, nodes = self.t, range(len(self.now.nodes))
        t.moment.agenda, t.moment.awaiting = len(self.now.agenda), len(self.now.unconfirmed)
        for row, entry in enumerate(self.now.agenda):
            self.plan(row, entry, self.numbers_of(entry[-1]))
        for row, waiting in enumerate(self.now.unconfirmed):
            (share,) = waiting.shares
            due_us = dict(share.due_us)
            into = t.awaiting[row]
            into[state.NUMBERED], into[state.AT], into[state.ANSWERED] = waiting.number, waiting.node, share.answered
            into[state.AFTER], into[state.COUNT] = self.some(share.numbers), 1
            for node in nodes:
                into[state.FIRST_NODE + node] = due_us.get(node, NOWHERE)


assert NEVER_US == state.NEVER


def waiting_row(waiting) -> tuple:
    """Return a waiting operation as a row of the mailbox."""
    kind, *about = PLANNED[type(waiting.operation)](waiting.operation)
    return (0, 0, waiting.number, kind, *about)


def bits(members: Iterable[int]) -> int:
    """Return an integer whose bits at these places are set."""
    return sum(1 << member for member in set(members))
