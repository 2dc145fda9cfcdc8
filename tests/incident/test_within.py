"""Incidents within a requested time span of the logs."""

from __future__ import annotations

from functools import cache

import pytest
from kept_logs import DATA, exports, reading_of
from made_up_story import occurred, us

from hawb.incident.asked import Asked, when
from hawb.incident.steps import TimedStep
from hawb.incident.understanding import Incident, of_reading, read_exports, understand
from hawb.incident.within import begun, lasting
from hawb.scenario import verbs

LOGS = DATA / "logs"
CRASHED = LOGS / "3.10" / "unsynchronised-mirror-promoted"
PARTED = LOGS / "3.10" / "wide-partition-ignore"
A, B, C = (f"n{number}@10.77.0.{number}" for number in (1, 2, 3))


@cache
def incident_of(since: str | None = None, until: str | None = None, story=CRASHED, moment: str = "before") -> Incident:
    ends = [None if one is None else when(one) for one in (since, until)]
    return understand([story], exports(story, moment), since=ends[0], until=ends[1], keepers=False)


def steps_of(incident: Incident) -> list[tuple[str, tuple[str, ...]]]:
    assert incident.reconstructed is not None
    return [(step.name, getattr(step.verb, "nodes", ())) for step in incident.reconstructed.scenario.steps[:-1]]


def ends(incident: Incident) -> dict:
    assert incident.outcome is not None
    return {name: (queue["master"], queue["mirrors"]) for name, queue in incident.outcome["queues"].items()}


def test_span_that_covers_everything_changes_nothing():
    whole, same = incident_of(), incident_of("12:04:00", "12:06:00")
    assert same.reconstructed == whole.reconstructed
    assert same.losses == whole.losses and same.comparison == whole.comparison


def test_story_begins_with_the_first_fault_of_the_span():
    """A node was restarted before the span: its mirror exists, with unknown content."""
    incident = incident_of("12:05:00")
    assert steps_of(incident) == [("stop", (C,)), ("kill", (A,))]
    assert incident.reconstructed.scenario.cluster.down == {}
    assert ends(incident) == ends(incident_of())


def test_node_down_at_the_start_of_the_span_is_down_in_the_story():
    incident = incident_of("12:04:50")
    assert incident.reconstructed.scenario.cluster.down == {B: "stopped"}
    assert steps_of(incident) == [("start", (B,)), ("stop", (C,)), ("kill", (A,))]
    [queue] = incident.reconstructed.scenario.queues
    assert (queue.master, queue.mirrors) == (A, (C,))
    assert "listed_long_before" in {doubt.kind for doubt in incident.reconstructed.doubts}
    assert "place" in incident.unsure("ha.orders")


def test_the_story_ends_with_the_span():
    incident = incident_of(until="12:05:03")
    assert steps_of(incident)[-1] == ("stop", (C,))
    assert ends(incident)["ha.orders"][0] == A
    assert not any(one.certain for one in incident.losses) and not incident.comparison.apart


def test_listing_from_after_does_not_describe_the_end_of_a_span():
    files = exports(CRASHED, "after")
    incident = understand([CRASHED], exports(CRASHED, "before"), later=files, until=when("12:05:03"), keepers=False)
    assert incident.reconstructed.depths == {}


def test_span_without_events_has_no_story():
    incident = incident_of("12:04:46", "12:04:57")
    assert incident.reconstructed is None and incident.no_scenario


def test_story_begins_with_an_ongoing_partition():
    whole = incident_of(story=PARTED)
    [begins] = [one for one in whole.cluster_events if one.kind == "partition_begun"][:1]
    since_us = begins.at_us + 1_000_000
    assert begins.until_us > since_us
    [parted, *_] = [place for place, step in enumerate(whole.reconstructed.scenario.steps)
                    if isinstance(step.verb, verbs.Partition)]  # fmt: skip
    step = TimedStep(begins.at_us, whole.reconstructed.scenario.steps[parted].verb, (begins,))
    assert begun([step], Asked(since_us)) == [step]
    assert begun([step], Asked(begins.until_us)) == []


ALARM, DRAIN = occurred(10, "alarm_set", "a", name="disk"), occurred(10, "node_drained", "a")


@pytest.mark.parametrize(
    ("one", "ended_by", "lasts"),
    [(ALARM, None, True), (ALARM, occurred(20, "alarm_cleared", "a", name="disk"), False),
     (ALARM, occurred(20, "alarm_cleared", "a", name="memory"), True),
     (ALARM, occurred(20, "node_killed", "a"), False), (DRAIN, occurred(20, "node_killed", "b"), True),
     (DRAIN, occurred(20, "node_revived", "a"), False), (DRAIN, occurred(70, "node_revived", "a"), True)],
)  # fmt: skip
def test_story_begins_with_ongoing_alarms_and_maintenance(one, ended_by, lasts):
    verb = verbs.Alarm("a", "disk") if one is ALARM else verbs.Drain("a")
    found = [one, *([ended_by] if ended_by else [])]
    assert [*lasting([TimedStep(one.at_us, verb, (one,))], found, us(60))] == [TimedStep(us(60), verb, (one,))] * lasts


@pytest.mark.parametrize("story", [
    "3.8/promotion-table-kill", "3.10/lost-disk", "3.10/shutdown-of-two-at-once", "4.0/quorum-leader-stopped",
    "4.3/khepri-forgotten-gives-a-majority", "4.3/quorum-grown-and-shrunk",
])  # fmt: skip
def test_story_of_a_span_ends_as_the_whole_or_is_unsure(story):
    reading, given = reading_of(LOGS / story), read_exports(exports(LOGS / story, "before"))
    whole = of_reading(reading, given)
    first_us = whole.reconstructed.begins_us + round(whole.reconstructed.scenario.steps[0].at * 1_000_000)
    part = of_reading(reading, given, span=Asked(first_us + 1_000))
    places = [{name: [queue.get(key) for key in ("master", "mirrors", "leader", "members")]
               for name, queue in incident.outcome["queues"].items()} for incident in (whole, part)]  # fmt: skip
    assert [name for name, place in places[0].items()
            if places[1].get(name) != place and "place" not in part.unsure(name)] == []  # fmt: skip
    assert part.reconstructed.begins_us > whole.reconstructed.begins_us
