"""The policy linter: which policy applies to each queue, what it silences, and each kind of finding by the smallest
cluster that has it."""

from __future__ import annotations

import copy
import json
import random
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from hawb.broker.queue_rows import QueueFacts
from hawb.broker.untrusted import ImportRefused
from hawb.cli import main
from hawb.cluster import Cluster
from hawb.planning import assignments, inventory
from hawb.planning.advice import ADVICE, SEVERITIES
from hawb.planning.assignments import MOST_GIVEN_UP, assign
from hawb.planning.beginnings import beginning, is_all
from hawb.planning.inventory import Inventory, Queue
from hawb.planning.lint import Report, lint
from hawb.rules.patterns import Match, matches, pattern_error
from hawb.rules.policies import Policy
from hawb.rules.profiles import PROFILES
from hawb.scenario.load import load
from hawb.scenario.run import Run
from hawb.views import findings

ROOT = Path(__file__).parent.parent
REAL = ROOT / "data" / "real"
FILES = [REAL / name for name in ("definitions.json", "api-queues.json", "api-nodes.json", "api-overview.json")]
HA = {"ha_mode": "exactly", "ha_params": 2}
NODES = dict.fromkeys("abc", True)


def queue(name: str = "q", vhost: str = "/", **facts: object) -> Queue:
    return Queue(vhost, name, QueueFacts(**{"type": "classic", "durable": True, "arguments": {}} | facts))


def policy(name: str = "p", pattern: str = "^q", priority: int = 0, apply_to: str = "queues", **keys: object) -> Policy:
    return Policy.of(name, pattern, {key.replace("_", "-"): value for key, value in keys.items()}, priority, apply_to)


def cluster(*policies: Policy, queues: list[Queue] | None = None, version: str = "3.10", **more: object) -> Inventory:
    told = {"policies": list(policies), "queues": [queue()] if queues is None else queues, "nodes": NODES} | more
    return Inventory(profile=PROFILES[version], **told)


def codes(found: Report) -> set[str]:
    return {finding.code for finding in found.findings}


MIRRORED = policy(**HA)

CASES = {
    "policy-refused": cluster(policy(ha_mode="most")),
    "unknown-settings": cluster(policy(max_length=3, **HA), version="4.0"),
    "fits-no-type": cluster(policy(delivery_limit=3, **HA)),
    "passes-over": cluster(MIRRORED, queues=[queue(), queue("q2", type="quorum")]),
    "matches-nothing": cluster(policy("other", "^other", max_length=1), MIRRORED),
    "matches-everything": cluster(policy(pattern=".*", **HA)),
    "never-applies": cluster(policy("low", **HA), policy("high", priority=1, **HA)),
    "priority-tie": cluster(policy("one", **HA), policy("two", **HA)),
    "pattern-gives-up": cluster(policy(pattern="(a+)+$", **HA), queues=[queue("a" * 40 + "b")]),
    "key-without-effect": cluster(policy(ha_sync_batch_size=1, **HA)),
    "exactly-promotes-always": cluster(policy(ha_promote_on_shutdown="always", **HA)),
    "promotes-always-on-shutdown": cluster(policy(ha_mode="all", ha_promote_on_shutdown="always")),
    "mirrors-on-all-nodes": cluster(policy(ha_mode="all"), nodes=dict.fromkeys("abcd", True)),
    "unknown-node": cluster(policy(ha_mode="nodes", ha_params=["a", "z"])),
    "more-replicas-than-nodes": cluster(policy(ha_mode="exactly", ha_params=4)),
    "mirroring-silenced": cluster(policy("ha", **HA), policy("ttl", "^q", 1, message_ttl=60_000)),
    "settings-silenced": cluster(policy("ha", priority=1, **HA), policy("limit", max_length=9)),
    "no-policy": cluster(),
    "one-replica": cluster(policy(max_length=9)),
    "even-members": cluster(queues=[queue(type="quorum", members=["a", "b"])]),
    "members-offline": cluster(queues=[queue(type="quorum", members=["a", "b", "c"], online=["a", "b"])]),
    "unsynchronised-mirrors": cluster(MIRRORED, queues=[queue(node="a", mirrors=["b"], synchronised=[])]),
    "sync-batch-over-ticktime": cluster(policy(ha_sync_batch_size=50_000, **HA), network_bytes_per_s=800_000),
    "sync-batch-large": cluster(policy(ha_sync_batch_size=50_000, **HA)),
    "when-synced-without-confirms": cluster(
        policy(ha_promote_on_failure="when-synced", **HA), published=10, confirmed=0
    ),
    "when-synced-needs-confirms": cluster(policy(ha_promote_on_failure="when-synced", **HA)),
    "policy-differs": cluster(MIRRORED, queues=[queue(policy="older")]),
    "blocks-quorum": cluster(MIRRORED, queues=[queue(arguments={"x-max-priority": 5})]),
    "changes-for-quorum": cluster(MIRRORED, queues=[queue(arguments={"x-queue-mode": "lazy"})]),
    "masters-piled": cluster(MIRRORED, queues=[queue(f"q{n}", node="b") for n in range(6)]),
}

