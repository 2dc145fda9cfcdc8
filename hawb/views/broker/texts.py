"""RabbitMQ's own texts in each release, for which people search, with those that the model predicts.

There are three kinds of texts: `amqp`, with which the broker closes a channel or a connection; `ctl`, with which its
command line tools refuse; `log`, the lines of its nodes' logs about replication, membership and partitions. The
broker's texts come from the recordings and the model's from playing the same scenario, so nothing in the table is
written by hand.

Errors are compared step by step in their order. Log lines are compared scenario by scenario, each line once, regardless
of node and step: a line that every node writes is one line of the model's. The table has one text for each release of
those that differ only in names and numbers (`form`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from msgspec import Struct, convert

from hawb.broker import node_logs, recordings
from hawb.scenario.load import load
from hawb.scenario.outcome import outcome
from hawb.scenario.run import Run
from hawb.views.story.log_lines import log_lines

KINDS = {
    "log": "lines of the nodes' logs",
    "amqp": "errors that close a channel or a connection",
    "ctl": "refusals of the command line tools",
}
BROKEN = re.compile(r"(?<=[,{\[])\n\s+")
"""The places where Erlang breaks a term that is too long for a line; with longer names it breaks elsewhere."""
TERMS = (
    (re.compile(r"^(?:<<.*>>|\[.*\]|#\{.*\}|\".*\"|null|true|false|-?\d[\d.e+-]*)(?= )", re.M), "…"),
    (re.compile(r"<<.*>>|\[.*\]|#\{.*\}|\{\".*\}"), "…"),
)
"""Values in the text with which a policy is refused."""
NAMES = (
    (re.compile(r"'(?:queue|exchange) '[^'\n]*' in vhost '[^'\n]*''"), "'…'"),
    (re.compile(r"(?<!\w)'[^'\n]*'(?!\w)"), "'…'"),
    (re.compile(r"(?<=[Nn]ode )(?!(?:is|was|has|cannot|and)\b)[\w@.-]*\w"), "…"),
    (re.compile(r"(?<=mirrors )\[.*?\]|(?<=[Ww]ith )\[.*?\]|(?<=peers: ).*|(?<=peer nodes: ).*"), "…"),
    (re.compile(r"(?<=<)[\w@.-]+(?=>)|(?<=Mnesia\()[^)]+|(?<=network, )[^}]+|(?<=',)[^}]+"), "…"),
    (re.compile(r"(?<=winner )(?!is )\S+|(?<=winner is )\S+|(?<=received from )\S+|(?<=sent to )\S+"), "…"),
    (re.compile(r"(?<=down: )\[.*\]|(?<=waiting for )\[.*\]|(?<=aborting - )\[.*\]"), "…"),
    (re.compile(r"-?\b\d+(?:\.\d+)*(?:e[+-]?\d+)?\b"), "…"),
)
"""The forms of names and numbers in all texts."""


class Statement(NamedTuple):
    """A text in a release, at a step of a scenario: the model's, the broker's, or both.

    `event` is the model's event of a log line.
    """

    release: str
    kind: str
    scenario: str
    step: int
    model: str | None
    broker: str | None
    event: str | None = None

    @property
    def equal(self) -> bool:
        """Return True if model and broker have the same text."""
        return self.model == self.broker

    @property
    def form(self) -> tuple[str | None, ...]:
        """Return a key that is equal for texts that differ only in names and numbers."""
        return self.release, self.kind, form(self.model), form(self.broker)


class Row(NamedTuple):
    """A text, the number of texts of its form, and the reason why model and broker differ, if they do."""

    said: Statement
    seen: int
    reason: str | None


class Reason(Struct, frozen=True, forbid_unknown_fields=True):
    """A reason why texts that match the patterns differ, in the named releases and scenarios, or in all."""

    kind: str
    reason: str
    model: str | None = None
    broker: str | None = None
    releases: tuple[str, ...] = ()
    scenarios: tuple[str, ...] = ()

    def covers(self, said: Statement) -> bool:
        """Return True if this is the reason why a text differs."""
        sides = ((self.model, said.model), (self.broker, said.broker))
        found = all(pattern is None or (text is not None and re.search(pattern, text)) for pattern, text in sides)
        named = ((self.releases, said.release), (self.scenarios, said.scenario))
        return found and self.kind == said.kind and all(name in names for names, name in named if names)


def reasons(file: Path) -> list[Reason]:
    """Return the reasons in a file. Raise OSError or msgspec.ValidationError if it cannot be read."""
    return convert(yaml.safe_load(file.read_text(encoding="utf-8")), list[Reason])


def table(data: Path, why: Sequence[Reason]) -> list[Row]:
    """Return all texts of the recordings in `data`, one for each form and release.

    Raise OSError if a file cannot be read.
    """
    kept: dict[tuple[str | None, ...], list[Statement]] = {}
    for said in all_said(data):
        kept.setdefault(said.form, []).append(said)
    rows = [Row(found[0], len(found), reason_for(found[0], why)) for found in kept.values()]
    return sorted(rows, key=place)


def place(row: Row) -> tuple[Any, ...]:
    """Return the sort key of a row."""
    return [int(number) for number in row.said.release.split(".")], list(KINDS).index(row.said.kind), text_of(row)


def text_of(row: Row) -> str:
    """Return the broker's text, or else the model's."""
    return row.said.broker or row.said.model or ""


def reason_for(said: Statement, why: Iterable[Reason]) -> str | None:
    """Return why model and broker differ; None if they do not, or if no reason is written down."""
    return None if said.equal else next((known.reason for known in why if known.covers(said)), None)


def all_said(data: Path) -> Iterator[Statement]:
    """Yield all texts of all recordings and logs in `data`, file by file."""
    for file in sorted((data / "recorded").glob("*/*.json")):
        recording = recordings.read(file)
        if recording.outcome["errors"]:
            yield from errors(*of_model(data, file), recording.outcome["errors"])
    for file in sorted((data / "recorded").glob("*/*.log")):
        yield from logged(*of_model(data, file), node_logs.read(file)[1])


def of_model(data: Path, file: Path) -> tuple[Statement, dict[str, Any]]:
    """Return an empty text with the release and scenario of a recorded file, and the scenario's modelled outcome."""
    release = file.parent.name
    scenario = recordings.at_version(load(data / "scenarios" / f"{file.stem}.yaml"), release)
    return Statement(release, "", file.stem, 0, None, None), outcome(Run.of(scenario))


