"""The values that a cluster is made of.

Everything here is immutable and compared by value. A new state shares each queue, node and consumer that did not change
with the state before, so that keeping a state costs a reference. These are msgspec Structs because they are built in C,
cost a third of a frozen dataclass and cache their hash. Mappings inside a `State` are never written to once it exists.

A network that is not partitioned has one `Side`: what the cluster knows of itself. In a partition each side has a copy
of it, and from then on the copies differ.

Nodes are indices in alphabetical order of their names (Erlang's term order, which decides RabbitMQ's ties). Sets of
nodes are bits. Simulated time is in integer microseconds. Message contents are runs (`hawb.engine.core.runs`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import astuple

from hawb.engine.classic.sync_effort import Effort
from hawb.engine.clients.client_state import Consumer, Publisher, Unconfirmed
from hawb.engine.core.runs import EMPTY, Runs, common, union
from hawb.engine.quorum.fifo_state import Fifo
from hawb.engine.raft_groups.group import Group
from hawb.rules.limits import NO_LIMITS, Limits
from hawb.rules.policies import Mirroring, Policy
from hawb.rules.queue_types import CLASSIC, QUORUM, STREAM
from hawb.rules.quorum_declaration import QuorumSettings

NOWHERE = -1
"""The node of something that has none."""

GROUPED = (QUORUM, STREAM)
"""Queue types whose queues have members of a Raft group."""

RUNNING, STOPPING, DOWN, BOOTING, WAITING = "running", "stopping", "down", "booting", "waiting"
STARTED = (RUNNING, WAITING)
"""The statuses of nodes whose members of the metadata store run (Khepri)."""
PAUSED = "paused"
"""The status of a node that has stopped its broker until it sees enough others (cluster_partition_handling)."""

NOTHING, MAJORITY, PREFERRED, ALL_NODES, RESTART = range(5)
"""What a node that pauses waits for before it starts its broker again.

NOTHING: it does not pause; RESTART: it starts again at once.
"""


def nodes_of(bits: int) -> list[int]:
    """Return the nodes of a set of bits, in their order."""
    return [node for node in range(bits.bit_length()) if bits >> node & 1]


def bits_of(nodes: Iterable[int]) -> int:
    """Return nodes, each given once, as a set of bits."""
    return sum(1 << node for node in nodes)


def with_content(contents: tuple[Runs | None, ...], changed: dict[int, Runs | None]) -> tuple[Runs | None, ...]:
    """Return the contents of replicas, with those of some nodes replaced."""
    return tuple(changed.get(node, content) for node, content in enumerate(contents))


class Node(Struct):
    """A node, and which other nodes it sees as running. Only a turn writes to it.

    Only members whose disk is not empty (`virgin`) ever run.
    """

    status: str = RUNNING
    believes: int = 0
    """The other members that it takes for running, as bits. It keeps them when it stops; they decide if it may boot
    alone."""
    boots: int = 0
    """How often it has booted."""
    member: bool = True
    """True if the other nodes count it as a member of the cluster."""
    virgin: bool = False
    """True if its disk is empty, so that it knows of no cluster."""
    side: int = 0
    """The number of the side whose records it has; on its disk while it is down."""
    remembers: Side | None = None
    """Those records as they were when the node stopped. Other nodes may have changed them since."""
    silent: bool = False
    """True if it is down and no other node has noticed."""
    awaits: int = NOTHING
    """What must hold before a node that has paused starts its broker again."""
    may_boot_alone: bool = False
    """True after force_boot."""
    drained: bool = False
    """True in maintenance mode."""
    coordinates: bool = False
    """True if the stream coordinator still counts it as a member although it has left the cluster."""

    def __hash__(self) -> int:
        return hash(astuple(self))

    @property
    def believes_running(self) -> list[int]:
        """Return the other members that the node sees as running, sorted."""
        return nodes_of(self.believes)


class Batch(Struct, frozen=True):
    """Messages published together."""

    first: int
    last: int
    """The messages have the numbers `first` to `last`."""
    size_bytes: int
    """The size of each message."""
    persistent: bool
    priority: int | None = None
    expires_us: int | None = None
    """When the first message expires."""
    deaths: tuple[tuple[str, str], ...] = ()
    """For a dead letter, its deaths (queue, reason), the latest first."""
    routing_keys: tuple[str, ...] = ()
    """For a dead letter, the routing keys that it was published with. Other messages have their queue's name."""
    flow: tuple[int, int] | None = None
    """(messages, microseconds): the rate at which a publisher with a rate sent them. They expire in that order."""