SOUND = cluster(
    policy(ha_sync_mode="automatic", **HA),
    queues=[queue(f"q{n}", node="abc"[n % 3], mirrors=["abc"[(n + 1) % 3]], synchronised=["abc"[(n + 1) % 3]])
            for n in range(6)] + [queue("votes", type="quorum", members=["a", "b", "c"], online=["a", "b", "c"])],
)  # fmt: skip


# Each kind of finding


@pytest.mark.parametrize("code", ADVICE)
def test_each_kind_of_finding_is_found_where_it_is(code: str):
    found = [finding for finding in lint(CASES[code]).findings if finding.code == code]
    assert found
    assert "{" not in found[0].what
    assert found[0].plain()["severity"] in SEVERITIES


def test_nothing_is_found_where_nothing_is_wrong():
    assert lint(SOUND).findings == []


def text(code: str) -> str:
    return next(finding.what for finding in lint(CASES[code]).findings if finding.code == code)


def test_what_is_found_is_told_with_its_numbers():
    told = text("mirroring-silenced")
    assert told == "not mirrored: 'ttl' applies alone, and 'ha', which would mirror it, do not"
    assert text("even-members") == "of 2 members none may fail, as of 1"
    assert text("masters-piled") == "6 of 6 masters and leaders; an equal share is 2"
    assert text("never-applies") == "matches queues (1) and applies to none: there it yields to 'high'"
    assert "passed over as a whole for quorum queues that it matches (1): 'ha-mode', 'ha-params'" in text("passes-over")
    assert text("unsynchronised-mirrors") == "not synchronised: 1 of 1 mirrors"
    silent = cluster(policy("all", priority=1, ha_mode="all"), policy(**HA))
    assert "settings-silenced" not in codes(lint(silent))
    assert "not for classic queues: delivery-limit; not for quorum queues: ha-mode, ha-params" in text("fits-no-type")


def test_the_guides_sum():
    """50,000 messages of 1 KB are about 49 MB, which is worse where a link takes longer than net_ticktime for them."""
    assert "50,000 messages of 1,024 bytes (assumed) are 49 MiB: 0.5 s" in text("sync-batch-large")
    assert "64 s on a link of 0.8 MB/s, longer than net_ticktime, 60 s" in text("sync-batch-over-ticktime")
    deep = queue(messages=10, message_bytes=10 * 102_400)
    found = lint(cluster(MIRRORED, queues=[deep]))
    [finding] = [finding for finding in found.findings if finding.code == "sync-batch-large"]
    assert "4,096 messages of 102,400 bytes are 400 MiB" in finding.what
    assert "sync-batch-large" not in codes(lint(cluster(MIRRORED, queues=[queue(messages=10, message_bytes=10_240)])))
    assert "sync-batch-large" not in codes(lint(cluster(MIRRORED, queues=[deep], sync_max_bytes_per_s=10_000_000)))


