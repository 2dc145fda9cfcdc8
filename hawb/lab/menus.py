"""What can be done to a thing of the page: the entries of a node's menu, of a queue's, of a client's and of the whole
cluster's. An entry plays a step at once, or opens a panel or the form of a verb where more has to be said.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from hawb.engine.state import CLASSIC, QUORUM, STREAM

UP, OFF, ALIVE = ("running",), ("down",), ("running", "waiting", "paused")
"""States of a node in which something can be done to it."""

ANY = (*ALIVE, *OFF)
GROUPS = (QUORUM, STREAM)
TYPES = (CLASSIC, QUORUM, STREAM)

Argument = Callable[[str, list[str]], object]
"""A verb's argument, for a thing and, of a node, the others of its cluster."""


ON_STAGE = "Safe?"
"""The panel of what the stage itself shows too."""


class Entry(NamedTuple):
    """An entry: what it `tells`, the `verb` and its `argument`, or the form of the verb if there is none, and `for_`
    which states of a node or types of a queue it is there. An entry with a `panel` opens that."""

    tells: str
    verb: str = ""
    argument: Argument | None = None
    for_: Sequence[str] = ()
    panel: str = ""

    @property
    def plain(self) -> dict:
        """What a page has to know of it."""
        return {"tells": self.tells, "for": list(self.for_)}


def itself(name: str, _others: list[str]) -> object:
    """The thing."""
    return name


def within(key: str, **more: object) -> Argument:
    """The thing as a field of a map."""
    return lambda name, _others: {key: name} | more


NODE: dict[str, Entry] = {
    "stop": Entry("controlled shutdown: rabbitmqctl stop", "stop", itself, UP),
    "kill": Entry("dies without warning: kill -9", "kill", itself, ALIVE),
    "power off": Entry("its host loses power: nobody is told", "power_off", itself, ALIVE),
    "start": Entry("boots: rabbitmq-server", "start", itself, OFF),
    "cut off from all others": Entry("a partition", "partition", lambda node, others: [[node], others], UP),
    "declare a queue here…": Entry("queue.declare by a client on it", "declare", for_=UP),
    "drain": Entry("rabbitmq-upgrade drain", "drain", itself, UP),
    "revive": Entry("rabbitmq-upgrade revive", "revive", itself, UP),
    "memory alarm": Entry("it is short of memory", "alarm", within("node", resource="memory"), UP),
    "memory alarm is over": Entry("it has memory again", "clear_alarm", within("node", resource="memory"), UP),
    "disk alarm": Entry("it is short of disk", "alarm", within("node", resource="disk"), UP),
    "disk alarm is over": Entry("it has disk again", "clear_alarm", within("node", resource="disk"), UP),
    "grow all quorum queues": Entry("rabbitmq-queues grow", "grow", within("node"), UP),
    "shrink all quorum queues": Entry("rabbitmq-queues shrink", "shrink", itself, ANY),
    "shrink all quorum queues to it by force": Entry("they go on with its member alone", "force_shrink", itself, UP),
    "wipe": Entry("its disk is lost", "wipe", itself, ANY),
    "force boot": Entry("rabbitmqctl force_boot", "force_boot", itself, OFF),
    "reset": Entry("rabbitmqctl reset", "reset", itself, OFF),
    "force reset": Entry("rabbitmqctl force_reset", "force_reset", itself, OFF),
    "stand alone": Entry(
        "rabbitmqctl force_standalone_khepri_boot", "force_standalone_khepri_boot", itself, ALIVE
    ),
    "join": Entry("rabbitmqctl join_cluster", "join", itself, OFF),
    "forget": Entry("rabbitmqctl forget_cluster_node", "forget_cluster_node", within("node"), OFF),
}  # fmt: skip
"""What can be done to a node, and in which states."""

QUEUE: dict[str, Entry] = {
    "publish 10": Entry("basic.publish", "publish", within("queue", count=10), TYPES),
    "publish…": Entry("basic.publish, with every field", "publish", for_=TYPES),
    "get 10": Entry("basic.get, acknowledged", "get", within("queue", count=10), (CLASSIC, QUORUM)),
    "get…": Entry("basic.get, with every field", "get", for_=(CLASSIC, QUORUM)),
    "consume…": Entry("basic.consume", "consume", for_=TYPES),
    "publish steadily…": Entry("a client with a rate", "publisher", for_=TYPES),
    "sync": Entry("rabbitmqctl sync_queue", "sync_queue", itself, (CLASSIC,)),
    "cancel sync": Entry("rabbitmqctl cancel_sync_queue", "cancel_sync_queue", itself, (CLASSIC,)),
    "policy…": Entry("the policies in force, and what RabbitMQ says of another", panel="Policy", for_=TYPES),
    "another beside…": Entry("the same steps under another policy or as another type", panel="Beside", for_=TYPES),
    "move the master or leader…": Entry("to the node that you name", "transfer_leadership", for_=TYPES),
    "add a member…": Entry("rabbitmq-queues add_member", "add_member", for_=GROUPS),
    "remove a member…": Entry("rabbitmq-queues delete_member", "delete_member", for_=GROUPS),
    "crash": Entry("the process of its master or leader dies, not the node", "crash", within("queue"), TYPES),
    "purge": Entry("rabbitmqctl purge_queue", "purge", itself, TYPES),
    "delete": Entry("rabbitmqctl delete_queue", "delete", within("queue"), TYPES),
    "declare": Entry("queue.declare, as a classic queue", "declare", within("queue"), ("gone",)),
    "declare another…": Entry("queue.declare, with every field", "declare", for_=(*TYPES, "gone")),
}
"""What can be done to a queue, and to which types of queues; the type of one that was deleted is gone."""

MORE: dict[str, dict[str, Entry]] = {
    "the network": {
        "partition…": Entry("links between groups of nodes drop everything", "partition"),
        "cut links…": Entry("single links drop everything", "cut"),
        "heal": Entry("all links work again", "heal", lambda _name, _others: True),
        "rebalance": Entry("rabbitmq-queues rebalance all", "rebalance", lambda _name, _others: True),
    },
    "look ahead and aside": {
        "safe to stop?": Entry("what a stop and a kill of each node would do now", panel=ON_STAGE),
        "what if": Entry("what would have kept what was lost", panel="What if"),
        "beside": Entry("the same steps under another policy or as another type of queue", panel="Beside"),
    },
    "do": {
        "policy…": Entry("policies, and what RabbitMQ says of another", panel="Policy"),
        "any step…": Entry("every verb with every field", panel="Any step"),
        "clients": Entry("consumers, publishers, and what each does next", panel="Clients"),
        "wait…": Entry("simulated time passes; the time of the next step; lanes", panel="Time"),
    },
    "read": {
        "story": Entry("all that happened, in sentences", panel="Story"),
        "ledger": Entry("what became of every message", panel="Ledger"),
        "queues": Entry("as rabbitmqctl list_queues has them", panel="Queues"),
        "load": Entry("what each node has to do", panel="Load"),
    },
    "bring and keep": {
        "your own cluster…": Entry("import definitions; rules and seed", panel="Cluster"),
        "export…": Entry("the story as a scenario, as Python, as a report", panel="Export"),
    },
}
"""What else there is, in groups."""

ALL_MORE = {label: entry for group in MORE.values() for label, entry in group.items()}


def plain(entries: dict[str, Entry]) -> list[dict]:
    """Entries as a page has them."""
    return [{"label": label} | entry.plain for label, entry in entries.items()]
