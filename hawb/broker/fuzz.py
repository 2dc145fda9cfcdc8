"""Random scenarios played twice, by the model and by something that claims to do the same, with what came of each kept.

A campaign has a directory: `results.jsonl`, a line for each scenario that was played, and a YAML file for each that
differed, shrunk. A line is written once its scenario has been compared and belongs to just those steps, so a campaign
that was interrupted goes on where it stopped, and after a change of what is drawn plays again what has changed. Of two
lines for the same scenario the later one counts; a line that is taken out is played again.
"""

from __future__ import annotations

import os
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec
from msgspec.structs import replace
from tabulate import tabulate

from hawb.broker.compare import Difference, compare
from hawb.broker.races import SEEDS
from hawb.broker.random_scenarios import random_scenario
from hawb.broker.real import CannotPlay, Played
from hawb.broker.recordings import digest
from hawb.broker.shrinking import shrunk
from hawb.scenario.document import Scenario
from hawb.scenario.dump import dump
from hawb.scenario.outcome import outcome
from hawb.scenario.refused import ScenarioRefused
from hawb.scenario.run import Run
from hawb.scenario.saving import write
from hawb.scenario.verbs import Expect

Play = Callable[[Scenario], Played]
"""What plays a scenario beside the model. Raises CannotPlay."""
Verdict = Literal["agrees", "differs", "unplayed"]
OF_ELECTIONS = frozenset(
    {
        "availability", "events", "losses", "time_s",
        "replicas", "replicas_by_view", "term", "commit_index", "log_entries",
    }
)  # fmt: skip
"""Fields of an outcome, and of a quorum queue in it, that say who was elected, how often, or how long it took."""


class Result(msgspec.Struct, frozen=True):
    """What came of scenario `n` of a seed on `other`; `played` is the digest of its steps. `fields` are what differed,
    `notes` the same in words, or the reason why it could not be played."""

    other: str
    seed: int
    n: int
    verdict: Verdict
    seconds: float
    played: str
    fields: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class ResultsRefused(Exception):  # noqa: N818 - named for what it says
    """A file where results are kept holds something else."""


class Campaign:
    """The first `count` scenarios of a seed, played by the model and by `play`, whose name is `other`. The model may
    draw by so many other `seeds` what `play` has drawn.

    Raises OSError and ResultsRefused for a directory in which results cannot be kept.
    """

    def __init__(
        self, directory: Path, play: Play, other: str, version: str, seed: int, count: int, seeds: int = SEEDS
    ):
        self._directory, self._play, self._other, self._seed, self._seeds = directory, play, other, seed, seeds
        self.scenarios = [random_scenario(seed, n, version) for n in range(count)]
        directory.mkdir(parents=True, exist_ok=True)
        self._file = directory / "results.jsonl"
        self.results = self._read()

    @property
    def left(self) -> list[int]:
        """The scenarios that have no result yet."""
        return [n for n in range(len(self.scenarios)) if n not in self.results]

    @property
    def unshrunk(self) -> list[int]:
        """The scenarios that differ and have no file yet."""
        return [n for n, result in sorted(self.results.items())
                if result.verdict == "differs" and not self.shrunk_file(n).exists()]  # fmt: skip

    def shrunk_file(self, n: int) -> Path:
        """Where the shrunk form of a scenario is written."""
        return self._directory / f"{self._other.replace(' ', '-')}-{self._seed}-{n}.yaml"

    def play(self, n: int) -> Result:
        """Plays a scenario on both and keeps the result. Raises OSError."""
        scenario, began = self.scenarios[n], time.monotonic()
        differences, reason = self._differences(scenario)
        verdict: Verdict = "unplayed" if reason else "differs" if differences else "agrees"
        seconds = round(time.monotonic() - began, 1)
        fields, notes = kinds(differences), [reason] if reason else map(str, differences)
        result = Result(self._other, self._seed, n, verdict, seconds, digest(scenario), tuple(fields), tuple(notes))
        self.shrunk_file(n).unlink(missing_ok=True)
        with self._file.open("ab") as file:
            file.write(msgspec.json.encode(result) + b"\n")
            file.flush()
            os.fsync(file.fileno())
        self.results[n] = result
        return result

    def shrink(self, n: int, attempts: int) -> Path:
        """Writes the shortest form of a scenario that was found to differ in one of the same fields, in so many more
        plays; the first one is of the scenario as it is, to see whether it differs again. Raises OSError."""
        scenario, fields, notes = self.scenarios[n], set(self.results[n].fields), []

        def differs(candidate: Scenario) -> bool:
            differences, _ = self._differences(candidate)
            found = not fields.isdisjoint(kinds(differences))
            if found:
                notes[:] = map(str, differences)
            return found

        if differs(scenario):
            text = dump(shrunk(scenario, differs, attempts - 1))
        else:
            notes, text = [*self.results[n].notes, "It did not differ when it was played again."], dump(scenario)
        file = self.shrunk_file(n)
        write(file, "".join(f"# {line}\n" for note in notes for line in note.splitlines()) + text)
        return file

    def _differences(self, scenario: Scenario) -> tuple[list[Difference], str | None]:
        """Where both differ, or why that cannot be told."""
        try:
            return compare(self._play(scenario), seeds=self._seeds), None
        except (CannotPlay, ScenarioRefused) as reason:
            return [], str(reason)
        except Exception as fault:  # a fault of the model or the drive is one find more, and no end of a long campaign
            return [], f"{type(fault).__name__}: {fault}"

    def _read(self) -> dict[int, Result]:
        """The results of this campaign that were kept; a line that was not written to its end is dropped."""
        text = self._file.read_bytes() if self._file.exists() else b""
        whole = text[: text.rfind(b"\n") + 1]
        if len(whole) < len(text):
            os.truncate(self._file, len(whole))
        try:
            kept = [msgspec.json.decode(line, type=Result) for line in whole.splitlines()]
        except msgspec.DecodeError as error:
            raise ResultsRefused(f"{self._file}: not the results of a campaign: {error}") from None
        digests = [digest(scenario) for scenario in self.scenarios]
        return {
            result.n: result
            for result in kept
            if (result.other, result.seed) == (self._other, self._seed)
            and result.n < len(digests) and result.played == digests[result.n]
        }  # fmt: skip


