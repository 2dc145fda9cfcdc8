"""Comparison of model and real cluster: tests that need no cluster. `test_real_live.py` has the rest."""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Iterator
from types import SimpleNamespace

import pika.data
import pytest
from click.testing import CliRunner
from pika.spec import Basic

from hawb.broker import cluster
from hawb.broker.actions import ACTIONS, definition_of
from hawb.broker.clients import UNNUMBERED, Publishing, Subscriber, in_order, number_of
from hawb.broker.cluster import Bench
from hawb.broker.control import Atom, reason_of, reasons_of_rows, term
from hawb.broker.driven import harmless, undriven
from hawb.broker.nodes import configuration
from hawb.broker.observe import consumer_of, counted
from hawb.broker.real import Played
from hawb.broker.standing import escaped, vhosts
from hawb.cli import main
from hawb.conformance.compare import compare, differences
from hawb.conformance.races import renamings
from hawb.rules.patterns import matches
from hawb.scenario import verbs
from hawb.scenario.document import Cluster, PauseIfAllDown, Uncompared
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


def test_nodes_are_configured_as_the_scenarios_cluster() -> None:
    entry = Cluster(
        ("a", "b"), net_ticktime=8, cluster_partition_handling=PauseIfAllDown(("b",), "autoheal"), slave_wait_timeout=2
    )
    text, advanced = configuration(entry, {"a": "n1@x", "b": "n2@x"})
    assert "net_ticktime = 8\n" in text
    assert "cluster_partition_handling = pause_if_all_down\n" in text
    assert "cluster_partition_handling.pause_if_all_down.recover = autoheal\n" in text
    assert "cluster_partition_handling.pause_if_all_down.nodes.1 = n2@x\n" in text
    assert advanced == "[{rabbit, [{slave_wait_timeout, 2000}]}].\n"


def test_ha_params_use_erlang_node_names() -> None:
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
        (["not_migrated", "undefined"], "not_migrated"),
    ],
)
def test_error_reason_as_rabbitmqctl_prints_it(answer: object, reason: str | None) -> None:
    assert reason_of(answer) == reason


def test_each_failed_member_change_has_a_reason() -> None:
    rows = [[["resource", "/", "queue", name], result] for name, result in
            (("q", ["ok", 2]), ("r", ["error", 1, "last_node"]), ("s", ["error", 3, ["timeout", "x"]]))]  # fmt: skip
    assert reasons_of_rows(rows) == ["last_node", '["timeout", "x"]']


def test_confirm_of_multiple_confirms_all_earlier_messages() -> None:
    found = []
    publishing = Publishing(SimpleNamespace(), lambda numbers, verdict: found.append((numbers, verdict)))
    publishing.pending = {tag: [("q", tag)] for tag in (1, 2, 3)}
    publishing.on_frame(SimpleNamespace(method=Basic.Ack(delivery_tag=2, multiple=True)))
    publishing.on_frame(SimpleNamespace(method=Basic.Nack(delivery_tag=3)))
    assert found == [([("q", 1)], "confirmed"), ([("q", 2)], "confirmed"), ([("q", 3)], "nacked")]
    assert publishing.pending == {}


def test_runs_keep_the_delivery_order() -> None:
    assert in_order([2, 3, 1, 5, 6, 7]) == [[2, 3], [1, 1], [5, 7]]


def test_queue_is_built_under_a_policy_that_matches_only_it() -> None:
    pattern = f"^{escaped('ha.é[1]')}$"
    assert matches(pattern, "ha.é[1]")
    assert not matches(pattern, "haXé[1]")


def test_every_virtual_host_of_a_scenario_is_created() -> None:
    scenario = load(STORY + "  - publish: {queues: ['dev::x'], count: 1}\n  - clear_policy: {name: x, vhost: old}\n")
    assert vhosts(scenario) == {"/", "dev", "old"}


