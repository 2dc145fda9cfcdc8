"""A user's own numbers: measurements and prices of a cluster, in a file that is laid over any study.

Decisions:

* Numbers replace numbers. A fault that does not occur in a study's environment does not begin to occur because a file
  has its repair time: a map over nothing is left out, and listed (`left_out`).
* Every number has a source, so that an answer can say which numbers were measured and which are assumed.
* Of a design, own numbers replace only a cluster's settings. Nodes, replicas and policies are what designs are
  compared in.
* A distribution that a file has with its mean replaces the study's, shape and all.
* Numbers that are known only within an interval may have `draws`: environments, each as likely under the measurements,
  that are laid over `environment` in turn, so that an answer's interval includes this uncertainty
  (`hawb.study.own_draws`).
* The result is a study like any other, and refused as one; its cells have names of their own (`hawb.study.cells`), so
  that trials of both may be in one folder.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct, field

from hawb.scenario import text
from hawb.scenario.dump import plain
from hawb.scenario.fields import Arguments, AtLeastOne, Bytes, Name, Part, Period, Text
from hawb.scenario.load import Reader, read_file
from hawb.scenario.refused import ScenarioRefused, render
from hawb.study.design import NODES
from hawb.study.environment import Environment
from hawb.study.load import check_source, read_study
from hawb.study.question import Study, source_of

ORIGINS = {"measured: ": "measured", "assumed: ": "assumed", "https://": "published"}
"""The beginnings of sources, with the origin that each one means."""
NOT_STATED = "not told"
"""The origin of a study's number that has no source."""

WHOLE = {"mean_s", "distribution"}
"""A map with these keys replaces the study's map as a whole, with its shape."""

PRICE = "price_per_year"
"""The column with the cost of a trial's cluster a year (`hawb.study.prices`)."""

Price = Annotated[float, Meta(ge=0, le=1e12, description="a price, a number from 0 to 10**12")]


class Settings(Part, frozen=True, kw_only=True):
    """The settings of a cluster that own numbers may replace in every design."""

    net_ticktime: Period
    quorum_commands_soft_limit: AtLeastOne
    mirroring_sync_batch_size: AtLeastOne
    mirroring_sync_max_throughput: Bytes


class Prices(Part, frozen=True, kw_only=True):
    """Prices, all in one currency.

    They are for a node of the cluster a month, an hour in which clients cannot publish, a confirmed message that is
    lost, and 10**9 bytes that are sent from replica to replica.
    """

    currency: Name
    node_month: Price = 0.0
    downtime_hour: Price = 0.0
    lost_message: Price = 0.0
    replicated_gb: Price = 0.0


class Numbers(Part, frozen=True, kw_only=True):
    """A whole file; `numbers` is its title.

    `design` and `environment` are parts of a design and of an environment, as plain values; `draws` are further such
    parts of an environment, all equally likely; `sources` has the source of each number, where a key covers all below
    it.
    """

    numbers: Text
    design: Arguments = field(default_factory=dict)
    environment: Arguments = field(default_factory=dict)
    prices: Prices | None = None
    sources: dict[Name, Text] = field(default_factory=dict)
    draws: tuple[Arguments, ...] = ()


PARTS: dict[str, tuple[str, type[Struct]]] = {
    "design": ("designs", Settings),
    "environment": ("environments", Environment),
}
"""The parts that replace those of all designs and environments: their names in a study, and their accepted fields."""


class Setting(Struct, frozen=True):
    """A number that a study was played with, as text.

    `origin` is one of `ORIGINS`, or `NOT_STATED`; `reason` is the text of its sources.
    """

    name: str
    value: str
    origin: str
    reason: str


def read_numbers(given: Any) -> Numbers:
    """Return the numbers of plain values (maps, lists, text, numbers). Raise ScenarioRefused."""
    text.check_values(given)
    numbers = Reader(NODES).struct(Numbers, given, ())
    for part, (_, struct) in PARTS.items():
        Reader(NODES, partial=True).struct(struct, getattr(numbers, part), (part,))
    for place, draw in enumerate(numbers.draws):
        Reader(NODES, partial=True).struct(Environment, draw, ("draws", place))
    for path, source in numbers.sources.items():
        check_source(path, source, given, tuple(ORIGINS))
    for part in (*PARTS, "prices"):
        for path, value in leaves(given.get(part) or {}, part):
            if source_of(numbers.sources, path) is None:
                accepted = f"a source for {path}, which begins with {' or '.join(map(str.strip, ORIGINS))}"
                raise ScenarioRefused("a number without a source", tuple(path.split(".")), given=value,
                                      accepted=accepted)  # fmt: skip
    return numbers


