"""Quorum queues as their clients see them: what is committed when, who leads, and what happens without a majority.

Stories of one rule each, checked after every event as the random programs are, which found some of them.
"""

from __future__ import annotations

import pytest
from invariants import check_settled, check_trace, watched

from hawb.engine import runs
from hawb.engine.key import key
from hawb.engine.quorum_group import proposals
from hawb.engine.runs import EMPTY
from hawb.engine.state import Queue
from hawb.engine.trace import Entry
from hawb.planning import inventory
from hawb.scenario.load import read_scenario
from hawb.scenario.outcome import outcome
from hawb.scenario.run import Run

QUORUM = {"x-queue-type": "quorum"}
DECLARE = {"declare": {"queue": "q", "node": "a", "arguments": QUORUM}}
LATENCY_US = 500


def played(*steps: dict, nodes: str = "abc", **cluster: object) -> Run:
    """A scenario, watched."""
    given = {"scenario": "s", "cluster": {"nodes": list(nodes)} | cluster, "steps": list(steps)}
    with watched():
        run = Run.of(read_scenario(given))
        check_settled(run.settings, run.moment())
        check_trace(run.moment())
    return run


def declared(**arguments: object) -> dict:
    more = {f"x-{key.replace('_', '-')}": value for key, value in arguments.items()}
    return {"declare": {"queue": "q", "node": "a", "arguments": QUORUM | more}}


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


def publish(count: int, node: str = "a", **more: object) -> dict:
    return {"publish": {"queue": "q", "count": count, "node": node} | more}


def queue(run: Run, name: str = "q") -> Queue:
    return run.moment().state.queues[name]


def told(run: Run, *events: str) -> list[Entry]:
    return [entry for entry in run.moment().trace() if entry.event in events]


def refusals(run: Run) -> list[tuple[int | None, str]]:
    return [(refusal.code, refusal.text) for refusal in run.moment().refusals]


# Publishing


def test_what_is_sent_without_a_majority_is_committed_once_when_there_is_one():
    apart = (DECLARE, publish(1), {"kill": ["b", "c"]}, publish(4))
    before = played(*apart)
    assert queue(before).pending == runs.run(2, 4) and before.moment().ledger["q"].confirmed == runs.run(1, 1)
    after = played(*apart, {"start": ["b", "c"]})
    assert queue(after).contents == (runs.run(1, 5),) * 3
    assert after.moment().ledger["q"].confirmed == runs.run(1, 5)


def test_a_new_leader_is_sent_what_it_lacks_and_nothing_that_it_has():
    run = played(DECLARE, {"kill": ["a", "b"]}, publish(2, "c"), {"start": ["a", "b"]}, publish(1, "c"))
    for member in run.moment().state.groups["q"].members.values():
        numbers = [one.command.numbers for one in member.log.runs if getattr(one.command, "numbers", ())]
        assert numbers == [runs.run(1, 2), runs.run(3, 1)]


def test_what_no_member_has_goes_with_its_channel():
    run = played(DECLARE, {"kill": ["a", "b"]}, publish(2, "c"), {"kill": "c"})
    (entry,) = told(run, "messages_refused")
    assert (entry.detail["ids"], entry.detail["reason"]) == ([[1, 2]], "client_node_gone")
    assert not queue(run).pending and not run.moment().state.groups["q"].waiting


def test_what_a_member_had_not_written_goes_with_it_and_its_channel():
    run = played(
        DECLARE, publish(1), {"kill": ["b", "c"], "at": 0.1}, publish(3) | {"at": 0.2}, {"kill": "a", "at": 0.2001},
        {"start": ["a", "b", "c"], "at": 1}, publish(1, "b") | {"at": 20},
    )  # fmt: skip
    assert queue(run).content == ((1, 1), (5, 5)) and not queue(run).pending
    assert run.moment().ledger["q"].refused == runs.run(2, 3)


def test_messages_for_two_quorum_queues_are_confirmed_when_both_have_them():
    other = {"declare": {"queue": "r", "node": "b", "arguments": QUORUM}}
    run = played(DECLARE, other, {"publish": {"queues": ["q", "r"], "count": 3}})
    account = run.moment().ledger
    assert account["q"].confirmed == account["r"].confirmed == runs.run(1, 3)


def test_messages_for_both_types_are_confirmed_when_both_have_them():
    classic = {"declare": {"queue": "r", "node": "a"}}
    apart = (DECLARE, classic, {"kill": ["b", "c"]}, {"publish": {"queues": ["q", "r"], "count": 3}})
    assert not played(*apart).moment().ledger["r"].confirmed
    run = played(*apart, {"start": ["b", "c"]})
    assert run.moment().ledger["q"].confirmed == run.moment().ledger["r"].confirmed == runs.run(1, 3)


def test_a_channel_that_its_queue_does_not_know_nacks_one_message_at_a_time():
    run = played(DECLARE, {"kill": ["b", "c"]}, publish(3), {"wait": 66}, version="3.10")
    (entry,) = told(run, "messages_refused")
    assert (entry.detail["ids"], entry.detail["reason"]) == ([[1, 1]], "no_majority")
    assert run.moment().ledger["q"].nacked == runs.run(1, 1) and queue(run).pending == runs.run(2, 2)


def test_a_channel_is_known_as_soon_as_its_leader_has_a_majority_again():
    run = played(DECLARE, {"kill": ["b", "c"]}, publish(3), publish(2), {"start": ["b", "c"]}, version="3.10")
    assert len(told(run, "leader_elected")) == 1, "the leader is the same"
    assert run.moment().ledger["q"].confirmed == runs.run(1, 5) and not run.moment().ledger["q"].nacked


