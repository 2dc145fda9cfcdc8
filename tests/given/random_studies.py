"""Random designs and environments that the kernel plays. Draws are counted, so case n is the same on any machine.

Failures come every few minutes and backlogs are deep, so that in an hour much goes wrong and a good share of the trials
loses messages. Each case tells its choices as (key, value), which is what coverage is counted by.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from hawb.engine.core import randomness
from hawb.scenario.document import PauseIfAllDown, Timing
from hawb.study.design import NODES, Design, Upgrade
from hawb.study.environment import (
    Bursts,
    Calendar,
    ConsumerOutages,
    Distribution,
    Environment,
    Failures,
    GroupFailures,
    Partitions,
    Traffic,
)

SEED, PURPOSE = 20_261_122, 201
HORIZON_US = 1_200_000_000
CUTS = ("one_node", "half", "one_link")
"""What partitions cut off, beside racks."""
PLACES = 1 << 40
"""Beyond the numbers of cases: further draws of a case are by a number above this."""


class Case(Struct, frozen=True):
    """A design in an environment, its trial number, and the chosen values."""

    number: int
    design: Design
    environment: Environment
    chosen: tuple[tuple[str, str], ...]


class Chooser:
    """Draw values one after another and record them."""

    def __init__(self, number: int):
        self._number, self._n = number, 0
        self.chosen: dict[str, str] = {}

    def __call__(self, key: str, values: Sequence[object]) -> object:
        """Return one of `values`, all equally likely."""
        value = values[randomness.below(len(values), SEED, PURPOSE, self._number, self._n)]
        self._n += 1
        self.chosen[key] = str(value)
        return value


def case(number: int, *, losses: bool = True) -> Case:
    """Return the case with this number, with or without losses of power and disks."""
    choose = Chooser(number)
    design = a_design(choose)
    environment = an_environment(choose)
    if losses:
        environment = with_losses(choose, environment)
        design = replace(design, net_ticktime=choose("net_ticktime", (60.0, 5.0)))
    return Case(number, design, environment, tuple(choose.chosen.items()))


def any_case(number: int, *, quorum: bool) -> Case:
    """Return the case with this number with all faults, which only the engine plays."""
    choose = Chooser(number)
    design = a_quorum_design(choose) if quorum else a_design(choose)
    environment = with_partitions(choose, with_losses(choose, an_environment(choose)))
    design = replace(design, net_ticktime=choose("net_ticktime", (60.0, 5.0)))
    return Case(number, design, environment, tuple(choose.chosen.items()))


def cut_case(number: int) -> Case:
    """Return the case with this number, with links that fail now and then."""
    choose = Chooser(number)
    design = a_design(choose)
    environment = with_partitions(choose, with_losses(choose, an_environment(choose)), CUTS)
    design = replace(design, net_ticktime=choose("net_ticktime", (60.0, 5.0)))
    return Case(number, design, environment, tuple(choose.chosen.items()))


def khepri_case(number: int) -> Case:
    """Return the case with this number, with a classic queue of 4.3, and losses of power and disks."""
    given = case(number)
    design = replace(given.design, version="4.3", policy={}, replicas=None)
    return Case(number, design, given.environment, given.chosen)


def khepri_cut_case(number: int) -> Case:
    """Return the case with this number, with a classic queue of 4.3 whose nodes' links fail now and then."""
    given = khepri_case(number)
    choose = Chooser(4 * PLACES + number)
    environment = with_partitions(choose, given.environment, CUTS)
    return Case(number, given.design, environment, tuple((dict(given.chosen) | choose.chosen).items()))


def quorum_case(number: int, *, awaits: bool = True) -> Case:
    """Return the case with this number, with a quorum queue whose upgrades may wait for members."""
    choose = Chooser(number)
    design = a_quorum_design(choose, awaits=awaits)
    environment = an_environment(choose)
    return Case(number, design, environment, tuple(choose.chosen.items()))


def today_case(number: int) -> Case:
    """Return the case with this number, with a quorum queue of 4.x with or without a delivery limit."""
    choose = Chooser(number)
    design, environment = a_quorum_design(choose), an_environment(choose)
    limit, version = choose("delivery-limit", (None, 0, 1, 3)), choose("version", ("4.0", "4.3", "4.3"))
    policy = {} if limit is None else {"delivery-limit": limit}
    design = replace(design, version=version, policy=policy)
    return Case(number, design, environment, tuple(choose.chosen.items()))


def power_case(number: int) -> Case:
    """Return the case with this number, with a quorum queue of any release and power losses."""
    given = today_case(number)
    choose = Chooser(PLACES + number)
    version = choose("version", ("3.8", "3.10", "3.13", "4.0", "4.3"))
    policy = given.design.policy if version in ("4.0", "4.3") else {}
    design = replace(given.design, version=version, policy=policy)
    environment = with_shares(given.environment, choose("power_off", (0.5, 1.0)))
    return Case(number, design, environment, tuple((dict(given.chosen) | choose.chosen).items()))