@pytest.mark.parametrize(
    ("keys", "more", "idle"),
    [
        ({"ha_mode": "exactly", "ha_params": 1, "ha_sync_mode": "automatic"}, {}, {"ha-sync-mode"}),
        ({**HA, "ha_promote_on_shutdown": "always", "ha_promote_on_failure": "when-synced"}, {},
         {"ha-promote-on-shutdown"}),
        ({**HA, "ha_promote_on_shutdown": "always"}, {}, set()),
        ({"dead_letter_routing_key": "x"}, {}, {"dead-letter-routing-key"}),
        ({"dead_letter_routing_key": "x", "dead_letter_exchange": ""}, {}, set()),
        ({"dead_letter_routing_key": "x"}, {"queues": [queue(arguments={"x-dead-letter-exchange": ""})]}, set()),
        ({"overflow": "reject-publish"}, {}, {"overflow"}),
        ({"overflow": "reject-publish", "max_length": 1}, {}, set()),
        ({"overflow": "reject-publish"}, {"operator_policies": [policy(max_length=1)]}, set()),
        ({"queue_mode": "lazy"}, {"version": "3.13"}, {"queue-mode"}),
        ({"queue_mode": "lazy"}, {}, set()),
        ({"delivery_limit": 3}, {"version": "3.8"}, {"delivery-limit"}),
        ({"delivery_limit": 3}, {"version": "3.8", "queues": [queue(type="quorum")]}, set()),
        ({"max_in_memory_length": 3}, {"queues": [queue(type="quorum")]}, {"max-in-memory-length"}),
        ({"max_in_memory_length": 3}, {"version": "3.8", "queues": [queue(type="quorum")]}, set()),
        ({"alternate_exchange": "x"}, {}, {"alternate-exchange"}),
        ({"alternate_exchange": "x", "apply_to": "all"}, {}, set()),
        ({"dead_letter_strategy": "at-least-once", "dead_letter_exchange": ""}, {"queues": [queue(type="quorum")]},
         {"dead-letter-strategy"}),
        ({"dead_letter_strategy": "at-least-once", "dead_letter_exchange": "", "overflow": "reject-publish"},
         {"queues": [queue(type="quorum")]}, set()),
    ],
)  # fmt: skip
def test_settings_without_effect(keys: dict, more: dict, idle: set[str]):
    found = lint(cluster(policy(**keys), **more)).findings
    assert {finding.detail["key"] for finding in found if finding.code == "key-without-effect"} == idle


def test_with_no_node_to_spare_exactly_is_as_all():
    found = lint(cluster(policy(ha_mode="exactly", ha_params=3, ha_promote_on_shutdown="always")))
    assert "promotes-always-on-shutdown" in codes(found)
    assert "exactly-promotes-always" not in codes(found)


ON_SHUTDOWN, ON_FAILURE = {"ha-promote-on-shutdown": "always"}, {"ha-promote-on-failure": "when-synced"}


@pytest.mark.parametrize(("keys", "lost"), [({}, 0), (ON_SHUTDOWN, 100), (ON_SHUTDOWN | ON_FAILURE, 0)])
def test_the_engine_loses_in_a_rolling_restart_what_the_linter_warns_of(keys: dict, lost: int):
    definition = {"ha-mode": "exactly", "ha-params": 2} | keys
    played = Cluster("a", "b", "c", version="3.10").set_policy("p", "^q", definition).declare("q", node="a")
    played.publish("q", 100)
    for node in "abc":
        played.stop(node).start(node)
    assert sum(last - first + 1 for first, last in played.outcome["ledger"]["q"]["lost"]) == lost
    warned = {finding.code for finding in lint(inventory.of_run(played.run)).findings}
    assert ("exactly-promotes-always" in warned) == bool(lost)


def test_when_synced_on_failure_keeps_a_stop_from_promoting_too():
    both = policy(ha_promote_on_shutdown="always", ha_promote_on_failure="when-synced", **HA)
    assert not {"exactly-promotes-always", "promotes-always-on-shutdown"} & codes(lint(cluster(both)))


def test_what_blocks_a_move_to_quorum_queues():
    kinds = [
        queue("q1", durable=False, auto_delete=True),
        queue("q2", arguments={"x-queue-mode": "lazy", "x-max-priority": 3, "x-max-length": 5, "x-unheard-of": 1}),
        queue("q3", arguments={"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead"}),
        queue("q4", arguments={"x-dead-letter-routing-key": "dead", "x-dead-letter-exchange": ""}, exclusive=True),
    ]
    found = lint(cluster(policy(max_length=9, **HA), queues=kinds)).findings
    codes_of = {finding.name: finding.code for finding in found if finding.code.endswith("-quorum")}
    told = {finding.name: [*finding.detail.values()] for finding in found if finding.code.endswith("-quorum")}
    assert codes_of == {"q1": "blocks-quorum", "q2": "blocks-quorum", "q3": "changes-for-quorum"}
    assert told == {
        "q1": ["is not durable: temporary queues are not what quorum queues are for; goes with its last consumer"],
        "q2": ["argument x-max-priority: messages have priorities, of which quorum queues know none before 4.0"],
        "q3": ["its policy is passed over, with max-length"],
    }
    assert not {"blocks-quorum", "changes-for-quorum"} & codes(lint(cluster(policy(**HA))))


