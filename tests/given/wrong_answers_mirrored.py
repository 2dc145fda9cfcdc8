"""Wrong answers to the exercises of notebooks 10 to 16, on mirrored queues, and why each is refused."""

from __future__ import annotations

from answer_steps import AUTOMATIC, CALLS, FULL, SYNC, TWO, forgotten, policy, stories

TTL = {"message-ttl": 60000}
RESTART = [{"stop": "a"}, {"start": "a"}]
LATE = [{"consume": {"consumer": "late", "queue": "orders"}}, {"ack": {"consumer": "late"}}]
WORKER = {"consume": {"consumer": "worker", "queue": "orders"}}
SPREAD = {"ha-mode": "all", "queue-master-locator": "min-masters"}
SYNC_ALL = [{"sync_queue": queue} for queue in ("bills", "mails", "orders")]
REBALANCE = {"rebalance": True}
ALL = {"set_policy": {"name": "ha", "pattern": "^orders", "definition": {"ha-mode": "all"}}}


def acknowledged(consumer: str) -> dict:
    """Return the step with which a consumer acks all its messages."""
    return {"ack": {"consumer": consumer}}


def offline(node: str, by: str) -> dict:
    """Return the step that forgets a node offline while no node runs."""
    return {"forget_cluster_node": {"node": node, "from": by, "offline": True}}


def place(*nodes: str, **keys: str) -> dict:
    """Return the step that sets the policy place to a list of nodes."""
    definition = {"ha-mode": "nodes", "ha-params": list(nodes)} | {key.replace("_", "-"): keys[key] for key in keys}
    return {"set_policy": {"name": "place", "pattern": "^orders$", "definition": definition}}


def everywhere(**keys: str) -> dict:
    """Return the step that sets the policy ha for all queues with additional keys."""
    definition = {"ha-mode": "all"} | {key.replace("_", "-"): keys[key] for key in keys}
    return {"set_policy": {"name": "ha", "pattern": "", "definition": definition}}


