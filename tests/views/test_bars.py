"""Bar charts of numbers."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from views_outcomes import HOSTILE

from hawb.views import bars
from hawb.views.formatting import shortened, shown
from hawb.views.style import SLIM

SVG = "{http://www.w3.org/2000/svg}"


def widths(drawn: str) -> list[float]:
    return [float(one.get("width")) for one in ElementTree.fromstring(drawn).iter(f"{SVG}rect")]


def test_bars_are_proportional_and_labelled():
    drawn = bars.svg({"error": 2, "note": 4, "none": 0})
    assert widths(drawn) == [bars.LONGEST / 2, bars.LONGEST, 0]
    texts = [one.text for one in ElementTree.fromstring(drawn).iter(f"{SVG}text")]
    assert texts == ["error", "2", "note", "4", "none", "0"]
    assert drawn.count('class="no"') == 1 and 'aria-label="error: 2; note: 4; none: 0"' in drawn
    assert widths(bars.svg({})) == [] and widths(bars.svg({"a": 0})) == [0]


@pytest.mark.parametrize("name", [*HOSTILE, "x" * 300])
@pytest.mark.parametrize("slim", [False, True])
def test_names_are_escaped(name: str, slim: bool):
    drawn = bars.svg({name: 1}, {name: name}, slim=slim)
    room, behind = (SLIM, SLIM - bars.SLIM_LONGEST) if slim else (bars.NAMES, bars.WHOLE - bars.NAMES - bars.LONGEST)
    label, found = (one.text for one in ElementTree.fromstring(drawn).iter(f"{SVG}text"))
    assert label == shown(shortened(name, room // bars.LETTER - 2))
    assert found == shown(shortened(name, behind // bars.LETTER - 2))
    assert [one.text for one in ElementTree.fromstring(drawn).iter(f"{SVG}title")] == [shown(name)]