@pytest.mark.parametrize("key", ["x-queue-mode", "x-queue-master-locator", "x-queue-version"])
def test_what_only_has_to_change_blocks_nothing(key: str):
    found = lint(cluster(policy(**HA), queues=[queue(arguments={key: "default"})])).findings
    assert [finding.code for finding in found if finding.code.endswith("-quorum")] == ["changes-for-quorum"]


def test_a_release_that_gave_up_a_setting_goes_by_the_others():
    found = lint(cluster(policy(max_length=9, **HA), version="4.0"))
    assert found.assigned.assignments[0].in_force.definition == {"max-length": 9}
    assert {"unknown-settings", "one-replica"} <= codes(found)


def test_a_policy_that_would_be_refused_applies_to_nothing():
    found = lint(cluster(policy("bad", priority=9, ha_mode="exactly", ha_params="2"), MIRRORED))
    assert found.assigned.assignments[0].in_force.policy == "p"
    [finding] = found.policies
    assert finding.what.endswith('refuse it: ha-mode="exactly" takes an integer, <<"2">> given')


def test_operator_policies_are_looked_at_by_themselves():
    mine, theirs = policy("mine", max_length=9), policy("theirs", max_length=5)
    found = lint(cluster(mine, operator_policies=[theirs, policy("idle", "^z", expires=5)]))
    assert found.assigned.assignments[0].in_force.definition == {"max-length": 5}
    assert [(one.code, one.where) for one in found.policies] == [("matches-nothing", "operator policy idle")]


def test_what_a_release_does_not_know_is_not_read():
    """3.10 knows no operator policy about mirroring; whatever a file says there is no more than a name."""
    found = lint(cluster(MIRRORED, operator_policies=[policy("theirs", ha_mode=["all"])]))
    assert [(one.code, one.where) for one in found.policies] == [("unknown-settings", "operator policy theirs")]
    broken = policy("p", "(", ha_mode="all")
    assert "policy-refused" in codes(lint(cluster(broken, version="4.0")))


def test_policies_of_another_virtual_host_do_not_count():
    found = lint(cluster(MIRRORED, queues=[queue(vhost="shop"), queue()]))
    assert [one.in_force.policy for one in found.assigned.assignments] == [None, "p"]


part = st.sampled_from(["a", "ab", r"\.", r"\-", ".", "*", "?", "+", "{0}", "{,2}", "|", "(a)", "(?i)", "[ab]", "$"])
patterns = st.lists(part, max_size=6).map("".join).map("^".__add__).filter(lambda one: pattern_error(one) is None)


@settings(max_examples=1_000)
@given(patterns, st.text("abA.-", max_size=6))
def test_every_name_that_a_pattern_is_found_in_has_its_beginning(pattern: str, name: str):
    assert not matches(pattern, name) or name.startswith(beginning(pattern))
    assert not is_all(pattern) or matches(pattern, name) == name.startswith(beginning(pattern))


def test_beginnings_are_as_long_as_they_can_be():
    told = {r"^orders\.tmp\.": "orders.tmp.", "^ha": "ha", "^ab*": "a", "^a|b": "", "ha": "", "^(ha)": "", r"^\Qa": ""}
    assert {pattern: beginning(pattern) for pattern in told} == told


# Real files


def test_each_queue_of_a_real_cluster_is_under_the_policy_that_its_broker_says():
    assigned = assign(inventory.of_files(FILES)).assignments
    assert len(assigned) == 31
    for one in assigned:
        assert one.in_force.policy == one.queue.facts.policy
        assert one.in_force.definition == one.queue.facts.effective_definition


def test_what_is_found_of_a_real_cluster():
    found = lint(inventory.of_files(FILES))
    told = {(finding.code, finding.name) for finding in found.findings if finding.severity != "note"}
    assert told == {
        ("mirroring-silenced", "orders.tmp.carts"),
        ("one-replica", "orders.tmp.carts"),
        ("promotes-always-on-shutdown", "always"),
        ("no-policy", "plain.dlx"),
        ("no-policy", "plain.durable"),
        ("no-policy", "plain.transient"),
        ("even-members", "qq.pair"),
        ("one-replica", "qq.single"),
    }
    assert [policy.name for policy in found.assigned.assignments[8].silenced] == ["orders-safe"]


