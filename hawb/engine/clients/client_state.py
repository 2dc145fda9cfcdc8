"""Clients as the cluster knows them: consumers and the messages they hold, publishers and the confirms they wait for.

Values as in `hawb.engine.core.state`. A client with a rate has a `Clock` (`hawb.engine.clients.steady.flows`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct

from hawb.engine.core.runs import EMPTY, Runs, run, size, union, within
from hawb.engine.core.versions import Open, Version

NEVER_US = 1 << 62
"""The time of an answer that never arrives."""
ORPHANED_GM_US = NEVER_US + 1
"""The time of the answer of an orphaned gm process, for which no channel waits."""


class Clock(Struct, frozen=True):
    """The ticks of a client with a rate: `per_ticks` ticks in `per_us` microseconds, from `start_us` on."""

    start_us: int
    per_ticks: int
    per_us: int


HOLDS_NOTHING = dict.fromkeys(("held", "stale", "places", "settled_early", "uncredited", "deliveries"), EMPTY)
"""Fields of a consumer whose channel is gone, so that it holds nothing."""


class Consumer(Struct, frozen=True):
    """A client's subscription, by its number, or the named holder of messages that were fetched one by one (0).

    `held` are the messages whose acknowledgement the queue waits for; `stale` are those that the client still believes
    it holds from masters that are gone, in the order of delivery. Its answers for these are dropped, or from 3.9 on
    settle whatever message has the same place at the present master: that message is then in `settled_early` of the
    consumer to which it was delivered, which will answer for it once more, and if another consumer has settled it also
    in `uncredited`, where it counts as held until then. `places` are those of stale messages, one for one, where they
    cannot be derived from the numbers (`hawb.engine.classic.places`). `deliveries` are the messages held or settled
    early, in the order of delivery, where that is not the order of their numbers (others may still stand among them).
    `carried` is the number of messages it held when it subscribed, from an earlier subscription or fetched; `blocked`
    is True if the queue found it without credit at its turn.

    A consumer with a rate answers for a message, or with automatic acknowledgement takes one, at each tick of its
    `clock`, of which `ticks` are over. `timeout_ms` is the time within which it has to answer for a delivery if its
    queue checks that, None if it does not. If its channel checks it, `sent` are the times of its deliveries, each with
    the number sent then, including those that it has answered for since the last delivery; the channel's ticks count
    from `ticks_from_us`.
    """

    name: str
    queue: str
    node: int
    connection: str
    subscription: int = 0
    prefetch: int = 0
    global_prefetch: bool = False
    automatic: bool = False
    exclusive: bool = False
    priority: int = 0
    cancel_on_ha_failover: bool = False
    cancel_notify: bool = True
    state: str = "active"
    held: Runs = EMPTY
    stale: Runs = EMPTY
    places: Runs = EMPTY
    settled_early: Runs = EMPTY
    uncredited: Runs = EMPTY
    carried: int = 0
    blocked: bool = False
    received: Runs = EMPTY
    cancel_notified: bool = False
    clock: Clock | None = None
    ticks: int = 0
    deliveries: Runs = EMPTY
    timeout_ms: int | None = None
    sent: tuple[tuple[int, int], ...] = ()
    ticks_from_us: int = 0

    @property
    def in_sequence(self) -> Runs:
        """Return the present master's deliveries that the client believes it holds, in their order."""
        believed = union(self.held, self.settled_early)
        return within(self.deliveries, believed) if self.deliveries else believed

    @property
    def capacity(self) -> int | None:
        """Return how many more messages the consumer takes; None for no limit. Only messages to be acknowledged count.

        The queue keeps a consumer's own prefetch as its credit: full when it subscribes, one less with each delivery
        and one more with each answer. The channel keeps a global prefetch (`rabbit_limiter`): it counts all messages
        that the client has not answered, also those that a former master delivered. A client with a rate that
        acknowledges automatically has credit only at its ticks.
        """
        if self.automatic and self.clock is not None:
            return 0
        if self.prefetch == 0 or self.automatic:
            return None
        counted = size(self.held) + size(self.uncredited) - self.carried
        return max(0, self.prefetch - (self.unanswered if self.global_prefetch else counted))

    @property
    def unanswered(self) -> int:
        """Return the number of deliveries that its client believes it has to answer for."""
        return size(self.stale) + size(self.in_sequence)


Keys = tuple[tuple[str, ...], ...]
RATED = ("rate",)
"""The key of the consumers with a rate."""


def keys_of(consumer: Consumer | None) -> Keys:
    """Return the keys under which `Consumers` finds a consumer; none for None."""
    if consumer is None:
        return ()
    keys = ("queue", consumer.queue), ("connection", consumer.connection)
    return keys if consumer.clock is None else (*keys, RATED)


