"""What queues are asked: by clients, and of quorum queues by their leaders; it may wait, and a quorum queue logs it.

Plain values without behaviour; `hawb.engine.advance` says who handles each.
"""

from __future__ import annotations

from msgspec import Struct

# Of clients. `node` is where the client is connected.


class Operation(Struct, frozen=True):
    """What a client asks of a queue. `connection` is None where an exclusive queue's owner is not asked for."""

    queue: str
    node: int
    connection: str | None = None


class Declare(Operation, frozen=True, kw_only=True):
    """queue.declare"""

    durable: bool = True
    exclusive: bool = False
    auto_delete: bool = False
    passive: bool = False
    arguments: tuple[tuple[str, object], ...] = ()


class Delete(Operation, frozen=True, kw_only=True):
    """queue.delete"""

    if_empty: bool = False
    if_unused: bool = False


class Purge(Operation, frozen=True, kw_only=True):
    """queue.purge"""


class Bind(Operation, frozen=True, kw_only=True):
    """exchange.declare of a durable direct exchange, and queue.bind to it"""

    exchange: str
    routing_key: str


class Messages(Operation, frozen=True, kw_only=True):
    """`count` messages on their way to a queue, where consumers make `more_room` while they come. What they died of
    before and their routing keys are a dead letter's (`state.Batch`). `copied` are queues whose mirrors had them before
    one of these became master."""

    count: int
    size_bytes: int
    persistent: bool
    more_room: int = 0
    priority: int | None = None
    deaths: tuple[tuple[str, str], ...] = ()
    routing_keys: tuple[str, ...] = ()
    copied: tuple[str, ...] = ()


class DeadLetters(Messages, frozen=True, kw_only=True):
    """Messages that another queue, whose master is at `node`, has given up; `flowing` where steady clients have brought
    it to that."""

    flowing: bool = False


class Publish(Messages, frozen=True, kw_only=True):
    """basic.publish of `count` messages, each routed to all of `queues` (`queue` is the first of them). `confirm` asks
    for an answer, and `transaction` for one answer to all, tx.commit-ok or the end of the channel. `struck` is one of
    `queues` whose master died with the messages in its mailbox, `kept_by` are its mirrors that have them all the
    same, `hollow_at` is where their group has a member whose process has ended, and `ended` is whether the last of them
    ended by itself. While they wait for a queue that nobody serves, `lacked_by` are mirrors that joined later.
    `publisher` is the steady publisher whose they are, and `orphaned` is whether their channel is gone."""

    queues: tuple[str, ...]
    confirm: bool
    transaction: bool = False
    struck: str | None = None
    kept_by: tuple[int, ...] = ()
    hollow_at: tuple[int, ...] = ()
    ended: bool = False
    lacked_by: tuple[int, ...] = ()
    publisher: str | None = None
    orphaned: bool = False

    @property
    def mode(self) -> tuple[bool, bool]:
        """Whether its channel confirms and whether it has transactions."""
        return self.confirm, self.transaction


class Consume(Operation, frozen=True, kw_only=True):
    """basic.consume; with a `rate` the client answers for, or takes, so many messages a second."""

    consumer: str
    rate: float | None = None
    prefetch: int = 0
    global_prefetch: bool = False
    automatic: bool = False
    exclusive: bool = False
    priority: int = 0
    cancel_on_ha_failover: bool = False
    cancel_notify: bool = True


class Resume(Operation, frozen=True, kw_only=True):
    """A channel registers a consumer again after its queue's master went away."""

    consumer: str
    subscription: int


class Get(Operation, frozen=True, kw_only=True):
    """basic.get of up to `count` messages; a `holder` keeps them, without one they are acknowledged at once."""

    count: int
    holder: str | None


class InVain(Operation, frozen=True, kw_only=True):
    """A get of `count` messages, or a consumer that takes so many, of a client that has given up meanwhile."""

    count: int


class Enqueue(Messages, frozen=True, kw_only=True):
    """Messages, numbered already, for a quorum queue. Without a connection nobody waits for an answer; otherwise `mode`
    is whether the channel confirms and whether it has transactions."""

    numbers: tuple[tuple[int, int], ...]
    mode: tuple[bool, bool] = (False, False)


NO_PROCESS = "no_process"
"""Why a channel counts as gone of which a leader finds no process."""
NODE_DOWN = "node_down"
"""Why one is gone with its node."""


class ChannelDown(Operation, frozen=True, kw_only=True):
    """A quorum queue's leader has noticed that a consumer's channel is gone, and why."""

    consumer: str
    reason: str


class Settle(Operation, frozen=True, kw_only=True):
    """basic.ack, basic.nack or basic.reject of a consumer's oldest deliveries (`count` None: all). `unheard` was one
    that waited for a master that is gone."""

    consumer: str
    count: int | None
    verdict: str
    unheard: bool = False


# Of a quorum queue's leader


class AdoptPolicy(Struct, frozen=True):
    """A quorum queue's leader has heard that the queue's policy is another."""

    queue: str
    node: int = -1


class NodeSuspected(Struct, frozen=True):
    """A quorum queue's leader has lost sight of `node`, where consumers are."""

    queue: str
    node: int


class NodeReached(Struct, frozen=True):
    """A quorum queue's leader sees `node` again."""

    queue: str
    node: int


# Of clients' channels and connections


class ConsumerCancels(Struct, frozen=True):
    """A client cancels its consumer."""

    consumer: str


class ConsumerCloses(Struct, frozen=True):
    """A client closes its consumer's channel."""

    consumer: str


class ConnectionCloses(Struct, frozen=True):
    """A client closes its connection."""

    connection: str
    node: int
    vhost: str


class ConnectionFails(Struct, frozen=True):
    """A client's connection ends with an error of one of its channels."""

    connection: str
    node: int
    vhost: str