def test_undrivable_steps_are_listed() -> None:
    scenario = load(
        "scenario: x\ncluster: {nodes: [a]}\nsteps:\n"
        "  - publisher: {name: p, queue: q, rate: 5, mode: tx}\n"
        "  - consume: {consumer: c, queue: q, rate: 5, ack: auto}\n  - publish: {queue: q, count: 1000000}\n"
        "  - publish: {queue: q, count: 600, size: 1000000}\n"
    )
    assert [reason.partition(" ")[0] for reason in undriven(scenario)] == [
        "steps[0]", "steps[1]", "steps[2]", "steps[3]",
    ]  # fmt: skip
    assert undriven(load(STORY)) == []


def test_every_verb_can_be_driven() -> None:
    assert set(verbs.VERBS.values()) - set(ACTIONS) == {verbs.Wait, verbs.Expect}


def test_cluster_is_reused_after_a_scenario_without_node_faults(monkeypatch) -> None:
    booted, ended = [], []

    @contextlib.contextmanager
    def boot(_bench: Bench, names: tuple[str, ...], _entry: Cluster) -> Iterator[SimpleNamespace]:
        booted.append(names)
        yield SimpleNamespace(empty=lambda: booted.append("emptied"))
        ended.append(names)

    def play(names: tuple[str, ...], harmless: bool) -> None:
        with bench.cluster(names, Cluster(names), harmless):
            pass

    monkeypatch.setattr(Bench, "_booted", boot)
    monkeypatch.setattr(cluster, "lacking", lambda: [])
    monkeypatch.setattr(cluster, "sweep", lambda: None)
    with Bench() as bench:
        play(("a",), True)
        play(("a",), False)
        assert (booted, ended) == ([("a",), "emptied"], [("a",)])
        play(("a",), True)
        play(("b",), True)
    assert booted == [("a",), "emptied", ("a",), ("b",)]
    assert ended == [("a",), ("a",), ("b",)]


def test_scenario_without_node_faults_is_harmless() -> None:
    assert harmless(load(STORY))
    assert not harmless(load(STORY + "  - kill: a\n"))
    assert not harmless(load("scenario: x\ncluster: {nodes: [a, b], down: {b: killed}}\n"))


def test_double_is_encoded_as_amqp_double() -> None:
    pieces: list[bytes] = []
    assert pika.data.encode_table(pieces, {"x": 1.5, "y": [0.25]}) == len(b"".join(pieces))
    assert [b"d" + struct.pack(">d", value) in b"".join(pieces) for value in (1.5, 0.25, 2.0)] == [True, True, False]


def test_dead_letter_has_no_number() -> None:
    mine = {"x-hawb-numbers": {"q": 7}}
    assert number_of(pika.BasicProperties(headers=mine), "q") == 7
    assert number_of(pika.BasicProperties(headers=mine), "dead") == UNNUMBERED
    assert number_of(pika.BasicProperties(headers=mine | {"x-death": []}), "q") == UNNUMBERED


def test_unacknowledged_messages_are_reported_if_the_queue_counts_the_same() -> None:
    holding = [subscriber("one", "q", [1, 2]), subscriber("two", "q", [3]), subscriber("stale", "gone", [1])]
    assert counted(holding, {"q": {"messages_unacknowledged": 3}}) == {"q"}
    assert counted(holding, {"q": {"messages_unacknowledged": 1}}) == set()
    assert consumer_of(holding[1], None, counting=True)["unacknowledged"] == [[3, 3]]
    assert "unacknowledged" not in consumer_of(holding[1], None, counting=False)
    assert not {"received", "unacknowledged"} & consumer_of(subscriber("d", "q", [UNNUMBERED]), None, True).keys()


def test_consumer_of_a_queue_that_is_down_is_not_reported_as_cancelled() -> None:
    waiting = subscriber("c", "q", [1])
    waiting.subscribed = True
    assert consumer_of(waiting, None, counting=True)["state"] == "active"
    waiting.cancel_notify = False
    assert consumer_of(waiting, None, counting=True)["state"] == "cancelled"


def subscriber(name: str, queue: str, numbers: list[int]) -> Subscriber:
    """Return a consumer that holds all messages that it received."""
    held = list(enumerate(numbers, 1))
    return Subscriber(name, queue, "default", "a", SimpleNamespace(), received=numbers, held=held)