def told_of(given: Inventory, found: Report) -> list[tuple]:
    """What a report says of each queue: its names, what is in force, the policies and the findings."""
    one_by_one = zip(given.queues, found.assigned.assignments, found.queues, strict=True)
    return [
        (queue.full_name, one.in_force, one.policies, [finding.plain() for finding in findings])
        for queue, one, findings in one_by_one
    ]


@pytest.mark.parametrize("files", [FILES, FILES[:1], FILES[1:2]], ids=["both", "export", "listing"])
def test_queues_looked_at_together_are_told_what_each_alone_is(files: list[Path]):
    """Queues that differ in their names alone are looked at once."""
    given = inventory.of_files(files)
    given.queues += [Queue(vhost, f"{one.name}.2", one.facts) for one in given.queues for vhost in (one.vhost, "other")]
    found = lint(given)
    assert len(found.kinds) < len(given.queues)
    alone = []
    for one in given.queues:
        just = msgspec.structs.replace(given, queues=[one])
        alone += told_of(just, lint(just))
    assert told_of(given, found) == alone


def test_queues_under_one_policy_that_silences_another_for_some_are_told_apart():
    silenced = policy("mirrors", "^qa", priority=0, **HA)
    found = lint(cluster(policy("ttl", "^q", priority=1, message_ttl=9), silenced, queues=[queue("q"), queue("qa")]))
    one, other = ({finding.code for finding in findings} for findings in found.queues)
    assert other - one == {"mirroring-silenced"}


def test_a_listing_alone_tells_what_is_in_force():
    found = lint(inventory.of_files([REAL / "api-queues.json"]))
    assert {one.in_force.policy for one in found.assigned.assignments} >= {"ha-all", "ttl-10min", None}
    assert {"even-members", "when-synced-needs-confirms"} <= codes(found)
    assert not {"no-policy", "policy-differs", "matches-nothing"} & codes(found)


def test_a_scenario_is_taken_as_it_stands_at_its_end():
    played = Run.of(load(ROOT / "data" / "scenarios" / "unsynchronised-mirror-promoted.yaml"))
    told = inventory.of_run(played)
    assert told.nodes == {"a": False, "b": True, "c": False}
    [standing] = told.queues
    assert (standing.facts.node, standing.facts.mirrors, standing.facts.message_bytes) == ("b", [], 10_240)
    [finding] = lint(told).findings
    assert (finding.code, finding.name) == ("one-replica", "ha.orders")


def test_two_exports_are_not_one_cluster(tmp_path: Path):
    (tmp_path / "other.json").write_text('{"queues": []}')
    with pytest.raises(ImportRefused, match="second definitions export"):
        inventory.of_files([*FILES, tmp_path / "other.json"])


# Files of strangers


def test_a_pattern_that_takes_for_ever_is_given_up_for_good(monkeypatch: pytest.MonkeyPatch):
    names = [f"{'a' * 40}{n}" for n in range(MOST_GIVEN_UP + 3)]
    searched = []

    def gives_up(pattern: str, name: str):
        searched.append(name)
        return Match.GAVE_UP

    monkeypatch.setattr(assignments, "searched", gives_up)
    found = lint(cluster(policy(pattern="(a+)+$", **HA), queues=[queue(name) for name in names]))
    assert searched == names[:MOST_GIVEN_UP]
    [finding] = [finding for finding in found.findings if finding.code == "pattern-gives-up"]
    assert finding.detail["queues"] == names[:MOST_GIVEN_UP]


def test_no_name_reaches_beyond_its_place():
    hostile = "\x1b[2Jq\n\u202e{0}"
    policies = policy(hostile, "q", priority=1, max_length=1), policy("ha", "q", **HA)
    found = lint(cluster(*policies, queues=[queue(hostile)]))
    for part in (findings.report(found), json.dumps(findings.plain(found))):
        assert "\x1b" not in part and "\u202e" not in part
    assert "mirroring-silenced" in codes(found)


