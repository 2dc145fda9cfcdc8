"""A sentence that says in which number the designs of a study differ most, as far as the intervals show it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from hawb.study.live import Estimate
from hawb.views.formatting import listing
from hawb.views.study.estimates import Shown, cell_value, cells

MOST_NAMED = 2
"""The maximum number of designs that are named; of more, the first is named and the others are counted."""

TOO_FEW = "There are too few trials to distinguish the designs."
NO_INTERVALS = "Some means have no interval: too few trials."


class _Cell(NamedTuple):
    """A number of one design."""

    design: str
    value: float
    low: float | None
    high: float | None
    text: str


class _Contrast(NamedTuple):
    """The designs with the most and with the least of a number, and the environments in which it is so."""

    environments: list[str]
    most: list[_Cell]
    least: list[_Cell]


def sentence(estimates: Sequence[Estimate], shown: Sequence[Shown]) -> str:
    """Return a sentence on the first number in which designs differ significantly.

    It names the environment with the widest gap. If no design has any of the first number, the sentence says so first.
    """
    contrasts = {each: contrast for each in shown if (contrast := _contrast(estimates, each))}
    none = f"No design has {shown[0].title} in any environment" if _all_none(estimates, shown[0]) else ""
    if not contrasts:
        return f"{none}." if none else _alone(estimates, shown[0])
    contrast = _in_words(estimates, *next(iter(contrasts.items())))
    return f"{none}; {contrast[0].lower()}{contrast[1:]}" if none else contrast


def _all_none(estimates: Sequence[Estimate], shown: Shown) -> bool:
    return not any(cell.value for cells_of in _environments(estimates, shown).values() for cell in cells_of)


def _environments(estimates: Sequence[Estimate], shown: Shown) -> dict[str, list[_Cell]]:
    found: dict[str, list[_Cell]] = {}
    for environment, design in cells(estimates):
        value, low, high = cell_value(estimates, design, environment, shown)
        found.setdefault(environment, []).append(_Cell(design, value, low, high, shown.text(value)))
    return found


def _contrast(estimates: Sequence[Estimate], shown: Shown) -> _Contrast | None:
    """Return the widest difference in which the whole interval of the most is above that of the least."""
    contrasts: dict[tuple, _Contrast] = {}
    environments = _environments(estimates, shown)
    for environment, found in environments.items():
        most, least = max(found, key=lambda cell: cell.value), min(found, key=lambda cell: cell.value)
        high = 0.0 if least.high is None and not least.value else least.high  # a mean of none has no interval
        if most.low is not None and high is not None and most.low > high and most.text != least.text:
            ends = [[cell for cell in found if cell.text == end.text] for end in (most, least)]
            alike = tuple((cell.design, cell.text) for end in ends for cell in end)
            contrasts.setdefault(alike, _Contrast([], *ends)).environments.append(environment)
    return max(contrasts.values(), key=lambda one: one.most[0].value - one.least[0].value, default=None)


def _in_words(estimates: Sequence[Estimate], shown: Shown, contrast: _Contrast) -> str:
    where, most, least = contrast
    everywhere = len(where) > 1 and len(where) == len({environment for environment, _ in cells(estimates)})
    has = "has" if len(most) == 1 else "have"
    fewest = "none" if not least[0].value else f"the fewest ({least[0].text})"
    return (
        f"In {'every environment' if everywhere else listing(where)}, {_names(most)} {has} the most {shown.title} "
        f"({most[0].text}), {_names(least)} {fewest}."
    )


def _names(found: Iterable[_Cell]) -> str:
    names = [cell.design for cell in found]
    if len(names) <= MOST_NAMED:
        return listing(names)
    return f"{names[0]} and {len(names) - 1} others"


def _alone(estimates: Sequence[Estimate], shown: Shown) -> str:
    """Return the sentence for a study in which no difference is significant.

    Where means have no intervals, differences of pairs of trials may still be significant.
    """
    environments = _environments(estimates, shown)
    if any(len(found) > 1 for found in environments.values()):
        has_all = all(cell.low is not None for found in environments.values() for cell in found if cell.value)
        return TOO_FEW if has_all else NO_INTERVALS
    environment, (cell, *_) = next(iter(environments.items()))
    return f"In {environment}, {cell.design} has {cell.text} {shown.title}."
