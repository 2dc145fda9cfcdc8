"""The events that can stand on the agenda beside operations and a Raft group's own events: what the cluster does by
itself.

Plain values without behaviour; `hawb.engine.advance` has the handler of each.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from hawb.rules.policies import Policy


class GiveUp(Struct, frozen=True):
    """A parked operation has waited as long as it may."""

    queue: str
    number: int


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
    """A policy of a kind, user or operator, is set through `node`."""

    node: int
    policy: Policy
    kind: str


class NodeForgotten(Struct, frozen=True):
    """`node` is told to forget another member."""

    node: int
    forgotten: int


class NodeReset(Struct, frozen=True):
    """A node that is down is to forget the cluster."""

    node: int


class ClearPolicy(Struct, frozen=True):
    """A policy of a kind, user or operator, is cleared through `node`."""

    node: int
    name: str
    vhost: str
    kind: str


class LinksTimeOut(Struct, frozen=True):
    """Links have been silent for net_ticktime; `number` tells which step cut them."""

    number: int


class LookAround(Struct, frozen=True):
    """A second after a node or link came back, nodes that wait for it look."""


class BootAttempt(Struct, frozen=True):
    """A booting node tries to load its tables; `boot` tells this boot from later ones of the same node."""

    node: int
    boot: int


class BootGivesUp(Struct, frozen=True):
    """A booting node's last try to load its tables is over."""

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


class MirrorMiscounts(Struct, frozen=True):
    """A mirror is told to drop what it counts as delivered."""

    queue: str
    node: int


class RejectFails(Struct, frozen=True):
    """A queue's master is told to reject a message for which it does not wait, and finds none to dead-letter."""

    queue: str
    node: int


class ProcessRestarts(Struct, frozen=True):
    """A queue's process that crashed was started again, and looks for its role."""

    queue: str
    node: int


class MirrorJoins(Struct, frozen=True):
    """A new mirror process joins its queue's group; `returning` where its node or its master's has just come up,
    `recorded` where the record names one there that is dead, in whose place it comes."""

    queue: str
    node: int
    returning: bool = False
    recorded: bool = False


class PolicyTakesEffect(Struct, frozen=True):
    """A queue's master looks at its policy again; `how` is of `hawb.engine.classic.ports`. The nodes `spared`, as bits,
    get no mirror."""

    queue: str
    how: int = 0
    spared: int = 0


class PolicyChanged(Struct, frozen=True):
    """A queue's master at `node` hears that the limits of its policy may have changed."""

    queue: str
    node: int


class MessagesExpire(Struct, frozen=True):
    """A queue's master looks whether messages at its head have expired."""

    queue: str


class ChannelTicks(Struct, frozen=True):
    """The channel of a consumer that is connected to `node` looks whether its oldest delivery is too old."""

    node: int
    consumer: str


class AnswersDue(Struct, frozen=True):
    """The leader of a quorum queue at `node` looks whether consumers have answered in time."""

    queue: str
    node: int


class RetriesDue(Struct, frozen=True):
    """The leader of a quorum queue at `node` looks whether messages have waited long enough."""

    queue: str
    node: int


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


class PolicyCompared(Struct, frozen=True):
    """A quorum queue's leader at `node` looks whether the queue keeps to its policy."""

    queue: str
    node: int


class HoldEnds(Struct, frozen=True):
    """A quorum queue's leader at `node` has lost sight of a consumer for as long as that may hold messages."""

    queue: str
    consumer: str
    node: int


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
    """The batch of a synchronisation is over, and a memory alarm holds the next one."""

    queue: str
    number: int


class SyncTooSlow(Struct, frozen=True):
    """A batch of a synchronisation has taken net_ticktime and is not over."""

    queue: str
    number: int


class MetadataChanged(Struct, frozen=True):
    """Something was declared, deleted, bound or set, with Khepri: the log of the store has a command more."""


class MetadataAvailable(Struct, frozen=True):
    """The metadata store has a leader that can commit."""


class DeletedByHalf(Struct, frozen=True):
    """A classic queue's process has ended to be deleted, and its record cannot be."""

    queue: str


class MetadataAsked(Struct, frozen=True):
    """A change of the metadata, by the number under which it waits, reaches a leader without a majority."""

    number: int


class MetadataCommitted(Struct, frozen=True):
    """A change that had reached a leader without a majority is committed after all."""

    number: int
    operation: Any


class MetadataTimesOut(Struct, frozen=True):
    """A change of the metadata has waited as long as it may, by the number under which it waits."""

    number: int


class AlarmsChanged(Struct, frozen=True):
    """A node learns that a resource alarm was set or cleared, its own or another's."""

    node: int


class NodeMarked(Struct, frozen=True):
    """A node that is to be drained has that written into the metadata, or has given that up; `boots` tells it from one
    that was started again."""

    node: int
    boots: int
    given_up: bool = False


class NodeDrains(Struct, frozen=True):
    """rabbitmq-upgrade drain reaches a node."""

    node: int


class FollowersStop(Struct, frozen=True):
    """A node that is drained stops its members of these queues, which follow; `boots` tells it from one that was
    started again."""

    node: int
    boots: int
    queues: tuple[str, ...]


class TransferLeadership(Struct, frozen=True):
    """A queue's master is to move to `node`; if a person `asked` for it, the command waits for the new master."""

    queue: str
    node: int
    asked: bool = False


class TransferAnswered(Struct, frozen=True):
    """The answer to a person who asked for a transfer: whether there is a new master."""

    queue: str


class AddReplica(Struct, frozen=True):
    """rabbitmq-streams add_replica reaches the coordinator of streams."""

    queue: str
    replica: int


class DeleteReplica(Struct, frozen=True):
    """rabbitmq-streams delete_replica reaches the coordinator of streams."""

    queue: str
    replica: int


class RestartStream(Struct, frozen=True):
    """rabbitmq-streams restart_stream reaches the coordinator of streams; it prefers a leader at `replica`."""

    queue: str
    replica: int


class CoordinatorAwaited(Struct, frozen=True):
    """The coordinator of streams had no majority, and the time is over for which a command of `node` waits for each of
    its members. `requests` are what the command asks; `text` is its error, with `code` where a client gets it."""

    node: int
    requests: tuple[Any, ...]
    text: str
    code: int | None = None


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


class AutoDelete(Struct, frozen=True):
    """An auto-delete queue has lost its last consumer."""

    queue: str
