"""The ports through which the rules of nodes use a turn.

This module is the engine's implementation, where `t` is the turn; the kernel's, where it is the trial, is in
`hawb.study.kernel.node_ports`. The docstrings here describe both.
"""

from __future__ import annotations

from typing import Any

from hawb.engine.core.events import (
    BootAttempt,
    BootGivesUp,
    LookAround,
    MetadataAsked,
    MetadataChanged,
    MetadataTimesOut,
    ShutDown,
)
from hawb.engine.core.state import (
    NOWHERE,
    Proposed,
    WaitingOperation,
    bits_of,
    nodes_of,
)
from hawb.engine.core.turn import TIMER, Turn, place_of
from hawb.raft.ports import bits_in
from hawb.rules.quorum import majority

AWAITED = (None, "majority", "preferred", "everybody", "restart")
"""The trace's words for what a paused node waits for, by its number."""

STORE_PATIENCE_US = 30_000_000
"""The longest time that an operation waits for a leader of the metadata store (khepri_default_timeout)."""

# Facts

is_running, runs_anywhere = Turn.is_running, Turn.runs_anywhere
"""Return True if a node runs on the current side; on any side."""
linked = Turn.linked
"""Return True if messages between two nodes arrive."""
next_number = Turn.next_number
"""Return a number never given before, for draws."""
look_from, look_from_outside = Turn.look_from, Turn.look_from_outside
"""Make the side of a node the current one; that of commands that name no node."""


def running_bits(t: Turn) -> int:
    """Return the running nodes of the current side, as bits."""
    return bits_of(t.running())


def sides(t: Turn) -> list[int]:
    """Return the numbers of all sides."""
    return list(t.sides)


def focused(t: Turn) -> int:
    """Return the number of the current side."""
    return t.focus.number


def focus_on(t: Turn, side: int) -> bool:
    """Make a side the current one; return True if there is one of that number."""
    if side in t.sides:
        t.focus = t.sides[side]
    return side in t.sides


def members(t: Turn) -> int:
    """Return the members of the cluster, as bits."""
    return bits_of(node for node, value in enumerate(t.nodes) if value.member)


def has_records(t: Turn, node: int) -> bool:
    """Return True if a node is a member, for the others and for itself, with records on its disk."""
    return t.nodes[node].member and not t.nodes[node].virgin


def is_forgotten(t: Turn, node: int) -> bool:
    """Return True if, with Khepri, a node counts itself as a member, but the other nodes have forgotten it."""
    value = t.nodes[node]
    return bool(t.setup.khepri) and not value.member and not value.virgin


def ranked(t: Turn, k: int) -> int:
    """Return the k-th node in the order of RabbitMQ's configuration, which is the scenario's."""
    return t.settings.file_order[k]


def connections_at(t: Turn, node: int) -> int:
    """Return the number of client connections to a node."""
    return sum(at == node for _, at, _ in t.connections)


# Causes


def cause(t: Turn) -> int | None:
    """Return the number of the trace entry that causes the current events."""
    return t.because


def blame(t: Turn, entry: int | None) -> None:
    """Make a trace entry the cause of the entries that follow."""
    t.because = entry


# Scheduling


def begin_to_boot(t: Turn, node: int) -> None:
    """Start a node's broker, and schedule when it has booted as far as its tables."""
    entry = t.emit("node_booting", node=node)
    t.schedule(t.setup.start_us, BootAttempt(node, t.nodes[node].boots), entry)


def begin_to_stop(t: Turn, node: int) -> None:
    """Start the shutdown of a node's broker."""
    entry = t.emit("node_stopping", node=node)
    t.schedule(0, ShutDown(node), entry)


def begin_to_pause(t: Turn, node: int) -> None:
    """Start the shutdown of a node's broker by itself, as partition handling asks."""
    entry = t.emit("node_pausing", node=node, until=AWAITED[t.nodes[node].awaits])
    t.schedule(0, ShutDown(node), entry)


def look_in(t: Turn, delay_us: int) -> None:
    """Schedule that nodes look around, unless that is scheduled already."""
    if not t.is_planned(LookAround()):
        t.schedule(delay_us, LookAround(), priority=TIMER)


