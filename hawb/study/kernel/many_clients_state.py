"""The record of a trial with clients on every node: a publisher and a consumer that prefer each node.

It is that of a trial in a network whose links may fail (`hawb.study.kernel.partitioned_state`), whether links fail or
not. Functions read and write the current consumer and what it holds; those of the other consumers are kept meanwhile,
as with sides. Publishers hold nothing, so that none is current.
"""

from __future__ import annotations

import numpy as np

from hawb.engine.clients.steady.interruptions import NOT_YET
from hawb.study.compiled import inner
from hawb.study.kernel import windows
from hawb.study.kernel.khepri_state import PARTITIONED_KHEPRI_TRIAL
from hawb.study.kernel.partitioned_state import MOST_SIDES, PARTITIONED_TRIAL, copy_windows
from hawb.study.kernel.quorum_state import with_letter
from hawb.study.kernel.state import (
    CONSUMER,
    MOST_NODES,
    MOST_WAITING,
    MOST_WINDOWS,
    NONE,
    PUBLISHER,
    is_among,
    record,
    without_nodes,
)

ALL_CLIENTS = record("current circle takers subscribed_once in_flow")
"""The current consumer; how many consumers are in the circle, in the circle while messages are dealt, and in the order
of their first subscriptions; whether a flow makes room for deliveries."""
CLIENT = record("unconfirmed_us unconfirmed_since undelivered_us undelivered_since sender receiver deliveries")
"""The down times of a node's publisher and consumer, and the fields of `NET` that belong to this consumer."""

MOST_IN_LINE, MOST_PIECES, MOST_SENT = 513, 5_141, 12_007
"""The numbers of rows for what waits, since flows of several publishers alternate and do not join; for sets of
messages, which are dealt one by one (`hawb.engine.clients.dealing`); and for what is under way to consumers."""


def with_many_clients(trial: np.dtype) -> np.dtype:
    """Return the record type of a trial with clients on every node, from that of one with one of each.

    The trial's fields keep their order.
    """
    forms = {name: trial.fields[name][0] for name in trial.names if name != "letter"}
    known = [(name, *longer(name, *(form.subdtype or (form,)))) for name, form in forms.items()]
    tables = trial.names.index("content")
    of_each = ("circle", "taking", "by_subscription", "room", "more_room", "useful", "fresh", "hand_order")
    of_windows = (MOST_PIECES, 2)
    fields = [
        *known[:tables], ("all_clients", ALL_CLIENTS), ("clients", CLIENT, (MOST_NODES,)),
        ("consumers", CONSUMER, (MOST_NODES,)),
        ("publishers", PUBLISHER, (MOST_NODES + 1,)), *((name, np.int64, (MOST_NODES,)) for name in of_each),
        ("kept_circle", np.int64, (MOST_SIDES, MOST_NODES + 1)),
        *known[tables:],
        *((name, np.int64, of_windows) for name in ("held", "sequence", "ready")),
        *((name, np.int64, (MOST_NODES, *of_windows)) for name in (
            "stales", "helds", "sequences", "held_ups", "hands",
        )),
    ]  # fmt: skip
    return with_letter(fields) if "letter" in trial.names else np.dtype(fields)


def longer(name: str, form: np.dtype, shape: tuple[int, ...] = ()) -> tuple:
    """Return the form of a field, with more rows if it is a table that the clients of several nodes fill."""
    rows = {MOST_WINDOWS: MOST_PIECES}
    if name in ("waiting", "kept_waiting", "awaiting", "unanswered"):
        rows = {MOST_WAITING: MOST_IN_LINE}
    elif name == "sent":
        rows = {MOST_WAITING: MOST_SENT}
    return (form, tuple(rows.get(size, size) for size in shape)) if shape else (form,)


