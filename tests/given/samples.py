"""Samples of parameters: `make test` takes some, `make test-full` the others."""

from __future__ import annotations

from collections.abc import Iterable

import pytest


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


def _full(value: object) -> object:
    return pytest.param(*(value if isinstance(value, tuple) else (value,)), marks=pytest.mark.full)
