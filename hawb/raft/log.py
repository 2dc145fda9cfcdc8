"""The log of a member of a Raft group, as runs of entries: append, replace, write to disk, compact.

A run holds adjacent entries with the same command and term, so a batch of ten million commands is one run, and costs
what a single entry costs. Runs of one batch that were sent in pieces are joined again.

`written` is the last index on disk. Disks write in order, so it is one number. An entry that replaces another starts a
new generation of writes, and a completed write of an older one no longer counts. Ra compares terms instead
(`ra_log:handle_event`), which is the same as long as no entry returns to the place where it was replaced.
"""

from __future__ import annotations

from bisect import bisect_left

from msgspec import Struct
from msgspec.structs import replace

Members = tuple[int, ...]


class Noop(Struct, frozen=True, gc=False):
    """A leader's first entry in its term: committing it commits all that came before."""


class Configuration(Struct, frozen=True, gc=False):
    """The members of the group from this entry on (Ra's '$ra_cluster_change'), in effect as soon as it is in a log."""

    members: Members


NOOP = Noop()


class Run(Struct, frozen=True, gc=False):
    """`count` entries from index `first` on, appended in `term`, each with `command`.

    `offset` is the place of the first of them in its batch: the batch may have been cut.
    """

    first: int
    count: int
    term: int
    command: object
    offset: int = 0

    @property
    def last(self) -> int:
        """Return the index of the last entry."""
        return self.first + self.count - 1

    def part(self, first: int, last: int) -> Run:
        """Return the entries `first` to `last`, as far as they are among these."""
        if first <= self.first and last >= self.first + self.count - 1:
            return self
        first, last = max(first, self.first), min(last, self.first + self.count - 1)
        return Run(first, last - first + 1, self.term, self.command, self.offset + first - self.first)

    def goes_on_with(self, other: Run) -> bool:
        """Return True if `other`, which starts right behind, is the next piece of the same batch."""
        return (
            other.term == self.term
            and other.offset == self.offset + self.count
            and other.command == self.command
            and other.first == self.first + self.count
        )


class Snapshot(Struct, frozen=True, gc=False):
    """The replacement of all entries up to `index`, the last of which was of `term`.

    It has the members at that index and the state of the state machine, which is opaque here.
    """

    index: int = 0
    term: int = 0
    members: Members = ()
    state: object = None