ALONE = (declared(), {"declare": {"queue": "r", "node": "a"}}, {"kill": ["b", "c"]})


def in_r(*steps: dict) -> tuple[runs.Runs, runs.Runs]:
    """What a classic queue has, and what its publishers were told is there, in 3.10."""
    run = played(*ALONE, *steps, version="3.10")
    return queue(run, "r").content, run.moment().ledger["r"].confirmed


def test_what_is_published_behind_a_first_message_waits_with_it():
    to_r = {"publish": {"queue": "r", "count": 2, "node": "a"}}
    waiting = (publish(2), to_r, to_r)
    assert in_r(*waiting, {"wait": 129}) == (EMPTY, EMPTY)
    assert in_r(*waiting, {"wait": 131}) == (runs.run(1, 4), runs.run(1, 4))
    assert in_r(*waiting, {"wait": 10}, {"start": "b"}, {"wait": 20}) == (runs.run(1, 4), runs.run(1, 4))


@pytest.mark.parametrize("of_another", [{"mode": "plain"}, {"connection": "x"}, {"node": "b"}, {"queue": "v::r"}])
def test_another_channel_does_not_wait(of_another: dict):
    steps = (
        declared(), {"declare": {"queue": "r", "node": "a"}}, {"declare": {"queue": "v::r", "node": "a"}},
        {"partition": [["a", "b"], ["c", "d", "e"]]}, {"wait": 61}, publish(1),
        {"publish": {"queue": "r", "count": 2, "node": "a"} | of_another},
    )  # fmt: skip
    run = played(*steps, nodes="abcde", version="3.10")
    assert queue(run, of_another.get("queue", "r")).content == runs.run(1, 2)


def test_of_messages_for_several_queues_the_first_gets_to_the_classic_one():
    both = {"publish": {"queues": ["r", "q"], "count": 3, "node": "a"}}
    assert in_r(both) == (runs.run(1, 1), EMPTY)
    assert in_r(both, {"wait": 66}) == (runs.run(1, 2), EMPTY)
    assert in_r(both, {"wait": 66}, {"start": "b"}, {"wait": 20}) == (runs.run(1, 3), runs.run(2, 2))


def test_messages_for_several_virtual_hosts_are_held_back_once():
    both = {"publish": {"queues": ["v::r", "q"], "count": 300, "node": "a"}}
    run = played(*ALONE, both, {"start": "b"}, version="3.10")
    assert len(told(run, "messages_held_back")) == 1
    assert run.moment().ledger["q"].confirmed == runs.run(1, 300)


def test_with_nobody_to_ask_no_channel_waits():
    run = played(
        declared(), {"declare": {"queue": "r", "node": "b"}}, {"kill": ["a", "c"]},
        {"publish": {"queues": ["q", "r"], "count": 1000, "node": "b"}}, version="3.10",
    )  # fmt: skip
    assert not told(run, "messages_held_back")
    assert queue(run, "r").content == run.moment().ledger["r"].nacked == runs.run(1, 1000)


@pytest.mark.parametrize(("version", "killed", "waits_s"), [
    ("3.10", "cde", 130), ("3.13", "cde", 130), ("3.10", "bcde", 65), ("4.0", "bcde", 65),
    ("3.10", "acd", 0), ("3.13", "acd", 130), ("4.0", "acd", 130), ("3.13", "acde", 65),
])  # fmt: skip
def test_a_channel_asks_every_member_that_it_reaches_one_after_the_other(version: str, killed: str, waits_s: int):
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


def test_what_a_channel_holds_back_goes_with_its_node():
    steps = (publish(1), {"publish": {"queue": "r", "count": 2, "node": "a"}}, {"kill": "a"}, {"start": ["a", "b"]})
    run = played(*ALONE, *steps, {"wait": 100}, version="3.10")
    assert not run.moment().state.held_back
    assert run.moment().ledger["r"].refused == runs.run(1, 2)


def test_what_a_channel_holds_back_goes_on_when_the_queue_is_deleted():
    to_r = {"publish": {"queue": "r", "count": 2, "node": "a"}}
    assert in_r(publish(1), to_r, {"delete": {"queue": "q", "node": "a"}}) == (runs.run(1, 2), runs.run(1, 2))


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
    assert drained.moment().state.groups["q"].stopped == {0}
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


def test_what_flows_is_committed_as_it_comes():
    flowing = {"publisher": {"name": "p", "queue": "q", "node": "a", "rate": 100}}
    run = played(DECLARE, flowing, {"wait": 10}, {"close": "p"})
    account, group = run.moment().ledger["q"], run.moment().state.groups["q"]
    assert account.published == 1000 and account.confirmed == runs.run(1, 999), "the last one's channel is gone"
    assert {len(member.log.runs) for member in group.members.values()} == {2}, "one run of all, behind the first entry"
    assert queue(run).contents == (runs.run(1, account.published),) * 3


def test_states_are_alike_whatever_the_terms_and_differ_by_who_leads():
    def state(*steps: dict) -> object:
        run = played(DECLARE, publish(1), *steps)
        return key(run.moment().state, run.settings)

    assert state() == state()
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


def test_what_waits_at_a_cut_off_leader_is_not_sent_again_because_another_channel_publishes():
    run = played(
        declared(), {"partition": [["b", "c"], ["a"]]}, publish(5), {"wait": 75}, publish(4, "b"), version="3.8"
    )
    log = run.moment().state.groups["q"].members[0].log
    assert len(list(proposals(log, 0))) == 1
