"""Steady publishers: clients that publish a message at each beat of their clock, until they are closed.

Message k exists at start + k / rate, whether the broker is ready for it or not. What the channel may not send
(`flow_control`) waits at the client, and goes out all at once when nothing holds it up any more. A publisher waits for
no answer before it goes on. Closed, it leaves with what still waited: that no queue ever saw. Its node's end closes it.

How its messages flow is in `flows`, how they are answered in `steady_confirms`.
"""

from __future__ import annotations

from fractions import Fraction

from hawb.engine import flow_control
from hawb.engine.clients import Clock, Publisher
from hawb.engine.operations import Publish
from hawb.engine.turn import Turn


def clock_from(turn: Turn, rate: float) -> Clock:
    """A clock that starts now with so many beats a second; 0.1 means a tenth, as it is written."""
    beats, us = (Fraction(str(rate)) / 1_000_000).as_integer_ratio()
    return Clock(turn.now_us, beats, us)


def start(turn: Turn, publisher: Publisher) -> None:
    """A client begins to publish. A name that was closed goes on with what it had counted."""
    known = turn.publishers.get(publisher.name)
    if known is not None and not known.closed:
        turn.refuse(None, f"there is a publisher '{publisher.name}' already")
        return
    turn.publishers[publisher.name] = publisher
    if known is not None:
        turn.change_publisher(
            known.name, published=known.published, confirmed=known.confirmed, blocked_us=known.blocked_us
        )
    turn.emit("publisher_started", node=publisher.node, queue=publisher.queue, publisher=publisher.name)


def close(turn: Turn, name: str, reason: str) -> None:
    """A publisher goes. What has left it is on its way to the queue; closing it again changes nothing."""
    publisher = turn.publishers[name]
    if publisher.closed:
        return
    if publisher.blocked_since_us is None:
        send(turn, publisher, publisher.clock.beats(turn.now_us) - publisher.beats)
    blocked_us = blocked_for_us(publisher, turn.now_us)
    turn.change_publisher(name, closed=True, blocked_since_us=None, blocked_us=blocked_us)
    turn.emit("publisher_closed", node=publisher.node, queue=publisher.queue, publisher=name, reason=reason)


def send(turn: Turn, publisher: Publisher, count: int) -> None:
    """Messages leave a publisher together."""
    if count:
        turn.change_publisher(publisher.name, beats=publisher.beats + count)
        turn.schedule(lag_us(turn, publisher), operation(publisher, count), step=publisher.step)


def operation(publisher: Publisher, count: int) -> Publish:
    """The publish of so many of its messages."""
    return Publish(
        publisher.queue, publisher.node, publisher=publisher.name, queues=(publisher.queue,), count=count,
        size_bytes=publisher.size_bytes, persistent=publisher.persistent,
        confirm=publisher.mode != "plain", transaction=publisher.mode == "tx",
    )  # fmt: skip


def lag_us(turn: Turn, publisher: Publisher) -> int:
    """How long its messages take to the queue's master. Without one there is nothing to reach."""
    queue = turn.queues.get(publisher.queue)
    return turn.link_us(publisher.node, queue.master) if queue is not None and queue.up else 0


# Blocked, and on again


def block(turn: Turn, name: str) -> None:
    """The publisher's next message has to wait."""
    publisher = turn.publishers[name]
    since_us = publisher.clock.due_us(publisher.beats + 1) + lag_us(turn, publisher)
    turn.change_publisher(name, blocked_since_us=min(since_us, turn.now_us))
    turn.emit("publisher_blocked", node=publisher.node, queue=publisher.queue, publisher=name)


def go_on(turn: Turn, name: str) -> None:
    """Nothing holds the publisher up any more: what waited goes out."""
    publisher = turn.change_publisher(
        name, blocked_since_us=None, blocked_us=blocked_for_us(turn.publishers[name], turn.now_us)
    )
    turn.emit("publisher_unblocked", node=publisher.node, queue=publisher.queue, publisher=name)
    send(turn, publisher, publisher.clock.beats(turn.now_us) - publisher.beats)


def blocked_for_us(publisher: Publisher, now_us: int) -> int:
    """How long a publisher's messages have had to wait."""
    since_us = publisher.blocked_since_us
    return publisher.blocked_us + (0 if since_us is None else now_us - since_us)


def react(turn: Turn) -> None:
    """Publishers follow what has just happened: those whose node is gone go, those that nothing holds up go on."""
    close_with_nodes(turn)
    for publisher in list(turn.publishers.values()):
        if publisher.blocked_since_us is not None and unhindered(turn, publisher):
            go_on(turn, publisher.name)


def close_with_nodes(turn: Turn) -> None:
    """Publishers whose node is gone go, and so do those of a node that takes no clients any more."""
    for publisher in list(turn.publishers.values()):
        if not turn.runs_anywhere(publisher.node) or turn.nodes[publisher.node].drained:
            close(turn, publisher.name, "node_down")


def unhindered(turn: Turn, publisher: Publisher) -> bool:
    """Whether nothing holds a publisher up, as its own side of a partition sees it."""
    focus = turn.focus
    turn.look_from(publisher.node)
    free = flow_control.credit(turn, publisher) is None
    turn.focus = focus
    return free
