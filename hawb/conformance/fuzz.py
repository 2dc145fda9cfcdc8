"""Play random scenarios twice, by the model and by `other`, which should have the same outcome, and keep each result.

A campaign has a directory: `results.jsonl`, a line for each scenario that was played, and for each that differed a YAML
file, shrunk, and a JSON file with the other's outcome, which a later version of the rules can be compared with. A line
is written after its scenario has been compared, and belongs to exactly those steps, so an interrupted campaign
continues where it stopped, and after a change of the draws plays changed scenarios again. Of two lines for the same
scenario the later one counts; a scenario whose line is deleted is played again.

The campaign's `Kind` draws the scenarios, and compares outcomes as a whole or queue by queue. Each part that differs is
shrunk by itself, to its own file.
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
"""Fields of an outcome, and of a quorum queue in it, that depend on who was elected, how often, or how long it took."""


class Result(msgspec.Struct, frozen=True):
    """The result of scenario `n` of a seed on `other`; `played` is the digest of its steps.

    `fields` are the fields that differed, `notes` the differences in words, or the reason why it could not be played.
    `parts` has the fields by queue, if queues are compared each by itself.
    """

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
        """Return the fields that differed, by the part of the outcome."""
        return self.parts or ({WHOLE: self.fields} if self.verdict == "differs" else {})


class Kind(NamedTuple):
    """The kind of scenarios that a campaign plays.

    `draw` returns scenario `n` of a seed for a profile, `cut` divides the outcome of a scenario into parts, `alone`
    returns the scenario of one part, `seeds` is how many other seeds the model may draw by, and `name` is added to
    `other`, to separate the results of kinds. `briskly` returns a scenario as the other plays it, and `narrowed` a
    scenario for one part, both with the same steps.
    """

    draw: Callable[[int, int, str], Scenario]
    cut: Callable[[Scenario], Cut]
    alone: Callable[[Scenario, str], Scenario]
    seeds: int
    name: str
    briskly: Callable[[Scenario], Scenario] = lambda scenario: scenario
    narrowed: Narrowed | None = None


AS_A_WHOLE = Kind(
    draw=lambda seed, n, version: random_scenario(seed, n, version),
    cut=lambda _: lambda whole: {WHOLE: whole},
    alone=lambda scenario, _: scenario,
    seeds=SEEDS,
    name="",
)  # fmt: skip
SOAK = AS_A_WHOLE._replace(draw=soak_story, seeds=SEEDS_OF_A_SOAK, name="soak", briskly=briskly)


class Observed(msgspec.Struct, frozen=True):
    """The other's outcomes of a scenario that differs: at the end, and at each `expect` step."""

    outcome: dict[str, Any]
    glances: dict[int, dict[str, Any]]


class ResultsRefused(Exception):  # noqa: N818 - named for what it says
    """A file of results holds something else."""


class Campaign:
    """The first `count` scenarios of a seed, played by the model and by `play`, whose name is `other`.

    To match the draws of `play`, the model may try `seeds` other seeds. Creating a campaign raises OSError and
    ResultsRefused for a directory in which results cannot be kept.
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
        """Return scenario `n`."""
        if n not in self._drawn:
            self._drawn[n] = self._kind.draw(self.seed, n, self.version)
        return self._drawn[n]

    @property
    def left(self) -> list[int]:
        """Return the scenarios that have no result yet."""
        return [n for n in range(self.count) if n not in self.results]

    @property
    def unshrunk(self) -> list[tuple[int, str]]:
        """Return the scenarios that differ and have no file yet, each with the part that differs."""
        return [(n, part) for n, result in sorted(self.results.items()) for part in result.differing
                if not self.shrunk_file(n, part).exists()]  # fmt: skip

    def shrunk_file(self, n: int, part: str = WHOLE) -> Path:
        """Return the file for the shrunk form of a scenario, or of its story for one queue."""
        words = [*self._other.split(), str(self.seed), str(n), *part.split()]
        return self._directory / f"{'-'.join(words)}.yaml"

    def observed_file(self, n: int) -> Path:
        """Return the file of the other's outcomes of a scenario that differs."""
        return self.shrunk_file(n).with_suffix(".json")

    def play(self, n: int) -> Result:
        """Play a scenario on both and keep the result. Raise OSError."""
        began, plays = time.monotonic(), []

        def ask(scenario: Scenario) -> Played:
            plays.append(self._ask(scenario))
            return plays[-1]

        differing, reason = self._compare(n, ask)
        result = self._result(n, round(time.monotonic() - began, 1), differing, reason)
        if result.verdict == "differs":
            write(self.observed_file(n), msgspec.json.encode(Observed(plays[0].outcome, plays[0].glances)).decode())
        self._note(n, result)
        return result

    def compare_again(self) -> None:
        """Compare scenarios that differed with the current model, and keep changed results. Raise OSError."""
        for n, result in sorted(self.results.items()):
            if result.verdict != "differs" or not self.observed_file(n).exists():
                continue
            observed = msgspec.json.decode(self.observed_file(n).read_bytes(), type=Observed)
            found, reason = self._compare(n, lambda scenario, one=observed: Played(scenario, one.outcome, one.glances))
            again = self._result(n, result.seconds, found, reason)
            if again != result:
                self._note(n, again)

    def _compare(self, n: int, ask: Play) -> tuple[Differing, str | None]:
        scenario = self.scenario(n)
        return self._differing(scenario, self._kind, min(self._seeds, self._kind.seeds), ask)

    def _note(self, n: int, result: Result) -> None:
        """Keep a result in place of an earlier one, with the other's outcomes of that."""
        whole = self.shrunk_file(n)
        for file in (whole, *self._directory.glob(f"{whole.stem}-*.yaml")):
            file.unlink(missing_ok=True)
        if result.verdict != "differs":
            self.observed_file(n).unlink(missing_ok=True)
        with self._file.open("ab") as file:
            file.write(msgspec.json.encode(result) + b"\n")
            file.flush()
            os.fsync(file.fileno())
        self.results[n] = result

    def shrink(self, n: int, attempts: int, part: str = WHOLE) -> Path:
        """Write the shortest form of a scenario, or of its story for one part, that differs in one of the same fields.

        It takes at most `attempts` plays; the first one is to see whether the scenario differs at all. Return the file.
        Raise OSError.
        """
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
        """Return the other's outcome of a scenario."""
        return self._play(self._kind.briskly(scenario))._replace(scenario=scenario)

    def _differing(self, scenario: Scenario, kind: Kind, seeds: int, ask: Play) -> tuple[Differing, str | None]:
        """Return the differences between both, or the reason why there are none to return."""
        try:
            return compare_parts(ask(scenario), kind.cut(scenario), seeds=seeds, narrowed=kind.narrowed), None
        except (CannotPlay, ScenarioRefused) as reason:
            return {}, str(reason)
        except Exception as fault:  # a bug in the model or the drive is a result, and does not end a campaign
            return {}, f"{type(fault).__name__}: {fault}"

    def _read(self) -> dict[int, Result]:
        """Return the results of this campaign that were kept; drop a line that was not written to its end."""
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
    """Return the differences of all parts."""
    return [difference for differences in differing.values() for difference in differences]


