"""A scenario file as a value: the cluster, its first state, and the steps (their verbs are in `verbs`).

The structs hold the contents of a file and nothing derived from them. Text becomes a `Scenario` in `load`, a `Scenario`
becomes text in `dump`; Python code may build the structs directly: `Step(Kill(("a",)), at=3)`. `load` alone checks what
a type can express; the structs check what no type can (a node twice in a list), and raise ValueError.

Only what cannot be meant is refused. What RabbitMQ would refuse (a bad policy, a missing queue) passes: it is an error
of its step.
"""

from __future__ import annotations

import re
from typing import Annotated, Literal

from msgspec import Meta, field

from hawb.engine.core.naming import join_queue, split_queue
from hawb.scenario.expected import ExpectedOutcome
from hawb.scenario.fields import (
    Arguments,
    AtLeastOne,
    Bytes,
    Count,
    Name,
    Node,
    Nodes,
    Part,
    PartialOutcome,
    Period,
    PolicyEntry,
    Queue,
    Rate,
    Seconds,
    Seed,
    Text,
    Verb,
    refuse_twice,
)
from hawb.scenario.kinds import fields_of
from hawb.scenario.refused import render
from hawb.scenario.verbs import VERB_NAMES, Join

Version = Literal["3.8", "3.10", "3.13", "4.0", "4.1", "4.2", "4.3"]
WentDown = Literal["stopped", "killed", "forgotten"]
ConsumerTimeout = AtLeastOne | Literal["undefined"]
MasterLocator = Literal["client-local", "min-masters", "random"]


class Timing(Part, frozen=True):
    """Durations, in seconds; `network_mb_s` is megabytes and `sync_messages_s` messages per second."""

    link_latency_s: Seconds = 0.0005
    network_mb_s: Rate = 100.0
    fsync_s: Seconds = 0.001
    stop_s: Seconds = 1.0
    start_s: Seconds = 5.0
    boot_retry_s: Seconds = 30.0
    sync_messages_s: Rate = 30000.0
    election_s: Seconds = 0.3


MOST_NODES = 100
"""The nodes that a cluster may have, those that join included. Each moment has a record of each link between them."""


class PauseIfAllDown(Part, frozen=True):
    """The partition handling that pauses nodes which reach none of the listed ones."""

    pause_if_all_down: Nodes
    recover: Literal["ignore", "autoheal"]


class Cluster(Part, frozen=True):
    """The nodes, their RabbitMQ and its settings; `None` stands for the default of the version's profile.

    `down` maps the nodes that are down at the start to how they went down, in the order in which they did. A forgotten
    node is no longer a member of the cluster, though queues may still have members there.

    `consumer_timeout` is in milliseconds, as in RabbitMQ; `undefined` switches it off, up to 4.2.
    """

    nodes: Annotated[
        tuple[Name, ...],
        Meta(min_length=1, max_length=MOST_NODES, description=f"a list of node names, not empty, at most {MOST_NODES}"),
    ]
    down: dict[Node, WentDown] = field(default_factory=dict)
    version: Version = "3.8"
    net_ticktime: Period = 60.0
    cluster_partition_handling: Literal["ignore", "pause_minority", "autoheal"] | PauseIfAllDown = "ignore"
    queue_master_locator: MasterLocator = "client-local"
    quorum_cluster_size: AtLeastOne | None = None
    quorum_commands_soft_limit: AtLeastOne | None = None
    mirroring_sync_batch_size: AtLeastOne | None = None
    mirroring_sync_max_throughput: Bytes | None = None
    slave_wait_timeout: Seconds | None = None
    consumer_timeout: ConsumerTimeout | None = None
    timing: Timing = Timing()

    def __post_init__(self) -> None:
        refuse_twice("nodes", self.nodes)
        if strangers := [node for node in self.down if node not in self.nodes]:
            raise ValueError(f"down: {render(strangers[0])} is not a node of the cluster")


