"""A real cluster beside the model: what can be tested without one. `test_broker_live.py` has the rest."""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Iterator
from types import SimpleNamespace

import pika.data
import pytest
from click.testing import CliRunner
from pika.spec import Basic

from hawb.broker import cluster, membership
from hawb.broker.actions import ACTIONS, definition_of
from hawb.broker.clients import UNNUMBERED, Publishing, Subscriber, in_order, number_of
from hawb.broker.cluster import Bench
from hawb.broker.compare import compare, differences
from hawb.broker.control import Atom, reason_of, reasons_of_rows, term
from hawb.broker.drive import SILENT, TAKEOVER_S, Drive, replicas
from hawb.broker.driven import harmless, undriven
from hawb.broker.namespaces import Network
from hawb.broker.nodes import configuration
from hawb.broker.observe import consumer_of, counted
from hawb.broker.races import renamings
from hawb.broker.real import Played
from hawb.broker.standing import escaped, vhosts
from hawb.cli import main
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
        (["not_migrated", "undefined"], "not_migrated"),
    ],
)
def test_what_rabbitmqctl_would_end_with(answer: object, reason: str | None) -> None:
    assert reason_of(answer) == reason


def test_each_queue_whose_members_stay_is_told() -> None:
    rows = [[["resource", "/", "queue", name], result] for name, result in
            (("q", ["ok", 2]), ("r", ["error", 1, "last_node"]), ("s", ["error", 3, ["timeout", "x"]]))]  # fmt: skip
    assert reasons_of_rows(rows) == ["last_node", '["timeout", "x"]']


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
        "scenario: x\ncluster: {nodes: [a]}\nsteps:\n"
        "  - publisher: {name: p, queue: q, rate: 5, mode: tx}\n"
        "  - consume: {consumer: c, queue: q, rate: 5, ack: auto}\n  - publish: {queue: q, count: 1000000}\n"
        "  - publish: {queue: q, count: 600, size: 1000000}\n"
    )
    assert [reason.partition(":")[0] for reason in undriven(scenario)] == [
        "steps[0]", "steps[1]", "steps[2]", "steps[3]",
    ]  # fmt: skip
    assert undriven(load(STORY)) == []


def test_every_verb_is_driven() -> None:
    assert set(verbs.VERBS.values()) - set(ACTIONS) == {verbs.Wait, verbs.Expect}


def test_a_scenario_that_does_nothing_to_nodes_leaves_its_cluster_to_the_next(monkeypatch) -> None:
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


def test_a_scenario_is_harmless_unless_something_happens_to_nodes() -> None:
    assert harmless(load(STORY))
    assert not harmless(load(STORY + "  - kill: a\n"))
    assert not harmless(load("scenario: x\ncluster: {nodes: [a, b], down: {b: killed}}\n"))


def test_a_double_is_written_as_one() -> None:
    pieces: list[bytes] = []
    assert pika.data.encode_table(pieces, {"x": 1.5, "y": [0.25]}) == len(b"".join(pieces))
    assert [b"d" + struct.pack(">d", value) in b"".join(pieces) for value in (1.5, 0.25, 2.0)] == [True, True, False]


def test_a_dead_letter_has_no_number_of_its_own() -> None:
    mine = {"x-hawb-numbers": {"q": 7}}
    assert number_of(pika.BasicProperties(headers=mine), "q") == 7
    assert number_of(pika.BasicProperties(headers=mine), "dead") == UNNUMBERED
    assert number_of(pika.BasicProperties(headers=mine | {"x-death": []}), "q") == UNNUMBERED


def test_what_clients_hold_is_told_where_the_queue_counts_as_much() -> None:
    holding = [subscriber("one", "q", [1, 2]), subscriber("two", "q", [3]), subscriber("stale", "gone", [1])]
    assert counted(holding, {"q": {"messages_unacknowledged": 3}}) == {"q"}
    assert counted(holding, {"q": {"messages_unacknowledged": 1}}) == set()
    assert consumer_of(holding[1], None, counting=True)["unacknowledged"] == [[3, 3]]
    assert "unacknowledged" not in consumer_of(holding[1], None, counting=False)
    assert not {"received", "unacknowledged"} & consumer_of(subscriber("d", "q", [UNNUMBERED]), None, True).keys()


def test_a_client_that_would_have_been_told_is_not_taken_for_cancelled_because_its_queue_is_down() -> None:
    waiting = subscriber("c", "q", [1])
    waiting.subscribed = True
    assert consumer_of(waiting, None, counting=True)["state"] == "active"
    waiting.cancel_notify = False
    assert consumer_of(waiting, None, counting=True)["state"] == "cancelled"


