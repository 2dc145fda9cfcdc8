"""Every exercise: its solution in the notebook is accepted, and typical wrong answers are refused with a reason."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import nbformat
import pytest

from hawb.lessons import exercises
from hawb.lessons.exercises import AS_TOLD, HELD_BACK, MOST_STEPS, judged
from hawb.lessons.notebook import EXERCISES

NOTEBOOKS = Path(__file__).parents[1] / "notebooks"
LESSONS = sorted([*NOTEBOOKS.glob("1[0-9]-*.ipynb"), *NOTEBOOKS.glob("20-*.ipynb")])
TAKES_CHECK = re.compile(r"from hawb\.lessons import check\b")
WITH_EXERCISES = [file for file in sorted(NOTEBOOKS.glob("*.ipynb")) if TAKES_CHECK.search(file.read_text("utf-8"))]
"""The exercises of the other notebooks are in tests/test_study_exercises.py."""
CELLS = [
    cell for file in WITH_EXERCISES for cell in nbformat.read(file, as_version=4).cells if cell.cell_type == "code"
]
SOLUTION = re.compile(r'# solution\n(.*)# end of solution\ncheck\("([^"]*)", \w+\)', re.DOTALL)
MENTIONED = re.compile(r'\b(predict|truth)\(.*?"((?:1\d|20)-[a-z-]+)"', re.DOTALL)
TWO = {"ha-mode": "exactly", "ha-params": 2, "ha-sync-mode": "automatic"}
TTL = {"message-ttl": 60000}
AUTOMATIC = {"ha-mode": "all", "ha-sync-mode": "automatic"}
CALLS = {"ha-mode": "all", "ha-promote-on-shutdown": "always"}
FULL = {"max-length": 1000, "overflow": "reject-publish"}
SYNC = {"sync_queue": "orders"}
RESTART = [{"stop": "a"}, {"start": "a"}]
LATE = [{"consume": {"consumer": "late", "queue": "orders"}}, {"ack": {"consumer": "late"}}]
WORKER = {"consume": {"consumer": "worker", "queue": "orders"}}
SPREAD = {"ha-mode": "all", "queue-master-locator": "min-masters"}
SYNC_ALL = [{"sync_queue": queue} for queue in ("bills", "mails", "orders")]
REBALANCE = {"rebalance": True}
APART = {"partition": [["a"], ["b", "c"]]}
HEAL = {"heal": True}
GROW = {"grow": {"node": "d"}}
ALL = {"set_policy": {"name": "ha", "pattern": "^orders", "definition": {"ha-mode": "all"}}}
QUORUM = {"x-queue-type": "quorum"}
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
THIRD_VOTE = {"add_member": {"queue": "votes", "node": "c"}}
JOBS_EMPTY, JOBS_MIRRORED = (
    {"set_policy": {"name": "jobs", "pattern": "^jobs$", "definition": definition}}
    for definition in ({"ha-mode": "all"}, AUTOMATIC)
)
SYNC_CALLS = {"sync_queue": "calls"}
ROLL = [{verb: node} for node in "cba" for verb in ("stop", "start")]


def solutions() -> dict[str, object]:
    """What the notebooks give as answers, by the exercises' keys."""
    found = {}
    for cell in CELLS:
        if match := SOLUTION.search(cell.source):
            code, key = match.groups()
            found[key] = ast.literal_eval(ast.parse(code).body[-1].value)
    return found


def policy(pattern: str, definition: dict, **fields: object) -> dict:
    """An answer that is a policy."""
    return {"pattern": pattern, "definition": definition} | fields


def stories(*lists: str) -> list[dict]:
    """Steps of one word each: "stop b" is {"stop": "b"}."""
    return [{verb: float(word) if verb == "wait" else word} for verb, word in map(str.split, lists)]


def in_rooms(definition: dict) -> dict:
    """The step that sets a policy for orders."""
    return {"set_policy": {"name": "ha", "pattern": "^orders", "definition": definition}}


def acknowledged(consumer: str) -> dict:
    """The step with which a consumer acknowledges all that it has."""
    return {"ack": {"consumer": consumer}}


def forgotten(node: str) -> dict:
    """The step with which a node that runs forgets another."""
    return {"forget_cluster_node": {"node": node}}


def offline(node: str, by: str) -> dict:
    """The step with which a node that is down forgets another, while nobody runs."""
    return {"forget_cluster_node": {"node": node, "from": by, "offline": True}}


def late(node: str, count: int = 5) -> dict:
    """The step with which a client at a node publishes to orders."""
    return {"publish": {"queue": "orders", "count": count, "node": node}}


def member(verb: str, node: str) -> dict:
    """The step with which a member of orders is added or deleted."""
    return {f"{verb}_member": {"queue": "orders", "node": node}}


def handling(value: object) -> dict:
    """An answer that is a partition handling."""
    return {"cluster_partition_handling": value}


def place(*nodes: str, **keys: str) -> dict:
    """The step that sets the policy place to a list of nodes."""
    definition = {"ha-mode": "nodes", "ha-params": list(nodes)} | {key.replace("_", "-"): keys[key] for key in keys}
    return {"set_policy": {"name": "place", "pattern": "^orders$", "definition": definition}}