class QueueEntry(Part, frozen=True):
    """A queue as it is at the start.

    A classic queue has a `master`, its `mirrors` (oldest first) and those of them that are synchronised; a quorum queue
    and a stream have their `members` and a `leader` (`None`: none is elected), and `stopped_members`, which do not run
    though their nodes do, until these boot again. Without master or members the queue is placed as a declaration would
    have placed it. `recoverable_mirrors` is `None` if the file leaves it to the rules.
    """

    queue: Queue
    type: Literal["classic", "quorum", "stream"] = "classic"
    durable: bool = True
    auto_delete: bool = False
    arguments: Arguments = field(default_factory=dict)
    messages: Count = 0
    unacknowledged: Count = 0
    size: Bytes = 1024
    master: Node | None = None
    mirrors: tuple[Node, ...] = ()
    synchronised_mirrors: tuple[Node, ...] = ()
    recoverable_mirrors: tuple[Node, ...] | None = None
    leader: Node | None = None
    members: tuple[Node, ...] = ()
    stopped_members: tuple[Node, ...] = ()

    def __post_init__(self) -> None:
        if self.unacknowledged > self.messages:
            raise ValueError(f"unacknowledged: {self.unacknowledged} is more than messages: {self.messages}")
        for name in ("mirrors", "synchronised_mirrors", "recoverable_mirrors", "members", "stopped_members"):
            refuse_twice(name, getattr(self, name) or ())
        if self.type == "classic":
            self._check_classic()
        else:
            self._check_group()

    def _check_classic(self) -> None:
        if self.leader or self.members or self.stopped_members:
            raise ValueError("leader, members: a classic queue has a master and mirrors instead")
        if self.master is None and (self.mirrors or self.recoverable_mirrors):
            raise ValueError("master: missing, although the queue has mirrors")
        if self.master in self.mirrors:
            raise ValueError(f"mirrors: {render(self.master)} is the master")
        if strangers := [node for node in self.synchronised_mirrors if node not in self.mirrors]:
            raise ValueError(f"synchronised_mirrors: {render(strangers[0])} is not one of the mirrors")

    def _check_group(self) -> None:
        if self.type == "stream" and self.unacknowledged:
            raise ValueError("unacknowledged: consumers take no messages out of a stream")
        if self.master or self.mirrors or self.synchronised_mirrors or self.recoverable_mirrors:
            raise ValueError(f"master, mirrors: a {self.type} queue has a leader and members instead")
        if self.leader is not None and self.leader not in self.members:
            raise ValueError(f"leader: {render(self.leader)} is not one of the members")
        if strangers := [node for node in self.stopped_members if node not in self.members]:
            raise ValueError(f"stopped_members: {render(strangers[0])} is not one of the members")
        if self.leader in self.stopped_members:
            raise ValueError(f"stopped_members: {render(self.leader)} is the leader")


class Step(Part, frozen=True):
    """One verb, and the simulated time in seconds at which it begins; without `at`, once the cluster has settled."""

    verb: Verb
    at: Seconds | None = None

    @property
    def name(self) -> str:
        """Return the verb as a file writes it, such as `power_off`."""
        return VERB_NAMES[type(self.verb)]


SECTION = re.compile(r"(?:steps\.\d+\.)?([^.]*)")
"""The part of an outcome to which a field belongs."""


class Uncompared(Part, frozen=True):
    """Fields of an outcome that a comparison with a real cluster leaves out, and the reason.

    A field is written as such a comparison names it, `queues.ha.orders.master`, and includes all below it; `*` stands
    for any text, and `steps.4.queues.ha.orders` for the field at the `expect` of step 4 alone.
    """

    fields: Annotated[tuple[Text, ...], Meta(min_length=1, description="a list of fields, not empty")]
    reason: Text

    def __post_init__(self) -> None:
        refuse_twice("fields", self.fields)
        sections = fields_of(ExpectedOutcome)
        for name in self.fields:
            if SECTION.match(name)[1] not in sections:
                raise ValueError(f"fields: {render(name)} does not begin with one of {', '.join(sections)}")


class Scenario(Part, frozen=True, kw_only=True):
    """A whole file; `scenario` is its title, `expect` the partial outcome that `hawb check` compares at the end.

    `racy` are the fields that on a real cluster differ from run to run.
    """

    scenario: Text
    seed: Seed = 0
    cluster: Cluster
    policies: tuple[PolicyEntry, ...] = ()
    operator_policies: tuple[PolicyEntry, ...] = ()
    queues: tuple[QueueEntry, ...] = ()
    steps: Annotated[tuple[Step, ...], Meta(description="a list of steps")] = ()
    expect: PartialOutcome | None = None
    racy: Uncompared | None = None

    def __post_init__(self) -> None:
        for name in ("policies", "operator_policies"):
            refuse_twice(name, [f"{policy.vhost}::{policy.name}" for policy in getattr(self, name)])
        refuse_twice("queues", [join_queue(*split_queue(entry.queue)) for entry in self.queues])
        if (count := len(self.known_nodes)) > MOST_NODES:
            raise ValueError(f"steps: {count} nodes, including those that join; accepted: at most {MOST_NODES} nodes")

    @property
    def known_nodes(self) -> tuple[str, ...]:
        """Return the cluster's nodes, then those that only a `join` names, which are down before it."""
        joining = (step.verb.node for step in self.steps if isinstance(step.verb, Join))
        return tuple(dict.fromkeys((*self.cluster.nodes, *joining)))
