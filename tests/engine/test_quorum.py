"""Quorum queues as their clients see them: who leads, what clients wait for, and what happens without a majority.

Stories of one rule each, checked after every event as the random programs are, which found some of them.
"""

from __future__ import annotations

import pytest
from quorum_stories import DECLARE, QUORUM, declared, played, publish, queue, refusals, told

from hawb.engine.core import runs
from hawb.engine.keys.state_key import key
from hawb.planning import inventory
from hawb.scenario.load import read_scenario
from hawb.scenario.outcome import outcome
from hawb.scenario.run import Run


def test_a_queue_knows_what_no_majority_has_yet():
    """Its size, too, which a plan of a move asks for; each state is checked for it."""
    for count in (0, 2):
        publisher = {"publisher": {"name": "p", "queue": "q", "rate": 10, "node": "a"}}
        steps = [declared(), publisher, {"wait": 10}, {"kill": ["b", "c"]}, {"wait": 20}]
        steps += [{"start": ["b", "c"]}, {"kill": ["b", "c"]}] * count + [{"wait": 30}, {"close": "p"}]
        run = played(*steps, version="3.10")
        (queue,) = run.moment().state.queues.values()
        assert queue.pending
        (told,) = inventory.of_run(run).queues
        assert told.facts.message_bytes == 1024 * told.facts.messages == 1024 * runs.size(queue.contents[0])


def test_members_that_do_not_run_at_the_start_though_their_nodes_do_come_back_with_these():
    """RabbitMQ's check fails on the nodes of the others meanwhile, and one of them is a majority no more."""
    place = {"leader": "a", "members": ["a", "b", "c"], "stopped_members": ["c"]}
    values = {"scenario": "t", "cluster": {"nodes": ["a", "b", "c"], "version": "3.10"}, "steps": []}
    values["queues"] = [{"queue": "q", "type": "quorum", "messages": 5, **place}]
    run = Run.of(read_scenario(values))
    told = outcome(run)["queues"]["q"]
    assert (told["state"], told["leader"], told["online"]) == ("running", "a", ["a", "b"])
    assert told["critical_nodes"] == ["a", "b"]
    run.apply_plain({"kill": "a"})
    assert outcome(run)["queues"]["q"]["state"] == "minority"
    run.undo()
    run.apply_plain({"kill": "c"})
    run.apply_plain({"start": "c"})
    told = outcome(run)["queues"]["q"]
    assert (told["online"], told["critical_nodes"], told["messages"]) == (["a", "b", "c"], [], 5)
    values["queues"][0]["stopped_members"] = ["b", "a", "c"]
    del values["queues"][0]["leader"]
    assert outcome(Run.of(read_scenario(values)))["queues"]["q"]["state"] == "minority"


# What clients wait for


def test_a_get_without_a_majority_is_given_up_after_net_ticktime_and_five_seconds():
    run = played(DECLARE, publish(1), {"kill": ["b", "c"]}, {"get": {"queue": "q", "count": 1}, "at": 1})
    reason = "Cannot get a message from queue 'queue 'q' in vhost '/'': {timeout,{'%2F_q','a'}}"
    assert refusals(run) == [(541, f"INTERNAL_ERROR - {reason}")]
    assert told(run, "step_refused")[0].t_us == 66_000_000


def test_what_was_given_up_is_done_for_nobody_if_a_log_has_it():
    run = played(
        DECLARE, publish(2), {"kill": ["b", "c"]}, {"get": {"queue": "q", "count": 1}}, {"wait": 70},
        {"start": ["b", "c"]},
    )  # fmt: skip
    assert (queue(run).content, queue(run).redelivered, queue(run).unacknowledged) == (((1, 2),), ((1, 1),), ())


def test_a_queue_that_cannot_agree_to_its_end_is_deleted_by_force():
    gone = played(DECLARE, publish(1), {"kill": ["b", "c"]}, {"delete": {"queue": "q"}, "at": 1})
    assert told(gone, "queue_deleted")[0].t_us == 6_000_000 and not refusals(gone)
    assert "q" not in gone.moment().state.queues and "q" not in gone.moment().state.groups


# Leaders


