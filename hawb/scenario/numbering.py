"""The name of a step of a scenario: for people its number from 1, in a file its index from 0."""

from __future__ import annotations

SUFFIXES = {1: "st", 2: "nd", 3: "rd"}
TEENS = range(11, 14)


def number(index: int) -> int:
    """Return the number by which people know the step at `index`; the first step is 1."""
    return index + 1


def place(index: int) -> str:
    """Return a step's place in its file and its number: `steps[3] (the 4th step)`."""
    at = number(index)
    suffix = "th" if at % 100 in TEENS else SUFFIXES.get(at % 10, "th")
    return f"steps[{index}] (the {at}{suffix} step)"
