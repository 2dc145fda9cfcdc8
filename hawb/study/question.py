"""A question as its file has it: designs × environments × trials × horizon.

`sources` has the sources of numbers: its keys are paths into the file, `environments.cloud.traffic`, and each covers
all below it that has no key of its own. A source is an address with the content read there, or begins with `assumed`,
or with `measured` where a file of own numbers was laid over (`hawb.study.numbers`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from msgspec import Meta, field

from hawb.scenario.fields import AtLeastOne, Name, Part, Seed, Text
from hawb.scenario.refused import render
from hawb.study.design import Design
from hawb.study.environment import Days, Environment
from hawb.study.trial_record import Record

DAYS_IN_A_YEAR = 365
MEASURES = Record.__struct_fields__
ALSO_KNOWN_AS = {"downtime_s": "publish_down_s"}

Label = Annotated[
    str, Meta(pattern=r"^[a-z0-9][a-z0-9_-]*\Z", description="a name of small letters, digits, - and _: three-racks")
]


NotNegative = Annotated[float, Meta(ge=0, le=1e12, description="a number from 0 to 10**12")]

ControlTrials = Annotated[
    int, Meta(ge=1_000, le=1_000_000, description="a whole number from 1,000 to 1,000,000")
]
Pairs = Annotated[int, Meta(ge=32, le=100_000, description="a whole number from 32 to 100,000")]


class Precision(Part, frozen=True, kw_only=True):
    """The precision that an answer needs.

    Trials are played until in every cell half the width of the 95 % interval of a measure's mean
    (`hawb.study.trial_record`) is at most `relative` of the mean, or at most `absolute`, and there are enough
    trials for an interval (`hawb.study.intervals.trials_for_mean`). `downtime_s` is another name of `publish_down_s`.
    """

    measure: str
    relative: Annotated[float, Meta(gt=0, le=1, description="a share, a number above 0, up to 1")] | None = None
    absolute: Annotated[float, Meta(gt=0, le=1e12, description="a number above 0, up to 10**12")] | None = None

    def __post_init__(self) -> None:
        check_measure("measure", self.measure)
        if self.relative is None and self.absolute is None:
            raise ValueError("relative and absolute are missing; give one of the two: it sets the precision to reach")

    @property
    def column(self) -> str:
        """Return the measure's name in the table of trials."""
        return column_of(self.measure)


class Control(Part, frozen=True, kw_only=True):
    """A similar cluster that the kernel plays, for designs and environments that only the engine plays.

    Its many trials make their means more certain (`hawb.study.control_variates`). `designs` and `environments` have the
    control of each design and environment that is named, as that is called in the study. For others hawb chooses it
    (`hawb.study.controls`): the same without the settings that the kernel refuses. `trials` is the number of trials of
    the control, and `pairs` the number of trials that the engine plays beyond those of the study, in years that the
    control's trials select.
    """

    trials: ControlTrials = 100_000
    pairs: Pairs = 100
    designs: dict[Label, Design] = field(default_factory=dict)
    environments: dict[Label, Environment] = field(default_factory=dict)


def column_of(measure: str) -> str:
    """Return the name that a measure has in the table of trials."""
    return ALSO_KNOWN_AS.get(measure, measure)


def in_columns(numbers: Mapping[str, float]) -> dict[str, float]:
    """Return numbers by measure, with the measures' names in the table of trials."""
    return {column_of(measure): value for measure, value in numbers.items()}


def check_measure(place: str, measure: str) -> None:
    """Raise ValueError for a name that no measure has."""
    if measure not in (*MEASURES, *ALSO_KNOWN_AS):
        raise ValueError(f"{place}: {render(measure)} is not one of {', '.join(MEASURES)}")


class Study(Part, frozen=True, kw_only=True):
    """A whole file; `study` is its title.

    Every design is combined with every environment in `trials` trials, each a cluster over `horizon_days`. With a
    `precision` there may be fewer, and `trials` is the most. `least_differences` are the smallest differences between
    designs that matter, by measure, and `objectives` the largest acceptable values of a trial.
    """

    study: Text
    seed: Seed = 0
    designs: dict[Label, Design]
    environments: dict[Label, Environment]
    trials: AtLeastOne
    horizon_days: Days
    precision: Precision | None = None
    control: Control | None = None
    least_differences: dict[Name, NotNegative] = field(default_factory=dict)
    objectives: dict[Name, NotNegative] = field(default_factory=dict)
    sources: dict[Name, Text] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("designs", "environments"):
            if not getattr(self, name):
                raise ValueError(f"{name}: there is none; a study needs at least one of each")
        for name in ("least_differences", "objectives"):
            for measure in getattr(self, name):
                check_measure(name, measure)
        for name, environment in self.environments.items():
            for work in ("rolling_upgrades", "maintenance"):
                calendar = getattr(environment, work)
                if calendar and calendar.first_day >= self.horizon_days:
                    raise ValueError(
                        f"environments.{name}.{work}.first_day: {calendar.first_day} is not before the end,"
                        f" {self.horizon_days:g} days"
                    )

    @property
    def cells(self) -> tuple[tuple[str, str], ...]:
        """Return the pairs of design and environment, in the order of the file."""
        return tuple((design, environment) for design in self.designs for environment in self.environments)

    @property
    def split_brains(self) -> frozenset[tuple[str, str]]:
        """Return the pairs of design and environment in which two partitions may both confirm messages.

        RabbitMQ discards one partition's messages then. A trial counts that only with clients on every node: one
        publisher and one consumer are in one partition.
        """
        return frozenset(
            (name, place) for name, place in self.cells
            if self.environments[place].partitions and self.designs[name].may_split
            and self.environments[place].traffic.clients is None
        )  # fmt: skip

    def source_of(self, path: str) -> str | None:
        """Return the source of the number at a path; None if `sources` has none for it."""
        return source_of(self.sources, path)


def source_of(sources: Mapping[str, str], path: str) -> str | None:
    """Return the source of the nearest place at or above a path; None if there is none."""
    parts = path.split(".")
    above = (".".join(parts[:length]) for length in range(len(parts), 0, -1))
    return next((sources[place] for place in above if place in sources), None)
