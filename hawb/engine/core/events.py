"""Events that the cluster schedules by itself, apart from operations (`operations`) and a Raft group's own events.

They are plain values. The table `hawb.engine.advance.HANDLERS` names the function that handles each.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from hawb.rules.policies import Policy


class GiveUp(Struct, frozen=True):
    """The timeout of an operation that waits for its queue."""

    queue: str
    number: int


class ShutDown(Struct, frozen=True):
    """The queue processes and connections of a node end in a controlled way."""

    node: int


class Stopped(Struct, frozen=True):
    """A controlled shutdown is complete. `boot` is the boot count of the node when it began."""

    node: int
    boot: int


class NodeGoneNoticed(Struct, frozen=True):
    """The other nodes notice that a node is down."""

    node: int


class SetPolicy(Struct, frozen=True):
    """A policy of a kind, user or operator, is set through `node`."""

    node: int
    policy: Policy
    kind: str


class NodeForgotten(Struct, frozen=True):
    """forget_cluster_node reaches `node`."""

    node: int
    forgotten: int


class NodeReset(Struct, frozen=True):
    """A stopped node is to be reset."""

    node: int


class ClearPolicy(Struct, frozen=True):
    """A policy of a kind, user or operator, is cleared through `node`."""

    node: int
    name: str
    vhost: str
    kind: str


class LinksTimeOut(Struct, frozen=True):
    """Links have been silent for net_ticktime. `number` is that of the step that cut them."""

    number: int


class LookAround(Struct, frozen=True):
    """A second has passed since a node or link came back. Waiting and paused nodes check which nodes they see."""


class BootAttempt(Struct, frozen=True):
    """A booting node tries to load its tables. `boot` is the boot count of the node."""

    node: int
    boot: int


class BootGivesUp(Struct, frozen=True):
    """A booting node fails its last attempt to load its tables."""

    node: int
    boot: int


class ReplicaGone(Struct, frozen=True):
    """The replicas of a queue learn that the master's process has ended though its node runs."""

    queue: str


class CrashNoticed(Struct, frozen=True):
    """Channels and replicas learn that a queue's process at a node has crashed.

    `final` is True if the process is not started again.
    """

    queue: str
    node: int
    final: bool


class MirrorMiscounts(Struct, frozen=True):
    """The master asks a mirror to drop the messages that it counts as delivered."""

    queue: str
    node: int


class RejectFails(Struct, frozen=True):
    """A channel asks a queue's master to reject a message that is not out for delivery, and has none to dead-letter."""

    queue: str
    node: int


class ProcessRestarts(Struct, frozen=True):
    """A queue's process that crashed has been started again, and finds out whether it is master or mirror."""

    queue: str
    node: int


class MirrorJoins(Struct, frozen=True):
    """A new mirror process joins its queue's group.

    `returning` is True if its node or the master's has just booted. `recorded` is True if the queue record names a dead
    mirror on the node, whose place the new one takes.
    """

    queue: str
    node: int
    returning: bool = False
    recorded: bool = False


class PolicyTakesEffect(Struct, frozen=True):
    """A queue's master applies its policy again.

    `how` is a constant of `hawb.engine.classic.ports`. The nodes `excluded`, as bits, get no mirror.
    """

    queue: str
    how: int = 0
    excluded: int = 0


class PolicyChanged(Struct, frozen=True):
    """A queue's master at `node` learns that the limits of its policy may have changed."""

    queue: str
    node: int


class MessagesExpire(Struct, frozen=True):
    """A queue's master checks whether messages at the head have expired."""

    queue: str


class ChannelTicks(Struct, frozen=True):
    """The channel of a consumer connected to `node` checks whether its oldest delivery is too old."""

    node: int
    consumer: str


class AnswersDue(Struct, frozen=True):
    """The leader of a quorum queue at `node` checks whether consumers have acknowledged in time."""

    queue: str
    node: int


class RetriesDue(Struct, frozen=True):
    """The leader of a quorum queue at `node` checks whether delayed messages are ready again."""

    queue: str
    node: int


class LettersConfirmed(Struct, frozen=True):
    """All targets of a quorum queue's dead letters have confirmed them to the leader at `node`."""

    queue: str
    node: int
    numbers: tuple[tuple[int, int], ...]


class LettersRetried(Struct, frozen=True):
    """The leader of a quorum queue at `node` publishes unconfirmed dead letters again."""

    queue: str
    node: int
    numbers: tuple[tuple[int, int], ...]


class PolicyCompared(Struct, frozen=True):
    """The leader of a quorum queue at `node` compares the queue's settings with its policy."""

    queue: str
    node: int