def declaration(queue: str, arguments: dict | None = None, **fields: object) -> dict:
    """The step that declares a queue."""
    return {"declare": {"queue": queue, "arguments": arguments or {}} | fields}


def replaced(node: str, *more: str) -> list[dict]:
    """The steps that give a node a new disk, and then `more`: sync or grow."""
    then = {"sync": {"sync_queue": "mirrored"}, "grow": {"grow": {"node": node}}}
    return [{"wipe": node}, {"forget_cluster_node": {"node": node}}, {"join": node}, *map(then.get, more)]


def orders_policy(name: str, definition: dict, pattern: str = r"^orders\.", **fields: object) -> dict:
    """The step that sets a policy for queues whose names begin with orders."""
    return {"set_policy": {"name": name, "pattern": pattern, "definition": definition} | fields}


def with_ten(queue: str, arguments: dict | None = None, *more: dict) -> list[dict]:
    """The steps that declare a queue on a and publish 10 messages to it, and then `more`."""
    return [declaration(queue, arguments, node="a"), {"publish": {"queue": queue, "count": 10}}, *more]


def with_other(index: int, step: dict) -> list[dict]:
    """The right declarations of lesson 19, but for one."""
    right = [
        declaration("orders", QUORUM),
        declaration("urgent", {"x-max-priority": 10}),
        declaration("answers", exclusive=True, connection="client"),
        declaration("jobs", JOBS),
    ]
    return [*right[:index], step, *right[index + 1 :]]


def everywhere(**keys: str) -> dict:
    """The step that sets the policy ha for all queues, with more keys than it had."""
    definition = {"ha-mode": "all"} | {key.replace("_", "-"): keys[key] for key in keys}
    return {"set_policy": {"name": "ha", "pattern": "", "definition": definition}}


