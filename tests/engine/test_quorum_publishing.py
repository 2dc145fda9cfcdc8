"""Publishing to quorum queues: commits, confirms and messages held back by channels.

Each story shows one rule. Invariants are checked after every event. Random programs found some of the stories.
"""

from __future__ import annotations

import pytest
from counted_work import lines_run
from quorum_stories import DECLARE, QUORUM, declared, entries, played, publish, queue

from hawb.engine.core import runs
from hawb.engine.core.runs import EMPTY
from hawb.engine.core.turn import Turn
from hawb.engine.quorum import fifo
from hawb.engine.quorum.awaiting_registration import go_on
from hawb.engine.raft_groups.group import proposals


def test_messages_sent_without_a_majority_are_committed_once_there_is_one():
    apart = (DECLARE, publish(1), {"kill": ["b", "c"]}, publish(4))
    before = played(*apart)
    assert queue(before).pending == runs.run(2, 4) and before.moment().ledger["q"].confirmed == runs.run(1, 1)
    after = played(*apart, {"start": ["b", "c"]})
    assert queue(after).contents == (runs.run(1, 5),) * 3
    assert after.moment().ledger["q"].confirmed == runs.run(1, 5)


def test_new_leader_is_sent_only_the_missing_messages():
    run = played(DECLARE, {"kill": ["a", "b"]}, publish(2, "c"), {"start": ["a", "b"]}, publish(1, "c"))
    for member in run.moment().state.groups["q"].members.values():
        numbers = [one.command.numbers for one in member.log.runs if getattr(one.command, "numbers", ())]
        assert numbers == [runs.run(1, 2), runs.run(3, 1)]


def test_messages_that_no_member_has_are_refused_when_the_client_node_dies():
    run = played(DECLARE, {"kill": ["a", "b"]}, publish(2, "c"), {"kill": "c"})
    (entry,) = entries(run, "messages_refused")
    assert (entry.detail["ids"], entry.detail["reason"]) == ([[1, 2]], "client_node_gone")
    assert not queue(run).pending and not run.moment().state.groups["q"].waiting


def test_unwritten_messages_are_refused_when_member_and_client_node_die():
    run = played(
        DECLARE, publish(1), {"kill": ["b", "c"], "at": 0.1}, publish(3) | {"at": 0.2}, {"kill": "a", "at": 0.2001},
        {"start": ["a", "b", "c"], "at": 1}, publish(1, "b") | {"at": 20},
    )  # fmt: skip
    assert queue(run).content == ((1, 1), (5, 5)) and not queue(run).pending
    assert run.moment().ledger["q"].refused == runs.run(2, 3)


def test_message_to_two_quorum_queues_is_confirmed_when_both_commit():
    other = {"declare": {"queue": "r", "node": "b", "arguments": QUORUM}}
    run = played(DECLARE, other, {"publish": {"queues": ["q", "r"], "count": 3}})
    account = run.moment().ledger
    assert account["q"].confirmed == account["r"].confirmed == runs.run(1, 3)


def test_message_to_classic_and_quorum_queue_is_confirmed_when_both_have_it():
    classic = {"declare": {"queue": "r", "node": "a"}}
    apart = (DECLARE, classic, {"kill": ["b", "c"]}, {"publish": {"queues": ["q", "r"], "count": 3}})
    assert not played(*apart).moment().ledger["r"].confirmed
    run = played(*apart, {"start": ["b", "c"]})
    assert run.moment().ledger["q"].confirmed == run.moment().ledger["r"].confirmed == runs.run(1, 3)


def test_unregistered_channel_nacks_one_message_at_a_time():
    run = played(DECLARE, {"kill": ["b", "c"]}, publish(3), {"wait": 66}, version="3.10")
    (entry,) = entries(run, "messages_refused")
    assert (entry.detail["ids"], entry.detail["reason"]) == ([[1, 1]], "no_majority")
    assert run.moment().ledger["q"].nacked == runs.run(1, 1) and queue(run).pending == runs.run(2, 2)


def test_channel_registers_as_soon_as_the_leader_has_a_majority():
    run = played(DECLARE, {"kill": ["b", "c"]}, publish(3), publish(2), {"start": ["b", "c"]}, version="3.10")
    assert len(entries(run, "leader_elected")) == 1, "the leader is the same"
    assert run.moment().ledger["q"].confirmed == runs.run(1, 5) and not run.moment().ledger["q"].nacked


ALONE = (declared(), {"declare": {"queue": "r", "node": "a"}}, {"kill": ["b", "c"]})


def in_r(*steps: dict) -> tuple[runs.Runs, runs.Runs]:
    """Return the content and the confirmed messages of the classic queue r, in 3.10."""
    run = played(*ALONE, *steps, version="3.10")
    return queue(run, "r").content, run.moment().ledger["r"].confirmed


