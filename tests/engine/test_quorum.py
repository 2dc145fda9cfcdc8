"""Quorum queues as clients see them: leaders, waiting operations and behaviour without a majority.

Each story shows one rule. Invariants are checked after every event. Random programs found some of the stories.
"""

from __future__ import annotations

import pytest
from quorum_stories import DECLARE, QUORUM, declared, entries, played, publish, queue, refusals

from hawb.engine.core import runs
from hawb.engine.keys.state_key import key
from hawb.planning import inventory
from hawb.scenario.load import read_scenario
from hawb.scenario.outcome import outcome
from hawb.scenario.run import Run


def test_uncommitted_messages_and_their_size_are_known():
    """A plan of a move needs the size of the queue."""
    for count in (0, 2):
        publisher = {"publisher": {"name": "p", "queue": "q", "rate": 10, "node": "a"}}
        steps = [declared(), publisher, {"wait": 10}, {"kill": ["b", "c"]}, {"wait": 20}]
        steps += [{"start": ["b", "c"]}, {"kill": ["b", "c"]}] * count + [{"wait": 30}, {"close": "p"}]
        run = played(*steps, version="3.10")
        (queue,) = run.moment().state.queues.values()
        assert queue.pending
        (found,) = inventory.of_run(run).queues
        assert found.facts.message_bytes == 1024 * found.facts.messages == 1024 * runs.size(queue.contents[0])


def test_initially_stopped_members_start_with_their_nodes():
    """Until then RabbitMQ's quorum check fails on the other nodes: one of two members is no majority."""
    place = {"leader": "a", "members": ["a", "b", "c"], "stopped_members": ["c"]}
    values = {"scenario": "t", "cluster": {"nodes": ["a", "b", "c"], "version": "3.10"}, "steps": []}
    values["queues"] = [{"queue": "q", "type": "quorum", "messages": 5, **place}]
    run = Run.of(read_scenario(values))
    found = outcome(run)["queues"]["q"]
    assert (found["state"], found["leader"], found["online"]) == ("running", "a", ["a", "b"])
    assert found["critical_nodes"] == ["a", "b"]
    run.apply_plain({"kill": "a"})
    assert outcome(run)["queues"]["q"]["state"] == "minority"
    run.undo()
    run.apply_plain({"kill": "c"})
    run.apply_plain({"start": "c"})
    found = outcome(run)["queues"]["q"]
    assert (found["online"], found["critical_nodes"], found["messages"]) == (["a", "b", "c"], [], 5)
    values["queues"][0]["stopped_members"] = ["b", "a", "c"]
    del values["queues"][0]["leader"]
    assert outcome(Run.of(read_scenario(values)))["queues"]["q"]["state"] == "minority"


# What clients wait for


def test_basic_get_without_a_majority_times_out_after_net_ticktime_and_5_s():
    run = played(DECLARE, publish(1), {"kill": ["b", "c"]}, {"get": {"queue": "q", "count": 1}, "at": 1})
    reason = "Cannot get a message from queue 'queue 'q' in vhost '/'': {timeout,{'%2F_q','a'}}"
    assert refusals(run) == [(541, f"INTERNAL_ERROR - {reason}")]
    assert entries(run, "step_refused")[0].t_us == 66_000_000


def test_command_of_a_timed_out_get_is_applied_without_effect():
    run = played(
        DECLARE, publish(2), {"kill": ["b", "c"]}, {"get": {"queue": "q", "count": 1}}, {"wait": 70},
        {"start": ["b", "c"]},
    )  # fmt: skip
    assert (queue(run).content, queue(run).redelivered, queue(run).unacknowledged) == (((1, 2),), ((1, 1),), ())


def test_queue_without_a_majority_is_force_deleted_after_a_timeout():
    gone = played(DECLARE, publish(1), {"kill": ["b", "c"]}, {"delete": {"queue": "q"}, "at": 1})
    assert entries(gone, "queue_deleted")[0].t_us == 6_000_000 and not refusals(gone)
    assert "q" not in gone.moment().state.queues and "q" not in gone.moment().state.groups


# Leaders


def test_silent_leader_is_suspected_after_6_s_and_replaced():
    run = played(DECLARE, publish(1), {"partition": [["a"], ["b", "c"]], "at": 1}, {"wait": 20})
    (suspected,) = entries(run, "nodes_suspected")
    _, elected = entries(run, "leader_elected")
    assert suspected.t_us == 7_000_000 and elected.because == suspected.number and elected.node in (1, 2)


