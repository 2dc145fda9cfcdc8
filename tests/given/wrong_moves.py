"""Moves that lose each game, and the explanation of each trap."""

from __future__ import annotations

from answer_steps import QUORUM, TWO, stories

ALL = {"ha-mode": "all"}
NODES = ["a", "b", "c"]


def ha(definition: dict, name: str = "ha", pattern: str = "^orders", **fields: object) -> dict:
    """Return the step that sets a policy for orders."""
    return {"set_policy": {"name": name, "pattern": pattern, "definition": definition} | fields}


def declared(**fields: object) -> dict:
    """Return the step that declares orders."""
    return {"declare": {"queue": "orders"} | fields}


def parted(*groups: list[str]) -> dict:
    """Return the step that partitions the network."""
    return {"partition": list(groups)}


WAIT, HEAL = {"wait": 120}, {"heal": True}
BY_B = {"publish": {"queue": "orders", "count": 1, "node": "b"}}

WRONG_MOVES = {
    "10-two-at-once": [
        ([ha(ALL)], "Lost: 100 messages of orders .* was not synchronised: ha-sync-mode is manual"),
        ([ha(TWO)], "no client can use orders: it is down"),
        ([], "no client can use orders: it is down"),
        (stories("kill c"), "here a step is one of set_policy, sync_queue"),
    ],
    "11-three-moves": [
        (stories("stop b", "start b", "kill a"), "Nothing that was confirmed is lost"),
        ([{"kill": NODES}], "orders cannot be used now, but its messages are not lost"),
        (stories("stop b", "start b", "stop c", "start c", "kill a"), "These are 5 moves; the game has 3"),
    ],
    "12-without-a-shell": [
        ([ha(ALL)], "Lost: 100 messages"),
        ([ha(ALL | {"ha-promote-on-failure": "when-synced"})], "no client can use orders: it is down"),
        ([{"clear_policy": "ha"}], "no client can use orders: it is down"),
    ],
    "13-before-it-leaves": [
        (stories("kill a"), "Lost: 100 messages .* which was killed"),
        (stories("stop a"), "Lost: 100 messages .* shut down in a controlled way"),
        ([ha(ALL | {"ha-promote-on-shutdown": "when-synced"}), {"kill": "a"}], "Lost: 100 messages"),
        (stories("stop b"), "a still runs"),
    ],
    "14-confirmed-by-nobody": [
        (stories("kill a", "start a"), "Nothing that was confirmed is lost"),
        ([BY_B, {"kill": "a"}], "orders cannot be used now, but its messages are not lost"),
    ],
    "15-first-light": [
        (stories("start a", "start b"), "no client can use orders: it is down"),
        (stories("force_boot a"), "Lost: 10 messages"),
    ],
    "16-the-nightly-job": [
        ([{"sync_queue": f"orders.{number}"} for number in (1, 2)], "Lost: 100 messages of orders.3"),
        ([ha(ALL | {"ha-promote-on-failure": "when-synced"})], "Lost: 100 messages .* Every replica except one mirror"),
        ([{"stop": ["b", "c"]}], "b and c are down: all nodes must run when the job starts"),
    ],
    "17-the-tempting-command": [
        (stories("force_shrink c"), "Lost: 5 messages .* that a forced shrink removed"),
        ([WAIT], "no client can use orders: it has no majority"),
        ([{"delete_member": {"queue": "orders", "node": "a"}}], "has no leader"),
    ],
    "18-find-the-cut": [
        ([parted(["a"], ["b", "c"]), WAIT, HEAL, WAIT], "Nothing that was confirmed is lost"),
        ([parted(["a", "b"], ["c"]), HEAL], "Nothing that was confirmed is lost"),
        ([parted(["a", "b"], ["c"]), WAIT], "Nothing that was confirmed is lost"),
    ],
    "19-one-declaration": [
        ([ha(ALL | {"ha-sync-mode": "automatic"}), declared()], "Lost: 5 messages"),
        ([declared()], "No queue took message 101"),
        ([declared(arguments=QUORUM | {"x-quorum-initial-group-size": 1})], "it has no majority"),
        ([], "No queue took message 1: there is no orders"),
    ],
    "20-the-old-script": [
        ([ha(ALL), declared()], "RabbitMQ refuses step 1"),
        ([declared()], "Lost: 100 messages .* on a disk that is lost"),
        ([declared(node="a", arguments=QUORUM | {"x-quorum-initial-group-size": 1})], "it has no majority"),
    ],
    "27-nobody-decides": [
        ([{"kill": ["b", "c"]}], "b and c do not run"),
        ([parted(["a"], ["b", "c"])], "A client on b and c can still declare a queue"),
        ([{"cut": [["a", "b"], ["b", "c"]]}], "A client on a and c can still declare a queue"),
    ],
    "28-one-bad-worker": [
        ([ha({"delivery-limit": 20}, "more", "^orders$")], "Lost: the message that the worker crashed with"),
        ([{"declare": {"queue": "dead"}}], "Lost: the message that the worker crashed with"),
    ],
}  # fmt: skip