class Consumers(Open[str, Consumer]):
    """Many consumers, indexed by queue, by connection, and by whether they have a rate.

    `found_by` has, under `("queue", queue)`, `("connection", connection)` and `RATED`, consumers in the order of the
    map.
    """

    __slots__ = ("found_by",)

    def __init__(self, entries: Mapping[str, Consumer]):
        super().__init__(entries)
        self.found_by: dict[tuple[str, ...], dict[str, Consumer]] = {}
        for consumer in entries.values():
            self._find_by(keys_of(consumer), consumer)

    def __setitem__(self, name: str, consumer: Consumer) -> None:
        keys, known = keys_of(consumer), keys_of(self.get(name))
        self._forget(name, [key for key in known if key not in keys])
        super().__setitem__(name, consumer)
        self._find_by(keys, consumer)
        for key in keys if known else ():
            if key not in known:  # it is last there, but not in the map
                self.found_by[key] = {one: self[one] for one in sorted(self.found_by[key], key=self.places.__getitem__)}

    def __delitem__(self, name: str) -> None:
        self._forget(name, keys_of(self[name]))
        super().__delitem__(name)

    def under(self, *key: str) -> list[Consumer]:
        """Return the consumers under a key, in the order of the map."""
        return list(self.found_by.get(key, {}).values())

    def _find_by(self, keys: Keys, consumer: Consumer) -> None:
        for key in keys:
            self.found_by.setdefault(key, {})[consumer.name] = consumer

    def _forget(self, name: str, keys: Iterable[tuple[str, ...]]) -> None:
        for key in keys:
            del self.found_by[key][name]
            if not self.found_by[key]:
                del self.found_by[key]


def index_of(consumers: Mapping[str, Consumer]) -> Consumers | None:
    """Return the index of a large map of consumers, of a turn or a moment; None for a small map."""
    entries = consumers.entries() if isinstance(consumers, Version) else consumers
    return entries if isinstance(entries, Consumers) else None


def consumers_of(consumers: Mapping[str, Consumer], queue: str) -> list[Consumer]:
    """Return the consumers of a queue and the clients that hold messages of it, in the order of the map."""
    if (index := index_of(consumers)) is not None:
        return index.under("queue", queue)
    return [one for one in consumers.values() if one.queue == queue]


def consumers_over(consumers: Mapping[str, Consumer], connection: str) -> list[Consumer]:
    """Return the consumers over the connections of that name, in the order of the map."""
    if (index := index_of(consumers)) is not None:
        return index.under("connection", connection)
    return [one for one in consumers.values() if one.connection == connection]


def rated(consumers: Mapping[str, Consumer]) -> list[Consumer]:
    """Return the consumers with a rate, in the order of the map."""
    if (index := index_of(consumers)) is not None:
        return index.under(*RATED)
    return [one for one in consumers.values() if one.clock is not None]


class Unconfirmed(Struct, frozen=True):
    """Messages whose confirm a channel waits for: one `Share` for each queue they were routed to.

    `transaction` is True if tx.commit waits for them, `step` is the step that published them, `publisher` the steady
    publisher that did.
    """

    number: int
    node: int
    shares: tuple[Share, ...]
    transaction: bool = False
    step: int = -1
    publisher: str | None = None


class Share(Struct, frozen=True):
    """One queue's part of an `Unconfirmed`.

    It has the message numbers, the replicas still asked and when each will have answered (`due_us`), and whether a
    replica has. Messages that the master does not take are `rejected`.
    """

    queue: str
    numbers: Runs
    due_us: tuple[tuple[int, int], ...]
    answered: bool = False
    rejected: Runs = EMPTY


class Unanswered(Struct, frozen=True):
    """Messages of a steady publisher, one at each tick of its `clock` from `tick` on, numbered from `number` on.

    `delays_us` are the replicas still asked, each with the time from a message's tick to its answer; `answered` is True
    if a replica has answered.
    """

    clock: Clock
    tick: int
    number: int
    count: int
    delays_us: tuple[tuple[int, int], ...]
    answered: bool = False

    @property
    def numbers(self) -> Runs:
        """Return the messages' numbers."""
        return run(self.number, self.count)


class Publisher(Struct):
    """A client that publishes a message at each tick of its `clock`, connected to `node`.

    Only a turn changes it, in a copy. `ticks` counts the ticks at which it has sent. `published` and `confirmed` count
    the messages of all publishers that had its name. `blocked_since_us` is the time since when its next message waits,
    `blocked_us` the time for which earlier messages waited. `step` is the step that started it.
    """

    name: str
    queue: str
    node: int
    clock: Clock
    size_bytes: int
    persistent: bool
    mode: str
    step: int
    closed: bool = False
    ticks: int = 0
    published: int = 0
    confirmed: int = 0
    blocked_since_us: int | None = None
    blocked_us: int = 0
    unanswered: tuple[Unanswered, ...] = ()

    @property
    def blocked(self) -> bool:
        """Return True if flow control or an alarm blocks it."""
        return self.blocked_since_us is not None
