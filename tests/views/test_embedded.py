"""Matplotlib figures on light and dark pages."""

from __future__ import annotations

import re

from hawb.planning.upgrade import Stage
from hawb.views import style
from hawb.views.embedded import OF_THE_PAGE, svg
from hawb.views.planning.upgrade_figure import upgrade_figure

STAGES = [Stage("rabbit@a", "ready", (), 0.0, 0.0, 1.0, 31.0, 36.0)]


def test_background_and_text_use_page_colours_and_data_their_own():
    drawn = svg(upgrade_figure(STAGES), "a node's turn")
    for colour, name in OF_THE_PAGE.items():
        assert name in style.LIGHT and name in style.DARK
        assert not re.search(f"(?<!, ){colour}", drawn, re.IGNORECASE)
    assert "var(--hawb-ground, #FFFFFF)" in drawn and "var(--hawb-ink, #222222)" in drawn
    assert style.LOOKS["running"].colour.lower() in drawn


def test_same_figure_gives_the_same_bytes():
    assert svg(upgrade_figure(STAGES), "x") == svg(upgrade_figure(STAGES), "x")
