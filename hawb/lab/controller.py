"""What the lab does, without a widget: every button and field of the page is a call here.

The lab's history is a chain of points, each a run as a value. An action makes the next point from a copy of the run, so
undo and redo only move along the chain, whatever the action was: a step, another profile, another scenario.

Whatever is refused changes nothing and becomes the message of the place on the page where it was asked. What RabbitMQ
refuses is a step like any other: its text is that place's message, and undo takes it back.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory

from hawb.broker.imported import import_cluster
from hawb.broker.untrusted import ImportRefused
from hawb.lab.policy_draft import PolicyDraft, Reached
from hawb.lab.sources import START, Export, Upload, keep
from hawb.rules.policies import Policy
from hawb.rules.profiles import PROFILES, Profile
from hawb.scenario.dump import dump, plain
from hawb.scenario.load import ScenarioRefused, load, read_scenario
from hawb.scenario.outcome import outcome
from hawb.scenario.run import Run
from hawb.scenario.saving import write
from hawb.views.why import why

SUFFIX = ".yaml"
NUMBER = re.compile(r"-?[0-9]{1,18}(\.[0-9]{1,9})?")


class Place(StrEnum):
    """Where on the page something is asked for, and its answer is shown."""

    SCENARIO = "scenario"
    PROFILE = "profile"
    SEED = "seed"
    SAVE = "save"
    NODES = "nodes"
    QUEUES = "queues"
    POLICY = "policy"
    WHY = "why"


class Point:
    """A point of the lab's history: a run with its outcome, the notes of its import, and the point `before` it.

    Before the point at which a scenario was opened lie the scenario's own steps, each a point, and then `since`, where
    the person was when opening it.
    """

    def __init__(self, run: Run, notes: Sequence[str] = (), since: Point | None = None):
        self.run, self.notes, self.since = run, tuple(notes), since
        self.outcome = outcome(run)

    def next(self, run: Run) -> Point:
        """The point after this one."""
        point = Point(run, self.notes, self.since)
        point.before = self
        return point

    @cached_property
    def before(self) -> Point | None:
        """The point to which undo leads; None at the beginning of everything."""
        if not self.run.steps:
            return self.since
        run = self.run.copy()
        run.undo()
        return Point(run, self.notes, self.since)

    @property
    def was(self) -> dict | None:
        """The outcome before, of the same cluster; None where this is its beginning."""
        return None if self.before is self.since else self.before.outcome


class Controller:
    """A person's session: where they are, what can be undone and redone, the queue they chose, the last messages."""

    def __init__(self, start: Path = START):
        self.messages: dict[Place, str] = {}
        self.queue = ""
        self._now = Point(Run.of(load(start)))
        self._undone: list[Point] = []
        self._may_replace: Path | None = None

    # What is so

    @property
    def outcome(self) -> dict:
        """Everything that is so, as the contract's outcome."""
        return self._now.outcome

    @property
    def was(self) -> dict | None:
        """The outcome before the last action; None where there is nothing to compare with."""
        return self._now.was

    @property
    def notes(self) -> tuple[str, ...]:
        """What the import of this cluster could not tell or carry."""
        return self._now.notes

    @property
    def profile(self) -> Profile:
        """The rules profile."""
        return self._now.run.settings.profile

    @property
    def policies(self) -> tuple[Policy, ...]:
        """The policies in force, by virtual host and name."""
        return tuple(sorted(self._now.run.moment().state.policies, key=lambda policy: (policy.vhost, policy.name)))

    @property
    def can_undo(self) -> bool:
        """Whether there is something to take back."""
        return self._now.before is not None

    @property
    def can_redo(self) -> bool:
        """Whether something was taken back."""
        return bool(self._undone)

    # What a person does

    def open(self, source: Path | Export) -> None:
        """Opens a scenario file, which is played to its end, or an export."""
        if isinstance(source, Export):
            self.open_export(*source)
        else:
            self.open_scenario(source)

    def open_scenario(self, file: Path) -> None:
        """Opens a scenario file and plays it to its end; undo then leads back through its steps."""
        with self._answer(Place.SCENARIO, str(file)):
            self._open(Run.of(load(file)))

    def open_export(self, definitions: Path, listings: Sequence[Path] = ()) -> None:
        """Opens the cluster that a definitions export and listings describe."""
        with self._answer(Place.SCENARIO):
            imported = import_cluster(definitions, listings)
            self._open(Run.of(read_scenario(imported.scenario)), imported.notes)

    def open_uploads(self, definitions: Sequence[Upload], listings: Sequence[Upload] = ()) -> None:
        """Opens the cluster that uploaded files describe: one definitions export, and listings."""
        with self._answer(Place.SCENARIO), TemporaryDirectory() as folder:
            if not definitions:
                raise ScenarioRefused("the definitions are missing", accepted="a definitions export, then its listings")
            files = keep(Path(folder), [*definitions, *listings])
            self.open_export(files[0], files[1:])
            for place, text in self.messages.items():
                self.messages[place] = re.sub(rf"{re.escape(folder)}/\d+/", "", text)

    def act(self, verb: str, argument: object, place: Place = Place.NODES, at: str = "") -> None:
        """Plays one more step, written as in a file: act("kill", "a"). `at` is its time in seconds; without one it
        begins when the cluster has settled."""
        with self._answer(place):
            run = self._now.run.copy()
            run.apply_plain({verb: argument} | ({"at": number(at)} if at.strip() else {}))
            self._go(self._now.next(run))
            step = len(run.steps) - 1
            refused = next((error for error in self.outcome["errors"] if error["step"] == step), None)
            if refused:
                code = f" with code {refused['code']}" if refused["code"] else ""
                ours = f"RabbitMQ refused {verb}{code}. The refusal is part of the story; undo takes it back."
                self.messages[place] = f"{refused['text']}\n{ours}"

    def set_policy(self, draft: PolicyDraft) -> None:
        """Sets a policy as it was edited."""
        if draft.complaint:
            self.messages = {Place.POLICY: f"{draft.complaint}\nNothing was changed."}
        else:
            self.act("set_policy", draft.argument(), Place.POLICY)

    def clear_policy(self, draft: PolicyDraft) -> None:
        """Clears the policy of the draft's name and virtual host."""
        self.act("clear_policy", {"name": draft.name, "vhost": draft.vhost}, Place.POLICY)

    def set_profile(self, version: str) -> None:
        """Plays the same steps under the rules of another version."""
        now = plain(self._now.run.scenario)
        self._replay(Place.PROFILE, now | {"cluster": now["cluster"] | {"version": version}})

    def set_seed(self, text: str) -> None:
        """Plays the same steps with another seed."""
        self._replay(Place.SEED, plain(self._now.run.scenario) | {"seed": number(text)})

    def undo(self) -> None:
        """Takes the last action back."""
        self.messages = {}
        if self._now.before is not None:
            self._undone.append(self._now)
            self._now = self._now.before

    def redo(self) -> None:
        """Does again what was taken back last."""
        self.messages = {}
        if self._undone:
            self._now = self._undone.pop()

    def save(self, name: str) -> None:
        """Writes the scenario so far to the file of that name, over another file only at the second time of asking."""
        with self._answer(Place.SAVE):
            try:
                file = file_named(name)
                write(file, dump(self._now.run.scenario), replace=file == self._may_replace)
            except ValueError as error:
                raise ScenarioRefused(str(error), given=name, accepted="a name such as my-outage.yaml") from None
            except FileExistsError:
                self._may_replace = file
                raise ScenarioRefused(f"{file} exists", hint="save again to replace it, or give another name") from None
            except OSError as error:
                raise ScenarioRefused(f"{file} cannot be written: {error.strerror}") from None
            self._may_replace = file
            self.messages[Place.SAVE] = f"saved as {file}"

    def choose(self, queue: str) -> None:
        """Chooses the queue that the operations on queues are about."""
        self.queue = queue

    def why(self, question: str) -> str:
        """What became of a message, asked as QUEUE/NUMBER; an empty text where the question makes no sense."""
        self.messages = {}
        queue, _, text = question.strip().rpartition("/")
        message = number(text)
        if not isinstance(message, int):
            self.messages[Place.WHY] = f"not a message\n  given: {question!r}\n  accepted: QUEUE/NUMBER"
            return ""
        try:
            return why(self.outcome, queue, message)
        except ValueError as error:
            self.messages[Place.WHY] = str(error)
            return ""

    def reach(self, draft: PolicyDraft) -> list[Reached]:
        """The queues that a draft matches, and which policy would win there."""
        operators = self._now.run.moment().state.operator_policies
        return draft.reach(self.outcome["queues"], self.policies, self.profile, operators)

    # How it is done

    def _open(self, run: Run, notes: Sequence[str] = ()) -> None:
        self._go(Point(run, notes, since=self._now))
        self.queue = ""

    def _go(self, point: Point) -> None:
        """Makes a new point the present."""
        self._now = point
        self._undone = []

    def _replay(self, place: Place, scenario: Mapping) -> None:
        with self._answer(place):
            before = {error["step"] for error in self.outcome["errors"]}
            run = Run.of(read_scenario(scenario))
            self._go(self._now.next(run))
            new = [error for error in self.outcome["errors"] if error["step"] not in before]
            lines = [f"step {error['step']}, {run.steps[error['step']].name}: {error['text']}" for error in new]
            if lines:
                self.messages[place] = "\n".join(["RabbitMQ refuses now what it took before:", *lines])

    @contextmanager
    def _answer(self, place: Place, file: str | None = None) -> Iterator[None]:
        """Turns a refusal, of a file if one is named, into the place's message; those of the action before are over."""
        self.messages = {}
        if place is not Place.SAVE:
            self._may_replace = None
        try:
            yield
        except ScenarioRefused as refused:
            refused.file = file
            self.messages[place] = f"{refused}\nNothing was changed."
        except ImportRefused as refused:
            self.messages[place] = f"{refused}\nNothing was changed."
        except OSError as error:
            self.messages[place] = f"{error.filename}: {error.strerror}\nNothing was changed."


def file_named(name: str) -> Path:
    """The file that a name means, relative to the kernel's folder, the notebook's; `.yaml` may be left out.

    Raises ValueError for what is no file's name.
    """
    path = Path(name.strip())
    if "\0" in name or path.name in ("", ".."):
        raise ValueError("not the name of a file")
    return path if path.suffix else path.with_suffix(SUFFIX)


def number(text: str) -> object:
    """The decimal number that a text is, or the text, which whoever wants a number will refuse."""
    text = text.strip()
    if not NUMBER.fullmatch(text):
        return text
    return float(text) if "." in text else int(text)


def profiles() -> list[tuple[str, str]]:
    """(release, version) of each rules profile."""
    return [(profile.release, version) for version, profile in PROFILES.items()]