class HoldEnds(Struct, frozen=True):
    """The leader of a quorum queue at `node` has not reached a consumer for as long as that may keep messages."""

    queue: str
    consumer: str
    node: int


class QueueExpires(Struct, frozen=True):
    """A queue has been unused for its x-expires time, with its master at `node`."""

    queue: str
    node: int


class AutomaticSync(Struct, frozen=True):
    """A queue with ha-sync-mode automatic checks whether a mirror needs to be synchronised."""

    queue: str


class ManualSync(Struct, frozen=True):
    """rabbitmqctl sync_queue reaches the queue's master at `node`."""

    queue: str
    node: int


class SyncCancelled(Struct, frozen=True):
    """rabbitmqctl cancel_sync_queue reaches the queue."""

    queue: str


class SyncFinished(Struct, frozen=True):
    """A synchronisation has sent its last batch. `number` is that of the synchronisation."""

    queue: str
    number: int


class SyncPauses(Struct, frozen=True):
    """A synchronisation has sent a batch, and a memory alarm blocks the next one."""

    queue: str
    number: int


class SyncTooSlow(Struct, frozen=True):
    """A batch of a synchronisation has taken net_ticktime and is not complete."""

    queue: str
    number: int


class MetadataChanged(Struct, frozen=True):
    """A declaration, deletion, binding or policy has added a command to the log of the metadata store (Khepri)."""


class MetadataAvailable(Struct, frozen=True):
    """The metadata store has a leader that can commit."""


class DeletedByHalf(Struct, frozen=True):
    """A classic queue's process has ended for deletion, and its record cannot be deleted."""

    queue: str


class MetadataAsked(Struct, frozen=True):
    """A change of the metadata, by its number, reaches a leader without a majority."""

    number: int


class MetadataCommitted(Struct, frozen=True):
    """A change of the metadata that reached a leader without a majority is committed after all."""

    number: int
    operation: Any


class MetadataTimesOut(Struct, frozen=True):
    """A change of the metadata, by its number, has waited as long as it may."""

    number: int


class AlarmsChanged(Struct, frozen=True):
    """A node learns that a resource alarm was set or cleared, on itself or on another node."""

    node: int


class NodeMarked(Struct, frozen=True):
    """The metadata store marks a node as being drained, or gives that up (`given_up`).

    `boots` is the boot count of the node.
    """

    node: int
    boots: int
    given_up: bool = False


class NodeDrains(Struct, frozen=True):
    """rabbitmq-upgrade drain reaches a node."""

    node: int


class FollowersStop(Struct, frozen=True):
    """A node in maintenance mode stops its followers of these queues.

    `boots` is the boot count of the node.
    """

    node: int
    boots: int
    queues: tuple[str, ...]


class TransferLeadership(Struct, frozen=True):
    """A queue's master is to move to `node`.

    If an operator `asked` for it, the command waits for the new master.
    """

    queue: str
    node: int
    asked: bool = False


class TransferAnswered(Struct, frozen=True):
    """The command that asked for a transfer is answered: whether there is a new master."""

    queue: str


class AddReplica(Struct, frozen=True):
    """rabbitmq-streams add_replica reaches the stream coordinator."""

    queue: str
    replica: int


class DeleteReplica(Struct, frozen=True):
    """rabbitmq-streams delete_replica reaches the stream coordinator."""

    queue: str
    replica: int


class RestartStream(Struct, frozen=True):
    """rabbitmq-streams restart_stream reaches the stream coordinator, which prefers a leader at `replica`."""

    queue: str
    replica: int


class CoordinatorAwaited(Struct, frozen=True):
    """A command of `node` has waited for each member of a stream coordinator without a majority.

    `requests` are what the command asks. `text` is its error, with `code` if a client gets it.
    """

    node: int
    requests: tuple[Any, ...]
    text: str
    code: int | None = None


class Rebalance(Struct, frozen=True):
    """rabbitmq-queues rebalance reaches the cluster."""


class ConfirmsDue(Struct, frozen=True):
    """The last replica has confirmed an `Unconfirmed`, by its number, to a channel at `node`."""

    number: int
    node: int


class DeliveryArrives(Struct, frozen=True):
    """Messages that a queue's master at `node` has delivered reach the node of their consumer."""

    queue: str
    node: int
    consumer: str
    automatic: bool
    numbers: tuple[tuple[int, int], ...]


class DepthFell(Struct, frozen=True):
    """Messages have left a queue that has unsynchronised mirrors."""

    queue: str


class AutoDelete(Struct, frozen=True):
    """An auto-delete queue has lost its last consumer."""

    queue: str
