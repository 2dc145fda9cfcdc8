"""RabbitMQ's own texts in each release, beside those that the model predicts: texts that people search for.

Texts are of three kinds: `amqp`, with which the broker closes a channel or a connection; `ctl`, with which its command
line tools refuse; `log`, the lines of its nodes' logs about replication, membership and partitions. The broker's are
those of the recordings, the model's come from playing the same scenario, so the table is never written by hand.

Errors are compared step by step as they were told. Log lines are compared scenario by scenario, each line once,
whichever node and step has it: a line that every node writes is one line of the model's. Of texts that differ in names
and numbers alone (`form`) the table has one for each release.
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
"""Where Erlang breaks a term that is too long for a line; with longer names it breaks elsewhere."""
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


class Said(NamedTuple):
    """A text as it was seen, in a release, at a step of a scenario: the model's, the broker's, or both. `event` is the
    model's event that a log line is for."""

    release: str
    kind: str
    scenario: str
    step: int
    model: str | None
    broker: str | None
    event: str | None = None

    @property
    def equal(self) -> bool:
        """Whether model and broker say the same."""
        return self.model == self.broker

    @property
    def form(self) -> tuple[str | None, ...]:
        """The part that it shares with all texts which differ from it in names and numbers alone."""
        return self.release, self.kind, form(self.model), form(self.broker)


class Row(NamedTuple):
    """A text, how often texts of its form were seen, and why model and broker differ, if they do."""

    said: Said
    seen: int
    reason: str | None


class Reason(Struct, frozen=True, forbid_unknown_fields=True):
    """Why texts differ in which the patterns are found, in the releases and scenarios that are named or in all."""

    kind: str
    reason: str
    model: str | None = None
    broker: str | None = None
    releases: tuple[str, ...] = ()
    scenarios: tuple[str, ...] = ()

    def covers(self, said: Said) -> bool:
        """Whether this is the reason why a text differs."""
        sides = ((self.model, said.model), (self.broker, said.broker))
        found = all(pattern is None or (text is not None and re.search(pattern, text)) for pattern, text in sides)
        named = ((self.releases, said.release), (self.scenarios, said.scenario))
        return found and self.kind == said.kind and all(name in names for names, name in named if names)


def reasons(file: Path) -> list[Reason]:
    """The reasons in a file. Raises OSError and msgspec.ValidationError."""
    return convert(yaml.safe_load(file.read_text(encoding="utf-8")), list[Reason])


def table(data: Path, why: Sequence[Reason]) -> list[Row]:
    """All texts of the recordings in `data`, one of each form and release. Raises OSError."""
    kept: dict[tuple[str | None, ...], list[Said]] = {}
    for said in all_said(data):
        kept.setdefault(said.form, []).append(said)
    rows = [Row(found[0], len(found), reason_for(found[0], why)) for found in kept.values()]
    return sorted(rows, key=place)


def place(row: Row) -> tuple[Any, ...]:
    """Where a row stands in the table."""
    return [int(number) for number in row.said.release.split(".")], list(KINDS).index(row.said.kind), text_of(row)


def text_of(row: Row) -> str:
    """The broker's text, or else the model's."""
    return row.said.broker or row.said.model or ""


def reason_for(said: Said, why: Iterable[Reason]) -> str | None:
    """Why model and broker differ; None where they do not, or where no reason is written down."""
    return None if said.equal else next((known.reason for known in why if known.covers(said)), None)


def all_said(data: Path) -> Iterator[Said]:
    """All texts of all recordings and logs in `data`, file by file."""
    for file in sorted((data / "recorded").glob("*/*.json")):
        recording = recordings.read(file)
        if recording.outcome["errors"]:
            yield from errors(*of_model(data, file), recording.outcome["errors"])
    for file in sorted((data / "recorded").glob("*/*.log")):
        yield from logged(*of_model(data, file), node_logs.read(file)[1])


def of_model(data: Path, file: Path) -> tuple[Said, dict[str, Any]]:
    """A text with the release and scenario of a recorded file, and the model's outcome of that scenario."""
    release = file.parent.name
    scenario = recordings.at_version(load(data / "scenarios" / f"{file.stem}.yaml"), release)
    return Said(release, "", file.stem, 0, None, None), outcome(Run.of(scenario))


def errors(said: Said, told: dict[str, Any], broker: Sequence[dict[str, Any]]) -> Iterator[Said]:
    """The broker's refusals, each with the model's at the same place of its step. A refusal that only one of them has
    is no matter of texts."""
    for step in sorted({error["step"] for error in broker}):
        mine, its = ([error for error in part if error["step"] == step] for part in (told["errors"], broker))
        for one, other in zip(mine, its, strict=False):
            kind = "ctl" if other["code"] is None else "amqp"
            yield said._replace(kind=kind, step=step, model=laid(one["text"]), broker=laid(other["text"]))


def logged(said: Said, told: dict[str, Any], log: Sequence[node_logs.LogLine]) -> Iterator[Said]:
    """Log lines: those that both have, those of the broker alone, those of the model alone."""
    mine = lines(told)
    seen = {line.text: line.step for line in reversed(log)}
    for text, step in sorted(seen.items(), key=lambda item: item[1]):
        model, event = (text, mine[text][1]) if text in mine else (None, None)
        yield said._replace(kind="log", step=step, model=model, broker=text, event=event)
    for text, (step, event) in mine.items():
        if text not in seen:
            yield said._replace(kind="log", step=step, model=text, event=event)


def lines(told: dict[str, Any]) -> dict[str, tuple[int, str]]:
    """The lines that the model logs in a scenario, each with the step and the event of its first time."""
    found: dict[str, tuple[int, str]] = {}
    for event, logged in zip(told["events"], log_lines(told), strict=True):
        for line in (logged or "").splitlines() if event["step"] is not None else ():
            found.setdefault(line.rstrip(), (event["step"], event["event"]))
    return found


def laid(text: str) -> str:
    """A text with its terms in one line each, without the tools' "Error:" before it, and nothing after its end."""
    return BROKEN.sub("", text).removeprefix("Error:").strip()


def form(text: str | None) -> str | None:
    """A text with … for its names and numbers, and for the values in it."""
    if text is None:
        return None
    for pattern, word in (*(TERMS if text.startswith("Validation failed") else ()), *NAMES):
        text = pattern.sub(word, text)
    return text
