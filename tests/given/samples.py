"""Samples of parameters: `make test` takes some, `make test-full` the others, or some that change from day to day.

`make test-long` takes all.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Sequence
from typing import TypeVar

import pytest
from changed_tests import changed_files
from conftest import DAY, LONG

from hawb.study.same_code import COMPILED

Value = TypeVar("Value")


def sample(values: Iterable[object], count: int = 1) -> list[object]:
    """Return parameters of which `count`, evenly spread, are as given and the others are marked `full`.

    A tuple is several parameters.
    """
    given = list(values)
    kept = {place * len(given) // count for place in range(count)} if count else set()
    return [value if place in kept else _full(value) for place, value in enumerate(given)]


def each_third(values: Iterable[object]) -> list[object]:
    """Return parameters of which all but each third are marked `full`."""
    given = list(values)
    return sample(given, -(-len(given) // 3))


def todays(values: Iterable[Value], count: int = 1) -> list[Value]:
    """Return `count` of values, others on each day, and with HAWB_LONG all.

    They come in their order, so that after some days each was taken once. HAWB_DAY repeats the sample of another day.
    """
    given = list(values)
    return given if LONG else [given[(DAY * count + place) % len(given)] for place in range(count)]


def of_the_day(values: Iterable[object], count: int = 1, *marks: pytest.MarkDecorator) -> list[object]:
    """Return parameters with marks, of which all that are not of the day (`todays`) are also marked `long`.

    A tuple is several parameters.
    """
    given = list(values)
    taken = todays(range(len(given)), count)
    return [
        pytest.param(*_several(value), marks=[*marks, *[pytest.mark.long] * (place not in taken)])
        for place, value in enumerate(given)
    ]


def of_kernels(names: Sequence[str]) -> dict[str, pytest.MarkDecorator]:
    """Return the mark for the tests of each kernel: `kernel` for one, another one each day, and `long` for the others.

    A kernel takes a minute or more to compile. None is left out if a file from which they are compiled has changed
    since the branch left `origin/main`, or if git cannot tell.
    """
    sources = tuple(f"hawb/{place}" for place in COMPILED)
    try:
        has_changed = any(name.startswith(sources) for name in changed_files())
    except (OSError, subprocess.CalledProcessError):
        has_changed = True
    taken = names if has_changed else todays(names)
    return {name: pytest.mark.kernel if name in taken else pytest.mark.long for name in names}


def _full(value: object) -> object:
    return pytest.param(*_several(value), marks=pytest.mark.full)


def _several(value: object) -> tuple[object, ...]:
    return value if isinstance(value, tuple) else (value,)