MANY_CLIENTS_TRIAL, MANY_CLIENTS_KHEPRI_TRIAL = map(with_many_clients, (PARTITIONED_TRIAL, PARTITIONED_KHEPRI_TRIAL))
"""One trial, in one piece of memory.

Of the current consumer `held` are the messages whose answer the queue waits for, `stale` those from masters that are
gone, and `sequence` the present master's in the order of delivery, those settled early included; `stales`, `helds`,
`sequences` and `held_ups` are those of all. The `circle` has the consumers in the order in which the queue serves them,
and `kept_circle` that of each side, behind their number. `publishers` are in the order of their connections, and have a
place for the one that is moved. `by_subscription` has the consumers in the order of their first subscriptions. The
other tables are for one call only.
"""

WORDS_BEFORE_TABLES, WORDS_BEFORE_KHEPRI_TABLES = (
    kind.fields["content"][1] // 8 for kind in (MANY_CLIENTS_TRIAL, MANY_CLIENTS_KHEPRI_TRIAL)
)
"""The numbers of words before a trial's tables; their counts there are the numbers of rows in use."""


# The current consumer


@inner
def put_down(t):
    """Copy the current consumer, and what it holds, to its place; it stays the current one."""
    client = t.all_clients.current
    kept = t.clients[client]
    t.consumers[client] = t.consumer
    kept.sender, kept.receiver, kept.deliveries = t.net.sender, t.net.receiver, t.net.deliveries
    copy_windows(t.stale, t.stales[client])
    copy_windows(t.held, t.helds[client])
    copy_windows(t.sequence, t.sequences[client])
    copy_windows(t.held_up, t.held_ups[client])


@inner
def pick_up(t, client):
    """Make the consumer that prefers a node the current one, as it was put down."""
    t.all_clients.current, kept = client, t.clients[client]
    t.consumer = t.consumers[client]
    t.net.sender, t.net.receiver, t.net.deliveries = kept.sender, kept.receiver, kept.deliveries
    copy_windows(t.stales[client], t.stale)
    copy_windows(t.helds[client], t.held)
    copy_windows(t.sequences[client], t.sequence)
    copy_windows(t.held_ups[client], t.held_up)


@inner
def clients(t):
    """Return the nodes that clients prefer: all."""
    return range(t.setup.nodes)


@inner
def look_at(t, client):
    """Make the consumer that prefers a node the current one."""
    if client != t.all_clients.current:
        put_down(t)
        pick_up(t, client)


@inner
def set_up_clients(t):
    """Set up a publisher and a consumer that prefer each node, and are not connected."""
    for client in range(t.setup.nodes):
        t.all_clients.current = t.consumer.client = client
        put_down(t)
        times, publisher = t.clients[client], t.publishers[client]
        times.unconfirmed_since = times.undelivered_since = NOT_YET
        publisher.client, publisher.closed, publisher.node = client, 1, NONE


@inner
def clear_clients(t):
    """Clear what consumers held in the last trial."""
    for some in (t.held, t.sequence, t.held_up, t.stale):
        windows.clear(some)
    for client in range(t.setup.nodes):
        windows.clear(t.stales[client])
        windows.clear(t.helds[client])
        windows.clear(t.sequences[client])
        windows.clear(t.held_ups[client])


# The circle


@inner
def is_in_circle(t, client):
    """Return True if the queue has the subscription of a consumer."""
    return is_among(t.circle, t.all_clients.circle, client)


@inner
def leave_circle(t, client):
    """Remove a consumer from the circle."""
    t.all_clients.circle = without_nodes(t.circle, t.all_clients.circle, 1 << client)


@inner
def join_circle(t, client):
    """Put a consumer last into the circle."""
    t.circle[t.all_clients.circle] = client
    t.all_clients.circle += 1


@inner
def keep_circle(t, place):
    """Copy the circle of the current side to a place."""
    t.kept_circle[place, 0] = t.all_clients.circle
    for k in range(t.all_clients.circle):
        t.kept_circle[place, k + 1] = t.circle[k]


@inner
def take_circle(t, place):
    """Make the circle current that is kept at a place."""
    t.all_clients.circle = t.kept_circle[place, 0]
    for k in range(t.all_clients.circle):
        t.circle[k] = t.kept_circle[place, k + 1]
