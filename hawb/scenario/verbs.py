"""The verbs of the step table, one struct each, with the contract's defaults; `VERBS` names them as files do.

The form of a verb's argument is its base class (`forms`), so a new verb is one struct and one line of `VERBS`.

A node field that is `None` stands for a default that only a running cluster knows: the first running node, or the node
of the queue's master.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, field

from hawb.scenario.fields import (
    Arguments,
    Bare,
    Bytes,
    Count,
    Flag,
    MessagePriority,
    Name,
    NameOrMap,
    Node,
    Nodes,
    OnNode,
    OnNodes,
    OnQueue,
    PartialOutcome,
    PolicyEntry,
    Prefetch,
    Priority,
    Queue,
    Rate,
    Seconds,
    Verb,
    refuse_twice,
)

Pair = Annotated[tuple[Node, ...], Meta(min_length=2, max_length=2, description="a pair of nodes: [a, b]")]
PublishMode = Literal["confirm", "plain", "tx"]


class SetPolicy(PolicyEntry, Verb, frozen=True):
    """`rabbitmqctl set_policy`."""


class SetOperatorPolicy(PolicyEntry, Verb, frozen=True):
    """`rabbitmqctl set_operator_policy`."""


class ClearPolicy(NameOrMap, frozen=True):
    """`rabbitmqctl clear_policy`."""


class ClearOperatorPolicy(NameOrMap, frozen=True):
    """`rabbitmqctl clear_operator_policy`."""


# --- queues and clients; `node` is where the client is connected, None for the first running node ---


class Declare(Verb, frozen=True):
    """queue.declare."""

    queue: Queue
    node: Node | None = None
    durable: bool = True
    exclusive: bool = False
    auto_delete: bool = False
    passive: bool = False
    arguments: Arguments = field(default_factory=dict)
    connection: Name = "default"


class Delete(Verb, frozen=True):
    """queue.delete."""

    queue: Queue
    if_empty: bool = False
    if_unused: bool = False
    node: Node | None = None


class Purge(OnQueue, frozen=True):
    """queue.purge."""


class Bind(Verb, frozen=True):
    """queue.bind to a direct exchange. You need not declare the exchange."""

    queue: Queue
    exchange: str
    routing_key: str


class Publish(Verb, frozen=True, kw_only=True):
    """basic.publish: `count` messages to `queue`, or each message to all of `queues`."""

    queue: Queue | None = None
    queues: Annotated[tuple[Queue, ...], Meta(description="a list of queues")] = ()
    count: Count
    size: Bytes = 1024
    persistent: bool = True
    mode: PublishMode = "confirm"
    node: Node | None = None
    priority: MessagePriority | None = None
    connection: Name = "default"

    def __post_init__(self) -> None:
        if (self.queue is None) == (not self.queues):
            raise ValueError("queue, queues: write exactly one of the two")
        refuse_twice("queues", self.queues)

    @property
    def targets(self) -> tuple[str, ...]:
        """Return the queues to which each message goes, however they were written."""
        return self.queues or (self.queue,)


class Publisher(Verb, frozen=True):
    """A steady publisher of `rate` messages per second until it is closed."""

    name: Name
    queue: Queue
    rate: Rate
    size: Bytes = 1024
    persistent: bool = True
    mode: PublishMode = "confirm"
    node: Node | None = None


class Consume(Verb, frozen=True):
    """basic.consume. With a `rate`, the consumer acknowledges that many messages per second. Without it, use `ack`."""

    consumer: Name
    queue: Queue
    node: Node | None = None
    prefetch: Prefetch = 0
    global_prefetch: bool = False
    ack: Literal["manual", "auto"] = "manual"
    exclusive: bool = False
    priority: Priority = 0
    cancel_on_ha_failover: bool = False
    cancel_notify: bool = True
    rate: Rate | None = None
    connection: Name = "default"


class Ack(Verb, frozen=True):
    """basic.ack: acknowledge messages of a consumer or of a `get`, oldest delivery first."""

    consumer: Name
    count: Count | Literal["all"] = "all"


class Nack(Verb, frozen=True):
    """basic.nack: negatively acknowledge messages of a consumer or of a `get`, oldest delivery first."""

    consumer: Name
    count: Count | Literal["all"] = "all"
    requeue: bool = True


class Get(Verb, frozen=True):
    """basic.get. With `ack=False`, use the name `consumer` in a later `ack` or `nack` of these messages."""

    queue: Queue
    count: Count
    ack: bool = True
    consumer: Name | None = None


class Cancel(Bare, frozen=True):
    """basic.cancel. The consumer keeps its name and its unacknowledged messages."""

    consumer: Name


class Close(Bare, frozen=True):
    """The connection, publisher or consumer with this name closes. Its unacknowledged messages are requeued."""

    name: Name


# --- nodes ---


class Stop(OnNodes, frozen=True):
    """`rabbitmqctl stop`: the nodes shut down in a controlled way."""


class Kill(OnNodes, frozen=True):
    """kill -9: peers see the connection break at once."""


class PowerOff(OnNodes, frozen=True):
    """The host loses power: peers notice after net_ticktime."""


class Start(OnNodes, frozen=True):
    """The nodes boot."""


class Wipe(OnNode, frozen=True):
    """The node is down and its disk is lost; the other nodes still count it as a member."""


class ForceBoot(OnNode, frozen=True):
    """`rabbitmqctl force_boot`, then a start that does not wait for the node that stopped last."""


class Drain(OnNode, frozen=True):
    """`rabbitmq-upgrade drain`."""


class Revive(OnNode, frozen=True):
    """`rabbitmq-upgrade revive`."""


class Crash(Verb, frozen=True):
    """The queue's process crashes on `node` (None: on the master's node). The node continues to run."""

    queue: Queue
    node: Node | None = None


class OnResource(Verb, frozen=True):
    """A verb for a resource of a node."""

    node: Node
    resource: Literal["memory", "disk"] = "memory"


class Alarm(OnResource, frozen=True):
    """A resource alarm is set on a node."""


class ClearAlarm(OnResource, frozen=True):
    """A resource alarm of a node is cleared."""


# --- links ---


class Partition(Bare, frozen=True):
    """All links between the groups silently drop their messages."""

    groups: Annotated[tuple[Nodes, ...], Meta(min_length=2, description="two or more lists of nodes: [[a], [b, c]]")]

    def __post_init__(self) -> None:
        refuse_twice("groups", [node for group in self.groups for node in group])


class Cut(Bare, frozen=True):
    """The links between these pairs of nodes silently drop their messages."""

    links: Annotated[tuple[Pair, ...], Meta(min_length=1, description="a list of pairs of nodes: [[a, b]]")]

    def __post_init__(self) -> None:
        for link in self.links:
            refuse_twice("links", link)


class Heal(Flag, frozen=True):
    """All links work again."""


# --- membership ---


class Join(OnNode, frozen=True):
    """`rabbitmqctl join_cluster`: a new node, known and down before this step, joins the cluster."""


class Reset(OnNode, frozen=True):
    """`rabbitmqctl reset`: a stopped node forgets the cluster and its data."""


class ForceReset(OnNode, frozen=True):
    """`rabbitmqctl force_reset`: a stopped node forgets the cluster and its data, and the others are not informed."""


class ForceStandaloneKhepriBoot(OnNode, frozen=True):
    """`rabbitmqctl force_standalone_khepri_boot`: a node whose peers are gone for good becomes the only member."""


class ForgetClusterNode(Verb, frozen=True):
    """`rabbitmqctl forget_cluster_node [--offline]`, run on `from_` (None: the first running node)."""

    node: Node
    from_: Node | None = field(default=None, name="from")
    offline: bool = False


# --- replicas ---


class SyncQueue(OnQueue, frozen=True):
    """`rabbitmqctl sync_queue`."""


class CancelSyncQueue(OnQueue, frozen=True):
    """`rabbitmqctl cancel_sync_queue`."""


class OnMember(Verb, frozen=True):
    """A verb for the member of a quorum queue on a node."""

    queue: Queue
    node: Node


class AddMember(OnMember, frozen=True):
    """`rabbitmq-queues add_member`."""


class DeleteMember(OnMember, frozen=True):
    """`rabbitmq-queues delete_member`."""


class Grow(Verb, frozen=True):
    """`rabbitmq-queues grow`."""

    node: Node
    strategy: Literal["all", "even"] = "all"
    pattern: str = ".*"


class Shrink(OnNode, frozen=True):
    """`rabbitmq-queues shrink`."""


class ForceShrink(OnNode, frozen=True):
    """`rabbit_quorum_queue:force_all_queues_shrink_member_to_current_member/0`: queues keep only this node's member."""