class Log(Struct, frozen=True, gc=False):
    """A snapshot and the runs behind it.

    `configurations` are the known memberships, each with its index, the snapshot's first and the one in effect last.
    """

    snapshot: Snapshot
    runs: tuple[Run, ...] = ()
    configurations: tuple[tuple[int, Members], ...] = ()
    written: int = 0
    generation: int = 0

    @classmethod
    def of(cls, snapshot: Snapshot) -> Log:
        """Return a log that holds nothing but a snapshot, on disk."""
        return cls(snapshot, (), ((snapshot.index, snapshot.members),), snapshot.index)

    @property
    def last_index(self) -> int:
        """Return the index of the last entry."""
        if not self.runs:
            return self.snapshot.index
        end = self.runs[-1]
        return end.first + end.count - 1

    @property
    def last_term(self) -> int:
        """Return the term of the last entry."""
        return self.runs[-1].term if self.runs else self.snapshot.term

    @property
    def members(self) -> Members:
        """Return the members of the group by this log, committed or not."""
        return self.configurations[-1][1]

    def term_at(self, index: int) -> int | None:
        """Return the term of the entry at `index`; None for one before the snapshot or behind the end."""
        if index > self.snapshot.index:
            at = self._at(index)
            return self.runs[at].term if at < len(self.runs) else None
        return self.snapshot.term if index == self.snapshot.index else None

    def agrees(self, index: int, term: int) -> bool:
        """Return True if this log and one that has an entry of `term` at `index` are the same up to there.

        What a snapshot replaces was committed, so every leader has it.
        """
        return index < self.snapshot.index or self.term_at(index) == term

    def between(self, first: int, last: int, most: int | None = None) -> tuple[Run, ...]:
        """Return the entries `first` to `last`, in at most `most` runs."""
        if first > last:
            return ()
        at = self._at(first)
        if at == len(self.runs) - 1 and self.runs[at].first <= last:
            return (self.runs[at].part(first, last),)
        until = None if most is None else at + most
        return tuple(run.part(first, last) for run in self.runs[at:until] if run.first <= last)

    def append(self, run: Run) -> Log:
        """Return the log with `run` behind the last entry."""
        configurations = self.configurations
        if type(run.command) is Configuration:
            configurations = (*configurations, (run.first, run.command.members))
        runs = self.runs
        if runs and runs[-1].goes_on_with(run):
            grown = Run(runs[-1].first, runs[-1].count + run.count, run.term, run.command, runs[-1].offset)
            return replace(self, runs=(*runs[:-1], grown))
        return replace(self, runs=(*runs, run), configurations=configurations)

    def merge(self, entries: tuple[Run, ...]) -> Log:
        """Return the log with `entries` that a leader sent, the first of which is right behind one that agrees.

        Entries that are there already stay; an entry of another term is removed, with everything behind it (Raft,
        section 5.3).
        """
        log = self
        for run in entries:
            first = log._first_unlike(run)
            if first <= run.last:
                log = log._without(first).append(run.part(first, run.last))
        return log

    def opened(self, members: Members) -> Log:
        """Return the log with the group's first members, if they were not known."""
        if self.snapshot.members or not members:
            return self
        opening = (0, members)
        return replace(self, snapshot=Snapshot(members=members), configurations=(opening, *self.configurations[1:]))

    def write(self, generation: int, index: int) -> Log:
        """Return the log after the disk has written everything up to `index`."""
        if generation != self.generation or index <= self.written:
            return self
        return replace(self, written=index)

    def on_disk(self) -> Log:
        """Return the log as it is found after a crash. Writes under way then belong to an earlier generation."""
        return self._without(self.written + 1)

    def compact(self, index: int, state: object) -> Log:
        """Return the log with a snapshot in place of the entries up to `index`, which are on disk.

        `state` is the state machine's state after them.
        """
        behind = [pair for pair in self.configurations if pair[0] > index]
        members = self.configurations[-len(behind) - 1][1]
        return replace(
            self,
            snapshot=Snapshot(index, self.term_at(index), members, state),
            runs=self.between(index + 1, self.last_index),
            configurations=((index, members), *behind),
        )

    def install(self, snapshot: Snapshot) -> Log:
        """Return the log with a leader's snapshot, on disk. The entries behind it stay if they agree with it."""
        if self.term_at(snapshot.index) != snapshot.term:
            return replace(Log.of(snapshot), generation=self.generation + 1)
        behind = [pair for pair in self.configurations if pair[0] > snapshot.index]
        return replace(
            self,
            snapshot=snapshot,
            runs=self.between(snapshot.index + 1, self.last_index),
            configurations=((snapshot.index, snapshot.members), *behind),
            written=max(self.written, snapshot.index),
        )

    def _at(self, index: int) -> int:
        """Return the place of the run that holds `index`, or would if it is behind the end."""
        runs = self.runs
        if runs and index >= runs[-1].first:
            return len(runs) - (index < runs[-1].first + runs[-1].count)
        return bisect_left(runs, index, key=_last)

    def _first_unlike(self, run: Run) -> int:
        """Return the first index of `run` at which this log has another entry or none."""
        index = max(run.first, self.snapshot.index + 1)
        at = self._at(index)
        while index <= run.last and at < len(self.runs) and self.runs[at].term == run.term:
            index = min(run.last, self.runs[at].last) + 1
            at += 1
        return index

    def _without(self, index: int) -> Log:
        """Return the log without the entries from `index` on."""
        if index > self.last_index:
            return self
        return replace(
            self,
            runs=self.between(self.snapshot.index + 1, index - 1),
            configurations=tuple(pair for pair in self.configurations if pair[0] < index),
            written=min(self.written, index - 1),
            generation=self.generation + 1,
        )


def _last(run: Run) -> int:
    return run.first + run.count - 1
