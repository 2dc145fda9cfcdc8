"""What real clusters did, kept: the model is compared with it where no broker runs.

A recording is a JSON file `RELEASE/SCENARIO.json`, with the outcome and what was seen at each `expect` step. It belongs
to the steps that were played: `played` is a digest of them, so that a scenario whose steps have changed since is told
from one that still stands. What a scenario expects, its title, its version and what it says of races are no part of
it. A recording holds nothing of the machine that made it: no path, no address, no name, no credential.
"""

from __future__ import annotations

import hashlib
import json
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


class Recording(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An outcome on a real cluster. `date` is the UTC day, `seconds` is how long it took, boot included; `glances` has
    what was seen at each `expect` step."""

    record_again: str
    date: str
    seconds: int
    played: str
    outcome: dict[str, Any]
    glances: dict[int, dict[str, Any]]

    @property
    def version(self) -> str:
        """The rules profile of the broker that was asked."""
        return ".".join(self.outcome["broker"]["rabbitmq"].split(".")[:2])

    def as_played(self, scenario: Scenario) -> Played:
        """What `real.play` told of the scenario then."""
        return Played(at_version(scenario, self.version), self.outcome, self.glances)


def recorded(played: Played, name: str, seconds: float) -> Recording:
    """The recording of a scenario's file, by its name without ending."""
    version = played.scenario.cluster.version
    command = f"hawb record --broker {version} data/scenarios/{name}.yaml"
    today = datetime.now(UTC).date().isoformat()
    return Recording(command, today, round(seconds), digest(played.scenario), played.outcome, played.glances)


def digest(scenario: Scenario) -> str:
    """The SHA-256 of all that is played of a scenario."""
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
