"""Raft alone: protocol messages under kills and partitions, and what a deep log costs."""

from __future__ import annotations

import heapq
import statistics
from itertools import count

from msgspec.structs import replace

from benchmarks.measure import duration, rate, seconds
from hawb.raft.log import Log
from hawb.raft.member import LEADER, NOWHERE, Member, start
from hawb.raft.messages import (
    Command,
    Committed,
    ElectionTimeout,
    Input,
    Message,
    ReleaseCursor,
    StartElectionTimer,
    Tick,
    Write,
    Written,
)
from hawb.raft.step import restart, step

SIZE = 5
COMMANDS = 4_000
LINK_US, FSYNC_US, ELECTION_US, EVERY_US = 500, 1_000, 300_000, 2_000
SHALLOW, DEEP = 10, 10_000_000


class Group:
    """A group on a network in simulated time. Its host suspects a leader after some time without a message."""

    def __init__(self, compacts: bool):
        self.compacts = compacts
        self.members: list[Member | None] = [start(one, tuple(range(SIZE))) for one in range(SIZE)]
        self.disks: list[Log] = [member.log for member in self.members]
        self.dead: dict[int, Member] = {}
        self.lives = [0] * SIZE
        self.timers = [0] * SIZE
        self.apart: frozenset[int] = frozenset()
        self.messages = 0
        self.now_us = 0
        self.order = count()
        self.agenda: list[tuple] = []
        for number in range(SIZE):
            self.arm(number)

    def later(self, delay_us: int, number: int, event: Input, log: Log | None = None) -> None:
        """Schedule an event for a member, dropped if the member restarts before."""
        entry = (self.now_us + delay_us, next(self.order), number, self.lives[number], event, log)
        heapq.heappush(self.agenda, entry)

    def arm(self, number: int) -> None:
        """Set the election timer of a member, replacing an earlier one."""
        self.timers[number] += 1
        self.later(ELECTION_US + number * 40_000, number, ElectionTimeout(), self.timers[number])

    def run_until(self, time_us: int) -> None:
        """Play everything that is due by then."""
        while self.agenda and self.agenda[0][0] <= time_us:
            self.now_us, _, number, life, event, about = heapq.heappop(self.agenda)
            if self.members[number] is not None and (isinstance(event, Message) or life == self.lives[number]):
                self.take(number, event, about)
        self.now_us = time_us

    def take(self, number: int, event: Input, about: object) -> None:
        """Play one event at a member."""
        if isinstance(event, Message):
            if (event.source in self.apart) != (number in self.apart):
                return
            self.messages += 1
        elif isinstance(event, Written):
            self.disks[number] = about
        elif isinstance(event, ElectionTimeout) and about != self.timers[number]:
            return
        self.give(number, event)

    def give(self, number: int, event: Input) -> None:
        """Step a member and carry out its outputs."""
        before = self.members[number]
        after, outputs = step(before, event)
        self.members[number] = after
        if after.leader != NOWHERE and before.leader == NOWHERE:
            self.timers[number] += 1
        for output in outputs:
            if isinstance(output, Message):
                self.later(LINK_US, output.target, output)
            elif isinstance(output, Write):
                self.later(FSYNC_US, number, Written(output.generation, output.index), after.log)
            elif isinstance(output, Committed) and self.compacts:
                self.later(0, number, ReleaseCursor(after.commit_index))
            elif isinstance(output, StartElectionTimer):
                self.arm(number)

    def leader(self) -> int | None:
        """Return the leader of the latest term."""
        leading = [member for member in self.members if member and member.role == LEADER]
        return max(leading, key=lambda member: member.term).id if leading else None

    def kill(self, number: int) -> None:
        """Kill a member with its unwritten entries. The other members see it down."""
        log = self.disks[number]
        self.dead[number] = replace(self.members[number], log=replace(log, written=log.last_index))
        self.members[number] = None
        self.lives[number] += 1
        for other, member in enumerate(self.members):
            if member and member.leader == number:
                self.arm(other)

    def start(self, number: int) -> None:
        """Restart a member."""
        self.members[number] = restart(self.dead.pop(number))
        self.arm(number)


def trouble(group: Group, at: int) -> None:
    """Kill the leader, restart it, isolate the leader in a minority, and heal, in turn."""
    leader = group.leader()
    match at % 4:
        case 0 if leader is not None:
            group.kill(leader)
        case 1:
            for number in list(group.dead):
                group.start(number)
        case 2 if leader is not None:
            group.apart = frozenset((leader, (leader + 1) % SIZE))
            for number in set(range(SIZE)) - group.apart:
                group.arm(number)
        case 3:
            group.apart = frozenset()


def play() -> Group:
    """Append commands at a steady rate, with a fault every four hundred commands."""
    group = Group(compacts=True)
    group.run_until(2 * ELECTION_US)
    for at in range(COMMANDS):
        if at % 400 == 399:
            trouble(group, at // 400)
        leader = group.leader()
        if leader is not None:
            group.give(leader, Command("publish"))
            if at % 50 == 0:
                group.give(leader, Tick())
        group.run_until(group.now_us + EVERY_US)
    return group


def catch_up(size: int) -> None:
    """Restart a member that lacks a hundred batches of `size` commands."""
    group = Group(compacts=False)
    group.run_until(2 * ELECTION_US)
    group.kill((group.leader() + 1) % SIZE)
    for at in range(100):
        group.give(group.leader(), Command(at, size))
        group.run_until(group.now_us + EVERY_US)
    group.start(*group.dead)
    group.give(group.leader(), Tick())
    group.run_until(group.now_us + ELECTION_US)
    assert len({member.commit_index for member in group.members}) == 1


def figures() -> list[str]:
    """The lines that `make bench` prints."""
    messages = play().messages
    shallow, deep = seconds(lambda: catch_up(SHALLOW), rounds=11), seconds(lambda: catch_up(DEEP), rounds=11)
    times = statistics.median(deep) / statistics.median(shallow)
    return [
        rate(f"{messages:,} messages in a group of {SIZE}, kills and partitions", messages, seconds(play)),
        duration(f"catching up with a hundred batches of {SHALLOW:,}", shallow),
        duration(f"catching up with a hundred batches of {DEEP:,}", deep),
        f"{'ratio':<58} {times:>12.2f}   limit 1.5",
    ]