def say_healing(t: Turn, side: int) -> None:
    """Record that the nodes of all sides but one are about to restart."""
    nodes = nodes_of(members(t))
    winners = [node for node in nodes if t.nodes[node].side == side]
    t.because = t.emit(
        "autoheal_started",
        winner=t.settings.named(winners),
        connections=sum(connections_at(t, node) for node in winners),
        losers=t.settings.named(node for node in nodes if node not in winners),
    )


def wait_with_boot(t: Turn, node: int, awaited: int, delay_us: int) -> None:
    """Let a booting node wait for others, and schedule when it gives up."""
    wanted = {"majority": majority(bits_in(members(t)))} if t.setup.khepri else {}
    t.emit("node_waiting", node=node, waits_for=t.settings.named(nodes_of(awaited)), **wanted)
    t.schedule(delay_us, BootGivesUp(node, t.nodes[node].boots), priority=TIMER)


def say_gave_up(t: Turn, node: int, awaited: int) -> None:
    """Record that a booting node gave up its wait for others."""
    t.emit("node_gave_up", node=node, waits_for=t.settings.named(nodes_of(awaited)))


# Waiting changes of the metadata


def is_deferred(t: Turn, change: object) -> bool:
    """Return True if a change waits already."""
    return any(one.operation == change for one in t.waiting_changes)


def put_off(t: Turn, change: Any) -> None:
    """Make a change of the metadata wait; with Khepri for a limited time."""
    number = t.next_number()
    t.waiting_changes = (*t.waiting_changes, WaitingOperation(number, change, t.step))
    if t.setup.khepri:
        t.schedule(STORE_PATIENCE_US, MetadataTimesOut(number))
        t.schedule(0, MetadataAsked(number))
    t.emit("metadata_stalled", node=NOWHERE if place_of(change) is None else change.node)


def is_proposed(t: Turn, k: int) -> bool:
    """Return True if the k-th waiting change is in a leader's log already."""
    return isinstance(t.waiting_changes[k], Proposed)


def place_of_change(_: Turn, change: object) -> int:
    """Return the node at which a change is made; NOWHERE for one of all sides."""
    place = place_of(change)
    return NOWHERE if place is None else place


def reaches_store(t: Turn, node: int) -> bool:
    """Return True if a request at `node` reaches a leader of the metadata store that can commit.

    With NOWHERE as node, return True if there is such a leader.
    """
    view = t.focus.store
    return view.up and (node == NOWHERE or t.linked(node, view.master))


def note_change(t: Turn) -> None:
    """Append a change of the metadata to Khepri's log, if the cluster uses Khepri."""
    if t.setup.khepri:
        t.schedule(0, MetadataChanged())


def count_waiting_changes(t: Turn) -> int:
    """Return the number of waiting changes."""
    return len(t.waiting_changes)


def place_of_waiting_change(t: Turn, k: int) -> int:
    """Return the node at which the k-th waiting change is made; NOWHERE for one of all sides."""
    return place_of_change(t, t.waiting_changes[k].operation)


def try_again(t: Turn, k: int) -> None:
    """Schedule the k-th waiting change on the current side."""
    t.unschedule(MetadataTimesOut(t.waiting_changes[k].number))
    t.schedule(0, t.waiting_changes[k].operation, step=t.waiting_changes[k].step)


def keep_waiting_changes(t: Turn, kept: int) -> None:
    """Keep only these waiting changes, given as bits."""
    t.waiting_changes = tuple(one for k, one in enumerate(t.waiting_changes) if kept >> k & 1)


PORTS = (
    "BOOTING", "DOWN", "PAUSED", "RUNNING", "STOPPING", "WAITING", "is_running", "runs_anywhere", "running_bits",
    "linked", "look_from", "look_from_outside", "sides", "focused", "focus_on", "next_number", "below", "bits_in",
    "members", "ranked", "connections_at", "cause", "blame", "begin_to_boot", "begin_to_stop", "begin_to_pause",
    "look_in", "wait_with_boot", "say_healing", "say_gave_up", "has_records", "is_forgotten", "is_deferred", "put_off",
    "is_proposed", "place_of_change", "reaches_store", "note_change", "count_waiting_changes",
    "place_of_waiting_change", "try_again", "keep_waiting_changes",
)  # fmt: skip
"""The ports that engine and kernel both implement."""
