"""Linting of dead-letter cycles over exchanges of each type."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest
from counted_work import lines_run
from inventories import HA, cluster, policy, queue
from lint_cases import to

from hawb.cluster import Cluster
from hawb.exports.definitions import Binding
from hawb.planning import dead_letter_checks, inventory
from hawb.planning.assignments import assign
from hawb.planning.dead_letter_checks import dead_letter_findings
from hawb.planning.findings import Finding
from hawb.planning.inventory import Inventory, of_files
from hawb.planning.lint import lint
from hawb.views.verdicts.lint import commands

DEAD = {"dead_letter_exchange": "dlx"}
AUTOMATIC = {"x-message-ttl": 9}


def bound(queue: str, key: str = "#", source: str = "dlx", kind: str = "queue") -> Binding:
    return Binding(source, queue, "/", kind, key)


def cycles(given: Inventory) -> list[tuple[str, str, list[str]]]:
    """Return code, subject and queues of each finding about dead letters."""
    found = [one for one in lint(given).findings if "path" in one.detail]
    return [(one.code, one.where, one.detail["queues"]) for one in found]


def under_policy(*bindings: Binding, kind: str = "topic", pattern: str = "^data", **keys: object) -> Inventory:
    """Return queues data and data_dead under a policy with a dead-letter exchange of this type."""
    queues = [queue("data"), queue("data_dead")]
    given = policy("dlx", pattern, **(DEAD | keys))
    return cluster(given, queues=queues, exchanges={("/", "dlx"): kind}, bindings=list(bindings))


FEEDS_ITSELF = [("policy-feeds-itself", "policy dlx", ["data_dead"])]


@pytest.mark.parametrize(
    ("given", "found"),
    [
        (under_policy(bound("data_dead")), FEEDS_ITSELF),
        (under_policy(bound("data_dead", "")), FEEDS_ITSELF),
        (under_policy(bound("data_dead", "a.*")), FEEDS_ITSELF),
        (under_policy(bound("data_dead"), pattern="^data$"), []),
        (under_policy(bound("data_dead", "", kind="queue"), kind="fanout"), FEEDS_ITSELF),
        (under_policy(bound("data_dead", "data_dead"), kind="direct"), FEEDS_ITSELF),
        (under_policy(bound("data_dead", "k"), kind="direct", dead_letter_routing_key="k"), FEEDS_ITSELF),
        (under_policy(bound("data_dead", "k"), kind="direct", dead_letter_routing_key="other"), []),
        (under_policy(bound("data_dead", "dead.#"), dead_letter_routing_key="dead"), FEEDS_ITSELF),
        (under_policy(bound("data_dead", "dead.*"), dead_letter_routing_key="dead"), []),
        (under_policy(bound("data_dead"), kind="headers"), []),
        (under_policy(bound("data_dead"), bound("data")),
         [("policy-feeds-itself", "policy dlx", ["data", "data_dead"])]),
        (under_policy(bound("amq.fanout", kind="exchange"), bound("data_dead", source="amq.fanout")), FEEDS_ITSELF),
        (under_policy(bound("amq.topic", "a", kind="exchange"), bound("data_dead", "a", source="amq.topic"),
                      dead_letter_routing_key="b"), []),
    ],
)  # fmt: skip
def test_policy_that_applies_to_its_own_dead_letter_queue_is_a_cycle(given: Inventory, found: list):
    assert cycles(given) == found


def by_arguments(*queues: tuple[str, dict]) -> Inventory:
    return cluster(policy(pattern="^x$", **HA), queues=[queue(name, arguments=given) for name, given in queues])


@pytest.mark.parametrize(
    ("given", "found"),
    [
        (by_arguments(("a", to("a"))), [("dead-letter-cycle", "queue a", ["a"])]),
        (by_arguments(("a", to("a") | AUTOMATIC)), [("dead-letter-cycle", "queue a", ["a"])]),
        (by_arguments(("a", {"x-dead-letter-exchange": ""})), [("dead-letter-cycle", "queue a", ["a"])]),
        (by_arguments(("a", to("b")), ("b", to("a"))), [("dead-letter-cycle", "queue a", ["a", "b"])]),
        (by_arguments(("a", to("b")), ("b", to("c")), ("c", to("a"))),
         [("dead-letter-cycle", "queue a", ["a", "b", "c"])]),
        (by_arguments(("x", to("a")), ("a", to("b")), ("b", to("a"))), [("dead-letter-cycle", "queue a", ["a", "b"])]),
        (by_arguments(("a", to("b") | AUTOMATIC), ("b", to("a") | AUTOMATIC)),
         [("dead-letter-cycle", "queue a", ["a", "b"])]),
        (by_arguments(("work", to("retry")), ("retry", to("work") | AUTOMATIC)),
         [("dead-letter-retries", "queue work", ["work", "retry"])]),
        (by_arguments(("a", to("b")), ("b", {})), []),
        (by_arguments(("a", to("b")), ("b", to("gone"))), []),
        (by_arguments(("a", to("b")), ("b", to("b")), ("c", to("c"))),
         [("dead-letter-cycle", "queue b", ["b"]), ("dead-letter-cycle", "queue c", ["c"])]),
        (by_arguments(("a", {"x-dead-letter-exchange": "unheard-of"})), []),
        (by_arguments(("a", {"x-dead-letter-exchange": ["odd"]}), ("b", to("b") | {"x-dead-letter-routing-key": 7})),
         [("dead-letter-cycle", "queue b", ["b"])]),
    ],
)  # fmt: skip
def test_cycles_by_queue_arguments_are_found(given: Inventory, found: list):
    assert cycles(given) == found


def over_exchanges(kinds: dict[str, str], *bindings: Binding, **queues: dict) -> Inventory:
    """Return queues with these arguments, exchanges of these types, and bindings."""
    return cluster(queues=[queue(name, arguments=given) for name, given in queues.items()],
                   exchanges={("/", name): kind for name, kind in kinds.items()}, bindings=list(bindings))  # fmt: skip


INTO_FANOUT = bound("fan", "k", kind="exchange"), bound("q", "", source="fan")
TO_DLX, TO_FAN = {"x-dead-letter-exchange": "dlx"}, {"x-dead-letter-exchange": "fan"}


@pytest.mark.parametrize(
    ("given", "found"),
    [
        (over_exchanges({"dlx": "fanout"}, bound("q", ""), q=TO_DLX), ["q"]),
        (over_exchanges({"dlx": "direct", "fan": "fanout"}, *INTO_FANOUT, q=TO_DLX), ["q"]),
        (over_exchanges({"dlx": "topic", "fan": "fanout"}, *INTO_FANOUT, q=TO_DLX), ["q"]),
        (over_exchanges({"dlx": "direct", "fan": "fanout", "in": "direct"}, *INTO_FANOUT, bound("q", "other", "in"),
                        q=TO_DLX), ["q"]),
        (over_exchanges({"dlx": "direct", "fan": "fanout", "all": "topic"}, bound("all", "k", kind="exchange"),
                        bound("fan", "#", "all", "exchange"), bound("q", "", "fan"), q=TO_DLX), ["q"]),
        (over_exchanges({"dlx": "direct", "fan": "fanout"}, bound("q", "", "fan"), bound("r", "k"),
                        q=TO_DLX, r=TO_FAN | {"x-dead-letter-routing-key": "k"}), ["q", "r"]),
        (over_exchanges({"dlx": "direct", "fan": "fanout", "in": "fanout"}, bound("in", "k", kind="exchange"),
                        bound("r", "", "in"), bound("q", "", "fan"), q=TO_DLX, r=TO_FAN), ["q", "r"]),
        (over_exchanges({"dlx": "direct", "fan": "fanout"}, *INTO_FANOUT,
                        q=TO_DLX | {"x-dead-letter-routing-key": "other"}), None),
        (over_exchanges({"dlx": "direct", "fan": "fanout"}, bound("q", "", "fan"), bound("r", "k"),
                        q=TO_DLX, r=TO_FAN), ["q", "r"]),
        (over_exchanges({"dlx": "direct", "fan": "fanout"}, bound("q", "", "fan"), bound("r", "k"),
                        q=TO_DLX, r=TO_FAN | {"x-dead-letter-routing-key": "other"}), None),
    ],
)  # fmt: skip
def test_cycles_over_fanout_exchanges_are_found(given: Inventory, found: list[str] | None):
    assert cycles(given) == ([] if found is None else [("dead-letter-cycle", f"queue {found[0]}", found)])


def test_argument_overrides_the_policy():
    given = under_policy(bound("data_dead"))
    given.queues = [queue("data"), queue("data_dead", arguments={"x-dead-letter-exchange": "elsewhere"})]
    assert cycles(given) == []


def test_queues_of_different_virtual_hosts_form_no_cycle():
    given = cluster(queues=[queue("a", arguments=to("b")), queue("b", "other", arguments=to("a"))])
    assert cycles(given) == []


def test_stream_does_not_dead_letter():
    given = cluster(queues=[queue("a", type="stream", arguments=to("a"))])
    assert cycles(given) == []


def test_long_chain_of_queues_is_no_cycle():
    chain = [(f"q{number}", to(f"q{number + 1}")) for number in range(5_000)]
    assert cycles(by_arguments(*chain)) == []
    found = cycles(by_arguments(*chain, ("q5000", to("q0"))))
    assert [len(queues) for *_, queues in found] == [5_001]


@pytest.mark.parametrize(
    ("keys", "command"),
    [
        (HA, "rabbitmqctl set_policy -p / --priority 1 --apply-to queues -- dlx-dead-letters '^(data_dead)$'"
             """ '{"ha-mode": "exactly", "ha-params": 2}'"""),
        ({}, "rabbitmqctl set_policy -p / --priority 0 --apply-to queues -- dlx '^(?!(data_dead)$)data'"
             """ '{"dead-letter-exchange": "dlx"}'"""),
    ],
)  # fmt: skip
def test_advice_is_a_set_policy_command(keys: dict, command: str):
    found = [one for one in lint(under_policy(bound("data_dead"), **keys)).findings if "path" in one.detail]
    assert [commands(one) for one in found] == [(command,)]


def test_exchanges_and_bindings_of_an_export_are_read(tmp_path: Path):
    export = {
        "rabbit_version": "3.10.8",
        "policies": [{"vhost": "v", "name": "dlx", "pattern": "^data", "apply-to": "queues",
                      "definition": {"dead-letter-exchange": "dlx"}}],
        "queues": [{"name": name, "vhost": "v", "arguments": {}} for name in ("data", "data_dead")],
        "exchanges": [{"name": "dlx", "vhost": "v", "type": "topic"}],
        "bindings": [{"source": "dlx", "vhost": "v", "destination": "data_dead", "destination_type": "queue",
                      "routing_key": "#"}],
    }  # fmt: skip
    (tmp_path / "definitions.json").write_text(json.dumps(export))
    assert cycles(of_files([tmp_path / "definitions.json"])) == [
        ("policy-feeds-itself", "policy v::dlx", ["v::data_dead"])
    ]


def found_in(played: Cluster) -> list[Finding]:
    given = inventory.of_run(played.run)
    return list(dead_letter_findings(lint(given).assigned.assignments, given))


def test_engine_drops_messages_in_a_cycle_that_the_linter_reports():
    """A message that expires in each queue of a cycle is dropped once it is back."""
    played = Cluster("a", version="3.10")
    for name, other in (("q1", "q2"), ("q2", "q1")):
        played.declare(name, node="a", arguments=to(other) | AUTOMATIC)
    played.publish("q1", 3).wait(60)
    assert all(queue["messages"] == 0 for queue in played.outcome["queues"].values())
    [found] = found_in(played)
    assert found.code == "dead-letter-cycle"


def chain(*, queues: int, exchanges: int, kind: str = "fanout", key: str = "") -> Inventory:
    """Queues whose dead letters have keys of their own and go from exchange to exchange."""
    names = [f"x{number}" for number in range(exchanges)]
    return cluster(
        queues=[queue(f"q{number}", arguments={"x-dead-letter-exchange": "x0"}) for number in range(queues)],
        exchanges={("/", name): kind for name in names},
        bindings=[bound(other, key, one, "exchange") for one, other in pairwise(names)],
    )


def behind_one_another(size: int) -> Inventory:
    """Queues each of which dead-letters to the next, and the last one to itself."""
    return cluster(
        queues=[queue(f"q{number}", arguments={"x-dead-letter-exchange": f"x{number}"}) for number in range(size)],
        exchanges={("/", f"x{number}"): "fanout" for number in range(size)},
        bindings=[bound(f"q{min(number + 1, size - 1)}", "", f"x{number}") for number in range(size)],
    )


@pytest.mark.parametrize("given", [
    chain(queues=30, exchanges=60),
    chain(queues=5, exchanges=60, kind="topic", key="#.#.#.#"),
    behind_one_another(40),
])  # fmt: skip
def test_so_many_bindings_and_queues_are_looked_at(given: Inventory, monkeypatch: pytest.MonkeyPatch) -> None:
    assignments = assign(given).assignments
    all_lines = lines_run(lambda: [*dead_letter_findings(assignments, given)])["planning"]
    monkeypatch.setattr(dead_letter_checks, "MOST_COMPARISONS", 100)
    assert lines_run(lambda: [*dead_letter_findings(assignments, given)])["planning"] < all_lines / 2
