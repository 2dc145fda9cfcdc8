from __future__ import annotations

from hawb.planning.upgrade import Stage
from hawb.views.planning.upgrade_figure import sentence, upgrade_figure

FIRST = Stage("a", "ready", (), 0.0, 0.0, 1.0, 31.0, 36.0)
SECOND = Stage("b", "synced", ("q",), 31.0, 40.0, 41.0, 71.0, 76.0)
GONE = Stage("b", "synced", ("q",), 31.0, 40.0, 41.0, 71.0, None)


def test_title_states_duration_and_waits():
    assert sentence([FIRST]) == "1 node restarts in 36 s; no node is waited for."
    assert sentence([FIRST, SECOND]) == "2 nodes restart in 76 s; the longest wait is 4 s, before b."
    assert sentence([FIRST, GONE]).endswith("before b; b does not come back.")
    assert sentence([]) == "No node is restarted."


def test_wide_bands_are_labelled_and_others_are_in_the_legend():
    figure = upgrade_figure([FIRST, GONE])
    (axes,) = figure.axes
    assert [text.get_text() for text in axes.texts] == ["away 30 s", "away 30 s", "does not come back"]
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["wait", "stops", "boots"]
