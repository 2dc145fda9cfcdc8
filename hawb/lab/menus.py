"""Define the menus of the page: of a node, of a queue and of the whole cluster.

An entry plays a step at once, or opens a panel or, if the step needs more fields, the form of a verb.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from hawb.engine.core.moment import Moment
from hawb.engine.core.settings import Settings
from hawb.lab import occasions
from hawb.languages import N_, _

Argument = Callable[[str, list[str]], object]
"""A function that returns a verb's argument from the name of a node or queue and the names of the other nodes."""


WOULD_REFUSE = N_("RabbitMQ refuses it now: {refusal}")

ON_STAGE = "Safe?"
"""The panel whose contents the stage shows as well."""


class Entry(NamedTuple):
    """An entry of a menu, with its description.

    It plays `verb` with its `argument`, opens the verb's form if it has no argument, or opens `panel`. It is offered
    only `when` that function returns True, or always if it has none. An entry that is carried out queue by queue may be
    refused for some of the queues.
    """

    description: str
    verb: str = ""
    argument: Argument | None = None
    when: Callable[..., bool] | None = None
    panel: str = ""
    queue_by_queue: bool = False


def itself(name: str, _others: list[str]) -> object:
    """Return the name of the node or queue."""
    return name


def within(key: str, **more: object) -> Argument:
    """Return an argument function that puts the name into the field `key` of a map."""
    return lambda name, _others: {key: name} | more


NODES: dict[str, dict[str, Entry]] = {
    N_("stop and start"): {
        N_("stop"): Entry(N_("controlled shutdown: rabbitmqctl stop"), "stop", itself, occasions.can_stop),
        N_("kill"): Entry(N_("ends without warning: kill -9"), "kill", itself, occasions.can_end),
        N_("power off"): Entry(
            N_("its host loses power: no connection is closed"), "power_off", itself, occasions.can_end
        ),
        N_("start"): Entry(N_("boots: rabbitmq-server"), "start", itself, occasions.can_start),
        N_("join"): Entry("rabbitmqctl join_cluster", "join", itself, occasions.can_join),
    },
    N_("links, memory and disk"): {
        N_("cut off from all other nodes"): Entry(
            N_("a partition"), "partition", lambda node, others: [[node], others], occasions.can_be_cut_off
        ),
        N_("memory alarm"): Entry(
            N_("the node is short of memory"), "alarm", within("node", resource="memory"), occasions.has_memory
        ),
        N_("memory alarm is over"): Entry(
            N_("the node has enough memory"
               " again"), "clear_alarm", within("node", resource="memory"), occasions.lacks_memory
        ),
        N_("disk alarm"): Entry(
            N_("the node is short of disk space"), "alarm", within("node", resource="disk"), occasions.has_disk
        ),
        N_("disk alarm is over"): Entry(
            N_("the node has enough disk space"
               " again"), "clear_alarm", within("node", resource="disk"), occasions.lacks_disk
        ),
    },
    N_("queues and maintenance"): {
        N_("declare a queue here…"): Entry(
            N_("queue.declare by a client on this node"), "declare", when=occasions.takes_clients
        ),
        N_("grow all quorum queues"): Entry(
            "rabbitmq-queues grow", "grow", within("node"), occasions.can_grow, queue_by_queue=True
        ),
        N_("shrink all quorum queues"): Entry(
            "rabbitmq-queues shrink", "shrink", itself, occasions.can_shrink, queue_by_queue=True
        ),
        N_("drain"): Entry("rabbitmq-upgrade drain", "drain", itself, occasions.takes_clients),
        N_("revive"): Entry("rabbitmq-upgrade revive", "revive", itself, occasions.is_drained),
    },
    N_("dangerous: messages or members may be lost"): {
        N_("forget"): Entry(
            "rabbitmqctl forget_cluster_node", "forget_cluster_node", within("node"), occasions.can_be_forgotten
        ),
        N_("reset"): Entry("rabbitmqctl reset", "reset", itself, occasions.can_reset),
        N_("force reset"): Entry("rabbitmqctl force_reset", "force_reset", itself, occasions.can_reset_by_force),
        N_("force boot"): Entry("rabbitmqctl force_boot", "force_boot", itself, occasions.must_be_forced_to_boot),
        N_("stand alone"): Entry(
            "rabbitmqctl force_standalone_khepri_boot", "force_standalone_khepri_boot", itself,
            occasions.can_stand_alone,
        ),
        N_("shrink all quorum queues to this node by force"): Entry(
            N_("each queue continues with only its member on this node"), "force_shrink", itself,
            occasions.can_shrink_by_force,
        ),
        N_("wipe"): Entry(N_("its disk is lost"), "wipe", itself, occasions.has_disk_to_lose),
    },
}  # fmt: skip
"""The menu of a node, in groups, the dangerous group last."""

