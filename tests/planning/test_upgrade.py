"""Rolling upgrades: predictions agree with rehearsals, waits avoid the known losses, and the search finds the best
plan."""

from __future__ import annotations

from itertools import permutations, product
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from samples import sample
from upgrade_clusters import ALL, DATA, cluster, clusters, mirrored, planned, quorum, rehearsed

from hawb.planning.alike import alike
from hawb.planning.full_stop import plan_full_stop
from hawb.planning.safe_to_stop import quorum_critical
from hawb.planning.upgrade import MEASURES, Restart, Task, baselines, played_plan, played_restarts, prediction, task_of
from hawb.planning.upgrade_search import CAREFUL, Answer, interchangeable, meaningful, search
from hawb.planning.waits import BOTH, NONE, QUORUM_PLUS_ONE, READY, SYNCED, WAITS, stop_moments, wait_for
from hawb.scenario.load import load
from hawb.scenario.run import Run
from hawb.views.planning.upgrade import never


def waits(answer: Answer) -> list[str]:
    return [restart.wait for restart in answer.plan.restarts]


# What is predicted is what happens


@settings(max_examples=40)
@given(clusters(), st.data())
def test_rehearsal_of_any_plan_agrees_with_the_prediction(run: Run, data: st.DataObject) -> None:
    task = task_of(run, away_s=data.draw(st.sampled_from([0, 30])), drain=data.draw(st.booleans()))
    order = data.draw(st.permutations(task.nodes))
    restarts = [Restart(node, data.draw(st.sampled_from(WAITS))) for node in order]
    before, steps = run.moment(), run.steps
    rehearsed(run, played_plan(run, task, restarts, "some"))
    assert (run.moment(), run.steps) == (before, steps)


@settings(max_examples=10)
@given(clusters())
def test_compared_plans_are_not_better(run: Run) -> None:
    answer = planned(run)
    careful = [plan for plan in answer.others[1:] if NONE not in {restart.wait for restart in plan.restarts}]
    assert all(answer.plan.prediction.cost() <= plan.prediction.cost() for plan in careful)
    assert sorted(restart.node for restart in answer.plan.restarts) == list(run.settings.names)


@pytest.mark.parametrize("objective", sample([[*MEASURES], ["skew", "duration_s"], ["duration_s"]]))
def test_search_finds_the_best_plan(objective: tuple[str, ...]) -> None:
    run = cluster(
        mirrored("ha.a", "abc", 40_000), mirrored("ha.b", "bca", 5, "a"), mirrored("keep", "ca"), quorum("qq", "bca"),
        ha=ALL | {"ha-promote-on-shutdown": "always"}, keep={"ha-mode": "exactly", "ha-params": 2},
    )  # fmt: skip
    answer, task = planned(run, *objective), task_of(run)
    assert answer.exact
    plans = [
        played_plan(run, task, [Restart(node, wait) for node, wait in zip(order, (BOTH, *chosen), strict=True)])
        for order in permutations("abc")
        for chosen in product(CAREFUL, repeat=2)
    ]
    costs = [plan.prediction.cost(answer.objective) for plan in plans]
    assert answer.plan.prediction.cost(answer.objective) == min(costs)
    assert max(costs) > min(costs)


@settings(max_examples=4)
@given(clusters(most_nodes=3))
def test_found_plan_is_optimal_for_any_cluster(run: Run) -> None:
    answer, task = planned(run), task_of(run)
    assume(answer.exact and answer.kinds == answer.queues)
    for order in permutations(task.nodes):
        for chosen in product((answer.waits[0], answer.waits[-1]), repeat=len(order)):
            plan = played_plan(run, task, [Restart(node, wait) for node, wait in zip(order, chosen, strict=True)])
            assert answer.plan.prediction.cost() <= plan.prediction.cost()


def test_representative_queue_is_weighted_by_its_count():
    run = cluster(mirrored("ha"), mirrored("single", "a"), ha=ALL)
    ahead, stages = played_restarts(run, task_of(run), [Restart("a", READY)])
    once, often = (prediction(run.moment(), ahead, stages, counts) for counts in (None, {"single": 10}))
    down = {effect.queue: effect.down_s for effect in once.effects}
    assert often.outage_s == pytest.approx(once.outage_s + 9 * down["single"])
    assert often.skew == 10 and once.skew == 1


@pytest.mark.parametrize("file", sorted((DATA / "scenarios").glob("*.yaml"))[4::60], ids=lambda file: file.stem)
def test_upgrade_can_start_from_any_scenario(file: Path):
    run = Run.of(load(file))
    task = task_of(run, away_s=5)
    answer = planned(run)
    assert sorted(restart.node for restart in answer.plan.restarts) == sorted(task.nodes)
    assert plan_full_stop(run, task).plan.stuck is None


# The known worst cases


