"""Figures in a notebook have a text alternative."""

from __future__ import annotations

import sys

from IPython.core.formatters import DisplayFormatter
from ipywidgets.widgets.widget import _instances

from hawb.views.figures import drawn

WIDGET = "application/vnd.jupyter.widget-view+json"


def test_notebook_shows_a_figure_with_its_sentence_as_text_alternative(monkeypatch):
    with drawn('a "long" sentence about < and >, ' * 5, (4, 2)) as (figure, _panels):
        pass
    shown, _ = DisplayFormatter().format(figure)
    html = _instances[shown[WIDGET]["model_id"]].value
    sentence = "a &quot;long&quot; sentence about &lt; and &gt;,"
    assert html.startswith("<img ") and f'alt="{" ".join([sentence] * 5)}" src="data:image/png;base64,' in html
    assert shown["text/plain"].startswith("<Figure size")
    monkeypatch.setitem(sys.modules, "ipywidgets", None)  # not installed
    assert WIDGET not in DisplayFormatter().format(figure)[0]
