"""The expected time without a master or leader in a trial, calculated from a Markov chain, for the simplest designs.

It is independent of engine, kernel and random numbers, so that an answer shows it beside the simulated mean
(`queue_down_s`). The chain has a state for each number of running nodes with and without a replica. Nodes fail and are
repaired independently. Its rules:

* A quorum queue is up while a majority of its members runs, a mirrored queue while any of its nodes runs, a queue
  without mirrors while its node runs. With pause_minority, nodes pause while fewer than a majority of all nodes runs.
* With Mnesia, if all nodes are down, the nodes that return wait for the one that went down last.
* A node is down until it has booted: for its repair and `start_s`.
* An election takes `election_s` and the latency of a link, a promotion only the latter. The first election after the
  loss of a majority takes longer if a member with a shorter log stands first: that is not in the chain, and makes a
  difference of less than a second for each such loss.
* At the beginning all nodes run.

How long nodes are down has any distribution, because the share of time in which independent nodes are down together
depends on the mean alone (A. Birolini, "Reliability Engineering", on alternating renewal processes). Only the order in
which nodes return after all were down depends on more. Where that makes a difference, there is no figure.

Shares of time may be as small as 1e-45, so the chain is solved without subtractions (W. Grassmann, M. Taksar and D.
Heyman, "Regenerative analysis and steady state distributions for Markov chains", 1985).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from msgspec import Struct

from hawb.engine.cluster.partition_handling import POLL_US
from hawb.engine.core.state import Queue
from hawb.rules.policies import Promote, SyncMode
from hawb.rules.profiles import HA_SETTINGS
from hawb.rules.quorum import majority
from hawb.scenario import beginning
from hawb.scenario.document import PauseIfAllDown
from hawb.study.design import Design
from hawb.study.engine_trial import scenario
from hawb.study.environment import HOURS, Environment, Failures
from hawb.study.histories import rate_at
from hawb.study.question import Study

MEASURE = "queue_down_s"
"""The measure of a trial that the chain gives."""
EXACT, NO_EXACT = "exact", "no_exact"
"""The value in a row of estimates, and the reason why there is none."""

DAY_S, MICROSECONDS = 86_400, 1_000_000
KNOWN_SETTINGS = HA_SETTINGS | {"queue-master-locator", "queue-mode", "delivery-limit"}
"""The settings of policies that decide nothing about availability, or that the chain has."""
MOST_PAUSING = 3
"""The most nodes with pause_minority. Of more, several pause at once, and which one waits for which is a race."""
RARELY = 100
"""A time counts as short beside another time that is at least 100 times as long."""
RELAXED = 20
"""The number of mean repairs after which a cluster has forgotten how it began."""
MOST_BY_ORDER = 1e-3
"""The share of the downtime that may depend on the order of returns, for repairs that are not exponential."""


class State(NamedTuple):
    """The number of nodes that run, with and without a replica.

    If all nodes were down, `last` is 0 or 1: the node that went down last, with or without a replica, is still down,
    and the others that are back wait for it. `alone` is True if that node is back alone: it has not seen others go, and
    does not pause.
    """

    replicas: int
    others: int
    last: int | None = None
    alone: bool = False

    @property
    def nodes(self) -> int:
        """Return how many nodes run, or wait."""
        return self.replicas + self.others

    def with_more(self, kind: int, more: int) -> State:
        """Return the state with more nodes with (0) or without (1) a replica."""
        return self._replace(replicas=self.replicas + more * (kind == 0), others=self.others + more * (kind == 1))


class Chain(Struct, frozen=True, dict=True):
    """The Markov chain of a cluster with a queue.

    `sizes` are the numbers of nodes with and without a replica, `needed` is the number of replicas that must run.
    `change_s` is how long a new leader or master takes, and `return_s` how long the queue takes when it is back.
    """

    sizes: tuple[int, int]
    needed: int
    fails_per_s: float
    repaired_per_s: float
    change_s: float
    return_s: float
    pauses: bool = False
    boots_in_order: bool = True

    def is_up(self, state: State) -> bool:
        """Return True if the queue has a master or a leader."""
        return state.last is None and not self.has_paused(state) and state.replicas >= self.needed

    def has_paused(self, state: State) -> bool:
        """Return True if the running nodes have paused."""
        return self.pauses and not state.alone and state.nodes < majority(sum(self.sizes))

    def moves(self, state: State) -> Iterator[tuple[float, State]]:
        """Yield the next states, each with its rate a second."""
        for kind in (0, 1):
            running = state[kind]
            missing = self.sizes[kind] - running - (state.last == kind)
            if running:
                yield running * self.fails_per_s, self._after_failure(state, kind)
            if missing:
                yield missing * self.repaired_per_s, state.with_more(kind, 1)._replace(alone=False)
        if state.last is not None:
            back = State(state.replicas, state.others).with_more(state.last, 1)
            yield self.repaired_per_s, back._replace(alone=self.pauses and back.nodes < majority(sum(self.sizes)))

    def _after_failure(self, state: State, kind: int) -> State:
        after = state.with_more(kind, -1)
        is_last = self.boots_in_order and state.last is None and not after.nodes
        return after._replace(alone=False, last=kind if is_last else state.last)

    def extra_s(self, state: State) -> float:
        """Return for how many seconds a second in a state elections, promotions and checks of paused nodes are due."""
        total, is_up = 0.0, self.is_up(state)
        for rate, after in self.moves(state):
            if self.is_up(after) and not is_up:
                total += rate * (self.return_s + self.has_paused(state) * POLL_US / MICROSECONDS)
        if is_up and self.is_up(self._after_failure(state, 0)):  # the node of the leader or master is one of them
            total += self.fails_per_s * self.change_s
        return total

    @cached_property
    def states(self) -> list[State]:
        """Return all states, beginning with the one in which all nodes run."""
        found = [State(*self.sizes)]
        for state in found:
            found += dict.fromkeys(after for _, after in self.moves(state) if after not in found)
        return found

    @cached_property
    def rates(self) -> np.ndarray:
        """Return the rates a second, with a row for each state and a column for each next one."""
        at = {state: place for place, state in enumerate(self.states)}
        rates = np.zeros((len(at), len(at)))
        for state in at:
            for rate, after in self.moves(state):
                rates[at[state], at[after]] += rate
        return rates

    @cached_property
    def shares(self) -> np.ndarray:
        """Return the share of time in each state in the long run."""
        left = self.rates.copy()
        for last in range(len(left) - 1, 0, -1):
            left[:last, last] /= left[last, :last].sum()
            left[:last, :last] += np.outer(left[:last, last], left[last, :last])
        shares = np.ones(len(left))
        for place in range(1, len(left)):
            shares[place] = shares[:place] @ left[:place, place]
        return shares / shares.sum()

    @cached_property
    def down(self) -> np.ndarray:
        """Return the seconds a second for which the queue is down in each state."""
        return np.array([1.0 - self.is_up(state) + self.extra_s(state) for state in self.states])

    def down_s(self, horizon_s: float) -> float:
        """Return the expected seconds without a master or leader until the horizon, beginning with all nodes.

        The horizon must be long enough for the cluster to forget how it began (`RELAXED`).
        """
        balance = self.rates - np.diag(self.rates.sum(axis=1))
        begun = self.shares - np.eye(len(self.shares))[0]
        balance[:, -1], begun[-1] = 1.0, 0.0
        less = np.linalg.solve(balance.T, begun)
        return float((horizon_s * self.shares + less) @ self.down)

    @property
    def by_order(self) -> float:
        """Return the share of the downtime in which all nodes were down and some wait for the last one."""
        waits = np.array([state.last is not None for state in self.states])
        return float(self.shares @ (self.down * waits) / (self.shares @ self.down))


def chain(design: Design, environment: Environment) -> Chain:
    """Return the chain of a design in an environment. Raise ValueError if no node fails there."""
    failures, timing = failures_of(environment), environment.timing
    replicas, is_quorum = replicas_of(design, environment), design.queue_type == "quorum"
    election_s = timing.election_s if is_quorum else 0.0
    return Chain(
        sizes=(replicas, design.nodes - replicas), needed=majority(replicas) if is_quorum else 1,
        fails_per_s=1 / (failures.every.mean_s - timing.start_s),
        repaired_per_s=1 / (failures.repair.mean_s + timing.start_s),
        change_s=election_s + timing.link_latency_s, return_s=election_s,
        pauses=design.cluster_partition_handling == "pause_minority" and not design.profile.khepri,
        boots_in_order=not design.profile.khepri,
    )  # fmt: skip


def queue_down_s(design: Design, environment: Environment, horizon_days: float) -> float:
    """Return the expected time without a master or leader in a trial, in seconds.

    Raise ValueError with the reason if the chain does not apply.
    """
    if reason := refused(design, environment, horizon_days):
        raise ValueError(f"no exact mean is possible with {reason}")
    return chain(design, environment).down_s(horizon_days * DAY_S)


def with_exact(rows: Iterable[Mapping[str, Any]], study: Study) -> list[dict[str, Any]]:
    """Return a study's estimates, of which those of `MEASURE` have the chain's value, or the reason why it has none."""
    found = []
    for row in rows:
        more: dict[str, Any] = {}
        if row["measure"] == MEASURE:
            asked = study.designs[row["design"]], study.environments[row["environment"]], study.horizon_days
            reason = refused(*asked)
            more = {EXACT: queue_down_s(*asked)} if reason is None else {NO_EXACT: reason}
        found.append({**row, **more})
    return found


def failures_of(environment: Environment) -> Failures:
    """Return the failures of nodes. Raise ValueError if there are none."""
    if environment.node_failures is None:
        raise ValueError("no node fails")
    return environment.node_failures


def queue_of(design: Design, environment: Environment) -> Queue:
    """Return the queue at the beginning of a trial."""
    begun = scenario(design, environment, 0)
    (queue,) = beginning.begin(begun, beginning.settings_of(begun)).state.queues.values()
    return queue


def replicas_of(design: Design, environment: Environment) -> int:
    """Return on how many nodes the queue has a replica."""
    queue = queue_of(design, environment)
    return len(queue.members) if design.queue_type == "quorum" else 1 + len(queue.mirrors)


# What the chain does not have


def refused(design: Design, environment: Environment, horizon_days: float) -> str | None:
    """Return why the chain does not apply to a design in an environment; None if it does."""
    return next((reason for reason, applies in REFUSALS.items() if applies(design, environment, horizon_days)), None)


def has_other_settings(design: Design, *_: object) -> bool:
    """Return True if the design has a policy key, an operator policy or an argument for which the chain has no rule."""
    return bool(design.operator_policy or design.arguments or set(design.definition) - KNOWN_SETTINGS)


def is_mirrored_in_part(design: Design, environment: Environment, _horizon_days: float) -> bool:
    """Return True if a mirrored queue has mirrors on some nodes only: other nodes get mirrors when these fail."""
    return design.queue_type == "classic" and 1 < replicas_of(design, environment) < design.nodes


def may_stay_unsynchronised(design: Design, environment: Environment, _horizon_days: float) -> bool:
    """Return True if mirrors are not synchronised at once: only by hand, or because messages pile up."""
    mirroring, traffic = queue_of(design, environment).mirroring, environment.traffic
    keeps_up = all(rate_at(traffic.consume_per_s, hour) > rate_at(traffic.publish_per_s, hour) for hour in range(HOURS))
    is_shallow = keeps_up and traffic.bursts is None and traffic.consumer_outages is None
    return mirroring is not None and not (mirroring.sync_mode is SyncMode.AUTOMATIC and is_shallow)


def may_refuse(design: Design, environment: Environment, _horizon_days: float) -> bool:
    """Return True if no mirror is promoted after a failure if none is synchronised."""
    mirroring = queue_of(design, environment).mirroring
    return mirroring is not None and mirroring.promote_on_failure is Promote.WHEN_SYNCED


def pauses_oddly(design: Design, *_: object) -> bool:
    """Return True if several nodes may pause at once, or pause by another rule; with Khepri none ever does."""
    handling = design.cluster_partition_handling
    several = handling == "pause_minority" and design.nodes > MOST_PAUSING
    return not design.profile.khepri and (several or isinstance(handling, PauseIfAllDown))


def lacks_replicas(design: Design, environment: Environment, _horizon_days: float) -> bool:
    """Return True if nodes that are no replica's decide, as a part of the metadata store, whether others can boot."""
    return design.profile.khepri and replicas_of(design, environment) < design.nodes


