"""Scripts of a Raft group: tests/raft/*.txt hold events and the outputs of the members.

A paragraph has lines with events, a rule, and the resulting outputs. Lines that begin with `#` are comments.
`HAWB_REWRITE=1 pytest tests/raft/test_raft_scripts.py` rewrites the outputs; check them with `git diff`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from raft_cluster import Cluster

from hawb.raft.group import describe, draw_runs
from hawb.raft.messages import (
    AppendEntries,
    AppendEntriesReply,
    Command,
    Committed,
    ConditionTimeout,
    ElectionTimeout,
    Installed,
    InstallSnapshot,
    Join,
    Leave,
    Message,
    PreVote,
    PreVoteResult,
    Refused,
    RequestVote,
    RequestVoteResult,
    StartElectionTimer,
    Store,
    Tick,
    TransferLeadership,
    Write,
)

REWRITE = os.environ.get("HAWB_REWRITE") == "1"
SCRIPTS = sorted(Path(__file__).parent.glob("*.txt"))
RULE = "----"


def describe_output(output: object) -> str:
    """Return one line that describes an output of a member."""
    match output:
        case Message():
            return f"{output.source}->{output.target} {type(output).__name__} t{output.term}{describe_fields(output)}"
        case Store():
            return "stores its term and vote"
        case Write():
            return f"writes up to {output.index}"
        case Committed():
            return f"commits {draw_runs(output.entries)}"
        case Installed():
            return f"installs the snapshot of {output.snapshot.index}"
        case Refused():
            return f"refuses: {output.reason}"
        case StartElectionTimer():
            return "starts its election timer"
    raise TypeError(output)


def describe_fields(message: Message) -> str:
    """Return the fields that are specific to the type of message."""
    match message:
        case PreVote() | RequestVote():
            return f" last {message.last_index} of t{message.last_term}"
        case PreVoteResult() | RequestVoteResult():
            return " granted" if message.granted else " refused"
        case AppendEntries():
            before = f" after {message.prev_index} of t{message.prev_term}, commit {message.leader_commit}"
            return before + (f": {draw_runs(message.entries)}" if message.entries else "")
        case AppendEntriesReply():
            verdict = "fits" if message.success else "does not fit"
            return f" {verdict}, on disk {message.last_index}, next {message.next_index}, commit {message.commit_index}"
        case InstallSnapshot():
            return f" of {message.snapshot.index}"
    return ""


class Story:
    """A group, and the lines that it has printed since the last event of a script."""

    def __init__(self):
        self.cluster = Cluster(0)
        self.lines: list[str] = []

    def play(self, line: str) -> str:
        """Play one event of a script. Return the lines that it prints."""
        verb, *words = line.split()
        self.lines = []
        self.VERBS[verb](self, *words)
        return "\n".join(self.lines) + "\n" if self.lines else ""

    def group(self, size: str, spare: str = "0") -> None:
        self.cluster = Cluster(int(size), int(spare))
        self.cluster.heard = self.hear

    def hear(self, number: int, event: object, outputs: tuple) -> None:
        if isinstance(event, Message):
            self.lines.append(describe_output(event))
        self.lines.extend(f"  {number}: {describe_output(output)}" for output in outputs)

    def draw(self) -> None:
        self.lines.extend(describe(self.cluster.members).splitlines())

    def send(self, link: str, count: str = "1") -> None:
        """Deliver the oldest messages of a link."""
        for _ in range(int(count)):
            self.cluster.deliver(self._on(link)[0])

    def drop(self, link: str) -> None:
        """Drop all messages of a link."""
        for message in self._on(link):
            self.cluster.drop(message)

    def _on(self, link: str) -> list[Message]:
        source, target = map(int, link.split("->"))
        return [message for message in self.cluster.wire if (message.source, message.target) == (source, target)]

    def settle(self, how: str = "") -> None:
        """Deliver all messages and finish all writes. With `quietly`, print nothing."""
        self.cluster.settle()
        if how == "quietly":
            self.lines = []

    def write(self, number: str) -> None:
        self.cluster.finish_write(int(number))

    def kill(self, *numbers: str) -> None:
        for number in numbers:
            self.cluster.kill(int(number))

    def start(self, *numbers: str) -> None:
        for number in numbers:
            self.cluster.start(int(number))

    def cut(self, *sides: str) -> None:
        """Cut the links between groups of members such as `0,1 2`."""
        apart = [set(map(int, side.split(","))) for side in sides]
        self.cluster.cuts = frozenset((a, b) for one in apart for other in apart if one is not other
                                      for a in one for b in other)  # fmt: skip

    def heal(self) -> None:
        self.cluster.cuts = frozenset()

    def release(self, number: str) -> None:
        self.cluster.release(int(number))

    def command(self, number: str, what: str, count: str = "1") -> None:
        self.cluster.give(int(number), Command(what, int(count)))

    @staticmethod
    def event(kind: Callable[..., object]) -> Callable[..., None]:
        """Return a verb that gives a member an event, with or without a number."""
        return lambda story, number, *more: story.cluster.give(int(number), kind(*map(int, more)))

    VERBS = {
        one.__name__: one
        for one in (group, draw, send, drop, settle, write, kill, start, cut, heal, release, command)
    } | {
        "election": event(ElectionTimeout), "tick": event(Tick), "condition": event(ConditionTimeout),
        "join": event(Join), "leave": event(Leave), "transfer": event(TransferLeadership),
    }  # fmt: skip


def paragraphs(text: str) -> Iterator[tuple[str, str]]:
    """Yield each paragraph as its events, with their comments, and its outputs."""
    for paragraph in text.split("\n\n"):
        happens, _, then = paragraph.partition(f"\n{RULE}")
        yield happens.strip("\n"), then.strip("\n")


def replayed(text: str) -> str:
    """Return the script with the outputs of the current code."""
    story, written = Story(), []
    for happens, _ in paragraphs(text):
        lines = [line for line in happens.splitlines() if not line.startswith("#")]
        then = "".join(story.play(line) for line in lines)
        written.append(f"{happens}\n{RULE}\n{then}" if lines else f"{happens}\n")
    return "\n".join(written)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_script_reproduces_its_outputs(script: Path):
    text = script.read_text()
    if REWRITE:
        script.write_text(replayed(text))
    else:
        assert replayed(text) == text
