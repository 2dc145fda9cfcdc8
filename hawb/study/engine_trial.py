"""Play a history with the engine into a record. The kernel must give the same record.

Clients and service managers of nodes behave as in operation, in every design:

* Publishers and consumers connect to the nodes that `hawb.study.trial_clients` says. If they lose their connection, or
  no node accepts them, they try again each second. A consumer that was cancelled, or found no master, does the same.
  Its own channel meanwhile behaves as a channel does (`hawb.engine.clients.subscriptions`).
* A node that exits by itself, such as one that has waited too long at boot, is started again within a second.
* A new rate is a new publisher on the same node, as soon as the last one is not blocked.
* Planned work is done as `hawb.study.work` says, and manual repairs as `hawb.study.repairs` says.
* A quorum queue's members elect their first leader as the trial begins. Until then the queue counts as neither down nor
  unusable: in operation that election was over long before, and a year would have one outage more than it has failures.
* During a partition a client sees the cluster as its node's partition sees it; a client connects to a node that accepts
  clients, in any partition.

Seconds in which nothing has changed since the last try are skipped: a new try would have the same result.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import cast

import numpy as np

from hawb.engine import advance
from hawb.engine.clients.steady import flows
from hawb.engine.clients.steady.closing import close_with_nodes
from hawb.engine.cluster.metadata import is_writable_anywhere
from hawb.engine.core import randomness, runs
from hawb.engine.core.ledger import Account, Outage
from hawb.engine.core.state import DOWN, RUNNING, Queue
from hawb.engine.core.turn import Turn
from hawb.scenario import beginning
from hawb.scenario.actions import ACTIONS
from hawb.scenario.document import Scenario
from hawb.scenario.fields import Verb
from hawb.scenario.verbs import Close, Consume, Cut, Heal, Kill, Partition, PowerOff, Publisher, Start, Stop, Wipe
from hawb.study import histories
from hawb.study.design import QUEUE, Design
from hawb.study.environment import Environment
from hawb.study.repairs import Repairs
from hawb.study.talking import talk
from hawb.study.trial_clients import FIRST, Clients, share_of
from hawb.study.trial_record import Record
from hawb.study.work import LOOK_US, Work

PLACEMENT = 120
"""The purpose of the draw that seeds RabbitMQ's own draws in a trial, separate from those of the trial's history."""

CONSUMER = "consumer"
SECOND_US = 1_000_000


def scenario(design: Design, environment: Environment, seed: int) -> Scenario:
    """Return the scenario of a trial: the cluster and its queue at the beginning."""
    return Scenario(
        scenario="A trial",
        seed=seed,
        cluster=design.cluster(environment.timing),
        policies=design.policies(),
        operator_policies=design.operator_policies(),
        queues=(design.queue(),),
    )


def own_seed(seed: int, number: int) -> int:
    """Return the seed of RabbitMQ's own draws in a trial, from the study's seed and the trial's number."""
    return randomness.below(1 << 62, seed, PLACEMENT, number, 0)


def play(design: Design, environment: Environment, history: np.ndarray, seed: int, horizon_us: int) -> Record:
    """Return the record of a history that the engine plays until the horizon."""
    played = Played(design, environment, seed, traced=False)
    played.through(history.tolist(), horizon_us)
    return played.record()


