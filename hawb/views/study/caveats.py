"""Sentences on how far a study's means hold.

They are about exact means beside the simulated ones (`hawb.study.markov_chain`), and about failures that a control
never had (`hawb.study.controls`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from hawb.study.markov_chain import EXACT, NO_EXACT
from hawb.views.formatting import counted, listing, shown

Row = Mapping[str, Any]

COLUMN = "exact"
CALCULATED = (
    "The exact mean is calculated from a Markov chain of nodes that fail and are repaired, without trials. It checks"
    " the simulation."
)
OUTSIDE = (
    "The exact mean is outside the simulated interval: {}. By chance, this happens in one of twenty rows. If it is"
    " not chance, the trials had too few of the rare, long outages: simulate more trials. If it stays outside, please"
    " report it."
)
NONE = "No exact mean for {}: {}."
UNSEEN = (
    "Some trials had failures in years in which the control had none: {}. Only the engine's few trials show these, so"
    " the interval of the mean can be too narrow. Play more `pairs`, or give a control that fails in the same way. If"
    " the control had no failure in any of the years in which the engine's trials had some, the mean is the plain one."
)


def on_exact(rows: Iterable[Row]) -> tuple[str, ...]:
    """Return how exact means were found, where they are outside of the interval, and why there are none for others.

    Return nothing for rows of a measure that never has any.
    """
    rows = list(rows)
    found = [CALCULATED] if any(EXACT in row for row in rows) else []
    if places := [f"{row['design']} in {row['environment']}" for row in rows if is_outside(row)]:
        found.append(OUTSIDE.format(listing(places)))
    return (*found, *_none(rows))


def is_outside(row: Row) -> bool:
    """Return True if a mean's interval does not contain the exact mean."""
    return EXACT in row and row["mean_low"] is not None and not row["mean_low"] <= row[EXACT] <= row["mean_high"]


def _none(rows: list[Row]) -> Iterator[str]:
    """Yield a sentence for each reason why designs have no exact mean."""
    designs = {environment: [row["design"] for row in rows if row["environment"] == environment]
               for environment in dict.fromkeys(row["environment"] for row in rows)}  # fmt: skip
    reasons: dict[str, dict[str, list[str]]] = {}
    for row in rows:
        if NO_EXACT in row:
            reasons.setdefault(row[NO_EXACT], {}).setdefault(row["environment"], []).append(row["design"])
    for reason, places in reasons.items():
        where = (shown(place) if those == designs[place] else f"{listing(those)} in {shown(place)}"
                 for place, those in places.items())  # fmt: skip
        yield NONE.format("; ".join(where), reason)


def on_controls(rows: Iterable[Row], words: Mapping[str, str]) -> tuple[str, ...]:
    """Return a sentence on trials with failures that the control did not have; nothing if there are none.

    `words` has the measures in words.
    """
    places = [f"{counted(row['unseen_by_control'], 'trial')} of {shown(row['design'])} in {shown(row['environment'])}"
              f" ({words[row['measure']]})" for row in rows if row.get("unseen_by_control")]  # fmt: skip
    return (UNSEEN.format(listing(places)),) if places else ()
