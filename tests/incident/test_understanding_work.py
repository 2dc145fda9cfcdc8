"""The work of reading an incident grows with its logs, not with their square; too long a story is not played."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from counted_work import growth, lines_run
from made_up_story import occurred, reconstruction_of
from msgspec.structs import replace

from hawb.incident import clocks, compared, entries, following, understanding
from hawb.incident.cluster_event import ClusterEvent
from hawb.incident.events import Event
from hawb.incident.losses import tried
from hawb.incident.understanding import understand
from hawb.scenario.outcome import outcome
from hawb.scenario.run import Run
from hawb.views.incident import incident_report
from hawb.views.incident.figure import Leg
from hawb.views.incident.headline import _both
from hawb.views.incident.incident_report import account, report_of

BEGINS = datetime(2026, 11, 27, 9, tzinfo=UTC)
NODES = ("n1@10.77.0.1", "n2@10.77.0.2")
ALARM = f"memory resource limit alarm {{}} on node {NODES[0]}."
RESTART = ("SIGTERM received - shutting down", "Starting RabbitMQ 3.10.8 on Erlang 25.2.3 [jit]")
STOPPED = """
scenario: A node stops
cluster: {nodes: [a, b], version: "3.10"}
queues:
  - {queue: q, master: a}
  - {queue: p, master: b}
steps:
  - {stop: b, at: 1}
  - {start: b, at: 60}
  - {wait: 0, at: 90}
"""


def log(folder: Path, *said: str, node: str = NODES[0], apart_s: float = 20) -> Path:
    """Write the log of a node that says something at such intervals."""
    lines = ["Starting RabbitMQ 3.10.8 on Erlang 25.2.3 [jit]", f" node           : {node}", *said]
    times = [BEGINS + timedelta(seconds=number * apart_s) for number in range(len(lines))]
    written = [f"{at:%Y-%m-%d %H:%M:%S.%f}+00:00 [info] <0.{number}.0> {line}\n"
               for number, (at, line) in enumerate(zip(times, lines, strict=True))]  # fmt: skip
    folder.mkdir(exist_ok=True)
    (folder / f"{node}.log").write_text("".join(written))
    return folder


def test_the_lines_of_a_message_are_joined_once(monkeypatch: pytest.MonkeyPatch) -> None:
    joined: list[str] = []

    class Counted(entries.Entry):
        def __setattr__(self, name: str, value: object) -> None:
            joined.append(name)
            super().__setattr__(name, value)

    monkeypatch.setattr(entries, "Entry", Counted)
    first = "2026-11-27 08:55:31.694468+00:00 [info] <0.400.0> it says"
    (entry,) = entries.Reader().entries([first, *["more\n"] * 1000])
    assert entry.text == "it says" + "\nmore" * 1000
    assert joined == ["text"]


@pytest.mark.parametrize(("line", "most"), [("\n", 12), ("x\n", 30)])
def test_short_lines_are_not_unwrapped(line: str, most: int) -> None:
    assert lines_run(lambda: [*entries.Reader().entries([line] * 100)])["incident"] < 100 * most


def test_many_alarms_are_matched_in_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compared, "MOST_TOGETHER", 20)

    def work(size: int) -> Counter[str]:
        seen = [(at, ClusterEvent(kind="alarm_set", at_us=at, node="a")) for at in range(0, size * 9, 9)]
        expected = [(at + 2, place, {"node": "a"}) for place, (at, _) in enumerate(seen)]
        pairs = [*compared._paired("alarm_set", seen, expected)]
        assert [pair.verdict for pair in pairs].count("equal") > 0.8 * size
        return lines_run(lambda: [*compared._paired("alarm_set", seen, expected)])

    assert growth(work, 40)["incident"] < 1.1


@pytest.mark.parametrize("said", [
    [ALARM.format("set"), ALARM.format("cleared")],
    [f"rabbit on node '{NODES[1]}' down", f"rabbit on node '{NODES[1]}' up"],
    RESTART,
])  # fmt: skip
def test_the_work_of_a_report_grows_with_the_logs(
    said: Sequence[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(understanding, "MOST_CHANGES", 0)

    def work(size: int) -> Counter[str]:
        folder = log(tmp_path / str(size), *said * size)
        return lines_run(lambda: report_of(account(understand([folder]))))

    grown = growth(work, 20)
    assert (grown["incident"] < 1.2, grown["views"] < 1.2) == (True, True), grown


def test_a_long_story_is_printed_in_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(incident_report, "MOST_STORY", 2)
    (story, *_) = report_of(account(understand([log(tmp_path / "logs", *RESTART * 2)]))).parts
    assert story.table is not None
    assert len(story.table.rows) == 2
    assert story.notes[-1] == "These are the first 2 of 5 sentences; --json and -o have all of them."


def test_two_masters_are_found_in_one_pass() -> None:
    def work(size: int) -> Counter[str]:
        legs = [Leg("ab"[number % 2], number * 10, number * 10 + 15) for number in range(size)]
        return lines_run(lambda: [*_both(legs)])

    assert growth(work, 50)["views"] < 1.1
    assert [*_both([Leg("a", 0, 15), Leg("b", 10, 25), Leg("b", 12, 13), Leg("a", 30, 40)])] == [
        (10, 12), (12, 13), (13, 15),
    ]  # fmt: skip


def test_too_many_changes_are_not_played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = log(tmp_path / "logs", *RESTART)
    assert understand([folder]).no_scenario == ""
    monkeypatch.setattr(understanding, "MOST_CHANGES", 1)
    found = understand([folder])
    assert (found.run, found.no_scenario) == (None, (
        "the logs show 3 faults and changes, and hawb plays at most 1 as one scenario: give only the logs around the"
        " incident"
    ))  # fmt: skip


def test_a_large_story_is_played_once(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [occurred(5, "node_killed", "a")]  # no step of the story kills a, so all rounds differ
    played: list[int] = []

    def counted(*arguments: object) -> following.Played:
        played.append(1)
        return plays(*arguments)

    plays = following._played
    monkeypatch.setattr(following, "_played", counted)
    for most, times in ((following.MOST_WORK, following.DRAWS), (1, 1)):
        played.clear()
        monkeypatch.setattr(following, "MOST_WORK", most)
        following.play(reconstruction_of(STOPPED), found)
        assert len(played) == times


def test_so_many_messages_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    story = reconstruction_of(STOPPED)
    played = outcome(Run.of(story.scenario))
    for most, count in ((30_000, 11), (8, 2), (1, 1)):
        monkeypatch.setattr("hawb.incident.losses.MOST_TRIED", most)
        again = tried(story, played)
        assert again is not None
        assert len(again.steps) == len(story.scenario.steps) + 2 * count


def test_clocks_of_more_nodes_than_a_cluster_has_are_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    ends = (0, "a", "b"), (70, "b", "a")
    events = [Event(at_us=at_us, node=one, peer=other, kind="node_up") for at_us, one, other in ends]
    assert clocks.compared(events)["b"].pairs == 1
    monkeypatch.setattr(clocks, "MOST_NODES", 1)
    assert [replace(one, node="") for one in clocks.compared(events).values()] == [clocks.Clock("", 0, 0, 0, None)] * 2
