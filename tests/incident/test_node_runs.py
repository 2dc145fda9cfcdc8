"""Node runs, from boot to end, of real and synthetic logs."""

from __future__ import annotations

from collections import Counter

import pytest
from counted_work import growth, lines_run
from kept_logs import DRAWN, STORIES, reading_of, scenario_of, story_of, title
from samples import each_third

from hawb.incident.events import Event
from hawb.incident.node_runs import NodeRun, node_runs
from hawb.scenario import verbs

SECOND_US = 1_000_000


def found(story) -> list[NodeRun]:
    reading = reading_of(story)
    return node_runs(reading.events, reading.clocks)


@pytest.mark.parametrize("story", each_third(story for story in STORIES if story not in DRAWN), ids=title)
def test_runs_end_as_the_driver_ended_them(story):
    """Whatever was stopped or killed is told as that, at its step, and nothing else ended from the first step on, but
    what a partition makes pause and a new member's own restart. In stories drawn at random the driver has nodes boot
    besides, to reset them; there what is found is measured (`measured_stories`)."""
    facts = story_of(story)
    names, scenario = facts["names"], scenario_of(story)
    begun = sorted((at_s, place) for at_s, place in facts["begun"] if place is not None and place >= 0)
    ended = sorted((life.until_us / 1e6, names[life.node], life.ended_by) for life in found(story) if life.until_us)
    result = [(node, how, at_s) for at_s, node, how in ended if at_s >= begun[0][0] - 1]
    refused = {error["step"] for error in facts.get("errors", ())}
    down = {*scenario.cluster.down}
    expected = []
    for at_s, place in begun:
        verb = scenario.steps[place].verb
        if isinstance(verb, verbs.Stop | verbs.Kill | verbs.PowerOff):
            how = "stopped" if isinstance(verb, verbs.Stop) else "killed"
            expected += [(node, how, at_s) for node in verb.nodes if node not in down]
            down |= {*verb.nodes}
        elif isinstance(verb, verbs.Wipe) and verb.node not in down:
            expected.append((verb.node, "killed", at_s))
            down.add(verb.node)
        elif isinstance(verb, verbs.Start):
            down -= {*verb.nodes}
        elif isinstance(verb, verbs.Join):
            # The driver kills a node that was refused.
            expected.append((verb.node, "killed" if place in refused else "stopped", at_s))
    by_itself = [one for one in result if one[1] == "paused"]
    assert [one[:2] for one in result if one not in by_itself] == [one[:2] for one in expected]
    for (_, _, seen_s), (_, _, at_s) in zip([one for one in result if one not in by_itself], expected, strict=True):
        assert at_s - 0.5 <= seen_s <= at_s + 30
    handled = scenario.cluster.cluster_partition_handling != "ignore"
    # A side that notices a partition only as it ends pauses for nothing.
    assert not by_itself or (handled and any(isinstance(step.verb, verbs.Partition | verbs.Cut)
                                              for step in scenario.steps))  # fmt: skip