def subscriber(name: str, queue: str, numbers: list[int]) -> Subscriber:
    """A consumer that holds all that it has received."""
    held = list(enumerate(numbers, 1))
    return Subscriber(name, queue, "default", "a", SimpleNamespace(), received=numbers, held=held)


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


def test_racy_and_known_fields_are_not_compared() -> None:
    told = played(STORY + "racy: {fields: ['queues.*.messages', steps.4.queues.ha.mirrors], reason: x}\n")
    for seen in (told.outcome, told.glances[4]):
        seen["queues"]["ha"] |= {"messages": 2, "messages_ready": 2, "mirrors": [], "state": "down"}
    known = Uncompared(("queues.ha.state",), "y")
    assert [(difference.step, difference.field) for difference in compare(told, known)] == [
        (4, "queues.ha.messages_ready"), (None, "queues.ha.messages_ready"), (None, "queues.ha.mirrors"),
    ]  # fmt: skip


ALL = """
scenario: Two mirrors
cluster: {nodes: [a, b, c], version: "3.10"}
policies: [{name: all, pattern: ^standing, definition: {ha-mode: all}}]
queues: [{queue: standing, master: a, mirrors: [b, c], synchronised_mirrors: [b, c]}]
steps:
  - declare: {queue: new, node: a}
  - set_policy: {name: later, pattern: ^new, definition: {ha-mode: all}}
"""


FORCED = """
scenario: A node that was stopped first is forced to boot
cluster: {nodes: [a, b, c]}
policies: [{name: all, pattern: ^q, definition: {ha-mode: all}}]
steps:
  - declare: {queue: q, node: b}
  - GO: b
  - stop: c
  - stop: a
  - force_boot: b
"""


@pytest.mark.parametrize(("go", "differs"), [("stop", False), ("kill", True)])
def test_a_node_that_stopped_may_know_who_was_promoted_in_its_place(go: str, differs: bool) -> None:
    scenario = load(FORCED.replace("GO", go))
    told = outcome(Run.of(scenario))
    assert told["queues"]["q"]["master"] == "b"
    told["queues"]["q"] |= {"master": "c", "state": "down"}
    assert bool(compare(Played(scenario, told, {}))) == differs


UNCONFIRMED = """
scenario: Dead letters come to a node that is killed
cluster: {nodes: [a, b], version: "VERSION"}
steps:
  - declare: {queue: dead, node: a}
  - bind: {queue: dead, exchange: letters, routing_key: q}
  - declare: {queue: q, node: b, arguments: {x-max-length: 1, x-dead-letter-exchange: letters}}
  - publish: {queue: q, count: 3, node: b}
  - publish: {queue: dead, count: 1, node: b}
  - GO: a
  - start: a
"""


@pytest.mark.parametrize(
    ("version", "go", "left", "differs"),
    [("4.0", "kill", [[2, 3]], False), ("4.0", "kill", [[1, 2]], True), ("4.0", "kill", [[3, 3]], False),
     ("4.0", "stop", [[3, 3]], True), ("3.10", "kill", [[3, 3]], True)],
)  # fmt: skip
def test_a_classic_queue_of_40_may_not_have_written_what_came_without_a_confirm(
    version: str, go: str, left: list, differs: bool
) -> None:
    scenario = load(UNCONFIRMED.replace("VERSION", version).replace("GO", go))
    told = outcome(Run.of(scenario))
    assert told["queues"]["dead"]["ids"] == [[1, 3]]
    count = sum(last - first + 1 for first, last in left)
    told["queues"]["dead"] |= {"ids": left, "messages": count, "messages_ready": count}
    if told["queues"]["dead"]["redelivered"]:
        told["queues"]["dead"]["redelivered"] = left
    assert bool(compare(Played(scenario, told, {}))) == differs


MOVED = """
scenario: A mirrored queue's consumers consume again
cluster: {nodes: [a, b, c]}
policies: [{name: all, pattern: ^q, definition: {ha-mode: all}}]
steps:
  - declare: {queue: q, node: a}
  - consume: {consumer: one, queue: q, node: b, prefetch: 2, priority: 2}
  - consume: {consumer: two, queue: q, node: c, prefetch: 2}
  - publish: {queue: q, count: 3, node: b}
"""