QUEUES: dict[str, dict[str, Entry]] = {
    N_("clients"): {
        N_("publish 10"): Entry("basic.publish", "publish", within("queue", count=10), occasions.takes_publishes),
        N_("publish…"): Entry(N_("basic.publish, with every field"), "publish", when=occasions.takes_publishes),
        N_("get 10"): Entry(
            N_("basic.get, acknowledged"), "get", within("queue", count=10), occasions.takes_consumers
        ),
        N_("get…"): Entry(N_("basic.get, with every field"), "get", when=occasions.takes_consumers),
        N_("consume…"): Entry("basic.consume", "consume", when=occasions.takes_consumers),
        N_("publish steadily…"): Entry(N_("a client with a rate"), "publisher", when=occasions.takes_publishes),
        N_("declare"): Entry(
            N_("queue.declare, as a classic queue"), "declare", within("queue"), occasions.can_be_declared
        ),
        N_("declare another…"): Entry(N_("queue.declare, with every field"), "declare"),
    },
    N_("policy and replicas"): {
        N_("policy…"): Entry(
            N_("the policies in force, and whether RabbitMQ would accept another"
               " one"), panel="Policy", when=occasions.is_there
        ),
        N_("compare with another…"): Entry(
            N_("the same steps with another policy or another type"), panel="Beside", when=occasions.is_there
        ),
        N_("sync"): Entry("rabbitmqctl sync_queue", "sync_queue", itself, occasions.can_be_synchronised),
        N_("cancel sync"): Entry(
            "rabbitmqctl cancel_sync_queue", "cancel_sync_queue", itself, occasions.is_synchronising
        ),
        N_("move the master or leader…"): Entry(
            N_("to the node that you name"), "transfer_leadership", when=occasions.can_move
        ),
        N_("add a member…"): Entry("rabbitmq-queues add_member", "add_member", when=occasions.can_gain_member),
        N_("remove a member…"): Entry("rabbitmq-queues delete_member", "delete_member", when=occasions.can_lose_member),
    },
    N_("dangerous: messages may be lost"): {
        N_("crash"): Entry(
            N_("the process of its master or leader dies, not the node"), "crash", within("queue"),
            occasions.has_process,
        ),
        N_("purge"): Entry("rabbitmqctl purge_queue", "purge", itself, occasions.takes_consumers),
        N_("delete"): Entry("rabbitmqctl delete_queue", "delete", within("queue"), occasions.can_be_deleted),
    },
}  # fmt: skip
"""The menu of a queue, in groups, the dangerous group last."""

