"""Samples of parameters: `make test` takes some, `make test-full` the others."""

from __future__ import annotations

from collections.abc import Iterable

import pytest


def sample(values: Iterable[object], count: int = 1) -> list[object]:
    """Return parameters of which all but the first `count` are marked `full`; a tuple is several parameters."""
    return [value if place < count else _full(value) for place, value in enumerate(values)]


def each_third(values: Iterable[object]) -> list[object]:
    """Return parameters of which all but each third are marked `full`."""
    return [_full(value) if place % 3 else value for place, value in enumerate(values)]


def _full(value: object) -> object:
    return pytest.param(*(value if isinstance(value, tuple) else (value,)), marks=pytest.mark.full)
