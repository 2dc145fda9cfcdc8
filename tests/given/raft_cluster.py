"""A Raft group on an adversary's network and disks, and what must be so after every event.

Messages wait on `wire` until somebody delivers, doubles or drops them, in any order; writes wait in `writes`, one disk
after the other. A member that is killed comes back with its disk: term and vote of the moment, the log as of the last
write that was finished, even where entries were driven out since.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

from msgspec.structs import replace

from hawb.raft.log import Log, Run
from hawb.raft.member import LEADER, NOWHERE, Member, start
from hawb.raft.messages import (
    AppendEntries,
    Committed,
    ConditionTimeout,
    ElectionTimeout,
    Input,
    Installed,
    InstallSnapshot,
    Message,
    PreVote,
    PreVoteResult,
    ReleaseCursor,
    RequestVote,
    RequestVoteResult,
    StartElectionTimer,
    Store,
    Tick,
    Write,
    Written,
)
from hawb.raft.step import restart, step
from hawb.rules.quorum import majority

Entry = tuple[int, object, int]
"""Term, command, and which of its batch."""


class ViolationError(AssertionError):
    """A violated promise of Raft."""


def entries(runs: tuple[Run, ...]) -> Iterator[tuple[int, Entry]]:
    """Return each entry by its index."""
    for run in runs:
        for at in range(run.count):
            yield run.first + at, (run.term, run.command, run.offset + at)


def promise(kept: bool, name: str, *details: object) -> None:
    """Raise ViolationError unless a promise is kept."""
    if not kept:
        raise ViolationError(f"{name}: {', '.join(map(str, details))}")


class Cluster:
    """A group whose first members are `0` to `size - 1`; others may join."""

    def __init__(self, size: int, spare: int = 0):
        group = tuple(range(size))
        self.members: dict[int, Member | None] = {one: start(one, group) for one in group}
        self.members.update({one: start(one) for one in range(size, size + spare)})
        self.disks: dict[int, Member] = dict(self.members)
        self.writes: dict[int, tuple[tuple[Write, Log], ...]] = dict.fromkeys(self.members, ())
        self.wire: tuple[Message, ...] = ()
        self.heard: Callable[[int, Input, tuple], None] = lambda number, event, outputs: None
        self.cuts: frozenset[tuple[int, int]] = frozenset()
        self.timers: frozenset[int] = frozenset(group)
        self.machines: dict[int, tuple[Entry, ...]] = dict.fromkeys(self.members, ())
        self.votes: dict[tuple[int, int], int] = {}
        self.leaders: dict[int, int] = {}
        self.known: dict[tuple[int, int], tuple[Entry, int | None]] = {}
        self.committed: tuple[Entry, ...] = ()
        self.committed_in: tuple[int, ...] = ()

    def copy(self) -> Cluster:
        """Return another cluster in the same state."""
        other = object.__new__(Cluster)
        other.__dict__ = {
            name: dict(value) if isinstance(value, dict) else value for name, value in self.__dict__.items()
        }
        return other

    def key(self) -> tuple:
        """Return the state without how often, and in which order, messages are under way."""
        parts = (self.members, self.disks, self.writes, self.votes, self.leaders)
        return (*(frozenset(part.items()) for part in parts), frozenset(self.wire), self.committed, self.cuts)

    # What an adversary does

    def give(self, number: int, event: Input) -> tuple:
        """Step a member, unless it is down, process its outputs and return them."""
        before = self.members[number]
        if before is None:
            return ()
        after, outputs = step(before, event)
        self.heard(number, event, outputs)
        self.members[number] = after
        if after.log is not before.log:
            self._check_log(after.log, before.log)
        for output in outputs:
            self._do(number, output)
        if after.role == LEADER and before.role != LEADER:
            self._check_leader(after)
        return outputs

    def drop(self, message: Message) -> None:
        """Take a message off the wire."""
        at = self.wire.index(message)
        self.wire = self.wire[:at] + self.wire[at + 1 :]

    def deliver(self, message: Message) -> None:
        """Take a message to its target, unless the link is cut."""
        self.drop(message)
        if (message.source, message.target) not in self.cuts:
            if isinstance(message, AppendEntries | InstallSnapshot):
                self.timers -= {message.target}
            self.give(message.target, message)

    def finish_write(self, number: int) -> None:
        """Finish the member's oldest write on its disk."""
        (write, log), *others = self.writes[number]
        self.writes[number] = tuple(others)
        self.disks[number] = replace(self.disks[number], log=replace(log, written=log.last_index))
        self.give(number, Written(write.generation, write.index))

    def kill(self, number: int) -> None:
        """Kill the member and lose what was not on its disk."""
        self.members[number], self.writes[number] = None, ()

    def start(self, number: int) -> None:
        """Start the member again."""
        if self.members[number] is None:
            member = self.members[number] = restart(self.disks[number])
            self.machines[number] = member.log.snapshot.state or ()
            self.timers |= {number}

    def stand(self, number: int) -> None:
        """Fire a member's election timeout and deliver its pre-votes and their results at once."""
        self.give(number, ElectionTimeout())
        for kind in (PreVote, PreVoteResult):
            for message in [message for message in self.wire if type(message) is kind]:
                self.deliver(message)

    def release(self, number: int) -> None:
        """Let its state machine release what it was given."""
        state = self.machines[number]
        self.give(number, ReleaseCursor(len(state), state))

    def settle(self, most: int = 10_000) -> None:
        """Deliver messages and finish writes in order until none is left, or up to a limit."""
        for _ in range(most):
            if self.wire:
                self.deliver(self.wire[0])
            elif busy := [number for number, writes in self.writes.items() if writes]:
                self.finish_write(busy[0])
            else:
                return

    def leader(self) -> Member | None:
        """Return the leader of the latest term."""
        leading = [member for member in self.members.values() if member and member.role == LEADER]
        return max(leading, key=lambda member: member.term, default=None)

    def get_well(self, dead: Collection[int] = (), rounds: int = 60) -> Member:
        """All links work, all members but `dead` run and time goes on. The leader that there must be soon, whom all
        that live follow: within sixty elections, so 18 s where each takes 0.3 s. A member that has been removed is shut
        down, as RabbitMQ does with one."""
        self.cuts = frozenset()
        for number in self.members:
            (self.kill if number in dead else self.start)(number)
        for turn in range(rounds):
            self.settle()
            leader = self.leader()
            if leader and self._agreed(leader):
                return leader
            for number in self.members:
                self.give(number, Tick())
                self.give(number, ConditionTimeout())
            self.settle()
            if waiting := [number for number in self.members if self._suspects(number)]:
                number = waiting[turn % len(waiting)]
                self.timers -= {number}
                self.give(number, ElectionTimeout())
            self._shut_down_removed()
        raise ViolationError("liveness: no leader that all follow")

    def dead(self) -> list[int]:
        """Return the members that do not run."""
        return [number for number, member in self.members.items() if member is None]

    def _suspects(self, number: int) -> bool:
        """Whether the member is due to ask for votes: its election timer runs, or its failure detector tells it that
        whom it follows does not lead."""
        member = self.members[number]
        if member is None or member.role == LEADER:
            return False
        leader = self.members.get(member.leader)
        return number in self.timers or leader is None or leader.role != LEADER

    def _shut_down_removed(self) -> None:
        leader = self.leader()
        if leader and leader.log.configurations[-1][0] <= leader.commit_index:
            for number in self.members.keys() - leader.members:
                self.kill(number)

    def _agreed(self, leader: Member) -> bool:
        followers = [one for one in map(self.members.get, leader.members) if one is not None]
        return (
            leader.id in leader.members
            and leader.transferring_to == NOWHERE
            and leader.commit_index == leader.log.last_index
            and all(one.leader == leader.id and one.commit_index == leader.commit_index for one in followers)
        )

    def _do(self, number: int, output: object) -> None:
        member = self.members[number]
        match output:
            case Message():
                self.wire += (output,)
                self._check_vote(output)
            case Store():
                self.disks[number] = replace(self.disks[number], term=member.term, voted_for=member.voted_for)
            case Write():
                self.writes[number] += ((output, member.log),)
            case Committed():
                self._apply(member, output.entries)
            case Installed():
                self.machines[number] = output.snapshot.state
                self.disks[number] = replace(self.disks[number], log=member.log.on_disk())
            case StartElectionTimer():
                self.timers |= {number}

    # What must be so

    def _check_vote(self, message: Message) -> None:
        """Check that a member votes once in a term, for itself or for another."""
        match message:
            case RequestVote():
                vote = message.source
            case RequestVoteResult(granted=True):
                vote = message.target
            case _:
                return
        known = self.votes.setdefault((message.source, message.term), vote)
        promise(known == vote, "one vote in a term", message, known)

    def _apply(self, member: Member, runs: tuple[Run, ...]) -> None:
        for index, entry in entries(runs):
            machine = self.machines[member.id]
            promise(index == len(machine) + 1, "applied in order", member.id, index, len(machine))
            if index > len(self.committed):
                promise(index == len(self.committed) + 1, "committed in order", index)
                self.committed += (entry,)
                self.committed_in += (member.term,)
            promise(self.committed[index - 1] == entry, "state machine safety", member.id, index, entry)
            self.machines[member.id] = (*machine, entry)
        if member.role == LEADER:
            self._check_majority(member)
            for other in self.members.values():
                if other and other.role == LEADER:
                    self._check_leader(other)

    def _check_majority(self, leader: Member) -> None:
        """Check that committed entries are on the disks of a majority."""
        last, term = leader.commit_index, leader.log.term_at(leader.commit_index)
        having = [one for one in leader.members if self.disks[one].log.agrees(last, term)]
        promise(len(having) >= majority(len(leader.members)), "on a majority's disks", leader.id, last, having)
        promise(term == leader.term, "commits in its own term", leader.id, last, term)

    def _check_leader(self, leader: Member) -> None:
        """Check that a term has one leader, who has all that was committed before."""
        known = self.leaders.setdefault(leader.term, leader.id)
        promise(known == leader.id, "election safety", leader.term, known, leader.id)
        for index, (entry, term) in enumerate(zip(self.committed, self.committed_in, strict=True), start=1):
            has = term > leader.term or leader.log.agrees(index, entry[0])
            promise(has, "leader completeness", leader.id, leader.term, index, entry)

    def _check_log(self, log: Log, before: Log) -> None:
        """Logs that have an entry in common have all before it in common: for each index and term there is one entry,
        and one term of the entry before it."""
        for run in log.runs:
            if run not in before.runs:
                for index, entry in entries((run,)):
                    this = entry, log.term_at(index - 1)
                    known = self.known.setdefault((index, entry[0]), this)
                    promise(known[0] == entry, "log matching", index, known, entry)
                    promise(known[1] == this[1] or None in (known[1], this[1]), "log matching", index, known, this)