ON_MIRRORED_QUEUES = {
    "10-two-copies": [
        (policy("orders", TWO), "The policy also matches reorders.eu"),
        (policy("^orders.", TWO), "The policy also matches orders-eu"),
        (policy(r"^orders\.eu", TWO), r"It works in the cluster that you see, but .* orders\.us is not mirrored"),
        (policy(r"^orders\.", {"ha-mode": "all"}), "has 3 running replicas; the task asks for two"),
        (policy(r"^orders\.", {"ha-mode": "exactly", "ha-params": 2}), "lacks the messages that were published"),
        (policy(r"^orders\.", {"ha-mode": "exactly", "ha-params": "2"}), "RabbitMQ refuses .+: .* takes an integer"),
        (policy(r"^orders\.", TWO | {"max-length": 1}), "orders.eu has 1 message left out of 100"),
        (policy(r"^orders\.", TWO | {"expires": 1000}), "The queue orders.eu is gone"),
        (policy(r"^orders\.", TWO | {"ha-mode": "nodes", "ha-params": ["a", "b"]}), "but not in another one with"),
    ],
    "10-ttl": [
        (policy(r"\.tmp$", TTL, priority=1), "is no longer mirrored"),
        (policy(r"\.tmp$", TWO | TTL), "at the same priority: RabbitMQ does not define"),
        (policy(r"\.tmp$", TWO | TTL, priority=-1), "The policy ha still applies to"),
        (policy("^orders", TWO | TTL, priority=1), "The policy ha no longer applies to orders.eu"),
        (policy(r"\.tmp$", TWO | {"message-ttl": 60}, priority=1), "A message-ttl is in milliseconds"),
        (policy(r"\.tmp$", TWO | {"expires": 60000}, priority=1), "The queue orders.eu.tmp is gone"),
        (policy(r"\.tmp$", TTL, name="ha", priority=1), "is no longer mirrored"),
        (policy(r"\.tmp$", TWO, priority=1), "still has 100 messages"),
        (policy(r"\.tmp$", {"ha-mode": "all"} | TTL, priority=1), "has 3 running replicas"),
    ],
    "10-late-mirror": [
        ([], "it had no mirror"),
        ([ALL], "which lost 100 messages: b and c held no message from before the policy"),
        ([ALL, {"wait": 60}], "which lost 100 messages"),
        (
            [ALL | {"set_policy": ALL["set_policy"] | {"definition": {"ha-mode": "all", "max-length": 1}}}],
            "Messages are gone before a is killed",
        ),
        (
            [ALL | {"set_policy": ALL["set_policy"] | {"definition": {"ha-mode": "nodes", "ha-params": ["b"]}}}, SYNC],
            "The master is no longer on a",
        ),
        ([{"sync_queue": "orders"}, ALL], "RabbitMQ refuses step 1: not_mirrored"),
        ([ALL, {"kill": "a"}], "Step 2, {'kill': 'a'}: here a step is one of set_policy"),
        (
            [ALL | {"set_policy": ALL["set_policy"] | {"definition": {"ha-mode": "nodes", "ha-params": ["b"]}}}],
            "which lost 100 messages: b held no message",
        ),
    ],
    "11-lose": [
        (stories("kill a"), "b took over and was synchronised"),
        (stories("kill a", "kill b", "kill c"), "a and b are down at the same time"),
        (stories("stop b", "start b", "kill a"), "c took over and was synchronised"),
        (stories("stop b", "start b", "stop c", "start c", "stop a"), "A queue that is down keeps the messages"),
        (stories("stop b", "start b", "stop c", "start c"), "Nothing is lost: a, the master, has everything"),
    ],
    "11-haste": [
        (policy(r"^orders\.", {"ha-mode": "all"}), "b took over 0.3 s after its boot"),
        (
            policy(r"^orders\.", {"ha-mode": "all", "ha-sync-mode": "automatic"}),
            "another one .* and with 40,000 messages: The kill of rabbit@north lost 40,000 messages",
        ),
        (policy(r"^orders\.", {"ha-mode": "all", "ha-promote-on-shutdown": "when-synced"}), "kill of a lost 100"),
        (
            policy(r"^orders\.", {"ha-mode": "all", "ha-promote-on-failure": "when-synced", "max-length": 3}),
            "orders.eu has 3 messages left out of 100",
        ),
        (policy("^other", {"ha-mode": "all"}), "has no mirrors; the task asks for one on every other node"),
    ],
    "11-restart": [
        (stories("stop b", "start b", "stop a", "start a"), "orders was down for 6.0 s"),
        (stories("stop b", "start b", "sync_queue orders", "stop a", "start a"), "Only b has the messages"),
        (stories("stop b", "start b", "sync_queue orders"), "a was not restarted"),
        (stories("stop b", "start b", "kill a", "start a"), "That cost 100 messages"),
        (stories("stop b", "start b", "sync_queue orders", "stop a"), "At the end a is not running"),
        ([], "No node was restarted"),
    ],
    "12-drain": [
        ([], "b still lacks 100 messages: no client has acknowledged"),
        ([{"close": "stuck"}, WORKER], "b still lacks 100 messages"),
        ([WORKER, acknowledged("worker")], "still lacks 1 message, and the consumer stuck holds these messages"),
        ([{"nack": {"consumer": "stuck"}}, WORKER, acknowledged("worker")], "the consumer stuck holds these messages"),
        (
            [{"nack": {"consumer": "stuck", "requeue": False}}, WORKER, acknowledged("worker")],
            "1 message left without an acknowledgement",
        ),
        (
            [{"close": "stuck"}, {"get": {"queue": "orders", "count": 100}}],
            "but not in another one .* 40,000 messages: rabbit@east still lacks 39,900 messages",
        ),
        ([SYNC], "here a step is one of consume"),
    ],
    "12-batch": [
        (policy(r"^media\.", AUTOMATIC), "a batch of films delayed the nodes' ticks"),
        (policy(r"^media\.", AUTOMATIC | {"ha-sync-batch-size": 1}), "a batch of films delayed the nodes' ticks"),
        (policy(r"^media\.", AUTOMATIC | {"ha-sync-batch-size": 1400}), "a batch of films delayed the nodes' ticks"),
        (policy(r"^media\.", AUTOMATIC | {"ha-sync-batch-size": 100}), "was blocked for 70.0 s: each batch pays"),
        (policy(r"^media\.", {"ha-mode": "all", "ha-sync-batch-size": 1000}), "media.eu.events is not synchronised"),
        (policy(r"^media\.", TWO | {"ha-sync-batch-size": 1000}), "has 1 mirror; the task asks for one"),
        (policy(r"^media\.eu", AUTOMATIC | {"ha-sync-batch-size": 1000}), "but not in .* media.us.events has no mirr"),
        (policy(r"^media\.", AUTOMATIC | {"ha-sync-batch-size": 0}), "takes an integer greater than 0, 0 given"),
    ],
    "12-idle": [
        (policy(r"^archive\.", AUTOMATIC), "at the same priority: RabbitMQ does not define"),
        (policy(r"^archive\.", AUTOMATIC, priority=-1), "The policy ha still applies to"),
        (policy("archive", AUTOMATIC, priority=1), r"also matches orders\.archive\.eu"),
        (policy("^archive", AUTOMATIC, priority=1), "also matches archived-eu"),
        (policy(r"^archive\.", {"ha-mode": "all"}, priority=1), "the mirrors of archive.eu on b and c are not synch"),
        (policy(r"^archive\.", {"ha-sync-mode": "automatic"}, priority=1), "RabbitMQ refuses .+: .* ha-mode must be"),
        (policy(r"^archive\.", TWO, priority=1), "archive.eu has 1 mirror; ha gave it one on every other node"),
        (policy(r"^archive\.", AUTOMATIC | {"max-length": 1}, priority=1), "has 1 message left out of 100"),
    ],
    "13-calls": [
        (policy(r"^orders\.", {"ha-mode": "all"}), "a was stopped, and orders.eu was down for 36.0 s"),
        (policy(r"^orders\.", CALLS | {"ha-promote-on-failure": "when-synced"}), "a was killed, and orders.eu was"),
        (
            policy(r"^orders\.", AUTOMATIC),
            "with 40,000 messages: rabbit@north was stopped, and orders.jobs.late was down for 36.0 s",
        ),
        (policy(r"^orders\.eu$", CALLS), "but not in another one .*: orders.us has no mirrors"),
        (policy(r"^orders\.", TWO | CALLS | {"ha-mode": "exactly"}), "has 1 mirror; the task asks for one"),
        (policy(r"^orders\.", CALLS | {"expires": 10_000}), "The queue orders.eu is gone"),
        (policy(r"^orders\.", CALLS | {"ha-promote-on-shutdown": "yes"}), 'RabbitMQ refuses .+: .* must be "always"'),
    ],
    "13-night": [
        (stories("stop a", "stop b", "stop c", "start c", "start b", "start a"), "In the morning orders has no mess"),
        (stories("stop b", "stop c", "stop a", "start b", "start c"), "At the end a, b and c are not running"),
        (stories("stop c", "stop b", "stop a", "start a", "start b"), "At the end c is not running"),
        ([{"stop": ["a", "b", "c"]}, {"start": ["a", "b", "c"]}], "a, b and c went down at once; the task asks"),
        (stories("stop a", "start a", "stop b", "start b"), "At no time were all nodes down"),
        ([{"set_policy": {"name": "two"}}], "here a step is one of stop, start"),
    ],
    "13-moment": [
        ([{"kill": ["a", "b"]}], "Nothing is lost: c has all messages"),
        (stories("kill c", "start c", "kill a"), "Nothing is lost: b has all messages"),
        (stories("kill c", "start c", "kill a", "kill b"), "waits for b, on whose disk .* A queue that is down keeps"),
        (stories("kill c", "start c", "kill b", "kill a"), "waits for a, on whose disk .* A queue that is down keeps"),
        ([{"kill": ["a", "b", "c"]}], "waits for a, on whose disk"),
        (stories("stop c", "start c"), "here a step is one of kill, start"),
    ],
    "14-full": [
        (policy(r"^orders\.", {"ha-mode": "all"}), "orders.eu holds 1,100 messages; at most 1,000 are allowed"),
        (policy(r"^orders\.", {"ha-mode": "all", "max-length": 1000}), "100 messages had been confirmed and were"),
        (policy(r"^orders\.", FULL), "has no mirrors; the task asks for one on every other node"),
        (policy(r"^orders\.", FULL | TWO), "has 1 mirror; the task asks for one on every other node"),
        (policy(r"^orders\.", FULL | {"ha-mode": "all", "max-length": 500}), "the task asks for room for 1,000"),
        (policy(r"^orders\.", FULL | {"ha-mode": "all"} | TTL), "has no messages left out of 1,000 after an hour"),
        (policy(r"^orders\.", FULL | {"ha-mode": "all", "overflow": "reject"}), "not a valid overflow value"),
        (policy(r"^orders\.eu$", FULL | {"ha-mode": "all"}), "but not in another one .*: orders.us has no mirrors"),
        (
            policy(r"^orders\.", {"ha-mode": "all", "max-length-bytes": 1024_000, "overflow": "reject-publish"}),
            "orders.eu holds 1,100 messages",
        ),
    ],
    "14-once": [
        ([*RESTART, acknowledged("worker"), *LATE], "5 messages came twice"),
        ([acknowledged("worker"), *RESTART, *LATE], "5 messages came twice"),
        ([{"cancel": "worker"}, *RESTART, *LATE], "5 messages came twice"),
        ([{"close": "worker"}, *RESTART, *LATE], "5 messages came twice"),
        ([{"cancel": "worker"}, acknowledged("worker"), *RESTART], "Not acknowledged yet: 95 messages of 100"),
        ([{"cancel": "worker"}, acknowledged("worker"), {"stop": "a"}, *LATE], "At the end a is not running"),
        ([{"cancel": "worker"}, acknowledged("worker"), *LATE], "a was not restarted"),
        (
            [{"nack": {"consumer": "worker", "requeue": False}}, {"close": "worker"}, *RESTART, *LATE],
            "5 messages came twice",
        ),
        (
            [{"cancel": "worker"}, {"nack": {"consumer": "worker", "requeue": False}}, *RESTART, *LATE],
            "5 messages left without an acknowledgement",
        ),
        ([{"cancel": "worker"}, acknowledged("worker"), {"kill": "a"}], "here a step is one of cancel, ack"),
    ],
    "14-ticktime": [
        ({"net_ticktime": 60}, "c lost power, and the publisher may be blocked for 70.99 s"),
        ({"net_ticktime": 35}, "may be blocked for 39.74 s"),
        ({"net_ticktime": 20}, "The cluster is partitioned: c may be considered down after 15.0 s of silence"),
        ({"net_ticktime": 25}, "The cluster is partitioned: c may be considered down after 18.75 s of silence"),
        ({"net_ticktime": "20"}, "The answer cannot be played: cluster.net_ticktime: not accepted"),
        ({"net_ticktime": 0}, "cannot be played"),
        ({"net_ticktime": 1e9}, "cannot be played"),
        ({"net_tick_time": 20}, "this exercise sets only net_ticktime"),
        ({"net_ticktime": 30, "timing": {"link_latency_s": 0}}, "this exercise sets only net_ticktime"),
        (30, "30 is not settings of the nodes"),
    ],
    "15-forget": [
        (stories("start b"), "orders has no messages of .*. Whose copy became the queue"),
        ([*stories("start b"), forgotten("a")], "orders has no messages of"),
        ([forgotten("a")], "At the end b is not running"),
        ([forgotten("a"), forgotten("b")], "orders was deleted: .* no node that was down had a copy"),
        (stories("force_boot b"), "orders has no messages of"),
        (stories("start a"), "RabbitMQ refuses the answer: node '.' has not joined the cluster since"),
        ([forgotten("b"), *stories("start b")], "RabbitMQ refuses .+: inconsistent_cluster"),
        ([forgotten("a"), *stories("start b", "stop c")], "At the end c is not running"),
        (stories("sync_queue orders"), "here a step is one of start, stop"),
    ],
    "15-heir": [
        ([forgotten("a")], "RabbitMQ refuses .+: no node is running"),
        ([offline("a", "c"), *stories("start c", "start b")], "orders has 100 messages of 110. Whose copy"),
        ([offline("a", "b"), *stories("start b", "start c")], "orders has 100 messages of 110"),
        (stories("start b", "start c"), "At the end b and c are not running"),
        (stories("force_boot c", "start b"), "orders is down: it waits for a"),
        (
            [*stories("force_boot c", "start b"), {"forget_cluster_node": {"node": "a", "from": "c"}}],
            "orders was deleted",
        ),
        ([offline("b", "c"), offline("a", "c"), *stories("start c")], "At the end b is not running"),
        (
            [offline("b", "c"), offline("a", "c"), *stories("start c", "start b")],
            "RabbitMQ refuses step 4: inconsistent_cluster",
        ),
    ],
    "15-ordered": [
        ([], "a, b and c are not stopped"),
        (stories("stop c", "stop b", "stop a"), "a runs, but orders is down: no mirror was synchronised"),
        ([SYNC, *stories("stop a", "stop b", "stop c")], "a is started alone and waits: it was not the last to stop"),
        ([SYNC, {"stop": ["a", "b", "c"]}], "a is started alone and waits"),
        ([SYNC, *stories("stop c", "stop a", "stop b")], "a is started alone and waits"),
        ([SYNC, *stories("stop c", "stop b")], "a is not stopped"),
        (stories("kill a"), "here a step is one of stop, start"),
    ],
    "16-spread": [
        (policy(r"^orders\.", {"ha-mode": "all"}), "a got 6 of the 6 new masters"),
        (policy(r"^orders\.", SPREAD | {"queue-master-locator": "client-local"}), "a got 6 of the 6 new masters"),
        (policy(r"^orders\.", SPREAD | {"queue-master-locator": "random"}), "a got 4 of the 6 new masters"),
        (policy(r"^orders\.", SPREAD | {"queue-master-locator": "balanced"}), "invalid queue-master-locator value"),
        (policy(r"^orders\.", {"queue-master-locator": "min-masters"}), "orders.eu.1 has no mirrors; the task"),
        (policy(r"^orders\.", TWO | {"queue-master-locator": "min-masters"}), "has 1 mirror; the task asks for one"),
        (policy("orders", SPREAD), "The policy also matches reorders.eu"),
        (policy(r"^orders\.eu", SPREAD), "but not in another one .*: orders.us.1 has no mirrors"),
        (
            policy(r"^orders\.", SPREAD | {"ha-mode": "nodes", "ha-params": ["a", "b", "c"]}),
            "but not in another one .*: orders.us.1 has no mirrors",
        ),
    ],
    "16-move": [
        ([place("b", "c"), SYNC], "For a while, only b had all messages"),
        ([place("b", "c", ha_sync_mode="automatic")], "For a while, only b had all messages"),
        ([place("a", "b", "c"), place("b", "c"), SYNC], "For a while, only b had all messages"),
        ([place("a", "c"), SYNC, place("c"), place("b", "c"), SYNC], "For a while, only a had all messages"),
        ([place("a", "b", "c"), SYNC, place("c"), place("b", "c"), SYNC], "For a while, only c had all messages"),
        ([place("a", "b", "c"), SYNC], "orders has copies on a, b and c; the task asks for copies on b and c"),
        ([], "orders has copies on a and b; the task asks for copies on b and c"),
        ([{"clear_policy": "place"}], "orders has copies on a; the task asks for copies on b and c"),
        ([REBALANCE], "orders has copies on a and b"),
        (stories("stop a"), "here a step is one of set_policy"),
    ],
    "16-share": [
        ([REBALANCE], "That cost 200 messages: a master was moved to a mirror that was not synchronised"),
        ([everywhere(ha_promote_on_failure="when-synced"), REBALANCE], "That cost 200 messages"),
        ([SYNC, REBALANCE, *SYNC_ALL], "That cost 200 messages"),
        ([*SYNC_ALL, REBALANCE], "Not all mirrors of bills and mails are synchronised"),
        (SYNC_ALL, "a has the masters of bills, mails and orders"),
        ([everywhere(queue_master_locator="min-masters")], "a has the masters of bills, mails and orders"),
        ([everywhere(max_length=1)], "Messages of bills, mails and orders are gone that no client consumed"),
        (stories("stop a"), "here a step is one of sync_queue, rebalance"),
    ],
}
