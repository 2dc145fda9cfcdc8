"""The settings of the queues of wide stories: rows of a covering array, in which every triple of values occurs.

A row has a value of each factor, and the plot is one of them. So the rows of a plot hold every pair of settings that is
possible in it, and those of all plots every triple: one array makes one story for each plot, and is covered by as many
consecutive stories of a seed as there are plots (`hawb.conformance.wide_stories`). With mirroring that takes about 520
rows, 47 to 60 for each of ten plots, without it about 340; each further round of a seed has an array of its own. Rounds
take turns (`ROUNDS`): one varies the mirroring of queues, the other their own timers and their consumers' answers.

covertable makes the array: pure Python, constraints given as data, and the same rows on any machine, for it sorts by a
hash (FNV-1a) of the salt and draws nothing. allpairspy stops at pairs, testflows.combinatorics has no constraints, and
coverwise is a program for a few machines. covertable takes seconds, so arrays are cached.

Left out (`ONLY`), beside combinations that RabbitMQ refuses:

* Replicas on all nodes but one where a master comes back without mirrors, for those that were behind stopped with it:
  the node that gets one then is random.
* Declaring a queue again while its node is down and no mirror took over: operations on a queue that is down take a
  minute each.
* Declaring a quorum queue again while a node is down that is then forced to boot with the former one: members of both
  would meet.
* A limit where messages expire: the room in the queue would depend on how soon the next node publishes.
* At-least-once dead letters whose target's node goes down: they are sent again after three minutes.
* Limits with reject-publish on quorum queues: publishers get the notice at a random time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache, partial
from typing import Any, NamedTuple

from covertable import make

from hawb.conformance.wide_plots import FEW_LEFT, PLOTS
from hawb.engine.core import randomness
from hawb.rules.profiles import PROFILES
from hawb.rules.quorum_profiles import QUORUM_PROFILES

Row = dict[str, str]
"""A value of each factor."""
Values = Mapping[str, Iterable[str]]

STRENGTH = 3
SALTS = 55
"""The purpose of the draws that make one array differ from another."""

UNSET = "unset"
CLASSIC = ("none",)
MIRRORED = ("all", "exactly 1", "exactly all but one", "exactly all", "nodes")
QUORUM = ("quorum of 1", "quorum of 2", "quorum of 3", "quorum of all")
REPLICATED = tuple(value for value in MIRRORED if value != "exactly 1")

FACTORS: dict[str, tuple[str, ...]] = {
    "plot": tuple(PLOTS),
    "replicas": (*CLASSIC, *MIRRORED, *QUORUM),
    "ha-promote-on-failure": (UNSET, "always", "when-synced"),
    "ha-promote-on-shutdown": (UNSET, "always", "when-synced"),
    "ha-sync-mode": ("manual", "automatic"),
    "mirrors": ("synchronised", "behind"),
    "queue": ("durable", "transient"),
    "messages": ("persistent", "transient"),
    "master": ("goes", "another"),
    "meanwhile": ("nothing", "policy changed", "policy cleared", "declared again"),
    "argument": (
        "none", "x-max-length", "x-message-ttl", "reject-publish", "x-single-active-consumer", "x-delivery-limit",
        "x-max-priority",
    ),
    "consumer": ("none", "one"),
}  # fmt: skip
"""The settings of a queue of a wide story, with their values.

`master` says whether its first master or leader is on the node that goes down first; `mirrors` whether they are
synchronised then; `meanwhile` is the step taken while that node is down.
"""


EXPIRING = ("expires", "expires to another queue", "expires to another queue at least once")
"""The values with which a queue's messages expire during the story."""
ON_THEIR_OWN: dict[str, tuple[str, ...]] = FACTORS | {
    "replicas": (*CLASSIC, "all", "nodes", "quorum of 3", "quorum of all"),
    "meanwhile": ("nothing", "policy changed", "policy cleared"),
    "argument": (
        "none", *EXPIRING, "drops to another queue", "rejects to another queue", "returns to another queue",
        "x-single-active-consumer", "x-max-priority",
    ),
    "consumer": ("none", "one", "two", "acknowledges", "gives back", "rejects"),
}  # fmt: skip
"""The settings of queues with timers of their own, or whose consumers answer."""
ROUNDS = (FACTORS, ON_THEIR_OWN)
"""The factors of a seed's rounds, one after the other."""


