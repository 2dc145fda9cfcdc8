"""The keys and types that an outcome can have: what an `expect` may be written with.

Each struct is one map of the outcome; a partial outcome has any of its keys. `contains` is the one key that only an
expected error has: a part of its text.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta

from hawb.scenario.fields import Count, Node, Part, Queue

Run = Annotated[tuple[Count, ...], Meta(min_length=2, max_length=2, description="a run: [first, last]")]
Runs = Annotated[tuple[Run, ...], Meta(description="a list of runs: [[first, last]]")]
State = Literal["running", "syncing", "down", "minority"]


class View(Part):
    """A queue as one side of a partition sees it."""

    nodes: tuple[Node, ...]
    state: State
    master: Node | None
    mirrors: tuple[Node, ...]
    ids: Runs


class ExpectedReplica(Part):
    """One node's replica of a queue. A member that is no longer there has no term."""

    role: Literal["master", "mirror", "left_over", "leader", "leader_alone", "member"]
    online: bool
    synchronised: bool
    syncing: bool
    messages: Count
    term: Count | None
    behind: Count


class ExpectedQueue(Part):
    """A queue, classic or quorum, or a stream."""

    type: Literal["classic", "quorum", "stream"]
    state: State
    durable: bool
    policy: str | None
    operator_policy: str | None
    messages: Count
    messages_ready: Count
    messages_unacknowledged: Count
    ids: Runs
    redelivered: Runs
    critical_nodes: tuple[Node, ...]
    views: tuple[View, ...]
    replicas: dict[Node, ExpectedReplica]
    replicas_by_view: tuple[dict[Node, ExpectedReplica], ...]
    uncommitted: Runs
    mirrored: bool
    master: Node | None
    mirrors: tuple[Node, ...]
    synchronised_mirrors: tuple[Node, ...]
    recoverable_mirrors: tuple[Node, ...]
    leader: Node | None
    members: tuple[Node, ...]
    online: tuple[Node, ...]
    term: Count
    commit_index: Count
    tolerated_failures: Count
    log_entries: Count
    disk_bytes: Count
    memory_bytes: Count


class Removed(Part):
    """The numbers that have left a queue, by the way in which they left."""

    acknowledged: Runs
    expired: Runs
    dropped: Runs
    dead_lettered: Runs
    rejected: Runs
    purged: Runs
    deleted: Runs


class LedgerEntry(Part):
    """The fate of the numbers published to a queue."""

    published: Count
    confirmed: Runs
    nacked: Runs
    acknowledged: Runs
    delivered_twice: Runs
    lost: Runs
    lost_confirmed: Count
    refused: Runs
    removed: Removed


class Loss(Part):
    """Numbers lost by one event."""

    queue: Queue
    ids: Runs
    confirmed: Count
    cause: str
    event: Count


class ExpectedConsumer(Part):
    """A consumer, or the holder of a get."""

    state: Literal["active", "cancelled", "closed"]
    activity_status: Literal["up", "single_active", "waiting", "suspected_down", "blocked"] | None
    queue: Queue
    received: Runs
    unacknowledged: Runs
    cancel_notified: bool


class ExpectedPublisher(Part):
    """A steady publisher."""

    state: Literal["running", "blocked", "closed"]
    published: Count | Runs
    confirmed: Count | Runs
    blocked_s: float


class Availability(Part):
    """The availability of a queue."""

    publish_down_s: float
    consume_down_s: float
    sync_blocked_s: float
    promotions: Count
    unsynchronised_promotions: Count
    elections: Count
    bytes_replicated: Count


class Alarm(Part):
    """A resource alarm in force."""

    node: Node
    resource: Literal["memory", "disk"]


class ExpectedError(Part):
    """A step that RabbitMQ refused."""

    step: Count
    code: Annotated[int, Meta(description="a reply code")] | None
    text: str
    contains: str


class Event(Part):
    """One line of the timeline."""

    t: float
    step: Count | None
    event: str
    node: Node | None
    queue: Queue | None
    detail: dict[str, Any]
    because: Count | None


class MetadataStore(Part):
    """Khepri: its members, its leader and term, and the running nodes from which metadata can be changed."""

    members: tuple[Node, ...]
    leader: Node | None
    term: Count
    writable_from: tuple[Node, ...]


class Unnoticed(Part):
    """Failures that no node has detected yet; the key is left out if there are none.

    `links` are cut links, `nodes` those that are down, and `noticed_at_s` is when all failures will have been detected.
    `waiting` is how many messages wait until then for each queue, `operations` how many other operations wait.
    """

    links: tuple[tuple[Node, ...], ...]
    nodes: tuple[Node, ...]
    noticed_at_s: float
    waiting: dict[Queue, Count]
    operations: Count


class ExpectedOutcome(Part):
    """The whole outcome; a queue that is null must not exist.

    `version` names the rules that are played, and `requested_version` the scenario's own if it has none.
    """

    contract: Count
    scenario: str
    version: str
    seed: Count
    time_s: float
    nodes: dict[Node, Literal["running", "down", "paused", "waiting"]]
    maintenance: tuple[Node, ...]
    alarms: tuple[Alarm, ...]
    partitions: tuple[tuple[Node, ...], ...]
    queues_elsewhere: dict[Queue, ExpectedQueue | None]
    queues: dict[str, ExpectedQueue | None]
    atoms: Count
    deleted: tuple[Queue, ...]
    ledger: dict[str, LedgerEntry]
    losses: tuple[Loss, ...]
    consumers: dict[str, ExpectedConsumer]
    publishers: dict[str, ExpectedPublisher]
    availability: dict[str, Availability]
    errors: tuple[ExpectedError, ...]
    events: tuple[Event, ...]
    requested_version: str
    metadata_store: MetadataStore
    unnoticed: Unnoticed