class TransferLeadership(OnMember, frozen=True):
    """The leader of a quorum queue hands over to the member on `node`."""


class Rebalance(Flag, frozen=True):
    """`rabbitmq-queues rebalance all`."""


class Wait(Bare, frozen=True):
    """Simulated time passes."""

    seconds: Seconds


class Expect(Bare, frozen=True):
    """A partial outcome that `hawb check` compares at this point; `hawb run` skips it."""

    outcome: PartialOutcome


VERBS: dict[str, type[Verb]] = {
    "set_policy": SetPolicy,
    "set_operator_policy": SetOperatorPolicy,
    "clear_policy": ClearPolicy,
    "clear_operator_policy": ClearOperatorPolicy,
    "declare": Declare,
    "delete": Delete,
    "purge": Purge,
    "bind": Bind,
    "publish": Publish,
    "publisher": Publisher,
    "consume": Consume,
    "ack": Ack,
    "nack": Nack,
    "get": Get,
    "cancel": Cancel,
    "close": Close,
    "stop": Stop,
    "kill": Kill,
    "power_off": PowerOff,
    "start": Start,
    "wipe": Wipe,
    "force_boot": ForceBoot,
    "drain": Drain,
    "revive": Revive,
    "crash": Crash,
    "partition": Partition,
    "cut": Cut,
    "heal": Heal,
    "alarm": Alarm,
    "clear_alarm": ClearAlarm,
    "join": Join,
    "reset": Reset,
    "force_reset": ForceReset,
    "force_standalone_khepri_boot": ForceStandaloneKhepriBoot,
    "force_shrink": ForceShrink,
    "forget_cluster_node": ForgetClusterNode,
    "sync_queue": SyncQueue,
    "cancel_sync_queue": CancelSyncQueue,
    "add_member": AddMember,
    "delete_member": DeleteMember,
    "grow": Grow,
    "shrink": Shrink,
    "transfer_leadership": TransferLeadership,
    "rebalance": Rebalance,
    "wait": Wait,
    "expect": Expect,
}
VERB_NAMES: dict[type[Verb], str] = {verb: name for name, verb in VERBS.items()}
