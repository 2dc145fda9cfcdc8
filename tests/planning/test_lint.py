"""The policy linter: the policy of each queue, overridden policies, and each kind of finding in the smallest cluster
that has it."""

from __future__ import annotations

import pytest
from inventories import HA, cluster, codes, policy, queue
from lint_cases import CASES, MIRRORED

from hawb.cluster import Cluster
from hawb.planning import assignments, inventory
from hawb.planning.advice import ADVICE, SEVERITIES
from hawb.planning.assignments import MOST_TIED, assign
from hawb.planning.lint import lint
from hawb.rules.policies import ties

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


def test_correct_cluster_has_no_findings():
    assert lint(SOUND).findings == []


def text(code: str) -> str:
    return next(finding.what for finding in lint(CASES[code]).findings if finding.code == code)


def test_finding_states_its_numbers():
    text_of = text("mirroring-silenced")
    assert text_of == "not mirrored: 'ttl' applies and overrides 'ha', which would mirror it"
    assert text("even-members") == "none of 2 members may fail; 1 would tolerate as many"
    assert text("masters-piled") == "hosts 6 of 6 masters and leaders; an equal share would be 2"
    assert text("never-applies") == "matches queues (1) but applies to none: it is overridden by 'high'"
    assert "ignored for the quorum queues that it matches (1)" in text("passes-over")
    assert text("passes-over").endswith("that type does not support 'ha-mode', 'ha-params'")
    assert text("unsynchronised-mirrors") == "not synchronised: 1 of 1 mirrors"
    silent = cluster(policy("all", priority=1, ha_mode="all"), policy(**HA))
    assert "settings-silenced" not in codes(lint(silent))
    assert "not for classic queues: delivery-limit; not for quorum queues: ha-mode, ha-params" in text("fits-no-type")


def test_batch_sizes_are_judged_as_in_the_guide():
    """50,000 messages of 1 KB are about 49 MB. That is worse if a link needs longer than net_ticktime for them."""
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
def test_settings_without_effect_are_found(keys: dict, more: dict, idle: set[str]):
    found = lint(cluster(policy(**keys), **more)).findings
    assert {finding.detail["key"] for finding in found if finding.code == "key-without-effect"} == idle


def test_exactly_with_as_many_nodes_counts_as_all():
    found = lint(cluster(policy(ha_mode="exactly", ha_params=3, ha_promote_on_shutdown="always")))
    assert "promotes-always-on-shutdown" in codes(found)
    assert "exactly-promotes-always" not in codes(found)


ON_SHUTDOWN, ON_FAILURE = {"ha-promote-on-shutdown": "always"}, {"ha-promote-on-failure": "when-synced"}


@pytest.mark.parametrize(("keys", "lost"), [({}, 0), (ON_SHUTDOWN, 100), (ON_SHUTDOWN | ON_FAILURE, 0)])
def test_engine_confirms_the_warning_about_rolling_restarts(keys: dict, lost: int):
    definition = {"ha-mode": "exactly", "ha-params": 2} | keys
    played = Cluster("a", "b", "c", version="3.10").set_policy("p", "^q", definition).declare("q", node="a")
    played.publish("q", 100)
    for node in "abc":
        played.stop(node).start(node)
    assert sum(last - first + 1 for first, last in played.outcome["ledger"]["q"]["lost"]) == lost
    warned = {finding.code for finding in lint(inventory.of_run(played.run)).findings}
    assert ("exactly-promotes-always" in warned) == bool(lost)


def test_when_synced_on_failure_prevents_promotion_on_stop_too():
    both = policy(ha_promote_on_shutdown="always", ha_promote_on_failure="when-synced", **HA)
    assert not {"exactly-promotes-always", "promotes-always-on-shutdown"} & codes(lint(cluster(both)))