LEAVING = tuple(plot for plot in PLOTS if plot not in FEW_LEFT)


class Only(NamedTuple):
    """If a row has `given`, it is only possible with `then`."""

    given: Values
    then: Values


NO_MIRRORING: Values = {
    "ha-promote-on-failure": (UNSET,), "ha-promote-on-shutdown": (UNSET,), "ha-sync-mode": ("manual",),
    "mirrors": ("synchronised",),
}  # fmt: skip
ONLY: tuple[Only, ...] = (
    Only({"replicas": CLASSIC}, NO_MIRRORING),
    Only(
        {"replicas": QUORUM},
        {**NO_MIRRORING, "queue": ("durable",),
         "argument": ("none", "x-max-length", "x-single-active-consumer", "x-delivery-limit", *EXPIRING,
                      "drops to another queue", "rejects to another queue", "returns to another queue")},
    ),
    Only({"replicas": ("exactly 1",)}, {"mirrors": ("synchronised",)}),
    Only({"ha-sync-mode": ("automatic",)}, {"mirrors": ("synchronised",)}),
    Only(
        {"argument": ("x-delivery-limit", "returns to another queue", "expires to another queue at least once")},
        {"replicas": QUORUM},
    ),
    Only(
        {"meanwhile": ("declared again",), "master": ("goes",)},
        {"replicas": (*REPLICATED, "quorum of 3", "quorum of all"), "mirrors": ("synchronised",)},
    ),
    Only({"argument": EXPIRING}, {"meanwhile": ("nothing", "policy cleared", "declared again")}),
    Only({"argument": ("expires to another queue at least once",)}, {"plot": ("stopped", "killed", "rewritten")}),
    Only({"plot": ("forced",), "replicas": QUORUM}, {"meanwhile": ("nothing", "policy changed", "policy cleared")}),
    Only({"replicas": ("exactly all but one",)}, {"plot": LEAVING, "mirrors": ("synchronised",)}),
)  # fmt: skip


def factors_of(version: str, deal: int = 0) -> dict[str, tuple[str, ...]]:
    """Return the settings of a round and their values to combine. Without mirroring no queue is mirrored."""
    factors = ROUNDS[deal % len(ROUNDS)]
    if PROFILES[version].mirroring:
        return factors
    fixed = {name: tuple(values) for name, values in NO_MIRRORING.items()}
    replicas = tuple(value for value in factors["replicas"] if value not in MIRRORED)
    return factors | fixed | {"replicas": replicas}


def only_of(version: str) -> tuple[Only, ...]:
    """Return the constraints on rows in a release. In some releases messages of quorum queues do not expire."""
    expire = "message-ttl" in dict(QUORUM_PROFILES[version].settings)
    return ONLY if expire else (*ONLY, Only({"argument": EXPIRING}, {"replicas": (*CLASSIC, *MIRRORED)}))


def possible(row: Row, version: str) -> bool:
    """Return True if no constraint excludes a row."""
    return all(within(row, only.then) for only in only_of(version) if within(row, only.given))


def within(row: Row, values: Values) -> bool:
    """Return True if a row has one of the values of each of some factors."""
    return all(row[factor] in allowed for factor, allowed in values.items())


@lru_cache(maxsize=8)
def rows(seed: int, deal: int, version: str) -> tuple[Row, ...]:
    """Return the covering array of settings that a seed gives for its round number `deal`."""
    salt = str(randomness.draw(seed, SALTS, deal, 0))
    return tuple(
        make(
            factors_of(version, deal),
            strength=STRENGTH,
            salt=salt,
            constraints=[condition for only in only_of(version) for condition in conditions(only)],
        )
    )


def conditions(only: Only) -> Iterator[dict[str, Any]]:
    """Yield a constraint in covertable's form.

    It is one condition for each factor of `then`, which covertable evaluates sooner than one for all.
    """
    given = {factor: frozenset(values) for factor, values in only.given.items()}
    for factor, values in only.then.items():
        held = partial(holds, given=given, factor=factor, values=frozenset(values))
        yield {"operator": "fn", "requires": [*given, factor], "evaluate": held}


def holds(row: Row, given: Values, factor: str, values: frozenset[str]) -> bool:
    """Return True if a row has one of the values of a factor, or is not one of the given."""
    return row[factor] in values or not within(row, given)
