"""The smallest cluster for each kind of the linter's findings."""

from __future__ import annotations

from inventories import HA, cluster, policy, queue


def to(queue: str) -> dict[str, str]:
    """Return arguments that send dead letters to a queue."""
    return {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": queue}


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
    "no-mirror-runs": cluster(MIRRORED, queues=[queue(node="a", mirrors=[])], nodes={"a": True, "b": False}),
    "classic-queue": cluster(version="4.0"),
    "one-member": cluster(queues=[queue(type="quorum", members=["a"])]),
    "member-without-node": cluster(queues=[queue(type="quorum", members=["a", "b", "z"])]),
    "one-node": cluster(MIRRORED, nodes={"a": True}),
    "policy-feeds-itself": cluster(policy(dead_letter_exchange="", dead_letter_routing_key="q", **HA)),
    "dead-letter-cycle": cluster(MIRRORED, queues=[queue("q1", arguments=to("q2")), queue("q2", arguments=to("q1"))]),
    "dead-letter-retries": cluster(MIRRORED, queues=[
        queue("q1", arguments=to("q2")), queue("q2", arguments=to("q1") | {"x-message-ttl": 9}),
    ]),
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
"""A cluster for each code."""
