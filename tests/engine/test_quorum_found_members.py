"""Bugs of quorum queue members and their nodes that property tests found: the shortest story of each and the
expected outcome."""

from __future__ import annotations

import pytest
from invariants import watched
from quorum_stories import DECLARE, QUORUM, declared, entries, played, publish, queue, refusals

from hawb.engine.core import runs
from hawb.scenario.outcome import outcome

# Members and their logs


@pytest.mark.parametrize("steps", [
    ({"kill": "a"}, {"crash": {"queue": "q", "node": "b"}}, {"shrink": "c"}, publish(10, "b"), {"start": "a"}),
    ({"partition": [["b"], ["a", "c"]]}, publish(10, "a"), {"shrink": "b"}, {"heal": True}),
])  # fmt: skip
def test_leader_that_removes_itself_keeps_the_messages_it_commits(steps):
    run = played({"declare": DECLARE["declare"] | {"node": "b"}}, publish(5, "b"), *steps, nodes="abc")
    assert queue(run).up and queue(run).content == runs.run(1, 15) == run.moment().ledger["q"].confirmed


def test_removed_leader_that_suspects_a_consumer_appends_nothing():
    run = played(
        {"declare": DECLARE["declare"] | {"node": "b"}}, {"consume": {"consumer": "c", "queue": "q", "node": "a"}},
        {"shrink": "b", "at": 5}, {"kill": "a", "at": 5.001}, {"start": "a"}, nodes="ab",
    )  # fmt: skip
    assert queue(run).members == (0,) and queue(run).up


def test_leader_that_removes_itself_still_applies_max_length():
    run = played(declared(max_length=3), {"stop": "b"}, publish(18), {"shrink": "a"}, {"start": "b"}, nodes="ab")
    assert queue(run).content == runs.run(16, 3)


def test_uncommitted_messages_on_a_lost_disk_are_refused():
    """Only c had messages 6 to 10, and the client's node is down; b never received them."""
    run = played(
        DECLARE, {"shrink": "a"}, publish(5), {"stop": "b"}, publish(5), {"kill": ["a", "c"]}, {"force_boot": "b"},
        {"forget_cluster_node": {"node": "a", "from": "b"}}, {"wipe": "c"},
    )  # fmt: skip
    assert not queue(run).pending and run.moment().ledger["q"].refused == runs.run(6, 5)


def test_leader_that_is_being_removed_cannot_be_added():
    run = played(DECLARE, publish(3), {"kill": ["b", "c"]}, {"delete_member": {"queue": "q", "node": "a"}},
                 {"add_member": {"queue": "q", "node": "a"}}, {"start": ["b", "c"]})  # fmt: skip
    assert refusals(run) == [(None, "cluster_change_not_permitted")]
    assert queue(run).members == (1, 2) and queue(run).content == runs.run(1, 3)


@pytest.mark.parametrize("version", ["3.8", "3.10", "4.0"])
def test_removed_member_is_deleted_before_its_removal_is_committed(version):
    run = played(DECLARE, publish(3), {"kill": "c"}, {"delete_member": {"queue": "q", "node": "b"}}, {"kill": "a"},
                 {"start": "c"}, {"wait": 20}, version=version)  # fmt: skip
    assert not queue(run).up, "c does not know that b has left, and b has nothing to vote with"
    assert not entries(run, "leader_elected")[1:]


@pytest.mark.parametrize("version", ["3.8", "3.10"])
@pytest.mark.parametrize("fault", ["stop", "kill", "power_off"])
@pytest.mark.parametrize("fault_first", [True, False])
def test_member_is_kept_if_the_leader_dies_before_writing_its_removal(fault_first, fault, version):
    steps = [{fault: "a", "at": 5}, {"shrink": "b", "at": 5}]
    run = played(DECLARE, publish(3), *(steps if fault_first else steps[::-1]), {"wait": 90}, {"start": "a"},
                 {"wait": 30}, nodes="ab", version=version)  # fmt: skip
    assert queue(run).up and queue(run).content == runs.run(1, 3)
    assert queue(run).members == (0, 1), "a has never heard that b was to go"


def test_removed_leader_keeps_no_copy():
    run = played(DECLARE, publish(3), {"delete_member": {"queue": "q", "node": "a"}})
    assert queue(run).contents == (None, runs.run(1, 3), runs.run(1, 3))


def test_unwritten_entries_of_a_crashed_member_are_not_written_later():
    crash = {"crash": {"queue": "q", "node": "b"}, "at": 1.0006}
    run = played(DECLARE, {"wait": 0.995}, publish(3), crash, {"wait": 60}, nodes="ab")
    assert run.moment().ledger["q"].confirmed == runs.run(1, 3)
    for member in run.moment().state.groups["q"].members.values():
        assert member.log.written == member.log.last_index


