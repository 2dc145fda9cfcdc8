"""An engine's moment as the whole numbers of a search (`hawb.study.kernel.search_state`)."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from itertools import chain, pairwise

import numpy as np

from hawb.engine import events, runs
from hawb.engine.clients import NEVER_US
from hawb.engine.key import NAMES_MATTER
from hawb.engine.moment import Moment
from hawb.engine.runs import Runs
from hawb.engine.settings import Settings
from hawb.engine.state import NOWHERE, Queue
from hawb.rules.policies import HaMode
from hawb.study.kernel import partitioned_state, search_state, state
from hawb.study.kernel.search_state import OWN_KIND, REMEMBERED, SEARCHED
from hawb.study.kernel.setup import of_mirroring, of_settings
from hawb.study.search_refusals import OWN_BATCH, PLANNED, REFUSALS, cuts, kind_of, other_kinds, queues

STATUSES = {"running": state.RUNNING, "stopping": state.STOPPING, "down": state.DOWN, "booting": state.BOOTING,
            "waiting": state.WAITING, "paused": state.PAUSED}  # fmt: skip


class SearchRefused(ValueError):  # noqa: N818 - it reads as what happened
    """A moment that the compiled search does not play, and the engine's does."""


def numbers_of(moment: Moment, settings: Settings) -> np.ndarray:
    """A moment as one row of `search_state.SEARCHED`. Raises SearchRefused with the reason why a row cannot hold it."""
    reason = next((reason for reason, applies in REFUSALS.items() if applies(moment, settings)), None)
    if reason is not None:
        raise SearchRefused(reason)
    return _Numbers(moment, settings).row


class _Numbers:
    """Writes a moment into a row."""

    def __init__(self, moment: Moment, settings: Settings):
        self.now, self.settings = moment.state, settings
        self.row = np.zeros(1, SEARCHED)
        self.t = self.row.view(np.recarray)[0]
        self.name = next(queues(self.now)).name
        self.cuts = cuts(moment)
        self.sides = {side.number: place + 1 for place, side in enumerate(self.now.sides)}
        self._setup()
        self._nodes()
        self._messages(moment)
        self._records()
        self._plans()

    def some(self, numbers: Runs | None) -> int:
        """A set of messages as bits."""
        places = ((self.piece(first), self.piece(last + 1)) for first, last in numbers or ())
        return sum((1 << end) - (1 << start) for start, end in places)

    def piece(self, number: int) -> int:
        """The piece that begins with a message."""
        return bisect_left(self.cuts, number)

    def _setup(self) -> None:
        settings = self.settings
        mirroring = next(queues(self.now)).mirroring
        listed = [settings.node(name) for name in (mirroring.nodes if mirroring else ()) if name in settings.names]
        values = {
            **of_settings(settings), **of_mirroring(mirroring, settings),
            "size_bytes": search_state.PUBLISHED_BYTES, "persistent": 1, "confirms": 1, "listed": len(listed),
        }  # fmt: skip
        for name, value in values.items():
            self.t.setup[name] = value
        self.t.listed[: len(listed)] = listed
        self.t.notes.counts_deliveries = settings.profile.counts_deliveries
        named = any(setting in NAMES_MATTER for policy in (*self.now.policies, *self.now.operator_policies)
                    for setting in policy.settings)  # fmt: skip
        others = mirroring is not None and mirroring.mode != HaMode.EXACTLY
        self.t.notes.renames = not (named or others or settings.queue_master_locator == "min-masters")

    def _nodes(self) -> None:
        t, now = self.t, self.now
        t.moment.now_us, t.moment.counter = now.time_us, now.counter
        t.consumer.node = state.NOBODY
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

    def _messages(self, moment: Moment) -> None:
        t, account = self.t, moment.ledger[self.name]
        t.notes.pieces = t.notes.given = len(self.cuts) - 1
        for piece, (first, end) in enumerate(pairwise(self.cuts)):
            t.counts[piece] = end - first
        places = {kind: place for place, kind in enumerate(other_kinds(self.now))} | {OWN_BATCH: OWN_KIND}
        for batch in (batch for queue in queues(self.now) for batch in queue.batches):
            pieces = range(self.piece(batch.first), self.piece(batch.last + 1))
            t.sizes[pieces.start : pieces.stop] = batch.size_bytes
            t.kinds[places[kind_of(batch)]] |= bits(pieces)
        removed = runs.normal(chain.from_iterable(dict(account.removed).values()))
        left = runs.normal(chain.from_iterable(numbers for _, numbers in account.left_one_side))
        sets = (account.confirmed, account.lost, account.refused, removed, left)
        for name, numbers in zip(t.ledger.dtype.names, sets, strict=True):
            t.ledger[name] = self.some(numbers)

    def _records(self) -> None:
        for node, value in enumerate(self.now.nodes):
            if value.remembers is not None:
                self._record(value.remembers.queues[self.name], REMEMBERED + node)
        for side in self.now.sides[:0:-1]:
            place = self.sides[side.number] - 2
            self._record(side.queues[self.name], place)
            self.t.kept_side[place] = self.sides[side.number]
        self._record(self.now.sides[0].queues[self.name], None)
        self.t.queue.stalled = len(self.now.stalled)
        for row, one in enumerate(self.now.stalled):
            joins = isinstance(one.operation, events.MirrorJoins)
            self.t.stalled[row] = (state.MIRROR_JOINS, one.operation.node) if joins else (state.REPLICA_GONE, 0)

    def _record(self, queue: Queue, place: int | None) -> None:
        """Writes a record to a place, or (None) to the place of the side in focus."""
        t, prefix = self.t, "" if place is None else "kept_"
        record = t.queue if place is None else t.kept[place]
        for name in (
            "up", "stopped", "abandoned", "absent", "mirrored", "master", "hollow", "unburied", "unburied_synchronised",
            "depth_unknown",
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
        table = t.parked if place is None else t.kept_parked[place]
        for row, values in enumerate(map(waiting_row, queue.parked)):
            table[row, : len(values)] = values
        record.parked = len(queue.parked)
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
        for row, (due_us, priority, number, _, _, side, event) in enumerate(self.now.agenda):
            kind, *about = PLANNED[type(event)](event)
            told = (due_us, priority, number, kind, *about, *[0] * (4 - len(about)), self.sides.get(side, 0))
            t.agenda[row] = told
        for row, waiting in enumerate(self.now.unconfirmed):
            (share,) = waiting.shares
            due_us = dict(share.due_us)
            told = t.awaiting[row]
            told[state.NUMBERED], told[state.AT], told[state.ANSWERED] = waiting.number, waiting.node, share.answered
            told[state.AFTER], told[state.COUNT] = self.some(share.numbers), 1
            for node in nodes:
                told[state.FIRST_NODE + node] = due_us.get(node, NOWHERE)


assert NEVER_US == state.NEVER


def waiting_row(parked) -> tuple:
    """An operation that waits, as a row of the mailbox."""
    kind, *about = PLANNED[type(parked.operation)](parked.operation)
    return (0, 0, parked.number, kind, *about)


def bits(members: Iterable[int]) -> int:
    """Numbers as a set of bits."""
    return sum(1 << member for member in set(members))