class Played:
    """A trial under way: the engine's turn, and the clients and operators of the cluster.

    With `traced` the turn writes a trace.
    """

    def __init__(self, design: Design, environment: Environment, seed: int, *, traced: bool = True):
        begun = scenario(design, environment, seed)
        self._traffic = environment.traffic
        settings = beginning.settings_of(begun)
        self.turn = Turn(settings, beginning.begin(begun, settings), 0, traced=traced)
        self._name = next(iter(self.turn.queues))
        self._kept_down: set[int] = set()
        self._consumes = True
        self._connections, self._hour, self._bursts = 0, 0, False
        self._work, self._repairs = Work(design, environment), Repairs(design)
        self._look_us: int | None = 0
        self._outages, self._was_down, self._metadata_down = 0, False, Outage()
        self._led, self._unled_us = design.queue_type == "classic", 0
        self._clients = self._all_clients()

    def through(self, history: Iterable[list[int]], horizon_us: int) -> None:
        """Play the history's events before the horizon, and stop there."""
        for time_us, kind, about in history:
            self._until(time_us)
            EVENTS[kind](self, about)
        self._until(horizon_us)

    def record(self) -> Record:
        """Return the trial's record as of now."""
        account, now_us = self.account, self.turn.now_us
        down_s = (account.down.at(now_us) - self._unled_us) / SECOND_US if self._led else 0.0
        return Record(
            published=account.published,
            confirmed=runs.size(account.confirmed),
            nacked=runs.size(account.nacked),
            refused=runs.size(account.refused),
            lost=runs.size(account.lost),
            lost_confirmed=account.lost_confirmed,
            delivered_twice=runs.size(account.delivered_twice),
            promotions=account.promotions,
            unsynchronised_promotions=account.unsynchronised_promotions,
            outages=self._outages,
            publish_down_s=mean_s([one.unconfirmed.at(now_us) for one in self._clients]),
            consume_down_s=mean_s([one.undelivered.at(now_us) for one in self._clients]),
            sync_blocked_s=account.syncing.at(now_us) / SECOND_US,
            metadata_down_s=self._metadata_down.at(now_us) / SECOND_US,
            bytes_replicated=account.bytes_replicated,
            messages=runs.size(self._held()),
            queue_down_s=down_s,
        )

    @property
    def queue(self) -> Queue | None:
        """Return the queue as the current partition has it; None if that partition has no such queue."""
        return self.turn.queues.get(self._name)

    def _held(self) -> runs.Runs:
        """Return the messages in the queue, in all partitions."""
        queues = [side.queues[self._name] for side in self.turn.sides.values() if self._name in side.queues]
        return runs.normal(pair for queue in queues for pair in queue.content)

    @property
    def account(self) -> Account:
        """Return the queue's entry in the ledger."""
        return self.turn.account(self._name)

    def _all_clients(self) -> list[Clients]:
        deadline_us = beginning.microseconds(self._traffic.late_after_s)
        if self._traffic.clients is None:
            return [Clients(FIRST, CONSUMER, deadline_us)]
        homes = range(len(self.turn.nodes))
        return [Clients(node, f"{CONSUMER} {self.names([node])[0]}", deadline_us) for node in homes]

    # Time.

    def _until(self, time_us: int) -> None:
        """Play all events that are due before a time, and stop there. Clients and nodes retry each second."""
        while True:
            while advance.step(self.turn, self._stop_us(time_us) - 1):
                self._notice()
                if talk(self.turn, self._name, self._stop_us(time_us)):
                    self._notice()
            stop_us = self._stop_us(time_us)
            advance.flow(self.turn, stop_us - 1)
            if advance.step(self.turn, stop_us - 1):  # messages that flow may cause an event that is due by now
                self._notice()
                continue
            flows.hear(self.turn)
            self.turn.stand(stop_us)
            if self._look_us == stop_us and stop_us < time_us:
                self._look_after()
            elif stop_us == time_us:
                return

    def _stop_us(self, time_us: int) -> int:
        return time_us if self._look_us is None else min(time_us, self._look_us)

    def _notice(self) -> None:
        """Schedule the next look, at the next full second, unless clients, nodes, work and repairs are done."""
        self._watch_metadata()
        self._watch_clients()
        down = self.account.down.since_us is not None
        if self._led:
            self._outages += down and not self._was_down
        elif not down:
            self._led, self._unled_us = True, self.account.down.total_us
        self._was_down = down
        if self._content():
            self._look_us = None
        else:
            next_us = (self.turn.now_us // LOOK_US + 1) * LOOK_US
            self._look_us = next_us if self._look_us is None else min(self._look_us, next_us)

    def _watch_metadata(self) -> None:
        """Record since when no node can change metadata."""
        watched = self._metadata_down.end if is_writable_anywhere(self.turn) else self._metadata_down.begin
        self._metadata_down = watched(self.turn.now_us)

    def _watch_clients(self) -> None:
        for one in self._clients:
            one.watch(self.turn, offers=self.rate != 0, consumes=self._consumes)

    def _content(self) -> bool:
        turn, rate = self.turn, self.rate
        connected = all(
            one.rate_in_use(turn) == rate and one.is_consuming(turn) == self._consumes for one in self._clients
        )
        return connected and not self.idle() and not self._work.left and not self._repairs.left(turn)

    @property
    def rate(self) -> Fraction:
        """Return the current rate of each publisher in messages a second."""
        traffic = self._traffic
        times = traffic.bursts.publish_times if self._bursts else 1
        return share_of(histories.rate_at(traffic.publish_per_s, self._hour) * times, len(self._clients))

    def idle(self) -> list[int]:
        """Return the nodes that are down while no failure or planned work keeps them down."""
        return [
            node
            for node, value in enumerate(self.turn.nodes)
            if value.status == DOWN and node not in self._kept_down and node != self._work.keeps_down
        ]

    def kept_down(self) -> set[int]:
        """Return the nodes that a failure or planned work keeps down."""
        return self._kept_down | {self._work.keeps_down} - {None}

    # Clients and operators.

    def _look_after(self) -> None:
        self._work.do_next(self)
        self._repairs.do_next(self)
        self._start_idle()
        for one in self._clients:
            self._publish(one)
        for one in self._clients:
            self._consume(one)
        self._watch_metadata()
        self._watch_clients()
        self._look_us = None
        changes_us = min(advance.next_time_us(self.turn), self._work.due_us(self.turn.now_us))
        if not self._content() and changes_us < float("inf"):
            self._look_us = max(self.turn.now_us + LOOK_US, -(-changes_us // LOOK_US) * LOOK_US)

    def _publish(self, one: Clients) -> None:
        """Connect a publisher if it is not connected. Apply a new rate unless the publisher is blocked."""
        if one.is_connected(self.turn):
            publisher = self.turn.publishers[one.publisher]
            if one.rate != self.rate and publisher.blocked_since_us is None:
                self.do(Close(one.publisher))
                self._publish_at(one, publisher.node)
        elif (node := one.choice(self._open_nodes())) is not None:
            self._publish_at(one, node)

    def _consume(self, one: Clients) -> None:
        """Subscribe a consumer that wants to consume and does not; close one that stays away."""
        if not self._consumes:
            if one.is_consuming(self.turn):
                self.do(Close(one.consumer))
        elif not one.is_consuming(self.turn):
            node = one.choice(self._open_nodes())
            if node is not None and self._is_served_at(node):
                self._consume_at(one, node)

    def _open_nodes(self) -> list[int]:
        """Return the nodes that accept clients."""
        nodes = enumerate(self.turn.nodes)
        return [node for node, value in nodes if value.status == RUNNING and not value.drained]

    def _is_served_at(self, node: int) -> bool:
        self.turn.look_from(node)
        return self.queue is not None and self.queue.up and self.queue.sync is None

    def _start_idle(self) -> None:
        if idle := [node for node in self.idle() if not self.turn.nodes[node].virgin]:
            self.do(Start(self.names(idle)))

    def _publish_at(self, one: Clients, node: int) -> None:
        if self.rate == 0:
            return
        self._connections += 1
        one.publisher, one.rate, traffic = f"publisher {self._connections}", self.rate, self._traffic
        self.do(
            Publisher(
                name=one.publisher, queue=QUEUE, node=self.names([node])[0], rate=cast(float, one.rate),
                size=traffic.message_size_bytes, persistent=traffic.persistent, mode=traffic.mode,
            )
        )  # fmt: skip

    def _consume_at(self, one: Clients, node: int) -> None:
        traffic = self._traffic
        self.do(
            Consume(
                consumer=one.consumer, queue=QUEUE, node=self.names([node])[0], ack=traffic.ack,
                prefetch=traffic.prefetch,
                rate=cast(float, share_of(histories.rate_at(traffic.consume_per_s, 0), len(self._clients))),
            )
        )  # fmt: skip

    def names(self, nodes: Iterable[int]) -> tuple[str, ...]:
        """Return the names of nodes."""
        return tuple(self.turn.settings.named(nodes))

    def do(self, verb: Verb) -> None:
        """Play a step of a scenario now."""
        self.turn.look_from_outside()
        self.turn.because = None
        ACTIONS[type(verb)](self.turn, verb)
        close_with_nodes(self.turn)

    # Events of the history.

    def start(self, nodes: int) -> None:
        """Start nodes that a failure kept down."""
        self._kept_down -= set(self._among(nodes))
        self._start_idle()
        self._notice()

    def stop(self, nodes: int) -> None:
        """Stop nodes in a controlled way."""
        self._keep_down(Stop, nodes)

    def kill(self, nodes: int) -> None:
        """Kill nodes."""
        self._keep_down(Kill, nodes)

    def power_off(self, nodes: int) -> None:
        """Cut the power of nodes."""
        self._keep_down(PowerOff, nodes)

    def lose_disk(self, nodes: int) -> None:
        """Kill the nodes that run, and wipe the disks of all."""
        self._keep_down(Kill, nodes)
        for name in self.names(self._among(nodes)):
            self.do(Wipe(name))
        self._notice()

    def cut(self, nodes: int) -> None:
        """Cut the links between some nodes and all others."""
        here = self._among(nodes)
        others = [node for node in range(len(self.turn.nodes)) if node not in here]
        if here and others:
            self.do(Partition((self.names(here), self.names(others))))
        self._notice()

    def cut_link(self, nodes: int) -> None:
        """Cut the link between two nodes."""
        ends = self.names(self._among(nodes))
        if len(ends) == 2:
            self.do(Cut((ends,)))
        self._notice()

    def heal(self, _about: int) -> None:
        """Restore all links."""
        self.do(Heal())
        self._notice()

    def consumers_away(self, _about: int) -> None:
        """Close the consumers' channels, and keep them closed."""
        self._consumes = False
        for one in self._clients:
            if one.consumer in self.turn.consumers:
                self.do(Close(one.consumer))
        self._notice()

    def consumers_back(self, _about: int) -> None:
        """Let the consumers consume again."""
        self._consumes = True
        self._notice()

    def rate_changes(self, hour: int) -> None:
        """Begin an hour of the day, with its rate."""
        self._hour = hour
        self._follow_rate()

    def burst(self, begins: int) -> None:
        """Begin or end a burst."""
        self._bursts = bool(begins)
        self._follow_rate()

    def _follow_rate(self) -> None:
        for one in self._clients:
            if one.is_connected(self.turn):
                self._publish(one)
        self._notice()

    def work(self, kind: int, nodes: int) -> None:
        """Begin planned work."""
        self._work.begin(kind, self._among(nodes))
        self._notice()

    def _keep_down(self, verb: type[Stop | Kill | PowerOff], nodes: int) -> None:
        self._kept_down |= set(self._among(nodes))
        self.do(verb(self.names(self._among(nodes))))
        self._notice()

    def _among(self, nodes: int) -> list[int]:
        return [node for node in range(len(self.turn.nodes)) if nodes >> node & 1]


def mean_s(times_us: Sequence[int]) -> float:
    """Return the mean of times in seconds."""
    return sum(times_us) / len(times_us) / SECOND_US


EVENTS = {
    histories.HEAL: Played.heal,
    histories.START: Played.start,
    histories.POWER_OFF: Played.power_off,
    histories.STOP: Played.stop,
    histories.KILL: Played.kill,
    histories.LOSE_DISK: Played.lose_disk,
    histories.CUT: Played.cut,
    histories.CUT_LINK: Played.cut_link,
    histories.CONSUMERS_AWAY: Played.consumers_away,
    histories.CONSUMERS_BACK: Played.consumers_back,
    histories.RATE: Played.rate_changes,
    histories.BURST: Played.burst,
    histories.MAINTENANCE: lambda played, node: played.work(histories.MAINTENANCE, node),
    histories.ROLLING_UPGRADE: lambda played, nodes: played.work(histories.ROLLING_UPGRADE, nodes),
}
"""The method that plays each kind of event."""