MORE: dict[str, dict[str, Entry]] = {
    N_("the network"): {
        N_("partition…"): Entry(N_("cut all links between groups of nodes"), "partition"),
        N_("cut links…"): Entry(N_("cut single links"), "cut"),
        N_("heal"): Entry(N_("all links work again"), "heal", lambda _name, _others: True, occasions.has_cut_links),
        N_("rebalance"): Entry("rabbitmq-queues rebalance all", "rebalance", lambda _name, _others: True),
    },
    N_("look ahead and compare"): {
        N_("safe to stop?"): Entry(N_("what a stop and a kill of each node would do now"), panel=ON_STAGE),
        N_("what if"): Entry(N_("which changes would have kept the lost messages"), panel="What if"),
        N_("beside"): Entry(N_("the same steps with another policy or another type of queue"), panel="Beside"),
    },
    N_("do"): {
        N_("policy…"): Entry(N_("the policies in force, and whether RabbitMQ would accept another"
                                " one"), panel="Policy"),
        N_("any step…"): Entry(N_("any kind of step, with all its fields"), panel="Any step"),
        N_("clients"): Entry(N_("the consumers and publishers, and the next action of each one"), panel="Clients"),
        N_("wait…"): Entry(N_("let simulated time pass; set the time of the next step; see each node's state over"
                              " time"), panel="Time"),
    },
    N_("read"): {
        N_("story"): Entry(N_("everything that happened, in sentences"), panel="Story"),
        N_("ledger"): Entry(N_("what happened to every message"), panel="Ledger"),
        N_("queues"): Entry(N_("as rabbitmqctl list_queues shows them"), panel="Queues"),
        N_("load"): Entry(N_("how much work each node has"), panel="Load"),
    },
    N_("import and export"): {
        N_("your own cluster…"): Entry(N_("import definitions; rules and seed"), panel="Cluster"),
        N_("export…"): Entry(N_("the story as a scenario, as Python, as a report"), panel="Export"),
    },
}
"""The menu of the whole cluster, in groups."""


def flat(groups: dict[str, dict[str, Entry]]) -> dict[str, Entry]:
    """Return the entries of all groups by their names."""
    return {label: entry for group in groups.values() for label, entry in group.items()}


NODE, QUEUE, ALL_MORE = flat(NODES), flat(QUEUES), flat(MORE)


def plain(groups: dict[str, dict[str, Entry]], offers: Callable[[Entry], bool] = lambda entry: True) -> list[dict]:
    """Return the groups as plain values for a page, each with the entries that the page `offers`.

    An entry has the name that messages use, its label and its description.
    """
    plain_groups = [
        {"group": _(group), "entries": [_as_read(name, one) for name, one in entries.items() if offers(one)]}
        for group, entries in groups.items()
    ]
    return [group for group in plain_groups if group["entries"]]


def _as_read(name: str, entry: Entry) -> dict:
    return {"entry": name, "label": _(name), "tells": _(entry.description)}


def offered(moment: Moment, settings: Settings, rows: Iterable[str]) -> dict:
    """Return the names of the entries that apply at a moment: for the nodes, for the queues of `rows`, and in `more`.

    Each value is an index into `lists`, so that nodes or queues with the same menu share a list.
    """
    state, profile = moment.state, settings.profile
    queues = {name: queue for side in reversed(state.sides) for name, queue in side.queues.items()}
    lists: dict[tuple[str, ...], int] = {}

    def place(entries: dict[str, Entry], at: object) -> int:
        names = tuple(name for name, entry in entries.items() if entry.when is None or entry.when(at))
        return lists.setdefault(names, len(lists))

    return {
        "node": {name: place(NODE, occasions.AtNode(state, profile, at)) for at, name in enumerate(settings.names)},
        "queue": {name: place(QUEUE, occasions.AtQueue(state, profile, queues.get(name))) for name in rows},
        "more": place(ALL_MORE, state),
        "lists": [list(names) for names in lists],
    }


def argument_of(entry: Entry, name: str, nodes: Iterable[str]) -> object:
    """Return the argument of the step that an entry plays at once, for the node or queue of its menu."""
    return entry.argument(name, [node for node in nodes if node != name])


def refused(
    entries: dict[str, Entry], about: str, nodes: Iterable[str], refusal: Callable[[str, object], str]
) -> dict[str, dict]:
    """Return the entries of a node's or queue's menu that RabbitMQ would refuse now, by their names.

    Each has the `text` of the refusal, and `can_be_chosen`, True if the command may succeed for some of the queues.
    """
    found = {
        name: refusal(entry.verb, argument_of(entry, about, nodes))
        for name, entry in entries.items()
        if entry.argument is not None
    }
    return {
        name: {"text": _(WOULD_REFUSE, refusal=text), "can_be_chosen": entries[name].queue_by_queue}
        for name, text in found.items()
        if text
    }
