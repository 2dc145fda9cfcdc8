"""The verdict of `hawb run`."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from recorded_scenarios import DATA
from views_outcomes import UNSYNCHRONISED, policy, steps

from hawb.cluster import Cluster
from hawb.planning.advised import MOST_EVENTS, advised
from hawb.planning.alternatives import toll
from hawb.planning.remedies import improved, lost, remedies
from hawb.scenario.document import Scenario
from hawb.scenario.load import load, read_scenario
from hawb.scenario.outcome import outcome
from hawb.scenario.run import Run
from hawb.views.report import ToDo
from hawb.views.verdicts.run import todo, verdict

DECLARE = {"declare": {"queue": "q", "node": "a"}}
PUBLISH = {"publish": {"queue": "q", "count": 5}}
TRANSIENT = {"declare": {"queue": "t", "node": "a", "durable": False}}


def story(*steps: dict) -> Scenario:
    cluster = {"nodes": ["a", "b", "c"], "version": "3.10"}
    return read_scenario({"scenario": "steps", "cluster": cluster, "steps": list(steps)})


def to_do(run: Run) -> tuple[ToDo, ...]:
    """Return the advice of `hawb run`."""
    return todo(outcome(run), advised(run, outcome(run)))


def advice(scenario: Scenario) -> tuple[ToDo, ...]:
    """Return the advice of `hawb run` for a scenario."""
    return to_do(Run.of(scenario))


@pytest.mark.parametrize(
    ("story", "sentence"),
    [
        (({"wait": 1},), "Yes: nothing is lost, and there is no queue."),
        ((DECLARE, PUBLISH), "Yes: nothing is lost, and every queue can be used."),
        ((DECLARE, PUBLISH, {"kill": "a"}), "No: nothing is lost, but q is down."),
        ((DECLARE, PUBLISH, {"kill": "a"}, {"start": "a"}),
         "Yes: nothing is lost, and every queue can be used; q could not be used for up to"),
        ((TRANSIENT, {"publish": {"queue": "t", "count": 1}}, {"kill": "a"}),
         "No: 1 message of t is lost, and it was confirmed."),
        ((TRANSIENT, {"declare": {"queue": "u", "node": "a", "durable": False}},
          {"publish": {"queue": "t", "count": 2}}, {"publish": {"queue": "u", "count": 3}}, {"kill": "a"}),
         "No: 5 messages of u and t are lost, all of them confirmed."),
        ((PUBLISH,), "No: no queue took 5 messages for q, though all of them were confirmed."),
        ((DECLARE, {"purge": "r"}), "No: nothing is lost, and every queue can be used; RabbitMQ refused step 2."),
        ((DECLARE, PUBLISH, TRANSIENT, {"publish": {"queue": "t", "count": 2}}, {"kill": "a"}, {"purge": "r"}),
         "No: 2 messages of t are lost, all of them confirmed; q is down; RabbitMQ refused step 6."),
    ],
)  # fmt: skip
def test_verdict_is_yes_or_no(story: tuple[dict, ...], sentence: str):
    assert verdict(steps(*story)).sentence.startswith(sentence)


def test_verdict_is_unknown_during_a_partition():
    parted = steps(
        {"declare": {"queue": "q", "node": "a", "arguments": {"x-queue-type": "quorum"}}}, PUBLISH,
        {"partition": [["a", "b"], ["c"]]}, {"wait": 100},
    )  # fmt: skip
    answer = verdict(parted)
    assert (answer.answer, answer.exit_status) == ("unknown", 3)
    assert answer.sentence.startswith("Cannot tell: nothing is lost")
    assert "the partitions do not agree" in answer.sentence


def test_advice_names_remedy_nodes_and_mirrors():
    remedy, start, synchronise = advice(load(UNSYNCHRONISED))
    assert remedy.what.startswith("Any of these would have kept the messages that ha.orders lost in step ")
    assert start.commands == tuple(f"systemctl start rabbitmq-server   # on {node}" for node in "ac")
    assert synchronise.commands == ("rabbitmqctl sync_queue -p / ha.orders",)
    behind = story(policy(ha_mode="all"), DECLARE, PUBLISH, {"stop": "b"}, {"start": "b"})
    assert [one.commands for one in advice(behind)] == [("rabbitmqctl sync_queue -p / q",)]
    assert advice(story(DECLARE)) == ()


@pytest.mark.parametrize(
    ("handling", "published", "what", "commands"),
    [
        ("pause_minority", (), "Repair the network: paused nodes wait for it.", ()),
        ("autoheal", (), "Repair the network between b and c | a: until then they do not see each other.", ()),
        ("ignore", ("b",), "Repair the network between b and c | a, then restart a: the partition lasts until"
                           " then.", ("rabbitmqctl -n a stop", "systemctl start rabbitmq-server   # on a")),
        ("ignore", ("a",), "Repair the network between b and c | a, then restart b and c: the partition lasts until"
                           " then.", tuple(f"rabbitmqctl -n {node} stop" for node in "bc")
         + tuple(f"systemctl start rabbitmq-server   # on {node}" for node in "bc")),
        ("ignore", ("a", "b"), "Let consumers empty q on a: otherwise, messages that only this partition has are"
                               " lost. Repair the network between b and c | a, then restart a: the partition lasts"
                               " until then.",
         ("rabbitmqctl -n a stop", "systemctl start rabbitmq-server   # on a")),
    ],
)  # fmt: skip
def test_advice_restarts_the_side_that_loses_nothing(
    handling: str, published: tuple[str, ...], what: str, commands: tuple[str, ...]
):
    parted = [{"partition": [["a"], ["b", "c"]]}, {"wait": 90}]
    sent = [{"publish": {"queue": "q", "count": 2, "node": node}} for node in published]
    scenario = story(policy(ha_mode="all", ha_sync_mode="automatic"), DECLARE, PUBLISH, *parted, *sent)
    scenario = replace(scenario, cluster=replace(scenario.cluster, cluster_partition_handling=handling))
    first = advice(scenario)[0]
    assert (first.what, first.commands) == (what, commands)


def test_useless_change_is_not_advised():
    alone = {"declare": {"queue": "q", "node": "a", "exclusive": True}}
    outside = story(alone, {"stop": "c"}, {"forget_cluster_node": {"node": "c", "from": "a"}})
    assert [one.what[:8] for one in advice(outside)] == ["Reset c "]
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
def test_starting_a_former_member_is_not_advised(out: dict, words: str, first: str):
    (only,) = advice(story(DECLARE, {"stop": "c"}, out))
    assert only.what.startswith(words) and only.commands[0] == first
    back = story(DECLARE, {"stop": "c"}, {"reset": "c"}, {"join": "c"}, {"stop": "c"})
    assert advice(back)[0].what.startswith("Start c: ")


def test_declaring_the_queue_earlier_is_advised():
    (first,) = advice(story(PUBLISH, DECLARE))
    assert first.what.startswith("Declare q before step 1, which publishes to it")


LOSING = {
    "unsynchronised": (
        policy(ha_mode="all"), DECLARE, PUBLISH, {"stop": "b"}, {"start": "b"}, {"stop": "c"}, {"kill": "a"},
    ),
    "transient": (TRANSIENT, {"publish": {"queue": "t", "count": 5}}, {"kill": "a"}, {"start": "a"}),
    "disk lost": (DECLARE, PUBLISH, {"kill": "a"}, {"wipe": "a"}, {"start": "a"}),
    "forgotten": (DECLARE, PUBLISH, {"stop": "a"}, {"forget_cluster_node": {"node": "a", "from": "b"}}),
    "reset": (DECLARE, PUBLISH, {"stop": "a"}, {"reset": "a"}),
}  # fmt: skip
"""Stories that lose messages, by what loses them."""
UNMIRRORED = ("transient", "disk lost", "forgotten", "reset")
"""Those of them that no policy mirrors, as in releases without mirrors."""


@pytest.mark.parametrize(
    ("how", "version"),
    [(how, version) for how in LOSING for version in ("3.10", "4.0", "4.3") if version == "3.10" or how in UNMIRRORED],
)
def test_advised_changes_reduce_the_loss_of_the_story(how: str, version: str):
    """Apply each advised change and require that the story loses fewer messages."""
    cluster = {"nodes": ["a", "b", "c"], "version": version}
    run = Run.of(read_scenario({"scenario": "s", "cluster": cluster, "steps": list(LOSING[how])}))
    advice = advised(run, outcome(run))
    words = " ".join(one.what for one in to_do(run))
    (kept,) = advice.kept
    assert kept.helping
    for one in kept.helping:
        assert lost(Run.of(read_scenario(one.change.document))) < lost(run)
    named = [one.change.what for one in kept.helping if one.change.what in words]
    assert 1 <= len(named) <= 3
    useless = [one.change.what for one in kept.changed if one not in kept.helping]
    assert not [what for what in useless if what in words]
    assert version == "3.10" or "mirror" not in words


@pytest.mark.parametrize(
    ("how", "named"),
    [("forgotten", {"a start of a before it is forgotten"}), ("reset", {"no reset"})],
)
def test_harmful_command_is_advised_to_be_omitted_or_prepared(how: str, named: set[str]):
    run = Run.of(story(*LOSING[how]))
    (kept,) = advised(run, outcome(run)).kept
    assert named <= {one.change.what for one in kept.changed if one.kept == 5}


def test_advice_states_that_nothing_helps():
    """All nodes of the cluster have a member, and most of their disks are lost."""
    assert advice(load(DATA / "scenarios" / "quorum-majority-of-disks-lost.yaml"))[0].what == (
        "hawb found no change that would have kept the messages that orders lost in step 9: this story has no change"
        " to try."
    )
    first = advice(load(DATA / "scenarios" / "quorum-last-node-lost-for-good.yaml"))[0].what
    assert first.startswith("hawb tried 5 changes of the story. None would have kept the messages that ha.orders lost")


def test_advice_states_that_the_queue_stays_down():
    away = ({"stop": ["b", "c"]}, {"start": ["b", "c"]}, {"kill": "a"})
    run = Run.of(story(policy(ha_mode="all"), DECLARE, PUBLISH, *away))
    [kept] = advised(run, outcome(run)).kept
    down = replace(kept, changed=[one for one in kept.changed if one.change.what.startswith("ha-promote")])
    (first, *_) = todo(outcome(run), replace(advised(run, outcome(run)), kept=(down,)))
    assert "ha-promote-on-failure: when-synced (policy p), but q cannot be used at the end" in first.what


def test_refused_messages_have_simulated_advice():
    """While the queue waits for its master what is published to it is refused; a synchronised mirror takes over."""
    careful = policy(ha_mode="all", ha_promote_on_failure="when-synced")
    away = ({"stop": ["b", "c"]}, {"start": ["b", "c"]}, {"kill": "a"})
    late = {"publish": {"queue": "q", "count": 3, "node": "b"}}
    run = Run.of(story(careful, DECLARE, PUBLISH, *away, {"wait": 1}, late, {"wait": 1}, {"start": "a"}))
    [kept] = advised(run, outcome(run)).kept
    assert kept.at_stake and not kept.harm.lost
    assert {one.change.what for one in kept.helping} >= {"ha-sync-mode: automatic"}
    assert all(toll(one.run) < toll(run) for one in kept.helping)
    assert "kept the messages for q that no queue took after step 6: " in to_do(run)[0].what


def test_verdict_no_without_advice_states_it():
    assert [one.what for one in advice(story(DECLARE, {"purge": "r"}))] == ["hawb found no change that improves this."]
    assert advice(story(DECLARE)) == ()


def test_long_story_is_not_simulated_again(monkeypatch):
    monkeypatch.setattr("hawb.planning.advised.MOST_EVENTS", 3)
    assert MOST_EVENTS > 3
    run = Run.of(story(*LOSING["disk lost"]))
    assert to_do(run)[0].what == (
        "The story is long, so hawb did not look for changes that would have kept the messages of q. Open the story in"
        " the lab to try changes."
    )


def test_earlier_declaration_is_not_advised_if_the_queue_is_gone_by_then():
    """The queue is exclusive, and its connection closes before the publish."""
    late = {"declare": {"queue": "q", "node": "a", "exclusive": True, "connection": "mine"}}
    run = Run.of(story({"publish": {"queue": "q", "count": 5, "node": "b", "connection": "other"}}, late))
    assert [one for one in to_do(run) if "Declare q" in one.what]
    deleted = Run.of(story(PUBLISH, {"declare": {"queue": "q", "arguments": {"x-queue-type": "no such type"}}}))
    assert not [one for one in to_do(deleted) if "Declare q" in one.what]


SHORT = {"name": "p", "pattern": ".", "definition": {"consumer-timeout": 70_000}}


@pytest.mark.parametrize(
    ("policies", "arguments", "raised"),
    [
        ([], {}, "in time, or raise consumer_timeout."),
        ([SHORT], {}, "in time, or raise consumer-timeout in policy p."),
        ([], {"x-consumer-timeout": 70_000}, "in time, or declare q with a longer x-consumer-timeout."),
        ([SHORT], {"x-consumer-timeout": 70_000}, "Have slow acknowledge each delivery in time."),
    ],
)
def test_effective_timeout_is_advised_to_be_raised(policies: list, arguments: dict, raised: str):
    slow = {"consume": {"consumer": "slow", "queue": "q", "node": "a"}}
    steps = [{"declare": {"queue": "q", "node": "a", "arguments": arguments}}, slow, PUBLISH, {"wait": 3_600}]
    cluster = {"nodes": ["a", "b"], "version": "4.0"}
    given = {"scenario": "s", "cluster": cluster, "policies": policies, "steps": steps}
    assert to_do(Run.of(read_scenario(given)))[0].what.endswith(raised)


@pytest.mark.parametrize(
    ("version", "sentence"),
    [("3.10", "No: nothing is lost, but RabbitMQ closed consumer slow, which had not acknowledged in time"),
     ("4.3", "Yes: nothing is lost, and every queue can be used;"
      " RabbitMQ took deliveries back from consumer slow, which had not acknowledged in time")],
)  # fmt: skip
def test_timed_out_consumer_is_stated(version: str, sentence: str):
    late = Cluster("a", "b", "c", version=version).declare("q", node="a", arguments={"x-queue-type": "quorum"})
    result = late.publish("q").consume(consumer="slow", queue="q", node="a").wait(3_600).outcome
    assert verdict(result).sentence == f"{sentence}."
    assert "Have slow acknowledge" in todo(result)[0].what


def test_policy_of_another_virtual_host_is_named_with_it():
    elsewhere = {"set_policy": {"name": "p", "vhost": "shop", "pattern": "^q$", "definition": {"max-length": 9}}}
    [asked] = advice(story(DECLARE, elsewhere))
    assert asked.what == "Step 2: policy shop::p is of virtual host shop: did you mean /, where q is?"