WRONG = {
    "10-two-copies": [
        (policy("orders", TWO), "The policy reaches reorders.eu too"),
        (policy("^orders.", TWO), "The policy reaches orders-eu too"),
        (policy(r"^orders\.eu", TWO), r"It works in the cluster that you see, but .* orders\.us is not mirrored"),
        (policy(r"^orders\.", {"ha-mode": "all"}), "has 3 running replicas, two were asked for"),
        (policy(r"^orders\.", {"ha-mode": "exactly", "ha-params": 2}), "lacks the messages that were there before it"),
        (policy(r"^orders\.", {"ha-mode": "exactly", "ha-params": "2"}), "refused by RabbitMQ: .* takes an integer"),
        (policy(r"^orders\.", TWO | {"max-length": 1}), "orders.eu has 1 message left of 100"),
        (policy(r"^orders\.", TWO | {"expires": 1000}), "The queue orders.eu is gone"),
        (policy(r"^orders\.", TWO | {"ha-mode": "nodes", "ha-params": ["a", "b"]}), "but not in one of the nodes"),
    ],
    "10-ttl": [
        (policy(r"\.tmp$", TTL, priority=1), "is no longer mirrored"),
        (policy(r"\.tmp$", TWO | TTL), "at the same priority: RabbitMQ leaves open"),
        (policy(r"\.tmp$", TWO | TTL, priority=-1), "still follows ha"),
        (policy("^orders", TWO | TTL, priority=1), "orders.eu no longer follows the policy ha"),
        (policy(r"\.tmp$", TWO | {"message-ttl": 60}, priority=1), "A message-ttl is in milliseconds"),
        (policy(r"\.tmp$", TWO | {"expires": 60000}, priority=1), "The queue orders.eu.tmp is gone"),
        (policy(r"\.tmp$", TTL, name="ha", priority=1), "is no longer mirrored"),
        (policy(r"\.tmp$", TWO, priority=1), "still has 100 messages"),
        (policy(r"\.tmp$", {"ha-mode": "all"} | TTL, priority=1), "has 3 running replicas"),
    ],
    "10-late-mirror": [
        ([], "it had no mirror"),
        ([ALL], "with it went 100 messages: b and c held nothing from before the policy"),
        ([ALL, {"wait": 60}], "with it went 100 messages"),
        (
            [ALL | {"set_policy": ALL["set_policy"] | {"definition": {"ha-mode": "all", "max-length": 1}}}],
            "Messages are gone before a is killed",
        ),
        (
            [ALL | {"set_policy": ALL["set_policy"] | {"definition": {"ha-mode": "nodes", "ha-params": ["b"]}}}, SYNC],
            "The master is no longer on a",
        ),
        ([{"sync_queue": "orders"}, ALL], "Step 1 is refused by RabbitMQ: not_mirrored"),
        ([ALL, {"kill": "a"}], "Step 2, {'kill': 'a'}: here a step is one of set_policy"),
        (
            [ALL | {"set_policy": ALL["set_policy"] | {"definition": {"ha-mode": "nodes", "ha-params": ["b"]}}}],
            "with it went 100 messages: b held nothing",
        ),
    ],
    "11-lose": [
        (stories("kill a"), "b took over and was synchronised"),
        (stories("kill a", "kill b", "kill c"), "a and b are down at once"),
        (stories("stop b", "start b", "kill a"), "c took over and was synchronised"),
        (stories("stop b", "start b", "stop c", "start c", "stop a"), "Down is not lost"),
        (stories("stop b", "start b", "stop c", "start c"), "Nothing is lost: a, the master, has everything"),
    ],
    "11-haste": [
        (policy(r"^orders\.", {"ha-mode": "all"}), "b took over 0.3 s after its boot"),
        (
            policy(r"^orders\.", {"ha-mode": "all", "ha-sync-mode": "automatic"}),
            "not in one of the nodes .*, with 40,000 messages: With rabbit@north went 40,000 messages",
        ),
        (policy(r"^orders\.", {"ha-mode": "all", "ha-promote-on-shutdown": "when-synced"}), "With a went 100 messages"),
        (
            policy(r"^orders\.", {"ha-mode": "all", "ha-promote-on-failure": "when-synced", "max-length": 3}),
            "orders.eu has 3 messages left of 100",
        ),
        (policy("^other", {"ha-mode": "all"}), "has no mirrors, one on every other node was asked for"),
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
        ([], "b still lacks 100 messages: nobody has acknowledged"),
        ([{"close": "stuck"}, WORKER], "b still lacks 100 messages"),
        ([WORKER, acknowledged("worker")], "lacks 1 message still, and the consumer stuck holds what it lacks"),
        ([{"nack": {"consumer": "stuck"}}, WORKER, acknowledged("worker")], "the consumer stuck holds what it lacks"),
        (
            [{"nack": {"consumer": "stuck", "requeue": False}}, WORKER, acknowledged("worker")],
            "1 message went without having been acknowledged",
        ),
        (
            [{"close": "stuck"}, {"get": {"queue": "orders", "count": 100}}],
            "but not in one of .* with 40,000 messages: rabbit@east still lacks 39,900 messages",
        ),
        ([SYNC], "here a step is one of consume"),
    ],
    "12-batch": [
        (policy(r"^media\.", AUTOMATIC), "a batch of films kept the link so long"),
        (policy(r"^media\.", AUTOMATIC | {"ha-sync-batch-size": 1}), "a batch of films kept the link so long"),
        (policy(r"^media\.", AUTOMATIC | {"ha-sync-batch-size": 1400}), "a batch of films kept the link so long"),
        (policy(r"^media\.", AUTOMATIC | {"ha-sync-batch-size": 100}), "was blocked for 70.0 s: each batch pays"),
        (policy(r"^media\.", {"ha-mode": "all", "ha-sync-batch-size": 1000}), "Nobody synchronised media.eu.events"),
        (policy(r"^media\.", TWO | {"ha-sync-batch-size": 1000}), "has 1 mirror, one on every other node was asked"),
        (policy(r"^media\.eu", AUTOMATIC | {"ha-sync-batch-size": 1000}), "but not in .* media.us.events has no mirr"),
        (policy(r"^media\.", AUTOMATIC | {"ha-sync-batch-size": 0}), "takes an integer greater than 0, 0 given"),
    ],
    "12-idle": [
        (policy(r"^archive\.", AUTOMATIC), "at the same priority: RabbitMQ leaves open"),
        (policy(r"^archive\.", AUTOMATIC, priority=-1), "still follows ha"),
        (policy("archive", AUTOMATIC, priority=1), r"reaches orders\.archive\.eu too"),
        (policy("^archive", AUTOMATIC, priority=1), "reaches archived-eu too"),
        (policy(r"^archive\.", {"ha-mode": "all"}, priority=1), "the mirrors of archive.eu on b and c are not synch"),
        (policy(r"^archive\.", {"ha-sync-mode": "automatic"}, priority=1), "refused by RabbitMQ: .* ha-mode must be"),
        (policy(r"^archive\.", TWO, priority=1), "archive.eu has 1 mirror; ha gave it one on every other node"),
        (policy(r"^archive\.", AUTOMATIC | {"max-length": 1}, priority=1), "has 1 message left of 100"),
    ],
    "13-calls": [
        (policy(r"^orders\.", {"ha-mode": "all"}), "a was stopped, and orders.eu was down for 36.0 s"),
        (policy(r"^orders\.", CALLS | {"ha-promote-on-failure": "when-synced"}), "a was killed, and orders.eu was"),
        (
            policy(r"^orders\.", AUTOMATIC),
            "with 40,000 messages: rabbit@north was stopped, and orders.jobs.late was down for 36.0 s",
        ),
        (policy(r"^orders\.eu$", CALLS), "but not in one of .*: orders.us has no mirrors"),
        (policy(r"^orders\.", TWO | CALLS | {"ha-mode": "exactly"}), "has 1 mirror, one on every other node was asked"),
        (policy(r"^orders\.", CALLS | {"expires": 10_000}), "The queue orders.eu is gone"),
        (policy(r"^orders\.", CALLS | {"ha-promote-on-shutdown": "yes"}), 'refused by RabbitMQ: .* must be "always"'),
    ],
    "13-night": [
        (stories("stop a", "stop b", "stop c", "start c", "start b", "start a"), "In the morning orders has no mess"),
        (stories("stop b", "stop c", "stop a", "start b", "start c"), "At the end a, b and c are not running"),
        (stories("stop c", "stop b", "stop a", "start a", "start b"), "At the end c is not running"),
        ([{"stop": ["a", "b", "c"]}, {"start": ["a", "b", "c"]}], "a, b and c went at once; node by node was"),
        (stories("stop a", "start a", "stop b", "start b"), "At no time were all nodes down"),
        ([{"set_policy": {"name": "two"}}], "here a step is one of stop, start"),
    ],
    "13-moment": [
        ([{"kill": ["a", "b"]}], "Nothing is lost: c has all messages"),
        (stories("kill c", "start c", "kill a"), "Nothing is lost: b has all messages"),
        (stories("kill c", "start c", "kill a", "kill b"), "waits for b, on whose disk .* Down is not lost"),
        (stories("kill c", "start c", "kill b", "kill a"), "waits for a, on whose disk .* Down is not lost"),
        ([{"kill": ["a", "b", "c"]}], "waits for a, on whose disk"),
        (stories("stop c", "start c"), "here a step is one of kill, start"),
    ],
    "14-full": [
        (policy(r"^orders\.", {"ha-mode": "all"}), "orders.eu holds 1,100 messages; 1,000 was the most"),
        (policy(r"^orders\.", {"ha-mode": "all", "max-length": 1000}), "100 messages had been confirmed and went to"),
        (policy(r"^orders\.", FULL), "has no mirrors, one on every other node was asked for"),
        (policy(r"^orders\.", FULL | TWO), "has 1 mirror, one on every other node was asked for"),
        (policy(r"^orders\.", FULL | {"ha-mode": "all", "max-length": 500}), "there is to be room for 1,000"),
        (policy(r"^orders\.", FULL | {"ha-mode": "all"} | TTL), "has no messages left of 1,000 after an hour"),
        (policy(r"^orders\.", FULL | {"ha-mode": "all", "overflow": "reject"}), "not a valid overflow value"),
        (policy(r"^orders\.eu$", FULL | {"ha-mode": "all"}), "but not in one of .*: orders.us has no mirrors"),
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
            "5 messages went without having been acknowledged",
        ),
        ([{"cancel": "worker"}, acknowledged("worker"), {"kill": "a"}], "here a step is one of cancel, ack"),
    ],
    "14-ticktime": [
        ({"net_ticktime": 60}, "c lost power, and the publisher may have to stand still for 70.99 s"),
        ({"net_ticktime": 35}, "may have to stand still for 39.74 s"),
        ({"net_ticktime": 20}, "The cluster is partitioned: c may be taken for dead 15.0 s after it was heard last"),
        ({"net_ticktime": 25}, "The cluster is partitioned: c may be taken for dead 18.75 s after it was heard last"),
        ({"net_ticktime": "20"}, "The answer cannot be played: cluster.net_ticktime: not accepted"),
        ({"net_ticktime": 0}, "cannot be played"),
        ({"net_ticktime": 1e9}, "cannot be played"),
        ({"net_tick_time": 20}, "what is to be set here is net_ticktime, nothing else"),
        ({"net_ticktime": 30, "timing": {"link_latency_s": 0}}, "what is to be set here is net_ticktime"),
        (30, "30 is not settings of the nodes"),
    ],
    "15-forget": [
        (stories("start b"), "orders has no messages of .*. Whose copy became the queue"),
        ([*stories("start b"), forgotten("a")], "orders has no messages of"),
        ([forgotten("a")], "At the end b is not running"),
        ([forgotten("a"), forgotten("b")], "orders was deleted: .* no node that was down had a copy"),
        (stories("force_boot b"), "orders has no messages of"),
        (stories("start a"), "The answer is refused by RabbitMQ: node '.' has not joined the cluster since"),
        ([forgotten("b"), *stories("start b")], "refused by RabbitMQ: inconsistent_cluster"),
        ([forgotten("a"), *stories("start b", "stop c")], "At the end c is not running"),
        (stories("sync_queue orders"), "here a step is one of start, stop"),
    ],
    "15-heir": [
        ([forgotten("a")], "refused by RabbitMQ: no node is running"),
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
            "Step 4 is refused by RabbitMQ: inconsistent_cluster",
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
        (policy(r"^orders\.", {"queue-master-locator": "min-masters"}), "orders.eu.1 has no mirrors, one on every"),
        (policy(r"^orders\.", TWO | {"queue-master-locator": "min-masters"}), "has 1 mirror, one on every other node"),
        (policy("orders", SPREAD), "The policy reaches reorders.eu too"),
        (policy(r"^orders\.eu", SPREAD), "but not in one of .*: orders.us.1 has no mirrors"),
        (
            policy(r"^orders\.", SPREAD | {"ha-mode": "nodes", "ha-params": ["a", "b", "c"]}),
            "but not in one of .*: orders.us.1 has no mirrors",
        ),
    ],
    "16-move": [
        ([place("b", "c"), SYNC], "For a while b alone had all messages"),
        ([place("b", "c", ha_sync_mode="automatic")], "For a while b alone had all messages"),
        ([place("a", "b", "c"), place("b", "c"), SYNC], "For a while b alone had all messages"),
        ([place("a", "c"), SYNC, place("c"), place("b", "c"), SYNC], "For a while a alone had all messages"),
        ([place("a", "b", "c"), SYNC, place("c"), place("b", "c"), SYNC], "For a while c alone had all messages"),
        ([place("a", "b", "c"), SYNC], "orders has copies on a, b and c, where b and c were asked for"),
        ([], "orders has copies on a and b, where b and c were asked for"),
        ([{"clear_policy": "place"}], "orders has copies on a, where b and c were asked for"),
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
        ([everywhere(max_length=1)], "Messages of bills, mails and orders are gone that nobody consumed"),
        (stories("stop a"), "here a step is one of sync_queue, rebalance"),
    ],
    "17-undone": [
        ([], "After the first 100 messages no messages came; 5 were asked for"),
        ([APART, late("a", 3), *stories("kill a"), HEAL, *stories("start a")], "3 messages came; 5 were asked for"),
        ([late("a")], "Of what came late a majority had 5 messages in the end"),
        ([APART, late("a"), HEAL], "a majority had 5 messages"),
        ([APART, late("b"), *stories("kill a", "wait 30"), HEAL, *stories("start a")], "though nobody was told so"),
        ([APART, late("a"), *stories("kill a", "wait 30"), HEAL], "At the end a is not running"),
        (
            [{"kill": ["b", "c"]}, late("a"), *stories("kill a", "start b", "start c", "start a")],
            "not in one of .*: What came late is in the queue, though nobody was told so: rabbit@north was elected",
        ),
        (stories("wipe a"), "here a step is one of partition, cut"),
    ],
    "17-replace": [
        ([], "orders has no member on d"),
        (stories("join d", "shrink c"), "orders has no member on d"),
        ([*stories("join d"), GROW], "With a killed orders stands still: of its 4 members, .*, only b and d run"),
        ([*stories("shrink c", "join d"), member("add", "d")], "bills has no member on d"),
        ([GROW], "orders has no member on d"),
        ([*stories("join d"), GROW, *stories("shrink c", "shrink b")], "of its 2 members, a and d, only d runs"),
        ([forgotten("c"), *stories("join c"), {"grow": {"node": "c"}}], "orders has no member on d"),
        (stories("start c"), "node 'c' has not joined the cluster since its disk was lost"),
    ],
    "17-size": [
        ({"quorum_cluster_size": 3}, "With a and b killed orders stands still: of its 3 members, .*, only c runs"),
        ({"quorum_cluster_size": 4}, "only c and d run, and a majority is 3"),
        ({"quorum_cluster_size": 1}, "of its 1 member, a, none runs, and a majority is 1"),
        ({"quorum_cluster_size": 7}, "orders has 7 members: fewer would do, and each stores every message"),
        ({"quorum_cluster_size": 0}, "cannot be played: cluster.quorum_cluster_size: not accepted"),
        ({"x-quorum-initial-group-size": 5}, "what is to be set here is quorum_cluster_size, nothing else"),
    ],
    "18-restart": [
        ([], r"The cluster is still partitioned: a and b \| c"),
        (stories("stop c", "start c"), "orders has 10 messages of the 110 that c had: it gave way"),
        (stories("stop a", "start a", "stop b", "start b"), "While a side runs, its nodes come up on it again"),
        ([{"stop": ["a", "b", "c"]}, {"start": ["a", "b", "c"]}], "orders has 10 messages of the 110 that c had"),
        (stories("stop b", "stop a", "start b"), "At the end a is not running"),
        (stories("force_boot c"), "here a step is one of stop, start"),
    ],
    "18-handling": [
        (handling("ignore"), "With a cut off both sides have gone on, and .* the cluster stays partitioned"),
        (handling("autoheal"), "With a cut off 200 messages that had been confirmed went"),
        (handling({"pause_if_all_down": ["a"], "recover": "ignore"}), "With a cut off orders does not go on for b and"),
        (handling({"pause_if_all_down": ["a", "b"], "recover": "autoheal"}), "200 messages that had been confirmed"),
        (handling("pause-minority"), "accepted: ignore, pause_minority, autoheal"),
        (handling({"pause_if_all_down": ["a"]}), "cannot be played: .*cluster_partition_handling"),
        ({"net_ticktime": 5}, "what is to be set here is cluster_partition_handling, nothing else"),
    ],
    "18-sites": [
        ([], "With the north cut off orders does not go on for the others: of 3 members d can be reached"),
        ([member("add", "c")], "orders has 4 members, and each stores every message; 3 were asked for"),
        ([member("add", "c"), member("add", "e")], "orders has 5 members"),
        ([member("delete", "b")], "With the north cut off .* of 2 members d can be reached"),
        ([member("delete", "b"), member("add", "e")], "With the south cut off .* of 3 members a can be reached"),
        ([member("delete", "d"), member("add", "c")], "With the north cut off .* of 3 members c can be reached"),
        (stories("stop b"), "here a step is one of add_member, delete_member"),
    ],
    "19-rooms": [
        ([], "There is no queue orders"),
        ([declaration("orders", QUORUM)], "of its 3 members . can be reached, and a majority is 2"),
        (
            [declaration("orders", QUORUM | {"x-quorum-initial-group-size": 4})],
            "room with a and b has lost power, and nobody serves orders: of its 4 members c and d can be reached",
        ),
        ([declaration("orders")], "room with a and b has lost power, and nobody serves orders: all that had its"),
        ([in_rooms({"ha-mode": "nodes", "ha-params": ["a", "b"]}), declaration("orders")], "nobody serves orders: all"),
        ([in_rooms({"ha-mode": "nodes", "ha-params": ["c", "d"]}), declaration("orders")], "room with c and d has"),
        ([in_rooms(TWO), declaration("orders")], "nobody serves orders: all"),
        (stories("stop a"), "here a step is one of set_policy, declare"),
    ],
    "19-choose": [
        ([], "There is no queue orders"),
        (with_other(0, declaration("orders")), "The other nodes were restarted and a killed: 100 messages of orders"),
        (with_other(0, declaration("orders", QUORUM | {"x-quorum-initial-group-size": 1})), "nobody serves orders"),
        (with_other(1, declaration("urgent", QUORUM)), "published to urgent last, and did not come first"),
        (with_other(1, declaration("urgent", QUORUM | {"x-max-priority": 5})), "refused by RabbitMQ: .* 'x-max-prio"),
        (with_other(2, declaration("answers", auto_delete=True, connection="client")), "answers is still there"),
        (with_other(2, declaration("answers", exclusive=True)), "client was closed, and answers is still there"),
        (with_other(2, declaration("answers", QUORUM, exclusive=True)), "refused by RabbitMQ: .* 'exclusive-owner'"),
        (with_other(3, declaration("jobs", JOBS | {"x-delivery-limit": 4})), "given back to jobs 4 times, and is deli"),
        (with_other(3, declaration("jobs", JOBS | {"x-delivery-limit": 2})), "3 times, which is allowed, and is gone"),
        (with_other(3, declaration("jobs", JOBS | {"x-queue-type": "classic"})), "refused by RabbitMQ: .* 'x-deliv"),
        (with_other(3, declaration("jobs", QUORUM | {"x-delivery-limit": 3})), "did not come to dead"),
        (stories("stop a"), "here a step is one of declare"),
    ],
    "19-replace": [
        ([], "a, b and c have not been replaced"),
        (replaced("a", "sync", "grow"), "b and c have not been replaced"),
        ([step for node in "abc" for step in replaced(node, "grow")], "mirrored lost 100 messages"),
        ([step for node in "abc" for step in replaced(node, "sync")], "quorum has everything on b and c alone"),
        (
            [step for node in "abc" for step in replaced(node, "sync")] + [{"grow": {"node": node}} for node in "abc"],
            "but not in one of .*: quorum lost 7 messages",
        ),
        ([{"wipe": node} for node in "abc"], "At the end a, b and c are not running"),
    ],
    "20-both": [
        ([], "orders.eu holds 1,100 messages and follows the policy ha; 1,000 was the most"),
        ([orders_policy("ha", BOTH)], "orders.eu.new holds 1,100 messages and follows no policy"),
        ([orders_policy("limit", LIMIT, priority=1)], "orders.eu, a classic queue, has no mirrors"),
        ([orders_policy("limit", LIMIT, priority=-1)], "orders.eu holds 1,100 messages and follows the policy ha"),
        ([orders_policy("ha", BOTH), orders_policy("limit", LIMIT)], "Two policies match orders.eu at the same"),
        ([orders_policy("limit", LIMIT, apply_to="quorum_queues")], "refused by RabbitMQ: .*'quorum_queues' unreco"),
        (
            [orders_policy("ha", BOTH, priority=1), orders_policy("limit", LIMIT, r"^orders\.eu")],
            "but not in one of .*: orders.us.new holds 1,007 messages and follows no policy",
        ),
        (
            [orders_policy("ha", BOTH, priority=1), orders_policy("limit", {"max-length": 100})],
            "orders.eu.new holds 100 messages, and there is to be room for 1,000",
        ),
    ],
    "20-rewrite": [
        (policy(r"^orders\.", REWRITTEN | TWO), "refused by RabbitMQ: .* are not recognised policy settings"),
        (policy(r"^orders\.", REWRITTEN | {"queue-mode": "lazy"}), "orders.eu does not follow the policy"),
        (policy(r"^orders\.", REWRITTEN | {"overflow": "reject-publish-dlx"}), "101 messages had been confirmed"),
        (policy(r"^orders\.", REWRITTEN | {"message-ttl": 1000}), "with nobody consuming: from its head, or expired"),
        (policy(r"^orders\.", REWRITTEN | {"max-length": 500}), "took 1,000 messages. With room for 1,000 it takes"),
        (policy(r"^orders\.", FULL | DEAD), "given back to orders.eu 6 times, and is delivered again"),
        (policy(r"^orders\.", REWRITTEN | {"delivery-limit": 4}), "5 times, which is allowed, and is gone"),
        (policy(r"^orders\.", REWRITTEN | {"delivery-limit": -1}), "6 times, and is delivered again"),
        (policy(r"^orders\.", FULL | {"delivery-limit": 5}), "did not come to dead"),
        (policy("orders", REWRITTEN), "The policy reaches reorders.eu too"),
        (policy(r"^orders\.eu", REWRITTEN), "but not in one of .*: orders.us does not follow the policy"),
    ],
    "20-move": [
        ([], "There is no queue new::orders"),
        ([{"declare": {"queue": "orders", "arguments": QUORUM}}], "refused by RabbitMQ: .* 'x-queue-type'"),
        ([{"delete": {"queue": "orders"}}, DECLARE, *PUBLISH, CONSUME], "orders was deleted with 100 messages in it"),
        ([*PUBLISH, *OUT_OF_OLD, DECLARE, CONSUME], "600 messages found no queue new::orders, and were confirmed"),
        ([DECLARE, *PUBLISH, CONSUME, *OUT_OF_OLD], "orders still held 84 messages, which are older"),
        ([DECLARE, PUBLISH[0], *OUT_OF_OLD, PUBLISH[1], CONSUME], "For 60.0 s nobody published anything"),
        ([DECLARE, *PUBLISH, {"wait": 60}, CONSUME], "orders is still there"),
        ([DECLARE, PUBLISH[1], {"wait": 60.05}, CONSUME, *PUBLISH[:1], *OUT_OF_OLD], "somebody still published"),
        (
            [DECLARE, *PUBLISH, *OUT_OF_OLD, {"consume": {"consumer": "idle", "queue": NEW}}],
            "In the 10 s after the last step nothing was acknowledged in new::orders",
        ),
        (
            [DECLARE, *PUBLISH, *OUT_OF_OLD, CONSUME, {"close": "shop 2"}],
            "In the 10 s after the last step nothing was confirmed in new::orders",
        ),
        ([DECLARE, *PUBLISH, *OUT_OF_OLD], "Nobody consumes from new::orders"),
        ([{"declare": {"queue": NEW}}, *PUBLISH, *OUT_OF_OLD, CONSUME], "new::orders is a classic queue"),
        (
            [{"declare": {"queue": NEW, "arguments": QUORUM | {"x-quorum-initial-group-size": 1}}}, *PUBLISH],
            "new::orders has members on a alone",
        ),
        (
            [DECLARE, *PUBLISH, {"wait": 1}, *OUT_OF_OLD[1:], CONSUME],
            "with 40,000 messages: orders was deleted with 37,990 messages in it",
        ),
        (stories("stop a"), "here a step is one of declare, publisher"),
    ],
    "21-safe": [
        ([], "When a is stopped, jobs cannot be used until the node is back. There was no mirror to take over"),
        ([JOBS_MIRRORED], "When a is stopped, orders cannot be used until the node is back. No mirror was"),
        ([SYNC], "When a is stopped, jobs cannot be used until the node is back. There was no mirror to take over"),
        ([SYNC, JOBS_MIRRORED], "votes cannot be used until the node is back. Too few of its members are left"),
        ([SYNC, JOBS_EMPTY, THIRD_VOTE], "jobs cannot be used until the node is back. No mirror was synchronised"),
        ([in_rooms(CALLS), JOBS_MIRRORED, THIRD_VOTE], "orders loses 100 messages, 100 of them confirmed"),
        ([SYNC, in_rooms(AUTOMATIC | {"max-length": 1}), JOBS_MIRRORED, THIRD_VOTE], "orders has 1 message left of 10"),
        (stories("stop a"), "here a step is one of sync_queue"),
    ],
    "21-missed": [
        ([], "A stop of a loses nothing: every queue stays in use"),
        (with_ten("q"), "A stop of a loses nothing: q cannot be used until the node is back"),
        (with_ten("ha.q", {}, *stories("stop b", "start b", "stop c", "start c")), "A check fails on a.* names ha.q"),
        (with_ten("q", QUORUM, *stories("stop b")), "A check fails on a, and names q"),
        (with_ten("ha.q", {}, *stories("stop a")), "a does not run"),
        ([{"kill": "a"}], "here a step is one of declare"),
    ],
    "22-roll": [
        ([], "a, b and c were not restarted"),
        (stories("stop c", "start c", "stop b", "start b", "stop a", "start a"), "calls lost 100 messages"),
        ([*ROLL[:4], SYNC, *ROLL[4:]], "calls lost 100 messages"),
        ([*ROLL[:4], SYNC_CALLS, *ROLL[4:]], "orders was down for 6.0 s"),
        ([*ROLL[:4], SYNC, SYNC_CALLS, {"stop": "a"}], "At the end a is not running"),
        ([{"stop": ["b", "c"]}, {"start": ["b", "c"]}, SYNC, SYNC_CALLS, *ROLL[4:]], "votes was down for 6.303 s"),
    ],
    "22-probe": [
        (policy(r"^orders\.", {"ha-mode": "all"}), "is down for"),
        (policy(r"^orders\.", {"ha-mode": "exactly", "ha-params": 2}), "is down for"),
        (policy(r"^orders\.", CALLS), "loses 100 messages"),
        (policy(r"^orders\.", AUTOMATIC | {"max-length": 1}), "has 1 message left of 100"),
        (policy(r"^orders\.eu", AUTOMATIC), "but not in one of .*does not follow your policy"),
    ],
    "23-members": [
        ([], "When a fails, nothing more is confirmed: 2 members on a and b"),
        ([member("delete", "b")], "When a fails, nothing more is confirmed: 1 member on a"),
        ([member("add", "c"), member("add", "d")], "4 members tolerate 1 failure, and write everything 4 times. 3 wo"),
        ([{"grow": {"node": node}} for node in "cde"], "5 members tolerate 2 failures"),
        ([member("add", "a")], "nothing more is confirmed: 2 members on a and b"),
    ],
    "23-mirrors": [
        (policy(r"^orders\.", AUTOMATIC), "There are 5 copies. 3 would outlive any two nodes"),
        (policy(r"^orders\.", TWO), "is down with 100 messages of 100, of 2 copies"),
        (policy(r"^orders\.", TWO | {"ha-params": 3, "ha-sync-mode": "manual"}), "with no messages of 100"),
        (policy("^other", TWO), "of 1 copy"),
    ],
}
REFUSALS = [(key, answer, says) for key, answers in WRONG.items() for answer, says in answers]
NO_ANSWERS = [
    (..., "There is no answer yet"),
    (None, "There is no answer yet"),
    (7, "7 is not"),
    ("pattern: [", "The answer cannot be read: line 2: not YAML"),
    (b"a", "cannot be read"),
    ({1: 2}, "cannot be read"),
    ("", "There is no answer yet"),
]


