"""What a real cluster did, kept: one JSON file for each scenario, with which the model is compared where no broker runs.

A recording belongs to the steps that were played: `played` is a digest of them, so that a scenario whose steps have
changed since is told from one that still stands. What a scenario expects, its title and what it says of races are no
part of it. Recordings hold nothing of the machine: no path, no address, no credential.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from hawb.broker.real import Played
from hawb.scenario.document import Scenario, Step
from hawb.scenario.dump import dump
from hawb.scenario.saving import write
from hawb.scenario.verbs import Expect


class Recording(msgspec.Struct, frozen=True):
    """An outcome on a real cluster; `glances` has what was seen at each `expect` step, `date` is ISO 8601."""

    record_again: str
    rabbitmq: str
    erlang: str
    date: str
    seconds: float
    played: str
    outcome: dict[str, Any]
    glances: dict[int, dict[str, Any]]


def digest(scenario: Scenario) -> str:
    """What tells whether two scenarios play the same: the SHA-256 of all that is played."""
    steps = tuple(Step(Expect({}), step.at) if isinstance(step.verb, Expect) else step for step in scenario.steps)
    return hashlib.sha256(dump(replace(scenario, scenario="-", steps=steps, expect=None)).encode()).hexdigest()


def save(recording: Recording, file: Path) -> None:
    """Writes a recording. Raises OSError."""
    text = json.dumps(msgspec.to_builtins(recording, str_keys=True), indent=1, sort_keys=True, ensure_ascii=False)
    write(file, text + "\n")


def read(file: Path) -> Recording:
    """A recording from its file. Raises OSError and msgspec.ValidationError."""
    return msgspec.json.decode(file.read_bytes(), type=Recording)


def played(recording: Recording, scenario: Scenario) -> Played:
    """A recording as what was played of its scenario."""
    return Played(scenario, recording.outcome, recording.glances)
