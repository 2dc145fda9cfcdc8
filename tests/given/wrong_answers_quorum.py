"""Wrong answers to the exercises of notebooks 17 to 20, on quorum queues and partitions, and why each is refused."""

from __future__ import annotations

from answer_steps import FULL, QUORUM, TWO, declaration, forgotten, in_rooms, member, policy, stories

APART = {"partition": [["a"], ["b", "c"]]}
HEAL = {"heal": True}
GROW = {"grow": {"node": "d"}}
LIMIT = {"max-length": 1000}
BOTH = {"ha-mode": "all"} | LIMIT
DEAD = {"dead-letter-exchange": "", "dead-letter-routing-key": "dead"}
REWRITTEN = FULL | DEAD | {"delivery-limit": 5}
NEW = "new::orders"
DECLARE = {"declare": {"queue": NEW, "arguments": QUORUM}}
OUT_OF_OLD = [{"wait": 60}, {"close": "worker"}, {"delete": {"queue": "orders"}}]
PUBLISH = [{"close": "shop"}, {"publisher": {"name": "shop 2", "queue": NEW, "rate": 10}}]
CONSUME = {"consume": {"consumer": "worker 2", "queue": NEW, "rate": 2000}}
JOBS = QUORUM | {"x-delivery-limit": 3, "x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead"}


def late(node: str, count: int = 5) -> dict:
    """Return the step with which a client at a node publishes to orders."""
    return {"publish": {"queue": "orders", "count": count, "node": node}}


def handling(value: object) -> dict:
    """Return an answer that is a partition handling mode."""
    return {"cluster_partition_handling": value}


def replaced(node: str, *more: str) -> list[dict]:
    """Return steps that give a node a new disk, and then `more`."""
    then = {"sync": {"sync_queue": "mirrored"}, "grow": {"grow": {"node": node}}}
    return [{"wipe": node}, {"forget_cluster_node": {"node": node}}, {"join": node}, *map(then.get, more)]


def orders_policy(name: str, definition: dict, pattern: str = r"^orders\.", **fields: object) -> dict:
    """Return the step that sets a policy for queues with the prefix orders."""
    return {"set_policy": {"name": name, "pattern": pattern, "definition": definition} | fields}


def with_other(index: int, step: dict) -> list[dict]:
    """Return the right declarations of lesson 19 with one changed."""
    right = [
        declaration("orders", QUORUM),
        declaration("urgent", {"x-max-priority": 10}),
        declaration("answers", exclusive=True, connection="client"),
        declaration("jobs", JOBS),
    ]
    return [*right[:index], step, *right[index + 1 :]]


