"""What can stand on the agenda: operations of clients on their way to a queue, and what the cluster does by itself.

Plain values without behaviour; `hawb.engine.advance` says who handles each.
"""

from __future__ import annotations

from msgspec import Struct

from hawb.engine.raft_messages import Message, Written
from hawb.rules.policies import Policy

# Operations of clients. `node` is where the client is connected.


class Operation(Struct, frozen=True):
    """What a client asks of a queue. `connection` is None where an exclusive queue's owner is not asked for."""

    queue: str
    node: int
    connection: str | None = None


class Declare(Operation, frozen=True, kw_only=True):
    """queue.declare"""

    durable: bool = True
    exclusive: bool = False
    auto_delete: bool = False
    passive: bool = False
    arguments: tuple[tuple[str, object], ...] = ()


class Delete(Operation, frozen=True, kw_only=True):
    """queue.delete"""

    if_empty: bool = False
    if_unused: bool = False


class Purge(Operation, frozen=True, kw_only=True):
    """queue.purge"""


class Bind(Operation, frozen=True, kw_only=True):
    """exchange.declare of a durable direct exchange, and queue.bind to it"""

    exchange: str
    routing_key: str


class Messages(Operation, frozen=True, kw_only=True):
    """`count` messages on their way to a queue, where consumers make `more_room` while they come. What they died of
    before and their routing keys are a dead letter's (`state.Batch`). `copied` are queues whose mirrors had them before
    one of these became master."""

    count: int
    size_bytes: int
    persistent: bool
    more_room: int = 0
    priority: int | None = None
    deaths: tuple[tuple[str, str], ...] = ()
    routing_keys: tuple[str, ...] = ()
    copied: tuple[str, ...] = ()


class DeadLetters(Messages, frozen=True, kw_only=True):
    """Messages that another queue, whose master is at `node`, has given up; `flowing` where steady clients have brought
    it to that."""

    flowing: bool = False


class Publish(Messages, frozen=True, kw_only=True):
    """basic.publish of `count` messages, each routed to all of `queues` (`queue` is the first of them). `confirm` asks
    for an answer, and `transaction` for one answer to all, tx.commit-ok or the end of the channel. `struck` is one of
    `queues` whose master died with the messages in its mailbox, `publisher` the steady publisher whose they are."""

    queues: tuple[str, ...]
    confirm: bool
    transaction: bool = False
    struck: str | None = None
    publisher: str | None = None


class Consume(Operation, frozen=True, kw_only=True):
    """basic.consume; with a `rate` the client answers for, or takes, so many messages a second."""

    consumer: str
    rate: float | None = None
    prefetch: int = 0
    global_prefetch: bool = False
    automatic: bool = False
    exclusive: bool = False
    priority: int = 0
    cancel_on_ha_failover: bool = False
    cancel_notify: bool = True


class Resume(Operation, frozen=True, kw_only=True):
    """A channel registers a consumer again after its queue's master went away."""

    consumer: str
    subscription: int


class Get(Operation, frozen=True, kw_only=True):
    """basic.get of up to `count` messages; a `holder` keeps them, without one they are acknowledged at once."""

    count: int
    holder: str | None


class Enqueue(Messages, frozen=True, kw_only=True):
    """Messages, numbered already, for a quorum queue. Without a connection nobody waits for an answer; otherwise `mode`
    is whether the channel confirms and whether it has transactions."""

    numbers: tuple[tuple[int, int], ...]
    mode: tuple[bool, bool] = (False, False)


class ChannelDown(Operation, frozen=True, kw_only=True):
    """A quorum queue's leader has noticed that a consumer's channel is gone, and why."""

    consumer: str
    reason: str


class AdoptPolicy(Struct, frozen=True):
    """A quorum queue's leader has heard that the queue's policy is another."""

    queue: str
    node: int = -1


class NodeSuspected(Struct, frozen=True):
    """A quorum queue's leader has lost sight of `node`, where consumers are."""

    queue: str
    node: int


