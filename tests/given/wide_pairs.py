"""Wide stories with ten queues each that cover pairs of settings.

Those that cover triples take minutes and are for `make test-long`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from unittest import mock

from conftest import LONG

from hawb.conformance import wide_settings, wide_stories
from hawb.conformance.wide_settings import Row


@cache
def rows_of_pairs(seed: int, deal: int, version: str) -> tuple[Row, ...]:
    """Return the covering array of pairs of a round."""
    with mock.patch.object(wide_settings, "STRENGTH", 2):
        return wide_settings.rows.__wrapped__(seed, deal, version)


rows = wide_settings.rows if LONG else rows_of_pairs


@contextmanager
def pairs() -> Iterator[None]:
    """Use these settings for wide stories in a `with` block."""
    wide_stories.wide_story.cache_clear()
    with mock.patch.object(wide_stories, "rows", rows):
        yield
    wide_stories.wide_story.cache_clear()
