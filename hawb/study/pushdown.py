"""The filters that hawb's sources of data answer themselves when Spark hands them down: what each asks of a value."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from pyspark.sql.datasource import (
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    LessThan,
    LessThanOrEqual,
    StringContains,
    StringEndsWith,
    StringStartsWith,
)

TESTS: dict[type[Filter], Callable[[Any, Any], bool]] = {
    EqualTo: operator.eq, GreaterThan: operator.gt, GreaterThanOrEqual: operator.ge, LessThan: operator.lt,
    LessThanOrEqual: operator.le, In: lambda value, given: value in given, StringStartsWith: str.startswith,
    StringEndsWith: str.endswith, StringContains: operator.contains,
}  # fmt: skip
"""(a row's value, the filter's) to whether the row stays."""

BOUNDS: dict[type[Filter], Callable[[int], tuple[int, int]]] = {
    EqualTo: lambda value: (value, value + 1), GreaterThan: lambda value: (value + 1, 2**62),
    GreaterThanOrEqual: lambda value: (value, 2**62), LessThan: lambda value: (0, value),
    LessThanOrEqual: lambda value: (0, value + 1),
}  # fmt: skip
"""The first whole number that a comparison leaves, and the one after the last."""
