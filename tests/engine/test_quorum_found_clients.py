"""Bugs of quorum queues towards clients that property tests found: the shortest story of each and the expected
outcome."""

from __future__ import annotations

import pytest
from quorum_stories import DECLARE, declared, entries, played, publish, queue, refusals

from hawb.engine.core import runs
from hawb.engine.raft_groups.group import proposals
from hawb.scenario.outcome import outcome

CONSUME = {"consume": {"consumer": "c", "queue": "q", "node": "a", "prefetch": 5}}


def test_waiting_publishes_continue_when_the_asked_node_is_back():
    publisher = {"publisher": {"name": "p", "queue": "q", "rate": 20, "node": "a"}}
    declare = {"declare": DECLARE["declare"] | {"node": "c"}}
    run = played(publisher, declare, {"kill": "c"}, {"start": "c"}, {"wait": 30}, version="3.10")
    account = run.moment().ledger["q"]
    assert runs.size(account.confirmed) > 500
    assert not run.moment().state.groups["q"].waiting


def test_request_of_a_dead_client_is_dropped_if_its_log_entry_is_overwritten():
    ack = {"ack": {"consumer": "c", "count": 2}, "at": 1}
    run = played(declared(quorum_initial_group_size=3), CONSUME, publish(5, "b"), ack,
                 {"kill": ["a", "b", "c"], "at": 1.0007}, {"start": ["b", "c"]}, publish(1, "b"), {"start": "a"},
                 nodes="abcd", version="3.10")  # fmt: skip
    assert not run.moment().state.groups["q"].waiting


@pytest.mark.parametrize("mode", ["confirm", "tx"])
def test_refused_message_of_a_steady_publisher_is_not_confirmed(mode):
    flowing = {"publisher": {"name": "p", "queue": "q", "node": "c", "rate": 1, "mode": mode}}
    run = played(
        {"declare": DECLARE["declare"] | {"node": "c"}}, {"power_off": ["a", "b"]}, flowing, {"wait": 70},
        {"start": ["a", "b"]}, {"wait": 5}, {"close": "p"}, {"wait": 5}, version="3.10",
    )  # fmt: skip
    account = run.moment().ledger["q"]
    assert account.refused and not runs.common(account.refused, account.confirmed)


def test_unregistered_channel_sends_publishes_in_order():
    run = played({"declare": DECLARE["declare"] | {"node": "c"}}, {"kill": ["a", "b"]}, publish(3, "c"),
                 publish(2, "c"), {"wait": 100}, {"start": ["a", "b"]}, version="3.10")  # fmt: skip
    assert [entry.detail["ids"] for entry in entries(run, "messages_refused")] == [[[1, 1]]], "others wait behind it"
    assert [entry.detail["ids"] for entry in entries(run, "messages_published")] == [[[2, 3]], [[4, 5]]]


