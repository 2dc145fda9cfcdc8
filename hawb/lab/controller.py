"""Implement the lab without widgets: each button and field of the page calls a method here.

Each action appends a point to the lab's history (`history`), so that undo and redo work for all actions: a step, a step
back in the story, another profile, another scenario.

An action that the lab refuses changes nothing; the reason becomes the message of the place on the page from which it
came. A step that RabbitMQ refuses is played like any other: RabbitMQ's text is that place's message, and undo takes the
step back.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from pathlib import Path
from tempfile import TemporaryDirectory

from hawb.exports.imported import import_cluster
from hawb.exports.untrusted import ImportRefused
from hawb.lab.beside import Beside
from hawb.lab.history import Point, opened
from hawb.lab.place import Place
from hawb.lab.policy_draft import PolicyDraft, Reached, by_name
from hawb.lab.sources import START, Export, Upload, keep, said_first
from hawb.lab.typed import file_named, number
from hawb.languages import N_, _
from hawb.planning.alternatives import Alternative, what_would_have_kept
from hawb.planning.harm import Harm
from hawb.planning.safe_to_stop import Forecast
from hawb.planning.variants import Variant, policy
from hawb.rules.policies import Policy
from hawb.rules.profiles import Profile
from hawb.scenario import numbering
from hawb.scenario.dump import dump
from hawb.scenario.load import ScenarioRefused, read_scenario
from hawb.scenario.run import Run
from hawb.scenario.saving import write
from hawb.views.story.why import why

REFUSED = N_("RabbitMQ refused {verb}. The refusal is part of the story; undo removes it.")
WITH_CODE = N_("RabbitMQ refused {verb} with code {code}. The refusal is part of the story; undo removes it.")
UNCHANGED = N_("Nothing was changed.")


class Controller:
    """A user's session: the current point (`now`), the points to undo and redo, and the user's choices.

    The choices are the selected `queue`, the time `at` typed for the next step, whether forecasts of each node are
    shown (`forecasting`), and the story `beside`. `messages` are the last answers by place. `field` is the field of a
    step that the message of its place is about, "" for the whole step.

    Without `may_save` the session writes no files, for use by unknown visitors. The lab's own cluster is at rest when
    it is opened: the steps that set it up are not part of the story that the user steps through.
    """

    def __init__(self, start: Path | Run = START, *, may_save: bool = True):
        self.may_save = may_save
        self.messages: dict[Place, str] = {}
        self.field = ""
        self.queue = self.at = ""
        self.forecasting = False
        self.followers: list[Callable[[Run], None]] = []
        self._now = Point(start, opened=True) if isinstance(start, Run) else opened(start)
        self.beside = Beside()
        self._undone: list[Point] = []
        self._may_replace: Path | None = None

    def copy(self) -> Controller:
        """Return a session that continues independently from this point."""
        other = copy(self)
        other._undone = [*self._undone]
        return other

    @property
    def now(self) -> Point:
        """Return the current point of the history."""
        return self._now

    @now.setter
    def now(self, point: Point) -> None:
        self._now = point
        for follow in self.followers:
            follow(point.run.copy())

    # What the page shows

    @property
    def outcome(self) -> dict:
        """Return the outcome at the current point."""
        return self.now.outcome

    @property
    def profile(self) -> Profile:
        """Return the rules profile."""
        return self.now.run.settings.profile

    @property
    def policies(self) -> tuple[Policy, ...]:
        """Return the policies in force, by vhost and name."""
        return by_name(self.now.moment.state.policies)

    @property
    def operator_policies(self) -> tuple[Policy, ...]:
        """Return the operator policies in force, by vhost and name."""
        return by_name(self.now.moment.state.operator_policies)

    @property
    def cut_links(self) -> list[tuple[str, str]]:
        """Return the links that are down, as pairs of nodes."""
        name = self.now.run.settings.names.__getitem__
        return [(name(first), name(second)) for (first, second), _ in self.now.moment.state.cuts]

    @property
    def forecasts(self) -> dict[str, Forecast]:
        """Return the forecast for each running node if `forecasting`, else none: each node's end is played twice."""
        return self.now.forecasts if self.forecasting else {}

    @property
    def is_own_cluster(self) -> bool:
        """Return True until another cluster than the lab's own is opened."""
        return self.now.rest > 0

    @property
    def is_at_rest(self) -> bool:
        """Return True while nothing was done to the lab's own cluster."""
        return self.is_own_cluster and self.story_place == (0, 0)

    @property
    def story_place(self) -> tuple[int, int]:
        """Return how many steps of the story were played, and how many it has."""
        played = len(self.now.steps)
        return played, played + len(self.now.ahead)

    @property
    def next_step(self) -> str:
        """Return the verb of the step ahead; "" at the end of the story."""
        return self.now.ahead[0].name if self.now.ahead else ""

    @property
    def has_timers(self) -> bool:
        """Return True if events are due once simulated time passes."""
        return bool(self.now.moment.state.agenda)

    @property
    def moments(self) -> int:
        """Return the number of moments to look at, from the story's beginning to its end."""
        return len(self.now.origin.moments_us)

    @property
    def looks_back(self) -> bool:
        """Return True if an earlier moment than the last is shown."""
        return self.now.at_s is not None

    @property
    def can_undo(self) -> bool:
        """Return True if there is an action to undo."""
        return self.now.before is not None

    @property
    def can_redo(self) -> bool:
        """Return True if there is an action to redo."""
        return bool(self._undone)

    # The user's actions

    def open(self, source: Path | Export) -> None:
        """Open a scenario file, played to its end, or an export."""
        if isinstance(source, Export):
            self.open_export(*source)
        else:
            self.open_scenario(source)

    def open_scenario(self, file: Path) -> None:
        """Open a scenario file and play it to its end; `step_back` leads back through it."""
        with self._answer(Place.SCENARIO, str(file)):
            self.open_point(opened(file, before=self.now, notes=said_first(file)))

    def open_export(self, definitions: str | Path, listings: Sequence[str | Path] = ()) -> None:
        """Open the cluster of a definitions export and listings, each a file or VHOST=FILE."""
        with self._answer(Place.SCENARIO):
            imported = import_cluster(definitions, listings)
            run = Run.of(read_scenario(imported.scenario))
            self.open_point(Point(run, before=self.now, notes=imported.notes, opened=True))

    def open_point(self, point: Point) -> None:
        """Go to a point of another cluster or story."""
        self._go(point)
        self.queue, self.beside.variant = "", None

    def open_uploads(self, definitions: Sequence[Upload], listings: Sequence[Upload] = (), vhost: str = "") -> None:
        """Open the cluster of uploaded files: one definitions export, and listings.

        Entries that name no vhost belong to `vhost`.
        """
        with self._answer(Place.SCENARIO), TemporaryDirectory() as folder:
            if not definitions:
                raise ScenarioRefused("the definitions are missing", accepted="a definitions export, then its listings")
            files = keep(Path(folder), [*definitions, *listings])
            first, *others = [f"{vhost}={file}" if vhost else file for file in files]
            self.open_export(first, others)
            for place, text in self.messages.items():
                self.messages[place] = re.sub(rf"{re.escape(folder)}/\d+/", "", text)

    def act(self, verb: str, argument: object, place: Place = Place.NODES) -> None:
        """Play one more step, written as in a scenario file.

        `act("kill", "a")` kills the node a. The step begins at the typed time `at`, or without one
        when the cluster has settled.
        """
        with self._answer(place):
            self._go(self.now.with_step(self._step(verb, argument)))
            self.at = ""
            step = len(self.now.run.steps) - 1
            refused = next((error for error in self.outcome["errors"] if error["step"] == step), None)
            if refused:
                code, text = refused["code"], refused["text"]
                self.messages[place] = f"{text}\n{_(WITH_CODE if code else REFUSED, verb=verb, code=code)}"

    def refusal(self, verb: str, argument: object) -> str:
        """Return RabbitMQ's text if it would refuse this step now, else ""."""
        return self.now.refusal(self._step(verb, argument))

    def _step(self, verb: str, argument: object) -> dict:
        """Return the step, with the time that was typed for it."""
        return {verb: argument} | ({"at": number(self.at)} if self.at.strip() else {})

    def step_back(self) -> None:
        """Go back to before the last step of the story. The step stays ahead, even if the user takes another step."""
        if self.now.steps:
            with self._answer(Place.TIME):
                self._go(self.now.with_step_back())

    def step_forward(self) -> None:
        """Play the step ahead."""
        if self.now.ahead:
            with self._answer(Place.TIME):
                self._go(self.now.with_step_forward())

    def look_at(self, position: int) -> None:
        """Show one of the story's moments.

        The next action happens at that moment; the steps after it stay ahead.
        """
        if position != self.now.position:
            with self._answer(Place.TIME):
                self._go(self.now.looking_at(position))

    def pass_time(self, seconds: float) -> None:
        """Let `seconds` of simulated time pass. Consecutive calls make one step."""
        with self._answer(Place.TIME):
            self._go(self.now.with_time_passed(seconds))

    def set_policy(self, draft: PolicyDraft) -> None:
        """Set a policy as it was edited."""
        if draft.complaint:
            self.messages = {Place.POLICY: f"{draft.complaint}\n{_(UNCHANGED)}"}
        else:
            self.act(f"set_{draft.kind}", draft.argument(), Place.POLICY)

    def clear_policy(self, draft: PolicyDraft) -> None:
        """Clear the policy with the draft's name and vhost."""
        self.act(f"clear_{draft.kind}", {"name": draft.name, "vhost": draft.vhost}, Place.POLICY)

    def set_profile(self, version: str) -> None:
        """Play the same steps under the rules of another version."""
        self._change(Place.PROFILE, {"cluster": self.now.document["cluster"] | {"version": version}})

    def set_seed(self, text: str) -> None:
        """Play the same steps with another seed."""
        self._change(Place.SEED, {"seed": number(text)})

    def continue_with(self, run: Run) -> None:
        """Make a run the current point, without calling `followers`."""
        point = self._now.next(run, ())
        self._now, self._undone, self.messages = point, [], {}

    def undo(self) -> None:
        """Undo the last action."""
        self.messages = {}
        if self.now.before is not None:
            self._undone.append(self.now)
            self.now = self.now.before

    def redo(self) -> None:
        """Redo the action that was undone last."""
        self.messages = {}
        if self._undone:
            self.now = self._undone.pop()

    def save(self, name: str) -> None:
        """Write the scenario so far to the file of that name; replace another file only at the second attempt."""
        with self._answer(Place.SAVE):
            if not self.may_save:
                raise ScenarioRefused("nothing is written here", hint="the tab Export offers it as a download")
            try:
                file = file_named(name)
                write(file, dump(self.now.run.scenario), replace=file == self._may_replace)
            except ValueError as error:
                raise ScenarioRefused(str(error), given=name, accepted="a name such as my-outage.yaml") from None
            except FileExistsError:
                self._may_replace = file
                raise ScenarioRefused(f"{file} exists", hint="save again to replace it, or give another name") from None
            except OSError as error:
                raise ScenarioRefused(f"{file} cannot be written: {error.strerror}") from None
            self._may_replace = file
            self.messages[Place.SAVE] = _("saved as {file}", file=file)

    def choose(self, queue: str) -> None:
        """Select the queue that operations on queues apply to."""
        self.queue = queue

    def why(self, question: str) -> str:
        """Return what became of a message, asked as QUEUE/NUMBER; "" for a malformed question or an unknown message."""
        self.messages = {}
        queue, _slash, text = question.strip().rpartition("/")
        message = number(text)
        if not isinstance(message, int):
            wrong = N_("not a message\n  given: {question}\n  accepted: QUEUE/NUMBER")
            self.messages[Place.WHY] = _(wrong, question=repr(question))
            return ""
        try:
            return why(self.outcome, queue, message)
        except ValueError as error:
            self.messages[Place.WHY] = str(error)
            return ""

    def ask_alternatives(self, harm: Harm) -> None:
        """Play the story again under each single change that might have prevented a harm."""
        self.messages = {}
        self.now.alternatives = what_would_have_kept(self.now.run, harm)

    def try_alternative(self, alternative: Alternative) -> None:
        """Go to the end of the story under a change, with the same steps ahead."""
        with self._answer(Place.WHAT_IF):
            self._go(self.now.next(alternative.run.copy(), self.now.ahead))

    def vary(self, variant: Variant | None) -> None:
        """Show a variant beside the story; None removes it."""
        self.messages, self.beside.variant = {}, variant

    def vary_policy(self, draft: PolicyDraft) -> None:
        """Show beside the story the variant that has the policy as edited from the beginning."""
        self.messages = {}
        if wrong := draft.message(self.profile):
            self.messages[Place.BESIDE] = wrong
        else:
            self.beside.variant = policy(draft.argument(), operator=draft.is_operator)

    def go_aside(self) -> None:
        """Make the story beside the current one, with the same steps ahead."""
        found = self.beside.at(self.now)
        if found is not None and found.run is not None:
            with self._answer(Place.BESIDE):
                self._go(self.now.next(found.run.copy(), self.now.ahead))
                self.beside.variant = None

    def reach(self, draft: PolicyDraft) -> list[Reached]:
        """Return the queues that a draft matches, each with the policy that would win there."""
        return draft.reach(self.outcome["queues"], self.policies, self.profile, self.operator_policies)

    def forget_answers(self) -> None:
        """Discard messages, alternatives and the variant, as when the language changes."""
        self.messages, self.now.alternatives, self.beside.variant = {}, None, None

    # Implementation

    def _go(self, point: Point) -> None:
        """Make a new point the current one."""
        self.now = point
        self._undone = []

    def _change(self, place: Place, change: Mapping) -> None:
        with self._answer(place):
            before = {error["step"] for error in self.outcome["errors"]}
            self._go(self.now.with_change(change))
            new = [error for error in self.outcome["errors"] if error["step"] not in before]
            steps = self.now.run.steps
            pairs = ((error["step"], error["text"]) for error in new)
            refused = N_("step {number}, {verb}: {refusal}")
            lines = [_(refused, number=numbering.number(at), verb=steps[at].name, refusal=text) for at, text in pairs]
            if lines:
                self.messages[place] = "\n".join([_("RabbitMQ now refuses a step that it accepted before:"), *lines])

    @contextmanager
    def _answer(self, place: Place, file: str | None = None) -> Iterator[None]:
        """Turn a refusal, of `file` if it is given, into the place's message; clear earlier messages."""
        self.messages, self.field = {}, ""
        if place is not Place.SAVE:
            self._may_replace = None
        try:
            yield
        except ScenarioRefused as refused:
            refused.file = file
            within = refused.path[2:] if file is None and refused.step is not None else ()
            self.field = next((key for key in within[1:] if isinstance(key, str)), "")
            self.messages[Place.TIME if within == ("at",) else place] = f"{refused}\n{_(UNCHANGED)}"
        except ImportRefused as refused:
            self.messages[place] = f"{refused}\n{_(UNCHANGED)}"
        except OSError as error:
            self.messages[place] = f"{error.filename}: {error.strerror}\n{_(UNCHANGED)}"
