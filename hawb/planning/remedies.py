"""Propose steps that would improve a cluster at the end of a run, each tried on a copy first.

`improved` is the check for all advice: the steps are played, and the cluster has to be better by a measure afterwards.
The caller chooses the measure (`standing` here, `harm` of `hawb.planning.safe_to_stop`), a tuple of which the smaller
is better. Each remedy is tried after those before it, so that all remedies are to be carried out in their order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import islice
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from hawb.engine.core import runs
from hawb.engine.core.state import DOWN, NOWHERE, PAUSED, QUORUM, RUNNING, STREAM, WAITING, Queue, Side, State
from hawb.planning.ghosts import Change, change, spare
from hawb.planning.out_of_use import offline, out_of_use
from hawb.rules.streams import STREAM_PROFILES
from hawb.scenario.outcome import partitions_outcome
from hawb.scenario.refused import ScenarioRefused
from hawb.scenario.run import Run
from hawb.scenario.unnoticed import noticed_at_us

Measure = Callable[[Run], tuple]
Step = Mapping[str, object]
There = TypeVar("There")
MOST_ADDED = 2
"""Maximum number of members added to a queue: one member needs two more to survive a node failure."""


REJOINING_S = 60
"""Simulated time in which nodes join again once links work or nodes are restarted."""

FOR_EACH = ("synchronise", "empty", "make_quorum")
"""Kinds of remedies that do the same with each of their queues."""
MOST_TRIED = 8
"""A remedy for more queues is not tried with each queue left out, nor for each of more queues alone: that takes longer
than an answer may."""


class Remedy(Struct, frozen=True):
    """Something to do: its `steps`, as a file holds them, and the queues and nodes that they are about.

    `streams` are those of its queues that are streams, `at` is a node that runs.

    `sides` are those of a partition that ends, and `cut` is whether links drop everything.

    `kind`: `mend` (links work again, then all of `nodes` are restarted, once consumers have emptied `queues` there),
    `start` (all of `nodes`), `start_synchronise` (all of them, then the queues' mirrors are synchronised),
    `start_one` (any of `nodes` is enough, the steps start the first), `restart` (all of `nodes`), `restart_vhost` (the
    virtual hosts of `queues` on a node; nothing is played: `hawb.planning.listed_down`), `rejoin` (nodes that
    the cluster has forgotten, once the members there are deleted), `join` (nodes that have been reset), `replace`
    (members on forgotten nodes are deleted, and others added), `add_member`, `synchronise`, `empty` (consumers empty
    the queues), `make_quorum` (classic queues become quorum queues).
    """

    kind: str
    nodes: tuple[str, ...]
    queues: tuple[str, ...]
    steps: tuple[Step, ...]
    streams: frozenset[str] = frozenset()
    at: str = ""
    sides: tuple[tuple[str, ...], ...] = ()
    cut: bool = False


def played(run: Run, steps: Iterable[object]) -> Run | None:
    """Return a copy of a run after more steps, or None if one of them cannot be played."""
    ahead = run.copy()
    try:
        for step in steps:
            ahead.apply_plain(step)
    except ScenarioRefused:
        return None
    return ahead


def standing(run: Run) -> tuple[int, int, int, int, int]:
    """Return the measure of a cluster as it stands; smaller is better.

    The tuple holds the messages lost, the unavailable queues, the partitions, and, negative, how many more nodes all
    queues together can lose and how many cluster nodes run.
    """
    state = run.moment().state
    apart = len(partitions_outcome(state, run.settings))
    spare = sum(_spare(state, side, queue) for side in state.sides[:1] for queue in side.queues.values())
    running = sum(node.status == RUNNING for node in state.nodes)
    return lost(run), len(out_of_use(run)), apart, -spare, -running


def short(run: Run, failures: int = 1) -> list[str]:
    """Return the quorum queues and streams that do not survive so many failures with the members that run."""
    state = run.moment().state
    side = state.sides[0]
    return sorted(q.name for q in side.queues.values() if q.has_group and _spare(state, side, q) < failures)


def lost(run: Run) -> int:
    """Return how many messages are lost so far."""
    return sum(runs.size(account.lost) for account in run.moment().ledger.values())


def _spare(state: State, side: Side, queue: Queue) -> int:
    """Return how many more of its nodes a queue can lose and stay available."""
    if queue.has_group:
        members = len(queue.members)
        return spare(members, members - len(offline(state, side, queue)))
    return sum(state.nodes[mirror].status == RUNNING for mirror in queue.synchronised if mirror in queue.mirrors)


def improved(
    there: There, steps: Iterable[Any], measure: Callable[[There], tuple] = standing,
    play: Callable[[There, Iterable[Any]], There | None] = played,
) -> There | None:  # fmt: skip
    """Play steps on a copy and return the copy if it is better by the measure; else, or if they cannot be played, None.

    `there` is a run, or anything else that `play` accepts.
    """
    ahead = play(there, steps)
    return ahead if ahead is not None and measure(ahead) < measure(there) else None


def remedies(
    run: Run, measure: Measure = standing, losing: Sequence[str] = (), alone: Sequence[str] = ()
) -> tuple[Remedy, ...]:
    """Return what to do at the end of a run, most urgent first; the run is not changed.

    `losing` are the queues that would lose messages, `alone` those that need more or other replicas.
    """
    measure, found = cache(measure), []
    for propose in (_mend, _start, _restart, _replace, _synchronise, partial(_empty, queues=losing),
                    partial(_add, queues=alone), partial(_make_quorum, queues=alone), _rejoin, _join):  # fmt: skip
        for remedy in propose(run):
            replaced = {node for one in found if one.kind == "replace" for node in one.nodes}
            useless = remedy.kind == "rejoin" and not replaced.isdisjoint(remedy.nodes) and not any(_changes(run))
            if useless or improved(run, remedy.steps, measure) is None:
                continue
            needed = _needed(remedy, run, measure)
            found.append(_addressed(needed, run))
            run = played(run, needed.steps) or run
            break
    return tuple(found)


def _needed(remedy: Remedy, run: Run, measure: Measure) -> Remedy:
    """Return a remedy for several queues without those for which it changes nothing."""
    if remedy.kind not in FOR_EACH or not 1 < len(remedy.queues) <= MOST_TRIED:
        return remedy

    def figure(one: Remedy) -> tuple | None:
        ahead = played(run, one.steps)
        return None if ahead is None else measure(ahead)

    whole = figure(remedy)
    for queue in remedy.queues:
        steps = tuple(step for step in remedy.steps if _queue_of(step) != queue)
        fewer = replace(remedy, queues=tuple(one for one in remedy.queues if one != queue), steps=steps)
        remedy = fewer if fewer.queues and figure(fewer) == whole else remedy
    return remedy


def _queue_of(step: Step) -> object:
    [argument] = step.values()
    return argument.get("queue") if isinstance(argument, dict) else argument


def _addressed(remedy: Remedy, run: Run) -> Remedy:
    """Return a remedy with the facts that its commands need."""
    state = run.moment().state
    streams = frozenset(name for name, queue in state.queues.items() if queue.type == STREAM)
    at = next((run.settings.names[node] for node in state.running()), "")
    return replace(remedy, streams=streams & {*remedy.queues}, at=at)


# Proposals, best first: the first that improves the cluster is taken


def _mend(run: Run) -> Iterator[Remedy]:
    """Propose to end a partition that nodes have detected, or because of which nodes paused.

    The links are repaired, and if that is not enough (cluster_partition_handling ignore) all partitions but one are
    restarted, if necessary after consumers have emptied queues there. The partition with the most nodes is kept, if
    that loses no more messages.
    """
    state, names = run.moment().state, run.settings.names
    sides = sorted(map(tuple, partitions_outcome(state, run.settings)), key=lambda side: (-len(side), side))
    paused = any(node.status == PAUSED for node in state.nodes)
    if noticed_at_us(state) is not None or not (sides or (paused and state.cuts)):
        return
    mended: tuple[Step, ...] = ({"heal": True},) if state.cuts else ()
    if mended:
        steps = (*mended, {"wait": REJOINING_S})
        yield Remedy("mend", (), (), steps, sides=tuple(sides), cut=True)
    disputed = [name for name in state.queues if _differs(state, name)]
    for emptied in (False, True) if disputed else (False,):
        for stays in sides:
            others = [node for node in names if any(node in side for side in sides) and node not in stays]
            first = next(node for node in others)
            drained = [step for name in disputed for step in _drained(name, first)] if emptied else []
            steps = (*drained, *mended, {"stop": others}, {"start": others}, {"wait": REJOINING_S})
            queues = tuple(disputed) if emptied else ()
            yield Remedy("mend", tuple(others), queues, steps, sides=tuple(sides), cut=bool(mended))


def _differs(state: State, name: str) -> bool:
    contents = {side.queues[name].content for side in state.sides if name in side.queues}
    return len(contents) > 1 and not state.queues[name].has_group


def _drained(queue: str, node: str) -> Iterator[Step]:
    """Yield the steps of a consumer that takes all messages of a queue, as a node sees it, and closes."""
    consumer = f"{queue} emptied on {node}"
    yield {"consume": {"consumer": consumer, "queue": queue, "node": node, "ack": "auto", "connection": consumer}}
    yield {"close": consumer}


def _start(run: Run) -> Iterator[Remedy]:
    """Propose to start nodes that are down.

    If one of them brings back as many queues as all together, any such node; else as few nodes as do. If no queue is
    unavailable, or none comes back, propose all of them, or each.
    """
    down = _nodes(run, lambda node: node.member and node.status == DOWN)
    out = {one.queue for one in out_of_use(run)}

    def back(nodes: Iterable[str]) -> set[str]:
        ahead = played(run, [{"start": [*nodes]}])
        return set() if ahead is None else out - {one.queue for one in out_of_use(ahead)}

    if not down:
        return
    if out and (queues := back(down)):
        single = tuple(node for node in down if back([node]) == queues)
        few = list(down)
        for node in down if not single else ():
            fewer = [other for other in few if other != node]
            few = fewer if fewer and back(fewer) == queues else few
        nodes = single or tuple(few)
        started = nodes[:1] if single else nodes
        kind = "start_one" if len(single) > 1 else "start"
        yield Remedy(kind, nodes, tuple(sorted(queues)), ({"start": [*started]},))
    else:
        yield Remedy("start", down, (), ({"start": [*down]},))
        for node in down:
            yield Remedy("start", (node,), (), ({"start": [node]},))
        ahead = played(run, [{"start": [*down]}])
        if behind := [] if ahead is None else _behind(ahead):
            steps = ({"start": [*down]}, *({"sync_queue": queue} for queue in behind))
            yield Remedy("start_synchronise", down, tuple(behind), steps)


def _restart(run: Run) -> Iterator[Remedy]:
    """Propose to restart, one after the other, the running nodes of queues whose process has ended."""
    state, names = run.moment().state, run.settings.names
    queues = (state.queues[one.queue] for one in out_of_use(run) if one.reason == "failed")
    failed = {queue.name: names[queue.master] for queue in queues if queue.master != NOWHERE}
    nodes = tuple(dict.fromkeys(failed.values()))
    if failed:
        steps = tuple({verb: [node]} for node in nodes for verb in ("stop", "start"))
        yield Remedy("restart", nodes, tuple(failed), steps)


def _replace(run: Run) -> Iterator[Remedy]:
    """Propose to replace members on nodes outside the cluster by members on running nodes, or on nodes to start.

    They are only deleted where that is enough.
    """
    names = run.settings.names
    changed = [(queue, change) for queue, change in _changes(run) if not change.rejoin]
    if changed:
        started = dict.fromkeys(names[node] for _, change in changed for node in change.start)
        start = ({"start": [*started]},) if started else ()
        steps = [step for queue, change in changed for verb, nodes in (("delete_member", change.delete),
                 ("add_member", change.add)) for step in _member_steps(verb, queue, nodes, names)]  # fmt: skip
        nodes = dict.fromkeys(names[node] for _, change in changed for node in change.delete)
        yield Remedy("replace", tuple(nodes), tuple(queue.name for queue, _ in changed), (*start, *steps))


def _changes(run: Run) -> Iterator[tuple[Queue, Change[int]]]:
    """Yield the queues with members on nodes that are no members of the cluster, each with what is done about them."""
    state = run.moment().state
    hosted = _hosted(state)
    streams = STREAM_PROFILES.get(run.settings.profile.version)
    for queue in state.queues.values():
        gone = [one for one in queue.members if not state.nodes[one].member] if queue.has_group else []
        if gone:
            off = set(offline(state, state.sides[0], queue))
            online = [one for one in queue.members if one not in off]
            deletes = queue.type != STREAM or (streams is not None and streams.deletes_where_down)
            free, down = (_free(state, queue, hosted, status) for status in (RUNNING, DOWN))
            yield queue, change(queue.members, online, gone, free, down, deletes)


def _member_steps(verb: str, queue: Queue, nodes: Iterable[int], names: Sequence[str]) -> list[Step]:
    return [{verb: {"queue": queue.name, "node": names[node]}} for node in nodes]


def _synchronise(run: Run) -> Iterator[Remedy]:
    """Propose to synchronise queues with running mirrors that lack messages."""
    yield from _all_or_each("synchronise", _behind(run), lambda name: [{"sync_queue": name}])


def _behind(run: Run) -> list[str]:
    return sorted(
        queue.name for queue in run.moment().state.queues.values()
        if queue.up and not queue.syncing and set(queue.mirrors) - set(queue.synchronised)
    )  # fmt: skip


def _empty(run: Run, queues: Sequence[str]) -> Iterator[Remedy]:
    """Propose that consumers empty classic queues before a node goes."""
    known = run.moment().state.queues
    full = [name for name in queues if name in known and not known[name].has_group and known[name].content]
    yield from _all_or_each("empty", full, lambda name: [{"purge": name}])


def _add(run: Run, queues: Sequence[str]) -> Iterator[Remedy]:
    """Propose members, or stream replicas, on further running nodes.

    It adds as few as let a queue survive one more node failure.
    """
    state, names = run.moment().state, run.settings.names
    hosted = _hosted(state)
    known = [queue for name in queues if (queue := state.queues.get(name)) is not None and queue.has_group and queue.up]
    free = {queue.name: _free(state, queue, hosted) for queue in known}
    found: dict[str, list[Step]] = {}
    for count in range(1, MOST_ADDED + 1):
        tried = {
            queue.name: _member_steps("add_member", queue, free[queue.name][:count], names) for queue in known
            if queue.name not in found and len(free[queue.name]) >= count
        }  # fmt: skip
        found |= {name: tried[name] for name in _better(run, tried)}
    if added := {queue.name: found[queue.name] for queue in known if queue.name in found}:
        yield _adding(added)
        for name, steps in islice(added.items(), MOST_TRIED):
            yield _adding({name: steps})


def _better(run: Run, tried: Mapping[str, Sequence[Step]]) -> list[str]:
    """Return the queues that their own steps improve.

    The steps of all queues are played on one copy, unless one of them cannot be played: each queue on a copy of its own
    takes a time that grows with the square of their number.
    """
    ahead = played(run, [step for steps in tried.values() for step in steps]) if tried else None
    if ahead is None:
        return [name for name, steps in tried.items() if improved(run, steps) is not None]
    before, after = _standing_of(run, tried), _standing_of(ahead, tried)
    return [name for name in tried if after[name] < before[name]]


def _standing_of(run: Run, queues: Iterable[str]) -> dict[str, tuple[bool, int]]:
    """Return the measure of each queue; smaller is better: out of use, and, negative, how many nodes it can lose."""
    state, out = run.moment().state, {one.queue for one in out_of_use(run)}
    side = state.sides[0]
    return {name: (name in out, -_spare(state, side, side.queues[name])) for name in queues}


def _adding(added: Mapping[str, Sequence[Step]]) -> Remedy:
    steps = tuple(step for those in added.values() for step in those)
    nodes = dict.fromkeys(str(step["add_member"]["node"]) for step in steps)
    return Remedy("add_member", tuple(nodes), tuple(added), steps)


def _make_quorum(run: Run, queues: Sequence[str]) -> Iterator[Remedy]:
    """Propose to redeclare classic queues as quorum queues, with members on several nodes."""
    known, names = run.moment().state.queues, run.settings.names
    movable = [
        name for name in queues if (queue := known.get(name)) is not None and not queue.has_group and queue.up
        and queue.owner is None and queue.durable and not queue.auto_delete and not queue.mirrors
    ]  # fmt: skip

    def moved(name: str) -> list[Step]:
        declared = {"queue": name, "node": names[known[name].master], "arguments": {"x-queue-type": QUORUM}}
        count = runs.size(known[name].content)
        kept = [{"publish": {"queue": name, "count": count}}] if count else []
        return [{"purge": name}, {"delete": {"queue": name}}, {"declare": declared}, *kept]

    yield from _all_or_each("make_quorum", movable, moved)


def _rejoin(run: Run) -> Iterator[Remedy]:
    """Propose to reset and rejoin nodes that the cluster has forgotten but that still count themselves as members.

    Members on them follow for queues that could otherwise not survive a node failure.
    """
    state = run.moment().state
    gone = [
        name for name, node in zip(run.settings.names, state.nodes, strict=True)
        if not node.member and not node.virgin and node.status in (DOWN, WAITING)
    ]  # fmt: skip
    steps: list[Step] = []
    for name in gone:
        waits = state.nodes[run.settings.names.index(name)].status == WAITING
        steps += [*([{"kill": name}] if waits else []), {"reset": name}, {"join": name}]
    members = [
        [step for queue, change in _changes(run) if change.rejoin
         for step in _member_steps(verb, queue, getattr(change, key), run.settings.names)
         if step[verb]["node"] in gone]
        for verb, key in (("delete_member", "delete"), ("add_member", "add"))
    ]  # fmt: skip
    for deleted, added in (members, ([], [])) if any(members) else (([], []),):
        every = [*deleted, *steps, *added]
        ahead = played(run, every) if steps else None
        if ahead is None:
            continue
        more = next(_add(ahead, short(ahead)), None)
        every += more.steps if more is not None else ()
        queues = dict.fromkeys(step["add_member"]["queue"] for step in every if "add_member" in step)
        yield Remedy("rejoin", tuple(gone), tuple(queues), tuple(every))


def _join(run: Run) -> Iterator[Remedy]:
    """Propose to join nodes that have been reset and run in no cluster."""
    out = _nodes(run, lambda node: not node.member and node.virgin and node.status == DOWN)
    for nodes in ([out] if out else []) + ([(node,) for node in out] if len(out) > 1 else []):
        yield Remedy("join", nodes, (), tuple({"join": node} for node in nodes))


def _all_or_each(kind: str, queues: Sequence[str], steps: Callable[[str], list[Step]]) -> Iterator[Remedy]:
    """Yield a remedy for all queues, then one for each of the first `MOST_TRIED` in case the first does not help."""
    each = [[queue] for queue in queues[:MOST_TRIED]] if len(queues) > 1 else []
    for chosen in ([queues] if queues else []) + each:
        yield Remedy(kind, (), tuple(chosen), tuple(step for queue in chosen for step in steps(queue)))


def _nodes(run: Run, which: Callable) -> tuple[str, ...]:
    names = run.settings.names
    return tuple(names[index] for index, node in enumerate(run.moment().state.nodes) if which(node))


def _hosted(state: State) -> Counter[int]:
    """Return how many members of quorum queues and streams each node has."""
    return Counter(node for queue in state.queues.values() for node in queue.members)


def _free(state: State, queue: Queue, hosted: Counter[int], status: int = RUNNING) -> list[int]:
    """Return the nodes of a status that accept new members and have none of the queue's, fewest members first.

    `status` is RUNNING or DOWN; `hosted` counts the members on each node (see `_hosted`).
    """
    free = [
        node for node, value in enumerate(state.nodes)
        if value.status == status and value.member and not value.drained and node not in queue.members
    ]  # fmt: skip
    return sorted(free, key=lambda node: (hosted[node], node))
