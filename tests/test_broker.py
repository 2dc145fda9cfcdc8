"""A real cluster beside the model: what can be tested without one. `test_broker_live.py` has the rest."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from click.testing import CliRunner
from pika.spec import Basic

from hawb.broker import cluster
from hawb.broker.actions import ACTIONS, definition_of
from hawb.broker.clients import Publishing, in_order
from hawb.broker.compare import compare, differences, renamings
from hawb.broker.control import Atom, reason_of, term
from hawb.broker.driven import undriven
from hawb.broker.nodes import configuration
from hawb.broker.real import Played
from hawb.broker.standing import escaped, vhosts
from hawb.cli import main
from hawb.rules.patterns import matches
from hawb.scenario import verbs
from hawb.scenario.document import Cluster, PauseIfAllDown
from hawb.scenario.load import load
from hawb.scenario.outcome import outcome
from hawb.scenario.run import Run

STORY = """
scenario: A mirror takes over
cluster: {nodes: [a, b, c], version: "3.10"}
steps:
  - set_policy: {name: two, pattern: '^ha', definition: {ha-mode: exactly, ha-params: 2}}
  - declare: {queue: ha, node: a}
  - publish: {queue: ha, count: 3}
  - declare: {queue: nothing, passive: true}
  - expect: {queues: {ha: {messages: 3}}}
"""


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("é", "<<195,169>>"),
        (Atom("it's"), "'it\\'s'"),
        ((Atom("resource"), "/"), "{'resource',<<47>>}"),
        ([1, True, 0.5], "[1,true,0.5]"),
    ],
)
def test_values_are_written_as_erlang_terms(value: object, written: str) -> None:
    assert term(value) == written


def test_the_cluster_of_a_scenario_is_what_its_nodes_are_configured_with() -> None:
    entry = Cluster(
        ("a", "b"), net_ticktime=8, cluster_partition_handling=PauseIfAllDown(("b",), "autoheal"), slave_wait_timeout=2
    )
    text, advanced = configuration(entry, {"a": "n1@x", "b": "n2@x"})
    assert "net_ticktime = 8\n" in text
    assert "cluster_partition_handling = pause_if_all_down\n" in text
    assert "cluster_partition_handling.pause_if_all_down.recover = autoheal\n" in text
    assert "cluster_partition_handling.pause_if_all_down.nodes.1 = n2@x\n" in text
    assert advanced == "[{rabbit, [{slave_wait_timeout, 2000}]}].\n"


def test_a_policy_that_lists_nodes_lists_them_by_their_erlang_names() -> None:
    drive = SimpleNamespace(cluster=SimpleNamespace(erlang={"a": "n1@x"}))
    definition = {"ha-mode": "nodes", "ha-params": ["a", "elsewhere", 3]}
    assert definition_of(drive, definition) == '{"ha-mode": "nodes", "ha-params": ["n1@x", "elsewhere", 3]}'
    assert definition["ha-params"][0] == "a"


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("ok", None),
        (["error_string", "bad"], "bad"),
        (["error", "not_mirrored"], "not_mirrored"),
        (["migrated", "n1"], None),
    ],
)
def test_what_rabbitmqctl_would_end_with(answer: object, reason: str | None) -> None:
    assert reason_of(answer) == reason


def test_a_confirm_of_several_messages_answers_for_all_that_came_before() -> None:
    told = []
    publishing = Publishing(SimpleNamespace(), lambda numbers, verdict: told.append((numbers, verdict)))
    publishing.pending = {tag: [("q", tag)] for tag in (1, 2, 3)}
    publishing.heard(SimpleNamespace(method=Basic.Ack(delivery_tag=2, multiple=True)))
    publishing.heard(SimpleNamespace(method=Basic.Nack(delivery_tag=3)))
    assert told == [([("q", 1)], "confirmed"), ([("q", 2)], "confirmed"), ([("q", 3)], "nacked")]
    assert publishing.pending == {}


def test_delivery_order_is_kept_in_runs() -> None:
    assert in_order([2, 3, 1, 5, 6, 7]) == [[2, 3], [1, 1], [5, 7]]


def test_a_queue_is_built_under_a_policy_that_matches_it_alone() -> None:
    pattern = f"^{escaped('ha.é[1]')}$"
    assert matches(pattern, "ha.é[1]")
    assert not matches(pattern, "haXé[1]")


def test_every_virtual_host_of_a_file_is_made() -> None:
    scenario = load(STORY + "  - publish: {queues: ['dev::x'], count: 1}\n  - clear_policy: {name: x, vhost: old}\n")
    assert vhosts(scenario) == {"/", "dev", "old"}


def test_what_cannot_be_driven_is_named() -> None:
    scenario = load(
        "scenario: x\ncluster: {nodes: [a], timing: {link_latency_s: 1}}\nsteps:\n"
        "  - publisher: {name: p, queue: q, rate: 5}\n  - publish: {queue: q, count: 1000000}\n"
    )
    assert [reason.partition(":")[0] for reason in undriven(scenario)] == [
        "cluster.timing.link_latency_s", "steps[0]", "steps[1]",
    ]  # fmt: skip
    assert undriven(load(STORY)) == []


def test_every_verb_of_classic_queues_is_driven() -> None:
    left = set(verbs.VERBS.values()) - set(ACTIONS) - {verbs.Wait, verbs.Expect}
    assert left == {verbs.Publisher, verbs.AddMember, verbs.DeleteMember, verbs.Grow, verbs.Shrink}


# --- comparing ---


def played(text: str = STORY) -> Played:
    """The model's own outcome, as if a broker had told it."""
    scenario = load(text)
    run = Run.of(scenario)
    return Played(scenario, outcome(run), {4: outcome(run, run.moment_of(4))})