def kinds(differences: Iterable[Difference]) -> list[str]:
    """The fields that differ, each once, wherever in the file it was seen."""
    return sorted({re.sub(r"\[step \d+\]", "", difference.field) for difference in differences})


def by_another_seed(scenario: Scenario) -> Played:
    """The model itself, with other luck: it differs where what is told of a scenario depends on chance."""
    run = Run.of(replace(scenario, seed=scenario.seed + 1))
    looks = [index for index, step in enumerate(scenario.steps) if isinstance(step.verb, Expect)]
    glances = {index: settled(outcome(run, run.moment_of(index))) for index in looks}
    return Played(scenario, settled(outcome(run)), glances)


def settled(told: dict[str, Any]) -> dict[str, Any]:
    """An outcome but for what follows from who is elected, and how soon: no broker tells of it."""
    queues = {
        name: {key: value for key, value in queue.items() if queue["type"] == "classic" or key not in OF_ELECTIONS}
        for name, queue in told["queues"].items()
    }
    return {key: value for key, value in told.items() if key not in OF_ELECTIONS} | {"queues": queues}


# What a campaign has covered


EVENTS = ("a promotion", "an election", "a loss", "a refusal", "any of these")


class Tally(NamedTuple):
    """What happens in scenarios on the model: how often each verb succeeded and was refused, and how many scenarios
    have each of `EVENTS`."""

    succeeded: Counter[str]
    refused: Counter[str]
    events: Counter[str]


def tally(scenarios: Iterable[Scenario]) -> Tally:
    """Plays scenarios on the model and counts."""
    found = Tally(Counter(), Counter(), Counter())
    for scenario in scenarios:
        told = outcome(Run.of(scenario))
        refused = {error["step"] for error in told["errors"]}
        for index, step in enumerate(scenario.steps):
            (found.refused if index in refused else found.succeeded)[step.name] += 1
        events = [(event["event"], event["detail"]) for event in told["events"]]
        promoted = any(name == "promoted" for name, _ in events)
        # The first election is part of the declaration.
        voted = any(name == "leader_elected" and detail["term"] > 1 for name, detail in events)
        has = promoted, voted, bool(told["losses"]), bool(refused)
        found.events.update(name for name, there in zip(EVENTS, (*has, any(has)), strict=True) if there)
    return found


def report(campaign: Campaign) -> str:
    """What a campaign has covered and how it went, as text."""
    results = campaign.results
    played = [campaign.scenarios[n] for n, result in sorted(results.items()) if result.verdict != "unplayed"]
    found = tally(played)
    verbs = sorted(found.succeeded.keys() | found.refused.keys())
    rows = [(verb, found.succeeded[verb], found.refused[verb]) for verb in verbs]
    verdicts = Counter(result.verdict for result in results.values())
    seconds = sum(result.seconds for result in results.values())
    lines = ["What they did on the model:", "", tabulate(rows, headers=("verb", "succeeded", "refused")), ""]
    lines += [f"{found.events[name]} of {len(played)} scenarios have {name}" for name in EVENTS]
    lines += [
        f"{name} {n}: {result.notes[0]}"
        for name in ("unplayed", "differs")
        for n, result in sorted(results.items())
        if result.verdict == name
    ]
    lines.append(
        f"{verdicts['agrees']} agreed at once, {verdicts['differs']} differed, {verdicts['unplayed']} could not be "
        f"played, in {seconds:.0f} s"
    )
    return "\n".join(lines)
