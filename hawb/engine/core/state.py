"""The values that a cluster is made of.

Everything here is immutable and compared by value; a new state shares every queue, node and consumer that did not
change with the one before it, so keeping a state costs a reference. msgspec Structs are used because they are built in
C, cost a third of a frozen dataclass and cache their hash. Mappings inside a `State` are never written to once it
exists.

While a network is whole there is one `Side`: what the cluster knows of itself. Nodes that have lost sight of each other
each continue with a copy of it, and from then on the copies differ.

Nodes are indices in alphabetical order of their names (Erlang's term order, which decides RabbitMQ's ties), simulated
time is in integer microseconds, message contents are runs (`hawb.engine.core.runs`).
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
"""Those whose queues have members."""

RUNNING, STOPPING, DOWN, BOOTING, WAITING = "running", "stopping", "down", "booting", "waiting"
STARTED = (RUNNING, WAITING)
"""The statuses of nodes whose members of the metadata store run (Khepri)."""
PAUSED = "paused"
"""A node whose broker has stopped itself until it sees enough of the others again (cluster_partition_handling)."""

NOTHING, MAJORITY, PREFERRED, EVERYBODY, RESTART = range(5)
"""What must hold before a node that stops its broker by itself starts it again. NOTHING: it does not stop; RESTART: it
starts it again at once."""


def nodes_of(bits: int) -> list[int]:
    """The nodes of a set, in their order."""
    return [node for node in range(bits.bit_length()) if bits >> node & 1]


def bits_of(nodes: Iterable[int]) -> int:
    """Nodes, each given once, as a set."""
    return sum(1 << node for node in nodes)


def with_content(contents: tuple[Runs | None, ...], changed: dict[int, Runs | None]) -> tuple[Runs | None, ...]:
    """What replicas hold, with that of some nodes replaced."""
    return tuple(changed.get(node, content) for node, content in enumerate(contents))


class Node(Struct):
    """A node and what it believes. A value to all but a turn, which changes copies.

    `believes` are the members that it thinks run, itself left out, as bits; a node that goes down remembers them, and
    they decide whether it may boot alone. `member` is whether the others count it as one of theirs, `virgin` whether
    its disk is empty, so that it knows of no cluster; only members that are not virgin ever run. `side` is the number
    of the side whose records it has, on its disk while it is down, and `remembers` those records as they were when it
    went, which others may have changed since. `silent` is whether it went and no node has noticed, `awaits` what must
    hold before a node that stops its broker by itself starts it again, `may_boot_alone` whether force_boot was asked
    for, `drained` whether it is in maintenance mode, `coordinates` whether the coordinator of streams still counts it
    although it has left the cluster.
    """

    status: str = RUNNING
    believes: int = 0
    boots: int = 0
    member: bool = True
    virgin: bool = False
    side: int = 0
    remembers: Side | None = None
    silent: bool = False
    awaits: int = NOTHING
    may_boot_alone: bool = False
    drained: bool = False
    coordinates: bool = False

    def __hash__(self) -> int:
        return hash(astuple(self))

    @property
    def believes_running(self) -> list[int]:
        """The members that it thinks run, in their order."""
        return nodes_of(self.believes)


class Batch(Struct, frozen=True):
    """Messages published together: numbers `first` to `last`, `size_bytes` each.

    `expires_us` is when the first message's time to live is over; where a steady publisher sent them, the others follow
    as they came (`flow`: so many in so many microseconds). A dead letter has the `deaths` that it died, (queue,
    reason), the latest first, and the routing keys it was published with; a message that a client published goes by its
    queue's name.
    """

    first: int
    last: int
    size_bytes: int
    persistent: bool
    priority: int | None = None
    expires_us: int | None = None
    deaths: tuple[tuple[str, str], ...] = ()
    routing_keys: tuple[str, ...] = ()
    flow: tuple[int, int] | None = None


class Sync(Struct, frozen=True):
    """A synchronisation under way: the mirrors that take part, oldest first, its effort, and when it began or would
    have begun if nothing had held it. `held_us` is since when a memory alarm holds it; None: it goes on."""

    mirrors: tuple[int, ...]
    effort: Effort
    began_us: int
    number: int
    held_us: int | None = None


class Parked(Struct, frozen=True):
    """An operation of a client that waits for its queue to serve again, and the step that it belongs to."""

    number: int
    operation: Any
    step: int


class Proposed(Parked, frozen=True):
    """A change of the metadata that waits in the log of a leader without a majority."""


class Queue(Struct):
    """A queue's record and the contents of its replicas. A value to all but a turn, which changes copies.

    `contents[node]` are the messages of the replica at `node` or, where the node is down, those on its disk; None where
    there is no copy. The master's content is the queue's, messages with consumers (`unacknowledged`) included.
    `redelivered` are messages that were with a consumer before and are not now; from the message `uncounted_from` on,
    unless that is 0, the queue does not remember which ones it has delivered. `owner` is the connection (its name and
    node) of an exclusive queue.

    `synchronised` is newest first and `mirrors` oldest first, as in RabbitMQ's record. `depth_unknown` are mirrors that
    lost count of the master's depth (an interrupted synchronisation): they cannot become synchronised before the next
    broadcast. `lagging` are mirrors that the master does not reach, or did not before it died, each with the first
    message that it misses, `unwritten` messages not yet on the disk of a master whose host lost power. `up` is whether
    the master's process runs; `stopped` whether it last ended in a controlled way; `abandoned` whether it is certain
    that no mirror takes over and it waits for its master's node. `unburied` are the nodes of dead replicas that the
    record of an abandoned queue still counts in its group, each with whether it counts as synchronised: a mirror that
    joins takes over. `hollow` is the node of a mirror of such a queue that refused to take over: its process has ended,
    its member of the group has not, and stands before all other mirrors. `mirrors_on_disk` are the mirrors that the
    record on disk names, which a change of policy writes there and the mirrors' next change takes away. `strays` are
    mirrors on the record of a master that came back without any: they are in no group with it but in a `stray_group` of
    their own, as bits, and `astray` are publishes that channels have sent them: operations, numbers and steps
    (`hawb.engine.classic.orphaned_mirrors`); `heirless` are mirrors of a stray that has taken over from such a master,
    as bits, which end with it. `absent` is whether only disks have the record, so that nothing joins the queue before
    its master's node is back. `limits` are the record's lengths, lives and dead letters, and `limits_in_effect` those
    that the master keeps to, which hears of a change a little later; `ttl_timer_us` is when it looks for expired
    messages. `bindings` are pairs of an exchange and a routing key. `crashed` are the nodes whose process crashed and
    has not started again, `crashes` the recent crashes (node, time_us), `failed` whether the master's process crashed
    too often to be started again. `parked` are operations of clients that wait for the queue to serve again.
    `overcounted` are mirrors that have seen their master die, each with the messages that it counts as delivered by
    that master and that the present one has not delivered. `began` is how many messages there were under its name
    before it, `places` how replicas count that do not count like the first, and `unplaced` the messages that no replica
    has counted (`hawb.engine.classic.places`).

    A quorum queue (`hawb.engine.raft_groups`) has `members`, with the leader as `master`, NOWHERE while a side knows
    none, and `up` is whether that leader can commit. `synchronised` are the members that know of all that is committed,
    `holder` is the last leader there was, whose content is the queue's, and `pending` are the messages that channels
    have sent and no leader has committed yet. `fifo` is its state machine beside the messages, `quorum_settings` are
    those that it keeps to, `untold_settings` those that it should keep to and was not told.
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
    depth_unknown: int = 0
    mirrored: bool = False
    up: bool = True
    stopped: bool = False
    abandoned: bool = False
    unburied: int = 0
    unburied_synchronised: int = 0
    hollow: int = NOWHERE
    mirrors_on_disk: tuple[int, ...] = ()
    strays: tuple[int, ...] = ()
    stray_group: int = 0
    heirless: int = 0
    astray: tuple[tuple[object, Runs, int], ...] = ()
    absent: bool = False
    batches: tuple[Batch, ...] = ()
    lagging: tuple[tuple[int, int], ...] = ()
    unwritten: Runs = EMPTY
    redelivered: Runs = EMPTY
    unacknowledged: Runs = EMPTY
    uncounted_from: int = 0
    consumers: tuple[str, ...] = ()
    active_consumer: str | None = None
    crashed: int = 0
    crashes: tuple[tuple[int, int], ...] = ()
    failed: bool = False
    parked: tuple[Parked, ...] = ()
    sync: Sync | None = None
    members: tuple[int, ...] = ()
    holder: int = NOWHERE
    pending: Runs = EMPTY
    fifo: Fifo | None = None
    quorum_settings: QuorumSettings | None = None
    untold_settings: QuorumSettings | None = None
    limits: Limits = NO_LIMITS
    limits_in_effect: Limits = NO_LIMITS
    ttl_timer_us: int | None = None
    bindings: tuple[tuple[str, str], ...] = ()
    overcounted: tuple[tuple[int, Runs], ...] = ()
    began: int = 0
    places: tuple[tuple[int, tuple[tuple[int, int, int], ...]], ...] = ()
    unplaced: Runs = EMPTY

    def __hash__(self) -> int:
        return hash(astuple(self))

    @property
    def has_group(self) -> bool:
        """Whether a group with a leader and a majority replicates it: a quorum queue, or a stream."""
        return self.type != CLASSIC

    @property
    def delivered(self) -> Runs:
        """The messages that the queue would call redelivered if all its clients went away now."""
        return union(self.redelivered, self.counted(self.unacknowledged))

    def counted(self, numbers: Runs) -> Runs:
        """The delivered messages of `numbers` that the queue remembers as delivered."""
        return common(numbers, ((1, self.uncounted_from - 1),)) if self.uncounted_from else numbers

    @property
    def content(self) -> Runs:
        """The messages that the queue holds, ready and unacknowledged; a group's uncommitted ones too."""
        if self.has_group:
            return union(self.contents[self.holder] or EMPTY, self.pending)
        return self.contents[self.master] or EMPTY

    @property
    def syncing(self) -> bool:
        """Whether it synchronises."""
        return self.sync is not None

    @property
    def sync_number(self) -> int:
        """The number of the synchronisation under way."""
        return self.sync.number

    @property
    def sync_mirrors(self) -> int:
        """The mirrors that take part in the synchronisation under way, as bits."""
        return bits_of(self.sync.mirrors)

    @property
    def replicas(self) -> tuple[int, ...]:
        """Master and mirrors, as far as their processes run."""
        return (self.master, *self.mirrors) if self.up else self.mirrors


