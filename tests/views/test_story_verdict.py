"""How a story ended, in a sentence."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from views_outcomes import UNSYNCHRONISED, policy, steps

from hawb.cluster import Cluster
from hawb.engine.trace import CAUSES
from hawb.planning.remedies import improved, lost, remedies
from hawb.scenario.document import Scenario
from hawb.scenario.load import load, read_scenario
from hawb.scenario.outcome import outcome
from hawb.scenario.run import Run
from hawb.views.report import ToDo
from hawb.views.story.story_verdict import REMEDIES, WITHOUT_MIRRORS, todo, verdict

DECLARE = {"declare": {"queue": "q", "node": "a"}}
PUBLISH = {"publish": {"queue": "q", "count": 5}}
TRANSIENT = {"declare": {"queue": "t", "node": "a", "durable": False}}


def story(*steps: dict) -> Scenario:
    cluster = {"nodes": ["a", "b", "c"], "version": "3.10"}
    return read_scenario({"scenario": "steps", "cluster": cluster, "steps": list(steps)})


def advised(scenario: Scenario) -> tuple[ToDo, ...]:
    """What `hawb run` says is to do."""
    run = Run.of(scenario)
    return todo(outcome(run), (), remedies(run))


@pytest.mark.parametrize(
    ("story", "sentence"),
    [
        (({"wait": 1},), "Yes: nothing is lost, and there is no queue."),
        ((DECLARE, PUBLISH), "Yes: nothing is lost, and every queue can be used."),
        ((DECLARE, PUBLISH, {"kill": "a"}), "No: nothing is lost, but q is down."),
        ((DECLARE, PUBLISH, {"kill": "a"}, {"start": "a"}),
         "Yes: nothing is lost, and every queue can be used; q could not be used for up to"),
        ((TRANSIENT, {"publish": {"queue": "t", "count": 1}}, {"kill": "a"}),
         "No: 1 message of t is lost, it was confirmed."),
        ((TRANSIENT, {"declare": {"queue": "u", "node": "a", "durable": False}},
          {"publish": {"queue": "t", "count": 2}}, {"publish": {"queue": "u", "count": 3}}, {"kill": "a"}),
         "No: 5 messages of u and t are lost, all of them confirmed."),
        ((PUBLISH,), "No: no queue took 5 messages for q, though all of them were confirmed."),
        ((DECLARE, {"purge": "r"}), "No: nothing is lost, and every queue can be used; RabbitMQ refused step 2."),
        ((DECLARE, PUBLISH, TRANSIENT, {"publish": {"queue": "t", "count": 2}}, {"kill": "a"}, {"purge": "r"}),
         "No: 2 messages of t are lost, all of them confirmed; q is down; RabbitMQ refused step 6."),
    ],
)  # fmt: skip
def test_the_answer_is_yes_or_no(story: tuple[dict, ...], sentence: str):
    assert verdict(steps(*story)).sentence.startswith(sentence)


def test_while_nodes_do_not_see_each_other_nobody_can_tell():
    parted = steps(
        {"declare": {"queue": "q", "node": "a", "arguments": {"x-queue-type": "quorum"}}}, PUBLISH,
        {"partition": [["a", "b"], ["c"]]}, {"wait": 100},
    )  # fmt: skip
    told = verdict(parted)
    assert (told.answer, told.exit_status) == ("unknown", 3)
    assert told.sentence.startswith("Cannot tell: nothing is lost")
    assert "the sides of the partition do not agree" in told.sentence


def test_what_to_do_has_the_remedy_the_nodes_and_the_mirrors():
    remedy, start, synchronise = advised(load(UNSYNCHRONISED))
    assert remedy.what == f"ha.orders: {REMEDIES['unsynchronised_promotion']}"
    assert start.commands == tuple(f"systemctl start rabbitmq-server   # on {node}" for node in "ac")
    assert synchronise.commands == ("rabbitmqctl sync_queue -p / ha.orders",)
    behind = story(policy(ha_mode="all"), DECLARE, PUBLISH, {"stop": "b"}, {"start": "b"})
    assert [one.commands for one in advised(behind)] == [("rabbitmqctl sync_queue -p / q",)]
    assert advised(story(DECLARE)) == ()


@pytest.mark.parametrize(
    ("handling", "published", "what", "commands"),
    [
        ("pause_minority", (), "Mend the network: paused nodes wait for it.", ()),
        ("autoheal", (), "Mend the network between b and c | a: until then each side goes on without the other.", ()),
        ("ignore", ("b",), "Mend the network between b and c | a, then restart a: until then each side goes on without"
         " the other.", ("rabbitmqctl -n a stop", "systemctl start rabbitmq-server   # on a")),
        ("ignore", ("a",), "Mend the network between b and c | a, then restart b and c: until then each side goes on"
         " without the other.", tuple(f"rabbitmqctl -n {node} stop" for node in "bc")
         + tuple(f"systemctl start rabbitmq-server   # on {node}" for node in "bc")),
        ("ignore", ("a", "b"), "Let consumers empty q on a: what that side alone has is lost otherwise. Mend the"
         " network between b and c | a, then restart a: until then each side goes on without the other.",
         ("rabbitmqctl -n a stop", "systemctl start rabbitmq-server   # on a")),
    ],
)  # fmt: skip
def test_the_side_that_gives_in_is_the_one_that_loses_nothing(
    handling: str, published: tuple[str, ...], what: str, commands: tuple[str, ...]
):
    parted = [{"partition": [["a"], ["b", "c"]]}, {"wait": 90}]
    sent = [{"publish": {"queue": "q", "count": 2, "node": node}} for node in published]
    scenario = story(policy(ha_mode="all", ha_sync_mode="automatic"), DECLARE, PUBLISH, *parted, *sent)
    scenario = replace(scenario, cluster=replace(scenario.cluster, cluster_partition_handling=handling))
    first = advised(scenario)[0]
    assert (first.what, first.commands) == (what, commands)


def test_what_makes_nothing_better_is_no_advice():
    alone = {"declare": {"queue": "q", "node": "a", "exclusive": True}}
    outside = story(alone, {"stop": "c"}, {"forget_cluster_node": {"node": "c", "from": "a"}})
    assert [one.what[:8] for one in advised(outside)] == ["Reset c "]
    lost_disk = story(DECLARE, {"publish": {"queue": "q", "count": 5}}, {"kill": "a"}, {"wipe": "a"})
    run = Run.of(lost_disk)
    assert not any(lost(played) > lost(run) for one in remedies(run) if (played := improved(run, one.steps)))


@pytest.mark.parametrize(
    ("out", "words", "first"),
    [
        ({"forget_cluster_node": {"node": "c", "from": "a"}}, "Reset c and join it to a again",
         "RABBITMQ_NODE_ONLY=true rabbitmq-server -detached   # on c"),
        ({"reset": "c"}, "Join c to a again", "RABBITMQ_NODE_ONLY=true rabbitmq-server -detached   # on c"),
    ],
)  # fmt: skip
def test_a_node_that_is_no_member_any_more_is_not_to_be_started(out: dict, words: str, first: str):
    (only,) = advised(story(DECLARE, {"stop": "c"}, out))
    assert only.what.startswith(words) and only.commands[0] == first
    back = story(DECLARE, {"stop": "c"}, {"reset": "c"}, {"join": "c"}, {"stop": "c"})
    assert advised(back)[0].what.startswith("Start c: ")


def test_a_queue_that_is_declared_too_late_is_to_be_declared_before():
    (first,) = todo(steps(PUBLISH, DECLARE))
    assert first.what.startswith("Declare q before step 1, which publishes to it")


def test_releases_without_mirrors_are_not_told_to_mirror():
    lost = steps(TRANSIENT, {"publish": {"queue": "t", "count": 1}}, {"kill": "a"}, version="4.0")
    assert [one.what for one in todo(lost) if "mirror" in one.what] == []


def test_every_cause_of_a_loss_has_a_remedy():
    assert REMEDIES.keys() == CAUSES.keys() >= WITHOUT_MIRRORS.keys()


@pytest.mark.parametrize(
    ("version", "sentence"),
    [("3.10", "No: nothing is lost, but RabbitMQ closed consumer slow, which had not acknowledged in time"),
     ("4.3", "Yes: nothing is lost, and every queue can be used;"
      " RabbitMQ took deliveries back from consumer slow, which had not acknowledged in time")],
)  # fmt: skip
def test_a_consumer_that_timed_out_is_told_of(version: str, sentence: str):
    late = Cluster("a", "b", "c", version=version).declare("q", node="a", arguments={"x-queue-type": "quorum"})
    told = late.publish("q").consume(consumer="slow", queue="q", node="a").wait(3_600).outcome
    assert verdict(told).sentence == f"{sentence}."
    assert "Have slow acknowledge" in todo(told)[0].what