@pytest.mark.parametrize(
    ("steps", "differs"),
    [
        ("  - kill: a", False),
        ("", True),
        ("  - stop: c", True),
    ],
)  # fmt: skip
def test_whose_channel_consumes_again_or_ends_first_is_luck(steps: str, differs: bool) -> None:
    scenario = load(MOVED + steps)
    told = outcome(Run.of(scenario))
    one, two = told["consumers"]["one"], told["consumers"]["two"]
    one["received"], two["received"] = two["received"], one["received"]
    assert bool(compare(Played(scenario, told, {}))) == differs


@pytest.mark.parametrize(("step", "differs"), [("stop: a", False), ("kill: a", True)])
def test_whose_channel_a_stopping_node_ends_first_is_luck(step: str, differs: bool) -> None:
    story = MOVED.replace("node: b, prefetch", "node: a, prefetch").replace("node: c, ", "node: a, ")
    scenario = load(f"{story}  - {step}")
    told = outcome(Run.of(scenario))
    told["consumers"]["two"]["received"] = [[3, 3]] if step == "stop: a" else []
    assert bool(compare(Played(scenario, told, {}))) == differs


def test_mirrors_that_join_at_the_same_moment_stand_in_any_order() -> None:
    scenario = load(ALL)
    told = outcome(Run.of(scenario))
    for queue in told["queues"].values():
        queue.update(mirrors=["c", "b"], recoverable_mirrors=["c", "b"])
    assert {difference.field for difference in compare(Played(scenario, told, {}))} == {
        "queues.standing.mirrors", "queues.standing.recoverable_mirrors",
    }  # fmt: skip


BEHIND = """
scenario: A mirror goes that was not synchronised when another node came up
cluster: {nodes: [a, b, c], version: "3.10"}
policies: [{name: all, pattern: ^q, definition: {ha-mode: all, ha-sync-mode: MODE}}]
steps:
  - declare: {queue: q, node: b}
  - publish: {queue: q, count: 1, node: b}
  - stop: c
  - start: c
  - stop: a
  - start: a
  - GO: c
"""


@pytest.mark.parametrize(
    ("mode", "go", "fields"),
    [("manual", "kill", set()), ("automatic", "kill", {"queues.q.recoverable_mirrors"}), ("automatic", "stop", set())],
)
def test_a_mirror_may_be_recoverable_that_was_behind_when_another_node_came_up_or_whose_node_stops(
    mode: str, go: str, fields: set[str]
) -> None:
    scenario = load(BEHIND.replace("MODE", mode).replace("GO", go))
    told = outcome(Run.of(scenario))
    queue = told["queues"]["q"]
    queue["recoverable_mirrors"] = sorted({*queue["recoverable_mirrors"]} ^ {"c"}, reverse=True)
    assert {difference.field for difference in compare(Played(scenario, told, {}))} == fields


REFUSING = """
scenario: A mirror that joined with its node refuses to take over
cluster: {nodes: [a, b], version: "3.8"}
policies:
  - {name: all, pattern: ^q, definition: {ha-mode: all, ha-sync-mode: manual, ha-promote-on-failure: when-synced}}
steps:
  - declare: {queue: q, node: b}
  - publish: {queue: q, count: 1, node: b}
  - MEANWHILE: a
  - kill: b
"""


@pytest.mark.parametrize(("meanwhile", "lucky"), [("kill: a\n  - start", True), ("expect: {}\n  - wait", False)])
def test_a_mirror_that_joined_with_its_node_may_be_recoverable_when_it_refuses(meanwhile: str, lucky: bool) -> None:
    scenario = load(REFUSING.replace("MEANWHILE", meanwhile).replace("wait: a", "wait: 1"))
    told = outcome(Run.of(scenario))
    queue = told["queues"]["q"]
    queue["recoverable_mirrors"] = sorted({*queue["recoverable_mirrors"]} ^ {"a"})
    assert bool(compare(Played(scenario, told, {}))) != lucky


@pytest.mark.parametrize(
    ("row", "works"),
    [
        ({"information": {"state": ["syncing", 3]}}, True),
        ({"information": {"state": "running"}}, False),
        ({"information": SILENT}, True),
        ({"information": None, "mirrors": ["n2@x"]}, True),
        ({"information": None, "mirrors": []}, False),
        ({"information": None, "mirrors": ["n2@x"], "live": False}, False),
    ],
)
def test_a_queue_that_synchronises_or_awaits_its_new_master_is_not_settled(row: dict, works: bool) -> None:
    drive = SimpleNamespace(cluster=SimpleNamespace(network=Network(2)), held=False, _given_up=set())
    row = {"live": True, "mirrors": []} | row
    assert Drive._works(drive, row) is works
    drive.cluster.network = SimpleNamespace(whole=False)
    assert Drive._works(drive, row) is (works and isinstance(row["information"], dict))


