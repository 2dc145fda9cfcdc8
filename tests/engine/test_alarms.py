"""Alarms that block publishers and suspend synchronisations, and batches that are too large."""

from __future__ import annotations

import pytest
from invariants import watched
from settled_invariants import check_settled, check_trace

from hawb.engine.classic.sync_effort import Effort
from hawb.engine.keys.state_key import key
from hawb.scenario.load import load
from hawb.scenario.outcome import outcome
from hawb.scenario.run import Run

HEAD = """
scenario: a story
cluster: {nodes: [a, b, c], net_ticktime: 30}
policies: [{name: all, pattern: ^q, definition: {ha-mode: all}}]
queues:
  - {queue: q, messages: 30000, master: a, mirrors: [b, c]}
  - {queue: q.large, messages: 5000, size: 1000000, master: a, mirrors: [b, c]}
steps:
"""


def story(*steps: str) -> Run:
    """Play the steps on three nodes, checking the invariants after every event."""
    with watched():
        run = Run.of(load(HEAD + "".join(f"  - {step}\n" for step in steps)))
    check_settled(run.settings, run.moment())
    check_trace(run.moment())
    return run


def times(run: Run, event: str) -> list[float]:
    """Return the times of the events of this type."""
    return [entry["t"] for entry in outcome(run)["events"] if entry["event"] == event]


PUBLISH = "publish: {queue: p, count: 1, node: a}"


def test_steps_after_a_blocked_publish_run_in_order_when_the_alarm_clears():
    run = story(
        "declare: {queue: p, node: b}", "alarm: {node: c}", PUBLISH, "delete: {queue: p, if_empty: true, node: a}",
        "clear_alarm: {node: c}",
    )  # fmt: skip
    assert [(error["step"], error["code"]) for error in outcome(run)["errors"]] == [(3, 406)]
    assert outcome(run)["ledger"]["p"]["confirmed"] == [[1, 1]]


def test_connections_to_other_virtual_hosts_and_nodes_are_not_blocked():
    run = story(
        "declare: {queue: p, node: a}", "alarm: {node: c}", PUBLISH, "declare: {queue: 'v::one', node: a}",
        "declare: {queue: two, node: b}", "declare: {queue: three, node: a}",
    )  # fmt: skip
    assert {"v::one", "two"} <= outcome(run)["queues"].keys()
    assert "three" not in outcome(run)["queues"]


def test_cancel_and_close_wait_on_a_blocked_connection():
    steps = ("declare: {queue: p, node: a}", "consume: {consumer: c, queue: p, node: a}", "alarm: {node: b}", PUBLISH)
    for step, state in (("cancel: c", "cancelled"), ("close: c", "closed"), ("close: default", "closed")):
        run = story(*steps, step)
        assert outcome(run)["consumers"]["c"]["state"] == "active"
        run.apply_plain({"clear_alarm": {"node": "b"}})
        assert outcome(run)["consumers"]["c"]["state"] == state


def test_alarm_of_a_stopped_node_ends_when_node_down_is_detected():
    run = story("declare: {queue: p, node: a}", "alarm: {node: c}", PUBLISH, "stop: c", "start: c")
    assert outcome(run)["alarms"] == []
    assert outcome(run)["ledger"]["p"]["confirmed"] == [[1, 1]]


def test_alarm_on_the_other_side_of_a_partition_blocks_no_connection():
    steps = ("declare: {queue: p, node: a}", "alarm: {node: c}", PUBLISH)
    blocked = story(*steps, "{partition: [[a, b], [c]], at: 3}", "{wait: 20, at: 4}")
    noticed = story(*steps, "{partition: [[a, b], [c]], at: 3}", "{wait: 40, at: 4}")
    confirmed = [outcome(run)["ledger"]["p"]["confirmed"] for run in (blocked, noticed)]
    assert confirmed == [[], [[1, 1]]]
    assert outcome(noticed)["alarms"] == [{"node": "c", "resource": "memory"}]


def test_alarm_of_a_node_seen_as_down_blocks_no_connection():
    """The indirect links are cut too, but heal before net_ticktime ends."""
    cuts = ("cut: [[a, c]]", "{cut: [[a, b]], at: 29}", "{heal: true, at: 31}")
    run = story("declare: {queue: p, node: a}", "{alarm: {node: c}, at: 0}", PUBLISH, *cuts)
    assert times(run, "links_timed_out") == times(run, "connection_unblocked")
    assert outcome(run)["ledger"]["p"]["confirmed"] == [[1, 1]]


def test_alarm_suspends_a_synchronisation_after_the_current_batch():
    run = story("{sync_queue: q, at: 0}", "{alarm: {node: b}, at: 0.2}", "{clear_alarm: {node: b}, at: 10}")
    assert times(run, "sync_held") == [0.274066]
    assert times(run, "sync_finished") == [10.729934]


def test_alarm_in_the_last_batch_or_of_the_disk_suspends_nothing():
    last = story("{sync_queue: q, at: 0}", "{alarm: {node: b}, at: 0.99}")
    disk = story("{sync_queue: q, at: 0}", "{alarm: {node: b, resource: disk}, at: 0.2}")
    assert times(last, "sync_finished") == times(disk, "sync_finished") == [1.004]