def test_a_silent_link_is_suspected_after_six_seconds_and_then_there_is_an_election():
    run = played(DECLARE, publish(1), {"partition": [["a"], ["b", "c"]], "at": 1}, {"wait": 20})
    (suspected,) = told(run, "nodes_suspected")
    _, elected = told(run, "leader_elected")
    assert suspected.t_us == 7_000_000 and elected.because == suspected.number and elected.node in (1, 2)


def test_nobody_stands_for_election_who_reaches_no_majority():
    run = played(DECLARE, {"kill": ["a", "b"]}, {"wait": 100})
    assert len(told(run, "leader_elected")) == 1 and not run.moment().state.agenda
    assert run.moment().state.groups["q"].members[2].term == 1


def test_a_node_that_is_drained_stops_its_members_and_one_that_is_revived_starts_them():
    drained = played(DECLARE, publish(2), {"drain": "a"}, version="3.10")
    assert drained.moment().state.groups["q"].stopped == 1 << 0
    assert queue(drained).master in (1, 2) and queue(drained).synchronised == (1, 2)
    revived = played(DECLARE, publish(2), {"drain": "a"}, {"revive": "a"}, version="3.10")
    assert queue(revived).synchronised == (0, 1, 2) and not revived.moment().state.groups["q"].stopped


def test_after_net_ticktime_each_side_knows_only_a_leader_that_it_reaches():
    run = played(DECLARE, publish(1), {"partition": [["a"], ["b", "c"]]}, {"wait": 100})
    known = {run.moment().state.nodes_of(side)[0]: side.queues["q"] for side in run.moment().state.sides}
    assert {node: one.up for node, one in known.items()} == {0: False, 1: True}
    assert known[0].contents == known[1].contents and known[0].synchronised == known[1].synchronised


def test_a_node_without_a_member_is_told_that_it_sees_no_leader_when_it_stops():
    run = played(
        declared(quorum_initial_group_size=1), publish(1), {"partition": [["a"], ["b"], ["c"]]}, {"wait": 100},
        {"heal": True}, {"stop": "c"},
    )  # fmt: skip
    assert queue(run).up


def test_nothing_overtakes_on_a_link():
    run = played(
        DECLARE, publish(10), {"kill": "a"}, publish(1, "b"), {"start": "a"}, {"kill": ["b", "c"]},
        {"start": ["b", "c"]}, publish(1, "b"), timing={"link_latency_s": 0, "fsync_s": 0},
    )  # fmt: skip
    leader = run.moment().state.groups["q"].leaders()[0]
    assert {member.commit_index for member in run.moment().state.groups["q"].members.values()} == {leader.commit_index}


# The queue


def test_a_leader_without_a_majority_lets_messages_expire_when_it_has_one():
    without = (declared(message_ttl=1000), publish(3), {"kill": ["b", "c"]}, {"wait": 10})
    assert queue(played(*without, version="3.10")).content == runs.run(1, 3)
    run = played(*without, {"start": ["b", "c"]}, version="3.10")
    assert not queue(run).content and len(told(run, "messages_expired")) == 1


def ids_held_by(**counts: int) -> list[list[int]]:
    """In which order 4.0 would deliver five messages and four urgent ones after these clients have fetched so many."""
    urgent = {"publish": {"queue": "q", "count": 4, "priority": 5}}
    gets = ({"get": {"queue": "q", "count": n, "ack": False, "consumer": name}} for name, n in counts.items())
    run = played(DECLARE, publish(5), urgent, *gets, version="4.0")
    return outcome(run)["queues"]["q"]["ids"]


def test_what_a_client_holds_comes_back_as_it_was_delivered():
    assert ids_held_by(one=3) == [[6, 7], [1, 1], [8, 9], [2, 5]]


def test_what_several_clients_hold_is_told_by_number():
    assert ids_held_by(one=2, other=1) == [[1, 1], [6, 9], [2, 5]]


def test_what_has_left_the_queue_under_a_new_leader_does_not_come_back():
    run = played(
        declared(message_ttl=1000), publish(3), {"kill": ["a", "b", "c"]}, {"wait": 10}, {"start": ["a", "b", "c"]},
        {"wait": 10}, version="3.10",
    )  # fmt: skip
    (entry,) = told(run, "messages_expired")
    assert entry.detail["ids"] == [[1, 3]] and queue(run).contents == ((), (), ())


