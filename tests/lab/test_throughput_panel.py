from __future__ import annotations

import pytest

from hawb.lab.throughput_panel import ThroughputPanel
from hawb.study.throughput import one_queue


@pytest.fixture
def panel() -> ThroughputPanel:
    return ThroughputPanel()


def test_panel_predicts_both_queue_types(panel: ThroughputPanel):
    asked = {"setup": panel.setup.value, "size_bytes": 1024, "replicas": 3, "in_flight": 1000}
    for name in ("classic", "quorum"):
        assert f"<h4>{name}</h4>" in panel.answer.value
    if panel.setup.value in one_queue("quorum").bases:
        assert str(one_queue("quorum").rate(**asked)).splitlines()[0] in panel.answer.value


def test_prediction_follows_the_choices(panel: ThroughputPanel):
    panel.setup.value = "c5.4xlarge io1 3.8.4"
    before = panel.answer.value
    panel.size.value = "100"
    assert panel.answer.value != before
    assert panel.answer.value.count(" s, from") == 2
    panel.in_flight.value = " "
    assert panel.answer.value.count(" s, from") == 0


WRONG = [("size", "10 MB <b>", "a number: not measured"), ("replicas", "70", "accepted")]


@pytest.mark.parametrize(("field", "value", "says"), WRONG)
def test_unmeasured_choice_is_explained_beside_the_fields(panel: ThroughputPanel, field: str, value: str, says: str):
    getattr(panel, field).value = value
    assert says in panel.answer.value
    assert "<b>" not in panel.answer.value
