"""Exchanges, bindings and routing, as far as dead letters need them.

Source: `rabbit_channel` (`binding_action`, `check_not_default_exchange`), `rabbit_exchange:route`. An exchange is
declared with its first binding, durable and direct. It stays when its last binding is gone; a binding is deleted with
its queue.

Every virtual host has the default exchange, to which each queue is bound by its name and no client can bind, and some
exchanges that RabbitMQ declares itself.
"""

from __future__ import annotations

from collections.abc import Iterable

from hawb.engine.cluster import metadata
from hawb.engine.core.naming import described, join_queue, split_queue
from hawb.engine.core.operations import Bind
from hawb.engine.core.turn import Turn
from hawb.engine.queues.access import is_absent, is_locked, refuse_home_node_down, refuse_locked, refuse_reserved

DEFAULT = ""

PREDECLARED = {
    DEFAULT: "direct",
    "amq.direct": "direct",
    "amq.fanout": "fanout",
    "amq.headers": "headers",
    "amq.match": "headers",
    "amq.topic": "topic",
}
"""The exchanges that every virtual host has, and their types."""


def exists(turn: Turn, vhost: str, exchange: str) -> bool:
    """Return True if there is an exchange of that name."""
    return exchange in PREDECLARED or join_queue(vhost, exchange) in turn.exchanges


def routed(turn: Turn, vhost: str, exchange: str, routing_keys: Iterable[str]) -> list[str]:
    """Return the queues that a message with these routing keys goes to, in alphabetical order."""
    if exchange == DEFAULT:
        named = {join_queue(vhost, key) for key in routing_keys}
        return sorted(named & turn.queues.keys())
    wanted = {(exchange, key) for key in routing_keys}
    return [name for name in turn.queue_names()
            if turn.queues[name].vhost == vhost and not wanted.isdisjoint(turn.queues[name].bindings)]  # fmt: skip


def bind(turn: Turn, operation: Bind) -> None:
    """Declare an exchange and bind a queue to it (exchange.declare, queue.bind), without asking the queue's process."""
    queue = turn.queues.get(operation.queue)
    binding = (operation.exchange, operation.routing_key)
    is_new = queue is None or binding not in queue.bindings
    if not turn.is_running(operation.node) or (is_new and metadata.defer_if_blocked(turn, operation)):
        return
    if not declare(turn, operation):
        return
    if queue is None:
        turn.refuse(404, f"NOT_FOUND - no {described(operation.queue)}")
    elif is_locked(queue, operation):
        refuse_locked(turn, queue)
    elif is_absent(queue):
        refuse_home_node_down(turn, queue, operation)
    elif binding not in queue.bindings:
        turn.change_queue(queue.name, bindings=(*queue.bindings, binding))
        turn.emit("queue_bound", queue=queue.name, exchange=binding[0], routing_key=binding[1])


def declare(turn: Turn, operation: Bind) -> bool:
    """Declare a durable direct exchange, unless it exists; return False if RabbitMQ refuses."""
    exchange, (vhost, _) = operation.exchange, split_queue(operation.queue)
    kind = PREDECLARED.get(exchange)
    if exchange == DEFAULT:
        turn.refuse(403, "ACCESS_REFUSED - operation not permitted on the default exchange")
    elif kind not in (None, "direct"):
        turn.refuse(
            406,
            f"PRECONDITION_FAILED - inequivalent arg 'type' for exchange '{exchange}' in vhost '{vhost}': "
            f"received 'direct' but current is '{kind}'",
        )
    elif kind is not None or not refuse_reserved(turn, "exchange", exchange):
        if not exists(turn, vhost, exchange):
            turn.exchanges |= {join_queue(vhost, exchange)}
            turn.emit("exchange_declared", node=operation.node, exchange=exchange, vhost=vhost)
        return True
    return False
