"""The values that a cluster is made of.

Everything here is immutable and compared by value; a new state shares every queue, node and consumer that did not
change with the one before it, so keeping a state costs a reference. msgspec Structs are used because they are built in
C, cost a third of a frozen dataclass and cache their hash. Mappings inside a `State` are never written to once it
exists.

While a network is whole there is one `Side`: what the cluster knows of itself. Nodes that have lost sight of each other
go on with a copy of it each, and from then on the copies differ.

Nodes are indices in alphabetical order of their names (Erlang's term order, which decides RabbitMQ's ties), simulated
time is in integer microseconds, message contents are runs (`hawb.engine.runs`).
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from hawb.engine.runs import EMPTY, Runs, size
from hawb.rules.policies import Mirroring, Policy
from hawb.rules.profiles import Profile

NOWHERE = -1
"""The node of something that has none."""

RUNNING, STOPPING, DOWN, BOOTING, WAITING = "running", "stopping", "down", "booting", "waiting"
PAUSED = "paused"
"""A node whose broker has stopped itself until it sees enough of the others again (cluster_partition_handling)."""

NEVER_US = 1 << 62
"""The time of an answer that does not come."""


class Timing(Struct, frozen=True):
    """How long things take, in the contract's units made exact: microseconds, and bytes or messages a second."""

    link_latency_us: int = 500
    network_bytes_per_s: int = 100_000_000
    fsync_us: int = 1_000
    stop_us: int = 1_000_000
    start_us: int = 5_000_000
    boot_retry_us: int = 30_000_000
    sync_messages_per_s: int = 30_000
    election_us: int = 300_000


class PartitionHandling(Struct, frozen=True):
    """cluster_partition_handling: `mode` is ignore, pause_minority, autoheal or pause_if_all_down, the last with the
    nodes that it looks for and how it recovers where both sides have one of them."""

    mode: str = "ignore"
    nodes: tuple[int, ...] = ()
    recover: str = "ignore"

    @property
    def heals(self) -> bool:
        """Whether the losing sides of a partition restart by themselves."""
        return "autoheal" in (self.mode, self.recover)


class Settings(Struct, frozen=True):
    """What does not change while a cluster lives: its nodes' names, the broker's version and configuration, the
    seed."""

    names: tuple[str, ...]
    file_order: tuple[int, ...]
    profile: Profile
    seed: int = 0
    timing: Timing = Timing()
    net_ticktime_s: float = 60.0
    queue_master_locator: str = "client-local"
    sync_batch_size: int = 4096
    sync_max_bytes_per_s: int = 0
    partition_handling: PartitionHandling = PartitionHandling()

    def node(self, name: str) -> int:
        """The index of the node called `name`."""
        return self.names.index(name)

    def named(self, nodes) -> list[str]:
        """The names of `nodes`, in their order."""
        return [self.names[node] for node in nodes]


class Node(Struct, frozen=True):
    """A node and what it believes.

    `believes_running` are the members that it thinks run, itself left out. It is what a node remembers when it goes
    down, and what decides whether it may boot alone. `member` is whether the others count it as one of theirs, `virgin`
    whether its disk is empty, so that it knows of no cluster; only members that are not virgin ever run. `side` is the
    number of the side whose records it has, on its disk while it is down.
    """

    status: str = RUNNING
    believes_running: frozenset[int] = frozenset()
    boots: int = 0
    member: bool = True
    virgin: bool = False
    side: int = 0


class Batch(Struct, frozen=True):
    """Messages published together: numbers `first` to `last`, `size_bytes` each."""

    first: int
    last: int
    size_bytes: int
    persistent: bool


class Sync(Struct, frozen=True):
    """A synchronisation under way: the mirrors that take part, oldest first, and when it will have ended."""

    mirrors: tuple[int, ...]
    ends_us: int
    number: int


class Parked(Struct, frozen=True):
    """An operation of a client that waits for its queue to serve again, and the step that it belongs to."""

    number: int
    operation: object
    step: int


class Queue(Struct, frozen=True, cache_hash=True):
    """A queue's record and what its replicas hold.

    `contents[node]` is what the replica at `node` holds or, where the node is down, what it would find on its disk;
    None where there is no copy. The master's content is the queue. Messages handed to consumers and not yet
    acknowledged are part of it; which those are is in `unacknowledged`. `owner` is the connection (its name and node)
    of an exclusive queue.

    `synchronised` is newest first and `mirrors` oldest first, as in RabbitMQ's record. `depth_unknown` are mirrors that
    lost count of the master's depth (an interrupted synchronisation): they cannot become synchronised before the next
    broadcast. `up` is whether the master's process runs; `stopped` whether it last ended in a controlled way;
    `abandoned` whether it is settled that nobody takes over and the queue waits for its master's node. `crashed` are
    the nodes whose process crashed and has not started again, `crashes` the recent crashes (node, time_us), `failed`
    whether the master's process crashed too often to be started again. `parked` are operations of
    clients that wait for the queue to serve again.
    """

    name: str
    vhost: str
    type: str
    durable: bool
    auto_delete: bool
    owner: tuple[str, int] | None
    arguments: tuple[tuple[str, object], ...]
    policy: str | None
    operator_policy: str | None
    mirroring: Mirroring | None
    master: int
    contents: tuple[Runs | None, ...]
    mirrors: tuple[int, ...] = ()
    synchronised: tuple[int, ...] = ()
    recoverable: tuple[int, ...] = ()
    depth_unknown: frozenset[int] = frozenset()
    mirrored: bool = False
    up: bool = True
    stopped: bool = False
    abandoned: bool = False
    batches: tuple[Batch, ...] = ()
    redelivered: Runs = EMPTY
    unacknowledged: Runs = EMPTY
    consumers: tuple[str, ...] = ()
    active_consumer: str | None = None
    crashed: frozenset[int] = frozenset()
    crashes: tuple[tuple[int, int], ...] = ()
    failed: bool = False
    parked: tuple[Parked, ...] = ()
    sync: Sync | None = None
    members: tuple[int, ...] = ()

    @property
    def content(self) -> Runs:
        """What the queue holds, ready and unacknowledged. A quorum queue without a leader shows its first member's."""
        node = self.members[0] if self.master == NOWHERE else self.master
        return self.contents[node] or EMPTY

    @property
    def replicas(self) -> tuple[int, ...]:
        """Master and mirrors, as far as their processes run."""
        return (self.master, *self.mirrors) if self.up else self.mirrors


