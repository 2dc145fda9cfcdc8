"""Moving to quorum queues: verdicts, translated arguments, policies that are split, and definitions that the engine,
the import and the linter take, without a secret in them."""

from __future__ import annotations

import json
import re
import subprocess
from collections import defaultdict
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_lint import FILES, ROOT, cluster, policy, queue
from test_views_report import FETCHING, Page
from views_outcomes import HOSTILE

from hawb.broker.imported import import_cluster
from hawb.broker.routing import read_routing
from hawb.broker.untrusted import ImportRefused
from hawb.cli import main
from hawb.cluster import Cluster
from hawb.engine.naming import join_queue
from hawb.planning import inventory
from hawb.planning.assignments import assign
from hawb.planning.lint import lint
from hawb.planning.migrated_definitions import beside, definitions
from hawb.planning.migration import Migration, migrate
from hawb.planning.policy_split import NOTHING
from hawb.planning.quorum_translation import ROWS
from hawb.planning.replication import members_for
from hawb.rules.policy_validation import refusal
from hawb.rules.profiles import HA_SETTINGS, PROFILES
from hawb.rules.quorum import majority, tolerated_failures
from hawb.scenario.document import Cluster as ClusterPart
from hawb.scenario.document import Scenario, Step
from hawb.scenario.load import read_scenario
from hawb.scenario.outcome import outcome
from hawb.scenario.run import Run
from hawb.scenario.verbs import Declare
from hawb.study.draining import drains
from hawb.views import migration as view
from hawb.views.features import matrix
from hawb.views.migration_runbook import runbook
from hawb.views.plans import planned as plan_from
from hawb.views.plans import texts
from hawb.views.words import size

MATRIX = matrix()
VERSIONS = tuple(PROFILES)


def planned(inventory, to: str = "4.0") -> Migration:
    return migrate(inventory, to, MATRIX)


def one(arguments: dict | None = None, to: str = "4.0", **facts: object):
    return planned(cluster(queues=[queue(arguments=arguments or {}, **facts)]), to).moves[0]


def real(to: str = "4.0") -> Migration:
    return migrate(inventory.of_files(FILES), to, MATRIX, read_routing(FILES))


