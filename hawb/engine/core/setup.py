"""Settings as whole numbers, for what the kernel of studies compiles as well: `t.setup` of a turn and of a trial."""

from __future__ import annotations

from functools import cache

from msgspec import Struct

from hawb.engine.core.settings import Settings
from hawb.engine.core.state import MAJORITY, NOTHING, PREFERRED, bits_of

CONDITIONS = {"pause_minority": MAJORITY, "pause_if_all_down": PREFERRED}
"""What a node that stops by itself waits for, by the handling of partitions; under other handlings no node stops."""


class Setup(Struct, frozen=True):
    """How many nodes there are, the seed, and times in microseconds.

    `handling` is what a node waits for that has stopped because it sees too few others (NOTHING: no node stops, and
    with Khepri none ever does), `heals` whether the losing sides of a partition restart, `preferred` the nodes that
    pause_if_all_down names, as bits, `lone_boot_rounds`, `keeps_records` and `khepri` as in `hawb.rules.profiles`,
    `ticktime_us` how long it takes until a silent node is taken for dead (net_ticktime), `consumes_again` whether
    channels try to consume again from a queue that has lost its master: in releases that mirror."""

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
    """The setup of a cluster's settings."""
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
