"""The log lines of a cluster's nodes while a scenario is played, step by step, in a form that is the same in each run.

A line is kept without its time and level. Parts that differ from run to run are replaced (`steady`): nodes by the
scenario's names, processes that are named with their node by that node in angle brackets, and others by `<pid>`. Lines
about replication, membership and partitions are kept (`SUBJECTS`): those that a model can predict, and that people grep
for.
"""

from __future__ import annotations

import re
import time
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from hawb.broker.nodes import BrokerNode
from hawb.scenario.saving import write

WRITTEN_S = 1.2
"""The most time until a line reaches its file, in seconds: RabbitMQ 3.8's lager holds it for a second."""
BEGINNING = re.compile(r"(?P<time>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+(?:[+-]\d\d:\d\d)?) \[\w+\] (?:<[\d.]+> )?")
"""The beginning of each line since 3.9 (OTP's logger), and of a message's first line before that (lager)."""
FAR_PROCESS = re.compile(r"<(n\d+@10\.77\.0\.\d+)(?:\.\d+){4}>|<(n\d+@10\.77\.0\.\d+)(?:\.\d+){3}>")
"""A process as `rabbit_misc:pid_to_string` names it."""
ERLANG_NAME = re.compile(r"(?P<quote>'?)n\d+@10\.77\.0\.\d+(?P=quote)")
"""A node's name. Erlang quotes the names of these clusters for their dots, and not those of most clusters."""
STEADY = (
    (re.compile(r"<\d+\.\d+\.\d+>"), "<pid>"),
    (re.compile(r"(?<=on Erlang ).*"), "VERSION"),
    (re.compile(r"#Ref<[\d.]+>"), "#Ref<>"),
    (re.compile(r"/\S+/mnesia\b"), "MNESIA_DIR"),
    (re.compile(r"10\.77\.0\.\d+(?::\d+)?"), "ADDRESS"),
    (re.compile(r"\d+\.\d+s$"), "SECONDS"),
)
"""Further parts that differ from run to run, and their replacements."""
SUBJECTS = re.compile(
    "|".join(
        [
            r"Mirrored queue '|Synchronising|Restarting crashed|Starting queue rebalance",
            r"in term|term:|leader|Leader|candidate|election|replica of quorum queue|removing member|adding member",
            r"^rabbit on node|^node .+ (?:up|down)\b|^Node .+ (?:is down|thinks it's clustered)|clustered with",
            r"partition|Autoheal|autoheal|minority|[Pp]ausing|all preferred|Cluster minority",
            r"[Rr]emoving node|forgot|Joining|[Cc]lustering|Resetting|force.boot|[Dd]isagrees|inconsistent",
            r"RabbitMQ is asked to stop|Successfully stopped RabbitMQ|Server startup complete|Starting RabbitMQ",
            r"Waiting for Mnesia|waiting for Mnesia|Mnesia tables|table timeout",
            r"resource limit alarm|maintenance",
        ]
    )
)
"""The subjects of lines that are kept."""
ROUTINE = re.compile(
    r"memory_high|delivery_limit not set|leader_locator|[Mm]essage store|[Ff]eature flag|Running boot step"
    r"|Resetting node maintenance|metadata store|^\s*$"
)
"""Lines about these subjects are left out: the log has them for each boot, or for each queue."""


PLAYED = "played: "


class LogLine(NamedTuple):
    """A line that a node logged during a step, or before the next one began."""

    step: int
    node: str
    text: str


class NodeLogs:
    """The logs of a cluster's nodes; `names` maps Erlang's names to the scenario's.

    A line belongs to a step by its own time, for it may reach the file much later. `begun` are the steps with the
    times, in seconds since 1970, at which they began.
    """

    def __init__(self, nodes: Iterable[BrokerNode], names: Mapping[str, str]):
        self._nodes, self._names = list(nodes), names
        self.begun: list[tuple[float, int | None]] = []

    def begin(self, step: int | None) -> None:
        """Record that a step begins; None ends the last one. Steps that build a cluster are numbered below 0."""
        self.begun.append((time.time(), step))

    def lines(self) -> list[LogLine]:
        """Return the lines that were logged during the steps. Wait until all have reached the files.

        Call it after the last step.
        """
        time.sleep(max(0.0, self.begun[-1][0] + WRITTEN_S - time.time()))
        return [
            LogLine(step, node.name, steady(text, self._names))
            for node in self._nodes
            for at_s, text in messages(node.log())
            if (step := self._step_of(at_s)) is not None and step >= 0
        ]

    def _step_of(self, at_s: float) -> int | None:
        place = bisect_right([begun for begun, _ in self.begun], at_s)
        return self.begun[place - 1][1] if place else None


def messages(log: str) -> Iterator[tuple[float, str]]:
    """Yield each message of a log: its time, in seconds since 1970, and its text.

    A term that Erlang breaks after a comma is put on one line.
    """
    at_s, said = 0.0, ""
    for line in log.splitlines():
        begins = BEGINNING.match(line)
        text = line[begins.end() :] if begins else line
        if said.endswith(",") and text.startswith(" "):
            said += text.lstrip()
            continue
        if said:
            yield at_s, said
        said = text
        if begins:
            time = datetime.fromisoformat(begins["time"])
            at_s = (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
    if said:
        yield at_s, said


def steady(text: str, names: Mapping[str, str]) -> str:
    """Return a line in the form that is the same in each run; `names` maps Erlang's names to the scenario's."""
    text = FAR_PROCESS.sub(lambda found: f"<{names.get(found[1] or found[2], '')}>", text)
    text = ERLANG_NAME.sub(lambda found: names.get(found[0].strip("'"), found[0]), text)
    for pattern, word in STEADY:
        text = pattern.sub(word, text)
    return text.rstrip()


def kept(lines: Iterable[LogLine]) -> list[LogLine]:
    """Return the lines that are kept, each once for a step and node."""
    chosen = (line for line in lines if SUBJECTS.search(line.text) and not ROUTINE.search(line.text))
    return list(dict.fromkeys(chosen))


def save(lines: Iterable[LogLine], played: str, file: Path) -> None:
    """Write the lines that are kept, below the digest of the steps played. Raise OSError.

    A line has step, node and text between tabs.
    """
    write(file, f"{PLAYED}{played}\n" + "".join(f"{line.step}\t{line.node}\t{line.text}\n" for line in kept(lines)))


def read(file: Path) -> tuple[str, list[LogLine]]:
    """Return the digest of the steps played (`hawb.broker.recordings.digest`), and the lines.

    Raise OSError and ValueError.
    """
    first, *others = file.read_text(encoding="utf-8").splitlines()
    rows = (line.split("\t", 2) for line in others)
    return first.removeprefix(PLAYED), [LogLine(int(step), node, text) for step, node, text in rows]