ODD = [None, True, 0, -1, 1, 2, 2**63 - 1, 1.5, 1e300, "x", "all", "exactly", "nodes", "(", "", [], ["a", 1], {"a": 1}]
KEYS = sorted(PROFILES["3.13"].policy_settings)


@given(st.integers(0, 2**32))
def test_whatever_stands_in_an_export_or_a_listing_is_judged_or_refused(
    tmp_path_factory: pytest.TempPathFactory, seed: int
):
    draw, export = random.Random(seed), json.loads(FILES[0].read_text())
    listing = json.loads(FILES[1].read_text())
    bodies = copy.deepcopy(export["policies"])
    export["parameters"] = [
        {"component": "operator_policy", "name": body.pop("name"), "vhost": body.pop("vhost"), "value": body}
        for body in bodies[:3]
    ]
    told = [policy["definition"] for policy in export["policies"]] + [body["definition"] for body in bodies[:3]]
    told_of_queues = [queue["arguments"] for queue in export["queues"]]
    told_of_queues += [queue["effective_policy_definition"] for queue in listing]
    for _ in range(draw.randint(1, 9)):
        place = draw.choice(draw.choice([told, export["policies"], listing, told_of_queues]))
        keys = list(place) if draw.random() < 0.3 and place else KEYS + [f"x-{key}" for key in KEYS] + ["pattern"]
        if isinstance(place, dict):
            place[draw.choice(keys)] = draw.choice(ODD)
    export["rabbitmq_version"] = draw.choice(["3.8.9", "3.10.8", "3.13.7", "4.0.5"])
    folder = tmp_path_factory.getbasetemp()
    (folder / "definitions.json").write_text(json.dumps(export))
    (folder / "queues.json").write_text(json.dumps(listing))
    for files in (["definitions.json", "queues.json"], ["queues.json"]):
        try:
            found = lint(inventory.of_files([folder / file for file in files]))
        except ImportRefused:
            continue
        assert findings.report(found)
        json.dumps(findings.plain(found))


# The command


def hawb(*arguments: object):
    return CliRunner().invoke(main, ["lint", *map(str, arguments)], catch_exceptions=False)


def test_the_command_prints_what_is_in_force_what_was_found_and_what_to_do():
    result = hawb(*FILES)
    assert result.exit_code == 1
    assert result.stdout.startswith("1 error, 7 warnings, 11 notes in 31 queues and 7 policies\n")
    assert "ttl-10min      none               orders-safe  1: orders.tmp.carts" in result.stdout
    assert "Write the ha settings into the policy that applies too" in result.stdout
    assert all(len(line) <= 120 for line in result.stdout.splitlines())


def test_the_command_gives_json_without_anybodys_password():
    result = hawb("--json", *FILES)
    [told] = json.loads(result.stdout)
    assert told["queues"][0].keys() >= {"queue", "policy", "silenced"}
    assert told["findings"][0]["code"] == "mirroring-silenced"
    for user in json.loads(FILES[0].read_text())["users"]:
        assert user["password_hash"] not in result.output


def test_the_command_takes_scenarios_each_for_itself():
    names = ("unsynchronised-mirror-promoted.yaml", "rebalance-of-equally-long-queues.yaml")
    result = hawb(*(ROOT / "data" / "scenarios" / name for name in names))
    assert result.exit_code == 1
    assert f"{names[0]}: no errors, 1 warning" in result.stdout
    assert f"{names[1]}: 3 errors" in result.stdout


def test_a_slow_link_is_told_to_the_command(tmp_path: Path):
    export = {
        "queues": [{"name": "q", "vhost": "/", "durable": True, "auto_delete": False, "arguments": {}}],
        "policies": [{"name": "ha", "vhost": "/", "pattern": "q", "apply-to": "queues", "priority": 0,
                      "definition": {"ha-mode": "all", "ha-sync-batch-size": 50_000}}],
    }  # fmt: skip
    file = tmp_path / "definitions.json"
    file.write_text(json.dumps(export))
    assert hawb(file).exit_code == 0
    assert "sync-batch-over-ticktime" in hawb("--network-mb-s", 0.5, file).stdout


def test_a_bad_file_is_refused_with_its_place(tmp_path: Path):
    (tmp_path / "definitions.json").write_text('{"queues": [}')
    result = hawb(tmp_path / "definitions.json")
    assert result.exit_code == 2
    assert "line 1, column 13" in result.stderr