def test_mirrors_that_did_not_take_over_are_waited_for_once() -> None:
    drive = SimpleNamespace(cluster=SimpleNamespace(network=Network(2)), held=False, _given_up=set())
    row = {"vhost": "/", "name": "q", "process": "n1@x", "live": True, "mirrors": ["n2@x"], "information": None}
    assert Drive._works(drive, row) and not Drive._works(drive, row, TAKEOVER_S + 1)
    drive._given_up = {replicas(row)}
    assert not Drive._works(drive, row)
    assert Drive._works(drive, row | {"mirrors": ["n3@x"]})


def test_a_synchronisation_that_an_alarm_holds_is_no_work() -> None:
    drive = object.__new__(Drive)
    nodes = {node: SimpleNamespace(alive=node == "a") for node in "ab"}
    drive.cluster = SimpleNamespace(network=Network(2), nodes=nodes)
    found = []
    for alarms in ({("a", "disk")}, {("b", "memory")}, {("a", "memory")}):
        drive.alarms = alarms
        found += [drive._works({"information": told}) for told in ({"state": ["syncing", 3]}, SILENT)]
    assert found == [True, True, True, True, False, False]


def test_a_synchronisation_is_over_once_its_mirrors_have_taken_in_all() -> None:
    drive = SimpleNamespace(cluster=SimpleNamespace(network=Network(2)), held=False, _given_up=set())
    row = {"live": True, "mirrors": ["n2@x"], "information": {"state": "running"}, "backlog": 3}
    assert Drive._works(drive, row)
    assert not Drive._works(drive, row | {"backlog": 0})
    drive.cluster.network = SimpleNamespace(whole=False)
    assert not Drive._works(drive, row)


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


def test_a_term_that_erlang_breaks_into_lines_is_told_in_one() -> None:
    drive = object.__new__(Drive)
    drive.cluster, drive.errors, drive._step = SimpleNamespace(names={"n1@10.77.0.1": "a"}), [], 3
    drive.refuse(541, "{timeout,\n           {'%2F_q',\n            'n1@10.77.0.1'}}")
    assert drive.errors == [{"step": 3, "code": 541, "text": "{timeout,{'%2F_q','a'}}"}]


# --- what is lacking ---


def test_what_the_machine_lacks_is_said_plainly(monkeypatch, tmp_path) -> None:
    monkeypatch.setattr(cluster.shutil, "which", lambda _: None)
    monkeypatch.setattr(cluster.os, "geteuid", lambda: 1000)
    file = tmp_path / "story.yaml"
    file.write_text(STORY)
    for command in (["run", "--on", "broker"], ["compare"]):
        result = CliRunner().invoke(main, [*command, str(file)])
        assert (result.exit_code, result.stdout) == (2, "")
        for lack in ("iproute2", "iptables", "root"):
            assert lack in result.stderr


def test_a_client_that_names_no_node_goes_to_the_first_that_takes_clients():
    nodes = [SimpleNamespace(name=name) for name in "abc"]
    drive = object.__new__(Drive)
    drive.cluster = SimpleNamespace(nodes={node.name: node for node in nodes}, running=lambda: nodes,
                                    is_running=lambda _node: True)  # fmt: skip
    drive.members, drive.drained, drive.errors, drive._step = {"b", "c"}, {"b"}, [], 0
    asked: list[str] = []
    drive.operate = asked.append
    drive.client(None, lambda name: name)
    drive.client("b", lambda name: name)
    drive.drained = {"b", "c"}
    drive.client(None, lambda name: name)
    assert asked == ["c", "b", "b"]  # where all are drained the first refuses


def test_a_node_whose_disk_is_lost_is_asked_for_nothing_and_needs_no_broker_to_forget():
    done: list[str] = []
    nodes = {
        name: SimpleNamespace(name=name, kill=lambda: done.append("kill"), wipe=lambda: done.append("wipe"))
        for name in "ab"
    }
    drive = object.__new__(Drive)
    drive.cluster = SimpleNamespace(nodes=nodes, running=lambda: list(nodes.values()))
    drive.members, drive.errors, drive._step = {"a", "b"}, [], 0
    assert drive.first_running().name == "a"
    assert membership.wipe(drive, nodes["a"]) is None
    assert drive.first_running().name == "b"
    assert membership.start(drive, [nodes["a"]]) == "node 'a' has not joined the cluster"
    assert membership.reset(drive, nodes["a"]) is None
    assert done == ["kill", "wipe"] * 2
