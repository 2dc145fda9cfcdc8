"""Publicly described incidents as synthetic logs: hawb finds the published explanation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from kept_logs import DATA

from hawb.incident.cluster_event import KINDS, ClusterEvent
from hawb.incident.reading import read_logs
from hawb.incident.understanding import understand
from hawb.views.incident.incident_report import account
from hawb.views.verdicts.incident import verdict

STORIES = yaml.safe_load((DATA / "public-stories.yaml").read_text(encoding="utf-8"))
KEYS = {"title", "source", "release", "said", "logs", "tells"}


def described(one: ClusterEvent) -> str:
    """Return an event as the story file writes it."""
    ended = one.reason if one.kind in ("synchronisation", "partition_begun") else None
    node = None if one.kind == "synchronisation" else one.node
    return " ".join(filter(None, (one.kind, ended, node, one.queue)))


@pytest.mark.parametrize("story", STORIES, ids=[story["title"] for story in STORIES])
def test_public_incident_is_explained_as_published(story: dict[str, Any], subtests: pytest.Subtests, tmp_path: Path):
    with subtests.test(msg="the entry names its source and what was found out"):
        assert story.keys() >= KEYS and story.keys() <= KEYS | {"events", "verdict", "unread"}
        assert story["source"].startswith("https://")
        assert {one.split()[0] for one in story["tells"]} <= {*KINDS}
        assert bool(story.get("unread")) == (not story["tells"] and not story.get("events"))
    for name, text in story["logs"].items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    found = understand([tmp_path], keepers=False)
    with subtests.test(msg="what happened is read"):
        assert [described(one) for one in found.cluster_events] == story["tells"]
    if "events" in story:
        with subtests.test(msg="each message is read as its kind of event"):
            assert [event.kind for event in read_logs([tmp_path]).events] == story["events"]
    if "verdict" in story:
        with subtests.test(msg="the verdict says no more than the logs do"):
            assert verdict(found, account(found).names).sentence == story["verdict"]


def test_node_without_a_log_is_simulated_as_killed(tmp_path):
    gone = next(story for story in STORIES if story["title"].startswith("an alarm of memory"))
    (tmp_path / "rabbit@hare.log").write_text(gone["logs"]["rabbit@hare.log"], encoding="utf-8")
    found = understand([tmp_path], keepers=False)
    assert found.comparison and found.comparison.apart == () and found.comparison.equal == 3


def test_report_names_the_rules_used_for_a_release_without_own_ones(tmp_path):
    old = next(story for story in STORIES if story["title"].startswith("a node of a release without rules"))
    (tmp_path / "rabbit@hare.log").write_text(old["logs"]["rabbit@hare.log"], encoding="utf-8")
    reconstructed = understand([tmp_path], keepers=False).reconstructed
    assert "hawb does not have the rules of RabbitMQ 3.6.6: it uses those of the nearest release." in {
        doubt.text for doubt in (reconstructed.doubts if reconstructed else ())
    }  # fmt: skip