def errors(said: Statement, played: dict[str, Any], broker: Sequence[dict[str, Any]]) -> Iterator[Statement]:
    """Yield the broker's refusals, each with the model's at the same position of its step.

    A refusal that only one of them has is not a difference of texts.
    """
    for step in sorted({error["step"] for error in broker}):
        mine, its = ([error for error in part if error["step"] == step] for part in (played["errors"], broker))
        for one, other in zip(mine, its, strict=False):
            kind = "ctl" if other["code"] is None else "amqp"
            yield said._replace(kind=kind, step=step, model=laid(one["text"]), broker=laid(other["text"]))


def logged(said: Statement, played: dict[str, Any], log: Sequence[node_logs.LogLine]) -> Iterator[Statement]:
    """Yield log lines: those that both have, those of the broker alone, and those of the model alone."""
    mine = lines(played)
    seen = {line.text: line.step for line in reversed(log)}
    for text, step in sorted(seen.items(), key=lambda item: item[1]):
        model, event = (text, mine[text][1]) if text in mine else (None, None)
        yield said._replace(kind="log", step=step, model=model, broker=text, event=event)
    for text, (step, event) in mine.items():
        if text not in seen:
            yield said._replace(kind="log", step=step, model=text, event=event)


def lines(played: dict[str, Any]) -> dict[str, tuple[int, str]]:
    """Return the lines that the model logs in a scenario, each with its first step and event."""
    found: dict[str, tuple[int, str]] = {}
    for event, logged in zip(played["events"], log_lines(played), strict=True):
        for line in (logged or "").splitlines() if event["step"] is not None else ():
            found.setdefault(line.rstrip(), (event["step"], event["event"]))
    return found


def laid(text: str) -> str:
    """Return a text with each term on one line, without the tools' "Error:" and without trailing space."""
    return BROKEN.sub("", text).removeprefix("Error:").strip()


def form(text: str | None) -> str | None:
    """Return a text with … instead of names, numbers and values."""
    if text is None:
        return None
    for pattern, word in (*(TERMS if text.startswith("Validation failed") else ()), *NAMES):
        text = pattern.sub(word, text)
    return text