def notes_of(result: Result, part: str) -> list[str]:
    """Return the notes of a result about one part."""
    fields = [f", {field}: " for field in result.differing[part]]
    return [note for note in result.notes if any(field in note for field in fields)] or list(result.notes)


def kinds(differences: Iterable[Difference]) -> list[str]:
    """Return the fields that differ, each once, for all places in the file."""
    return sorted({re.sub(r"\[step \d+\]", "", difference.field) for difference in differences})


def by_another_seed(scenario: Scenario) -> Played:
    """Return the outcome of the model with another seed: it differs where a scenario depends on chance."""
    run = Run.of(replace(scenario, seed=scenario.seed + 1))
    looks = [index for index, step in enumerate(scenario.steps) if isinstance(step.verb, Expect)]
    glances = {index: settled(outcome(run, run.moment_of(index))) for index in looks}
    return Played(scenario, settled(outcome(run)), glances)


def settled(outcome: dict[str, Any]) -> dict[str, Any]:
    """Return an outcome without the effects of who is elected, and how soon: no broker shows them."""
    queues = {
        name: {key: value for key, value in queue.items() if queue["type"] == "classic" or key not in OF_ELECTIONS}
        for name, queue in outcome["queues"].items()
    }
    return {key: value for key, value in outcome.items() if key not in OF_ELECTIONS} | {"queues": queues}


# The coverage of a campaign.


EVENTS = ("a promotion", "an election", "a loss", "a refusal", "any of these")


class Tally(NamedTuple):
    """The events of scenarios on the model.

    It has how often each verb succeeded and was refused, and how many scenarios have each of `EVENTS`.
    """

    succeeded: Counter[str]
    refused: Counter[str]
    events: Counter[str]


def tally(scenarios: Iterable[Scenario]) -> Tally:
    """Play scenarios on the model and count."""
    found = Tally(Counter(), Counter(), Counter())
    for scenario in scenarios:
        played = outcome(Run.of(scenario))
        refused = {error["step"] for error in played["errors"]}
        for index, step in enumerate(scenario.steps):
            (found.refused if index in refused else found.succeeded)[step.name] += 1
        events = [(event["event"], event["detail"]) for event in played["events"]]
        promoted = any(name == "promoted" for name, _ in events)
        # The first election is part of the declaration.
        voted = any(name == "leader_elected" and detail["term"] > 1 for name, detail in events)
        has = promoted, voted, bool(played["losses"]), bool(refused)
        found.events.update(name for name, there in zip(EVENTS, (*has, any(has)), strict=True) if there)
    return found


def table(rows: Iterable[Sequence[object]], headers: Sequence[str]) -> str:
    """Return rows under their heads, in aligned columns."""
    lines = [[str(cell) for cell in row] for row in (headers, *rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)


def report(campaign: Campaign) -> str:
    """Return a report of a campaign as text: its coverage and its results."""
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
