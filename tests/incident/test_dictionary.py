"""The page of log events agrees with the tables."""

from __future__ import annotations

from pathlib import Path

from hawb.incident.dictionary import page


def test_page_is_up_to_date():
    """Written anew by `python -m hawb.incident.dictionary`."""
    assert (Path(__file__).parents[2] / "data" / "log-events.md").read_text(encoding="utf-8") == page()