def test_channel_waiting_to_register_finds_a_leader_on_another_side():
    run = played({"declare": DECLARE["declare"] | {"node": "b"}}, {"kill": "a"}, {"partition": [["b"], ["a", "c"]]},
                 publish(7, "c"), {"wait": 100}, {"heal": True}, version="3.10")  # fmt: skip
    assert len(run.moment().state.sides) == 2
    refused = [(entry.t_us // 1_000_000, entry.detail["ids"]) for entry in entries(run, "messages_refused")]
    assert refused == [(60 + 7 * i, [[1 + i, 1 + i]]) for i in range(6)], "one each time that it cannot connect"
    assert run.moment().ledger["q"].confirmed == runs.run(7, 1)


def test_registration_fails_if_the_leader_dies_first():
    run = played(DECLARE, {"kill": ["b", "c"]}, publish(3, "d") | {"at": 1}, {"kill": "a"}, {"start": ["b", "c"]},
                 {"start": "a"}, {"kill": ["b", "c"], "at": 66.0003}, {"wait": 300}, nodes="abcd",
                 version="3.10")  # fmt: skip
    assert run.moment().ledger["q"].refused == runs.run(1, 3)


def test_unregistered_channel_rejects_only_its_own_messages():
    run = played({"declare": DECLARE["declare"] | {"node": "b"}}, publish(10, "b"), {"kill": "a"}, publish(1, "b"),
                 {"kill": "b"}, {"start": "b"}, publish(1, "b"), {"wait": 100}, {"start": "a"}, nodes="ab",
                 version="4.0")  # fmt: skip
    assert queue(run).content == runs.run(1, 11)
    assert [entry.detail["ids"] for entry in entries(run, "messages_refused")] == [[[12, 12]]]


def test_channel_on_the_old_leaders_side_resends_nothing():
    run = played({"kill": "a"}, {"declare": DECLARE["declare"] | {"node": "c"}}, publish(10, "c"),
                 {"partition": [["a", "b"], ["c"]]}, publish(5, "c"), {"wait": 75}, {"start": "a"},
                 version="3.10")  # fmt: skip
    assert [entry.node for entry in entries(run, "leader_elected")] == [2, 1], "b leads, c takes itself for the leader"
    logged = {node: [one.numbers for one in proposals(member.log, 0)]
              for node, member in run.moment().state.groups["q"].members.items()}  # fmt: skip
    assert logged == {0: [runs.run(1, 10)], 1: [runs.run(1, 10)], 2: [runs.run(1, 10), runs.run(11, 5)]}


def test_steady_publisher_goes_on_while_the_leader_is_removed():
    flowing = {"publisher": {"name": "p", "queue": "q", "node": "b", "rate": 20}}
    for at_s in (1.0035, 1.004, 1.0045, 1.005, 1.0052):
        run = played(DECLARE, flowing, {"delete_member": {"queue": "q", "node": "a"}, "at": at_s}, {"wait": 5},
                     {"close": "p"}, nodes="ab")  # fmt: skip
        assert queue(run).content == runs.run(1, run.moment().ledger["q"].published)


def test_commands_committed_by_a_steady_publisher_are_applied_at_once():
    flowing = {"publisher": {"name": "p", "queue": "q", "node": "a", "rate": 10_000}}
    for later_s in (0.0002, 0.0006, 0.0008, 0.001, 0.0015):
        run = played(DECLARE, flowing, {"wait": 1}, publish(3, "c") | {"at": 2}, {"rebalance": True, "at": 2 + later_s},
                     {"close": "p"})  # fmt: skip
        assert not run.moment().state.groups["q"].waiting


def test_messages_committed_out_of_order_keep_their_sizes():
    run = played(
        {"declare": DECLARE["declare"] | {"node": "b"}}, {"partition": [["a"], ["b", "c"]]},
        publish(3, "a", size=10), publish(4, "b", size=20), {"wait": 1}, {"heal": True}, version="3.8",
    )  # fmt: skip
    assert queue(run).content == runs.run(1, 7)
    assert [(batch.first, batch.size_bytes) for batch in queue(run).batches] == [(1, 10), (4, 20)]


@pytest.mark.parametrize("asked_s", [1, 58, 70])
@pytest.mark.parametrize("node", ["a", "c"])
def test_delete_on_one_side_of_a_partition_is_not_simulated(node, asked_s):
    run = played(DECLARE, publish(1), {"partition": [["a", "b"], ["c"]]}, {"wait": asked_s},
                 {"delete": {"queue": "q", "node": node}}, {"wait": 90}, publish(2))  # fmt: skip
    ((_, text),) = refusals(run)
    assert text.startswith("not simulated: queue 'q' in vhost '/' deleted in one partition")
    assert queue(run).content == runs.run(1, 3)


@pytest.mark.parametrize("cut_s", [0, 58])
def test_consume_without_a_reachable_leader_fails_after_net_ticktime_and_5_s(cut_s):
    steps = ({"partition": [["a", "b"], ["c"]]}, {"wait": cut_s}, {"consume": CONSUME["consume"] | {"node": "c"}})
    run = played(DECLARE, publish(1), *steps, {"wait": 90}, version="3.10")
    assert refusals(run) == [(541, "INTERNAL_ERROR")]
    assert entries(run, "step_refused")[0].t_us // 1_000_000 == cut_s + 65, "net_ticktime and five seconds"


@pytest.mark.parametrize(("down", "node"), [(["a", "b"], "c"), (["b", "c"], "a")])
def test_4_3_error_of_a_failed_consume_names_the_reason(down, node):
    run = played(DECLARE, {"kill": down}, {"consume": CONSUME["consume"] | {"node": node}}, version="4.3")
    reason = "INTERNAL_ERROR - failed consuming from quorum queue 'q' in vhost '/': nodedown"
    assert refusals(run) == [(541, reason)]


def test_consume_fails_if_the_majority_is_lost_before_the_reply():
    consume = {"consume": CONSUME["consume"], "at": 1}
    run = played(DECLARE, consume, {"kill": ["b", "c"], "at": 1.0006}, {"wait": 90}, version="3.10")
    assert refusals(run) == [(541, "INTERNAL_ERROR")]
    assert entries(run, "step_refused")[0].t_us == 66_000_000, "net_ticktime and five seconds after it asked"


def test_queue_can_be_deleted_while_the_other_side_is_down():
    run = played(DECLARE, publish(1), {"partition": [["a", "b"], ["c"]]}, {"wait": 70}, {"stop": "c"},
                 {"delete": {"queue": "q", "node": "a"}}, {"heal": True}, {"start": "c"})  # fmt: skip
    assert refusals(run) == [] and entries(run, "queue_deleted") and "q" not in run.moment().state.queues


@pytest.mark.parametrize(("first", "second"), [("quorum", "quorum"), ("quorum", "classic"), ("classic", "quorum")])
def test_name_of_a_quorum_queue_cannot_be_declared_on_the_other_side(first, second):
    theirs, ours = ({"x-queue-type": kind} for kind in (first, second))
    run = played({"partition": [["a", "b"], ["c"]]}, {"wait": 70},
                 {"declare": {"queue": "q", "node": "a" if first == "quorum" else "c", "arguments": theirs}},
                 {"declare": {"queue": "q", "node": "c" if first == "quorum" else "a", "arguments": ours}})  # fmt: skip
    ((_, text),) = refusals(run)
    assert f"as a {second} queue, while another side of the partition knows it as a {first} queue; accepted" in text


def test_leader_detects_the_end_of_a_channel_on_another_side():
    run = played(
        {"declare": declared(quorum_initial_group_size=1)["declare"] | {"node": "c"}},
        {"consume": {"consumer": "c", "queue": "q", "node": "b"}}, {"partition": [["a", "c"], ["b"]]}, {"wait": 100},
        {"heal": True}, {"wait": 20}, cluster_partition_handling="autoheal",
    )  # fmt: skip
    assert not run.moment().state.groups["q"].waiting and not queue(run).consumers


def test_new_leader_does_not_suspect_consumers_on_reachable_nodes():
    run = played(
        {"declare": DECLARE["declare"] | {"node": "c"}}, publish(10, "b"),
        {"consume": CONSUME["consume"] | {"node": "b"}}, {"partition": [["a"], ["b"], ["c"]]}, {"wait": 100},
        {"heal": True}, {"kill": "c"},
    )  # fmt: skip
    assert entries(run, "leader_elected")[-1].node == 0, "not where the consumer is"
    assert not entries(run, "messages_requeued") and not queue(run).fifo.suspected


def test_suspected_consumer_regains_its_credit():
    run = played(DECLARE, publish(10), {"consume": CONSUME["consume"] | {"node": "c"}},
                 {"partition": [["a", "b"], ["c"]]}, {"wait": 100})  # fmt: skip
    assert queue(run).fifo.suspected == {"c"} and not run.moment().state.consumers["c"].blocked


def test_healed_links_do_not_restore_a_consumer_on_a_node_that_is_down():
    """Otherwise it would hold its messages for ever. It is served for a moment once its node runs again."""
    run = played(
        DECLARE, publish(10), CONSUME, {"kill": "a"}, {"partition": [["a"], ["b", "c"]]}, {"heal": True},
        {"wait": 100}, {"start": "a"}, nodes="abc",
    )  # fmt: skip
    assert [entry.t_us > 100_000_000 for entry in entries(run, "messages_delivered")] == [False, True]
    assert (queue(run).consumers, queue(run).unacknowledged) == ((), runs.EMPTY)


def test_consumer_with_the_name_of_a_lost_one_starts_empty():
    run = played(
        DECLARE, publish(10), {"consume": CONSUME["consume"] | {"node": "c"}}, {"cancel": "c"}, {"kill": "c"},
        {"consume": CONSUME["consume"] | {"prefetch": 2}},
    )  # fmt: skip
    consumer = outcome(run)["consumers"]["c"]
    assert (consumer["state"], consumer["unacknowledged"]) == ("active", [[1, 2]])
    assert entries(run, "messages_requeued")[-1].detail["ids"] == [[1, 5]]


def test_consumer_name_stays_taken_until_the_channel_end_is_committed():
    arguments = {"x-queue-type": "quorum", "x-quorum-initial-group-size": 2}
    other = DECLARE["declare"] | {"queue": "q2", "arguments": arguments}
    run = played(
        DECLARE, {"declare": other}, {"publish": {"queues": ["q", "q2"], "count": 10, "node": "a"}},
        {"consume": CONSUME["consume"] | {"queue": "q2", "node": "d"}}, {"partition": [["d"], ["a", "b", "c", "e"]]},
        {"wait": 100}, {"heal": True}, {"consume": CONSUME["consume"]},
        nodes="abcde", cluster_partition_handling="pause_minority",
    )  # fmt: skip
    consumers = run.moment().state.consumers
    assert all(consumers[name].queue == queue.name for queue in run.moment().state.queues.values()
               for name in queue.consumers)  # fmt: skip


def test_new_leader_requeues_once_for_consumers_on_a_stopped_node():
    """Their messages are returned once, not again when the node restarts, as on a 4.0.5 cluster."""
    consume = {"consume": {"consumer": "c", "queue": "q", "node": "a", "prefetch": 2}}
    other = {"consume": {"consumer": "d", "queue": "q", "node": "b", "prefetch": 2, "priority": 2}}
    run = played(declared(quorum_initial_group_size=3, delivery_limit=1), publish(4), other, consume,
                 {"close": "d"}, {"stop": "a"}, {"start": "a"}, {"wait": 10})  # fmt: skip
    assert [entry.detail["ids"] for entry in entries(run, "messages_requeued")] == [[[1, 2]], [[3, 4]]]
    assert queue(run).content == runs.run(1, 4)


def test_new_leader_suspects_consumers_on_a_stopping_unreachable_node():
    """A later node-down event would find no consumers there, because the node no longer runs."""
    run = played(DECLARE, publish(10), CONSUME, {"partition": [["a"], ["b", "c"]], "at": 1}, {"stop": "a", "at": 1},
                 {"heal": True, "at": 2}, {"wait": 100})  # fmt: skip
    assert [entry.detail["ids"] for entry in entries(run, "messages_requeued")] == [[[1, 5]]]
    assert "c" in queue(run).fifo.suspected