def test_features_that_block_a_move_to_quorum_queues_are_found():
    kinds = [
        queue("q1", durable=False, auto_delete=True),
        queue("q2", arguments={"x-queue-mode": "lazy", "x-max-priority": 3, "x-max-length": 5, "x-unheard-of": 1}),
        queue("q3", arguments={"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead"}),
        queue("q4", arguments={"x-dead-letter-routing-key": "dead", "x-dead-letter-exchange": ""}, exclusive=True),
    ]
    found = lint(cluster(policy(max_length=9, **HA), queues=kinds)).findings
    codes_of = {finding.name: finding.code for finding in found if finding.code.endswith("-quorum")}
    text_of = {finding.name: [*finding.detail.values()] for finding in found if finding.code.endswith("-quorum")}
    assert codes_of == {"q1": "blocks-quorum", "q2": "blocks-quorum", "q3": "changes-for-quorum"}
    assert text_of == {
        "q1": [
            "is not durable: quorum queues are always durable; is auto-delete: it is deleted with its last consumer"
        ],
        "q2": ["argument x-max-priority: messages have priorities, which quorum queues support from 4.0 on"],
        "q3": ["its policy is passed over, with max-length"],
    }
    assert not {"blocks-quorum", "changes-for-quorum"} & codes(lint(cluster(policy(**HA))))


@pytest.mark.parametrize("key", ["x-queue-mode", "x-queue-master-locator", "x-queue-version"])
def test_arguments_that_only_change_do_not_block_the_move(key: str):
    found = lint(cluster(policy(**HA), queues=[queue(arguments={key: "default"})])).findings
    assert [finding.code for finding in found if finding.code.endswith("-quorum")] == ["changes-for-quorum"]


def test_unknown_setting_is_ignored_and_the_others_apply():
    found = lint(cluster(policy(max_length=9, **HA), version="4.0"))
    assert found.assigned.assignments[0].in_force.definition == {"max-length": 9}
    assert {"unknown-settings", "classic-queue"} <= codes(found)


def test_invalid_policy_does_not_apply():
    found = lint(cluster(policy("bad", priority=9, ha_mode="exactly", ha_params="2"), MIRRORED))
    assert found.assigned.assignments[0].in_force.policy == "p"
    [finding] = found.policies
    assert finding.what.endswith('refuse it: ha-mode="exactly" takes an integer, <<"2">> given')


def test_operator_policies_are_linted_separately():
    mine, theirs = policy("mine", max_length=9), policy("theirs", max_length=5)
    found = lint(cluster(mine, operator_policies=[theirs, policy("idle", "^z", expires=5)]))
    assert found.assigned.assignments[0].in_force.definition == {"max-length": 5}
    assert [(one.code, one.where) for one in found.policies] == [("matches-nothing", "operator policy idle")]


def test_settings_unknown_to_the_release_are_not_read():
    """3.10 has no operator policy for mirroring, so only the name of the setting is reported."""
    found = lint(cluster(MIRRORED, operator_policies=[policy("theirs", ha_mode=["all"])]))
    assert [(one.code, one.where) for one in found.policies] == [("unknown-settings", "operator policy theirs")]
    assert found.policies[0].what == "RabbitMQ 3.10.8 does not know 'ha-mode' in an operator policy"
    broken = policy("p", "(", ha_mode="all")
    assert "policy-refused" in codes(lint(cluster(broken, version="4.0")))


def test_policies_of_another_virtual_host_do_not_apply():
    found = lint(cluster(MIRRORED, queues=[queue(vhost="shop"), queue()]))
    assert [one.in_force.policy for one in found.assigned.assignments] == [None, "p"]


def test_streams_are_linted_like_quorum_queues():
    replicas = {"members": ["a", "b", "c"], "online": ["a", "b"]}
    found = lint(cluster(queues=[queue(type="stream", **replicas), queue("one", type="stream", members=["a"])]))
    assert {"members-offline", "one-member"} <= codes(found)
    asked = queue(type="stream", arguments={"x-initial-cluster-size": 2})
    assert "even-members" in codes(lint(cluster(queues=[asked])))


@pytest.mark.parametrize("version", ["4.0", "4.3"])
def test_release_without_mirroring_gets_no_advice_about_it(version: str):
    found = lint(cluster(version=version)).findings
    assert [(one.code, one.severity) for one in found] == [("classic-queue", "warning")]
    assert "mirror" not in found[0].advice.remedy and "quorum queue" in found[0].advice.remedy