def test_queue_with_promote_on_shutdown_always_is_synchronised_first():
    run = cluster(mirrored("ha"), ha=ALL | {"ha-promote-on-shutdown": "always"})
    answer = planned(run)
    naive = answer.others[1].prediction
    assert (naive.lost, answer.plan.prediction.lost) == (1000, 0)
    assert waits(answer)[2] == SYNCED and answer.plan.stages[2].sync == ("ha",)
    assert "1,000 messages would be lost, ha among them" in answer.plan.stages[2].reason


def test_unsynchronised_mirrors_are_waited_for_before_the_first_restart():
    run = cluster(mirrored("ha", "abc", 1000, synchronised=""), ha=ALL)
    answer = planned(run, waits=(READY, SYNCED))
    naive = answer.others[1].prediction
    assert naive.outage_s > 30 > 1 > answer.plan.prediction.outage_s
    assert any(stage.sync == ("ha",) for stage in answer.plan.stages)


def test_automatic_synchronisation_is_waited_for():
    run = cluster(mirrored("ha", "ab", 900_000), nodes="ab", ha=ALL | {"ha-sync-mode": "automatic"})
    answer = planned(run)
    assert waits(answer)[1] == SYNCED and not answer.plan.stages[1].sync
    assert answer.plan.stages[1].stop_s - answer.plan.stages[0].end_s > 30
    assert answer.plan.prediction.outage_s < answer.others[1].prediction.outage_s


def test_two_members_are_always_unavailable_and_three_are_not():
    run = cluster(quorum("pair", "ab"), quorum("three", "abc"))
    answer = planned(run)
    down = {effect.queue: effect.down_s for effect in answer.plan.prediction.effects}
    assert down["pair"] > 60 and down.get("three", 0) < 2
    assert wait_for(run, "a", QUORUM_PLUS_ONE) is None  # RabbitMQ's own command would wait for ever
    assert wait_for(run, "c", QUORUM_PLUS_ONE) is not None


def test_plan_without_waits_loses_the_majority():
    run = cluster(quorum("qq", "abc"))
    plans = list(baselines(task_of(run)).values())[:2]
    naive, none = (played_plan(run, task_of(run), restarts).prediction for restarts in plans)
    assert none.outage_s > naive.outage_s + 10
    hasty = search(run, task_of(run), ("duration_s",), waits=(NONE, READY))
    assert {restart.wait for restart in hasty.plan.restarts[1:]} == {NONE}


def test_quorum_queue_waits_for_quorum_plus_one():
    answer = planned(cluster(quorum("qq", "abc"), quorum("qr", "bca")))
    assert waits(answer) == [QUORUM_PLUS_ONE] * 3
    assert answer.plan.stages[1].reason.startswith("Without a wait, queues would be out of use for")


@pytest.mark.parametrize(("version", "waited"), [("3.10", READY), ("4.0", QUORUM_PLUS_ONE)])
def test_stream_is_waited_for_if_rabbitmqs_command_counts_it(version: str, waited: str):
    entry = quorum("log", "abc") | {"type": "stream"}
    run = cluster(entry, version=version)
    assert meaningful(run, (READY, QUORUM_PLUS_ONE)) == ((READY,) if waited == READY else (READY, QUORUM_PLUS_ONE))
    run.apply_plain({"kill": "c"})
    assert (wait_for(run, "a", QUORUM_PLUS_ONE) is None) == (waited == QUORUM_PLUS_ONE)


def test_drain_does_not_wait_for_other_nodes():
    run = cluster(quorum("qq", "abc"))
    task = task_of(run, drain=True)
    naive, none = (played_plan(run, task, restarts) for restarts in list(baselines(task).values())[:2])
    assert none.stages[1].stop_s < none.stages[0].end_s < naive.stages[1].stop_s
    assert none.prediction.outage_s > naive.prediction.outage_s + 9
    assert [step.name for step in naive.rehearsal.steps[:4]] == ["drain", "stop", "wait", "start"]


def test_endless_waits_of_rabbitmqs_command_are_reported():
    answer = planned(cluster(quorum("qq"), quorum("pair", "ab"), quorum("one", "c")))
    assert answer.never == ("one", "pair")
    assert "would wait for ever on the nodes of one and pair" in never(answer)
    assert planned(cluster(quorum("one", "a"), nodes="a")).never == ()


def test_objective_decides_the_plan():
    run = cluster(*(mirrored(f"ha{number}", "abc", 900_000) for number in range(2)), ha=ALL)
    patient, quick = planned(run), planned(run, "duration_s")
    assert quick.plan.prediction.duration_s < patient.plan.prediction.duration_s
    assert quick.plan.prediction.outage_s > patient.plan.prediction.outage_s
    assert quick.objective == ("duration_s", "lost_confirmed", "lost", "outage_s", "skew")


def test_given_order_is_kept():
    run = cluster(mirrored("ha"), quorum("qq"), ha=ALL)
    answer = planned(run, orders=(("c", "a", "b"),))
    assert [restart.node for restart in answer.plan.restarts] == ["c", "a", "b"]