class Consumer(Struct, frozen=True):
    """A client's subscription, by its number, or the named holder of messages that were fetched one by one (0).

    `held` is what the queue waits to have acknowledged; `stale` what the client still believes it holds from a master
    that is gone, whose acknowledgements go nowhere. `carried` is how many messages it held when it subscribed, from an
    earlier subscription or fetched; `blocked` whether the queue found it without room when it was due.
    """

    name: str
    queue: str
    node: int
    connection: str
    subscription: int = 0
    prefetch: int = 0
    global_prefetch: bool = False
    automatic: bool = False
    exclusive: bool = False
    priority: int = 0
    cancel_on_ha_failover: bool = False
    cancel_notify: bool = True
    state: str = "active"
    held: Runs = EMPTY
    stale: Runs = EMPTY
    carried: int = 0
    blocked: bool = False
    received: Runs = EMPTY
    cancel_notified: bool = False

    @property
    def capacity(self) -> int | None:
        """How many more messages it takes; None for no limit. Prefetch counts only what is to be acknowledged.

        A consumer's own prefetch is a credit that its queue keeps: full when it subscribes, one less with each delivery
        and one more with each answer to any. A global one is the channel's (`rabbit_limiter`): it counts all that the
        client has not answered, what a master that is gone had sent included."""
        if self.prefetch == 0 or self.automatic:
            return None
        held, stale = size(self.held), size(self.stale)
        return max(0, self.prefetch - (held + stale if self.global_prefetch else held - self.carried))


class UnderWay(Struct, frozen=True):
    """A delivery on the link between two nodes that drops everything, and the step and trace entry behind it."""

    link: tuple[int, int]
    delivery: object
    step: int
    because: int | None


class Unconfirmed(Struct, frozen=True):
    """Messages that a channel waits to have confirmed: one `Share` for each queue they were routed to. `transaction` is
    whether tx.commit waits for them, and `step` the step that published them."""

    number: int
    node: int
    shares: tuple[Share, ...]
    transaction: bool = False
    step: int = -1


class Share(Struct, frozen=True):
    """One queue's part of an `Unconfirmed`: its message numbers, the replicas still asked and when each will have
    answered (`due_us`), and whether one of them has."""

    queue: str
    numbers: Runs
    due_us: tuple[tuple[int, int], ...]
    answered: bool = False


class Side(Struct, frozen=True):
    """What nodes that see each other know together: policies and the records of queues."""

    number: int
    policies: tuple[Policy, ...] = ()
    operator_policies: tuple[Policy, ...] = ()
    queues: Mapping[str, Queue] = {}


class State(Struct, frozen=True):
    """The whole cluster at one moment. `sides` has the one of the first running node first, and one that nobody has on
    his disk any more is gone. `agenda` is what will happen, a heap of (time_us, priority, number, the trace entry
    behind it, the step behind it, the side it belongs to, event).

    `cuts` are the links that drop everything, pairs of nodes (the smaller first) with a number that tells one cut from
    another. `under_way` is what was sent over such a link and is neither there nor given up.

    `numbers` counts, for each queue name ever used, the messages published to it; `counter` numbers events, and with
    them draws.
    """

    time_us: int
    nodes: tuple[Node, ...]
    sides: tuple[Side, ...] = (Side(0),)
    consumers: Mapping[str, Consumer] = {}
    unconfirmed: tuple[Unconfirmed, ...] = ()
    agenda: tuple[tuple, ...] = ()
    cuts: tuple[tuple[tuple[int, int], int], ...] = ()
    under_way: tuple[UnderWay, ...] = ()
    connections: frozenset[tuple[str, int]] = frozenset()
    numbers: Mapping[str, int] = {}
    counter: int = 0

    @property
    def policies(self) -> tuple[Policy, ...]:
        """The policies that the first running node knows."""
        return self.sides[0].policies

    @property
    def operator_policies(self) -> tuple[Policy, ...]:
        """The operator policies that the first running node knows."""
        return self.sides[0].operator_policies

    @property
    def queues(self) -> Mapping[str, Queue]:
        """The queues as the first running node knows them."""
        return self.sides[0].queues

    def running(self) -> list[int]:
        """Running nodes in alphabetical order."""
        return [index for index, node in enumerate(self.nodes) if node.status == RUNNING]

    def nodes_of(self, side: Side) -> list[int]:
        """The nodes that have a side's records, running or on their disks, in alphabetical order."""
        return [index for index, node in enumerate(self.nodes) if node.side == side.number]
