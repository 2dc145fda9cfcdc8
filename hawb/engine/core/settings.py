"""What does not change while a cluster lives."""

from __future__ import annotations

from msgspec import Struct

from hawb.rules.profiles import Profile


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
    seed. `consumer_timeout` is in milliseconds, `undefined` for none, and None for the release's default."""

    names: tuple[str, ...]
    file_order: tuple[int, ...]
    profile: Profile
    seed: int = 0
    timing: Timing = Timing()
    net_ticktime_s: float = 60.0
    queue_master_locator: str = "client-local"
    quorum_cluster_size: int = 3
    quorum_commands_soft_limit: int = 32
    sync_batch_size: int = 4096
    sync_max_bytes_per_s: int = 0
    partition_handling: PartitionHandling = PartitionHandling()
    consumer_timeout: int | str | None = None

    def node(self, name: str) -> int:
        """The index of the node called `name`."""
        return self.names.index(name)

    def named(self, nodes) -> list[str]:
        """The names of `nodes`, in their order."""
        return [self.names[node] for node in nodes]