def test_synchronisation_resumes_only_after_the_last_alarm_clears():
    run = story(
        "{sync_queue: q, at: 0}", "{alarm: {node: b}, at: 0.2}", "{alarm: {node: c}, at: 1}",
        "{clear_alarm: {node: b}, at: 2}", "{clear_alarm: {node: c}, at: 3}", "{alarm: {node: c}, at: 3.1}",
        "{clear_alarm: {node: c}, at: 3.13}",
    )  # fmt: skip
    assert times(run, "sync_held") == [0.274066]
    assert times(run, "sync_finished") == [3.729934]


def test_synchronisation_of_an_empty_queue_is_suspended_too():
    run = story("sync_queue: q", "{cancel_sync_queue: q, at: 0.1}", "purge: q", "alarm: {node: b}", "sync_queue: q")
    assert outcome(run)["queues"]["q"]["state"] == "syncing"


def test_suspended_synchronisation_without_mirrors_ends_when_the_alarm_clears():
    run = story("alarm: {node: a}", "sync_queue: q", "kill: [b, c]", "{clear_alarm: {node: a}, at: 10}")
    assert times(run, "sync_ended") == [10.0] and times(run, "sync_resumed") == []


def test_other_operations_wait_for_a_suspended_synchronisation():
    run = story("alarm: {node: b}", "sync_queue: q", "sync_queue: q", "transfer_leadership: {queue: q, node: b}")
    assert outcome(run)["queues"]["q"]["master"] == "a"
    run.apply_plain({"clear_alarm": {"node": "b"}})
    assert outcome(run)["queues"]["q"]["master"] == "b" and outcome(run)["queues"]["q"]["messages"] == 30000


def test_policy_can_change_during_a_suspended_synchronisation():
    run = story("alarm: {node: b}", "sync_queue: q", "clear_policy: all", "clear_alarm: {node: b}")
    assert outcome(run)["queues"]["q"]["mirrors"] == []


def test_slow_batch_is_reported_after_net_ticktime():
    at_once = story("{sync_queue: q.large, at: 0}")
    held = story("{sync_queue: q.large, at: 0}", "{alarm: {node: b}, at: 0}", "{clear_alarm: {node: b}, at: 100}")
    cancelled = story("{sync_queue: q.large, at: 0}", "{cancel_sync_queue: q.large, at: 29}", "wait: 10")
    later = story("{sync_queue: q.large, at: 0}", "{alarm: {node: b}, at: 35}", "{clear_alarm: {node: b}, at: 100}")
    reported = [times(run, "sync_too_slow") for run in (at_once, held, cancelled, later)]
    assert reported == [[30.0], [130.0], [], [30.0]]


def test_search_key_includes_alarms_and_what_they_block():
    stories = [
        (), ("alarm: {node: c}",), ("alarm: {node: c, resource: disk}",), ("alarm: {node: c}", PUBLISH),
        ("alarm: {node: c}", "sync_queue: q"), ("drain: c",),
    ]  # fmt: skip
    runs = [story("declare: {queue: p, node: a}", *steps) for steps in stories]
    assert len({key(run.moment().state, run.settings) for run in runs}) == len(stories)


def effort(**given) -> Effort:
    """Return an effort of 1,000 messages a second, 10 messages a batch, 1,000 bytes a second and 1 ms latency."""
    usual = {"batch_size": 10, "link_latency_us": 1000, "messages_per_s": 1000, "network_bytes_per_s": 1000}
    return Effort(**(usual | given))


@pytest.mark.parametrize(
    ("elapsed_us", "ends_us"), [(0, 0), (1, 11_000), (11_000, 11_000), (11_001, 22_000), (24_000, 28_000)]
)
def test_current_batch_ends_when_its_messages_have_arrived(elapsed_us, ends_us):
    assert effort(pieces=((25, 0),)).end_of_batch_us(elapsed_us) == ends_us


def test_last_batch_may_be_smaller():
    assert effort(pieces=((25, 0),)).batches == 3
    assert effort(pieces=((25, 0),)).duration_us == 28_000
    assert effort(pieces=()).duration_us == 0


def test_slowest_of_message_rate_byte_rate_and_throttle_decides():
    assert effort(pieces=((10, 100),)).duration_us == 1_001_000
    assert effort(pieces=((10, 100),), most_bytes_per_s=500).duration_us == 2_001_000


def test_first_batch_that_is_too_large_is_found_among_mixed_sizes():
    mixed = ((15, 1), (10, 100), (20, 1))
    assert effort(pieces=mixed).too_slow_us(400_000) == effort(pieces=mixed).after_us(1)
    assert effort(pieces=mixed).too_slow_us(600_000) is None
    assert effort(pieces=((3, 1), (2, 500))).too_slow_us(999_000) == 0
    assert effort(pieces=mixed, most_bytes_per_s=300).too_slow_us(400_000) is None