def quorum_cut_case(number: int) -> Case:
    """Return the case with this number, with a quorum queue of any release, power losses and links that fail."""
    given = power_case(number)
    choose = Chooser(3 * PLACES + number)
    environment = with_partitions(choose, given.environment, CUTS)
    if (latency_s := choose("link_latency_s", (None, None, None, 1.0))) is not None:
        environment = replace(environment, timing=replace(environment.timing, link_latency_s=latency_s))
    return Case(number, given.design, environment, tuple((dict(given.chosen) | choose.chosen).items()))


def disk_case(number: int) -> Case:
    """Return the case with this number, with a quorum queue of any release, power losses and lost disks."""
    given = power_case(number)
    choose = Chooser(2 * PLACES + number)
    environment = with_shares(given.environment, choose("power_off", (0.0, 0.3)), choose("disk_loss", (0.05, 0.2)))
    return Case(number, given.design, environment, tuple((dict(given.chosen) | choose.chosen).items()))


def with_prefetch(given: Case) -> Case:
    """Return a case whose consumer has a prefetch, with the history of the case."""
    choose = Chooser(4 * PLACES + given.number)
    traffic = replace(given.environment.traffic, ack="manual", prefetch=choose("prefetch", (1, 2, 10, 100)))
    chosen = tuple((dict(given.chosen) | choose.chosen).items())
    return replace(given, environment=replace(given.environment, traffic=traffic), chosen=chosen)


def a_quorum_design(choose: Chooser, *, awaits: bool = True) -> Design:
    """Draw the design of a quorum queue."""
    nodes = choose("nodes", (1, 2, 3, 3, 3, 4, 5, 5))
    return Design(
        queue_type="quorum",
        nodes=nodes,
        replicas=choose("replicas", (None, *range(1, nodes + 1), nodes)),
        version=choose("version", ("3.8", "3.10", "3.13")),
        cluster_partition_handling=a_handling(choose, nodes),
        net_ticktime=choose("net_ticktime", (60.0, 5.0)),
        quorum_commands_soft_limit=choose("quorum_commands_soft_limit", (None, 2)),
        upgrade=Upgrade(
            drain=choose("drain", (False, True)),
            rebalance=choose("rebalance", (False, True)),
            await_online_quorum_plus_one=awaits and choose("await_online_quorum_plus_one", (False, True)),
            await_timeout_s=choose("await_timeout_s", (3600.0, 20.0)) if awaits else 3600.0,
            between_s=choose("between_s", (0.0, 12.5)),
        ),
    )


def a_design(choose: Chooser) -> Design:
    """Draw the design of a classic queue, mirrored or not."""
    nodes = choose("nodes", (1, 2, 2, 3, 3, 4, 5))
    policy, replicas = a_policy(choose, nodes)
    version = choose("version", ("3.8", "3.10", "3.13"))
    return Design(
        queue_type="classic",
        nodes=nodes,
        replicas=replicas,
        version=version,
        policy=policy,
        cluster_partition_handling=a_handling(choose, nodes),
        mirroring_sync_batch_size=choose("mirroring_sync_batch_size", (None, 1, 100)),
        mirroring_sync_max_throughput=choose("mirroring_sync_max_throughput", (None, 100_000)),
        upgrade=Upgrade(
            drain=choose("drain", (False, True)) and version != "3.8",
            rebalance=choose("rebalance", (False, True)),
            await_online_synchronized_mirror=choose("await_online_synchronized_mirror", (False, True)),
            await_timeout_s=choose("await_timeout_s", (3600.0, 20.0)),
            sync_queue=choose("sync_queue", (False, True)),
            between_s=choose("between_s", (0.0, 12.5)),
        ),
    )


def a_policy(choose: Chooser, nodes: int) -> tuple[dict[str, object], int | None]:
    """Draw a policy and `replicas`."""
    mode = choose("ha-mode", ("none", "all", "exactly", "exactly", "replicas", "nodes"))
    if mode == "none":
        return {}, None
    replicas = None
    policy: dict[str, object] = {} if mode == "replicas" else {"ha-mode": mode}
    if mode == "replicas":
        replicas = choose("replicas", tuple(range(1, nodes + 1)))
        if replicas == 1:
            return {}, replicas
    elif mode == "exactly":
        policy["ha-params"] = choose("ha-params", (1, 2, 2, 3))
    elif mode == "nodes":
        kept = [name for name in NODES[:nodes] if choose(f"lists {name}", (True, True, False))]
        policy["ha-params"] = (kept or ["a"])[:: choose("ha-params order", (1, -1))]
    for key, values in {
        "ha-sync-mode": (None, "manual", "automatic", "automatic"),
        "ha-promote-on-shutdown": (None, "when-synced", "always"),
        "ha-promote-on-failure": (None, "when-synced", "always"),
        "ha-sync-batch-size": (None, 1, 50),
    }.items():
        if (value := choose(key, values)) is not None:
            policy[key] = value
    return policy, replicas


def a_handling(choose: Chooser, nodes: int) -> str | PauseIfAllDown:
    """Draw cluster_partition_handling."""
    handling = choose("cluster_partition_handling", ("ignore", "autoheal", "pause_minority", "pause_if_all_down"))
    if handling == "pause_if_all_down":
        return PauseIfAllDown(pause_if_all_down=NODES[: min(nodes, 2)], recover="autoheal")
    return handling


