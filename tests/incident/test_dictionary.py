"""The page of what logs tell is what the tables are."""

from __future__ import annotations

from pathlib import Path

from hawb.incident.dictionary import page


def test_the_page_is_of_this_version():
    """Written anew by `python -m hawb.incident.dictionary`."""
    assert (Path(__file__).parents[2] / "data" / "log-events.md").read_text(encoding="utf-8") == page()
