"""The matrix of nodes and queues of a forecast: a labelled cell for each pair."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from views_outcomes import HOSTILE

from hawb.planning.safe_to_stop import Effect, Forecast
from hawb.views.formatting import shown
from hawb.views.planning import forecast_matrix
from hawb.views.planning.forecast_page import rows

SVG = "{http://www.w3.org/2000/svg}"


def forecasts(queue: str = "q", node: str = "a", many: int = 1) -> list[Forecast]:
    lost = tuple(Effect(f"{queue}{at}", many - at, 0, False, 1.0, "x") for at in range(many))
    kill = tuple(Effect(effect.queue, 0, 0, True, 1.0, "x") for effect in lost)
    return [Forecast(node, {"stop": lost, "kill": kill}, (), ()), Forecast("b", {"stop": (), "kill": ()}, (), ())]


def drawn(found: list[Forecast]) -> ElementTree.Element:
    return ElementTree.fromstring(forecast_matrix.svg(found, rows(found)))


def test_cell_describes_stop_and_kill_if_they_differ():
    picture = drawn(forecasts())
    assert len([*picture.iter(f"{SVG}rect")]) == 2
    assert [one.get("class") for one in picture.iter(f"{SVG}g")] == ["no", ""]
    said = [one.text for one in picture.iter(f"{SVG}text") if one.get("class") == "said"]
    assert said == ["stop: ▼ loses 1", "kill: ◌ down"]


def test_omitted_rows_are_counted():
    picture = drawn(forecasts(many=forecast_matrix.MOST_ROWS + 3))
    assert len([*picture.iter(f"{SVG}rect")]) == 2 * forecast_matrix.MOST_ROWS
    assert "and 3 more queues, which are affected less" in [one.text for one in picture.iter(f"{SVG}text")]


@pytest.mark.parametrize("name", [*HOSTILE, "x" * 300])
def test_names_are_escaped(name: str):
    picture = drawn(forecasts(name, name))
    texts = [one.text or "" for one in picture.iter(f"{SVG}text")]
    assert max(map(len, texts)) <= forecast_matrix.NAMES // forecast_matrix.LETTER
    assert [one.text for one in picture.iter(f"{SVG}title")] == [shown(name), "b", shown(f"{name}0")]