def test_publishes_wait_behind_an_unregistered_first_message():
    to_r = {"publish": {"queue": "r", "count": 2, "node": "a"}}
    waiting = (publish(2), to_r, to_r)
    assert in_r(*waiting, {"wait": 129}) == (EMPTY, EMPTY)
    assert in_r(*waiting, {"wait": 131}) == (runs.run(1, 4), runs.run(1, 4))
    assert in_r(*waiting, {"wait": 10}, {"start": "b"}, {"wait": 20}) == (runs.run(1, 4), runs.run(1, 4))


@pytest.mark.parametrize("of_another", [{"mode": "plain"}, {"connection": "x"}, {"node": "b"}, {"queue": "v::r"}])
def test_publishes_of_another_channel_do_not_wait(of_another: dict):
    steps = (
        declared(), {"declare": {"queue": "r", "node": "a"}}, {"declare": {"queue": "v::r", "node": "a"}},
        {"partition": [["a", "b"], ["c", "d", "e"]]}, {"wait": 61}, publish(1),
        {"publish": {"queue": "r", "count": 2, "node": "a"} | of_another},
    )  # fmt: skip
    run = played(*steps, nodes="abcde", version="3.10")
    assert queue(run, of_another.get("queue", "r")).content == runs.run(1, 2)


def test_first_message_to_both_queues_reaches_the_classic_queue():
    both = {"publish": {"queues": ["r", "q"], "count": 3, "node": "a"}}
    assert in_r(both) == (runs.run(1, 1), EMPTY)
    assert in_r(both, {"wait": 66}) == (runs.run(1, 2), EMPTY)
    assert in_r(both, {"wait": 66}, {"start": "b"}, {"wait": 20}) == (runs.run(1, 3), runs.run(2, 2))


def test_messages_to_several_virtual_hosts_are_held_back_once():
    both = {"publish": {"queues": ["v::r", "q"], "count": 300, "node": "a"}}
    run = played(*ALONE, both, {"start": "b"}, version="3.10")
    assert len(entries(run, "messages_held_back")) == 1
    assert run.moment().ledger["q"].confirmed == runs.run(1, 300)


def test_channel_does_not_wait_if_no_member_is_reachable():
    run = played(
        declared(), {"declare": {"queue": "r", "node": "b"}}, {"kill": ["a", "c"]},
        {"publish": {"queues": ["q", "r"], "count": 1000, "node": "b"}}, version="3.10",
    )  # fmt: skip
    assert not entries(run, "messages_held_back")
    assert queue(run, "r").content == run.moment().ledger["r"].nacked == runs.run(1, 1000)


@pytest.mark.parametrize(("version", "killed", "waits_s"), [
    ("3.10", "cde", 130), ("3.13", "cde", 130), ("3.10", "bcde", 65), ("4.0", "bcde", 65),
    ("3.10", "acd", 0), ("3.13", "acd", 130), ("4.0", "acd", 130), ("3.13", "acde", 65),
])  # fmt: skip
def test_channel_asks_each_reachable_member_in_turn(version: str, killed: str, waits_s: int):
    client = min(set("abcde") - set(killed))
    asked = (
        {"declare": {"queue": "q", "node": "a", "arguments": QUORUM | {"x-quorum-initial-group-size": 5}}},
        {"at": 10, "kill": list(killed)}, {"at": 20, "publish": {"queue": "q", "count": 1, "node": client}},
    )  # fmt: skip
    before, after = (
        played(*asked, {"at": 20 + time_s, "wait": 0}, nodes="abcde", version=version).moment().ledger["q"].nacked
        for time_s in (max(waits_s - 1, 0), waits_s + 1)
    )
    assert bool(before) == (waits_s == 0) and after == runs.run(1, 1)


def test_held_back_messages_are_refused_when_the_client_node_dies():
    steps = (publish(1), {"publish": {"queue": "r", "count": 2, "node": "a"}}, {"kill": "a"}, {"start": ["a", "b"]})
    run = played(*ALONE, *steps, {"wait": 100}, version="3.10")
    assert not run.moment().state.awaiting_registration
    assert run.moment().ledger["r"].refused == runs.run(1, 2)


def test_held_back_messages_continue_when_the_quorum_queue_is_deleted():
    to_r = {"publish": {"queue": "r", "count": 2, "node": "a"}}
    assert in_r(publish(1), to_r, {"delete": {"queue": "q", "node": "a"}}) == (runs.run(1, 2), runs.run(1, 2))


