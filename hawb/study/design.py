"""A design: a cluster and a queue, as far as an operator chooses their settings.

Decisions:

* One design, one queue. Faults depend on environment and trial alone, so that two designs are compared under the same.
* The nodes are called a, b, c and so on. The environment spreads them over racks and hosts.
* `replicas` is short for what most policies set: for a classic queue ha-mode exactly with that number, for a quorum
  queue its initial group size. For another ha-mode, write it into the policy and leave `replicas` out.
* Policies and arguments are RabbitMQ's own keys, and RabbitMQ's own rules refuse them (`hawb.rules`). Beyond these,
  hawb refuses a key that has no effect: a study must not compare designs that cannot differ.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, field

from hawb.rules.nearest_profile import profile_for
from hawb.rules.profiles import Profile
from hawb.scenario.document import Cluster, MasterLocator, PauseIfAllDown, QueueEntry, Timing, Version
from hawb.scenario.fields import Arguments, AtLeastOne, Bytes, Part, Period, Seconds
from hawb.scenario.refused import render
from hawb.scenario.verbs import PolicyEntry

NODES = tuple("abcdefghi")
QUEUE = "orders"

Nodes = Annotated[int, Meta(ge=1, le=len(NODES), description=f"a whole number from 1 to {len(NODES)}")]


class Upgrade(Part, frozen=True):
    """The procedure that takes nodes down and brings them back, one after another, in upgrades and maintenance.

    `drain` puts a node into maintenance mode first, and revives it afterwards. The two `await` settings are those of
    rabbitmq-upgrade: no node goes down before their condition holds, or before `await_timeout_s` have passed.
    `sync_queue` synchronises the queue by hand after a node is back, `between_s` pass before the next node, and
    `rebalance` comes last.
    """

    drain: bool = False
    await_online_synchronized_mirror: bool = False
    await_online_quorum_plus_one: bool = False
    await_timeout_s: Seconds = 3600.0
    sync_queue: bool = False
    between_s: Seconds = 0.0
    rebalance: bool = False


class Design(Part, frozen=True, kw_only=True):
    """A cluster of `nodes` nodes with one queue. A setting of None has the default of a scenario's cluster."""

    queue_type: Literal["classic", "quorum"]
    nodes: Nodes
    replicas: AtLeastOne | None = None
    version: Version = "3.8"
    policy: Arguments = field(default_factory=dict)
    operator_policy: Arguments = field(default_factory=dict)
    arguments: Arguments = field(default_factory=dict)
    cluster_partition_handling: Literal["ignore", "pause_minority", "autoheal"] | PauseIfAllDown = "ignore"
    queue_master_locator: MasterLocator = "client-local"
    net_ticktime: Period = 60.0
    quorum_commands_soft_limit: AtLeastOne | None = None
    mirroring_sync_batch_size: AtLeastOne | None = None
    mirroring_sync_max_throughput: Bytes | None = None
    upgrade: Upgrade = Upgrade()

    def __post_init__(self) -> None:
        self._check_replicas()
        for place in ("policy", "operator_policy"):
            self._check_effective(place)
        self._check_upgrade()
        handling = self.cluster_partition_handling
        named = handling.pause_if_all_down if isinstance(handling, PauseIfAllDown) else ()
        params = self.definition.get("ha-params")
        for name in (*named, *(params if isinstance(params, list) else ())):
            if name not in self.node_names:
                raise ValueError(f"nodes: {render(name)} is not one of {', '.join(self.node_names)}")

    @property
    def node_names(self) -> tuple[str, ...]:
        """Return the nodes, in their order."""
        return NODES[: self.nodes]

    @property
    def profile(self) -> Profile:
        """Return the rules of its version."""
        return profile_for(self.version)

    @property
    def definition(self) -> dict[str, object]:
        """Return the policy's keys, with those that `replicas` sets; empty if there is no policy."""
        if self.queue_type == "quorum" or self.replicas in (None, 1):
            return self.policy
        return {"ha-mode": "exactly", "ha-params": self.replicas} | self.policy

    @property
    def may_split(self) -> bool:
        """Return True if both partitions of the network may continue with a master of the queue.

        Only pause_minority prevents that (the guide "Clustering and Network Partitions").
        """
        is_mirrored = self.queue_type == "classic" and "ha-mode" in self.definition
        return is_mirrored and self.cluster_partition_handling != "pause_minority"

    def cluster(self, timing: Timing) -> Cluster:
        """Return the cluster as a scenario has it, with the timing of an environment."""
        return Cluster(
            nodes=self.node_names,
            version=self.version,
            net_ticktime=self.net_ticktime,
            cluster_partition_handling=self.cluster_partition_handling,
            queue_master_locator=self.queue_master_locator,
            quorum_commands_soft_limit=self.quorum_commands_soft_limit,
            mirroring_sync_batch_size=self.mirroring_sync_batch_size,
            mirroring_sync_max_throughput=self.mirroring_sync_max_throughput,
            timing=timing,
        )

    def policies(self) -> tuple[PolicyEntry, ...]:
        """Return the policy for all queues, if there is one."""
        return (PolicyEntry("design", ".*", self.definition),) if self.definition else ()

    def operator_policies(self) -> tuple[PolicyEntry, ...]:
        """Return the operator policy for all queues, if there is one."""
        return (PolicyEntry("operator", ".*", self.operator_policy),) if self.operator_policy else ()

    def queue(self) -> QueueEntry:
        """Return the queue as it is declared: empty, and placed by the rules."""
        given = self.arguments
        if self.queue_type == "quorum" and self.replicas is not None:
            given = given | {"x-quorum-initial-group-size": self.replicas}
        return QueueEntry(QUEUE, type=self.queue_type, arguments=given)

    def _check_replicas(self) -> None:
        if self.replicas is None:
            return
        if self.replicas > self.nodes:
            raise ValueError(f"replicas: {self.replicas} do not fit on {self.nodes} nodes")
        twice = {"classic": ("policy", "ha-mode"), "quorum": ("arguments", "x-quorum-initial-group-size")}
        place, key = twice[self.queue_type]
        if key in getattr(self, place):
            raise ValueError(f"replicas: {place} has {key}, which has the same meaning; write one of the two")

    def _check_effective(self, place: str) -> None:
        """Refuse a key that makes RabbitMQ ignore the policy for this type of queue."""
        for key in getattr(self, place):
            if key in self.profile.unsupported_by(self.queue_type):
                raise ValueError(
                    f"{place}: {key} is not for a {self.queue_type} queue of {self.version}, and RabbitMQ ignores a"
                    " policy that has it"
                )

    def _check_upgrade(self) -> None:
        mirrored = ("await_online_synchronized_mirror", "sync_queue")
        idle = mirrored if self.queue_type == "quorum" else ("await_online_quorum_plus_one",)
        for name in idle:
            if getattr(self.upgrade, name):
                raise ValueError(f"upgrade.{name}: has no effect on a {self.queue_type} queue")