@pytest.mark.parametrize("facts", [
    {"durable": False}, {"auto_delete": True}, {"exclusive": True}, {"type": "quorum"}, {"type": "stream"},
    {"arguments": {"x-internal-purpose": "federation"}},
])  # fmt: skip
def test_temporary_queue_is_not_advised_to_move(facts: dict):
    found = lint(cluster(version="4.0", queues=[queue(**facts)]))
    assert not {"classic-queue", "no-policy", "one-replica"} & codes(found)


@pytest.mark.parametrize("keys", [
    {"ha_mode": "all"}, {"ha_mode": "nodes", "ha_params": ["z"]}, {"ha_mode": "exactly", "ha_params": 9},
    {"ha_promote_on_shutdown": "always", **HA},
])  # fmt: skip
def test_policy_without_classic_queues_is_not_judged_by_mirroring(keys: dict):
    nodes = dict.fromkeys("abcd", True)
    for queues in ([queue("other")], [queue(type="quorum")], []):
        found = lint(cluster(policy(**keys), queues=queues, nodes=nodes)).policies
        assert {one.code for one in found} <= {"matches-nothing", "fits-no-type", "passes-over"}


def test_unmirrored_queue_has_no_findings_about_synchronisation():
    alone = [queue(node="a", mirrors=[], messages=9, message_bytes=9 * 2**20)]
    found = lint(cluster(policy(ha_sync_batch_size=50_000, **HA), queues=alone, nodes={"a": True}))
    assert codes(found) == {"one-node"}


def test_unmovable_masters_are_not_reported_as_piled():
    piled = [queue(f"q{number}", node="b", mirrors=[]) for number in range(6)]
    assert "masters-piled" not in codes(lint(cluster(MIRRORED, queues=piled)))
    led = [queue(f"q{number}", type="quorum", leader="b", members=["a", "b", "c"]) for number in range(6)]
    assert "masters-piled" in codes(lint(cluster(queues=led)))


def test_mirrored_queue_is_not_reported_as_unreplicated():
    found = lint(cluster(queues=[queue(node="a", mirrors=["b"], synchronised=["b"])]))
    assert not {"no-policy", "one-replica"} & codes(found)


def test_queue_of_a_plugin_is_recognised():
    names = ("federation: x -> y", "q", "amq.gen-x")
    found = lint(cluster(version="4.0", queues=[queue(name) for name in names])).findings
    assert {one.name for one in found if one.code == "classic-queue"} == {"q"}
    for mirrors in ((), (policy("all", "", max_length=9),)):
        found = lint(cluster(*mirrors, version="3.13", queues=[queue(name) for name in names])).findings
        assert {one.name for one in found if one.code in ("no-policy", "one-replica")} == {"q", "amq.gen-x"}


def test_only_the_first_of_many_tied_policies_are_named() -> None:
    tied = [policy(f"p{number:03}", **HA) for number in range(MOST_TIED * 3)]
    reaches = assign(cluster(*tied)).reaches
    assert {len(reach.tied_with) for reach in reaches} == {MOST_TIED, MOST_TIED + 1}
    assert set(reaches[0].tied_with) == {f"p{number:03}" for number in range(1, MOST_TIED + 1)}


def test_queues_under_the_same_policies_are_checked_once(monkeypatch) -> None:
    """Ties among thousands of policies are computed once for all queues under them."""
    looked_at = []
    monkeypatch.setattr(assignments, "ties", lambda found: looked_at.append(len(found)) or ties(found))
    tied = [policy(f"p{number}", **HA) for number in range(5)]
    queues = [*map(queue, map("q{}".format, range(50))), *(queue(f"v{n}", type="quorum") for n in range(50))]
    reaches = assign(cluster(*tied, queues=queues)).reaches
    assert looked_at == [5]
    assert {(reach.matched, reach.tied_with.total()) for reach in reaches} == {(50, 4 * 50)}