def test_member_without_a_majority_does_not_start_elections():
    run = played(DECLARE, {"kill": ["a", "b"]}, {"wait": 100})
    assert len(entries(run, "leader_elected")) == 1 and not run.moment().state.agenda
    assert run.moment().state.groups["q"].members[2].term == 1


def test_drain_stops_members_and_revive_starts_them():
    drained = played(DECLARE, publish(2), {"drain": "a"}, version="3.10")
    assert drained.moment().state.groups["q"].stopped == 1 << 0
    assert queue(drained).master in (1, 2) and queue(drained).synchronised == (1, 2)
    revived = played(DECLARE, publish(2), {"drain": "a"}, {"revive": "a"}, version="3.10")
    assert queue(revived).synchronised == (0, 1, 2) and not revived.moment().state.groups["q"].stopped


def test_each_side_knows_only_a_reachable_leader_after_net_ticktime():
    run = played(DECLARE, publish(1), {"partition": [["a"], ["b", "c"]]}, {"wait": 100})
    known = {run.moment().state.nodes_of(side)[0]: side.queues["q"] for side in run.moment().state.sides}
    assert {node: one.up for node, one in known.items()} == {0: False, 1: True}
    assert known[0].contents == known[1].contents and known[0].synchronised == known[1].synchronised


def test_node_without_a_member_can_stop_on_its_own_side():
    run = played(
        declared(quorum_initial_group_size=1), publish(1), {"partition": [["a"], ["b"], ["c"]]}, {"wait": 100},
        {"heal": True}, {"stop": "c"},
    )  # fmt: skip
    assert queue(run).up


def test_messages_on_a_link_keep_their_order():
    run = played(
        DECLARE, publish(10), {"kill": "a"}, publish(1, "b"), {"start": "a"}, {"kill": ["b", "c"]},
        {"start": ["b", "c"]}, publish(1, "b"), timing={"link_latency_s": 0, "fsync_s": 0},
    )  # fmt: skip
    leader = run.moment().state.groups["q"].leaders()[0]
    assert {member.commit_index for member in run.moment().state.groups["q"].members.values()} == {leader.commit_index}


# The queue


def test_messages_expire_once_the_leader_has_a_majority():
    without = (declared(message_ttl=1000), publish(3), {"kill": ["b", "c"]}, {"wait": 10})
    assert queue(played(*without, version="3.10")).content == runs.run(1, 3)
    run = played(*without, {"start": ["b", "c"]}, version="3.10")
    assert not queue(run).content and len(entries(run, "messages_expired")) == 1


def ids_held_by(**counts: int) -> list[list[int]]:
    """Return the order of five normal and four high-priority messages in 4.0 after these clients fetched as many."""
    urgent = {"publish": {"queue": "q", "count": 4, "priority": 5}}
    gets = ({"get": {"queue": "q", "count": n, "ack": False, "consumer": name}} for name, n in counts.items())
    run = played(DECLARE, publish(5), urgent, *gets, version="4.0")
    return outcome(run)["queues"]["q"]["ids"]


def test_unacknowledged_messages_of_one_client_are_listed_as_delivered():
    assert ids_held_by(one=3) == [[6, 7], [1, 1], [8, 9], [2, 5]]


def test_unacknowledged_messages_of_several_clients_are_listed_by_number():
    assert ids_held_by(one=2, other=1) == [[1, 1], [6, 9], [2, 5]]


def test_messages_that_expired_under_a_new_leader_do_not_come_back():
    run = played(
        declared(message_ttl=1000), publish(3), {"kill": ["a", "b", "c"]}, {"wait": 10}, {"start": ["a", "b", "c"]},
        {"wait": 10}, version="3.10",
    )  # fmt: skip
    (entry,) = entries(run, "messages_expired")
    assert entry.detail["ids"] == [[1, 3]] and queue(run).contents == ((), (), ())


def test_drop_at_the_delivery_limit_is_reported():
    run = played(
        declared(delivery_limit=0), publish(3), {"consume": {"consumer": "c", "queue": "q", "prefetch": 2}},
        {"nack": {"consumer": "c", "count": 2}},
    )  # fmt: skip
    (entry,) = entries(run, "messages_dropped")
    assert (entry.detail["ids"], entry.detail["reason"]) == ([[1, 2]], "delivery_limit")


