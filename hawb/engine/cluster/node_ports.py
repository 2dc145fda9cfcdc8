"""What nodes need of a turn: all that is otherwise where their rules are compiled.

Here is what the engine has for it; `t` is the turn. For the kernel (`hawb.study.kernel.node_ports`) it is the trial.
What a port promises is said here for both.
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
"""What the trace calls that for which a node waits."""

STORE_PATIENCE_US = 30_000_000
"""How long an operation waits for a leader of the metadata store (khepri_default_timeout)."""

# What is so

is_running, runs_anywhere = Turn.is_running, Turn.runs_anywhere
"""Whether a node runs on the side in focus; whether it does on any."""
linked = Turn.linked
"""Whether what one of two nodes sends reaches the other."""
next_number = Turn.next_number
"""A number never given before, for draws."""
look_from, look_from_outside = Turn.look_from, Turn.look_from_outside
"""Puts the side of a node in focus; that on which everybody acts who names no node."""


def running_bits(t: Turn) -> int:
    """The running nodes of the side in focus, as bits."""
    return bits_of(t.running())


def sides(t: Turn) -> list[int]:
    """The sides that there are now, by their numbers."""
    return list(t.sides)


def focused(t: Turn) -> int:
    """The side in focus."""
    return t.focus.number


def focus_on(t: Turn, side: int) -> bool:
    """Puts a side in focus; whether there is one of that number."""
    if side in t.sides:
        t.focus = t.sides[side]
    return side in t.sides


def members(t: Turn) -> int:
    """The members of the cluster, as bits."""
    return bits_of(node for node, value in enumerate(t.nodes) if value.member)


def has_records(t: Turn, node: int) -> bool:
    """Whether a node is one of the cluster, for the others and for itself, with records on its disk."""
    return t.nodes[node].member and not t.nodes[node].virgin


def is_forgotten(t: Turn, node: int) -> bool:
    """Whether a node takes itself for one of the cluster, with Khepri, and the others do not."""
    value = t.nodes[node]
    return bool(t.setup.khepri) and not value.member and not value.virgin


def ranked(t: Turn, k: int) -> int:
    """The k-th node in the order in which RabbitMQ's configuration, here the scenario, lists them."""
    return t.settings.file_order[k]


def connections_at(t: Turn, node: int) -> int:
    """How many connections clients have to a node."""
    return sum(at == node for _, at, _ in t.connections)


# Why it happens


def cause(t: Turn) -> int | None:
    """The entry of the trace because of which everything happens now."""
    return t.because


def blame(t: Turn, entry: int | None) -> None:
    """What follows is because of that entry."""
    t.because = entry


# What is to happen


def begin_to_boot(t: Turn, node: int) -> None:
    """A node's broker starts: in a while it will have booted as far as its tables."""
    entry = t.emit("node_booting", node=node)
    t.schedule(t.setup.start_us, BootAttempt(node, t.nodes[node].boots), entry)


def begin_to_stop(t: Turn, node: int) -> None:
    """A node's broker is told to stop."""
    entry = t.emit("node_stopping", node=node)
    t.schedule(0, ShutDown(node), entry)


def begin_to_pause(t: Turn, node: int) -> None:
    """A node's broker is to stop by itself."""
    entry = t.emit("node_pausing", node=node, until=AWAITED[t.nodes[node].awaits])
    t.schedule(0, ShutDown(node), entry)


def look_in(t: Turn, delay_us: int) -> None:
    """Nodes look around then, unless that is planned already."""
    if not t.is_planned(LookAround()):
        t.schedule(delay_us, LookAround(), priority=TIMER)


def say_healing(t: Turn, side: int) -> None:
    """The nodes of all other sides than one are about to restart."""
    nodes = nodes_of(members(t))
    winners = [node for node in nodes if t.nodes[node].side == side]
    t.because = t.emit(
        "autoheal_started",
        winner=t.settings.named(winners),
        connections=sum(connections_at(t, node) for node in winners),
        losers=t.settings.named(node for node in nodes if node not in winners),
    )


def wait_with_boot(t: Turn, node: int, awaited: int, delay_us: int) -> None:
    """A booting node waits for others, and after a while gives up."""
    wanted = {"majority": majority(bits_in(members(t)))} if t.setup.khepri else {}
    t.emit("node_waiting", node=node, waits_for=t.settings.named(nodes_of(awaited)), **wanted)
    t.schedule(delay_us, BootGivesUp(node, t.nodes[node].boots), priority=TIMER)


def say_gave_up(t: Turn, node: int, awaited: int) -> None:
    """A node has waited for others in vain."""
    t.emit("node_gave_up", node=node, waits_for=t.settings.named(nodes_of(awaited)))


# Changes of the metadata that wait


def is_stalled(t: Turn, change: object) -> bool:
    """Whether a change waits already."""
    return any(one.operation == change for one in t.stalled)


def put_off(t: Turn, change: Any) -> None:
    """A change waits; for Khepri not for ever."""
    number = t.next_number()
    t.stalled = (*t.stalled, WaitingOperation(number, change, t.step))
    if t.setup.khepri:
        t.schedule(STORE_PATIENCE_US, MetadataTimesOut(number))
        t.schedule(0, MetadataAsked(number))
    t.emit("metadata_stalled", node=NOWHERE if place_of(change) is None else change.node)


def is_proposed(t: Turn, k: int) -> bool:
    """Whether the k-th of them is in a leader's log already."""
    return isinstance(t.stalled[k], Proposed)


def place_of_change(_: Turn, change: object) -> int:
    """The node at which a change is made; NOWHERE for one of all sides."""
    place = place_of(change)
    return NOWHERE if place is None else place


def reaches_store(t: Turn, node: int) -> bool:
    """Whether what is asked at a node (NOWHERE: at any) gets to a leader of the metadata store that can commit."""
    view = t.focus.store
    return view.up and (node == NOWHERE or t.linked(node, view.master))


def note_change(t: Turn) -> None:
    """The metadata changes: with Khepri its log does."""
    if t.setup.khepri:
        t.schedule(0, MetadataChanged())


def count_stalled(t: Turn) -> int:
    """How many changes wait."""
    return len(t.stalled)


def place_of_stalled(t: Turn, k: int) -> int:
    """The node at which the k-th of them is made; NOWHERE for one of all sides."""
    return place_of_change(t, t.stalled[k].operation)


def try_again(t: Turn, k: int) -> None:
    """The k-th of them is tried again on the side in focus."""
    t.unschedule(MetadataTimesOut(t.stalled[k].number))
    t.schedule(0, t.stalled[k].operation, step=t.stalled[k].step)


def keep_stalled(t: Turn, kept: int) -> None:
    """Only these go on waiting, given as bits."""
    t.stalled = tuple(one for k, one in enumerate(t.stalled) if kept >> k & 1)


PORTS = (
    "BOOTING", "DOWN", "PAUSED", "RUNNING", "STOPPING", "WAITING", "is_running", "runs_anywhere", "running_bits",
    "linked", "look_from", "look_from_outside", "sides", "focused", "focus_on", "next_number", "below", "bits_in",
    "members", "ranked", "connections_at", "cause", "blame", "begin_to_boot", "begin_to_stop", "begin_to_pause",
    "look_in", "wait_with_boot", "say_healing", "say_gave_up", "has_records", "is_forgotten", "is_stalled", "put_off",
    "is_proposed", "place_of_change", "reaches_store", "note_change", "count_stalled", "place_of_stalled", "try_again",
    "keep_stalled",
)  # fmt: skip
"""The names of what others have to have: what stands here, a node's statuses, draws, and how many bits a set has."""
