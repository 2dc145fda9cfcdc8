"""Draft a file of a user's own numbers (`hawb.study.numbers`) from listings of a cluster.

A study simulates one queue, so the rates and sizes come from one queue, by default the busiest. If no file has a
number, it is assumed, and its source says why; or it is left out, and a note says that the study uses its own number.
Rates of an idle cluster are left out, since they are of no use for planning.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from msgspec import Struct

from hawb.engine.core.naming import join_queue, split_queue
from hawb.exports.definitions import Definitions, Key, read_definitions
from hawb.exports.imported import split_source
from hawb.exports.listings import Listings
from hawb.exports.queue_rows import QueueFacts
from hawb.exports.untrusted import ImportRefused, named, quoted
from hawb.scenario.dump import dump, plain
from hawb.study.assumed import FAILING
from hawb.study.numbers import Numbers, read_numbers

CAPACITY = 4
"""The assumed capacity of consumers, as a multiple of the publish rate, as in `hawb.study.replicas`."""
PUBLISHED, DELIVERED = "publish_details", ("deliver_get_details", "ack_details")
PLAYED = ("classic", "quorum")
MOST_BYTES = 2**40
MOST_NAMES, LONGEST_NAME = 10, 100
DIGITS = 3
"""The significant digits of the mean time of an fsync."""

PRICES = """\
## To compute the price of a year, remove the first # from the lines below:
#  prices: "assumed: our costs of a node, an hour and a message"
#prices:
#  currency: EUR
#  node_month: 150       # a node of the cluster
#  downtime_hour: 500    # an hour in which clients cannot publish
#  lost_message: 0.01    # a confirmed message that is lost
#  replicated_gb: 0.02   # 10**9 bytes sent from replica to replica
"""
"""The end of a file, after its part `sources`."""

Fact = TypeVar("Fact")


class Begun(Struct, frozen=True):
    """A draft: the numbers, and a note on each number that the files do not have."""

    numbers: Numbers
    notes: list[str]

    @property
    def text(self) -> str:
        """Return the text of the file. Reading it gives the same numbers."""
        return dump(self.numbers) + PRICES


def begin(definitions: str | Path, listings: Sequence[str | Path] = (), queue: str | None = None) -> Begun:
    """Return the numbers of a cluster from its definitions export and listings, each FILE or VHOST=FILE.

    `queue`, VHOST::NAME, is the queue whose numbers are taken. Raise ImportRefused.
    """
    file, vhost = split_source(definitions)
    defined = read_definitions(file, vhost)
    read = []
    for source in listings:
        listing, vhost = split_source(source)
        read.append((listing.name, Listings(defined)))
        read[-1][1].read(listing, vhost)
    cluster = _Cluster(read)
    key = cluster.busiest(defined) if queue is None else split_queue(queue)
    if queue is not None and key not in cluster.queues:
        known = named((join_queue(*one) for one in cluster.queues), MOST_NAMES)
        raise ImportRefused(file, "the queue", quoted(queue), f"a queue in the listings: {known or 'there is none'}")
    if key is not None:
        cluster.add_traffic(key)
    else:
        cluster.notes.append("no listing has a queue: the study's traffic is used")
    cluster.add_settings()
    title = f"the cluster of {', '.join(name for name, _ in read) or file.name}"
    return Begun(read_numbers({"numbers": title, **cluster.given}), cluster.notes)


class _Cluster:
    """The listings of a cluster with the names of their files, and the values and sources taken from them."""

    def __init__(self, listings: Sequence[tuple[str, Listings]]) -> None:
        self.listings = listings
        self.queues = sorted({key for _, one in listings for key in one.queues})
        self.given: dict[str, Any] = {"design": {}, "environment": {}, "sources": {}}
        self.notes: list[str] = []

    def last(self, of: Callable[[Listings], Fact | None]) -> tuple[Fact, str] | None:
        """Return (fact, file) of the last listing that has a fact; None if none has."""
        facts = ((of(one), file) for file, one in reversed(self.listings))
        return next((fact for fact in facts if fact[0] is not None), None)

    def of_queue(self, key: Key, of: Callable[[QueueFacts], Fact | None]) -> tuple[Fact, str] | None:
        """Return (fact, file) of the last listing that has a fact about a queue; None if none has."""
        return self.last(lambda one: of(one.queues[key]) if key in one.queues else None)

    def rate(self, key: Key, counter: str) -> tuple[float, str] | None:
        """Return (messages a second, file) by one of a queue's counters."""
        return self.of_queue(key, lambda facts: (facts.per_s or {}).get(counter))

    def busiest(self, defined: Definitions) -> Key | None:
        """Return the queue with the highest publish rate, of several the deepest; None if a study can play none."""

        def is_played(key: Key) -> bool:
            kind = self.of_queue(key, lambda facts: facts.type) or (getattr(defined.queues.get(key), "type", None), "")
            exclusive = self.of_queue(key, lambda facts: facts.exclusive)
            return (kind[0] or PLAYED[0]) in PLAYED and not (exclusive and exclusive[0])

        def work(key: Key) -> tuple[float, int]:
            rate, depth = self.rate(key, PUBLISHED), self.of_queue(key, lambda facts: facts.messages)
            return (rate[0] if rate else 0.0), (depth[0] if depth else 0)

        return max(filter(is_played, self.queues), key=work, default=None)

    def add(self, path: str, value: Any, source: str) -> None:
        """Add a value, under its path in the file, and its source."""
        *parts, name = path.split(".")
        inside = self.given
        for part in parts:
            inside = inside.setdefault(part, {})
        inside[name] = value
        self.given["sources"][path] = source

    def add_traffic(self, key: Key) -> None:
        """Add rates and message size of a queue, as far as listings have them."""
        name = join_queue(*key)
        name = name if name.isprintable() and len(name) <= LONGEST_NAME else quoted(name)
        published = self.rate(key, PUBLISHED)
        if published and published[0] > 0:
            self._add_rates(key, name, *published)
        else:
            why = f"nothing is published in {published[1]}" if published else "no listing has publish rates"
            self.notes.append(f"{name}: {why}, the study's publish_per_s and consume_per_s are used")
        if size := self.of_queue(key, _size_bytes):
            source = f"measured: {size[1]}, message_bytes / messages of {name}"
            self.add("environment.traffic.message_size_bytes", size[0], source)
        else:
            self.notes.append(f"{name}: no listing has the size of its messages; the study's message_size_bytes is"
                              " used")

    def _add_rates(self, key: Key, name: str, publish_per_s: float, file: str) -> None:
        source = f"measured: {file}, message_stats.{PUBLISHED}.rate of {name}"
        self.add("environment.traffic.publish_per_s", publish_per_s, source)
        rates = [(*rate, counter) for counter in DELIVERED if (rate := self.rate(key, counter))]
        delivered_per_s, file, counter = max(rates, default=(0.0, "", ""))
        consume_per_s, rate = CAPACITY * publish_per_s, f"message_stats.{counter}.rate"
        source = f"assumed: {CAPACITY} times the publish rate, because no listing says how fast consumers can consume"
        if delivered_per_s >= consume_per_s:
            consume_per_s = delivered_per_s
            source = f"measured: {file}, {rate} of {name}: its consumers can consume at least this much"
        elif delivered_per_s:
            source += f"; they took {delivered_per_s:g} a second ({file}, {rate})"
        self.add("environment.traffic.consume_per_s", consume_per_s, source)

    def add_settings(self) -> None:
        """Add numbers that are not of one queue: assumed failures, and figures of the nodes."""
        failing = {part: plain(getattr(FAILING, part)) for part in ("every", "repair")}
        source = "assumed: a node fails once a month and is back within an hour; the cluster's logs show the real rate"
        self.add("environment.node_failures", failing, source)
        if fsync := self.last(lambda one: one.fsync_ms):
            fsync_s = float(f"{fsync[0] / 1000:.{DIGITS}g}")
            source = f"measured: {fsync[1]}, io_sync_avg_time of the slowest node"
            self.add("environment.timing.fsync_s", fsync_s, source)
        if ticktime := self.last(lambda one: one.net_ticktime):
            self.add("design.net_ticktime", ticktime[0], f"measured: {ticktime[1]}, net_ticktime")
        if nodes := self.last(lambda one: len(one.nodes) or None):
            self.notes.append(f"{nodes[0]} nodes by {nodes[1]}: each design of the study sets its own number")


def _size_bytes(facts: QueueFacts) -> int | None:
    """Return the mean size of a queue's messages in bytes; None if unknown."""
    if not facts.messages or facts.message_bytes is None:
        return None
    size_bytes = round(facts.message_bytes / facts.messages)
    return size_bytes if size_bytes <= MOST_BYTES else None