def test_policy_applies_when_committed():
    limited = {"set_policy": {"name": "p", "pattern": "q", "definition": {"max-length": 2}}}
    waits = played(DECLARE, publish(5), {"kill": ["b", "c"]}, limited)
    assert queue(waits).content == runs.run(1, 5)
    run = played(DECLARE, publish(5), {"kill": ["b", "c"]}, limited, {"start": ["b", "c"]})
    assert queue(run).content == ((4, 5),)


def test_3_8_queue_declared_under_a_mirroring_policy_misses_the_next_policy():
    def limited(name: str, length: int) -> dict:
        return {"set_policy": {"name": name, "pattern": "^q", "definition": {"max-length": length}}}

    mirrored = {"set_policy": {"name": "ha", "pattern": "^q", "definition": {"ha-mode": "all"}, "priority": 1}}
    elsewhere = {"set_policy": {"name": "other", "pattern": "^none", "definition": {"max-length": 1}}}
    steps = (mirrored, DECLARE, publish(5), limited("short", 3), elsewhere)
    deaf = queue(played(*steps, version="3.8"))
    assert (deaf.policy, deaf.content) == ("short", runs.run(1, 5))
    assert queue(played(*steps, limited("short", 2), version="3.8")).content == runs.run(4, 2)
    assert queue(played(*steps, version="3.10")).content == runs.run(3, 3)


@pytest.mark.parametrize(("version", "place"), [("3.8", "waiting"), ("3.10", "single_active")])
def test_3_8_shows_no_active_consumer_while_a_cancelled_one_holds_messages(version: str, place: str):
    consumes = ({"consume": {"consumer": name, "queue": "q", "node": "a", "prefetch": 1}} for name in ("one", "two"))
    steps = (declared(single_active_consumer=True), *consumes, publish(3), {"cancel": "one"})
    found = outcome(played(*steps, version=version))["consumers"]["two"]
    assert (found["activity_status"], found["received"]) == (place, [[2, 2]])
    answered = outcome(played(*steps, {"ack": {"consumer": "one"}}, version=version))["consumers"]["two"]
    assert answered["activity_status"] == "single_active"


def test_mirroring_policy_gives_a_quorum_queue_no_mirrors_after_links_heal():
    mirrored = {"set_policy": {"name": "p", "pattern": "q", "definition": {"ha-mode": "all"}}}
    run = played(mirrored, DECLARE, publish(1), {"partition": [["a"], ["b", "c"]]}, {"wait": 1}, {"heal": True})
    assert not queue(run).mirrors and not queue(run).mirrored


def test_search_key_ignores_terms_and_includes_the_leader():
    def state(*steps: dict) -> object:
        run = played(DECLARE, publish(1), *steps)
        return key(run.moment().state, run.settings)

    away_and_back = [{"transfer_leadership": {"queue": "q", "node": node}} for node in "ba"]
    assert state() == state(*away_and_back, {"wait": 60}), "a leads in term 1 and in term 3"
    assert state() != state({"kill": "a"})
    assert state({"kill": "b"}) != state({"kill": "a"})


def test_added_member_catches_up_if_the_other_follower_is_down():
    run = played({"declare": {**declared(quorum_initial_group_size=2)["declare"], "node": "b"}}, publish(3),
                 {"join": "n"}, {"add_member": {"queue": "q", "node": "n"}}, publish(2, "n"), {"kill": "a"},
                 publish(1, "b"), nodes="ab")  # fmt: skip
    assert run.moment().ledger["q"].confirmed == runs.run(1, 6)
    assert queue(run).up


def test_reset_member_is_sent_the_whole_log():
    steps = ({"declare": {**declared(quorum_initial_group_size=2)["declare"], "node": "b"}}, publish(3, "b"),
             {"kill": "a"}, {"reset": "a"}, {"join": "a"}, publish(2, "b"))  # fmt: skip
    run = played(*steps, nodes="ab")
    assert run.moment().ledger["q"].confirmed == runs.run(1, 5)
    alone = played(*steps, {"delete_member": {"queue": "q", "node": "b"}}, publish(1, "a"), nodes="ab")
    assert queue(alone).contents[0] == runs.run(1, 6)


def test_quorum_queue_cannot_be_declared_on_two_sides():
    run = played({"partition": [["a", "b"], ["c"]]}, {"wait": 70}, declared(), {"declare": {"queue": "q", "node": "c"}})
    assert [text.split(":")[0] for _, text in refusals(run)] == ["not simulated"]


