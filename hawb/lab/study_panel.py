"""Play a study in a notebook with the reader's numbers: fields for some of them, and the estimates.

A small study is played by the compiled kernel in the notebook's own process in about a second. A larger one runs on
Spark, into a folder from which unchanged trials are reused. Both give the same results for the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ipywidgets as widgets
from msgspec import Struct

from hawb.lab import fields
from hawb.lab.study_progress import StudyProgress
from hawb.scenario.refused import ScenarioRefused
from hawb.study.live import Estimate, changed, live
from hawb.study.live import Path as Place
from hawb.study.question import Study
from hawb.views.study.estimate_figures import estimates_figure
from hawb.views.study.estimates import Shown, estimates_in_words, estimates_table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DPI = 90
DAY_S, HOUR_S, MINUTE_S = 86_400, 3_600, 60


class Knob(Struct, frozen=True):
    """A number that the reader sets: its label, its path in the study, and the choices with their values.

    `begins` is the label of the choice that is selected at first.
    """

    label: str
    path: Place
    choices: Mapping[str, object]
    begins: str


def every(*path: str) -> Place:
    """Return a path that leads into each environment of a study."""
    return ("environments", "*", *path)


FAILURES = Knob(
    "a node fails every", every("node_failures", "every", "mean_s"),
    {"week": 7 * DAY_S, "month": 30 * DAY_S, "quarter": 91 * DAY_S, "year": 365 * DAY_S}, "month",
)  # fmt: skip
REPAIR = Knob(
    "is back after", every("node_failures", "repair", "mean_s"),
    {"1 minute": MINUTE_S, "10 minutes": 10 * MINUTE_S, "1 hour": HOUR_S, "4 hours": 4 * HOUR_S, "1 day": DAY_S},
    "1 hour",
)  # fmt: skip
CONTROLLED = Knob(
    "controlled stops", every("node_failures", "controlled_share"),
    {"none": 0.0, "a fifth": 0.2, "half": 0.5, "all": 1.0}, "none",
)  # fmt: skip
PUBLISHED = Knob(
    "messages a second", every("traffic", "publish_per_s"),
    {str(rate): float(rate) for rate in (1, 10, 20, 50, 100, 150)}, "50",
)  # fmt: skip
AWAY = Knob(
    "consumers are away, once a week, for", every("traffic", "consumer_outages"),
    {text: hours and {"every": {"mean_s": 7 * DAY_S}, "lasts": {"mean_s": hours * HOUR_S}}
     for text, hours in {"never": None, "1 hour": 1, "6 hours": 6, "1 day": 24}.items()}, "6 hours",
)  # fmt: skip
NETWORK = Knob(
    "a link carries, MB/s", every("timing", "network_mb_s"), {f"{rate:g}": rate for rate in (12.5, 100.0, 625.0)}, "625"
)
NODE_AWAY = Knob(
    "each node is away for", every("rolling_upgrades", "down_s"),
    {"20 seconds": 20, "2 minutes": 2 * MINUTE_S, "10 minutes": 10 * MINUTE_S}, "2 minutes",
)  # fmt: skip
HOUR = Knob(
    "upgrades begin at", every("rolling_upgrades", "at_hour"), {f"{hour}:00": hour for hour in range(24)}, "3:00"
)
COPIES = Knob("copies", ("designs", "*", "replicas"), {str(count): count for count in (2, 3)}, "2")
PROMOTE = Knob(
    "ha-promote-on-failure", ("designs", "*", "policy", "ha-promote-on-failure"),
    {key: key for key in ("always", "when-synced")}, "always",
)  # fmt: skip
TRIALS = Knob("trials", ("trials",), {str(count): count for count in (64, 200, 1000)}, "200")

Played = Callable[[Study, Callable[[Any], object]], Sequence[Estimate]]
"""A function that plays a study, reports its progress, and returns the estimates."""


def here(study: Study, _on_progress: object) -> Sequence[Estimate]:
    """Play a study now, without Spark, and return the estimates."""
    return live(study)


def on_spark(spark: SparkSession, folder: Path, label: str) -> Played:
    """Return a function that plays a study on Spark into a folder's tables; trials that are there are reused."""
    from hawb.study.estimates import compared
    from hawb.study.pipeline import run

    def play(study: Study, on_progress: Callable[[Any], object]) -> Sequence[Estimate]:
        return compared(run(spark, study, folder, on_progress, label), next(iter(study.designs)))

    return play


class StudyPanel:
    """The fields, and a button that plays the study with `played`; `box` is what the notebook displays."""

    def __init__(self, study: Study, shown: Sequence[Shown], knobs: Sequence[Knob], played: Played = here) -> None:
        self.study, self.shown, self.knobs, self.played = study, shown, knobs, played
        self.progress = StudyProgress(is_shown=True)
        self.progress.box.layout.display = "none"
        self.choices = [_choice(knob) for knob in knobs]
        self.answer = widgets.HTML()
        parts = [fields.row(*self.choices[start : start + 3]) for start in range(0, len(knobs), 3)]
        self.box = fields.column(
            *parts, fields.button("play", "run this study now", self.play), self.progress.box, self.answer
        )

    @property
    def asked(self) -> Study:
        """Return the study with the chosen numbers. Raise ScenarioRefused."""
        return changed(self.study, {knob.path: each.value for knob, each in zip(self.knobs, self.choices, strict=True)})

    def play(self) -> None:
        """Play the study and show its estimates."""
        try:
            asked = self.asked
            estimates = self.played(asked, self._show_progress)
        except ScenarioRefused as refused:
            self.answer.value = fields.message(str(refused))
            return
        types = {name: design.queue_type for name, design in asked.designs.items()}
        words = estimates_in_words(estimates, self.shown)
        drawn = estimates_figure(estimates, self.shown, types).html(words, DPI)
        self.answer.value = drawn + estimates_table(estimates, self.shown).to_html(border=0)

    def _show_progress(self, progress: Any) -> None:
        self.progress.box.layout.display = None
        self.progress(progress)


def _choice(knob: Knob) -> widgets.Dropdown:
    made = fields.dropdown(knob.label, ".".join(knob.path), list(knob.choices.items()))
    made.value = knob.choices[knob.begins]
    return made
