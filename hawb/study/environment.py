"""An environment: faults, planned work and clients, independent of the cluster's design.

Decisions:

* At the beginning everything works and is newly repaired. From then on times run from the end of one event to the
  beginning of the next of its kind. Nodes fail independently; a rack or host that fails takes all its nodes with it,
  and a node stays down until the last failure that keeps it down is over.
* A day has 24 hours and begins with hour 0; rates by hour repeat every day.
* Distributions are given by their mean, because measurements are published like that, and by one number for their
  shape.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from hawb.scenario.document import Timing
from hawb.scenario.fields import AtLeastOne, Bytes, Part, Period, Prefetch, Seconds
from hawb.scenario.verbs import PublishMode

HOURS = 24
DEADLINE_S = 5.0
"""The seconds for which a client waits in RabbitMQ's tutorial on publisher confirms (`waitForConfirmsOrDie(5_000)`)."""

Share = Annotated[float, Meta(ge=0, le=1, description="a share, a number from 0 to 1")]
Shape = Annotated[float, Meta(gt=0, le=100, description="a number above 0, up to 100")]
Times = Annotated[float, Meta(ge=1, le=1e6, description="how many times as much, a number from 1 to 10**6")]
Hour = Annotated[float, Meta(ge=0, lt=HOURS, description="an hour of the day, a number from 0 up to 24")]
Days = Annotated[float, Meta(gt=0, le=10_000, description="days, a number above 0, up to 10,000")]
Flow = Annotated[float, Meta(ge=0, le=1e9, description="a number a second, from 0 to 10**9")]
ByHour = Annotated[
    tuple[Flow, ...],
    Meta(min_length=HOURS, max_length=HOURS, description=f"a list of {HOURS} of them, one for each hour from midnight"),
]


FAILURES = ("node_failures", "host_failures", "rack_failures")
"""The fields of an environment for unplanned failures of nodes."""


class Distribution(Part, frozen=True):
    """A random duration with a given mean.

    `shape` is Weibull's (below 1 failures come in bursts, 1 is exponential, above 1 they come from wear) or the
    lognormal's standard deviation of the logarithm. The others have none.
    """

    mean_s: Period
    distribution: Literal["exponential", "weibull", "lognormal", "constant"] = "exponential"
    shape: Shape | None = None

    def __post_init__(self) -> None:
        shaped = self.distribution in ("weibull", "lognormal")
        if shaped and self.shape is None:
            raise ValueError(f"shape: missing; a {self.distribution} distribution needs a shape")
        if not shaped and self.shape is not None:
            raise ValueError(f"shape: {self.distribution} has none")


class Failures(Part, frozen=True, kw_only=True):
    """The failures of a node: how often it goes down, in which way, and when it is started again.

    Of all failures `controlled_share` are controlled stops (`rabbitmqctl stop`), `power_off_share` are losses of power,
    which other nodes detect only after net_ticktime, and the rest kills. `disk_loss_share` of all, none of them
    controlled, leave an empty disk.
    """

    every: Distribution
    repair: Distribution
    controlled_share: Share = 0.0
    power_off_share: Share = 0.0
    disk_loss_share: Share = 0.0

    def __post_init__(self) -> None:
        for name in ("power_off_share", "disk_loss_share"):
            together = self.controlled_share + getattr(self, name)
            if together > 1 + 1e-12:
                raise ValueError(f"controlled_share, {name}: add up to {together:g}; accepted: at most 1")


class GroupFailures(Failures, frozen=True, kw_only=True):
    """Failures of racks or hosts, each of which takes its nodes with it.

    Nodes are dealt to `groups` of them in turn: the first node is in the first group, the second in the second.
    """

    groups: AtLeastOne


class FailureBiasing(Part, frozen=True, kw_only=True):
    """Draw failures more often where they matter most, and weight each trial to compensate (`hawb.study.renewals`).

    So few trials show rare losses, and no expectation changes. While nodes are down, and until they have been back for
    `after_s` (so that their mirrors can synchronise), nodes, hosts and racks that would take down another node fail
    `times` as often. The estimates are best with one such failure in two trials. Planned work does not count.
    """

    times: Times
    after_s: Seconds = 0.0


