"""Whether a node may be stopped, in a sentence: yes, yes but, no; of one node and many, of one queue, many and none."""

from __future__ import annotations

import pytest

from hawb import Cluster
from hawb.planning.safe_to_stop import Effect, Forecast, safe_to_stop
from hawb.views.planning.forecast_verdict import harm, todo, verdict


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
        ([forecast("a"), forecast("b", (LOST,))], "Yes, but only a; stopping b loses 5 messages of q."),
        ([forecast("a", (DOWN,))], "No: stopping a leaves r out of use."),
        ([forecast("a", (DOWN,)), forecast("b", (LOST, DOWN))],
         "No: stopping b loses 5 messages of q and leaves r out of use; stopping a leaves r out of use."),
        ([forecast(name, (LOST,)) for name in "abc"],
         "No: stopping a loses 5 messages of q; stopping either of b and c loses 5 messages of q."),
        ([forecast(name, (DOWN,)) for name in "abcd"],
         "No: stopping a leaves r out of use; stopping any of b, c and d leaves r out of use."),
    ],
)  # fmt: skip
def test_the_answer_is_yes_yes_but_or_no(forecasts: list[Forecast], sentence: str):
    assert verdict(forecasts).sentence == sentence


def test_queues_are_named_while_they_are_few_and_counted_once():
    many = [effect(f"q{number}", down=True) for number in range(7)]
    assert harm(many) == "leaves 7 queues out of use"
    assert harm([effect("q", 1), effect("q", 1), effect("q", down=True)]) == "loses 1 message of q"
    assert harm([]) == ""
    assert harm([effect(f"q{number}", 2) for number in range(7)]) == "loses 14 messages of q0, q1, q2 and 4 more"


def test_what_saves_messages_comes_first_with_its_commands():
    alone = effect("alone", down=True, reason="x")
    found = todo([forecast("a", (effect("shop::ha", 9), DOWN, alone, effect("gone", 3)), critical=("shop::ha",))])
    assert [one.commands[0] for one in found] == [
        "rabbitmqctl sync_queue -p shop ha", "rabbitmqctl list_queues -p / name messages",
        "rabbitmq-queues add_member -p / r NODE",
    ]  # fmt: skip
    assert found[1].what == "Let consumers empty gone before a goes: what is in there then is lost."
    assert todo([forecast("a", (MOMENT,))]) == ()


def test_names_are_words_of_a_shell_and_many_commands_are_counted():
    queues = [f"q {number}" for number in range(5)]
    [asked] = todo([forecast("a", tuple(effect(name, 1) for name in queues), critical=tuple(queues))])
    assert asked.commands[0] == "rabbitmqctl sync_queue -p / 'q 0'" and asked.commands[-1] == "# and 2 more queues"
    [dashed] = todo([forecast("a", (effect("-q", 1),), critical=("-q",))])
    assert dashed.commands == ("rabbitmqctl sync_queue -p / -- -q",)


def test_what_the_commands_ask_for_makes_it_safe():
    """By the engine: a mirror that came back empty would lose all; synchronised as the report says, nothing is lost."""
    cluster = Cluster("a", "b", version="3.10").set_policy("ha", "^q", {"ha-mode": "all"})
    cluster.declare("q", node="a").publish("q", 9).stop("b").start("b")
    before = safe_to_stop(cluster.run)
    assert verdict(before).answer == "but" and todo(before)[0].commands == ("rabbitmqctl sync_queue -p / q",)
    after = safe_to_stop(cluster.sync_queue("q").run)
    assert verdict(after).answer == "yes" and todo(after) == ()
