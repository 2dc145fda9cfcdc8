"""What can be done to a thing of the page: the entries of a node's menu, of a queue's, of a client's and of the whole
cluster's. An entry plays a step at once, or opens a panel or the form of a verb where more has to be said.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from hawb.engine.state import CLASSIC, GROUPED, QUORUM, TYPES
from hawb.languages import N_, _

UP, OFF, ALIVE = ("running",), ("down",), ("running", "waiting", "paused")
"""States of a node in which something can be done to it."""

ANY = (*ALIVE, *OFF)

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
        return {"tells": _(self.tells), "for": list(self.for_)}


def itself(name: str, _others: list[str]) -> object:
    """The thing."""
    return name


def within(key: str, **more: object) -> Argument:
    """The thing as a field of a map."""
    return lambda name, _others: {key: name} | more


NODE: dict[str, Entry] = {
    N_("stop"): Entry(N_("controlled shutdown: rabbitmqctl stop"), "stop", itself, UP),
    N_("kill"): Entry(N_("dies without warning: kill -9"), "kill", itself, ALIVE),
    N_("power off"): Entry(N_("its host loses power: nobody is told"), "power_off", itself, ALIVE),
    N_("start"): Entry(N_("boots: rabbitmq-server"), "start", itself, OFF),
    N_("cut off from all others"): Entry(N_("a partition"), "partition", lambda node, others: [[node], others], UP),
    N_("declare a queue here…"): Entry(N_("queue.declare by a client on it"), "declare", for_=UP),
    N_("drain"): Entry("rabbitmq-upgrade drain", "drain", itself, UP),
    N_("revive"): Entry("rabbitmq-upgrade revive", "revive", itself, UP),
    N_("memory alarm"): Entry(N_("it is short of memory"), "alarm", within("node", resource="memory"), UP),
    N_("memory alarm is over"): Entry(N_("it has memory again"), "clear_alarm", within("node", resource="memory"), UP),
    N_("disk alarm"): Entry(N_("it is short of disk"), "alarm", within("node", resource="disk"), UP),
    N_("disk alarm is over"): Entry(N_("it has disk again"), "clear_alarm", within("node", resource="disk"), UP),
    N_("grow all quorum queues"): Entry("rabbitmq-queues grow", "grow", within("node"), UP),
    N_("shrink all quorum queues"): Entry("rabbitmq-queues shrink", "shrink", itself, ANY),
    N_("shrink all quorum queues to it by force"): Entry(
        N_("they go on with its member alone"), "force_shrink", itself, UP
    ),
    N_("wipe"): Entry(N_("its disk is lost"), "wipe", itself, ANY),
    N_("force boot"): Entry("rabbitmqctl force_boot", "force_boot", itself, OFF),
    N_("reset"): Entry("rabbitmqctl reset", "reset", itself, OFF),
    N_("force reset"): Entry("rabbitmqctl force_reset", "force_reset", itself, OFF),
    N_("stand alone"): Entry("rabbitmqctl force_standalone_khepri_boot", "force_standalone_khepri_boot", itself, ALIVE
    ),
    N_("join"): Entry("rabbitmqctl join_cluster", "join", itself, OFF),
    N_("forget"): Entry("rabbitmqctl forget_cluster_node", "forget_cluster_node", within("node"), OFF),
}  # fmt: skip
"""What can be done to a node, and in which states."""

QUEUE: dict[str, Entry] = {
    N_("publish 10"): Entry("basic.publish", "publish", within("queue", count=10), TYPES),
    N_("publish…"): Entry(N_("basic.publish, with every field"), "publish", for_=TYPES),
    N_("get 10"): Entry(N_("basic.get, acknowledged"), "get", within("queue", count=10), (CLASSIC, QUORUM)),
    N_("get…"): Entry(N_("basic.get, with every field"), "get", for_=(CLASSIC, QUORUM)),
    N_("consume…"): Entry("basic.consume", "consume", for_=TYPES),
    N_("publish steadily…"): Entry(N_("a client with a rate"), "publisher", for_=TYPES),
    N_("sync"): Entry("rabbitmqctl sync_queue", "sync_queue", itself, (CLASSIC,)),
    N_("cancel sync"): Entry("rabbitmqctl cancel_sync_queue", "cancel_sync_queue", itself, (CLASSIC,)),
    N_("policy…"): Entry(N_("the policies in force, and what RabbitMQ says of another"), panel="Policy", for_=TYPES),
    N_("another beside…"): Entry(
        N_("the same steps under another policy or as another type"), panel="Beside", for_=TYPES
    ),
    N_("move the master or leader…"): Entry(N_("to the node that you name"), "transfer_leadership", for_=TYPES),
    N_("add a member…"): Entry("rabbitmq-queues add_member", "add_member", for_=GROUPED),
    N_("remove a member…"): Entry("rabbitmq-queues delete_member", "delete_member", for_=GROUPED),
    N_("crash"): Entry(N_("the process of its master or leader dies, not the node"), "crash", within("queue"), TYPES),
    N_("purge"): Entry("rabbitmqctl purge_queue", "purge", itself, TYPES),
    N_("delete"): Entry("rabbitmqctl delete_queue", "delete", within("queue"), TYPES),
    N_("declare"): Entry(N_("queue.declare, as a classic queue"), "declare", within("queue"), ("gone",)),
    N_("declare another…"): Entry(N_("queue.declare, with every field"), "declare", for_=(*TYPES, "gone")),
}
"""What can be done to a queue, and to which types of queues; the type of one that was deleted is gone."""

MORE: dict[str, dict[str, Entry]] = {
    N_("the network"): {
        N_("partition…"): Entry(N_("links between groups of nodes drop everything"), "partition"),
        N_("cut links…"): Entry(N_("single links drop everything"), "cut"),
        N_("heal"): Entry(N_("all links work again"), "heal", lambda _name, _others: True),
        N_("rebalance"): Entry("rabbitmq-queues rebalance all", "rebalance", lambda _name, _others: True),
    },
    N_("look ahead and aside"): {
        N_("safe to stop?"): Entry(N_("what a stop and a kill of each node would do now"), panel=ON_STAGE),
        N_("what if"): Entry(N_("what would have kept what was lost"), panel="What if"),
        N_("beside"): Entry(N_("the same steps under another policy or as another type of queue"), panel="Beside"),
    },
    N_("do"): {
        N_("policy…"): Entry(N_("policies, and what RabbitMQ says of another"), panel="Policy"),
        N_("any step…"): Entry(N_("every verb with every field"), panel="Any step"),
        N_("clients"): Entry(N_("consumers, publishers, and what each does next"), panel="Clients"),
        N_("wait…"): Entry(N_("simulated time passes; the time of the next step; lanes"), panel="Time"),
    },
    N_("read"): {
        N_("story"): Entry(N_("all that happened, in sentences"), panel="Story"),
        N_("ledger"): Entry(N_("what became of every message"), panel="Ledger"),
        N_("queues"): Entry(N_("as rabbitmqctl list_queues has them"), panel="Queues"),
        N_("load"): Entry(N_("what each node has to do"), panel="Load"),
    },
    N_("bring and keep"): {
        N_("your own cluster…"): Entry(N_("import definitions; rules and seed"), panel="Cluster"),
        N_("export…"): Entry(N_("the story as a scenario, as Python, as a report"), panel="Export"),
    },
}
"""What else there is, in groups."""

ALL_MORE = {label: entry for group in MORE.values() for label, entry in group.items()}


def plain(entries: dict[str, Entry]) -> list[dict]:
    """Entries as a page has them: the name that a message has, and what is to be read."""
    return [{"entry": name, "label": _(name)} | entry.plain for name, entry in entries.items()]
