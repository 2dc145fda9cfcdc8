"""Random scenarios played twice, by the model and by `other`, which claims to do the same, with each result kept.

A campaign has a directory: `results.jsonl`, a line for each scenario that was played, and for each that differed a YAML
file, shrunk, and a JSON file with the other's outcome, which is compared again by the rules of a later day. A line is
written once its scenario has been compared and belongs to just those steps, so an interrupted campaign continues where
it stopped, and after a change of the draws plays changed scenarios again. Of two lines for the same scenario the later
one counts; a scenario whose line is taken out is played again.

The campaign's `Kind` says what is drawn, and whether outcomes are compared as a whole or queue by queue; each part that
differs is shrunk by itself, to a file of its own.
"""

from __future__ import annotations

import os
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec
from msgspec.structs import replace

from hawb.broker.real import CannotPlay, Played
from hawb.broker.recordings import digest
from hawb.conformance.compare import WHOLE, Cut, Difference, Narrowed, compare_parts
from hawb.conformance.races import SEEDS
from hawb.conformance.random_scenarios import random_scenario
from hawb.conformance.shrinking import shrunk
from hawb.conformance.soak_stories import briskly, soak_story
from hawb.scenario.document import Scenario
from hawb.scenario.dump import dump
from hawb.scenario.outcome import outcome
from hawb.scenario.refused import ScenarioRefused
from hawb.scenario.run import Run
from hawb.scenario.saving import write
from hawb.scenario.verbs import Expect

Play = Callable[[Scenario], Played]
"""Plays a scenario beside the model. Raises CannotPlay."""
Differing = dict[str, list[Difference]]
"""The differences of a scenario by the part of its outcome; WHOLE is the part of an outcome compared as a whole."""
Verdict = Literal["agrees", "differs", "unplayed"]
SEEDS_OF_A_SOAK = 8
OF_ELECTIONS = frozenset(
    {
        "availability", "events", "losses", "time_s",
        "replicas", "replicas_by_view", "term", "commit_index", "log_entries",
    }
)  # fmt: skip
"""Fields of an outcome, and of a quorum queue in it, that say who was elected, how often, or how long it took."""


class Result(msgspec.Struct, frozen=True):
    """The result of scenario `n` of a seed on `other`; `played` is the digest of its steps. `fields` are the fields
    that differed, `notes` the differences in words, or the reason why it could not be played. `parts` has the fields by
    queue, where queues are compared each by itself."""

    other: str
    seed: int
    n: int
    verdict: Verdict
    seconds: float
    played: str
    fields: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    parts: dict[str, tuple[str, ...]] = {}

    @property
    def differing(self) -> dict[str, tuple[str, ...]]:
        """The fields that differed, by the part of the outcome."""
        return self.parts or ({WHOLE: self.fields} if self.verdict == "differs" else {})


class Kind(NamedTuple):
    """What a campaign plays. `draw` gives scenario `n` of a seed for a profile, `cut` divides the outcome of a scenario
    into parts, `alone` gives the scenario of one part, `seeds` is how many other seeds the model may draw by, and
    `name` is added to `other`, so that results of kinds are told apart. `briskly` gives a scenario as the other plays
    it, and `narrowed` a scenario for one part, both with the same steps."""

    draw: Callable[[int, int, str], Scenario]
    cut: Callable[[Scenario], Cut]
    alone: Callable[[Scenario, str], Scenario]
    seeds: int
    name: str
    briskly: Callable[[Scenario], Scenario] = lambda scenario: scenario
    narrowed: Narrowed | None = None


AS_A_WHOLE = Kind(
    draw=lambda seed, n, version: random_scenario(seed, n, version),
    cut=lambda _: lambda told: {WHOLE: told},
    alone=lambda scenario, _: scenario,
    seeds=SEEDS,
    name="",
)  # fmt: skip
SOAK = AS_A_WHOLE._replace(draw=soak_story, seeds=SEEDS_OF_A_SOAK, name="soak", briskly=briskly)


class Told(msgspec.Struct, frozen=True):
    """The other's outcomes of a scenario that differs: at the end, and at each `expect` step."""

    outcome: dict[str, Any]
    glances: dict[int, dict[str, Any]]


class ResultsRefused(Exception):  # noqa: N818 - named for what it says
    """A file where results are kept holds something else."""


