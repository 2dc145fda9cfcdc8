"""Describe a cluster before any change: its unavailable queues, what would improve it, and what its files lack."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from hawb.engine.core.state import RUNNING
from hawb.exports.imported import ALL_KNOWN, Live
from hawb.planning.alike import Alike, alike, full_name
from hawb.planning.listed_down import listed_remedies
from hawb.planning.out_of_use import OutOfUse, in_order, listed_as_out_of_use, out_of_use
from hawb.planning.remedies import Remedy, remedies, short, standing
from hawb.scenario.document import QueueEntry, Scenario
from hawb.scenario.run import Run

Kinds = Mapping[str, Sequence[QueueEntry]]


class Beforehand(Struct, frozen=True):
    """The unavailable queues and the remedies in order, each checked by a simulation.

    `files` are the cluster's files, `live` is what they lack, `down` are the cluster nodes that do not run, and `runs`
    is True if any node runs.
    """

    out_of_use: tuple[OutOfUse, ...] = ()
    remedies: tuple[Remedy, ...] = ()
    files: tuple[str, ...] = ()
    live: Live = ALL_KNOWN
    down: tuple[str, ...] = ()
    runs: bool = True


NOTHING_BEFORE = Beforehand()


def beforehand(
    scenario: Scenario, files: Sequence[str] = (), live: Live = ALL_KNOWN, failures: int = 1, played: Run | None = None
) -> Beforehand:
    """Return the state of a scenario's cluster at its end, with remedies.

    Quorum queues and streams are to survive `failures` node failures. `played` is the scenario's run, if there is one.
    There are remedies only for queues about which the files say everything that matters.
    """
    unknown = {*live.unlisted, *live.listed_down}
    kinds = alike(scenario, unknown=unknown)
    run = played if played is not None and kinds.scenario is scenario else Run.of(kinds.scenario)
    out = already_out(run, kinds, live)
    alone = [name for name in short(run, failures) if name not in unknown]
    found = remedies(run, standing, alone=alone) if live.nodes_listed else ()
    nodes = zip(run.settings.names, run.moment().state.nodes, strict=True)
    down = tuple(name for name, node in nodes if node.member and node.status != RUNNING)
    whole = (*listed_remedies(scenario, live), *(for_all(one, kinds.kinds) for one in found))
    runs = bool(run.moment().state.running())
    return Beforehand(out, whole, tuple(files), live, down, runs)


def already_out(run: Run, kinds: Alike, live: Live) -> tuple[OutOfUse, ...]:
    """Return all queues that are unavailable in a run of one queue of each kind, or that a listing reports as down.

    They are in the order of `out_of_use`. Queues about which the files say too little are left out.
    """
    listed = listed_as_out_of_use(live.listed_down)
    if not live.nodes_listed:
        return listed
    played = [replace(one, queue=name) for one in out_of_use(run) for name in names_of(one.queue, kinds.kinds)]
    found = {one.queue: one for one in (*listed, *played) if one.queue not in live.unlisted}
    return tuple(sorted(found.values(), key=in_order))


def names_of(name: str, kinds: Kinds) -> list[str]:
    """Return the full names of the queues that a representative stands for."""
    return [full_name(entry) for entry in kinds[name]] if name in kinds else [name]


def for_all(remedy: Remedy, kinds: Kinds) -> Remedy:
    """Return the remedy extended from representatives to all queues that they stand for."""
    queues, streams = ((*_all(names, kinds),) for names in (remedy.queues, sorted(remedy.streams)))
    steps = tuple(other for step in remedy.steps for other in _step_for_all(step, kinds))
    return replace(remedy, queues=queues, streams=frozenset(streams), steps=steps)


def _all(names: Sequence[str], kinds: Kinds) -> Iterator[str]:
    for name in names:
        yield from names_of(name, kinds)


def _step_for_all(step: Mapping[str, object], kinds: Kinds) -> Iterator[Mapping[str, object]]:
    [(verb, argument)] = step.items()
    named = argument.get("queue") if isinstance(argument, dict) else argument
    if not isinstance(named, str) or named not in kinds or verb in ON_NODES:
        yield step
        return
    for name in names_of(named, kinds):
        yield {verb: {**argument, "queue": name} if isinstance(argument, dict) else name}


ON_NODES: Container[str] = ("kill", "reset", "join")
"""Verbs of remedy steps whose argument is a node, which may have the name of a queue."""
