"""How a cluster stands before anything is done with it: what is out of use already, what would make it better, and what
its files do not tell."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from hawb.engine.core.state import RUNNING
from hawb.exports.imported import ALL_KNOWN, Live
from hawb.planning.alike import Alike, alike, full_name
from hawb.planning.out_of_use import OutOfUse, listed_as_out_of_use, out_of_use
from hawb.planning.remedies import Remedy, remedies, short, standing
from hawb.scenario.document import QueueEntry, Scenario
from hawb.scenario.run import Run

Kinds = Mapping[str, Sequence[QueueEntry]]


class Beforehand(Struct, frozen=True):
    """The queues that are out of use, and remedies in their order, each checked by playing it; `files` are those of the
    cluster, `live` is what they lack, and `down` are the members of the cluster that do not run. `runs` is whether any
    node does."""

    out_of_use: tuple[OutOfUse, ...] = ()
    remedies: tuple[Remedy, ...] = ()
    files: tuple[str, ...] = ()
    live: Live = ALL_KNOWN
    down: tuple[str, ...] = ()
    runs: bool = True


NOTHING_BEFORE = Beforehand()


def beforehand(
    scenario: Scenario, files: Sequence[str] = (), live: Live = ALL_KNOWN, failures: int = 1
) -> Beforehand:
    """How a scenario's cluster stands at its end. Quorum queues and streams are to outlive so many `failures`; remedies
    are about queues alone of which files tell all that decides."""
    unknown = {*live.unlisted, *live.listed_down}
    kinds = alike(scenario, unknown=unknown)
    run = Run.of(kinds.scenario)
    out = already_out(run, kinds, live)
    alone = [name for name in short(run, failures) if name not in unknown]
    found = remedies(run, standing, alone=alone) if live.nodes_listed else ()
    nodes = zip(run.settings.names, run.moment().state.nodes, strict=True)
    down = tuple(name for name, node in nodes if node.member and node.status != RUNNING)
    whole, runs = tuple(for_all(one, kinds.kinds) for one in found), bool(run.moment().state.running())
    return Beforehand(out, whole, tuple(files), live, down, runs)


def already_out(run: Run, kinds: Alike, live: Live) -> tuple[OutOfUse, ...]:
    """All queues that are out of use where a run of one queue of each kind stands, or that a listing has so; without
    those of which no file tells enough."""
    listed = listed_as_out_of_use(live.listed_down)
    if not live.nodes_listed:
        return listed
    played = [replace(one, queue=name) for one in out_of_use(run) for name in names_of(one.queue, kinds.kinds)]
    return tuple({one.queue: one for one in (*listed, *played) if one.queue not in live.unlisted}.values())


def names_of(name: str, kinds: Kinds) -> list[str]:
    """The queues that one stands for."""
    return [full_name(entry) for entry in kinds[name]] if name in kinds else [name]


def for_all(remedy: Remedy, kinds: Kinds) -> Remedy:
    """A remedy for all queues that those which it is about stand for."""
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
"""The steps of remedies whose argument is a node, which may have the name of a queue."""