def test_what_was_given_back_too_often_and_goes_nowhere_is_told():
    run = played(
        declared(delivery_limit=0), publish(3), {"consume": {"consumer": "c", "queue": "q", "prefetch": 2}},
        {"nack": {"consumer": "c", "count": 2}},
    )  # fmt: skip
    (entry,) = told(run, "messages_dropped")
    assert (entry.detail["ids"], entry.detail["reason"]) == ([[1, 2]], "delivery_limit")


def test_a_policy_is_adopted_when_it_is_committed():
    limited = {"set_policy": {"name": "p", "pattern": "q", "definition": {"max-length": 2}}}
    waits = played(DECLARE, publish(5), {"kill": ["b", "c"]}, limited)
    assert queue(waits).content == runs.run(1, 5)
    run = played(DECLARE, publish(5), {"kill": ["b", "c"]}, limited, {"start": ["b", "c"]})
    assert queue(run).content == ((4, 5),)


def test_in_3_8_a_queue_declared_under_a_mirroring_policy_is_not_told_of_the_next_one():
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
def test_in_3_8_nobody_counts_as_active_while_a_cancelled_consumer_holds_messages(version: str, place: str):
    consumes = ({"consume": {"consumer": name, "queue": "q", "node": "a", "prefetch": 1}} for name in ("one", "two"))
    steps = (declared(single_active_consumer=True), *consumes, publish(3), {"cancel": "one"})
    told = outcome(played(*steps, version=version))["consumers"]["two"]
    assert (told["activity_status"], told["received"]) == (place, [[2, 2]])
    answered = outcome(played(*steps, {"ack": {"consumer": "one"}}, version=version))["consumers"]["two"]
    assert answered["activity_status"] == "single_active"


def test_a_mirroring_policy_gives_a_quorum_queue_no_mirrors_even_after_links_have_healed():
    mirrored = {"set_policy": {"name": "p", "pattern": "q", "definition": {"ha-mode": "all"}}}
    run = played(mirrored, DECLARE, publish(1), {"partition": [["a"], ["b", "c"]]}, {"wait": 1}, {"heal": True})
    assert not queue(run).mirrors and not queue(run).mirrored


def test_states_are_alike_whatever_the_terms_and_differ_by_who_leads():
    def state(*steps: dict) -> object:
        run = played(DECLARE, publish(1), *steps)
        return key(run.moment().state, run.settings)

    away_and_back = [{"transfer_leadership": {"queue": "q", "node": node}} for node in "ba"]
    assert state() == state(*away_and_back, {"wait": 60}), "a leads in term 1 and in term 3"
    assert state() != state({"kill": "a"})
    assert state({"kill": "b"}) != state({"kill": "a"})


def test_a_member_that_joins_behind_a_follower_of_a_lower_name_stays_and_catches_up():
    run = played({"declare": {**declared(quorum_initial_group_size=2)["declare"], "node": "b"}}, publish(3),
                 {"join": "n"}, {"add_member": {"queue": "q", "node": "n"}}, publish(2, "n"), {"kill": "a"},
                 publish(1, "b"), nodes="ab")  # fmt: skip
    assert run.moment().ledger["q"].confirmed == runs.run(1, 6)
    assert queue(run).up


def test_a_member_that_comes_back_without_its_disk_is_sent_all_of_it_again():
    steps = ({"declare": {**declared(quorum_initial_group_size=2)["declare"], "node": "b"}}, publish(3, "b"),
             {"kill": "a"}, {"reset": "a"}, {"join": "a"}, publish(2, "b"))  # fmt: skip
    run = played(*steps, nodes="ab")
    assert run.moment().ledger["q"].confirmed == runs.run(1, 5)
    alone = played(*steps, {"delete_member": {"queue": "q", "node": "b"}}, publish(1, "a"), nodes="ab")
    assert queue(alone).contents[0] == runs.run(1, 6)


def test_a_name_means_one_quorum_queue_on_all_sides_of_a_partition():
    run = played({"partition": [["a", "b"], ["c"]]}, {"wait": 70}, declared(), {"declare": {"queue": "q", "node": "c"}})
    assert [text.split(":")[0] for _, text in refusals(run)] == ["not simulated"]