class NodeReached(Struct, frozen=True):
    """A quorum queue's leader sees `node` again."""

    queue: str
    node: int


class Settle(Operation, frozen=True, kw_only=True):
    """basic.ack, basic.nack or basic.reject of a consumer's oldest deliveries (`count` None: all). `unheard` was one
    that waited for a master that is gone."""

    consumer: str
    count: int | None
    verdict: str
    unheard: bool = False


class GiveUp(Struct, frozen=True):
    """The time in which a parked operation could be served is over."""

    queue: str
    number: int


# What the cluster does by itself.


class ShutDown(Struct, frozen=True):
    """A node's queue processes and connections end in a controlled way."""

    node: int


class Stopped(Struct, frozen=True):
    """A controlled shutdown is complete; `boot` tells it from one before the node was started again."""

    node: int
    boot: int


class NodeGoneNoticed(Struct, frozen=True):
    """The other nodes learn that a node is gone."""

    node: int


class SetPolicy(Struct, frozen=True):
    """A policy, or of another kind an operator policy, is set through `node`."""

    node: int
    policy: Policy
    kind: str


class ClearPolicy(Struct, frozen=True):
    """A policy, or of another kind an operator policy, is cleared through `node`."""

    node: int
    name: str
    vhost: str
    kind: str


class LinksTimeOut(Struct, frozen=True):
    """Links have been silent for net_ticktime; `number` tells which cut them."""

    number: int


class LookAround(Struct, frozen=True):
    """A second after something came back, nodes that wait for that look."""


class BootAttempt(Struct, frozen=True):
    """A booting node tries to load its tables; `boot` tells this boot from later ones of the same node."""

    node: int
    boot: int


class BootGivesUp(Struct, frozen=True):
    """The last try is over."""

    node: int
    boot: int


class ReplicaGone(Struct, frozen=True):
    """A queue's replicas learn that its master's process ended though its node runs."""

    queue: str


class CrashNoticed(Struct, frozen=True):
    """Channels and replicas learn that a queue's process at a node crashed; `final` if it is not started again."""

    queue: str
    node: int
    final: bool


class ProcessRestarts(Struct, frozen=True):
    """A queue's process that crashed was started again, and looks what it is to be."""

    queue: str
    node: int


class MirrorJoins(Struct, frozen=True):
    """A new mirror process joins its queue's group; `returning` where its node or its master's has just come up."""

    queue: str
    node: int
    returning: bool = False


class PolicyTakesEffect(Struct, frozen=True):
    """A queue's master looks at its policy again, and at what there is to `synchronise`, perhaps while its node boots
    (`returning`)."""

    queue: str
    synchronise: bool = True
    returning: bool = False


class PolicyChanged(Struct, frozen=True):
    """A queue's master at `node` hears that the limits its policy sets may be others."""

    queue: str
    node: int


class MessagesExpire(Struct, frozen=True):
    """A queue's master looks whether messages at its head have expired."""

    queue: str


class LettersConfirmed(Struct, frozen=True):
    """All targets of a quorum queue's dead letters have confirmed them to its leader at `node`."""

    queue: str
    node: int
    numbers: tuple[tuple[int, int], ...]


class LettersRetried(Struct, frozen=True):
    """A quorum queue's leader at `node` tries again to send dead letters."""

    queue: str
    node: int
    numbers: tuple[tuple[int, int], ...]


class QueueExpires(Struct, frozen=True):
    """A queue has been unused, under its master at `node`, for as long as it may be."""

    queue: str
    node: int


class AutomaticSync(Struct, frozen=True):
    """A queue with ha-sync-mode automatic looks whether a mirror needs to be synchronised."""

    queue: str


class ManualSync(Struct, frozen=True):
    """rabbitmqctl sync_queue reaches the queue's master at `node`."""

    queue: str
    node: int


class SyncCancelled(Struct, frozen=True):
    """rabbitmqctl cancel_sync_queue reaches the queue."""

    queue: str