# --- comparing ---


def played(text: str = STORY) -> Played:
    """Return the model's outcome as if a broker had reported it."""
    scenario = load(text)
    run = Run.of(scenario)
    return Played(scenario, outcome(run), {4: outcome(run, run.moment_of(4))})


def test_the_model_agrees_with_itself() -> None:
    assert compare(played()) == []


def test_difference_names_the_field_and_both_values() -> None:
    result = played()
    result.outcome["queues"]["ha"]["messages"] = 2
    result.glances[4]["nodes"]["a"] = "down"
    assert [str(difference) for difference in compare(result)] == [
        "at steps[4] (the 5th step), nodes.a: the model says running, the broker down",
        "at the end, queues.ha.messages: the model says 3, the broker 2",
    ]


def test_racy_and_known_fields_are_not_compared() -> None:
    result = played(STORY + "racy: {fields: ['queues.*.messages', steps.4.queues.ha.mirrors], reason: x}\n")
    for seen in (result.outcome, result.glances[4]):
        seen["queues"]["ha"] |= {"messages": 2, "messages_ready": 2, "mirrors": [], "state": "down"}
    known = Uncompared(("queues.ha.state",), "y")
    assert [(difference.step, difference.field) for difference in compare(result, known)] == [
        (4, "queues.ha.messages_ready"), (None, "queues.ha.messages_ready"), (None, "queues.ha.mirrors"),
    ]  # fmt: skip


def test_fields_that_the_broker_does_not_report_are_not_compared() -> None:
    result = played()
    del result.outcome["queues"]["ha"]["ids"], result.outcome["availability"]
    assert compare(result) == []


def test_queue_in_one_outcome_only_is_a_difference() -> None:
    result = played()
    del result.outcome["queues"]["ha"]
    result.outcome["queues"]["other"] = {"state": "down"}
    assert {difference.field for difference in compare(result)} == {"queues.ha", "queues.other"}


def test_unnamed_nodes_are_interchangeable() -> None:
    result = played()
    mirror = result.outcome["queues"]["ha"]["mirrors"]
    other = {"b": "c", "c": "b"}[mirror[0]]
    for seen in (result.outcome, result.glances[4]):
        queue = seen["queues"]["ha"]
        queue.update(mirrors=[other], synchronised_mirrors=[other], recoverable_mirrors=[other], replicas={})
        del seen["events"]
    assert compare(result) == []
    assert list(renamings(load(STORY))) == [{"b": "b", "c": "c"}, {"b": "c", "c": "b"}]


def test_error_texts_are_compared_only_with_a_code() -> None:
    model = {"errors": [{"step": 1, "code": 404, "text": "x"}, {"step": 2, "code": None, "text": "x"}]}
    broker = {"errors": [{"step": 1, "code": 404, "text": "y"}, {"step": 2, "code": None, "text": "y"}]}
    assert [field for field, _, _ in differences(model, broker)] == ["errors.1"]


# --- what is lacking ---


def test_missing_requirements_of_the_machine_are_listed(monkeypatch, tmp_path) -> None:
    monkeypatch.setattr(cluster.shutil, "which", lambda _: None)
    monkeypatch.setattr(cluster.os, "geteuid", lambda: 1000)
    file = tmp_path / "story.yaml"
    file.write_text(STORY)
    for command in (["run", "--on", "broker"], ["compare"]):
        result = CliRunner().invoke(main, [*command, str(file)])
        assert (result.exit_code, result.stdout) == (2, "")
        for lack in ("iproute2", "iptables", "root"):
            assert lack in result.stderr


@pytest.mark.parametrize("system", ["win32", "darwin"])
def test_real_cluster_is_refused_on_other_systems_than_linux(monkeypatch, tmp_path, system: str) -> None:
    file = tmp_path / "story.yaml"
    file.write_text(STORY)
    monkeypatch.setattr("hawb.broker.real.sys", SimpleNamespace(platform=system))
    result = CliRunner().invoke(main, ["compare", str(file)])
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"on Linux alone, in network namespaces; this is {system}" in result.stderr
