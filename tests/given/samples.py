"""Samples of parameters: `make test` takes the first, `make test-full` the others."""

from __future__ import annotations

from collections.abc import Iterable

import pytest


def sample(values: Iterable[object], count: int = 1) -> list[object]:
    """Return parameters of which all but the first `count` are marked `full`; a tuple is several parameters."""
    given = list(values)
    marked = (value if isinstance(value, tuple) else (value,) for value in given[count:])
    return [*given[:count], *(pytest.param(*value, marks=pytest.mark.full) for value in marked)]
