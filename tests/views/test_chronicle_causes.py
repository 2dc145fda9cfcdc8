"""Chains of causes of events."""

from __future__ import annotations

from hawb.views.story.chronicle import causes, noticed

EVENTS = [
    {"event": "node_down", "detail": {}},
    {"event": "node_seen_down", "detail": {"by": []}, "because": 0},
    {"event": "master_down", "detail": {}, "because": 1},
    {"event": "promoted", "detail": {}, "because": 2},
]


def test_nearest_cause_comes_first():
    assert [one["event"] for one in causes(EVENTS, EVENTS[3])] == ["master_down", "node_seen_down", "node_down"]
    assert list(causes(EVENTS, EVENTS[0])) == []


def test_causes_that_no_node_detected_are_left_out():
    assert [one["event"] for one in noticed(EVENTS, EVENTS[3])] == ["master_down", "node_down"]
