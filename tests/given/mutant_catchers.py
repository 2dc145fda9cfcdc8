"""Which scenarios catch the mutants of each module of rules that most let pass.

`test_mutants` plays them first, so that it need not play hundreds in vain for each mutant; what it finds does not
depend on it. They are of all mutants, as `make test-long` plays them. Where a module takes long again, the catchers of
its new mutants go in.
"""

from __future__ import annotations

NAMES = {
    "denied_features": """
        denied-features-4-3
    """,
    "delayed_retry": """
        quorum-delayed-retry-4-3
    """,
    "erlang_terms": """
        locator-4-0 values-as-erlang-shows-them values-as-newer-erlang-shows-them
    """,
    "limits": """
        dead-letter-cycles limits-from-three-places max-length-bytes quorum-reject-publish-in-a-batch
        reject-publish-by-bytes
    """,
    "locators": """
        drain-closes-connections locator-4-0 locator-among-listed-nodes locator-in-three-places locator-random
    """,
    "partitions": """
        partition-exactly-half partition-pause-if-all-down pause-if-all-down-and-none-is-left
    """,
    "patterns": """
        pattern-given-up-is-told patterns-are-pcre refused-pattern-too-large refused-patterns
    """,
    "policies": """
        exactly-walks-through-the-cluster force-boot-and-a-quorum-policy-4-0 imported-cluster
        limits-from-three-places operator-policy-merged operator-policy-shorter operator-policy-stricter
        operator-policy-wider policies-of-equal-priority-by-name policy-applies-to
        policy-changed-while-synchronising policy-settings-of-3-8 quorum-delivery-limit-of-two-policies
        quorum-memory-of-two-policies-3-8 quorum-policies quorum-policies-3-8 sync-batches
    """,
    "policy_validation": """
        locator-4-0 policy-settings-of-4-0 policy-settings-of-4-3 refused-ha-settings refused-in-order
        refused-policies refused-settings refused-settings-by-name refused-settings-in-order-3-8
        refused-settings-in-order-4-0 refused-settings-of-federation values-as-erlang-shows-them
    """,
    "profiles": """
        consumers-wait-for-a-killed-node-3-13 deliveries-forgotten-after-a-restart denied-features-4-3
        drain-and-rebalance-3-13 drain-and-rebalance-3-8 drain-closes-connections drain-moves-masters
        exactly-one-keeps-its-consumers-waiting exclusive-and-locator-3-13 exclusive-and-locator-3-8
        exclusive-queue-without-mirrors-3-10 exclusive-queue-without-mirrors-3-13
        exclusive-queue-without-mirrors-3-8 force-boot-and-a-quorum-policy-4-0
        force-boot-gives-up-what-came-later late-acknowledgements-count late-acknowledgements-count-3-13
        limit-drops-after-a-failover limit-drops-after-a-failover-3-13 limit-drops-after-a-failover-3-8
        locator-4-0 locator-min-masters policy-settings-of-3-10 policy-settings-of-3-13
        policy-settings-of-3-8 policy-settings-of-4-0 policy-settings-of-4-3 publish-to-a-stopped-queue-3-8
        publish-to-a-stopped-queue-4-0 quorum-cancel-on-ha-failover quorum-drained-node-3-13
        quorum-drained-node-3-8 quorum-drained-node-4-0 quorum-group-size-3-10 quorum-group-size-4-0
        quorum-minority-soft-limit quorum-policies quorum-policies-3-8 quorum-policy-passed-over-3-13
        quorum-policy-passed-over-4-0 quorum-two-nodes-drained redelivered-after-failover
        strays-of-a-transient-queue strays-of-a-transient-queue-3-8 streams-policy-passed-over-3-10
        streams-policy-passed-over-3-13 throughput-cap-3-10 throughput-cap-3-13 throughput-cap-by-version
    """,
    "promotion": """
        delete-waits-for-a-returning-mirror exactly-walks-through-the-cluster forgetting-waits-for-a-silent-node
        forgotten-master-and-a-forced-mirror forgotten-master-and-the-oldest-mirror forgotten-offline-by-each
        incident-transfer-leaves-one-copy
    """,
    "queue_arguments": """
        declared-again-without-its-type locator-4-0 quorum-declared-with-other-arguments-3-8
        quorum-refused-declarations-3-10 quorum-refused-declarations-4-0 refused-argument-letters
        refused-arguments-3-10 refused-arguments-3-8 refused-arguments-4-3 refused-arguments-by-type-4-3
        refused-arguments-in-order-3-10 refused-arguments-in-order-4-0
    """,
    "quorum": """
        incident-quorum-queue-on-two-nodes quorum-cluster-size-configured quorum-group-size-3-10
        quorum-group-size-3-8 quorum-leader-locator-and-maintenance quorum-transfer-not-up-to-date-4-3
    """,
    "quorum_declaration": """
        force-boot-and-a-quorum-policy-4-0 imported-cluster policy-applies-to
        quorum-consumer-out-of-reach-4-3 quorum-dead-letters-at-least-once quorum-declared-again
        quorum-declared-with-other-arguments-3-10 quorum-declared-with-other-arguments-4-0
        quorum-delivery-limit-of-any-kind quorum-delivery-limit-of-two-policies quorum-leader-locator
        quorum-leader-locator-and-maintenance quorum-majority-lost-for-good quorum-not-formed-3-8
        quorum-refused-declarations-3-10 quorum-refused-declarations-3-8 quorum-refused-declarations-4-0
        quorum-settings-from-two-places-3-10
    """,
    "quorum_profiles": """
        force-boot-and-a-quorum-policy force-boot-and-a-quorum-policy-4-0 policy-settings-of-3-10
        quorum-channel-waits-with-all-it-has quorum-cluster-size-configured
        quorum-dead-letters-at-least-once quorum-declared-with-other-arguments-3-10
        quorum-declared-with-other-arguments-3-8 quorum-declared-with-other-arguments-4-0
        quorum-delivery-limit-4-0 quorum-delivery-limit-of-any-kind quorum-expires
        quorum-first-publish-in-a-minority-3-8 quorum-first-publish-without-a-leader
        quorum-first-publish-without-a-leader-3-13 quorum-first-publish-without-a-leader-4-0
        quorum-group-size-3-8-random quorum-group-size-4-0 quorum-leader-locator quorum-log-of-requeues-3-10
        quorum-log-of-requeues-3-8 quorum-memory-and-disk-3-10 quorum-memory-and-disk-3-8
        quorum-memory-and-disk-4-0 quorum-policy-while-leaderless-3-8 quorum-refused-declarations-3-10
        quorum-refused-declarations-3-8 quorum-refused-declarations-4-0 quorum-requeue-order-4-0
        quorum-settings-from-two-places-3-10 quorum-settings-from-two-places-4-0
        quorum-transfer-to-one-behind-4-0 refused-arguments-by-type-4-3
    """,
    "rebalancing": """
        drain-and-rebalance-3-13 drain-and-rebalance-3-8 quorum-rebalance-by-the-log
        rebalance-of-equally-long-queues rebalance-of-several-nodes
    """,
    "mirror_placement": """
        crash-nacks-what-waits drain-moves-masters exactly-draws-the-seed exactly-fills-up-as-nodes-join
        exactly-keeps-the-oldest-mirrors forgotten-master-and-the-oldest-mirror nodes-none-running
        nodes-synchronised-mirror-takes-over
    """,
    "streams": """
        streams-confirmed-by-a-majority streams-coordinator streams-dead-letters-3-10
        streams-dead-letters-3-13 streams-declared streams-grow-4-3 streams-khepri-minority
        streams-leader-cut-off streams-leader-killed streams-leaders-move streams-leaders-stay-3-10
        streams-node-forgotten-3-10 streams-node-forgotten-3-13 streams-none-in-3-8
        streams-nothing-is-taken-out streams-policy-passed-over-3-10 streams-policy-passed-over-3-13
        streams-policy-passed-over-4-0 streams-policy-passed-over-4-3 streams-publisher-stopped
        streams-refused streams-refused-4-0 streams-refused-4-3 streams-replica-deleted-where-down
        streams-replicas-changed
    """,
}

CATCHERS = {module: names.split() for module, names in NAMES.items()}
