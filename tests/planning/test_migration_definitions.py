"""Definitions of a move to quorum queues are accepted by the engine, the import and the linter."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

import pytest
from conftest import LONG
from html_pages import Page
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from inventories import FILES, cluster, policy, queue
from migrations import MATRIX, VERSIONS, planned, real

from hawb.engine.core.naming import join_queue
from hawb.exports.imported import import_cluster
from hawb.exports.untrusted import ImportRefused
from hawb.planning import inventory
from hawb.planning.assignments import assign
from hawb.planning.lint import lint
from hawb.planning.migrated_definitions import beside, definitions
from hawb.planning.migration import Migration
from hawb.planning.policy_split import NOTHING
from hawb.planning.quorum_translation import ROWS
from hawb.rules.policy_validation import refusal
from hawb.rules.profiles import HA_SETTINGS, PROFILES
from hawb.scenario.document import Cluster as ClusterPart
from hawb.scenario.document import Scenario, Step
from hawb.scenario.load import read_scenario
from hawb.scenario.outcome import outcome
from hawb.scenario.run import Run
from hawb.scenario.verbs import Declare
from hawb.views.planning.migration_files import planned as plan_from
from hawb.views.planning.migration_files import texts

# What is written


def accepted(plan: Migration) -> None:
    """Require that the engine accepts each declaration and the rules each policy."""
    moved = [move for move in plan.moves if move.type == "quorum"]
    names = tuple(plan.nodes) or ("a", "b", "c")
    steps = tuple(
        Step(Declare(join_queue("/", f"q{number}"), node=names[0], arguments=move.arguments))
        for number, move in enumerate(moved)
    )
    on = ClusterPart(nodes=names, version=plan.target.version)
    played = outcome(Run.of(Scenario(scenario="x", cluster=on, steps=steps)))
    assert played["errors"] == []
    # A queue that expires at once may be gone before anybody looks.
    assert len(played["queues"]) + len(played["deleted"]) == len(moved)
    assert all(item["type"] == "quorum" for item in played["queues"].values())
    for operator in (False, True):
        for each in plan.policies(operator):
            fields = {"pattern": each.pattern, "definition": each.definition, "priority": each.priority,
                      "apply_to": each.apply_to}  # fmt: skip
            assert refusal(fields, plan.target, operator=operator) is None


def read_back(plan: Migration, folder: Path):
    """Import and lint the definitions. Require that no finding concerns a moved queue."""
    file = folder / "definitions.json"
    file.write_text(json.dumps(definitions(plan)))
    run = Run.of(read_scenario(import_cluster(file).scenario))
    moved = {move.queue.full_name for move in plan.moves if move.type == "quorum"}
    found = lint(inventory.of_run(run))
    assert moved <= {queue.full_name for queue in inventory.of_run(run).queues}
    assert not [one for one in found.findings if one.code == "blocks-quorum" and one.name in moved]
    kinds = {queue.full_name: queue.type for queue in inventory.of_run(run).queues}
    assert {kinds[name] for name in moved} <= {"quorum"}
    return run


@pytest.mark.parametrize("to", VERSIONS)
def test_definitions_of_the_real_cluster_are_accepted(to: str, tmp_path: Path):
    plan = real(to)
    accepted(plan)
    read_back(plan, tmp_path)
    assert sum(plan.counts.values()) == 31
    assert not any(HA_SETTINGS & one.definition.keys() for one in plan.policies(False)) or PROFILES[to].mirroring


def test_second_migration_moves_nothing(tmp_path: Path):
    file = tmp_path / "definitions.json"
    file.write_text(json.dumps(definitions(real())))
    again = planned(inventory.of_files([file]))
    assert again.counts["ready"] == again.counts["ready with changes"] == 0
    kept = len(real().with_verdict("not", "stays"))
    assert (again.counts["not"], again.counts["stays"]) == (0, kept), "nothing is mirrored any more"


WORDS = [
    "", "lazy", "default", "reject-publish", "drop-head", "reject-publish-dlx", "min-masters", "client-local", "random",
    "balanced", "at-least-once",
]  # fmt: skip
VALUES = st.one_of(st.integers(-3, 3), st.booleans(), st.sampled_from(WORDS))
ARGUMENTS = st.dictionaries(
    st.sampled_from([
        "x-expires", "x-message-ttl", "x-dead-letter-exchange", "x-dead-letter-routing-key", "x-max-length",
        "x-max-length-bytes", "x-max-in-memory-length", "x-max-in-memory-bytes", "x-max-priority", "x-overflow",
        "x-queue-mode", "x-queue-version", "x-single-active-consumer", "x-quorum-initial-group-size",
        "x-delivery-limit", "x-dead-letter-strategy", "x-queue-leader-locator", "x-queue-master-locator", "x-ha-policy",
        "x-anything",
    ]),
    VALUES, max_size=6,
)  # fmt: skip
QUEUES = st.builds(
    lambda arguments, type, durable, auto_delete: {
        "arguments": arguments, "type": type, "durable": durable or type == "quorum",
        "auto_delete": auto_delete and type == "classic",
    },
    ARGUMENTS, st.sampled_from(["classic", "classic", "quorum"]), st.sampled_from([True, True, False]),
    st.sampled_from([False, False, True]),
)  # fmt: skip
SETTINGS = st.fixed_dictionaries({}, optional={
    "ha_mode": st.just("all"), "max_length": st.integers(1, 9), "message_ttl": st.integers(1, 9),
    "overflow": st.sampled_from(["drop-head", "reject-publish", "reject-publish-dlx"]), "queue_mode": st.just("lazy"),
    "delivery_limit": st.integers(0, 9), "queue_master_locator": st.just("min-masters"), "expires": st.integers(1, 9),
    "alternate_exchange": st.just("ae"), "dead_letter_exchange": st.just("dlx"),
}).filter(bool)  # fmt: skip
PATTERNS, APPLY_TO = st.sampled_from(["^q", "1", "[0-4]$", "^z"]), st.sampled_from(["queues", "all"])
POLICIES = st.lists(st.tuples(PATTERNS, st.integers(-1, 1), APPLY_TO, SETTINGS), max_size=4)


def any_cluster(queues: list[dict], policies: list[tuple], version: str):
    """Return a cluster with these queues and policies."""
    return cluster(
        *(policy(f"p{number}", pattern, priority, apply_to, **keys)
          for number, (pattern, priority, apply_to, keys) in enumerate(policies)),
        queues=[queue(f"q{number}", **facts) for number, facts in enumerate(queues)], version=version,
    )  # fmt: skip


@given(st.lists(QUEUES, max_size=8), POLICIES, st.sampled_from(VERSIONS), st.sampled_from(VERSIONS))
def test_moved_queues_of_any_cluster_are_accepted(queues, policies, was, to):
    made = any_cluster(queues, policies, was)
    plan = planned(made, to)
    accepted(plan)
    names = [(split.vhost, split.name) for split in plan.policies(False)]
    assert len(names) == len(set(names))
    for move in plan.moves:
        assert (move.verdict == "not") == bool(move.weights["blocks"]) or move.verdict == "quorum already"


@given(st.lists(QUEUES, max_size=8), POLICIES, st.sampled_from(VERSIONS))
def test_linter_reports_the_blockers_of_the_move(queues, policies, version):
    made = any_cluster(queues, policies, version)
    found = {(one.name, one.code): one.detail for one in lint(made).findings}
    for move in planned(made, version).moves:
        if move.verdict == "stays":
            continue
        classic = move.queue.type == "classic" and not move.queue.facts.exclusive
        stops = [reason.what for reason in move.weights["blocks"]] if classic else []
        result = found.get((move.queue.full_name, "blocks-quorum"))
        assert (result["blocks"] if result else "") == "; ".join(stops)
        if classic and move.verdict == "ready with changes":
            assert (move.queue.full_name, "changes-for-quorum") in found


def test_rows_apply_to_the_releases_that_lack_the_feature():
    about = defaultdict(set)
    for row in ROWS:
        if row.feature is not None:
            about[row.feature].update(row.versions)
    for feature, versions in about.items():
        assert versions == {one for one in VERSIONS if MATRIX[feature].cell("quorum", one).answer != "yes"}, feature


@given(st.lists(QUEUES, max_size=6), POLICIES, st.sampled_from(VERSIONS))
def test_changed_settings_are_reported_as_clashes(queues, policies, version):
    """Each queue has its translated settings, or a clash names the queue."""
    made = any_cluster(queues, policies, version)
    plan = planned(made, version)
    named = {clash.name for clash in plan.clashes if clash.code == "other-settings"}
    now = [queue(move.queue.name, type=move.type, durable=move.type == "quorum") for move in plan.moves]
    after = cluster(*plan.policies(False), version=version, queues=now)
    for move, then in zip(plan.moves, assign(after).assignments, strict=True):
        limit = then.in_force.definition.get("max-length")
        before = next(one for one in assign(made).assignments if one.queue.name == move.queue.name)
        wanted = before.in_force.definition.get("max-length")
        assert move.queue.name in named or (limit if limit != NOTHING["max-length"] else None) == wanted


def test_new_virtual_hosts_have_unused_names():
    made = cluster(queues=[queue("q", vhost) for vhost in ("/", "a", "a-quorum", "quorum")])
    names = beside(planned(made))
    assert not set(names.values()) & set(names)
    assert len(set(names.values())) == 4


# Files of somebody else's making


def test_export_of_one_virtual_host_needs_its_name(tmp_path: Path):
    file = tmp_path / "one.json"
    file.write_text(json.dumps({
        "rabbit_version": "3.10.8", "queues": [{"name": "q", "durable": True, "auto_delete": False, "arguments": {}}],
        "exchanges": [{"name": "e", "type": "topic"}],
        "bindings": [{"source": "e", "destination": "q", "destination_type": "queue", "routing_key": "a.*"}],
    }))  # fmt: skip
    made = definitions(plan_from([f"shop={file}"], "4.0"))
    assert {entry["vhost"] for part in ("queues", "exchanges", "bindings") for entry in made[part]} == {"shop"}
    assert made["bindings"][0]["routing_key"] == "a.*"


ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3), lambda inner: st.lists(inner, max_size=2)
    | st.dictionaries(st.sampled_from(["name", "vhost", "arguments", "definition"]), inner, max_size=2), max_leaves=4,
)  # fmt: skip
SECTIONS = ["queues", "policies", "vhosts", "exchanges", "bindings", "parameters", "users", "global_parameters"]
EXPORT = json.loads(FILES[0].read_text())


@given(st.sampled_from(SECTIONS), st.data())
@settings(max_examples=5_000 if LONG else 40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_odd_export_is_planned_or_refused(tmp_path: Path, section: str, data: st.DataObject):
    """Put any value in a section or in a field of its first entry."""
    entry = dict((EXPORT[section] or [{"name": "n", "vhost": "/", "source": "s", "destination": "d"}])[0])
    key = data.draw(st.sampled_from([None, *entry]))
    odd = data.draw(ODD)
    file = tmp_path / "definitions.json"
    file.write_text(json.dumps(EXPORT | {section: odd if key is None else [entry | {key: odd}]}))
    try:
        written = texts(plan_from([file], "4.0"))
    except ImportRefused as refused:
        assert len(str(refused).splitlines()) <= 4
        return
    json.loads(written["definitions.json"])
    Page(written["report.html"])


def test_definitions_omit_what_the_release_does_not_have(tmp_path: Path):
    file = tmp_path / "definitions.json"
    queues = [{"name": "q", "vhost": "/", "auto_delete": True,
               "arguments": {"x-queue-master-locator": "random", "x-max-length": 5}}]  # fmt: skip
    file.write_text(json.dumps({"queues": queues, "policies": [], "vhosts": [{"name": "/"}]}))
    made = {to: definitions(plan_from([file], to)) for to in ("4.0", "4.3")}
    assert [made[to]["queues"][-1]["arguments"] for to in made] == [
        {"x-queue-master-locator": "random", "x-max-length": 5}, {"x-max-length": 5},
    ]  # fmt: skip
