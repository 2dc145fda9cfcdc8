"""Messages that channels resend to quorum queues after a timer, and those that channels of 3.8 do not resend."""

from __future__ import annotations

import pytest
from quorum_stories import DECLARE, entries, played, publish, queue

from hawb.engine.core import runs
from hawb.engine.raft_groups.events import LeaderSought

CUT = {"cut": [["a", "b"], ["a", "c"]], "at": 20}


def across_a_cut_link(count: int, at: float, version: str, soft_limit: int = 32):
    """Publish from a registered channel to a leader that is isolated from 20 s to 44 s."""
    steps = DECLARE, publish(1), CUT, publish(count) | {"at": at}, {"heal": True, "at": 44}, {"wait": 0, "at": 80}
    return played(*steps, version=version, net_ticktime=8, quorum_commands_soft_limit=soft_limit)


@pytest.mark.parametrize("version", ["3.8", "3.10", "3.13", "4.0"])
def test_messages_over_the_soft_limit_are_resent_after_ten_seconds(version):
    run = across_a_cut_link(33, 40, version)
    assert queue(run).content == run.moment().ledger["q"].confirmed == runs.run(1, 34)
    assert not run.moment().ledger["q"].refused
    (entry,) = entries(run, "messages_sent_again")
    assert 50_000_000 <= entry.t_us < 50_100_000


@pytest.mark.parametrize(
    ("count", "at", "soft_limit"), [(32, 40, 32), (33, 20.3, 32), (3, 33, 2)], ids=["few", "early", "also early"]
)
def test_messages_within_the_soft_limit_are_not_resent(count, at, soft_limit):
    run = across_a_cut_link(count, at, "3.10", soft_limit)
    account = run.moment().ledger["q"]
    assert queue(run).content == account.confirmed == runs.run(1, 1) and account.refused == runs.run(2, count)


def test_timer_is_not_set_if_a_leader_is_reachable():
    for steps in ((publish(40),), ({"kill": ["b", "c"]}, publish(40)), (CUT, publish(40, "b") | {"at": 40})):
        run = played(DECLARE, publish(1), *steps, net_ticktime=8)
        assert not [entry for entry in run.moment().state.agenda if isinstance(entry[-1], LeaderSought)]


def test_timer_is_set_again_while_no_leader_is_known():
    apart = (DECLARE, publish(1, "c"), {"partition": [["a"], ["b"], ["c"]], "at": 20}, publish(33, "c") | {"at": 40})
    run = played(*apart, {"wait": 0, "at": 95}, net_ticktime=8)
    assert [entry[0] for entry in run.moment().state.agenda if isinstance(entry[-1], LeaderSought)] == [100_000_000]


# Channels of 3.8 that their queue does not know

NO_LEADER = (DECLARE, {"stop": "b"}, {"kill": "a"})


def test_new_channel_of_3_8_sends_to_the_old_leader_and_misses_the_new_one():
    run = played(*NO_LEADER, publish(5, "c"), {"start": "b"}, publish(1, "c"), {"wait": 1}, version="3.8")
    account = run.moment().ledger["q"]
    assert account.refused == runs.run(1, 6) and not account.confirmed and not queue(run).content
    back = played(*NO_LEADER, publish(5, "c"), {"start": "b"}, {"start": "a"}, {"wait": 1}, version="3.8")
    assert back.moment().ledger["q"].refused == runs.run(1, 5)
    again = played(*NO_LEADER, publish(5, "c"), {"start": "b"}, {"start": "a"}, publish(1, "c"), version="3.8")
    account = again.moment().ledger["q"]
    assert queue(again).content == account.confirmed == runs.run(1, 6) and not account.refused


def test_channel_of_3_8_with_an_accepted_message_follows_new_leaders():
    run = played(DECLARE, publish(1, "c"), *NO_LEADER[1:], publish(5, "c"), {"start": "b"}, {"wait": 1}, version="3.8")
    assert queue(run).content == run.moment().ledger["q"].confirmed == runs.run(1, 6)


def test_channel_of_3_8_starts_with_the_leader_on_record():
    run = played(*NO_LEADER, {"start": "b"}, publish(5, "c"), version="3.8")
    assert queue(run).content == run.moment().ledger["q"].confirmed == runs.run(1, 5)


def test_new_channel_of_3_8_sends_to_an_isolated_leader():
    steps = (DECLARE, CUT, publish(5, "b") | {"at": 20.3}, {"heal": True, "at": 44}, {"wait": 0, "at": 80})
    run = played(*steps, version="3.8", net_ticktime=8)
    account = run.moment().ledger["q"]
    assert account.refused == runs.run(1, 5) and not account.confirmed and not queue(run).content
    again = played(*steps, publish(1, "b"), version="3.8", net_ticktime=8)
    assert queue(again).content == again.moment().ledger["q"].confirmed == runs.run(1, 6)


def test_new_channel_of_3_8_finds_the_new_leader_beyond_the_soft_limit():
    run = played(*NO_LEADER, publish(33, "c"), {"start": "b"}, {"wait": 11}, version="3.8")
    assert queue(run).content == run.moment().ledger["q"].confirmed == runs.run(1, 33)