class Partitions(Part, frozen=True, kw_only=True):
    """Network partitions: how often links drop everything, which links do, and for how long.

    `cut` is one side of the partition: one_node (drawn), one_rack (drawn), or half of the nodes, rounded down (drawn);
    or one_link, between two nodes that are drawn, while all other nodes see both.
    """

    every: Distribution
    lasts: Distribution
    cut: Literal["one_node", "one_rack", "half", "one_link"] = "one_node"


class Calendar(Part, frozen=True, kw_only=True):
    """Planned work: on `first_day`, counted from 0, at `at_hour`, and again every `every_days` days.

    Each node is down for `down_s` when its turn comes.
    """

    every_days: Days
    first_day: Annotated[int, Meta(ge=0, le=10_000, description="a whole number from 0 to 10,000")] = 0
    at_hour: Hour = 0.0
    down_s: Seconds


class Bursts(Part, frozen=True, kw_only=True):
    """Bursts: how often publishers send `publish_times` their rate of the hour, and for how long."""

    every: Distribution
    lasts: Distribution
    publish_times: Times


class ConsumerOutages(Part, frozen=True, kw_only=True):
    """Outages of consumers: how often all consumers stop for a while, so that a backlog builds up."""

    every: Distribution
    lasts: Distribution


class Traffic(Part, frozen=True, kw_only=True):
    """The queue's traffic: messages that are published, and that consumers can take, a second.

    Each is the same all day or has a rate for each hour. A message that is not confirmed, or not delivered, within
    `deadline_s` is late (`DEADLINE_S` if it is None). `clients` says where clients are (`hawb.study.trial_clients`): a
    publisher and a consumer at the first node that accepts clients, or one of each for every node, which share rates.
    """

    publish_per_s: Flow | ByHour
    consume_per_s: Flow | ByHour
    message_size_bytes: Bytes = 1024
    persistent: bool = True
    mode: PublishMode = "confirm"
    ack: Literal["manual", "auto"] = "manual"
    prefetch: Prefetch = 0
    bursts: Bursts | None = None
    consumer_outages: ConsumerOutages | None = None
    deadline_s: Seconds | None = None
    clients: Literal["every_node"] | None = None

    @property
    def late_after_s(self) -> float:
        """Return the seconds after which a message is late."""
        return DEADLINE_S if self.deadline_s is None else self.deadline_s


class Environment(Part, frozen=True, kw_only=True):
    """Faults, planned work and traffic. A part that is left out does not occur.

    `rolling_upgrades` take one node after another, as the design's procedure says; `maintenance` takes the next node in
    turn, one each time.
    """

    node_failures: Failures | None = None
    host_failures: GroupFailures | None = None
    rack_failures: GroupFailures | None = None
    failure_biasing: FailureBiasing | None = None
    partitions: Partitions | None = None
    rolling_upgrades: Calendar | None = None
    maintenance: Calendar | None = None
    traffic: Traffic
    timing: Timing = Timing()

    def __post_init__(self) -> None:
        if self.partitions and self.partitions.cut == "one_rack" and self.rack_failures is None:
            raise ValueError("partitions.cut: one_rack, but there are no rack_failures to say how many racks there are")
        if self.failure_biasing:
            self._check_biasing()

    def _check_biasing(self) -> None:
        given = {name: getattr(self, name) for name in FAILURES if getattr(self, name)}
        if not given:
            raise ValueError(f"failure_biasing: there are no failures to bias; they are {', '.join(FAILURES)}")
        for name, failures in given.items():
            if failures.every.distribution == "constant":
                raise ValueError(
                    f"failure_biasing: {name}.every is constant, and only random times can be biased; accepted:"
                    " exponential, weibull, lognormal"
                )