def test_reset_member_finds_its_leader_without_a_publish():
    run = played(DECLARE, publish(3), {"kill": "b"}, {"reset": "b"}, {"join": "b"})
    assert queue(run).synchronised == (0, 1, 2)


@pytest.mark.parametrize(("version", "members"), [("3.8", (0, 1, 2)), ("3.10", (0, 2))])
def test_forgotten_node_stays_a_member_in_3_8(version, members):
    gone = (DECLARE, publish(3), {"stop": "b"}, {"forget_cluster_node": {"node": "b"}}, {"reset": "b"})
    run = played(*gone, version=version)
    assert queue(run).members == members
    assert bool(entries(run, "member_removed")) == (members == (0, 2))
    back = played(*gone, {"join": "b"}, publish(1, "b"), {"kill": "a"}, {"wait": 60}, publish(1, "c"), version=version)
    assert queue(back).up == (version == "3.8"), "it has the log from its leader, and votes"


def test_member_removed_by_a_former_leader_does_not_ask_it_forever():
    cut = {"partition": [["a", "b", "c"], ["d", "e"]]}
    apart = (cut, {"wait": 15}, {"kill": "b"}, {"stop": "c"}, {"shrink": "a"}, {"heal": True}, publish(1, "a"))
    steps = ({"declare": DECLARE["declare"] | {"node": "e"}}, *apart, {"start": "b"}, {"wait": 5})
    run = played(*steps, nodes="abcde", version="3.13")
    assert queue(run).up and run.moment().ledger["q"].confirmed == runs.run(1, 1)


def test_members_reset_one_after_the_other_elect_a_leader():
    back = [step for node in "bc" for step in ({"kill": node}, {"reset": node}, {"join": node})]
    run = played(DECLARE, publish(3), *back, {"kill": "a"})
    assert queue(run).up and queue(run).content == runs.run(1, 3)


def test_uncommitted_membership_change_ends_with_a_new_leader():
    run = played(DECLARE, {"partition": [["a"], ["b", "c"]]}, {"wait": 100}, {"shrink": "a"}, publish(3, "b"))
    assert queue(run).members == (0, 1, 2) and not entries(run, "member_added", "member_removed")


def test_queue_whose_only_disk_is_lost_has_term_0():
    run = played(declared(quorum_initial_group_size=1), {"wipe": "a"})
    assert outcome(run)["queues"]["q"]["term"] == 0


def test_leader_that_meets_another_of_its_term_restarts():
    run = played(
        {"declare": DECLARE["declare"] | {"node": "b"}}, publish(3), {"kill": "b"}, publish(3),
        {"partition": [["c"], ["a", "b"]]}, {"wait": 100}, {"kill": "a"}, {"force_boot": "b"},
        {"forget_cluster_node": {"node": "a"}}, {"reset": "a"}, {"join": "a"}, publish(3, "b"), {"heal": True},
        {"wait": 100}, version="3.10",
    )  # fmt: skip
    elected = [(entry.node, entry.detail["term"]) for entry in entries(run, "leader_elected")]
    assert elected[:3] == [(1, 1), (2, 2), (1, 2)], "twice in term 2"
    assert {entry.node for entry in entries(run, "process_crashed")} == {1, 2} and queue(run).up
    assert run.moment().ledger["q"].confirmed == runs.run(1, 9)