class SyncFinished(Struct, frozen=True):
    """A synchronisation has sent its last batch; `number` tells it from another of the same queue."""

    queue: str
    number: int


class SyncPauses(Struct, frozen=True):
    """The batch of a synchronisation is over after which a memory alarm holds it."""

    queue: str
    number: int


class SyncTooSlow(Struct, frozen=True):
    """A batch of a synchronisation has taken net_ticktime and is not over."""

    queue: str
    number: int


class AlarmsChanged(Struct, frozen=True):
    """A node learns that a resource alarm was set or cleared, its own or another's."""

    node: int


class NodeDrains(Struct, frozen=True):
    """rabbitmq-upgrade drain reaches a node."""

    node: int


class TransferLeadership(Struct, frozen=True):
    """A queue's master is to move to `node`; who `asked` for it alone waits for the new master."""

    queue: str
    node: int
    asked: bool = False


class TransferAnswered(Struct, frozen=True):
    """Whether there is a new master, for who asked for a transfer."""

    queue: str


class Rebalance(Struct, frozen=True):
    """rabbitmq-queues rebalance reaches the cluster."""


class ConfirmsDue(Struct, frozen=True):
    """The last replica asked has answered, for an `Unconfirmed` by its number, of a channel at `node`."""

    number: int
    node: int


class DeliveryArrives(Struct, frozen=True):
    """Messages that a queue's master at `node` has sent reach the node of their consumer."""

    queue: str
    node: int
    consumer: str
    automatic: bool
    numbers: tuple[tuple[int, int], ...]


class DepthFell(Struct, frozen=True):
    """Messages left a queue that has unsynchronised mirrors."""

    queue: str


class RaftArrives(Struct, frozen=True):
    """A message between members of a quorum queue's group reaches the one at `node`."""

    queue: str
    node: int
    group: int
    message: Message


class RaftWritten(Struct, frozen=True):
    """The disk of a member has what a write asked for; `boot` tells it from one before the node was started again."""

    queue: str
    node: int
    group: int
    boot: int
    written: Written


class ElectionDue(Struct, frozen=True):
    """A member that misses a leader asks for votes."""

    queue: str
    node: int
    group: int


class HandoverDue(Struct, frozen=True):
    """The time is over in which the member that a leader hands over to could have been elected."""

    queue: str
    node: int
    group: int


class LeaderElected(Struct, frozen=True):
    """Channels hear of a quorum queue's new leader, and send it again what is not decided."""

    queue: str
    node: int
    group: int


class MajorityReached(Struct, frozen=True):
    """Channels hear that a quorum queue's leader can commit what they had asked of it."""

    queue: str
    node: int
    group: int


class LogCut(Struct, frozen=True):
    """A member of a quorum queue has cut off entries that its leader does not have."""

    queue: str


class MembersAbreast(Struct, frozen=True):
    """Members of a quorum queue have learnt all that is committed."""

    queue: str


class LinksSuspected(Struct, frozen=True):
    """Links have been silent for so long that the failure detector takes the nodes at their ends for dead."""

    links: tuple[tuple[int, int], ...]


class RegistrationGivenUp(Struct, frozen=True):
    """The time is over that a channel waits to be known to a quorum queue, before it sends the messages of a proposal
    of this `number`."""

    queue: str
    group: int
    number: int


class ProposalGivenUp(Struct, frozen=True):
    """The time is over that a channel waits for a quorum queue's answer."""

    queue: str
    group: int
    number: int


class ConsumerCancels(Struct, frozen=True):
    """A client cancels its consumer."""

    consumer: str


class ConsumerCloses(Struct, frozen=True):
    """A client closes its consumer's channel."""

    consumer: str


class ConnectionCloses(Struct, frozen=True):
    """A client closes its connection."""

    connection: str
    node: int
    vhost: str


class AutoDelete(Struct, frozen=True):
    """An auto-delete queue has lost its last consumer."""

    queue: str
