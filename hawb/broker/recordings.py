"""Recordings of what real clusters did: the model is compared with them where no broker runs.

A recording is a JSON file `RELEASE/SCENARIO.json`, with the outcome and what was seen at each `expect` step. It belongs
to the steps that were played: `played` is a digest of them, so that a scenario whose steps have changed since is told
from one that still stands. What a scenario expects, its title, its version and what it says of races are no part of
it. A recording holds nothing of the machine that made it: no path, no address, no name, no credential. A scenario that
calls fields racy is played several times, and its recording keeps each `Take`, so that everybody sees them differ.
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
    """A scenario played once on a real cluster. `date` is the UTC day, `seconds` is how long it took, boot included;
    `glances` has the outcome so far at each `expect` step."""

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
        """The rules profile of the broker that was asked."""
        return ".".join(self.outcome["broker"]["rabbitmq"].split(".")[:2])

    def as_played(self, scenario: Scenario) -> Played:
        """The result of `real.play` at the first take."""
        return self.takes(scenario)[0]

    def takes(self, scenario: Scenario) -> list[Played]:
        """The results of `real.play` at each take."""
        scenario = at_version(scenario, self.version)
        return [Played(scenario, take.outcome, take.glances) for take in (self, *self.further)]


def as_take(played: Played, seconds: float) -> Take:
    """A scenario as it was played just now, which took so long."""
    return Take(datetime.now(UTC).date().isoformat(), round(seconds), played.outcome, played.glances)


def recorded(scenario: Scenario, version: str, name: str, takes: Sequence[Take]) -> Recording:
    """The recording of a scenario's file, by its name without ending."""
    first, *further = takes
    often = f" --takes {len(takes)}" if further else ""
    command = f"hawb record --broker {version}{often} data/scenarios/{name}.yaml"
    return Recording(*msgspec.structs.astuple(first), command, digest(scenario), tuple(further))


def digest(scenario: Scenario) -> str:
    """The SHA-256 of the parts of a scenario that are played."""
    steps = tuple(Step(Expect({}), step.at) if isinstance(step.verb, Expect) else step for step in scenario.steps)
    bare = replace(at_version(scenario, "3.10"), scenario="-", steps=steps, expect=None, racy=None)
    return hashlib.sha256(dump(bare).encode()).hexdigest()


def at_version(scenario: Scenario, version: str) -> Scenario:
    """The scenario as one of another version."""
    return replace(scenario, cluster=replace(scenario.cluster, version=version))


def save(recording: Recording, file: Path) -> None:
    """Writes a recording, with its folder if there is none. Raises OSError."""
    file.parent.mkdir(parents=True, exist_ok=True)
    plain = msgspec.to_builtins(recording, str_keys=True)
    write(file, json.dumps(plain, indent=1, sort_keys=True, ensure_ascii=False) + "\n")


def read(file: Path) -> Recording:
    """A recording from its file. Raises OSError and msgspec.ValidationError."""
    return msgspec.json.decode(file.read_bytes(), type=Recording)