@pytest.mark.parametrize("cut", [[["a", "b"], ["c"]], [["a"], ["b", "c"]]])
@pytest.mark.parametrize("leader", ["a", "b", "c"])
def test_each_side_of_a_partition_has_its_own_expiry_timer(leader, cut):
    declare = {"declare": declared(message_ttl=100_000)["declare"] | {"node": leader}}
    later = publish(1, leader) | {"at": 1}
    run = played(declare, publish(1, leader), later, {"partition": cut, "at": 2}, {"wait": 150}, version="3.10")
    assert [entry.detail["ids"] for entry in entries(run, "messages_expired")] == [[[1, 1]], [[2, 2]]]
    assert [entry.t_us // 1_000_000 for entry in entries(run, "messages_expired")] == [100, 101]


@pytest.mark.parametrize("node", ["a", "c"])
def test_messages_expire_on_the_leaders_side_while_sides_are_apart(node):
    run = played(declared(message_ttl=10_000), {"partition": [["a", "b"], ["c"]]}, {"wait": 100}, {"heal": True},
                 publish(1, node), {"wait": 5}, publish(1, node), {"wait": 100}, version="3.10")  # fmt: skip
    assert len(run.moment().state.sides) == 2
    assert [entry.t_us // 1_000_000 for entry in entries(run, "messages_expired")] == [110, 115]


# The whole cluster


def test_paused_nodes_check_for_others_after_their_side_has_ended():
    run = played(
        {"partition": [["c"], ["a"], ["b"]]}, {"wait": 100}, {"heal": True}, {"kill": "b"}, {"start": "b"},
        {"wait": 10}, cluster_partition_handling={"pause_if_all_down": ["a"], "recover": "autoheal"},
        timing={"start_s": 0.3}, nodes="cba",
    )  # fmt: skip
    assert {node.status for node in run.moment().state.nodes} == {"running"}


def test_policy_is_cleared_on_the_side_whose_nodes_run():
    policy = {"set_policy": {"name": "p", "pattern": "q", "definition": {"max-length": 5}}}
    pause = {"partition": [["a"], ["b", "c"]]}
    steps = [DECLARE, policy, pause, {"wait": 100}, {"heal": True}, {"clear_policy": "p", "at": 100.5}, {"wait": 30}]
    run = played(*steps, cluster_partition_handling="pause_minority")
    assert queue(run).policy is None and refusals(run) == []
    assert not run.moment().state.groups["q"].waiting


def test_member_added_again_on_a_drained_node_runs():
    run = played(DECLARE, {"drain": "a"}, {"delete_member": {"queue": "q", "node": "a"}},
                 {"add_member": {"queue": "q", "node": "a"}})  # fmt: skip
    assert outcome(run)["queues"]["q"]["online"] == ["a", "b", "c"]


def test_removed_member_does_not_restart_and_vote_without_a_log():
    run = played(
        DECLARE, {"kill": "c"}, publish(2), {"transfer_leadership": {"queue": "q", "node": "b"}},
        {"delete_member": {"queue": "q", "node": "a"}}, {"kill": ["a", "b"]}, {"start": ["a", "b", "c"]},
    )  # fmt: skip
    all_are_up = max(entry.t_us for entry in entries(run, "node_running")) / 1e6
    assert set(run.moment_at(all_are_up + 0.1).state.groups["q"].members) == {1, 2}, "c's log still has three"
    assert (queue(run).members, queue(run).content) == ((1, 2), runs.run(1, 2))


@pytest.mark.parametrize("alone", [
    {"force_boot": "b"}, {"forget_cluster_node": {"node": "a", "offline": True, "from": "b"}},
])  # fmt: skip
def test_lone_boot_with_a_classic_queue_redeclared_as_quorum_is_not_simulated(alone):
    again = declared(quorum_initial_group_size=2)
    run = played({"declare": {"queue": "q", "node": "a"}}, {"stop": "b"}, {"delete": {"queue": "q", "node": "a"}},
                 again, publish(2), {"kill": ["a", "c"]}, alone, {"start": ["a", "b", "c"]}, {"wait": 10})  # fmt: skip
    ((_, text),) = refusals(run)
    assert "as the classic queue that node 'b' has on its disk, while others know another quorum queue; acc" in text
    assert queue(run).content == runs.run(1, 2) and queue(run).up


@pytest.mark.parametrize("alone", [
    {"force_boot": "b"}, {"forget_cluster_node": {"node": "a", "offline": True, "from": "b"}},
])  # fmt: skip
def test_lone_boot_with_a_redeclared_quorum_queue_is_not_simulated(alone):
    of_two = declared(quorum_initial_group_size=2)
    run = played(of_two, {"stop": "b"}, {"delete": {"queue": "q", "node": "a"}}, declared(quorum_initial_group_size=1),
                 publish(2), {"kill": ["a", "c"]}, alone, {"start": ["a", "b", "c"]}, {"wait": 10})  # fmt: skip
    ((_, text),) = refusals(run)
    assert "as the quorum queue that node 'b' has on its disk, while others know another quorum queue; acc" in text


def test_node_starts_no_member_of_a_queue_missing_from_adopted_records():
    run = played({"partition": [["a", "b", "c"], ["d"]]}, {"wait": 100}, declared(quorum_initial_group_size=3),
                 publish(2), {"heal": True}, {"kill": ["a", "b", "c"]}, {"start": "c"}, {"start": "b"}, {"wait": 20},
                 nodes="abcd")  # fmt: skip
    assert [entry.node for entry in entries(run, "records_taken_over")] == [2, 1]
    assert [entry.detail["term"] for entry in entries(run, "leader_elected")] == [1], "no node knows the queue"


def test_each_side_keeps_the_policy_it_knows_after_force_boot():
    """After `force_boot` the node uses the policy on its disk; the other side keeps its own."""
    policy = {"set_policy": {"name": "p", "pattern": "^q", "definition": {"ha-mode": "all"}}}
    run = played(policy, DECLARE, publish(13), policy | {"at": 1}, {"kill": "a"}, {"heal": True, "at": 1.003},
                 {"kill": ["a", "b"]}, {"force_boot": "a", "at": 1.0035}, nodes="ab")  # fmt: skip
    with watched():
        run.moment()


def test_command_of_a_leaving_leader_goes_to_the_next_leader():
    run = played(
        {"declare": declared()["declare"] | {"node": "b"}}, publish(10, "b"),
        {"consume": {"consumer": "c", "queue": "q", "node": "a", "prefetch": 5}}, {"kill": "a"}, {"start": "a"},
        {"shrink": "b", "at": 0.018102}, {"wait": 30}, nodes="ab", timing={"start_s": 0.3},
    )  # fmt: skip
    group = run.moment().state.groups["q"]
    assert queue(run).members == (0,) and queue(run).master == 0 and not group.waiting


# Records in memory and on disks

OF_ONE_MEMBER = DECLARE["declare"] | {"node": "c", "arguments": QUORUM | {"x-quorum-initial-group-size": 1}}
PASSIVE = {"declare": OF_ONE_MEMBER | {"node": "a", "passive": True}}
ASKED = (PASSIVE, publish(3), {"delete": {"queue": "q", "node": "a"}})
HOME_NODE_DOWN = (404, "NOT_FOUND - home node 'c' of durable queue 'q' in vhost '/' is down or inaccessible")


@pytest.mark.parametrize("version", ["3.8", "3.10", "3.13", "4.0"])
def test_queue_is_refused_after_a_full_restart_until_a_member_is_back(version):
    run = played({"declare": OF_ONE_MEMBER}, publish(5), {"stop": "c"}, {"stop": ["a", "b"]}, {"start": ["a", "b"]},
                 *ASKED, {"start": "c"}, publish(1), version=version)  # fmt: skip
    assert refusals(run) == [(541, "INTERNAL_ERROR") if version == "3.8" else HOME_NODE_DOWN] * 2
    account = run.moment().ledger["q"]
    assert (account.confirmed, account.refused) == (runs.run(1, 9), runs.run(6, 3))
    assert queue(run).up and queue(run).content == runs.union(runs.run(1, 5), runs.run(9, 1))


@pytest.mark.parametrize(("version", "restart"), [
    ("4.3", ({"stop": ["a", "b"]}, {"start": ["a", "b"]})),
    ("3.10", ({"stop": "a"}, {"start": "a"}, {"stop": "b"}, {"start": "b"})),
])  # fmt: skip
def test_queue_with_a_record_can_be_deleted_while_its_member_is_down(version, restart):
    run = played({"declare": OF_ONE_MEMBER}, publish(5), {"stop": "c"}, *restart, *ASKED[::2], version=version)
    assert not refusals(run) and "q" not in run.moment().state.queues


def test_first_member_to_start_restores_the_record_without_a_majority():
    """The queue has members on b, c and d; a, which has none, starts first."""
    steps = ({"shrink": "a"}, publish(5), {"stop": ["b", "c", "d"]}, {"stop": "a"}, {"start": "a"})
    refused = played(DECLARE, *steps, *ASKED, nodes="abcd", version="3.10", quorum_cluster_size=4)
    assert [code for code, _ in refusals(refused)] == [404, 404]
    back = played(DECLARE, *steps, {"start": "b"}, *ASKED[::2], nodes="abcd", version="3.10", quorum_cluster_size=4)
    assert not refusals(back) and "q" not in back.moment().state.queues


@pytest.mark.parametrize("version", ["3.8", "3.10"])
def test_policy_does_not_apply_to_a_queue_known_only_on_disks(version):
    policy = {"name": "p", "pattern": "q", "definition": {"max-length": 5}}
    run = played({"declare": OF_ONE_MEMBER}, {"stop": "c"}, {"stop": ["a", "b"]}, {"start": ["a", "b"]},
                 {"set_policy": policy}, version=version)  # fmt: skip
    assert queue(run).policy is None


def test_sides_may_disagree_whether_a_record_is_in_memory():
    steps = [
        DECLARE, {"partition": [["a"], ["b"]]}, {"wait": 40}, {"shrink": "a"}, {"wait": 40}, {"force_shrink": "a"},
        {"kill": "a"}, {"kill": "b"}, {"heal": True}, {"wait": 100}, {"start": ["a", "b"]}, {"wait": 10},
    ]  # fmt: skip
    with watched():
        run = played(*steps, nodes="ab", version="3.10")
    assert queue(run).up