def lay_over(study: Study, file: Path) -> tuple[Study, Numbers]:
    """Return a study with the numbers of a file laid over it, and the numbers.

    Raise ScenarioRefused, which names the file.
    """

    def read(given: Any) -> tuple[Study, Numbers]:
        numbers = read_numbers(given)
        return laid_over(study, numbers), numbers

    return read_file(file, None, read)


def laid_over(study: Study, numbers: Numbers) -> Study:
    """Return a study with own numbers, and their sources, in every design and environment.

    Raise ScenarioRefused, with a path into the numbers, if the result is no study.
    """
    given, sources = _values(study), dict(study.sources)
    for part, (plural, _) in PARTS.items():
        for name, base in given[plural].items():
            own = fitting(getattr(numbers, part), base)
            given[plural][name] = over(base, own)
            named = {path: source_of(numbers.sources, f"{part}{path}") for path, _ in leaves(own)}
            sources |= {f"{plural}.{name}{path}": source for path, source in named.items()}
        for name, base in ((given["control"] or {}).get(plural) or {}).items():
            given["control"][plural][name] = over(base, fitting(getattr(numbers, part), base))
    try:
        return read_study(given | {"sources": sources})
    except ScenarioRefused as refused:
        for part, (plural, _) in PARTS.items():
            if refused.path[:1] == (plural,):
                refused.problem += f", laid over {'.'.join(map(str, refused.path[:2]))}"
                refused.path = (part, *refused.path[2:])
        raise


def left_out(study: Study, numbers: Numbers) -> list[str]:
    """Return the numbers that replace nothing in any environment of a study."""
    given = _values(study)["environments"].values()
    laid = {path for base in given for path, _ in leaves(fitting(numbers.environment, base))}
    return [f"environment{path}" for path, _ in leaves(numbers.environment) if path not in laid]


def settings(study: Study, numbers: Numbers) -> list[Setting]:
    """Return every number in the environments of a study over which `numbers` are laid, and all others of the numbers.

    Where all environments have the same number, no environment is named.
    """
    found: dict[tuple[str, str, str], tuple[dict[str, None], dict[str, None]]] = {}
    values = _values(study)["environments"]
    for name, environment in study.environments.items():
        changed = over(plain(environment), fitting(numbers.environment, values[name]))
        for path, value in leaves(changed):
            word, reason = origin(study.source_of(f"environments.{name}{path}"))
            names, reasons = found.setdefault((path[1:], render(value), word), ({}, {}))
            names[name] = reasons[reason] = None
    rows = []
    for (path, value, word), (names, reasons) in found.items():
        place = path if len(names) == len(study.environments) else f"{', '.join(names)}: {path}"
        rows.append(Setting(place, value, word, "; ".join(filter(None, reasons))))
    for part, unit in (("design", ""), ("prices", f" {numbers.prices.currency}" if numbers.prices else "")):
        for path, value in leaves(plain(getattr(numbers, part)) or {}, part):
            rows.append(Setting(path, f"{render(value)}{unit}", *origin(source_of(numbers.sources, path))))
    return rows


def origin(source: str | None) -> tuple[str, str]:
    """Return (origin of a source's number, its reason or address)."""
    for begins, word in ORIGINS.items():
        if source is not None and source.startswith(begins.rstrip(": ")):
            return word, source if word == "published" else source.removeprefix(begins.rstrip(": ")).lstrip(": ")
    return NOT_STATED, ""


# Plain values


def fitting(own: dict[str, Any], base: dict[str, Any]) -> dict[str, Any]:
    """Return own values without the maps for which the base has no map."""
    return {
        key: fitting(inner, base[key]) if isinstance(inner, dict) else inner
        for key, inner in own.items()
        if not isinstance(inner, dict) or base[key] is not None
    }


def over(base: dict[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    """Return values with own values in their place, key by key."""
    return base | {
        key: over(base.get(key) or {}, inner) if isinstance(inner, dict) and not inner.keys() >= WHOLE else inner
        for key, inner in own.items()
    }


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the values in maps that are neither map nor text, with their paths."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, f"{path}.{key}")
    elif not isinstance(value, str):
        yield path, value


def _values(study: Study) -> dict[str, Any]:
    """Return a study as the plain values that a file holds."""
    return msgspec.json.decode(msgspec.json.encode(study))
