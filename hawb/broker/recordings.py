"""Recordings of real clusters' outcomes: the model is compared with them on machines without a broker.

A recording is a JSON file `RELEASE/SCENARIO.json`, with the outcome and the outcome so far at each `expect` step. It
belongs to the steps that were played: `played` is a digest of them, so that a recording of changed steps is detected. A
scenario's expectations, title, version and races are not part of the digest.

A recording has no data of the machine that made it: no path, no address, no name, no credential. A scenario that
declares fields racy is played several times, and its recording keeps each `Take`, so that readers see them differ.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from hawb.broker.real import Played
from hawb.scenario.document import Scenario, Step
from hawb.scenario.dump import dump
from hawb.scenario.saving import write
from hawb.scenario.verbs import Expect


class Take(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A scenario played once on a real cluster.

    `date` is the UTC day, `seconds` is the duration, boot included; `glances` has the outcome so far at each `expect`
    step.
    """

    date: str
    seconds: int
    outcome: dict[str, Any]
    glances: dict[int, dict[str, Any]]


class Recording(Take, frozen=True, omit_defaults=True):
    """The first take of a scenario, and further ones."""

    record_again: str
    played: str
    further: tuple[Take, ...] = ()

    @property
    def version(self) -> str:
        """Return the rules profile of the broker."""
        return ".".join(self.outcome["broker"]["rabbitmq"].split(".")[:2])

    def as_played(self, scenario: Scenario) -> Played:
        """Return the result of `real.play` at the first take."""
        return self.takes(scenario)[0]

    def takes(self, scenario: Scenario) -> list[Played]:
        """Return the results of `real.play` at each take."""
        scenario = at_version(scenario, self.version)
        return [Played(scenario, take.outcome, take.glances) for take in (self, *self.further)]


def as_take(played: Played, seconds: float) -> Take:
    """Return a take of a scenario that was played today in `seconds` seconds."""
    return Take(datetime.now(UTC).date().isoformat(), round(seconds), played.outcome, played.glances)


def recorded(scenario: Scenario, version: str, name: str, takes: Sequence[Take]) -> Recording:
    """Return the recording of a scenario's file, by its name without suffix."""
    first, *further = takes
    often = f" --takes {len(takes)}" if further else ""
    command = f"hawb record --broker {version}{often} data/scenarios/{name}.yaml"
    return Recording(*msgspec.structs.astuple(first), command, digest(scenario), tuple(further))


def digest(scenario: Scenario) -> str:
    """Return the SHA-256 of the parts of a scenario that are played."""
    steps = tuple(Step(Expect({}), step.at) if isinstance(step.verb, Expect) else step for step in scenario.steps)
    bare = replace(at_version(scenario, "3.10"), scenario="-", steps=steps, expect=None, racy=None)
    return hashlib.sha256(dump(bare).encode()).hexdigest()


def at_version(scenario: Scenario, version: str) -> Scenario:
    """Return the scenario with another version."""
    return replace(scenario, cluster=replace(scenario.cluster, version=version))


def save(recording: Recording, file: Path) -> None:
    """Write a recording, with its folder if there is none. Raise OSError."""
    file.parent.mkdir(parents=True, exist_ok=True)
    plain = msgspec.to_builtins(recording, str_keys=True)
    write(file, json.dumps(plain, indent=1, sort_keys=True, ensure_ascii=False) + "\n")


def read(file: Path) -> Recording:
    """Return a recording from its file. Raise OSError and msgspec.ValidationError."""
    return msgspec.json.decode(file.read_bytes(), type=Recording)
