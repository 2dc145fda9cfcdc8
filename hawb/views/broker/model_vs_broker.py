"""The model and a real broker side by side: one story field by field, and counts over all recordings.

`hawb.conformance.compare` decides what agrees; this module shows its answer. There are separate verdicts for fields
that it leaves to chance, fields that a scenario marks as racy, fields that are known to differ, and fields that the
broker does not report.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from msgspec.structs import replace

from hawb.broker import real, recordings, roots
from hawb.broker.cluster import lacking
from hawb.broker.real import Played
from hawb.broker.recordings import Recording
from hawb.conformance.compare import ABSENT, SKIPPED, Difference, compare, uncompared
from hawb.scenario import numbering
from hawb.scenario.checkout import data_folder_for
from hawb.scenario.document import Scenario, Uncompared
from hawb.scenario.dump import plain
from hawb.scenario.load import load, load_known
from hawb.scenario.outcome import outcome
from hawb.scenario.run import Run
from hawb.views import style
from hawb.views.formatting import listing, messages
from hawb.views.tables import Table

AGREES, CHANCE, RACY, KNOWN, DIFFERS, NOT_REPORTED = (
    "agrees", "left to chance", "racy", "known difference", "differs", "not told",
)  # fmt: skip
MARKS = {AGREES: "=", CHANCE: "~", RACY: "~", KNOWN: "≠", DIFFERS: "✕", NOT_REPORTED: "·"}
"""The verdicts, each with its mark.

CHANCE is for what RabbitMQ decides at random or does in no fixed order, as `hawb.conformance.races` lists it.
NOT_REPORTED is for what no broker reports, or not at that step.
"""
QUIET = {AGREES, NOT_REPORTED}
"""Verdicts that are shown faintly."""

BY_ENTRY = ("queues", "ledger", "consumers", "publishers")
"""Sections of an outcome in which each entry has its own fields."""
NOTHING = "none"
FEW_SEEDS = 12
"""The number of seeds to try for a scenario with uncompared fields; further seeds have never agreed in more fields."""


@dataclass(frozen=True, eq=False)
class Kept:
    """A recording with its scenario, and the fields that are known to differ in it."""

    name: str
    scenario: Scenario
    recording: Recording
    known: Uncompared | None = None

    @property
    def played(self) -> Played:
        """Return the broker's outcomes of the first take."""
        return self.recording.as_played(self.scenario)

    @cached_property
    def differing(self) -> list[list[Difference]]:
        """Return the differences of each take, without the known ones."""
        return [compare(take, self.known) for take in self.recording.takes(self.scenario)]

    @property
    def quorum(self) -> bool:
        """Return True if the scenario has a quorum queue or declares one."""
        file = plain(self.scenario)
        declared = [step.get("declare", {}).get("arguments", {}).get("x-queue-type") for step in file.get("steps", [])]
        return "quorum" in [*declared, *(entry.get("type") for entry in file.get("queues", []))]


class Field(NamedTuple):
    """A field of the outcome with the model's and the broker's value, at an `expect` step, or at the end (None)."""

    step: int | None
    name: str
    model: Any
    broker: Any
    verdict: str


class Verdicts(Table):
    """A table with verdicts among its values; each has its mark, and those that are not QUIET stand out."""

    __slots__ = ()

    def cell_text(self, value: Any) -> str:
        """Return the text of a cell; a verdict has its mark."""
        return f"{MARKS[value]} {value}" if value in MARKS else super().cell_text(value)

    def ink(self, value: Any) -> str:
        """Return the style that makes a verdict stand out; "" for other cells."""
        loud = value in MARKS and value not in QUIET
        return f";font-weight:600;color:{style.LOOKS['lost'].colour}" if loud else ""


# Recordings


def all_recordings(data: Path | None = None) -> list[Kept]:
    """Return all recordings in `data/recorded`, by release and name.

    Raise FileNotFoundError outside a checkout.
    """
    return _kept(data, "*/*.json")


def recording(name: str, release: str = "3.10", data: Path | None = None) -> Kept:
    """Return the recording of a scenario on a release. Raise KeyError if there is none."""
    found = _kept(data, f"{release}/{name}.json")
    if not found:
        raise KeyError(f"{name} is not recorded on {release}")
    return found[0]