def test_messages_of_a_steady_publisher_are_committed_continuously():
    flowing = {"publisher": {"name": "p", "queue": "q", "node": "a", "rate": 100}}
    run = played(DECLARE, flowing, {"wait": 10}, {"close": "p"})
    account, group = run.moment().ledger["q"], run.moment().state.groups["q"]
    assert account.published == 1000 and account.confirmed == runs.run(1, 999), "the last one's channel is gone"
    assert {len(member.log.runs) for member in group.members.values()} == {2}, "one run of all, behind the first entry"
    assert queue(run).contents == (runs.run(1, account.published),) * 3


def steady(name: str, node: str, rate: int) -> dict:
    return {"publisher": {"name": name, "queue": "q", "node": node, "rate": rate}}


def test_steady_publishers_keep_the_order_of_each_channel():
    """Commits of the first publisher include messages of the second in flight, which are not resent."""
    run = played(
        DECLARE, steady("p", "a", 100), steady("r", "a", 70), {"wait": 1}, {"kill": ["b", "c"]}, {"wait": 1},
        {"start": "b"}, {"wait": 2}, {"close": "p"}, {"close": "r"}, timing={"link_latency_s": 0.1},
    )  # fmt: skip
    account, log = run.moment().ledger["q"], run.moment().state.groups["q"].members[0].log
    assert queue(run).content == runs.run(1, account.published) and not queue(run).pending
    assert fifo.in_order(queue(run), queue(run).content) == queue(run).content
    sent = [proposal.number for proposal in proposals(log, 0)]
    assert len(sent) == len(set(sent))


def test_steady_publisher_keeps_its_order_after_resending_to_a_new_leader():
    run = played(
        DECLARE, steady("p", "c", 100), {"wait": 1}, {"kill": "a"}, {"wait": 3}, {"close": "p"},
        timing={"link_latency_s": 0.1},
    )  # fmt: skip
    assert queue(run).content == runs.run(1, run.moment().ledger["q"].published)
    assert fifo.in_order(queue(run), queue(run).content) == queue(run).content


def test_publish_of_another_channel_does_not_resend_messages_at_an_isolated_leader():
    run = played(
        declared(), {"partition": [["b", "c"], ["a"]]}, publish(5), {"wait": 75}, publish(4, "b"), version="3.8"
    )
    log = run.moment().state.groups["q"].members[0].log
    assert len(list(proposals(log, 0))) == 1


# What a channel sends again

CUT_OFF = (
    DECLARE, publish(2), {"cut": [["a", "b"], ["a", "c"]], "at": 20}, publish(3) | {"at": 20.3},
    {"heal": True, "at": 44}, {"wait": 0, "at": 80},
)  # fmt: skip


@pytest.mark.parametrize("version", ["3.8", "3.10", "3.13", "4.0"])
def test_messages_at_an_isolated_leader_are_refused_until_the_channel_publishes_again(version):
    silent = played(*CUT_OFF, version=version, net_ticktime=8)
    account = silent.moment().ledger["q"]
    assert queue(silent).content == account.confirmed == runs.run(1, 2)
    assert (account.refused, account.nacked) == (runs.run(3, 3), ())
    again = played(*CUT_OFF, publish(1), version=version, net_ticktime=8)
    account = again.moment().ledger["q"]
    assert queue(again).content == account.confirmed == runs.run(1, 6) and not account.refused
    assert [entry.detail["ids"] for entry in entries(again, "messages_sent_again")] == [[[3, 5]]]


def test_4_3_leader_makes_channels_resend():
    run = played(*CUT_OFF, version="4.3", net_ticktime=8)
    assert queue(run).content == run.moment().ledger["q"].confirmed == runs.run(1, 5)


@pytest.mark.parametrize(("version", "nacked"), [("3.10", runs.run(1, 3)), ("3.13", ()), ("4.3", ())])
def test_new_channel_of_3_10_rejects_messages_if_the_leader_is_unreachable(version, nacked):
    run = played(DECLARE, {"cut": [["a", "b"], ["a", "c"]], "at": 20}, publish(5, "b") | {"at": 20.3},
                 {"heal": True, "at": 44}, {"wait": 0, "at": 80}, version=version, net_ticktime=8)  # fmt: skip
    account = run.moment().ledger["q"]
    assert account.nacked == nacked and account.confirmed == queue(run).content == runs.minus(runs.run(1, 5), nacked)


def test_what_waits_is_looked_at_by_channel() -> None:
    held_back = [{"publish": {"queue": "q", "count": 1, "node": "a"}}] * 41
    run = played(*ALONE, *held_back, version="3.10")
    turn = Turn(run.settings, run.moment(), 0)
    assert len(turn.awaiting_registration) == 40
    assert lines_run(lambda: go_on(turn))["engine"] < 40 * 5
    assert len(turn.awaiting_registration) == 40