@pytest.mark.parametrize("key", EXERCISES)
def test_the_solution_is_right(key):
    verdict = judged(EXERCISES[key], solutions()[key])
    assert verdict.right, verdict
    assert repr(verdict).startswith("✓ Right, in this cluster and in 3 others")


@pytest.mark.parametrize(("key", "answer", "says"), REFUSALS)
def test_a_wrong_answer_is_told_what_is_wrong(key, answer, says):
    verdict = judged(EXERCISES[key], answer)
    assert not verdict.right
    assert re.search(says, verdict.says), verdict.says


@pytest.mark.parametrize("key", EXERCISES)
@pytest.mark.parametrize(("answer", "says"), NO_ANSWERS)
def test_what_is_no_answer_is_told_what_one_is(key, answer, says):
    verdict = judged(EXERCISES[key], answer)
    assert not verdict.right
    assert says in verdict.says


def test_every_exercise_has_wrong_answers_hints_and_a_place_in_its_lesson():
    assert list(WRONG) == list(EXERCISES) == list(solutions())
    for key, each in EXERCISES.items():
        assert len(WRONG[key]) >= 2
        assert len(each.hints) >= 2
    assert {key.partition("-")[0] for key in EXERCISES} == {file.name.partition("-")[0] for file in WITH_EXERCISES}
    assert {*LESSONS} <= {*WITH_EXERCISES}


