"""The verdict of `hawb safe`: yes, yes but, or no, for one or more nodes."""

from __future__ import annotations

import pytest

from hawb import Cluster
from hawb.planning.out_of_use import METADATA
from hawb.planning.safe_to_stop import Effect, Forecast, outlook
from hawb.scenario.load import read_scenario
from hawb.views.report import ToDo
from hawb.views.verdicts.safe import harm, todo, verdict


def effect(queue: str = "q", lost: int = 0, down: bool = False, reason: str | None = None) -> Effect:
    return Effect(queue, lost, lost, down, 1.0, reason)


def forecast(
    node: str, stop: tuple[Effect, ...] = (), kill: tuple[Effect, ...] = (), critical: tuple[str, ...] = ()
) -> Forecast:
    return Forecast(node, {"stop": stop, "kill": kill or stop}, (), critical)


LOST, DOWN, MOMENT = effect("q", 5), effect("r", down=True, reason="no_majority"), effect("s")


@pytest.mark.parametrize(
    ("forecasts", "sentence"),
    [
        ([], "No: no node runs."),
        ([forecast("a")], "Yes: a may be stopped; nothing is lost and every queue stays in use."),
        ([forecast("a", (MOMENT,)), forecast("b")],
         "Yes: any node may be stopped, one at a time; nothing is lost and every queue stays in use."),
        ([forecast("a", (), (LOST,)), forecast("b")],
         "Yes, but only if a is stopped and not killed: a kill loses 5 messages of q."),
        ([forecast("a", (), (LOST,))], "Yes, but only by a stop: a kill loses 5 messages of q."),
        ([forecast("a"), forecast("b", (LOST,))], "No: stopping b loses 5 messages of q; only a may be stopped."),
        ([forecast("a", (DOWN,))], "No: stopping a leaves r out of use."),
        ([forecast("a", (DOWN,)), forecast("b", (LOST, DOWN))],
         "No: stopping b loses 5 messages of q and leaves r out of use; stopping a leaves r out of use."),
        ([forecast("a", (DOWN,)), forecast("b", (LOST,)), forecast("c", (LOST,))],
         "No: stopping either of b and c loses 5 messages of q; stopping a leaves r out of use."),
        ([forecast(name, (DOWN,)) for name in "abcd"], "No: stopping any of a, b, c and d leaves r out of use."),
        ([forecast("a", tuple(effect(f"q{number}", down=True) for number in range(2))),
          forecast("c", tuple(effect(f"r{number}", down=True) for number in range(3)))],
         "No: stopping c leaves 3 queues out of use; stopping a leaves q0 and q1 out of use."),
        ([forecast("abcde"[number], (effect(f"q{number}", down=True),)) for number in range(5)],
         "No: stopping a leaves q0 out of use; stopping b leaves q1 out of use; stopping c leaves q2 out of use;"
         " stopping d and e harms queues too."),
    ],
)  # fmt: skip
def test_verdict_is_yes_yes_but_or_no(forecasts: list[Forecast], sentence: str):
    assert verdict(forecasts).sentence == sentence


def test_queues_are_named_while_they_are_few_and_counted_once():
    many = [effect(f"q{number}", down=True) for number in range(7)]
    assert harm(many) == "leaves 7 queues out of use"
    assert harm([effect("q", 1), effect("q", 1), effect("q", down=True)]) == "loses 1 message of q"
    assert harm([]) == ""
    store = effect(METADATA, down=True)
    assert harm([effect("q", down=True), store]) == "leaves q and the metadata store out of use"
    assert harm([store, *many]) == "leaves 7 queues and the metadata store out of use"
    assert harm([store]) == "leaves the metadata store out of use"
    assert harm([effect(f"q{number}", 2) for number in range(7)]) == "loses 14 messages of q0, q1, q2 and 4 more"


def asked(steps: list[dict], version: str = "3.10", nodes: str = "abc", **more: object) -> list[ToDo]:
    cluster = {"nodes": list(nodes), "version": version}
    scenario = {"scenario": "x", "cluster": cluster, "steps": steps} | more
    return list(todo(outlook(read_scenario(scenario))[1]))


HA = [{"name": "ha", "pattern": "^ha", "definition": {"ha-mode": "all"}, "vhost": "shop"}]


def test_advice_that_saves_messages_comes_first_with_commands():
    steps = [
        {"declare": {"queue": "shop::ha", "node": "a"}}, {"publish": {"queue": "shop::ha", "count": 9}},
        {"stop": ["b", "c"]}, {"start": ["b", "c"]},
        {"declare": {"queue": "gone", "node": "a", "durable": False}}, {"publish": {"queue": "gone", "count": 3}},
        {"declare": {"queue": "r", "node": "a", "arguments": {"x-queue-type": "quorum",
                                                              "x-quorum-initial-group-size": 1}}},
    ]  # fmt: skip
    found = asked(steps, policies=HA)
    assert [one.commands for one in found] == [
        ("rabbitmqctl sync_queue -p shop ha",), ("rabbitmqctl list_queues -p / name messages",),
        ("rabbitmq-queues add_member -p / r b", "rabbitmq-queues add_member -p / r c"),
    ]  # fmt: skip
    assert found[1].what == "Let consumers empty gone before a node stops: messages that are left there are lost."


def test_names_are_shell_quoted_and_many_commands_are_counted():
    names = ["-q", *(f"q {number}" for number in range(4))]
    steps = [{"declare": {"queue": name, "node": "a"}} for name in names]
    steps += [{"publish": {"queue": name, "count": 1}} for name in names]
    policies = [{"name": "ha", "pattern": "q", "definition": {"ha-mode": "all"}}]
    [found] = asked([*steps, {"stop": "b"}, {"start": "b"}], nodes="ab", policies=policies)
    assert found.commands == (
        "rabbitmqctl sync_queue -p / -- -q", "rabbitmqctl sync_queue -p / 'q 0'", "rabbitmqctl sync_queue -p / 'q 1'",
        "# and 2 more commands",
    )  # fmt: skip


def test_following_the_advice_makes_the_stop_safe():
    """An empty mirror would lose all messages; synchronised as advised, none is lost."""
    cluster = Cluster("a", "b", version="3.10").set_policy("ha", "^q", {"ha-mode": "all"})
    cluster.declare("q", node="a").publish("q", 9).stop("b").start("b")
    before = outlook(cluster.run.scenario)[1]
    assert verdict(before).answer == "no" and todo(before)[0].commands == ("rabbitmqctl sync_queue -p / q",)
    after = outlook(cluster.sync_queue("q").run.scenario)[1]
    assert verdict(after).answer == "yes" and todo(after) == ()