class Sync(Struct, frozen=True):
    """A synchronisation in progress."""

    mirrors: tuple[int, ...]
    """The mirrors that take part, oldest first."""
    effort: Effort
    began_us: int
    """When it began, or would have begun if no alarm had blocked it."""
    number: int
    held_us: int | None = None
    """Since when a memory alarm blocks it; None if none does."""


class WaitingOperation(Struct, frozen=True):
    """A client's operation that waits for its queue to serve again, and the step it belongs to."""

    number: int
    operation: Any
    step: int


class Proposed(WaitingOperation, frozen=True):
    """A change of the metadata that waits in the log of a leader without a majority."""


class Queue(Struct):
    """A queue's record, and the contents of its replicas. Only a turn writes to it.

    A classic queue has a master and mirrors. A quorum queue or stream has members of a Raft group
    (`hawb.engine.raft_groups`): `master` is the leader, NOWHERE while a side knows none, and `up` is True if the leader
    can commit.
    """

    name: str
    vhost: str
    type: str
    durable: bool
    auto_delete: bool
    owner: tuple[str, int] | None
    """The connection (name, node) of an exclusive queue."""
    arguments: tuple[tuple[str, object], ...]
    policy: str | None
    operator_policy: str | None
    mirroring: Mirroring | None
    master: int
    contents: tuple[Runs | None, ...]
    """For each node, the messages of its replica, or those on its disk while it is down; None without a copy. The
    content of the master is the queue's, unacknowledged messages included."""
    mirrors: tuple[int, ...] = ()
    """Oldest first, as in RabbitMQ's record."""
    synchronised: tuple[int, ...] = ()
    """The synchronised mirrors, newest first as in RabbitMQ's record; the members that know everything committed."""
    recoverable: tuple[int, ...] = ()
    depth_unknown: int = 0
    """Mirrors, as bits, that lost count of the master's depth in an interrupted synchronisation. They cannot become
    synchronised before the next broadcast."""
    mirrored: bool = False
    up: bool = True
    """True if the master's process runs."""
    stopped: bool = False
    """True if the master's process last ended in a controlled way."""
    awaits_master: bool = False
    """True if no mirror can take over, so that the queue waits for its master's node."""
    dead_gm_members: int = 0
    """Nodes of dead replicas, as bits, that the record of a queue without a master still counts in its group. A mirror
    that joins takes over."""
    dead_gm_synchronised: int = 0
    """Those of them that count as synchronised."""
    orphaned_gm: int = NOWHERE
    """The node of a mirror that refused to take over: its queue process has ended, its gm process has not. It stands
    before all other mirrors."""
    mirrors_on_disk: tuple[int, ...] = ()
    """The mirrors that the record on disk names. A change of policy writes them, the next change of mirrors clears
    them."""
    orphaned_mirrors: tuple[int, ...] = ()
    """Orphaned mirrors, on the record of a master that came back without mirrors
    (`hawb.engine.classic.orphaned_mirrors`)."""
    orphaned_group: int = 0
    """The group that orphaned mirrors have of their own, as bits."""
    not_promotable: int = 0
    """Mirrors, as bits, of an orphaned mirror that took over. They end with it and cannot be promoted."""
    orphaned_publishes: tuple[tuple[object, Runs, int], ...] = ()
    """Publishes that channels have sent to orphaned mirrors: (operation, numbers, step)."""
    absent: bool = False
    """True if only disks have the record. No node joins the queue before its master's node is back."""
    batches: tuple[Batch, ...] = ()
    lagging: tuple[tuple[int, int], ...] = ()
    """Mirrors that the master does not reach, or did not before it died: (node, first message that it lacks)."""
    unwritten: Runs = EMPTY
    """Messages not yet on the disk of a master whose host lost power."""
    redelivered: Runs = EMPTY
    """Messages that were with a consumer before and are ready now."""
    unacknowledged: Runs = EMPTY
    """Messages with a consumer."""
    uncounted_from: int = 0
    """From this message on the queue does not remember which messages it has delivered; 0 if it remembers all."""
    consumers: tuple[str, ...] = ()
    active_consumer: str | None = None
    """The consumer that the queue serves under x-single-active-consumer."""
    crashed: int = 0
    """Nodes, as bits, where the queue's process has crashed and not restarted."""
    crashes: tuple[tuple[int, int], ...] = ()
    """The recent crashes: (node, time_us)."""
    failed: bool = False
    """True if the master's process crashed too often to be restarted."""
    waiting: tuple[WaitingOperation, ...] = ()
    """Operations of clients that wait for the queue to serve again."""
    sync: Sync | None = None
    members: tuple[int, ...] = ()
    holder: int = NOWHERE
    """The last leader. Its content is the queue's."""
    pending: Runs = EMPTY
    """Messages that channels have sent and no leader has committed."""
    fifo: Fifo | None = None
    """The state machine of a quorum queue, apart from its messages."""
    quorum_settings: QuorumSettings | None = None
    """The settings that a quorum queue applies."""
    pending_settings: QuorumSettings | None = None
    """Settings of its policy that a quorum queue has not learned yet."""
    limits: Limits = NO_LIMITS
    """The length limits, TTL and dead letter settings of the record."""
    limits_in_effect: Limits = NO_LIMITS
    """The limits that the master applies, which learns of a change a little later."""
    ttl_timer_us: int | None = None
    """When the master next checks for expired messages."""
    bindings: tuple[tuple[str, str], ...] = ()
    """Pairs of an exchange and a routing key."""
    overcounted: tuple[tuple[int, Runs], ...] = ()
    """Mirrors that have seen their master die, with the messages that each counts as delivered by that master and the
    present one has not delivered."""
    began: int = 0
    """How many messages were published under this name before the queue was declared."""
    places: tuple[tuple[int, tuple[tuple[int, int, int], ...]], ...] = ()
    """How replicas number their messages that number them otherwise than the first (`hawb.engine.classic.places`)."""
    unplaced: Runs = EMPTY
    """Messages that no replica has numbered."""

    def __hash__(self) -> int:
        return hash(astuple(self))

    @property
    def has_group(self) -> bool:
        """Return True if a Raft group replicates the queue: a quorum queue or a stream."""
        return self.type != CLASSIC

    @property
    def delivered(self) -> Runs:
        """Return the messages that would be marked as redelivered if all clients of the queue closed now."""
        return union(self.redelivered, self.counted(self.unacknowledged))

    def counted(self, numbers: Runs) -> Runs:
        """Return the delivered messages among `numbers` that the queue remembers as delivered."""
        return common(numbers, ((1, self.uncounted_from - 1),)) if self.uncounted_from else numbers

    @property
    def content(self) -> Runs:
        """Return the messages that the queue holds, ready and unacknowledged.

        Those of a Raft group include the uncommitted ones.
        """
        if self.has_group:
            return union(self.contents[self.holder] or EMPTY, self.pending)
        return self.contents[self.master] or EMPTY

    @property
    def syncing(self) -> bool:
        """Return True if the queue is being synchronised."""
        return self.sync is not None

    @property
    def sync_number(self) -> int:
        """Return the number of the synchronisation in progress."""
        return self.sync.number

    @property
    def sync_mirrors(self) -> int:
        """Return the mirrors that take part in the synchronisation in progress, as bits."""
        return bits_of(self.sync.mirrors)

    @property
    def replicas(self) -> tuple[int, ...]:
        """Return the nodes of the master, if its process runs, and of the mirrors."""
        return (self.master, *self.mirrors) if self.up else self.mirrors


