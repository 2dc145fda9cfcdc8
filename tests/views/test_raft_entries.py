"""Raft logs as single entries."""

from __future__ import annotations

from views_outcomes import LEADER_ALONE

from hawb.engine.raft_groups.group import STORE
from hawb.scenario.load import load
from hawb.scenario.run import Run
from hawb.views.cluster.raft_entries import LATEST, logs


def entries(text: str, queue: str) -> dict | None:
    """Return the logs at the end of a scenario."""
    run = Run.of(load(text))
    return logs(run.moment().state, run.settings.names, queue)


def test_logs_are_aligned_by_index():
    found = entries(LEADER_ALONE, "q")
    members = {member["node"]: member for member in found["members"]}
    assert {len(member["entries"]) for member in members.values()} == {found["last"] - found["first"] + 1}
    alone, led = members["a"], next(one for one in members.values() if one["look"] == "leader")
    assert (alone["look"], alone["role"]) == ("leader_alone", "leader")
    assert led["term"] > alone["term"]
    uncommitted = [entry for entry in alone["entries"] if entry and not entry["committed"]]
    assert len(uncommitted) == 3
    assert all(entry["text"].startswith("enqueue(") for entry in uncommitted)
    assert "not known to be committed" in uncommitted[0]["told"]
    here, there = (one["entries"][alone["commit"] - found["first"] + 1] for one in (alone, led))
    assert (here["term"], there["term"]) == (alone["term"], led["term"])


def test_long_log_shows_its_latest_entries():
    found = entries(LEADER_ALONE.replace("count: 5", "count: 500"), "q")
    assert found["last"] - found["first"] + 1 == LATEST
    assert found["members"][0]["earlier"] == found["first"] - 1


def test_mirrored_queue_has_no_log_but_the_metadata_store_has():
    steps = "steps: [{declare: {queue: q, node: a}}]"
    assert entries(f"scenario: s\ncluster: {{nodes: [a], version: '3.10'}}\n{steps}\n", "q") is None
    store = entries(f"scenario: s\ncluster: {{nodes: [a], version: '4.3'}}\n{steps}\n", STORE)
    assert store["title"] == "Raft log of the metadata store"