def test_answers_of_steps_are_bounded_and_their_refusals_name_the_step():
    several = judged(EXERCISES["11-lose"], stories("stop b") * (MOST_STEPS + 1))
    assert f"These are {MOST_STEPS + 1} steps" in several.says
    unknown = judged(EXERCISES["11-lose"], stories("stop b", "start x"))
    assert "Step 2 cannot be played: start: " in unknown.says
    late = judged(EXERCISES["11-lose"], [{"stop": "b"}, {"start": "b", "at": "soon"}])
    assert "Step 2 cannot be played: at: not accepted" in late.says


def test_node_names_of_an_answer_are_translated_with_the_clusters():
    names = dict(zip(AS_TOLD.nodes, HELD_BACK[0].nodes, strict=True))
    given = [{"publish": {"queue": "abc", "node": "a"}}, {"stop": ["b", "c"]}, {"wait": 3}]
    wanted = [{"publish": {"queue": "abc", "node": "w3"}}, {"stop": ["w1", "w2"]}, {"wait": 3}]
    assert exercises.renamed(given, names) == wanted


def test_held_back_clusters_differ_in_everything():
    assert all(len(set(each)) == len(each) for each in zip(AS_TOLD, *HELD_BACK, strict=True))
    orders = {tuple(sorted(range(3), key=each.nodes.__getitem__)) for each in (AS_TOLD, *HELD_BACK)}
    assert len(orders) >= 3


def test_every_prediction_has_its_truth_among_its_choices_and_after_it():
    asked, told = {}, []
    for cell in CELLS:
        for function, key in MENTIONED.findall(cell.source):
            text = "".join(output.get("data", {}).get("text/plain", "") for output in cell.outputs)
            if function == "predict":
                asked[key] = re.search(r"\[(.*)\]$", text)[1]
            else:
                told.append(key)
                value = re.search(r"It is: (.*)\.$", text)[1]
                assert value.isdecimal() if asked[key] == "a number" else value in asked[key], key
    assert list(asked) == told
    assert len(told) >= 6 * len(LESSONS)