def test_transfer_leadership_works_on_the_majority_side():
    apart = (DECLARE, {"partition": [["a"], ["b", "c"]]}, {"wait": 90})  # both sides have noticed
    run = played(*apart, *({"transfer_leadership": {"queue": "q", "node": node}} for node in "bcb"))
    later = [entry.node for entry in entries(run, "leader_elected") if entry.detail["term"] > 2]
    assert [run.settings.names[node] for node in later][-2:] == ["c", "b"]


@pytest.mark.parametrize("version", ["3.8", "3.10", "4.0", "4.3"])
def test_drain_keeps_a_leader_if_no_other_member_can_lead(version: str):
    one = {"declare": {"queue": "q", "node": "a", "arguments": QUORUM | {"x-quorum-initial-group-size": 1}}}
    others = [{"drain": "b"}, {"drain": "c"}]
    assert queue(played(one, *others, {"drain": "a"}, version=version)).up
    assert not queue(played(one, others[0], {"drain": "a"}, version=version)).up
    assert not queue(played(one, {"kill": "b"}, {"drain": "a"}, version=version)).up
    follower = played(DECLARE, {"drain": "b"}, {"drain": "c"}, {"drain": "a"}, version=version)
    assert queue(follower).master == 0 and follower.moment().state.groups["q"].stopped & 1 == 0


LED = {"declare": {"queue": "led", "node": "a", "arguments": QUORUM}}
FOLLOWED = {"declare": {"queue": "q", "node": "b", "arguments": QUORUM}}


def test_4_3_drain_stops_followers_after_leaders_are_transferred():
    run = played(LED, FOLLOWED, {"drain": "a", "at": 10}, version="4.3")
    stopped = entries(run, "follower_stopped")
    assert [(entry.queue, entry.t_us) for entry in stopped] == [("q", 10_000_000)]
    assert run.moment().state.groups["q"].stopped == run.moment().state.groups["led"].stopped == 1
    run = played(LED, FOLLOWED, {"kill": "c"}, {"drain": "a", "at": 10}, version="4.3")
    assert [entry.t_us for entry in entries(run, "follower_stopped")] == [40_000_000]


@pytest.mark.parametrize("back", [{"revive": "a"}, {"kill": "a"}])
def test_4_3_followers_do_not_stop_after_revive_or_restart(back: dict):
    start = [{"start": "a", "at": 25}] if "kill" in back else []
    run = played(LED, FOLLOWED, {"kill": "c"}, {"drain": "a", "at": 10}, back | {"at": 20}, *start, {"wait": 60},
                 version="4.3")  # fmt: skip
    assert entries(run, "follower_stopped") == [] and not run.moment().state.groups["q"].stopped


def test_4_3_refuses_transfer_to_a_member_that_is_not_up_to_date():
    steps = [DECLARE, {"cut": [["a", "b"]]}, publish(4_097), {"transfer_leadership": {"queue": "q", "node": "b"}}]
    run = played(*steps, version="4.3")
    assert refusals(run) == [(None, "not_up_to_date")]
    assert refusals(played(*steps, version="4.0")) == []
    level = played(*steps[:2], publish(4_000), steps[3], version="4.3")
    assert refusals(level) == []
    moved = played(*steps, {"heal": True}, {"wait": 30}, steps[3], {"wait": 5}, version="4.3")
    assert queue(moved).master == 1 and len(refusals(moved)) == 1


def test_4_3_add_member_fails_if_not_committed_in_time():
    steps = [DECLARE, {"kill": ["b", "c"]}, {"add_member": {"queue": "q", "node": "d"}, "at": 10}]
    run = played(*steps, nodes="abcd", version="4.3")
    assert refusals(run) == [(None, '["badmatch", ["timeout", ["%2F_q", "a"]]]')]
    assert run.moment().state.time_us == 15_000_000 and queue(run).members == (0, 1, 2, 3)
    assert refusals(played(*steps, nodes="abcd", version="4.0")) == []
    in_time = [DECLARE, {"kill": ["b", "c"], "at": 5}, {"start": "b", "at": 7}, steps[2], {"wait": 30}]
    assert refusals(played(*in_time, nodes="abcd", version="4.3")) == []
    with_majority = played(DECLARE, steps[2], {"kill": ["b", "c"], "at": 11}, {"wait": 30}, nodes="abcd", version="4.3")
    assert refusals(with_majority) == []
