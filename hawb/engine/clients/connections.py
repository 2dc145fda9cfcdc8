"""Clients' connections: how requests leave a client, and which wait because the broker does not read.

Source: `rabbit_reader` (`publish_received`, `control_throttle`, `maybe_block`). While a resource alarm is in force, a
connection is blocked with the first message published on it: the broker reads nothing more from it until every alarm is
cleared. All later requests over that connection, acknowledgements and closes included, wait behind the publish;
deliveries still go out. A connection without publishes is never blocked.

An error that AMQP calls hard ends the connection on which it happened with all that belongs to it
(`rabbit_reader:handle_exception`); other errors end a channel, which in hawb serves one step alone.

In RabbitMQ the header of the first message is read before the connection is blocked, so that a message without a body
would get through; hawb does not distinguish that. If the connection is closed meanwhile, by a drain or with its node,
unread requests never reach a queue.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from hawb.engine.clients import publishing, subscriptions
from hawb.engine.clients.client_state import Consumer, consumers_over
from hawb.engine.cluster import alarms
from hawb.engine.core import bookkeeping
from hawb.engine.core.naming import split_queue
from hawb.engine.core.operations import (
    ConnectionCloses,
    ConnectionFails,
    ConsumerCancels,
    ConsumerCloses,
    Publish,
    Settle,
)
from hawb.engine.core.state import NOWHERE, Unread
from hawb.engine.core.turn import Turn
from hawb.engine.queues import lifecycle
from hawb.engine.quorum import requests
from hawb.engine.raft_groups import enqueuers

Connection = tuple[str, int, str]
"""A connection's name, the node that it leads to, and its virtual host."""


def first_open(turn: Turn) -> int:
    """Return the first running node in the scenario's order that takes clients; NOWHERE if none does."""
    ready = (node for node in turn.settings.file_order if turn.runs_anywhere(node) and not turn.nodes[node].drained)
    return next(ready, NOWHERE)


def send(turn: Turn, request: object) -> None:
    """Send a client's request, unless its connection is blocked or this request blocks it."""
    connection = connection_of(turn, request)
    turn.look_from(connection[1])
    turn.connections |= {connection}
    if is_blocked(turn, connection):
        turn.emit("request_waits", node=connection[1], connection=connection[0])
    elif isinstance(request, Publish) and alarms.blocks_publishing(turn, request.node):
        resources = alarms.in_force(turn, request.node)
        turn.emit("connection_blocked", node=connection[1], connection=connection[0], resources=resources)
    else:
        depart(turn, connection[1], request, turn.step)
        return
    turn.unread = (*turn.unread, Unread(connection, request, turn.step))


def depart(turn: Turn, node: int, request: object, step: int) -> None:
    """Send a request from its client's node to the queue's master.

    Without a master the client's own node handles it. A request that concerns only a channel arrives at once.
    """
    queue = turn.queues.get(getattr(request, "queue", None))
    delay_us = turn.link_us(node, queue.master) if queue is not None and queue.up else 0
    turn.schedule(delay_us, request, step=step)


def connection_of(turn: Turn, request: Any) -> Connection:
    """Return the connection that sends a request. A request of a consumer is sent on the consumer's connection."""
    if isinstance(request, Settle | ConsumerCancels | ConsumerCloses):
        consumer = turn.consumers[request.consumer]
        return consumer.connection, consumer.node, split_queue(consumer.queue)[0]
    if isinstance(request, ConnectionCloses):
        return request.connection, request.node, request.vhost
    return request.connection, request.node, split_queue(request.queue)[0]


def is_blocked(turn: Turn, connection: Connection) -> bool:
    """Return True if the broker does not read from a connection."""
    return any(unread.connection == connection for unread in turn.unread)


def apply_alarms(turn: Turn, node: int) -> None:
    """Let a node whose last alarm is cleared read requests again, in the order in which clients sent them."""
    if not alarms.blocks_publishing(turn, node):
        for connection in dict.fromkeys(unread.connection for unread in turn.unread if unread.connection[1] == node):
            turn.emit("connection_unblocked", node=node, connection=connection[0])
        for unread in take(turn, lambda connection: connection[1] == node):
            depart(turn, node, unread.operation, unread.step)


def node_gone(turn: Turn, node: int) -> None:
    """End the connections to a node."""
    end(turn, lambda connection: connection[1] == node)


def fail(turn: Turn, event: ConnectionFails) -> None:
    """End a connection with an error, with its consumers and exclusive queues.

    Confirms that it still waits for count as received.
    """
    failed = event.connection, event.node, event.vhost
    end(turn, failed.__eq__)
    theirs = (turn.consumers[one.name] for one in consumers_over(turn.consumers, event.connection)
              if connection_of(turn, one) == failed)  # fmt: skip
    close_consumers(turn, theirs, "connection_failed")
    lifecycle.connection_gone(turn, failed[:2], event.vhost)


def close_consumers(turn: Turn, consumers: Iterable[Consumer], reason: str) -> None:
    """Close consumers with their channels, and requeue the messages that they held.

    A consumer that another side has closed already is only removed from this side's queues.
    """
    for consumer in list(consumers):
        decided = requests.is_decided(turn, consumer.queue)
        if consumer.state != "closed":
            closing = requests.channel_down if decided else subscriptions.close
            closing(turn, consumer.name, reason)
        elif not decided:
            subscriptions.unsubscribe(turn, consumer.name)


def end(turn: Turn, chosen: Callable[[Connection], bool]) -> None:
    """End the chosen connections, with the requests that wait in them or in their channels."""
    turn.connections = frozenset(connection for connection in turn.connections if not chosen(connection))
    enqueuers.forget(turn, chosen)
    awaiting_registration = [one for one in turn.awaiting_registration if chosen(connection_of(turn, one.operation))]
    turn.awaiting_registration = tuple(one for one in turn.awaiting_registration if one not in awaiting_registration)
    for request in (waiting.operation for waiting in (*take(turn, chosen), *awaiting_registration)):
        for name in request.queues if isinstance(request, Publish) else ():
            bookkeeping.refuse(turn, name, publishing.number(turn, name, request.count), "connection_closed")


def take(turn: Turn, chosen: Callable[[Connection], bool]) -> list[Unread]:
    """Remove the requests of the chosen connections that no node has read yet, and return them."""
    taken = [unread for unread in turn.unread if chosen(unread.connection)]
    turn.unread = tuple(unread for unread in turn.unread if not chosen(unread.connection))
    return taken