class Campaign:
    """The first `count` scenarios of a seed, played by the model and by `play`, whose name is `other`. To meet the
    draws of `play`, the model may try so many other `seeds`.

    Raises OSError and ResultsRefused for a directory in which results cannot be kept.
    """

    def __init__(
        self, directory: Path, play: Play, other: str, version: str, seed: int, count: int, seeds: int = SEEDS,
        kind: Kind = AS_A_WHOLE,
    ):  # fmt: skip
        self._directory, self._play, self.seed, self._seeds = directory, play, seed, seeds
        self._other, self._kind, self.version = f"{other} {kind.name}".strip(), kind, version
        self.count = count
        self._drawn: dict[int, Scenario] = {}
        directory.mkdir(parents=True, exist_ok=True)
        self._file = directory / "results.jsonl"
        self.results = self._read()

    def scenario(self, n: int) -> Scenario:
        """Scenario `n`."""
        if n not in self._drawn:
            self._drawn[n] = self._kind.draw(self.seed, n, self.version)
        return self._drawn[n]

    @property
    def left(self) -> list[int]:
        """The scenarios that have no result yet."""
        return [n for n in range(self.count) if n not in self.results]

    @property
    def unshrunk(self) -> list[tuple[int, str]]:
        """The scenarios that differ and have no file yet, each with the part that differs."""
        return [(n, part) for n, result in sorted(self.results.items()) for part in result.differing
                if not self.shrunk_file(n, part).exists()]  # fmt: skip

    def shrunk_file(self, n: int, part: str = WHOLE) -> Path:
        """Where the shrunk form of a scenario, or of its story for one queue, is written."""
        words = [*self._other.split(), str(self.seed), str(n), *part.split()]
        return self._directory / f"{'-'.join(words)}.yaml"

    def told_file(self, n: int) -> Path:
        """The file of the other's outcomes of a scenario that differs."""
        return self.shrunk_file(n).with_suffix(".json")

    def play(self, n: int) -> Result:
        """Plays a scenario on both and keeps the result. Raises OSError."""
        began, told = time.monotonic(), []

        def ask(scenario: Scenario) -> Played:
            told.append(self._ask(scenario))
            return told[-1]

        differing, reason = self._compare(n, ask)
        result = self._result(n, round(time.monotonic() - began, 1), differing, reason)
        if result.verdict == "differs":
            write(self.told_file(n), msgspec.json.encode(Told(told[0].outcome, told[0].glances)).decode())
        self._note(n, result)
        return result

    def compare_again(self) -> None:
        """Compares scenarios that differed with the model of today, and keeps changed results. Raises OSError."""
        for n, result in sorted(self.results.items()):
            if result.verdict != "differs" or not self.told_file(n).exists():
                continue
            told = msgspec.json.decode(self.told_file(n).read_bytes(), type=Told)
            found, reason = self._compare(n, lambda scenario, told=told: Played(scenario, told.outcome, told.glances))
            again = self._result(n, result.seconds, found, reason)
            if again != result:
                self._note(n, again)

    def _compare(self, n: int, ask: Play) -> tuple[Differing, str | None]:
        scenario = self.scenario(n)
        return self._differing(scenario, self._kind, min(self._seeds, self._kind.seeds), ask)

    def _note(self, n: int, result: Result) -> None:
        """Keeps a result in place of an earlier one, with the other's outcomes kept for that."""
        whole = self.shrunk_file(n)
        for file in (whole, *self._directory.glob(f"{whole.stem}-*.yaml")):
            file.unlink(missing_ok=True)
        if result.verdict != "differs":
            self.told_file(n).unlink(missing_ok=True)
        with self._file.open("ab") as file:
            file.write(msgspec.json.encode(result) + b"\n")
            file.flush()
            os.fsync(file.fileno())
        self.results[n] = result

    def shrink(self, n: int, attempts: int, part: str = WHOLE) -> Path:
        """Writes the shortest form of a scenario, or of its story for one part, that was found to differ in one of the
        same fields, in so many more plays; the first one is to see whether it differs at all. Raises OSError."""
        result = self.results[n]
        scenario, fields, notes = self._kind.alone(self.scenario(n), part), set(result.differing[part]), []

        def differs(candidate: Scenario) -> bool:
            differing, _ = self._differing(candidate, AS_A_WHOLE, self._seeds, self._ask)
            found = not fields.isdisjoint(kinds(all_of(differing)))
            if found:
                notes[:] = map(str, all_of(differing))
            return found

        if differs(scenario):
            text = dump(shrunk(scenario, differs, attempts - 1))
        else:
            again = "alone" if part else "again"
            notes, text = [*notes_of(result, part), f"It did not differ when it was played {again}."], dump(scenario)
        file = self.shrunk_file(n, part)
        write(file, "".join(f"# {line}\n" for note in notes for line in note.splitlines()) + text)
        return file

    def _result(self, n: int, seconds: float, differing: Differing, reason: str | None) -> Result:
        differences = all_of(differing)
        verdict: Verdict = "unplayed" if reason else "differs" if differences else "agrees"
        parts = {part: tuple(kinds(found)) for part, found in differing.items()}
        return Result(
            self._other, self.seed, n, verdict, seconds, digest(self.scenario(n)), tuple(kinds(differences)),
            (reason,) if reason else tuple(map(str, differences)), {} if parts.keys() <= {WHOLE} else parts,
        )  # fmt: skip

    def _ask(self, scenario: Scenario) -> Played:
        """The other's outcome of a scenario."""
        return self._play(self._kind.briskly(scenario))._replace(scenario=scenario)

    def _differing(self, scenario: Scenario, kind: Kind, seeds: int, ask: Play) -> tuple[Differing, str | None]:
        """The differences between both, or why they cannot be told."""
        try:
            return compare_parts(ask(scenario), kind.cut(scenario), seeds=seeds, narrowed=kind.narrowed), None
        except (CannotPlay, ScenarioRefused) as reason:
            return {}, str(reason)
        except Exception as fault:  # a fault of the model or the drive is one find more, and no end of a long campaign
            return {}, f"{type(fault).__name__}: {fault}"

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
        mine = [result for result in kept
                if (result.other, result.seed) == (self._other, self.seed) and result.n < self.count]  # fmt: skip
        digests = {n: digest(self.scenario(n)) for n in {result.n for result in mine}}
        return {result.n: result for result in mine if result.played == digests[result.n]}