def test_the_model_agrees_with_itself() -> None:
    assert compare(played()) == []


def test_a_field_that_differs_is_named_with_both_values() -> None:
    told = played()
    told.outcome["queues"]["ha"]["messages"] = 2
    told.glances[4]["nodes"]["a"] = "down"
    assert [str(difference) for difference in compare(told)] == [
        "at step 4, nodes.a: the model says running, the broker down",
        "at the end, queues.ha.messages: the model says 3, the broker 2",
    ]


def test_what_the_broker_does_not_tell_is_not_compared() -> None:
    told = played()
    del told.outcome["queues"]["ha"]["ids"], told.outcome["availability"]
    assert compare(told) == []


def test_a_queue_on_one_side_only_differs() -> None:
    told = played()
    del told.outcome["queues"]["ha"]
    told.outcome["queues"]["other"] = {"state": "down"}
    assert {difference.field for difference in compare(told)} == {"queues.ha", "queues.other"}


def test_nodes_that_the_file_does_not_name_may_be_exchanged() -> None:
    told = played()
    mirror = told.outcome["queues"]["ha"]["mirrors"]
    other = {"b": "c", "c": "b"}[mirror[0]]
    for seen in (told.outcome, told.glances[4]):
        queue = seen["queues"]["ha"]
        queue.update(mirrors=[other], synchronised_mirrors=[other], recoverable_mirrors=[other], replicas={})
        del seen["events"]
    assert compare(told) == []
    assert list(renamings(load(STORY))) == [{"b": "b", "c": "c"}, {"b": "c", "c": "b"}]


def test_texts_are_compared_where_rabbitmq_gave_a_code() -> None:
    model = {"errors": [{"step": 1, "code": 404, "text": "x"}, {"step": 2, "code": None, "text": "x"}]}
    broker = {"errors": [{"step": 1, "code": 404, "text": "y"}, {"step": 2, "code": None, "text": "y"}]}
    assert [field for field, _, _ in differences(model, broker)] == ["errors.1"]


# --- what is lacking ---


def test_what_the_machine_lacks_is_said_plainly(monkeypatch, tmp_path) -> None:
    monkeypatch.setattr(cluster.shutil, "which", lambda _: None)
    monkeypatch.setattr(cluster, "RELEASE", tmp_path)
    monkeypatch.setattr(cluster.os, "geteuid", lambda: 1000)
    file = tmp_path / "story.yaml"
    file.write_text(STORY)
    for command in (["run", "--on", "broker"], ["compare"]):
        result = CliRunner().invoke(main, [*command, str(file)])
        assert (result.exit_code, result.stdout) == (2, "")
        for lack in ("iproute2", "iptables", "rabbitmq-server", "root"):
            assert lack in result.stderr