@pytest.mark.parametrize(
    ("arguments", "to", "verdict", "kept"),
    [
        ({}, "3.8", "ready", {}),
        ({"x-message-ttl": 9}, "3.8", "not", {"x-message-ttl": 9}),
        ({"x-message-ttl": 9}, "3.10", "ready", {"x-message-ttl": 9}),
        ({"x-expires": 9}, "3.8", "not", {"x-expires": 9}),
        ({"x-queue-mode": "lazy"}, "3.8", "ready with changes", {"x-max-in-memory-length": 0}),
        ({"x-queue-mode": "lazy"}, "3.13", "ready with changes", {}),
        ({"x-queue-mode": "default"}, "3.8", "ready with changes", {}),
        ({"x-max-priority": 5}, "3.13", "not", {"x-max-priority": 5}),
        ({"x-max-priority": 5}, "4.0", "ready with changes", {}),
        ({"x-overflow": "reject-publish"}, "3.8", "not", {"x-overflow": "reject-publish"}),
        ({"x-overflow": "reject-publish"}, "3.10", "ready", {"x-overflow": "reject-publish"}),
        ({"x-overflow": "drop-head"}, "3.8", "ready with changes", {}),
        ({"x-overflow": "reject-publish-dlx"}, "3.10", "ready with changes", {"x-overflow": "reject-publish"}),
        ({"x-queue-master-locator": "min-masters"}, "3.8", "ready with changes", {}),
        ({"x-queue-master-locator": "random"}, "3.10", "ready with changes", {"x-queue-leader-locator": "balanced"}),
        ({"x-queue-master-locator": "client-local"}, "4.0", "ready with changes", {}),
        ({"x-ha-policy": "all"}, "4.0", "ready with changes", {}),
        ({"x-max-length": 5, "x-single-active-consumer": True}, "3.8", "ready",
         {"x-max-length": 5, "x-single-active-consumer": True}),
        ({"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead"}, "4.0", "ready",
         {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead"}),
        ({"x-max-length": -5}, "4.0", "ready with changes", {}),
    ],
)  # fmt: skip
def test_a_verdict_and_the_arguments_that_are_left(arguments: dict, to: str, verdict: str, kept: dict):
    move = one(arguments, to)
    assert (move.verdict, move.type) == (verdict, "classic" if verdict == "not" else "quorum")
    assert {key: value for key, value in move.arguments.items() if key != "x-queue-type"} == kept
    assert all(reason.source for reason in move.reasons)


@pytest.mark.parametrize("facts", [{"durable": False}, {"exclusive": True}, {"auto_delete": True}])
def test_what_is_temporary_stays_classic(facts: dict):
    assert one(**facts).verdict == "not"


def test_a_negative_delivery_limit_would_end_messages_at_once_before_4_0():
    arguments = {"x-delivery-limit": -1, "x-queue-type": "quorum"}
    assert "x-delivery-limit" not in one(arguments, "3.13", type="quorum").arguments
    assert one(arguments, "4.0", type="quorum").arguments["x-delivery-limit"] == -1


def test_the_default_delivery_limit_is_told_where_none_is_set():
    told = [reason.what for reason in one().reasons if "21st" in reason.what]
    assert told and not [r for r in one({"x-delivery-limit": 5}, type="quorum").reasons if "21st" in r.what]


def test_the_policys_overflow_counts_in_a_quorum_queue():
    asked = {"x-overflow": "reject-publish"}
    made = cluster(policy(overflow="drop-head", max_length=1), queues=[queue(arguments=asked)])
    assert planned(made).moves[0].verdict == "ready with changes"
    assert planned(made, "3.8").moves[0].verdict == "not"


def test_a_setting_of_a_policy_blocks_like_an_argument():
    assert planned(cluster(policy(message_ttl=9)), "3.8").moves[0].verdict == "not"


@pytest.mark.parametrize(
    ("said", "nodes", "members"),
    [
        ({"ha_mode": "exactly", "ha_params": 2}, 3, None), ({"ha_mode": "all"}, 5, None),
        ({"ha_mode": "exactly", "ha_params": 4}, 5, 5), ({"ha_mode": "exactly", "ha_params": 6}, 6, 5),
        ({"ha_mode": "exactly", "ha_params": 2}, 2, 2),
    ],
)  # fmt: skip
def test_how_many_members_take_the_place_of_mirrors(said: dict, nodes: int, members: int | None):
    made = cluster(policy(**said), nodes=dict.fromkeys("abcdefg"[:nodes], True))
    assert planned(made).moves[0].arguments.get("x-quorum-initial-group-size") == members


def test_the_rule_of_members():
    for failures in range(4):
        members = members_for(failures)
        assert members % 2 and tolerated_failures(members) >= failures and 3 <= members <= 7
        assert majority(members) * 2 > members
    assert [members_for(1, nodes) for nodes in range(1, 6)] == [1, 2, 3, 3, 3]
    assert [members_for(3, nodes) for nodes in range(3, 9)] == [3, 3, 5, 5, 7, 7]


def test_what_no_file_tells_is_said_and_not_taken_for_nothing():
    alone = [ROOT / "data" / "real" / "list_queues.txt"]
    moves = plan_from(alone, "4.0").moves
    said = [one.what for move in moves for one in move.reasons]
    assert sum("no file tells its arguments, whether it lasts, its policy" in what for what in said) == len(moves)
    assert not [what for what in said if "not mirrored today" in what]


# Policies


def parts(plan: Migration) -> dict[str, tuple]:
    found = [part.policy for split in plan.splits for part in split.parts]
    return {one.name: (one.apply_to, one.priority, one.definition) for one in found}


BOTH = [queue("q.moves"), queue("q.stays", durable=False), queue("q.is", type="quorum")]


def test_mirroring_goes_and_the_rest_of_the_policy_stays():
    plan = planned(cluster(policy(ha_mode="all", max_length=5)))
    assert parts(plan) == {"p": ("queues", 0, {"max-length": 5})}


@pytest.mark.parametrize("to", VERSIONS)
def test_a_policy_for_both_types_becomes_one_for_each(to: str):
    plan = planned(cluster(policy(ha_mode="all", max_length=5), queues=BOTH), to)
    if to == "4.0":
        assert parts(plan) == {"p": ("queues", 0, {"max-length": 5})}
        return
    assert set(parts(plan)) == {"p", "p-quorum"}
    assert parts(plan)["p"][2]["ha-mode"] == "all"
    above = parts(plan)["p"][1] - parts(plan)["p-quorum"][1]
    assert above == (to == "3.8"), "3.8's classic queues would take either"
    assert parts(plan)["p-quorum"][2]["max-length"] == 5
    found = [(clash.code, clash.name) for clash in plan.clashes if clash.code in ("policy-for-both", "other-settings")]
    assert found == [("policy-for-both", "p"), ("other-settings", "q.is")], "q.is had no policy, and has one now"


def test_a_policy_that_silenced_another_goes_on_to_do_so():
    quiet, ttl = policy("quiet", priority=1, ha_mode="all"), policy("ttl", message_ttl=9)
    plan = planned(cluster(quiet, ttl))
    assert parts(plan)["quiet"] == ("queues", 1, NOTHING)
    assert "keeps-silence" in {clash.code for clash in plan.clashes}
    assert "other-settings" not in {clash.code for clash in plan.clashes}


def test_a_policy_that_would_reach_other_queues_than_before_is_named():
    quorum_only = policy("limit", priority=5, delivery_limit=3)
    plan = planned(cluster(policy(ha_mode="all"), quorum_only, queues=[queue("q"), queue("q2", type="quorum")]))
    assert {clash.name for clash in plan.clashes if clash.code == "other-settings"} == {"q"}


def test_upstreams_are_set_by_hand():
    plan = planned(cluster(policy(ha_mode="all", federation_upstream_set="all")))
    assert "needs-upstream" in {clash.code for clash in plan.clashes}
    assert parts(plan)["p"][2] == {"federation-upstream-set": "all"}


def test_names_of_parts_are_free():
    taken = policy("p-quorum", pattern="^z", max_length=1)
    plan = planned(cluster(policy(ha_mode="all", max_length=5), taken, queues=BOTH), "3.13")
    assert set(parts(plan)) == {"p", "p-quorum", "p-quorum-2"}


def test_what_an_old_client_is_told():
    move = one()
    assert move.redeclare == ("x-queue-type", "'classic'", "'quorum'")
    assert "redeclare" in {clash.code for clash in planned(cluster()).clashes}


# What is written


def accepted(plan: Migration) -> None:
    """The engine takes each declaration, and the rules each policy."""
    moved = [move for move in plan.moves if move.type == "quorum"]
    names = tuple(plan.nodes) or ("a", "b", "c")
    steps = tuple(
        Step(Declare(join_queue("/", f"q{number}"), node=names[0], arguments=move.arguments))
        for number, move in enumerate(moved)
    )
    on = ClusterPart(nodes=names, version=plan.target.version)
    played = outcome(Run.of(Scenario(scenario="x", cluster=on, steps=steps)))
    assert played["errors"] == []
    assert [told["type"] for told in played["queues"].values()] == ["quorum"] * len(moved)
    for operator in (False, True):
        for each in plan.policies(operator):
            fields = {"pattern": each.pattern, "definition": each.definition, "priority": each.priority,
                      "apply_to": each.apply_to}  # fmt: skip
            assert refusal(fields, plan.target, operator=operator) is None


def read_back(plan: Migration, folder: Path):
    """The definitions pass the import and the linter, which finds nothing in the way of a queue that was moved."""
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
def test_the_real_cluster_moves(to: str, tmp_path: Path):
    plan = real(to)
    accepted(plan)
    read_back(plan, tmp_path)
    assert sum(plan.counts.values()) == 31
    assert not any(HA_SETTINGS & one.definition.keys() for one in plan.policies(False)) or PROFILES[to].mirroring


def test_a_second_migration_has_nothing_to_do(tmp_path: Path):
    file = tmp_path / "definitions.json"
    file.write_text(json.dumps(definitions(real())))
    again = planned(inventory.of_files([file]))
    assert again.counts["ready"] == again.counts["ready with changes"] == 0
    assert again.counts["not"] == real().counts["not"]


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
    """A cluster with these queues under these policies."""
    return cluster(
        *(policy(f"p{number}", pattern, priority, apply_to, **keys)
          for number, (pattern, priority, apply_to, keys) in enumerate(policies)),
        queues=[queue(f"q{number}", **facts) for number, facts in enumerate(queues)], version=version,
    )  # fmt: skip


@given(st.lists(QUEUES, max_size=8), POLICIES, st.sampled_from(VERSIONS), st.sampled_from(VERSIONS))
def test_whatever_there_is_what_is_moved_is_accepted(queues, policies, was, to):
    made = any_cluster(queues, policies, was)
    plan = planned(made, to)
    accepted(plan)
    names = [(split.vhost, split.name) for split in plan.policies(False)]
    assert len(names) == len(set(names))
    for move in plan.moves:
        assert (move.verdict == "not") == bool(move.weights["blocks"]) or move.verdict == "quorum already"


@given(st.lists(QUEUES, max_size=8), POLICIES, st.sampled_from(VERSIONS))
def test_the_linter_calls_a_blocker_what_a_move_within_the_release_stops_at(queues, policies, version):
    made = any_cluster(queues, policies, version)
    found = {(one.name, one.code): one.detail for one in lint(made).findings}
    for move in planned(made, version).moves:
        classic = move.queue.type == "classic" and not move.queue.facts.exclusive
        stops = [reason.what for reason in move.weights["blocks"]] if classic else []
        told = found.get((move.queue.full_name, "blocks-quorum"))
        assert (told["blocks"] if told else "") == "; ".join(stops)
        if classic and move.verdict == "ready with changes":
            assert (move.queue.full_name, "changes-for-quorum") in found


def test_each_row_is_about_the_releases_of_which_the_matrix_says_that_they_lack_it():
    about = defaultdict(set)
    for row in ROWS:
        if row.feature is not None:
            about[row.feature].update(row.versions)
    for feature, versions in about.items():
        assert versions == {one for one in VERSIONS if MATRIX[feature].cell("quorum", one).answer != "yes"}, feature


@given(st.lists(QUEUES, max_size=6), POLICIES, st.sampled_from(VERSIONS))
def test_whatever_applies_otherwise_is_named(queues, policies, version):
    """Within a release the settings of each queue are those that were translated for it, or a clash names the queue."""
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


# Secrets


def secret_export() -> tuple[dict, list[str]]:
    """An export with a secret in every place that holds one, and a few that should not."""
    secrets = [f"SECRET{number:03}" for number in range(14)]
    words = iter(secrets)
    return {
        "rabbit_version": "3.10.8",
        "users": [{"name": next(words), "password_hash": next(words), "hashing_algorithm": "x", "tags": [next(words)]}],
        "permissions": [{"user": next(words), "vhost": "/", "configure": next(words), "write": ".*", "read": ".*"}],
        "topic_permissions": [{"user": next(words), "vhost": "/", "exchange": "e", "write": ".*", "read": ".*"}],
        "vhosts": [{"name": "/", "metadata": {"description": next(words)}, "limits": {"max-queues": 1}}],
        "global_parameters": [{"name": "cluster_name", "value": next(words)}],
        "parameters": [
            {"component": kind, "name": "up", "vhost": "/", "value": {key: f"amqp://u:{next(words)}@h"}}
            for kind, key in (("federation-upstream", "uri"), ("shovel", "src-uri"))
        ],
        "queues": [{"name": "q1", "vhost": "/", "durable": True, "auto_delete": False,
                    "arguments": {"x-password": next(words), "x-queue-mode": next(words)}}],
        "exchanges": [{"name": "e", "vhost": "/", "type": "fanout", "arguments": {"uri": next(words)}}],
        "bindings": [{"source": "e", "vhost": "/", "destination": "q1", "destination_type": "queue", "routing_key": "r",
                      "arguments": {"token": next(words)}}],
        "policies": [{"name": "ha", "vhost": "/", "pattern": "^q", "apply-to": "all", "priority": 0,
                      "definition": {"ha-mode": "all"}}],
    }, secrets  # fmt: skip


def test_no_secret_is_in_any_definitions(tmp_path: Path):
    export, secrets = secret_export()
    file = tmp_path / "definitions.json"
    file.write_text(json.dumps(export))
    plan = migrate(inventory.of_files([file]), "4.0", MATRIX, read_routing([file]))
    names = beside(plan)
    written = json.dumps([definitions(plan), definitions(plan, names.__getitem__)])
    assert [secret for secret in secrets if secret in written] == []
    assert [name for name in ("q1", '"e"', "quorum") if name not in written] == []


def test_virtual_hosts_beside_are_new():
    made = cluster(queues=[queue("q", vhost) for vhost in ("/", "a", "a-quorum", "quorum")])
    names = beside(planned(made))
    assert not set(names.values()) & set(names)
    assert len(set(names.values())) == 4


# As a person sees it


def run(*arguments: object):
    return CliRunner().invoke(main, ["migrate", *map(str, arguments)])


def test_the_command_writes_all_and_says_what_cannot_be_moved(tmp_path: Path):
    result = run(*FILES, "-o", tmp_path / "plan")
    assert result.exit_code == 1, result.output
    page = Page((tmp_path / "plan" / "report.html").read_text())
    assert all(move.queue.full_name in page.said for move in real().moves)
    assert "31 queues: 17 ready, 8 ready with changes, 2 not, 4 quorum already" in result.output
    assert {file.name for file in (tmp_path / "plan").iterdir()} == {
        "definitions.json", "definitions-beside.json", "runbook.md", "report.html",
    }  # fmt: skip
    text = (tmp_path / "plan" / "runbook.md").read_text()
    for said in ("delete_queue -p / --if-empty ha.events", "add_vhost shop-quorum", "clear_policy ha-all", "3 users"):
        assert said in text
    again = run(*FILES, "-o", tmp_path / "plan")
    assert (again.exit_code, again.stdout) == (2, ""), "an export that lies there is not written over"
    told = json.loads(run(*FILES, "--json").stdout)
    assert told["counts"]["ready"] == 17
    assert told["definitions"] == json.loads((tmp_path / "plan" / "definitions.json").read_text())
    imported = CliRunner().invoke(main, ["import", str(tmp_path / "plan" / "definitions-beside.json"), "-o", "-"])
    assert imported.exit_code == 0
    assert "shop-quorum::cart.00" in imported.output


def test_no_secret_is_in_any_output(tmp_path: Path):
    export, secrets = secret_export()
    file = tmp_path / "definitions.json"
    file.write_text(json.dumps(export))
    outputs = [run(file, "--to", version, "-o", tmp_path / version) for version in VERSIONS]
    outputs += [run(file, "--to", version, "--json") for version in VERSIONS]
    texts = [result.output for result in outputs]
    texts += [made.read_text() for version in VERSIONS for made in (tmp_path / version).iterdir()]
    assert len(texts) == 24
    assert [secret for secret in secrets for text in texts if secret in text] == []
    assert all(result.exit_code in (0, 1) for result in outputs)


def last_argument(line: str) -> str:
    """What a shell hands to the program."""
    script = 'rabbitmqctl() { printf %s "${@: -1}"; }; ' + line
    return subprocess.run(["bash", "-c", script], capture_output=True, check=True).stdout.decode()


@pytest.mark.parametrize("name", [*HOSTILE, "`x`", "a|b", "```\n# x", "-o", "$(reboot)", "'; reboot; '"])
def test_names_stay_names(name: str):
    made = cluster(policy(name, ha_mode="all", **{name: 1}), queues=[queue(name, messages=5), queue(name, "v|`")])
    plan = planned(made, "4.0")
    text = runbook(plan, drains(move.queue for move in plan.moves), MATRIX)
    page = Page(view.page(plan, text))
    assert not [tag for tag, _ in page.elements if tag in FETCHING]
    assert "\u202e" not in text and "\x1b" not in text
    assert len(re.findall(r"^#+ ", re.sub(r"(?ms)^(`{3,})console$.*?^\1$", "", text), re.M)) == 7
    lines = re.findall(r"^rabbitmqctl delete_queue .*$", text, re.M)
    assert [last_argument(line) for line in lines] == [name, name]
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} <= {3, 4, 6}


def test_a_time_has_its_error_and_what_it_leaves_out():
    deep = queue("q", messages=3_000_000, message_bytes=3_000_000_000)
    text = runbook(planned(cluster(policy(ha_mode="all"), queues=[deep])), drains([deep]), MATRIX)
    assert "3,000,000" in text and "median error is" in text and "Left out are machines" in text
    assert re.search(r"\d+ min, \d+ min to \d+ min", text)
    assert runbook(planned(cluster()), [], MATRIX).count("no listing was given") == 1


def test_a_size_that_nobody_measured_has_no_time():
    assert drains([queue("q", messages=5, message_bytes=5 * 2**24)])[0].seconds is None


# What the runbook says of its ways, played


QUORUM, OLD, NEW = {"x-queue-type": "quorum"}, "orders", "new::orders"


def at_work() -> Cluster:
    """A mirrored queue with a backlog, a publisher and a consumer that is twice as fast."""
    made = Cluster("a", "b", "c", version="3.13").set_policy("ha", "^orders$", {"ha-mode": "all"})
    made.declare(OLD, node="a").publish(OLD, 600).publisher("shop", OLD, rate=10, node="b")
    return made.consume("worker", OLD, rate=20, prefetch=10, node="c").wait(10)


def lost(made: Cluster) -> int:
    return sum(size(each["removed"]["deleted"]) + size(each["refused"]) for each in made.ledger.values())


def at_s(made: Cluster, event: str) -> list[float]:
    return [each["t"] for each in made.events if each["event"] == event]


def test_by_new_virtual_hosts_publishing_goes_on_and_nothing_is_lost_or_overtakes():
    made = at_work().declare(NEW, node="a", arguments=QUORUM).close("shop")
    made.publisher("shop 2", NEW, rate=10, node="b").wait(30).close("worker").delete(OLD, if_empty=True)
    made.consume("worker 2", NEW, rate=20, prefetch=10, node="c").wait(30)
    assert (lost(made), made.errors) == (0, [])
    assert at_s(made, "publisher_started")[1] - at_s(made, "publisher_closed")[0] < 1
    assert at_s(made, "queue_deleted")[0] <= at_s(made, "consumer_started")[1]


def test_in_place_publishing_stands_still_for_the_whole_wait_and_nothing_is_lost():
    made = at_work().close("shop").wait(30).close("worker").delete(OLD, if_empty=True)
    made.declare(OLD, node="a", arguments=QUORUM).publisher("shop", OLD, rate=10, node="b").wait(5)
    assert (lost(made), made.errors) == (0, [])
    assert at_s(made, "publisher_started")[1] - at_s(made, "publisher_closed")[0] >= 30


def test_in_place_a_publisher_that_does_not_stop_loses_what_was_confirmed():
    assert lost(at_work().delete(OLD).wait(5).declare(OLD, node="a", arguments=QUORUM).wait(5)) > 500


# Files of somebody else's making


def test_a_scenario_is_a_cluster_too(tmp_path: Path):
    file = tmp_path / "cluster.yaml"
    file.write_text(at_work().yaml())
    result = run(file, "--json", "--to", "3.13")
    assert result.exit_code == 0
    assert [queue["verdict"] for queue in json.loads(result.stdout)["queues"]] == ["ready"]
    assert run(file, *FILES).exit_code == 2


def test_an_export_of_one_virtual_host_is_of_that(tmp_path: Path):
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
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_an_odd_export_is_planned_or_refused_in_words(tmp_path: Path, section: str, data: st.DataObject):
    """Whatever stands in a section, or in place of a value of its first entry."""
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


@pytest.mark.parametrize("to", VERSIONS)
@pytest.mark.parametrize("keys", [{"ha_mode": "all", "max_length": 5}, {"max_length": 5, "queue_mode": "lazy"}])
def test_each_type_gets_its_own_part_of_a_policy(to: str, keys: dict):
    """By the rules of the release, with a policy above that is for neither."""
    made = cluster(policy(**keys), policy("other", "^z", 7, max_length=1), queues=BOTH[:2])
    plan = planned(made, to)
    now = [queue(move.queue.name, type=move.type, arguments=move.arguments) for move in plan.moves]
    moved, stays = (
        one.in_force.definition for one in assign(cluster(*plan.policies(False), version=to, queues=now)).assignments
    )
    assert moved["max-length"] == stays["max-length"] == 5
    assert not {"ha-mode", "queue-mode"} & moved.keys()
    kept = {key.replace("_", "-") for key in keys if key != "ha_mode" or to != "4.0"}
    assert kept <= stays.keys()
    assert "other-settings" not in {clash.code for clash in plan.clashes}


def test_a_policy_that_nothing_but_defaults_tells_apart():
    plan = planned(cluster(policy(overflow="reject-publish-dlx", max_length=1), queues=BOTH[:2]), "3.10")
    assert parts(plan) == {
        "p": ("queues", 0, {"max-length": 1, "overflow": "reject-publish-dlx", "queue-mode": "default"}),
        "p-quorum": ("queues", 0, {"max-length": 1, "overflow": "reject-publish",
                                   "dead-letter-strategy": "at-most-once"}),
    }  # fmt: skip


def test_a_name_in_a_clash_is_no_markup():
    made = cluster(policy("a|b`<i>", "^q", ha_mode="all", max_length=1), queues=BOTH[:2])
    text = runbook(planned(made, "3.13"), [], MATRIX)
    assert r"a\|b\`&lt;i&gt; (classic), a\|b\`&lt;i&gt;-quorum (quorum)" in text