def test_confirmed_messages_count_and_clients_continue():
    run = cluster(
        mirrored("ha", "abc", 0), ha=ALL | {"ha-promote-on-shutdown": "always"},
        steps=(
            {"publish": {"queue": "ha", "count": 7}},
            {"publisher": {"name": "p", "queue": "ha", "rate": 5, "node": "c"}},
        ),
    )  # fmt: skip
    answer = planned(run)
    assert answer.others[1].prediction.lost_confirmed > 7 and answer.plan.prediction.lost_confirmed == 0


def test_nodes_that_are_down_are_not_restarted():
    run = cluster(mirrored("ha"), ha=ALL, steps=({"stop": "b"},))
    assert task_of(run).nodes == ("a", "c")
    assert sorted(restart.node for restart in planned(run).plan.restarts) == ["a", "c"]


# Waits


def test_each_wait_includes_the_weaker_ones():
    run = cluster(mirrored("ha", "abc", 300_000), quorum("qq"), ha=ALL | {"ha-sync-mode": "automatic"})
    run.apply_plain({"stop": "a"})
    run.apply_plain({"start": "a"})
    over = [wait_for(run, "b", wait).over_s for wait in (NONE, READY, QUORUM_PLUS_ONE, BOTH)]
    assert over == sorted(over) and over[0] < over[1]
    found = stop_moments(run, "b", WAITS)
    assert [go.over_s for go in found] == sorted({go.over_s for go in found})


def test_lagging_member_is_waited_for_though_online():
    run = cluster(quorum("qq"))
    for step in ({"stop": "c"}, {"publish": {"queue": "qq", "count": 2000, "size": 1_000_000}}, {"start": "c"}):
        run.apply_plain(step)
    ready, abreast = (wait_for(run, "a", wait) for wait in (READY, QUORUM_PLUS_ONE))
    assert abreast.over_s > ready.over_s + 10
    then = run.moment_at(ready.at).state
    assert quorum_critical(then, 0, "3.10") == () and 2 not in then.queues["qq"].synchronised


def test_only_queues_of_the_next_node_are_waited_for():
    policies = {name: {"ha-mode": "nodes", "ha-params": list(nodes), "ha-sync-mode": "automatic"}
                for name, nodes in (("short", "ab"), ("long", "ac"))}  # fmt: skip
    run = cluster(mirrored("short", "ba", 90_000), mirrored("long", "ca", 900_000), **policies)
    run.apply_plain({"stop": "a"})
    run.apply_plain({"start": "a"})
    short, long = (wait_for(run, node, SYNCED).over_s - run.reached_s for node in "bc")
    assert 8 < short < 9 and 35 < long < 36


def test_kubernetes_order_is_by_descending_pod_number():
    task = Task(("rabbit-2", "rabbit-10", "rabbit-1"))
    assert [restart.node for restart in list(baselines(task).values())[2]] == ["rabbit-10", "rabbit-2", "rabbit-1"]


# Queues and nodes that are alike


def test_equal_queues_are_simulated_once_and_all_are_predicted():
    many = [mirrored(f"ha{number}", "ab", 1000 + number) for number in range(20)]
    many += [mirrored("hatwo", "ba", 1000), mirrored("other", "ab", 1000), quorum("qq1"), quorum("qq2")]
    run = cluster(*many, ha=ALL, other={"ha-mode": "all", "ha-promote-on-shutdown": "always"})
    kinds = alike(run.scenario, by_backlog=True)
    assert sorted(map(len, kinds.kinds.values())) == [1, 1, 2, 20]
    assert kinds.scenario.queues[0].messages == max(entry.messages for entry in next(iter(kinds.kinds.values())))
    answer = planned(run)
    assert (answer.queues, answer.kinds) == (24, len(kinds.kinds))
    assert len({one.queue for one in answer.others[1].prediction.effects}) == 24


def test_randomly_placed_queues_and_dead_letter_targets_are_not_merged():
    run = cluster(
        {"queue": "somewhere"}, {"queue": "elsewhere"}, mirrored("q1", "a"), mirrored("q2", "a"), mirrored("dead", "a"),
        mirrored("d1", "a") | {"arguments": {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead"}},
    )  # fmt: skip
    assert sorted(map(len, alike(run.scenario).kinds.values())) == [1, 1, 1, 1, 2]


def test_nodes_are_interchangeable_only_if_no_rule_uses_names():
    exactly = {"ha-mode": "exactly", "ha-params": 2}
    ring = [mirrored("x1", "ab"), mirrored("x2", "ac")]
    found = interchangeable(cluster(*ring, x=exactly), "abc")
    assert found["b"] == found["c"] != found["a"]
    assert len(set(interchangeable(cluster(*ring, x=ALL), "abc").values())) == 3
    uneven = cluster(mirrored("x1", "ab", 5), mirrored("x2", "ac"), x=exactly)
    assert len(set(interchangeable(uneven, "abc").values())) == 3