def all_of(differing: Differing) -> list[Difference]:
    """The differences of all parts."""
    return [difference for differences in differing.values() for difference in differences]


def notes_of(result: Result, part: str) -> list[str]:
    """The notes of a result about one part."""
    fields = [f", {field}: " for field in result.differing[part]]
    return [note for note in result.notes if any(field in note for field in fields)] or list(result.notes)


def kinds(differences: Iterable[Difference]) -> list[str]:
    """The fields that differ, each once, wherever in the file it was seen."""
    return sorted({re.sub(r"\[step \d+\]", "", difference.field) for difference in differences})


def by_another_seed(scenario: Scenario) -> Played:
    """The model itself with another seed: it differs where the outcome of a scenario depends on chance."""
    run = Run.of(replace(scenario, seed=scenario.seed + 1))
    looks = [index for index, step in enumerate(scenario.steps) if isinstance(step.verb, Expect)]
    glances = {index: settled(outcome(run, run.moment_of(index))) for index in looks}
    return Played(scenario, settled(outcome(run)), glances)


def settled(told: dict[str, Any]) -> dict[str, Any]:
    """An outcome without what follows from who is elected, and how soon: no broker tells that."""
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


def table(rows: Iterable[Sequence[object]], headers: Sequence[str]) -> str:
    """Rows under their heads, in aligned columns."""
    lines = [[str(cell) for cell in row] for row in (headers, *rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)


def report(campaign: Campaign) -> str:
    """What a campaign has covered and how it went, as text."""
    results = campaign.results
    played = [campaign.scenario(n) for n, result in sorted(results.items()) if result.verdict != "unplayed"]
    found = tally(played)
    verbs = sorted(found.succeeded.keys() | found.refused.keys())
    rows = [(verb, found.succeeded[verb], found.refused[verb]) for verb in verbs]
    verdicts = Counter(result.verdict for result in results.values())
    seconds = sum(result.seconds for result in results.values())
    lines = ["What they did on the model:", "", table(rows, ("verb", "succeeded", "refused")), ""]
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