class StoreView(Struct):
    """The metadata store (Khepri) as seen by one side of a partition.

    `master` is the leader, NOWHERE if the side knows none. `up` is True if the leader can commit. Only a turn writes to
    it.
    """

    master: int = NOWHERE
    up: bool = False


class UnderWay(Struct, frozen=True):
    """A delivery sent over a cut link, with the step and the trace entry that caused it."""

    link: tuple[int, int]
    delivery: Any
    step: int
    because: int | None


class Unread(Struct, frozen=True):
    """A client's request over a connection that the broker blocks, not read yet, and the step it belongs to.

    The connection is (name, node, virtual host).
    """

    connection: tuple[str, int, str]
    operation: Any
    step: int


class Side(Struct, frozen=True):
    """One side of a partition: the records that its nodes share. Without a partition there is one side."""

    number: int
    policies: tuple[Policy, ...] = ()
    operator_policies: tuple[Policy, ...] = ()
    queues: Mapping[str, Queue] = {}
    """The records of queues."""
    exchanges: frozenset[str] = frozenset()
    """The declared exchanges."""
    store: StoreView | None = None
    """Who leads the metadata store, with Khepri."""
    members: frozenset[int] = frozenset()
    """On the disk of a node that is down: the nodes that it knew as members of the cluster."""
    groups: Mapping[str, int] = {}
    """On the disk of a node that is down: the numbers of the Raft groups of quorum queues."""


