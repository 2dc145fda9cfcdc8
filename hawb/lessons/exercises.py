"""Check exercises by playing the answers: a policy, or steps of a scenario.

An answer is played in the cluster of the question and in others that the reader has not seen: with other names and
alphabetical orders of nodes, other queue names, numbers of messages and seeds. An answer that only fits the cluster of
the question fails there. Where the answer itself names nodes (steps do, a good policy does not), the names are replaced
by those of the other cluster.

A judge continues the story after the answer, and returns the first thing that is wrong as a sentence, or None. Its
docstring says what it requires.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import NamedTuple

from msgspec import Struct

from hawb.cluster import Cluster
from hawb.languages import N_, _, ngettext
from hawb.lessons import step_forms
from hawb.scenario import text
from hawb.scenario.refused import ScenarioRefused, render
from hawb.views.formatting import counted, listing, one_line, paragraph, shown

MOST_STEPS = 30
BOOT_S = 5.0
HASTE_S = 0.3
"""Seconds after their boot at which the mirrors are needed: too soon to synchronise a long queue."""


class Variation(NamedTuple):
    """The differences between the clusters of an exercise. `word` is part of the queues' names."""

    nodes: tuple[str, ...]
    messages: int
    seed: int
    word: str


AS_SHOWN = Variation(("a", "b", "c"), 100, 1, "eu")
HELD_BACK = (
    Variation(("w3", "w1", "w2"), 7, 2, "us"),
    Variation(("rabbit@north", "rabbit@east", "rabbit@south"), 40_000, 3, "jobs.late"),
    Variation(("n3", "n1", "n2"), 1, 4, "é"),
)

UNPLAYED = N_("The answer cannot be played: {why}"), N_("Step {number} cannot be played: {why}")
REFUSED = N_("RabbitMQ refuses the answer: {why}"), N_("RabbitMQ refuses step {number}: {why}")
"""The reasons why an answer of one step, and of several, cannot be played or is refused."""


class Form(Enum):
    """The forms of an answer, in words."""

    POLICY = N_("a policy")
    STEPS = N_("a list of steps")
    SETTINGS = N_("settings of the nodes")


class Exercise(Struct, frozen=True):
    """An exercise: `begin` returns its cluster; `judge` returns what is wrong after the answer, or None.

    `verbs` are the verbs that an answer of steps may use. An answer of settings consists of exactly these `settings`,
    with which `begin` makes the cluster.
    """

    key: str
    question: str
    hints: tuple[str, ...]
    form: Form
    begin: Callable[..., Cluster]
    judge: Callable[[Cluster, Variation], str | None]
    verbs: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()


    @property
    def accepted(self) -> str:
        """Return the accepted form of an answer in words, with an example."""
        if self.form is Form.POLICY:
            example = "{'pattern': '^mine', 'definition': {'ha-mode': 'all'}, 'priority': 0}"
        elif self.form is Form.STEPS:
            example = repr([step_forms.example(self.verbs[0])])
        else:
            example = f"{{{', '.join(f'{name!r}: …' for name in self.settings)}}}"
        return _("{form}, such as {example}, or as YAML text", form=_(self.form.value), example=example)


class Verdict(NamedTuple):
    """The verdict on an answer."""

    right: bool
    says: str

    def __repr__(self) -> str:
        return f"{'✓' if self.right else '✕'} {self.says}"


class AnswerRefused(ValueError):  # noqa: N818 - it reads as what happened
    """An answer of the wrong form, one that RabbitMQ or hawb refuses, or one that leaves nothing to judge.

    `str()` is the reason.
    """


def judged(exercise: Exercise, answer: object) -> Verdict:
    """Play an answer in the cluster of the question and in those held back, and return the verdict."""
    for variation in (AS_SHOWN, *HELD_BACK):
        if wrong := wrong_in(exercise, answer, variation):
            return Verdict(False, wrong if variation is AS_SHOWN else paragraph([elsewhere(variation), wrong]))
    right = _("Right, in this cluster and in {number} others that you have not seen.", number=len(HELD_BACK))
    return Verdict(True, right)


def wrong_in(exercise: Exercise, answer: object, variation: Variation) -> str | None:
    """Return what is wrong with an answer under one variation; None if it is right."""
    try:
        return exercise.judge(led_to(exercise, answer, variation), variation)
    except AnswerRefused as refused:
        return str(refused)
    except ScenarioRefused as refused:
        return _(UNPLAYED[0], why=refused)


def led_to(exercise: Exercise, answer: object, variation: Variation) -> Cluster:
    """Return the cluster after an answer under one variation. Raise AnswerRefused and ScenarioRefused."""
    given = given_as(exercise, answer)
    if exercise.form is Form.SETTINGS:
        return exercise.begin(variation, **given)
    cluster = exercise.begin(variation)
    if exercise.form is Form.STEPS:
        given = renamed(given, dict(zip(AS_SHOWN.nodes, variation.nodes, strict=True)))
    play(cluster, given)
    return cluster