def an_environment(choose: Chooser) -> Environment:
    """Draw an environment with failures every few minutes and steady load."""
    hosts, racks = choose("host_failures", (None, None, 2)), choose("rack_failures", (None, 2, 1))
    publish = choose("publish_per_s", (20.0, 100.0, 33.3, 0.7, "by the hour"))
    if publish == "by the hour":
        publish = (30.0, 80.0, 0.0, *(10.0,) * 21)
    return Environment(
        node_failures=Failures(**failing(choose, "node", (60.0, 300.0, 900.0))),
        host_failures=hosts and GroupFailures(groups=hosts, **failing(choose, "host", (300.0, 900.0))),
        rack_failures=racks and GroupFailures(groups=racks, **failing(choose, "rack", (300.0, 900.0))),
        traffic=Traffic(
            publish_per_s=publish,
            consume_per_s=choose("consume_per_s", (150.0, 40.0, 101.0)),
            message_size_bytes=choose("message_size_bytes", (1024, 0, 50_000)),
            persistent=choose("persistent", (True, True, True, False)),
            mode=choose("mode", ("confirm", "confirm", "plain")),
            ack=choose("ack", ("manual", "manual", "auto")),
            consumer_outages=an_outage(choose),
            bursts=a_burst(choose),
        ),
        rolling_upgrades=a_calendar(choose, "rolling_upgrades", 0.1),
        maintenance=a_calendar(choose, "maintenance", 0.05),
        timing=Timing(
            start_s=choose("start_s", (5.0, 0.4, 30.0)),
            stop_s=choose("stop_s", (1.0, 0.0, 4.0)),
            link_latency_s=choose("link_latency_s", (0.0005, 0.02, 0.0)),
            sync_messages_s=choose("sync_messages_s", (30_000.0, 100.0)),
            boot_retry_s=choose("boot_retry_s", (30.0, 2.0)),
            election_s=choose("election_s", (0.2, 0.002, 3.0)),
        ),
    )


def failing(choose: Chooser, what: str, every_s: Sequence[float]) -> dict[str, object]:
    """Draw failures of one kind."""
    return {
        "every": a_distribution(choose, f"{what} every", choose(f"{what} every_s", every_s)),
        "repair": a_distribution(choose, f"{what} repair", choose(f"{what} repair_s", (3.0, 60.0, 200.0))),
        "controlled_share": choose(f"{what} controlled_share", (0.0, 0.4, 1.0)),
    }


def with_losses(choose: Chooser, environment: Environment) -> Environment:
    """Add losses of power and disks to the failures."""
    return with_shares(environment, choose("power_off", (0.0, 0.5, 1.0)), choose("disk_loss", (0.0, 0.0, 0.3)))


def with_shares(environment: Environment, power: float, disk: float = 0.0) -> Environment:
    """Let these shares of the failures that are no stops be losses of power, and lose disks."""
    given = {name: getattr(environment, name) for name in ("node_failures", "host_failures", "rack_failures")}
    return replace(environment, **{
        name: replace(
            one, power_off_share=power * (1 - one.controlled_share), disk_loss_share=disk * (1 - one.controlled_share)
        )
        for name, one in given.items() if one is not None
    })  # fmt: skip


def with_partitions(
    choose: Chooser, environment: Environment, cuts: Sequence[str | None] = (None, *CUTS)
) -> Environment:
    """Add link failures shorter and longer than net_ticktime."""
    racks = ("one_rack",) if environment.rack_failures else ()
    cut = choose("partitions", (*cuts, *racks))
    lasts = Distribution(mean_s=choose("partitions last_s", (30.0, 150.0)))
    return replace(environment, partitions=cut and Partitions(every=Distribution(mean_s=200), lasts=lasts, cut=cut))


def a_distribution(choose: Chooser, what: str, mean_s: float) -> Distribution:
    """Draw a distribution with this mean."""
    kind = choose(what, ("exponential", "weibull", "lognormal", "constant"))
    return Distribution(mean_s=mean_s, distribution=kind, shape=1.3 if kind in ("weibull", "lognormal") else None)


def an_outage(choose: Chooser) -> ConsumerOutages | None:
    """Draw outages of consumers."""
    if not choose("consumer_outages", (True, True, False)):
        return None
    return ConsumerOutages(every=Distribution(mean_s=400), lasts=Distribution(mean_s=150, distribution="constant"))


def a_burst(choose: Chooser) -> Bursts | None:
    """Draw bursts of publishing."""
    times = choose("bursts", (None, 4.0))
    return times and Bursts(every=Distribution(mean_s=300), lasts=Distribution(mean_s=60), publish_times=times)


def a_calendar(choose: Chooser, what: str, at_hour: float) -> Calendar | None:
    """Draw planned work, several times in a trial."""
    down_s = choose(what, (None, 2.0, 40.0))
    return None if down_s is None else Calendar(every_days=0.005, at_hour=at_hour, down_s=down_s)