class State(Struct, frozen=True):
    """The whole cluster at one moment."""

    time_us: int
    nodes: tuple[Node, ...]
    sides: tuple[Side, ...] = (Side(0),)
    """The side of the first running node first. A side that no node has on its disk any more is gone."""
    consumers: Mapping[str, Consumer] = {}
    publishers: Mapping[str, Publisher] = {}
    unconfirmed: tuple[Unconfirmed, ...] = ()
    groups: Mapping[str, Group] = {}
    """The Raft groups of quorum queues, by queue name. All sides of a partition share them."""
    awaiting_registration: tuple[WaitingOperation, ...] = ()
    """Publishes over channels that wait for their registration with a Raft group."""
    agenda: Collection[tuple] = ()
    """The scheduled events, in no order (`hawb.engine.core.agenda`)."""
    cuts: tuple[tuple[tuple[int, int], int], ...] = ()
    """Cut links: a pair of nodes, the smaller first, and the number of the cut."""
    suspected: frozenset[tuple[int, int]] = frozenset()
    """Links over which the members of Raft groups suspect each other of being down."""
    under_way: tuple[UnderWay, ...] = ()
    """Deliveries sent over cut links that have neither arrived nor been given up."""
    waiting_changes: tuple[WaitingOperation, ...] = ()
    """Operations that wait because a change of the metadata must reach a node that does not answer."""
    connections: frozenset[tuple[str, int, str]] = frozenset()
    """Clients' connections: name, node, virtual host."""
    alarms: frozenset[tuple[int, str]] = frozenset()
    """The resource alarms that are set: node, and memory or disk."""
    unread: tuple[Unread, ...] = ()
    """Clients' requests over connections that alarms block."""
    numbers: Mapping[str, int] = {}
    """For each queue name ever used, how many messages were published to it."""
    counter: int = 0
    """The last number used for an event or a random draw."""

    @property
    def policies(self) -> tuple[Policy, ...]:
        """Return the policies that the first running node knows."""
        return self.sides[0].policies

    @property
    def operator_policies(self) -> tuple[Policy, ...]:
        """Return the operator policies that the first running node knows."""
        return self.sides[0].operator_policies

    @property
    def queues(self) -> Mapping[str, Queue]:
        """Return the queues as the first running node knows them."""
        return self.sides[0].queues

    def running(self) -> list[int]:
        """Return the running nodes, in alphabetical order."""
        return [index for index, node in enumerate(self.nodes) if node.status == RUNNING]

    def nodes_of(self, side: Side) -> list[int]:
        """Return the nodes that have a side's records, running or on disk, in alphabetical order."""
        return [index for index, node in enumerate(self.nodes) if node.side == side.number]
