"""Operations on queues, by clients and by quorum queues' leaders; they may wait, and a quorum queue logs them.

Plain values without behaviour; `hawb.engine.advance` has the handler of each.
"""

from __future__ import annotations

from msgspec import Struct

# Of clients. `node` is where the client is connected.


class Operation(Struct, frozen=True):
    """A client's operation on a queue. `connection` is None where it does not matter who owns an exclusive queue."""

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
    """`count` messages on their way to a queue, where consumers make `more_room` while they come. Dead letters have
    earlier deaths and routing keys (`state.Batch`). `copied` are queues whose mirrors had the messages before one of
    these mirrors became master."""

    count: int
    size_bytes: int
    persistent: bool
    more_room: int = 0
    priority: int | None = None
    deaths: tuple[tuple[str, str], ...] = ()
    routing_keys: tuple[str, ...] = ()
    copied: tuple[str, ...] = ()


class DeadLetters(Messages, frozen=True, kw_only=True):
    """Messages that another queue, whose master is at `node`, has given up; `flowing` where clients with a rate caused
    that."""

    flowing: bool = False


class Publish(Messages, frozen=True, kw_only=True):
    """basic.publish of `count` messages, each routed to all of `queues` (`queue` is the first of them). `confirm` asks
    for an answer, and `transaction` for one answer to all, tx.commit-ok or the end of the channel. `struck` is one of
    `queues` whose master died with the messages in its mailbox, `kept_by` are its mirrors that have them all the same,
    `hollow_at` is where their group has a member whose process has ended, and `ended` is whether the last of these
    mirrors ended by itself. While the messages wait for a queue that nobody serves, `lacked_by` are mirrors that joined
    later. `publisher` is the steady publisher that sent them, and `orphaned` is whether their channel is gone."""

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
    """A get of `count` messages, or a subscription that takes so many, of a client that has given up meanwhile."""

    count: int


class Enqueue(Messages, frozen=True, kw_only=True):
    """Messages, numbered already, for a quorum queue. Without a connection nobody waits for an answer; otherwise `mode`
    is whether the channel confirms and whether it has transactions."""

    numbers: tuple[tuple[int, int], ...]
    mode: tuple[bool, bool] = (False, False)


NO_PROCESS = "no_process"
"""Why a channel counts as gone: the leader finds no process of it."""
NODE_DOWN = "node_down"
"""Why a channel counts as gone: its node is."""
TIMED_OUT = "timed_out"
"""Why a channel is gone: it had not answered in time, and its client does not know basic.cancel."""


class ChannelDown(Operation, frozen=True, kw_only=True):
    """A quorum queue's leader has noticed that a consumer's channel is gone, and why."""

    consumer: str
    reason: str


class Settle(Operation, frozen=True, kw_only=True):
    """basic.ack, basic.nack or basic.reject of a consumer's oldest deliveries (`count` None: all). An `unheard` one has
    waited for a master that is gone."""

    consumer: str
    count: int | None
    verdict: str
    unheard: bool = False


# Of a quorum queue's leader


class AdoptPolicy(Struct, frozen=True):
    """A quorum queue's leader has heard that the queue's policy has changed."""

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


class TimeOut(Struct, frozen=True):
    """A quorum queue's leader has found that the time of deliveries is over."""

    queue: str


class Retry(Struct, frozen=True):
    """A quorum queue's leader has found that messages have waited long enough to be delivered again."""

    queue: str


class HoldEnded(Struct, frozen=True):
    """A quorum queue takes back what a consumer holds that its leader has lost sight of long ago."""

    queue: str
    consumer: str


# Of clients' channels and connections


class ConsumerCancels(Struct, frozen=True):
    """A client cancels its consumer."""

    consumer: str


class ConsumerCloses(Struct, frozen=True):
    """A client closes its consumer's channel, or an error does."""

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