ON_QUORUM_QUEUES = {
    "17-undone": [
        ([], "After the first 100 messages, no messages followed; the task asks for 5"),
        ([APART, late("a", 3), *stories("kill a"), HEAL, *stories("start a")], "3 messages followed; the task"),
        ([late("a")], "A majority had 5 of the late messages"),
        ([APART, late("a"), HEAL], "A majority had 5 of the late"),
        ([APART, late("b"), *stories("kill a", "wait 30"), HEAL, *stories("start a")],
         "had 4 of the late messages in the end"),
        ([APART, late("a"), *stories("kill a", "wait 30"), HEAL], "At the end a is not running"),
        (
            [{"kill": ["b", "c"]}, late("a"), *stories("kill a", "start b", "start c", "start a")],
            "another one .*: The late messages are in the queue, .* not confirmed: rabbit@north, which was elected",
        ),
        (stories("wipe a"), "here a step is one of partition, cut"),
    ],
    "17-replace": [
        ([], "orders has no member on d"),
        (stories("join d", "shrink c"), "orders has no member on d"),
        ([*stories("join d"), GROW], "If a is killed, orders is not available: of its 4 members, .*, only b and d run"),
        ([*stories("shrink c", "join d"), member("add", "d")], "bills has no member on d"),
        ([GROW], "orders has no member on d"),
        ([*stories("join d"), GROW, *stories("shrink c", "shrink b")], "of its 2 members, a and d, only d runs"),
        ([forgotten("c"), *stories("join c"), {"grow": {"node": "c"}}], "orders has no member on d"),
        (stories("start c"), "node 'c' has not joined the cluster since its disk was lost"),
    ],
    "17-size": [
        ({"quorum_cluster_size": 3}, "After a kill of a and b orders is not available: .* only c runs"),
        ({"quorum_cluster_size": 4}, "only c and d run, and a majority is 3"),
        ({"quorum_cluster_size": 1}, "of its 1 member, a, none runs, and a majority is 1"),
        ({"quorum_cluster_size": 7}, "orders has 7 members: fewer are enough, and each stores every message"),
        ({"quorum_cluster_size": 0}, "cannot be played: cluster.quorum_cluster_size: not accepted"),
        ({"x-quorum-initial-group-size": 5}, "this exercise sets only quorum_cluster_size"),
    ],
    "18-restart": [
        ([], r"The cluster is still partitioned: a and b \| c"),
        (stories("stop c", "start c"), "orders has 10 messages of the 110 that c had: that node discarded"),
        (stories("stop a", "start a", "stop b", "start b"), "If a node boots while another node of its side runs"),
        ([{"stop": ["a", "b", "c"]}, {"start": ["a", "b", "c"]}], "orders has 10 messages of the 110 that c had"),
        (stories("stop b", "stop a", "start b"), "At the end a is not running"),
        (stories("force_boot c"), "here a step is one of stop, start"),
    ],
    "18-handling": [
        (handling("ignore"), "With a cut off both sides have continued, and the cluster stays partitioned"),
        (handling("autoheal"), "With a cut off 200 messages that had been confirmed are lost"),
        (handling({"pause_if_all_down": ["a"], "recover": "ignore"}), "With a cut off orders is not available on b"),
        (handling({"pause_if_all_down": ["a", "b"], "recover": "autoheal"}), "200 messages that had been confirmed"),
        (handling("pause-minority"), "accepted: ignore, pause_minority, autoheal"),
        (handling({"pause_if_all_down": ["a"]}), "cannot be played: .*cluster_partition_handling"),
        ({"net_ticktime": 5}, "this exercise sets only cluster_partition_handling"),
    ],
    "18-sites": [
        ([], "With the north cut off, orders is not available in the other places: of 3 members d can be reached"),
        ([member("add", "c")], "orders has 4 members, and each stores every message; the task asks for 3"),
        ([member("add", "c"), member("add", "e")], "orders has 5 members"),
        ([member("delete", "b")], "With the north cut off, .* of 2 members d can be reached"),
        ([member("delete", "b"), member("add", "e")], "With the south cut off, .* of 3 members a can be reached"),
        ([member("delete", "d"), member("add", "c")], "With the north cut off, .* of 3 members c can be reached"),
        (stories("stop b"), "here a step is one of add_member, delete_member"),
    ],
    "19-rooms": [
        ([], "There is no queue orders"),
        ([declaration("orders", QUORUM)], "a majority of its 3 members is 2, and only . can be reached"),
        (
            [declaration("orders", QUORUM | {"x-quorum-initial-group-size": 4})],
            "room with a and b has lost power, and no node serves orders: a majority of its 4 members is 3, and",
        ),
        ([declaration("orders")], "room with a and b has lost power, and no node serves orders: all nodes that had"),
        ([in_rooms({"ha-mode": "nodes", "ha-params": ["a", "b"]}), declaration("orders")], "no node serves orders"),
        ([in_rooms({"ha-mode": "nodes", "ha-params": ["c", "d"]}), declaration("orders")], "room with c and d has"),
        ([in_rooms(TWO), declaration("orders")], "no node serves orders"),
        (stories("stop a"), "here a step is one of set_policy, declare"),
    ],
    "19-choose": [
        ([], "There is no queue orders"),
        (with_other(0, declaration("orders")), "The other nodes were restarted and a killed: 100 messages of orders"),
        (with_other(0, declaration("orders", QUORUM | {"x-quorum-initial-group-size": 1})), "no node serves orders"),
        (with_other(1, declaration("urgent", QUORUM)), "published to urgent last, but was not delivered first"),
        (with_other(1, declaration("urgent", QUORUM | {"x-max-priority": 5})), "RabbitMQ refuses .+: .* 'x-max-prio"),
        (with_other(2, declaration("answers", auto_delete=True, connection="client")), "answers still exists"),
        (with_other(2, declaration("answers", exclusive=True)), "but the queue answers still exists"),
        (with_other(2, declaration("answers", QUORUM, exclusive=True)), "RabbitMQ refuses .+: .* 'exclusive-owner'"),
        (with_other(3, declaration("jobs", JOBS | {"x-delivery-limit": 4})), "returned to jobs 4 times, and was deli"),
        (with_other(3, declaration("jobs", JOBS | {"x-delivery-limit": 2})), "3 times, which is allowed, but it is"),
        (with_other(3, declaration("jobs", JOBS | {"x-queue-type": "classic"})), "RabbitMQ refuses .+: .* 'x-deliv"),
        (with_other(3, declaration("jobs", QUORUM | {"x-delivery-limit": 3})), "is not in the queue dead"),
        (stories("stop a"), "here a step is one of declare"),
    ],
    "19-replace": [
        ([], "a, b and c have not been replaced"),
        (replaced("a", "sync", "grow"), "b and c have not been replaced"),
        ([step for node in "abc" for step in replaced(node, "grow")], "mirrored lost 100 messages"),
        ([step for node in "abc" for step in replaced(node, "sync")], "quorum has all messages only on b and c"),
        (
            [step for node in "abc" for step in replaced(node, "sync")] + [{"grow": {"node": node}} for node in "abc"],
            "but not in another one .*: quorum lost 7 messages",
        ),
        ([{"wipe": node} for node in "abc"], "At the end a, b and c are not running"),
    ],
    "20-both": [
        ([], "orders.eu holds 1,100 messages and follows the policy ha; at most 1,000 are allowed"),
        ([orders_policy("ha", BOTH)], "orders.eu.new holds 1,100 messages and follows no policy"),
        ([orders_policy("limit", LIMIT, priority=1)], "Classic queue orders.eu has no mirrors"),
        ([orders_policy("limit", LIMIT, priority=-1)], "orders.eu holds 1,100 messages and follows the policy ha"),
        ([orders_policy("ha", BOTH), orders_policy("limit", LIMIT)], "Two policies match orders.eu at the same"),
        ([orders_policy("limit", LIMIT, apply_to="quorum_queues")], "RabbitMQ refuses .+: .*'quorum_queues' unreco"),
        (
            [orders_policy("ha", BOTH, priority=1), orders_policy("limit", LIMIT, r"^orders\.eu")],
            "but not in another one .*: orders.us.new holds 1,007 messages and follows no policy",
        ),
        (
            [orders_policy("ha", BOTH, priority=1), orders_policy("limit", {"max-length": 100})],
            "orders.eu.new holds 100 messages; the task asks for room for 1,000",
        ),
    ],
    "20-rewrite": [
        (policy(r"^orders\.", REWRITTEN | TWO), "RabbitMQ refuses .+: .* are not recognised policy settings"),
        (policy(r"^orders\.", REWRITTEN | {"queue-mode": "lazy"}), "The policy does not apply to orders.eu"),
        (policy(r"^orders\.", REWRITTEN | {"overflow": "reject-publish-dlx"}), "101 messages had been confirmed"),
        (policy(r"^orders\.", REWRITTEN | {"message-ttl": 1000}), "dropped them from its head, or they expired"),
        (policy(r"^orders\.", REWRITTEN | {"max-length": 500}), "took 1,000 messages. With room for 1,000"),
        (policy(r"^orders\.", FULL | DEAD), "returned to orders.eu 6 times, and was delivered again"),
        (policy(r"^orders\.", REWRITTEN | {"delivery-limit": 4}), "5 times, which is allowed, but it is gone"),
        (policy(r"^orders\.", REWRITTEN | {"delivery-limit": -1}), "6 times, and was delivered again"),
        (policy(r"^orders\.", FULL | {"delivery-limit": 5}), "is not in the queue dead"),
        (policy("orders", REWRITTEN), "The policy also matches reorders.eu"),
        (policy(r"^orders\.eu", REWRITTEN), "but not in another one .*: The policy does not apply to orders.us"),
    ],
    "20-move": [
        ([], "There is no queue new::orders"),
        ([{"declare": {"queue": "orders", "arguments": QUORUM}}], "RabbitMQ refuses .+: .* 'x-queue-type'"),
        ([{"delete": {"queue": "orders"}}, DECLARE, *PUBLISH, CONSUME], "orders was deleted with 100 messages in it"),
        ([*PUBLISH, *OUT_OF_OLD, DECLARE, CONSUME], "600 messages found no queue new::orders, but were confirmed"),
        ([DECLARE, *PUBLISH, CONSUME, *OUT_OF_OLD], "orders still held 84 messages, which are older"),
        ([DECLARE, PUBLISH[0], *OUT_OF_OLD, PUBLISH[1], CONSUME], "For 60.0 s, no client published"),
        ([DECLARE, *PUBLISH, {"wait": 60}, CONSUME], "orders is still there"),
        ([DECLARE, PUBLISH[1], {"wait": 60.05}, CONSUME, *PUBLISH[:1], *OUT_OF_OLD], "a client still published"),
        (
            [DECLARE, *PUBLISH, *OUT_OF_OLD, {"consume": {"consumer": "idle", "queue": NEW}}],
            "In the 10 s after the last step nothing was acknowledged in new::orders",
        ),
        (
            [DECLARE, *PUBLISH, *OUT_OF_OLD, CONSUME, {"close": "shop 2"}],
            "In the 10 s after the last step nothing was confirmed in new::orders",
        ),
        ([DECLARE, *PUBLISH, *OUT_OF_OLD], "No client consumes from new::orders"),
        ([{"declare": {"queue": NEW}}, *PUBLISH, *OUT_OF_OLD, CONSUME], "new::orders is a classic queue"),
        (
            [{"declare": {"queue": NEW, "arguments": QUORUM | {"x-quorum-initial-group-size": 1}}}, *PUBLISH],
            "new::orders has members only on a",
        ),
        (
            [DECLARE, *PUBLISH, {"wait": 1}, *OUT_OF_OLD[1:], CONSUME],
            "with 40,000 messages: orders was deleted with 37,990 messages in it",
        ),
        (stories("stop a"), "here a step is one of declare, publisher"),
    ],
}
