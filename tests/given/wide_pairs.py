"""Wide stories with ten queues each, in which each two settings meet: an array of triples takes half a minute, and its
stories have fifty queues, to be played for minutes. `make test-long` has those."""

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
    """The covering array of a round, of pairs."""
    with mock.patch.object(wide_settings, "STRENGTH", 2):
        return wide_settings.rows.__wrapped__(seed, deal, version)


rows = wide_settings.rows if LONG else rows_of_pairs


@contextmanager
def pairs() -> Iterator[None]:
    """In a `with` block wide stories have these settings."""
    wide_stories.wide_story.cache_clear()
    with mock.patch.object(wide_stories, "rows", rows):
        yield
    wide_stories.wide_story.cache_clear()
