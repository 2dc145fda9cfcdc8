"""Settings: what does not change while a cluster runs.

`Settings` has them as the scenario gives them. `Setup` has those that the kernel of studies needs too, as whole
numbers.
"""

from __future__ import annotations

from functools import cache

from msgspec import Struct

from hawb.engine.core.state import MAJORITY, NOTHING, PREFERRED, bits_of
from hawb.rules.profiles import Profile


class Timing(Struct, frozen=True):
    """How long operations take: in microseconds, and in bytes or messages a second."""

    link_latency_us: int = 500
    network_bytes_per_s: int = 100_000_000
    fsync_us: int = 1_000
    stop_us: int = 1_000_000
    start_us: int = 5_000_000
    boot_retry_us: int = 30_000_000
    sync_messages_per_s: int = 30_000
    election_us: int = 300_000



class PartitionHandling(Struct, frozen=True):
    """cluster_partition_handling: `mode` is ignore, pause_minority, autoheal or pause_if_all_down.

    For pause_if_all_down, `nodes` are the preferred nodes, and `recover` says what happens if both sides have one of
    them.
    """

    mode: str = "ignore"
    nodes: tuple[int, ...] = ()
    recover: str = "ignore"

    @property
    def heals(self) -> bool:
        """Return True if the losing sides of a partition restart by themselves."""
        return "autoheal" in (self.mode, self.recover)



class Settings(Struct, frozen=True):
    """The names of the nodes, the version and configuration of the broker, and the seed.

    `consumer_timeout` is in milliseconds, `undefined` for none, None for the default of the release.
    """

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
        """Return the index of the node called `name`."""
        return self.names.index(name)

    def named(self, nodes) -> list[str]:
        """Return the names of `nodes`, in their order."""
        return [self.names[node] for node in nodes]


CONDITIONS = {"pause_minority": MAJORITY, "pause_if_all_down": PREFERRED}
"""What a node that pauses waits for, by the mode of partition handling. In other modes no node pauses."""


class Setup(Struct, frozen=True):
    """How many nodes there are, the seed, and times in microseconds. `t.setup` of a turn and of a trial.

    `handling` is what a node waits for that has paused because it sees too few others (NOTHING: no node pauses, and
    with Khepri none ever does). `heals` is 1 if the losing sides of a partition restart. `preferred` are the nodes of
    pause_if_all_down, as bits. `lone_boot_rounds`, `keeps_records` and `khepri` are as in `hawb.rules.profiles`.
    `ticktime_us` is after how long a silent node counts as down (net_ticktime). `consumes_again` is 1 in releases with
    mirroring: channels consume again from a queue that has lost its master.
    """

    nodes: int
    seed: int
    handling: int
    heals: int
    preferred: int
    lone_boot_rounds: int
    link_us: int
    network_bytes_per_s: int
    fsync_us: int
    stop_us: int
    start_us: int
    boot_retry_us: int
    ticktime_us: int
    keeps_records: int
    khepri: int
    consumes_again: int
    election_us: int


@cache
def setup_of(settings: Settings) -> Setup:
    """Return the setup of a cluster's settings."""
    timing, handling, khepri = settings.timing, settings.partition_handling, settings.profile.khepri
    return Setup(
        nodes=len(settings.names),
        seed=settings.seed,
        handling=NOTHING if khepri else CONDITIONS.get(handling.mode, NOTHING),
        heals=handling.heals and not khepri,
        preferred=bits_of(handling.nodes),
        lone_boot_rounds=settings.profile.lone_boot_rounds,
        link_us=timing.link_latency_us,
        network_bytes_per_s=timing.network_bytes_per_s,
        fsync_us=timing.fsync_us,
        stop_us=timing.stop_us,
        start_us=timing.start_us,
        boot_retry_us=timing.boot_retry_us,
        ticktime_us=round(settings.net_ticktime_s * 1_000_000),
        keeps_records=settings.profile.keeps_records,
        khepri=settings.profile.khepri,
        consumes_again=settings.profile.mirroring,
        election_us=timing.election_us,
    )
