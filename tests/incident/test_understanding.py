"""Incidents from any combination of logs and exports."""

from __future__ import annotations

import pytest
from kept_logs import DATA, exports, logs

from hawb.exports.untrusted import ImportRefused
from hawb.incident.understanding import read_exports, understand
from hawb.scenario.verbs import Kill

STORY = DATA / "logs" / "3.10" / "unsynchronised-mirror-promoted"


def test_incident_lists_changes_that_prevent_the_loss():
    incident = understand([STORY], exports(STORY, "before"))
    (kept,) = incident.keepers
    assert kept.harm.queue == "ha.orders"
    assert {one.change.what for one in kept.changed if one.kept == 100} >= {"ha-sync-mode: automatic"}
    assert isinstance(incident.reconstructed.scenario.steps[kept.harm.step].verb, Kill)


def test_exports_may_be_in_any_order():
    files = exports(STORY, "before")
    found = [understand([STORY], given, keepers=False).reconstructed for given in (files, files[::-1])]
    assert found[0] == found[1]


def test_listing_from_after_is_recognised():
    incident = understand([STORY], exports(STORY, "after"), keepers=False)
    assert "listed_after" in {doubt.kind for doubt in incident.reconstructed.doubts}
    (entry,) = incident.reconstructed.scenario.queues
    assert (entry.master, entry.mirrors) == ("n1@10.77.0.1", ("n2@10.77.0.2", "n3@10.77.0.3"))
    assert incident.unsure("ha.orders") == {"messages", "place"}
    assert incident.outcome["queues"]["ha.orders"]["messages"] == incident.reconstructed.depths["ha.orders"]


def test_definitions_from_after_give_no_depths():
    """Definitions name queues without message counts, so a missing count is not 0."""
    [definitions] = [file for file in exports(STORY, "after") if file.name.startswith("definitions")]
    before = exports(STORY, "before")
    incident, alone = (understand([STORY], before, later=later, keepers=False) for later in ([definitions], ()))
    assert incident.reconstructed.depths == {}
    assert incident.reconstructed == alone.reconstructed


def test_log_without_events_has_no_story(tmp_path):
    head = "2026-11-27 08:55:31.694468+00:00 [info] <0.1.0>"
    (tmp_path / "rabbit@a.log").write_text(f"{head} Starting RabbitMQ 3.10.8 on Erlang 25\n{head} node rabbit@b up\n")
    incident = understand([tmp_path])
    assert incident.reconstructed is None and incident.no_scenario
    assert [one.kind for one in incident.cluster_events] == ["node_started"]
    assert incident.unsure("any") == {"messages", "place"}


def test_logs_of_one_node_are_enough():
    (log,) = [file for file in logs(STORY) if file.name.startswith("b")]
    incident = understand([log], exports(STORY, "before"), keepers=False)
    assert incident.reconstructed is not None
    assert len(incident.reconstructed.scenario.cluster.nodes) == 3


def test_unreadable_export_is_refused(tmp_path):
    (tmp_path / "queues.json").write_text("[[[")
    with pytest.raises(ImportRefused):
        understand([STORY], [tmp_path / "queues.json"])


def test_prevention_is_tried_for_messages_of_one_side():
    """They are lost when the sides merge. Autoheal is already in the story as restarts."""
    incident = understand([STORY.with_name("partition-autoheal")])
    assert incident.outcome is not None and incident.outcome["partitions"] and not incident.outcome["losses"]
    (keepers,) = incident.keepers
    kept = {one.change.what for one in keepers.changed if one.kept}
    assert "cluster_partition_handling: pause_minority" in kept
    assert "cluster_partition_handling: autoheal" not in {one.change.what for one in keepers.changed}


def test_listing_without_a_count_gives_no_depth():
    """A listing has no message count for a queue that is down. Its messages are not taken as lost."""
    story = STORY.with_name("wide-partition-ignore")
    listing = read_exports([file for file in exports(story, "after") if not file.name.startswith("definitions")])
    assert "plain.05" in {entry["queue"] for entry in listing.placed} - listing.depths.keys()
    incident = understand([story], exports(story, "before"), later=exports(story, "after"), keepers=False)
    assert "plain.05" not in {doubt.queue for doubt in incident.reconstructed.doubts}