class StoreView(Struct):
    """What a side knows of the metadata store with Khepri: the leader (NOWHERE: it knows none) and whether that can
    commit. A value to all but a turn."""

    master: int = NOWHERE
    up: bool = False


class UnderWay(Struct, frozen=True):
    """A delivery sent over a link that drops everything, and the step and trace entry behind it."""

    link: tuple[int, int]
    delivery: Any
    step: int
    because: int | None


class Unread(Struct, frozen=True):
    """A client's request over a connection (its name, node and virtual host) from which the broker does not read, and
    the step that it belongs to."""

    connection: tuple[str, int, str]
    operation: Any
    step: int


class Side(Struct, frozen=True):
    """What nodes that see each other know together: policies, the records of queues, the exchanges declared and, with
    Khepri, who leads the metadata `store`. A side that a node which is down remembers also has `members`, the nodes
    that it knew as members of the cluster, and `groups`, the numbers of quorum queues' Raft groups."""

    number: int
    policies: tuple[Policy, ...] = ()
    operator_policies: tuple[Policy, ...] = ()
    queues: Mapping[str, Queue] = {}
    exchanges: frozenset[str] = frozenset()
    store: StoreView | None = None
    members: frozenset[int] = frozenset()
    groups: Mapping[str, int] = {}


class State(Struct, frozen=True):
    """The whole cluster at one moment. `sides` begins with the side of the first running node; a side that no node has
    on its disk any more is gone. `agenda` is what will happen, in no order: (time_us, priority, number, the trace entry
    behind it, the step behind it, the side it belongs to, event).

    `connections` are those that clients have opened: name, node, virtual host. `stalled` are operations that wait
    because a change of the metadata has to reach a node that does not answer. `cuts` are the links that drop
    everything, pairs of nodes (the smaller first) with a number that tells one cut from another, and `suspected` the
    links over which the members of quorum queues have given each other up. `under_way` are deliveries that were sent
    over such a link and are neither there nor given up.

    `alarms` are the resource alarms that are set, each a node and its memory or disk; `unread` are clients' requests
    over connections that the broker has blocked because of alarms.

    `groups` are the Raft groups of quorum queues, by the queues' names; sides of a partition share them. `held_back`
    are publishes over channels that wait until a group knows them.

    `numbers` counts, for each queue name ever used, the messages published to it; `counter` numbers events, and with
    them draws.
    """

    time_us: int
    nodes: tuple[Node, ...]
    sides: tuple[Side, ...] = (Side(0),)
    consumers: Mapping[str, Consumer] = {}
    publishers: Mapping[str, Publisher] = {}
    unconfirmed: tuple[Unconfirmed, ...] = ()
    groups: Mapping[str, Group] = {}
    held_back: tuple[Parked, ...] = ()
    agenda: Collection[tuple] = ()
    cuts: tuple[tuple[tuple[int, int], int], ...] = ()
    suspected: frozenset[tuple[int, int]] = frozenset()
    under_way: tuple[UnderWay, ...] = ()
    stalled: tuple[Parked, ...] = ()
    connections: frozenset[tuple[str, int, str]] = frozenset()
    alarms: frozenset[tuple[int, str]] = frozenset()
    unread: tuple[Unread, ...] = ()
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
