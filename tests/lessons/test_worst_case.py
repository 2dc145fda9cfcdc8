"""The worst-case search as notebook 26 calls it. test_explore.py tests what it finds."""

from __future__ import annotations

import pytest

from hawb.lessons.worst_case import QUEUE, mirrored, quorum, worst


def test_found_story_is_shown_as_a_scenario():
    cluster = mirrored(promote_on_failure="always")
    before = cluster.outcome
    found = worst(cluster, "lost-confirmed", 1, 1, "stop kill")
    assert found.cluster.losses[0]["cause"] == "unsynchronised_promotion"
    question, answer, *_ = repr(found).splitlines()
    assert question == "# Is every confirmed message safe?"
    assert answer.startswith("# ✕ No: confirmed messages of orders are lost after 2 steps: stop a; kill b.")
    assert cluster.outcome == before


def test_absence_of_a_story_is_stated():
    found = worst(quorum(), "lost-confirmed", 1, 0)
    lines = repr(found).splitlines()
    assert lines[:2] == [
        "Is every confirmed message safe?", "✓ Yes: no confirmed message is lost within 1 fault and no operations.",
    ]  # fmt: skip
    with pytest.raises(ValueError, match="no story"):
        _ = found.cluster


def test_search_uses_the_requested_policy():
    cluster = mirrored("all", promote_on_shutdown="always")
    assert cluster.queues[QUEUE]["mirrors"] == ["b", "c"]
    assert cluster.queues[QUEUE]["messages"] == 5
