"""Spans from logs: uptimes, repairs, common failures and censored spans."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from counted_work import growth, lines_run
from made_up_rates import DAY, KNOWN, known_spans

from hawb.incident.events import Event
from hawb.incident.rates import TOGETHER
from hawb.incident.reading import Reading, read_logs
from hawb.incident.spans import KINDS, Span, columns, spans
from hawb.scenario.checkout import data_folder_for
from hawb.study import histories

MINUTE = 60


def spans_of(*said: tuple) -> list[Span]:
    """Return the spans of events (seconds, node, kind, peer, reason or count)."""
    events = []
    for at_s, node, kind, *more in said:
        peer, what = (*more, None, None)[:2]
        about = {"count": what, "queue": "q", "vhost": "/"} if kind.startswith("sync") else {"reason": what}
        events.append(Event(at_us=round(at_s * 1e6), node=node, kind=kind, peer=peer, **about))
    events.sort(key=lambda event: event.at_us)
    return spans("c", Reading(events, {}, [], 0))


def of(found: list[Span], kind: str) -> list[tuple]:
    return [(span.node, span.length_s, span.ended, span.fresh) for span in found if span.kind == kind]


UP = ((0, "a", "vhost_added"), (0, "b", "vhost_added"), (0, "c", "vhost_added"))
END = ((10_000, "a", "vhost_added"),)


def gone(at_s: float, peer: str, seers: str, why: str = "connection_closed") -> tuple:
    return tuple((at_s, seer, "node_down", peer, why) for seer in seers)


def test_kill_ends_an_uptime_and_starts_a_repair():
    found = spans_of(*UP, *gone(100, "b", "ac"), (400, "b", "node_starting"), (405, "b", "node_started"), *END)
    assert of(found, "time_to_failure") == [
        ("a", 10_000, False, False), ("b", 100, True, False), ("b", 9600, False, True), ("c", 10_000, False, False)
    ]  # fmt: skip
    assert of(found, "repair") == [("b", 300, True, True)]
    assert [span.how for span in found if span.kind == "repair"] == ["killed"]


def test_a_log_that_begins_with_a_boot_is_fresh():
    found = spans_of((0, "a", "node_starting"), (5, "a", "node_started"), *END)
    assert of(found, "time_to_failure") == [("a", 10_000, False, True)]
    assert not of(found, "time_to_common_failure")


def test_ongoing_repair_is_censored():
    assert of(spans_of(*UP, *gone(100, "b", "ac"), *END), "repair") == [("b", 9900, False, True)]
    removed = spans_of(*UP, *gone(100, "b", "ac"), (600, "a", "member_forgotten", "b"), *END)
    assert of(removed, "repair") == [("b", 500, False, True)]


def test_failed_boot_is_part_of_the_repair():
    found = spans_of(*UP, *gone(100, "b", "ac"), (200, "b", "node_starting"), (260, "b", "boot_failed"),
                 (400, "b", "node_starting"), (405, "b", "node_started"), *END)  # fmt: skip
    assert of(found, "repair") == [("b", 300, True, True)]


def test_power_and_disk_losses_are_distinguished_from_kills():
    found = spans_of(*UP, *gone(100, "b", "ac", "net_tick_timeout"), (400, "b", "node_starting"),
                     (401, "b", "disk_empty"), (405, "b", "node_started"), *END)  # fmt: skip
    [failed] = [span for span in found if span.kind == "time_to_failure" and span.ended]
    assert (failed.how, failed.disk_lost) == ("power_off", True)


def test_a_pause_is_no_failure():
    found = spans_of(*UP, (100, "a", "node_down", "b"), (100, "b", "node_down", "a"), (100.2, "a", "pause_begun"),
                 (100.3, "a", "node_stopping"), (300, "a", "node_starting"), *END)  # fmt: skip
    assert not of(found, "repair") and not [span for span in found if span.kind == "time_to_failure" and span.ended]


def test_node_stopped_while_paused_is_down_from_then_on():
    found = spans_of(*UP, (100, "a", "node_down", "b"), (100, "b", "node_down", "a"), (100.2, "a", "pause_begun"),
                 (100.3, "a", "node_stopping"), (160, "a", "node_halting"), (300, "a", "node_starting"),
                 *END)  # fmt: skip
    assert of(found, "repair") == [("a", 140, True, True)]


@pytest.mark.parametrize(("later_s", "common"), [(0, True), (59, True), (61, False)])
def test_nodes_going_down_within_a_minute_share_a_cause(later_s, common):
    found = spans_of(*UP, *gone(100, "b", "a"), *gone(100 + later_s, "c", "a"), (400, "b", "node_starting"),
                 (700, "c", "node_starting"), *END)  # fmt: skip
    assert of(found, "common_repair") == ([(None, 600, True, True)] if common else [])
    assert [span.together for span in found if span.kind == "time_to_common_failure"] == [2, None][not common :]
    assert len(of(found, "repair")) == (0 if common else 2)


def test_cluster_without_observers_went_down_at_its_last_line():
    found = spans_of((0, "a", "vhost_added"), (0, "b", "vhost_added"), (50, "a", "vhost_added"),
                     (900, "b", "vhost_added"), (1500, "a", "node_starting"),
                     (1510, "b", "node_starting"), *END)  # fmt: skip
    assert of(found, "common_repair") == [(None, 610, True, True)] and not of(found, "repair")


def rolled(first_s: float, *nodes: str) -> tuple:
    """Return events of nodes restarted one after the other."""
    return tuple(
        step for place, node in enumerate(nodes) for step in (
            (first_s + place * 100, node, "node_stopping"), (first_s + place * 100 + 40, node, "node_starting"),
            (first_s + place * 100 + 45, node, "node_started"))
    )  # fmt: skip


def test_rolling_restart_is_no_failure():
    found = spans_of(*UP, *rolled(1000, "a", "b", "c"), *gone(5000, "b", "ac"), (5600, "b", "node_starting"), *END)
    assert of(found, "restart") == [("a", 40, True, True), ("b", 40, True, True), ("c", 40, True, True)]
    assert of(found, "time_to_rolling_restart") == [(None, 1000, True, False), (None, 9000, False, True)]
    assert ("b", 5000, True, False) in of(found, "time_to_failure") and len(of(found, "repair")) == 1


def test_single_stop_is_a_controlled_failure():
    found = spans_of(*UP, *rolled(1000, "a"), *END)
    assert of(found, "repair") == [("a", 40, True, True)] and not of(found, "restart")
    assert [span.how for span in found if span.kind == "time_to_failure" and span.ended] == ["stopped"]


def test_partition_lasts_while_both_nodes_run():
    cut = (*gone(100, "b", "ac"), (100, "b", "node_down", "a"), (100, "b", "node_down", "c"))
    healed = ((700, "a", "rabbit_up", "b"), (700, "b", "rabbit_up", "a"), (700, "c", "rabbit_up", "b"),
              (700, "b", "rabbit_up", "c"))  # fmt: skip
    found = spans_of(*UP, *cut, *healed, *END)
    assert of(found, "partition") == [(None, 600, True, True)] and not of(found, "repair")
    assert of(found, "time_to_partition") == [(None, 100, True, False), (None, 9300, False, True)]


def test_stopped_synchronisation_is_censored():
    found = spans_of(*UP, (10, "a", "sync_begun", None, 5000), (12, "a", "sync_done"),
                     (20, "b", "sync_begun", None, 900), (25, "b", "sync_stopped"),
                     (30, "a", "sync_begun", None, 0), (31, "a", "sync_done"), *END)  # fmt: skip
    assert [(span.length_s, span.ended, span.messages) for span in found if span.kind == "synchronisation"] == [
        (2, True, 5000), (5, False, 900)
    ]  # fmt: skip


def test_no_events_give_no_spans():
    assert spans_of() == []


def test_every_kind_occurs_and_every_column_is_documented():
    found = known_spans()
    assert {span.kind for span in found} == {*KINDS} and all(columns().values())
    assert {span.cluster for span in found} == {f"cluster-{number:04}" for number in range(10)}


def test_every_synthetic_failure_is_counted():
    """Each failure of the histories is found with its kind, and nothing else."""
    base_us, put_in = 400 * DAY * 10**6, Counter()
    for number in range(10):
        rows = histories.history(KNOWN, 4, 0, number, base_us + 365 * DAY * 10**6)
        those = rows[rows[:, 0] >= base_us]
        put_in.update((histories.NAMES[kind], int(nodes).bit_count()) for _, kind, nodes in those)
    failed = [span for span in known_spans() if span.ended and span.kind in ("time_to_failure", TOGETHER)]
    result = Counter((span.how, span.together) for span in failed)
    words = {"kill": "killed", "stop": "stopped", "power_off": "power_off"}
    assert result == {(words[kind], size): count for (kind, size), count in put_in.items() if kind in words}
    assert sum(span.disk_lost for span in failed) == put_in["lose_disk", 1]
    assert sum(1 for span in known_spans() if span.kind == "partition") == put_in["cut", 1]


def test_real_logs_show_their_kill():
    story = data_folder_for("data") / "logs" / "4.3" / "quorum-leader-killed"
    found = spans("real", read_logs([Path(story)]))
    assert [span.how for span in found if span.kind == "time_to_failure" and span.ended] == ["killed"]


def test_the_work_of_counting_failures_grows_with_the_logs() -> None:
    def work(size: int) -> Counter[str]:
        boots = [(MINUTE * number, node, "node_starting") for number in range(size) for node in "ab"]
        return lines_run(lambda: spans_of(*boots))

    assert growth(work, 20)["incident"] < 1.1
