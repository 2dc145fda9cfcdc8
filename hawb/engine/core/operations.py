"""Operations on queues, by clients and by leaders of quorum queues. They may wait, and a quorum queue logs them.

They are plain values. The table `hawb.engine.advance.HANDLERS` names the function that handles each.
"""

from __future__ import annotations

from msgspec import Struct

# Of clients. `node` is where the client is connected.


class Operation(Struct, frozen=True):
    """A client's operation on a queue, over a connection to `node`.

    `connection` is None where the owner of an exclusive queue does not matter.
    """

    queue: str
    node: int
    connection: str | None = None


class Declare(Operation, frozen=True, kw_only=True):
    """queue.declare."""

    durable: bool = True
    exclusive: bool = False
    auto_delete: bool = False
    passive: bool = False
    arguments: tuple[tuple[str, object], ...] = ()


class Delete(Operation, frozen=True, kw_only=True):
    """queue.delete."""

    if_empty: bool = False
    if_unused: bool = False


class Purge(Operation, frozen=True, kw_only=True):
    """queue.purge."""


class Bind(Operation, frozen=True, kw_only=True):
    """exchange.declare of a durable direct exchange, and queue.bind to it."""

    exchange: str
    routing_key: str


class Messages(Operation, frozen=True, kw_only=True):
    """`count` messages on their way to a queue.

    While they arrive, consumers make room for `more_room` more. Dead letters have earlier `deaths` and routing keys
    (`hawb.engine.core.state.Batch`). `copied` are queues whose mirrors had the messages before one of them became
    master.
    """

    count: int
    size_bytes: int
    persistent: bool
    more_room: int = 0
    priority: int | None = None
    deaths: tuple[tuple[str, str], ...] = ()
    routing_keys: tuple[str, ...] = ()
    copied: tuple[str, ...] = ()


class DeadLetters(Messages, frozen=True, kw_only=True):
    """Dead letters of another queue, whose master is at `node`.

    `flowing` is True if clients with a rate caused them, `at_least_once` if the sender waits for a confirm.
    """

    flowing: bool = False
    at_least_once: bool = False


class Publish(Messages, frozen=True, kw_only=True):
    """basic.publish of `count` messages, each routed to all of `queues`, of which `queue` is the first."""

    queues: tuple[str, ...]
    confirm: bool
    """True if the publisher wants a confirm."""
    transaction: bool = False
    """True if the publisher wants one answer for all messages: tx.commit-ok, or the end of the channel."""
    lost_with_master: str | None = None
    """The one of `queues` whose master died with the messages in its mailbox."""
    kept_by: tuple[int, ...] = ()
    """The mirrors of that queue that have the messages."""
    orphaned_gm_at: tuple[int, ...] = ()
    """The node of that queue's orphaned gm process (`hawb.engine.core.state.Queue`)."""
    ended: bool = False
    """True if the last of `kept_by` ended by itself."""
    lacked_by: tuple[int, ...] = ()
    """Mirrors that joined while the messages waited for a queue without a master."""
    publisher: str | None = None
    """The publisher with a rate that sent them."""
    without_channel: bool = False
    """True if the channel is gone."""

    @property
    def mode(self) -> tuple[bool, bool]:
        """Return whether the channel confirms and whether it has transactions."""
        return self.confirm, self.transaction


class Consume(Operation, frozen=True, kw_only=True):
    """basic.consume. A client with a `rate` acknowledges, or takes, so many messages a second."""

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
    """A channel registers a consumer again after its queue's master has gone."""

    consumer: str
    subscription: int


class Get(Operation, frozen=True, kw_only=True):
    """basic.get of up to `count` messages.

    A `holder` keeps them unacknowledged; without one they are acknowledged at once.
    """

    count: int
    holder: str | None


class AbandonedRequest(Operation, frozen=True, kw_only=True):
    """A get or subscription of up to `count` messages that a quorum queue commits although its client is gone."""

    count: int


class Enqueue(Messages, frozen=True, kw_only=True):
    """Numbered messages for a quorum queue.

    Without a connection no client waits for a confirm. `mode` is whether the channel confirms and whether it has
    transactions.
    """

    numbers: tuple[tuple[int, int], ...]
    mode: tuple[bool, bool] = (False, False)


NO_PROCESS = "no_process"
"""Why a channel counts as gone: the leader finds no process."""
NODE_DOWN = "node_down"
"""Why a channel counts as gone: its node is down."""
TIMED_OUT = "timed_out"
"""Why a channel is gone: it did not acknowledge in time, and its client does not know basic.cancel."""


class ChannelDown(Operation, frozen=True, kw_only=True):
    """A quorum queue's leader has noticed that a consumer's channel is gone, for `reason`."""

    consumer: str
    reason: str


class Settle(Operation, frozen=True, kw_only=True):
    """basic.ack, basic.nack or basic.reject of a consumer's oldest deliveries (`count` None: of all).

    `unheard` is True if the operation has waited for a master that is gone.
    """

    consumer: str
    count: int | None
    verdict: str
    unheard: bool = False


# Of a quorum queue's leader


class AdoptPolicy(Struct, frozen=True):
    """A quorum queue's leader has learned that the queue's policy has changed."""

    queue: str
    node: int = -1


class NodeSuspected(Struct, frozen=True):
    """A quorum queue's leader does not reach `node`, where consumers are."""

    queue: str
    node: int


class NodeReached(Struct, frozen=True):
    """A quorum queue's leader reaches `node` again."""

    queue: str
    node: int


class TimeOut(Struct, frozen=True):
    """A quorum queue's leader has found deliveries that were not acknowledged in time."""

    queue: str


class Retry(Struct, frozen=True):
    """A quorum queue's leader has found that delayed messages are ready again."""

    queue: str


class HoldEnded(Struct, frozen=True):
    """A quorum queue takes back the messages of a consumer that its leader has not reached for long."""

    queue: str
    consumer: str


# Of clients' channels and connections


class ConsumerCancels(Struct, frozen=True):
    """A client cancels its consumer."""

    consumer: str


class ConsumerCloses(Struct, frozen=True):
    """A consumer's channel closes: its client closes it, or an error does."""

    consumer: str
    reason: str = "client"


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