def is_slow(_design: Design, environment: Environment, _horizon_days: float) -> bool:
    """Return True if nodes stop, boot or hold elections for about as long as they run or are repaired."""
    failures, timing = failures_of(environment), environment.timing
    stop_s = timing.stop_s if failures.controlled_share else 0.0
    paused_s = POLL_US / MICROSECONDS
    is_short = failures.every.mean_s < RARELY * (timing.start_s + timing.election_s + paused_s)
    return is_short or failures.repair.mean_s < RARELY * stop_s or timing.election_s < 8 * timing.link_latency_s


def depends_on_order(design: Design, environment: Environment, _horizon_days: float) -> bool:
    """Return True if times of repair are not exponential, and the order in which nodes come back counts."""
    is_exponential = failures_of(environment).repair.distribution == "exponential"
    return not is_exponential and chain(design, environment).by_order > MOST_BY_ORDER


def is_too_short(_design: Design, environment: Environment, horizon_days: float) -> bool:
    """Return True if a trial is too short for the cluster to forget how it began."""
    failures = failures_of(environment)
    return horizon_days * DAY_S < RELAXED * (failures.repair.mean_s + environment.timing.start_s)


REFUSALS: dict[str, Callable[[Design, Environment, float], bool]] = {
    "node_failures: none": lambda _, environment, __: environment.node_failures is None,
    "host_failures: nodes that fail together": lambda _, environment, __: environment.host_failures is not None,
    "rack_failures: nodes that fail together": lambda _, environment, __: environment.rack_failures is not None,
    "partitions: links that fail": lambda _, environment, __: environment.partitions is not None,
    "rolling_upgrades: planned work": lambda _, environment, __: environment.rolling_upgrades is not None,
    "maintenance: planned work": lambda _, environment, __: environment.maintenance is not None,
    "node_failures.power_off_share: nodes that others detect late": (
        lambda _, environment, __: failures_of(environment).power_off_share > 0
    ),
    "node_failures.disk_loss_share: lost disks": (
        lambda _, environment, __: failures_of(environment).disk_loss_share > 0
    ),
    "node_failures.every: times between failures that are not exponentially distributed": (
        lambda _, environment, __: failures_of(environment).every.distribution != "exponential"
    ),
    "arguments, policy, operator_policy: settings other than those for mirrors": has_other_settings,
    "replicas: mirrors on only some of the nodes": is_mirrored_in_part,
    "replicas: nodes of 4.3 without a replica": lacks_replicas,
    "policy, traffic: mirrors that are not synchronised at once": may_stay_unsynchronised,
    "policy.ha-promote-on-failure: when-synced": may_refuse,
    "cluster_partition_handling: pause_if_all_down, or pause_minority with more than three nodes": pauses_oddly,
    "timing: stops, boots or elections that take about as long as other times": is_slow,
    "horizon_days: trials so short that the initial state, in which all nodes run, affects the result": is_too_short,
    "node_failures.repair: repair times that are not exponentially distributed, if the order of returns matters": (
        depends_on_order
    ),
}  # fmt: skip
"""The reasons why the chain does not apply, in the order in which they are reported, each with its condition."""