def test_in_a_partition_the_leader_of_that_side_hands_over():
    apart = (DECLARE, {"partition": [["a"], ["b", "c"]]}, {"wait": 90})  # both sides have noticed
    run = played(*apart, *({"transfer_leadership": {"queue": "q", "node": node}} for node in "bcb"))
    later = [entry.node for entry in told(run, "leader_elected") if entry.detail["term"] > 2]
    assert [run.settings.names[node] for node in later][-2:] == ["c", "b"]


@pytest.mark.parametrize("version", ["3.8", "3.10", "4.0", "4.3"])
def test_a_leader_that_nobody_could_take_over_from_runs_on_as_its_node_is_drained(version: str):
    one = {"declare": {"queue": "q", "node": "a", "arguments": QUORUM | {"x-quorum-initial-group-size": 1}}}
    others = [{"drain": "b"}, {"drain": "c"}]
    assert queue(played(one, *others, {"drain": "a"}, version=version)).up
    assert not queue(played(one, others[0], {"drain": "a"}, version=version)).up
    assert not queue(played(one, {"kill": "b"}, {"drain": "a"}, version=version)).up
    follower = played(DECLARE, {"drain": "b"}, {"drain": "c"}, {"drain": "a"}, version=version)
    assert queue(follower).master == 0 and follower.moment().state.groups["q"].stopped & 1 == 0


LED = {"declare": {"queue": "led", "node": "a", "arguments": QUORUM}}
FOLLOWED = {"declare": {"queue": "q", "node": "b", "arguments": QUORUM}}


def test_in_4_3_followers_of_a_drained_node_stop_once_its_leaders_have_successors():
    run = played(LED, FOLLOWED, {"drain": "a", "at": 10}, version="4.3")
    stopped = told(run, "follower_stopped")
    assert [(entry.queue, entry.t_us) for entry in stopped] == [("q", 10_000_000)]
    assert run.moment().state.groups["q"].stopped == run.moment().state.groups["led"].stopped == 1
    run = played(LED, FOLLOWED, {"kill": "c"}, {"drain": "a", "at": 10}, version="4.3")
    assert [entry.t_us for entry in told(run, "follower_stopped")] == [40_000_000]


@pytest.mark.parametrize("back", [{"revive": "a"}, {"kill": "a"}])
def test_in_4_3_followers_do_not_stop_on_a_node_that_is_drained_no_more(back: dict):
    start = [{"start": "a", "at": 25}] if "kill" in back else []
    run = played(LED, FOLLOWED, {"kill": "c"}, {"drain": "a", "at": 10}, back | {"at": 20}, *start, {"wait": 60},
                 version="4.3")  # fmt: skip
    assert told(run, "follower_stopped") == [] and not run.moment().state.groups["q"].stopped


def test_in_4_3_a_leader_hands_over_to_none_whom_it_has_not_sent_all():
    steps = [DECLARE, {"cut": [["a", "b"]]}, publish(4_097), {"transfer_leadership": {"queue": "q", "node": "b"}}]
    run = played(*steps, version="4.3")
    assert refusals(run) == [(None, "not_up_to_date")]
    assert refusals(played(*steps, version="4.0")) == []
    level = played(*steps[:2], publish(4_000), steps[3], version="4.3")
    assert refusals(level) == []
    moved = played(*steps, {"heal": True}, {"wait": 30}, steps[3], {"wait": 5}, version="4.3")
    assert queue(moved).master == 1 and len(refusals(moved)) == 1


def test_in_4_3_adding_a_member_fails_where_it_is_not_in_effect_in_time():
    steps = [DECLARE, {"kill": ["b", "c"]}, {"add_member": {"queue": "q", "node": "d"}, "at": 10}]
    run = played(*steps, nodes="abcd", version="4.3")
    assert refusals(run) == [(None, '["badmatch", ["timeout", ["%2F_q", "a"]]]')]
    assert run.moment().state.time_us == 15_000_000 and queue(run).members == (0, 1, 2, 3)
    assert refusals(played(*steps, nodes="abcd", version="4.0")) == []
    in_time = [DECLARE, {"kill": ["b", "c"], "at": 5}, {"start": "b", "at": 7}, steps[2], {"wait": 30}]
    assert refusals(played(*in_time, nodes="abcd", version="4.3")) == []
    with_majority = played(DECLARE, steps[2], {"kill": ["b", "c"], "at": 11}, {"wait": 30}, nodes="abcd", version="4.3")
    assert refusals(with_majority) == []
