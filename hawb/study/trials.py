"""One trial of a sweep: a combination of policy and shutdown, played by the engine in a situation that a seed draws.

The scenario is a rolling restart that does not wait. `b`, the node of the only mirror, was stopped; meanwhile the queue
filled. `b` is back and joins as an empty mirror, a tenth as much again is published, and then the master's node goes
down as well, for two minutes.

What a seed draws is how deep the queue is, how large its messages are, and how long `b` has had between its return and
the fault. With ha-sync-mode automatic the first two are what a synchronisation takes and the third what it has. The
draws do not depend on the combination: under one seed all combinations meet the same situation, so that they can be
compared pair by pair.

Nothing here decides anything: `Run` plays the scenario, and the record is read off its outcome. Workers import this
module alone, which is why it knows no Spark.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from msgspec import Struct
from msgspec.structs import asdict

from hawb.engine import chance
from hawb.scenario.document import Cluster, Scenario, Step
from hawb.scenario.outcome import outcome
from hawb.scenario.run import Run
from hawb.scenario.verbs import Declare, Kill, PolicyEntry, Publish, Start, Stop

DRAW_SITUATION = 100
"""The purpose of the draws, apart from those of `hawb.engine.chance`."""

QUEUE = "ha.orders"

PROMOTE = ("when-synced", "always")
SYNC_MODES = ("manual", "automatic")
SHUTDOWNS = {"stop": Stop, "kill": Kill}
"""Kinds of shutdown, named as the verbs are: controlled, and kill -9."""


class Combination(Struct, frozen=True):
    """What is compared: the policy's keys, and how the master's node goes down."""

    ha_promote_on_shutdown: str
    ha_promote_on_failure: str
    ha_sync_mode: str
    shutdown: str

    @property
    def policy(self) -> PolicyEntry:
        """The policy, for every queue whose name begins with `ha.`."""
        keys = {name.replace("_", "-"): value for name, value in asdict(self).items() if name != "shutdown"}
        return PolicyEntry("ha-all", r"^ha\.", {"ha-mode": "all"} | keys)


COMBINATIONS = tuple(Combination(*values) for values in product(PROMOTE, PROMOTE, SYNC_MODES, SHUTDOWNS))


class Situation(Struct, frozen=True):
    """What a seed has drawn: messages in the queue while `b` was away, the size of each, and the seconds between the
    return of `b` and the shutdown of `a`."""

    backlog: int
    size_bytes: int
    head_start_s: float


class Family(Struct, frozen=True):
    """The situations that are possible. Backlog and size are drawn from their lists, each value as likely as any other;
    the head start is any whole number of milliseconds from 0 to `head_start_ms`. `a` stays away for `away_s`."""

    backlogs: tuple[int, ...] = (1_000, 10_000, 100_000, 1_000_000)
    sizes_bytes: tuple[int, ...] = (100, 1_000, 10_000)
    head_start_ms: int = 60_000
    away_s: float = 120.0

    def situation(self, seed: int) -> Situation:
        """The situation that belongs to a seed."""

        def below(bound: int, n: int) -> int:
            return chance.below(bound, seed, DRAW_SITUATION, 0, n)

        return Situation(
            backlog=self.backlogs[below(len(self.backlogs), 0)],
            size_bytes=self.sizes_bytes[below(len(self.sizes_bytes), 1)],
            head_start_s=below(self.head_start_ms + 1, 2) / 1000,
        )

    def scenario(self, combination: Combination, seed: int) -> Scenario:
        """The scenario of one trial."""
        situation = self.situation(seed)
        cluster = Cluster(nodes=("a", "b"), down={"b": "stopped"}, version="3.10")
        back_s = 1 + cluster.timing.start_s
        fault_s = back_s + situation.head_start_s
        shutdown = SHUTDOWNS[combination.shutdown]
        return Scenario(
            scenario="The mirror is back, and the master's node goes down",
            seed=seed,
            cluster=cluster,
            policies=(combination.policy,),
            steps=(
                Step(Declare(QUEUE, node="a"), at=0),
                Step(Publish(queue=QUEUE, count=situation.backlog, size=situation.size_bytes, node="a"), at=0.5),
                Step(Start(("b",)), at=1),
                Step(
                    Publish(queue=QUEUE, count=situation.backlog // 10, size=situation.size_bytes, node="a"),
                    at=back_s + situation.head_start_s / 2,
                ),
                Step(shutdown(("a",)), at=fault_s),
                Step(Start(("a",)), at=fault_s + self.away_s),
            ),
        )


class Trial(Struct, frozen=True):
    """The record of a trial: its combination, seed and situation, and what came of it.

    The rest is the queue's in the outcome of the run, settled after the last step: from its availability, its ledger
    (lists of messages as their number), and how many messages it holds that would be delivered as redelivered.
    """

    ha_promote_on_shutdown: str
    ha_promote_on_failure: str
    ha_sync_mode: str
    shutdown: str
    seed: int
    backlog: int
    size_bytes: int
    head_start_s: float
    published: int
    confirmed: int
    lost: int
    lost_confirmed: int
    refused: int
    redelivered: int
    promotions: int
    unsynchronised_promotions: int
    publish_down_s: float
    sync_blocked_s: float
    bytes_replicated: int
    time_s: float


def play(family: Family, combination: Combination, seed: int) -> Trial:
    """One trial.

    Raises RuntimeError when the broker refuses one of its steps, which then did not try what it says. Whatever is
    raised has a note of the trial.
    """
    try:
        ended = outcome(Run.of(family.scenario(combination, seed)))
        if ended["errors"]:
            raise RuntimeError(f"a step was refused: {ended['errors'][0]}")
        return read_off(ended, combination, seed, family.situation(seed))
    except Exception as error:
        error.add_note(f"in the trial of {combination} with seed {seed}")
        raise


def read_off(ended: dict, combination: Combination, seed: int, situation: Situation) -> Trial:
    """The record that an outcome gives."""
    ledger, availability = ended["ledger"][QUEUE], ended["availability"][QUEUE]
    return Trial(
        **asdict(combination),
        seed=seed,
        **asdict(situation),
        published=ledger["published"],
        confirmed=size(ledger["confirmed"]),
        lost=size(ledger["lost"]),
        lost_confirmed=ledger["lost_confirmed"],
        refused=size(ledger["refused"]),
        redelivered=size(ended["queues"][QUEUE]["redelivered"]),
        promotions=availability["promotions"],
        unsynchronised_promotions=availability["unsynchronised_promotions"],
        publish_down_s=availability["publish_down_s"],
        sync_blocked_s=availability["sync_blocked_s"],
        bytes_replicated=availability["bytes_replicated"],
        time_s=ended["time_s"],
    )


def size(ids: list[list[int]]) -> int:
    """How many messages there are in an outcome's runs."""
    return sum(last - first + 1 for first, last in ids)


def numbered(family: Family, numbers: list[int]) -> Iterator[Trial]:
    """The trials of these numbers: trial n is combination n modulo 16 with seed n // 16."""
    for number in numbers:
        seed, combination = divmod(number, len(COMBINATIONS))
        yield play(family, COMBINATIONS[combination], seed)