def logged(*said: tuple[float, str, str, str | None]) -> list[Event]:
    return [Event(at_us=round(at_s * SECOND_US), node=node, kind=kind, peer=peer) for at_s, node, kind, peer in said]


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        # a stop, and a boot
        (logged((1, "a", "node_starting", None), (3, "a", "node_started", None), (9, "a", "node_stopping", None),
              (10, "a", "node_stopped", None), (20, "a", "node_starting", None)),
         [("a", 1, 9, "stopped", 9), ("a", 20, None, None, 20)]),
        # the log breaks off and goes on with a boot
        (logged((1, "a", "node_starting", None), (5, "a", "alarm_set", "a"), (20, "a", "node_starting", None)),
         [("a", 1, 5, "killed", 5), ("a", 20, None, None, 20)]),
        # another one misses it, and it writes no more
        (logged((1, "a", "alarm_set", "a"), (2, "b", "alarm_set", "a"), (7, "b", "node_down", "a"),
              (9, "b", "alarm_cleared", "a")),
         [("a", 1, 7, "killed", 1), ("b", 2, None, None, 9)]),
        # it is missed and goes on
        (logged((1, "a", "alarm_set", "a"), (2, "b", "alarm_set", "a"), (7, "b", "node_down", "a"),
              (15, "a", "node_down", "b")),
         [("a", 1, None, None, 15), ("b", 2, None, None, 15)]),
        # both miss each other, whoever writes last
        (logged((1, "a", "alarm_set", "a"), (2, "b", "alarm_set", "a"), (7, "a", "node_down", "b"),
              (15, "b", "node_down", "a")),
         [("a", 1, None, None, 15), ("b", 2, None, None, 15)]),
        # it pauses
        (logged((1, "a", "node_starting", None), (9, "a", "pause_begun", None), (9, "a", "node_stopping", None)),
         [("a", 1, 9, "paused", 9)]),
        # it is stopped while it pauses
        (logged((1, "a", "node_starting", None), (9, "a", "pause_begun", None), (9, "a", "node_stopping", None),
              (15, "a", "node_halting", None), (20, "a", "node_starting", None)),
         [("a", 1, 9, "paused", 9), ("a", 20, None, None, 20)]),
        # autoheal restarts it, which Mnesia notes between two lives
        (logged((1, "a", "node_starting", None), (9, "a", "autoheal_restarting", "b"), (9, "a", "node_stopping", None),
              (10, "a", "node_stopped", None), (11, "a", "partition_seen", "b"), (12, "a", "node_starting", None)),
         [("b", -1, None, None, 12), ("a", 1, 9, "paused", 9), ("a", 12, None, None, 12)]),
        (logged((1, "a", "node_starting", None), (9, "a", "boot_failed", None)), [("a", 1, 9, "failed", 9)]),
        # Erlang says something before the broker does
        (logged((1, "a", "leader_elected", None), (2, "a", "node_starting", None)), [("a", 2, None, None, 2)]),
        # the log begins as it is stopped, a moment before it boots
        (logged((1, "a", "node_signalled", None), (4, "a", "node_starting", None)),
         [("a", 1, 1, "stopped", 1), ("a", 4, None, None, 4)]),
        # its own log is not there
        (logged((1, "b", "alarm_set", "b"), (2, "b", "rabbit_up", "a"), (7, "b", "rabbit_down", "a"),
              (8, "b", "node_down", "a"), (9, "b", "rabbit_up", "a"), (12, "b", "alarm_cleared", "b")),
         [("b", 1, None, None, 12), ("a", 2, 7, "unknown", 7), ("a", 9, None, None, 12)]),
        # the logs begin when it has come already, and only Erlang is seen to come back
        (logged((5, "b", "rabbit_down", "a"), (5, "b", "node_down", "a"), (9, "b", "node_up", "a")),
         [("a", 3, 5, "unknown", 5), ("b", 5, None, None, 9), ("a", 9, None, None, 9)]),
        # another one says that it is short of memory; what Erlang calls a node may be a tool
        (logged((5, "b", "alarm_set", "a"), (6, "b", "node_silent", "tool")),
         [("a", 3, None, None, 6), ("b", 5, None, None, 6)]),
    ],
)  # fmt: skip
def test_how_runs_end(events, expected):
    assert [(life.node, life.from_us // SECOND_US, life.until_us and life.until_us // SECOND_US, life.ended_by,
             life.seen_us // SECOND_US) for life in node_runs(events, {})] == expected  # fmt: skip


def test_work_grows_with_the_number_of_times_that_a_node_goes_and_comes():
    def work(size: int) -> Counter[str]:
        about = [(at_s, "a", "rabbit_down" if at_s % 2 else "rabbit_up") for at_s in range(2 * size)]
        restarts = [(at_s + 0.5, "c", "node_starting", None) for at_s in range(0, 2 * size, 2)]
        events = logged(*sorted([*restarts, *((*one, peer) for one in about for peer in "bc")]))
        return lines_run(lambda: node_runs(events, {}))

    assert growth(work, 200)["incident"] < 1.1