def _kept(data: Path | None, files: str) -> list[Kept]:
    """Return the recordings in the files that match a pattern."""
    folder = data or data_folder_for("the recordings")
    known = load_known(folder / "known-differences.yaml")
    recorded = sorted((folder / "recorded").glob(files))
    scenarios = {name: load(folder / "scenarios" / f"{name}.yaml") for name in {file.stem for file in recorded}}
    return [Kept(file.stem, scenarios[file.stem], recordings.read(file), known.get(file.stem)) for file in recorded]


# Field by field


def fields(
    played: Played, known: Uncompared | None = None, compared: list[Difference] | None = None
) -> list[Field]:
    """Return all fields that the model or the broker reports, with their verdicts.

    They are those of each `expect` step and of the end. `compared` are the differences, if the caller has them already.
    """
    parts = {RACY: played.scenario.racy, KNOWN: known}
    spared = {verdict: uncompared([part]) for verdict, part in parts.items() if part}
    bare = played._replace(scenario=replace(played.scenario, racy=None))
    left = [(found.step, found.field) for found in (compare(played, known) if compared is None else compared)]
    differing = [(found.step, found.field) for found in compare(bare, seeds=FEW_SEEDS)] if spared else left
    run = Run.of(played.scenario)
    seen_at = [(step, outcome(run, run.moment_of(step)), seen) for step, seen in sorted(played.glances.items())]
    seen_at.append((None, outcome(run), played.outcome))

    def verdict(step: int | None, name: str, model: Any, broker: Any) -> str:
        if broker == ABSENT and not _met(left, step, name):
            return NOT_REPORTED
        if _met(left, step, name):
            return DIFFERS
        for found in (field for at, field in differing if at == step and _within(name, field)):
            for why, pattern in spared.items():
                if pattern.fullmatch(found) or pattern.fullmatch(f"steps.{step}.{found}"):
                    return why
        return AGREES if _seen_of(model, broker) == broker else CHANCE

    return [
        Field(step, name, model, broker, verdict(step, name, model, broker))
        for step, model_outcome, seen in seen_at
        for name, model, broker in _paired(model_outcome, seen)
    ]


def _met(found: list[tuple[int | None, str]], step: int | None, name: str) -> bool:
    return any(at == step and _within(name, field) for at, field in found)


def _seen_of(model: Any, broker: Any) -> Any:
    """Return the model's value; of views in a partition, only the fields that the broker reports."""
    if isinstance(model, list) and isinstance(broker, list) and all(isinstance(view, dict) for view in model):
        return [{key: view.get(key) for key in seen} for view, seen in zip(model, broker, strict=False)]
    return model


def _within(name: str, other: str) -> bool:
    """Return True if one of two fields is the other, or below it."""
    return name == other or name.startswith(f"{other}.") or other.startswith(f"{name}.")


