"""Calls of the system that fail: the n-th of those that open, write, synchronise or rename what is written."""

from __future__ import annotations

import os
from typing import Any
from unittest import mock

CALLS = ("open", "write", "fsync", "rename", "replace", "link")
"""The calls by which a file comes to its place."""


class FailingWrites:
    """While it is entered, one call of a name fails with an error number, the others do as ever; of `write` half of
    what is written is."""

    def __init__(self, call: str, at: int, number: int) -> None:
        self._call, self._at, self._number = call, at, number
        self._real = getattr(os, call)
        self._count = 0
        self.failed = False

    def __enter__(self) -> FailingWrites:
        self._patch = mock.patch.object(os, self._call, self._called)
        self._patch.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: Any) -> None:
        self._patch.__exit__(kind, error, trace)

    def _called(self, *given: Any, **named: Any) -> Any:
        self._count += 1
        if self._count != self._at + 1:
            return self._real(*given, **named)
        self.failed = True
        if self._call == "write":
            self._real(given[0], bytes(given[1])[: len(given[1]) // 2])
        raise OSError(self._number, os.strerror(self._number))
