"""List the queues that are unavailable at the end of a run, and the metadata store if it rejects writes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct

from hawb.engine.core.state import NOWHERE, PAUSED, RUNNING, Queue, Side, State
from hawb.engine.raft_groups.group import STORE
from hawb.rules.quorum import majority
from hawb.scenario.quorum_outcome import is_online
from hawb.scenario.run import Run

METADATA = "rabbitmq_metadata"
"""Name of the metadata store in RabbitMQ 4.3's check."""


class OutOfUse(Struct, frozen=True):
    """An unavailable queue, or METADATA.

    `down` are the nodes whose replicas do not run or cannot be reached, of `replicas` in total.

    `reason`: `no_majority` (fewer than a majority of the members run), `no_leader` (enough run, and none is leader),
    `node_down` (the only replica's node), `master_awaited` (mirrors wait for the master's node), `failed` (the process
    ended, its node runs), or `listed`: a listing reports the queue in a `state` in which no client can use it.
    Otherwise `state` describes the nodes in `down`: `paused` (the only replica's), `out_of_reach` (all run), `mixed`
    (some do), or empty if none runs.
    """

    queue: str
    reason: str
    replicas: int = 1
    down: tuple[str, ...] = ()
    state: str = ""


def out_of_use(run: Run, listed: Mapping[str, str] | None = None) -> tuple[OutOfUse, ...]:
    """Return the queues that no client can use once the run has settled, by name, METADATA last.

    `listed` maps queues that a listing reports as unavailable to their states; the run's view of them is ignored.
    """
    state, names = run.moment().state, run.settings.names
    found = {name: _queue(name, state, names) for name in _known(state) if not is_usable(state, name)}
    found = {one.queue: one for one in listed_as_out_of_use(listed or {})} | found
    return (*sorted(found.values(), key=in_order), *_metadata(state, names))


def in_order(one: OutOfUse) -> tuple[bool, str]:
    """Return the key that sorts unavailable queues by name, METADATA last."""
    return one.queue == METADATA, one.queue


def listed_as_out_of_use(listed: Mapping[str, str]) -> tuple[OutOfUse, ...]:
    """Return the queues that a listing reports as unavailable, from their states there."""
    return tuple(OutOfUse(name, "listed", state=state) for name, state in sorted(listed.items()))


def is_usable(state: State, name: str) -> bool:
    """Return True if any side has the queue with a master that serves it, or a leader that can commit."""
    return any(name in side.queues and side.queues[name].up for side in state.sides)


def _known(state: State) -> Iterable[str]:
    """Return the queues that running nodes know; all queues if no node runs."""
    awake = {state.nodes[node].side for node in state.running()}
    return {name for side in state.sides if side.number in awake or not awake for name in side.queues}


def _queue(name: str, state: State, names: tuple[str, ...]) -> OutOfUse:
    side = next(side for side in state.sides if name in side.queues)
    queue = side.queues[name]
    if queue.has_group:
        down = offline(state, side, queue)
        enough = len(queue.members) - len(down) >= majority(len(queue.members))
        reason, replicas = "no_leader" if enough else "no_majority", len(queue.members)
        cut_off = sum(state.nodes[node].status == RUNNING and not _stopped(state, queue, node) for node in down)
        more = "" if enough or not cut_off else "out_of_reach" if cut_off == len(down) else "mixed"
    else:
        replicas = len({queue.master, *queue.mirrors, *queue.recoverable} - {NOWHERE})
        down = [node for node in (queue.master,) if node != NOWHERE and state.nodes[node].status != RUNNING]
        reason = "failed" if not down else "master_awaited" if queue.mirroring is not None else "node_down"
        more = "paused" if reason == "node_down" and state.nodes[queue.master].status == PAUSED else ""
    return OutOfUse(name, reason, replicas, tuple(names[node] for node in down), more)


def offline(state: State, side: Side, queue: Queue) -> list[int]:
    """Return the members of a group that do not run, as far as a partition knows."""
    members = sorted(queue.members)
    return [one for one in members if not is_online(state, side, one) or _stopped(state, queue, one)]


def _stopped(state: State, queue: Queue, node: int) -> int:
    return state.groups[queue.name].stopped >> node & 1


def _metadata(state: State, names: tuple[str, ...]) -> Iterator[OutOfUse]:
    if STORE in state.groups and not any(side.store is not None and side.store.up for side in state.sides):
        members = sorted(state.groups[STORE].members)
        down = tuple(names[node] for node in members if state.nodes[node].status != RUNNING)
        enough = len(members) - len(down) >= majority(len(members))
        yield OutOfUse(METADATA, "no_leader" if enough else "no_majority", len(members), down)