def _paired(model: dict[str, Any], broker: dict[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """Yield (field, model, broker), with ABSENT for a value that is not reported."""
    mine, seen = _flat(model), _flat(broker)
    for name in mine | seen:
        yield name, mine.get(name, ABSENT), seen.get(name, ABSENT)


def _flat(outcome: dict[str, Any]) -> dict[str, Any]:
    """Return an outcome's fields by name.

    Only ledgers that are compared are included: dead letters count as published, and no client sees them.
    """
    flat: dict[str, Any] = {}
    for section, value in outcome.items():
        if section in SKIPPED:
            continue
        if section == "errors":
            for error in value:
                flat.setdefault(f"errors.{error['step']}", []).append(f"{error['code'] or 'refused'}")
        elif section in BY_ENTRY:
            for entry, inner in value.items():
                if section != "ledger" or inner["published"]:
                    kept = {key: one for key, one in inner.items() if key != "published"}
                    flat |= {f"{section}.{entry}.{key}": one for key, one in kept.items()}
        elif section == "nodes":
            flat |= {f"nodes.{node}": state for node, state in value.items()}
        else:
            flat[section] = value
    return flat


def pair(kept: Kept, of: str, step: int | None = None) -> Verdicts:
    """Return the model's and the broker's values of one part of the outcome, such as `queues.ha.orders`.

    Leave out fields that no broker reports and that are empty in the model.
    """
    return _pair(kept.played, kept.known, of, step)


def _pair(played: Played, known: Uncompared | None, of: str, step: int | None) -> Verdicts:
    when = "at the end" if step is None else f"at step {numbering.number(step)}"
    rows = [
        (field.name.removeprefix(f"{of}."), brief(field.model), brief(field.broker), field.verdict)
        for field in fields(played, known)
        if field.step == step and f"{field.name}.".startswith(f"{of}.")
        if field.verdict != NOT_REPORTED or brief(field.model) not in (NOTHING, "0")
    ]
    release = played.outcome["broker"]["rabbitmq"]
    return Verdicts(f"{of}, {when}", ("field", "model", f"RabbitMQ {release}", "verdict"), rows)


def brief(value: Any) -> str:
    """Return a value of an outcome in few words."""
    if value == ABSENT:
        return ""
    if value is None or value in ([], {}):
        return NOTHING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list) and all(isinstance(inner, list) for inner in value):
        return messages(value) if all(isinstance(end, int) for run in value for end in run) else str(value)
    if isinstance(value, list):
        return listing(brief(inner) if isinstance(inner, dict) else inner for inner in value)
    if isinstance(value, dict) and "role" in value:
        return value["role"].replace("_", " ")
    if isinstance(value, dict):
        return "; ".join(f"{key}: {brief(inner)}" for key, inner in value.items() if brief(inner) != NOTHING) or NOTHING
    return f"{value:,}" if isinstance(value, int) else str(value)


# Counted


def verdict(kept: Kept) -> str:
    """Return the verdict on a whole recording.

    A recording with uncompared fields never has the verdict AGREES, whatever their values are.
    """
    if any(kept.differing):
        return DIFFERS
    if kept.known:
        return KNOWN
    return RACY if kept.scenario.racy else AGREES


VERDICTS = (AGREES, RACY, KNOWN, DIFFERS)


def tally(all_kept: Iterable[Kept]) -> Verdicts:
    """Return how many recordings agree, by release and type of queue."""
    counts = Counter((kept.recording.version, kept.quorum, verdict(kept)) for kept in all_kept)
    groups = sorted({group[:2] for group in counts}, key=lambda group: (*map(int, group[0].split(".")), group[1]))
    rows = []
    for release, quorum in groups:
        found = [counts[release, quorum, each] for each in VERDICTS]
        rows.append((release, "quorum, or both" if quorum else "classic", *found, sum(found)))
    rows.append(("all", "", *(sum(column) for column in list(zip(*rows, strict=True))[2:])))
    return Verdicts("Recordings", ("release", "queues", *VERDICTS, "recordings"), rows)


def tally_of_fields(all_kept: Iterable[Kept]) -> Table:
    """Return how many fields agree over all recordings, including `expect` steps."""
    counts = Counter(field.verdict for kept in all_kept for field in fields(kept.played, kept.known, kept.differing[0]))
    rows = [(f"{mark} {each}", counts[each]) for each, mark in MARKS.items()]
    return Table("Fields of all recordings", ("verdict", "fields"), rows)


def reasons(all_kept: Iterable[Kept], why: str) -> Table:
    """Return the fields that are not compared because they are RACY or KNOWN, with the reason from the files."""
    parts = [(kept, kept.scenario.racy if why == RACY else kept.known) for kept in all_kept]
    rows = [(kept.name, kept.recording.version, ", ".join(part.fields), part.reason) for kept, part in parts if part]
    return Table(why.capitalize(), ("scenario", "release", "fields", "reason"), rows)


# Live


def missing(release: str = real.VERSION) -> list[str]:
    """Return what this machine lacks to run a real broker of a release; empty if it lacks nothing."""
    lacks = lacking()
    if roots.found(release) is None:
        lacks.append(f"a RabbitMQ {release}, such as Debian's package rabbitmq-server")
    return lacks


def live(kept: Kept, of: str, ask: bool = False) -> Verdicts | str:
    """Return the table of `pair` from a real cluster that plays the scenario now, or a sentence that says why not.

    The cluster starts only if `ask` is True. No exception is raised for what the machine lacks.
    """
    release = kept.recording.version
    if lacks := missing(release):
        return f"No real broker can run here without {'; '.join(lacks)}. The recording is used instead."
    if not ask:
        return f"A RabbitMQ {release} can run here. Call with ask=True to play the story on it: about a minute."
    try:
        with real.bench() as bench:
            return _pair(real.play(bench, kept.scenario, release), kept.known, of, None)
    except real.CannotPlay as reason:
        return f"The story could not be played: {reason}"