def elsewhere(variation: Variation) -> str:
    """Return how a held-back cluster, in which an answer fails, differs from that of the question."""
    return _(
        "It works in the cluster that you see, but not in another one with the nodes {nodes} and with {messages}:",
        nodes=listing(variation.nodes), messages=counted(variation.messages),
    )  # fmt: skip


def given_as(exercise: Exercise, answer: object) -> list | dict:
    """Return an answer as steps of a scenario, or as settings. Raise AnswerRefused."""
    if answer is None or answer is ... or (isinstance(answer, str) and not answer.strip()):
        raise AnswerRefused(_("There is no answer yet. It is {accepted}.", accepted=exercise.accepted))
    try:
        given = text.parse(answer) if isinstance(answer, str) else answer
        text.check_values(given)
    except ScenarioRefused as refused:
        raise AnswerRefused(_("The answer cannot be read: {why}", why=refused)) from None
    if exercise.form is Form.POLICY:
        return [{"set_policy": _a(dict, given, exercise) | {"name": "answer"}}]
    if exercise.form is Form.SETTINGS:
        return settings_of(exercise, _a(dict, given, exercise))
    steps = _a(list, given, exercise)
    if len(steps) > MOST_STEPS:
        refusal = _("The answer has {number} steps; {most} are more than enough.", number=len(steps), most=MOST_STEPS)
        raise AnswerRefused(refusal)
    for number, step in enumerate(steps, 1):
        verb = next((key for key in step if key != "at"), None) if isinstance(step, dict) else step
        if verb not in exercise.verbs:
            refusal = _("Step {number}, {step}: here a step is one of {verbs}.", number=number, step=render(step),
                     verbs=", ".join(exercise.verbs))  # fmt: skip
            raise AnswerRefused(refusal)
    return steps


def _a(kind: type, given: object, exercise: Exercise):
    if not isinstance(given, kind):
        raise AnswerRefused(_("{given} is not {accepted}.", given=render(given), accepted=exercise.accepted))
    return given


def settings_of(exercise: Exercise, given: dict) -> dict:
    """Return an answer's settings, exactly those of the exercise. Raise AnswerRefused."""
    if sorted(given) != sorted(exercise.settings):
        refusal = _("{given}: this exercise sets only {settings}.", given=render(given),
                 settings=listing(exercise.settings))  # fmt: skip
        raise AnswerRefused(refusal)
    return given


def renamed(value: object, names: dict[str, str]) -> object:
    """Return plain values with nodes renamed."""
    if isinstance(value, dict):
        return {key: renamed(each, names) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [renamed(each, names) for each in value]
    return names.get(value, value) if isinstance(value, str) else value


def play(cluster: Cluster, steps: list) -> None:
    """Play an answer's steps. Raise AnswerRefused for the first one that hawb or RabbitMQ refuses."""
    for number, step in enumerate(steps, 1):
        before = len(cluster.errors)
        try:
            cluster.run.apply_plain(step)
        except ScenarioRefused as refused:
            refused.path = refused.path[2:]
            raise AnswerRefused(_(UNPLAYED[len(steps) > 1], number=number, why=refused)) from None
        if errors := cluster.errors[before:]:
            raise AnswerRefused(_(REFUSED[len(steps) > 1], number=number, why=one_line(errors[0]["text"])))


def queue_of(cluster: Cluster, name: str) -> dict:
    """Return a queue. Raise AnswerRefused if the answer has deleted it."""
    if name not in cluster.queues:
        raise AnswerRefused(_("The queue {queue} is gone, with everything in it.", queue=shown(name)))
    return cluster.queues[name]


def restart_in_haste(cluster: Cluster, name: str, variation: Variation) -> float:
    """Publish the messages, restart all mirrors' nodes, and return the time HASTE_S after their boot.

    Raise AnswerRefused if there is not a mirror on every other node.
    """
    mirrors = variation.nodes[1:]
    cluster.publish(name, variation.messages)
    if (there := len(queue_of(cluster, name)["mirrors"])) != len(mirrors):
        reason = _("{queue} has no mirrors; the task asks for one on every other node.", queue=name)
        reason = reason if not there else ngettext(
            "{queue} has {number} mirror; the task asks for one on every other node.",
            "{queue} has {number} mirrors; the task asks for one on every other node.", there, queue=name, number=there,
        )  # fmt: skip
        raise AnswerRefused(reason)
    cluster.stop(*mirrors)
    back_s = cluster.outcome["time_s"] + BOOT_S + HASTE_S
    cluster.start(*mirrors)
    return round(back_s, 6)


def of_the_first(count: int, runs: list[list[int]]) -> int:
    """Return how many of the messages 1 to `count` are in runs of message numbers."""
    return sum(min(last, count) - first + 1 for first, last in runs if first <= count)
