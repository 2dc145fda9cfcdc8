"""Compare what hawb reads from the logs of real clusters with the driver's actions and the nodes' state
(`kept_logs`).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from kept_logs import exports, scenario_of, seen, story_of
from msgspec.structs import replace

from hawb.engine.core import runs
from hawb.incident.cluster_event import ClusterEvent
from hawb.incident.understanding import Incident, understand
from hawb.rules.nearest_profile import nearest
from hawb.scenario import verbs
from hawb.scenario.outcome import outcome
from hawb.scenario.run import Run

LATE_S = 40.0
"""How long after a step what it does may be logged: a boot takes half a minute on a busy machine, and links are missed
after net_ticktime, which has its own."""
SETTLED_S = 3.0
"""How far apart the logs and the looks at nodes may tell of the same."""
UNWRITTEN_S = 1.2
ENDS = {verbs.Stop: "node_stopped", verbs.Kill: "node_killed", verbs.PowerOff: "node_killed"}
Key = tuple[str, str | None, str | None]
"""Kind, node by the driver's name, queue."""


class Fact(NamedTuple):
    """What truly happened, in a span of seconds since 1970."""

    key: Key
    from_s: float
    until_s: float


def is_of(fact: Fact, key: Key, at_s: float) -> bool:
    """Return True if a finding is this fact."""
    return fact.key == key and fact.from_s <= at_s <= fact.until_s


class Measure(NamedTuple):
    """All facts that were found, missing facts, and findings that nothing confirms."""

    found: int
    missing: list[Fact]
    unconfirmed: list[Key]


def understood(story: Path, later: bool = False) -> Incident:
    """Return the incident of a story, from its logs and its exports of before; with `later` from those of after, too.
    Each is computed once per process."""
    return _understood(story, later)


@cache
def _understood(story: Path, later: bool) -> Incident:
    # Two parameters without a default: `cache` would keep `f(story)` and `f(story, False)` apart.
    return understand([story], exports(story, "before"), later=exports(story, "after") if later else (), keepers=False)


def facts(story: Path) -> Iterator[Fact]:
    """Return the driver's actions on nodes, and the changes of queues that nodes showed."""
    yield from of_steps(story)
    yield from (fact for fact in of_queues(story) if not unwritten(story, fact))


def unwritten(story: Path, fact: Fact) -> bool:
    """Whether the log of a fact may have gone with its node: 3.8's lager writes a second late, and what it still held
    is lost with a kill."""
    result, steps = story_of(story), scenario_of(story).steps
    kills = [at_s for at_s, place in result["begun"] if place is not None and place >= 0
             and isinstance(steps[place].verb, verbs.Kill)]  # fmt: skip
    return result["release"].startswith("3.8") and any(
        fact.from_s <= at_s <= fact.until_s + UNWRITTEN_S for at_s in kills
    )


def of_steps(story: Path) -> Iterator[Fact]:
    """Return what steps do to nodes. A step that the cluster refused or did not answer has no known effect."""
    facts_, scenario = story_of(story), scenario_of(story)
    refused = {error["step"] for error in facts_.get("errors", ())}
    begun = [(at_s, place) for at_s, place in facts_["begun"]
             if place is not None and place >= 0 and place not in refused]  # fmt: skip
    down = set(scenario.cluster.down) | (set(scenario.known_nodes) - set(scenario.cluster.nodes))
    for at_s, place in begun:
        verb, span = scenario.steps[place].verb, (at_s - 1, at_s + LATE_S)
        match verb:
            case verbs.Stop(nodes=nodes) | verbs.Kill(nodes=nodes) | verbs.PowerOff(nodes=nodes):
                late = LATE_S + scenario.cluster.net_ticktime * 1.5 if isinstance(verb, verbs.PowerOff) else LATE_S
                yield from (Fact((ENDS[type(verb)], node, None), at_s - 1, at_s + late) for node in nodes
                            if node not in down)  # fmt: skip
                down |= {*nodes}
            case verbs.Wipe(node=node) if node not in down:
                yield Fact(("node_killed", node, None), *span)
                down.add(node)
            case verbs.Start(nodes=nodes):
                yield from (Fact(("node_started", node, None), at_s - 1, at_s + 4 * LATE_S) for node in nodes
                            if node in down)  # fmt: skip
                down -= {*nodes}
            case verbs.ForceBoot(node=node) if node in down:
                yield Fact(("node_started", node, None), at_s - 1, at_s + 4 * LATE_S)
                down -= {node}
            case verbs.Drain(node=node) if node not in down:
                yield Fact(("node_drained", node, None), *span)
            case verbs.Join(node=node):
                yield Fact(("node_joined", node, None), at_s - 1, at_s + 4 * LATE_S)
                down -= {node}


def of_queues(story: Path) -> Iterator[Fact]:
    """Return promoted masters, elected leaders and joined mirrors between one look and the next."""
    known: dict[str, dict[str, Any]] = {}
    last_s = 0.0
    for look in seen(story):
        for queue, now in look.get("queues", {}).items():
            before = known.get(queue)
            if before and now and "views" not in now and "views" not in before:
                span = last_s - SETTLED_S, look["at"] + SETTLED_S
                for key in ("master", "leader"):
                    if before.get(key) and now.get(key) and before[key] != now[key]:
                        kind = "mirror_promoted" if key == "master" else "leader_elected"
                        yield Fact((kind, now[key], queue), *span)
                for node in set(now.get("mirrors", ())) - {*before.get("mirrors", ()), before.get("master")}:
                    yield Fact(("mirror_added", node, queue), *span)
            if now is None:
                known.pop(queue, None)
            else:
                known[queue] = (before or {}) | {key: value for key, value in now.items() if value or key != "leader"}
        last_s = look["at"]


def confirmed(story: Path, key: Key, at_s: float) -> bool:
    """Whether nodes were seen to know of a promotion, an election or a mirror at about a time, or later. What nobody
    looked at in time, while a step only let time pass, can be neither confirmed nor denied, and is taken to be so."""
    kind, node, queue = key
    if not any(at_s <= look["at"] <= at_s + SETTLED_S for look in seen(story)):
        return True
    field = {"mirror_promoted": "master", "leader_elected": "leader", "mirror_added": "mirrors"}[kind]
    looks = [(look["at"], look["queues"][queue]) for look in seen(story) if queue in look.get("queues", {})]
    near = [(seen_s, now) for seen_s, now in looks if seen_s >= at_s - SETTLED_S]
    before = [now for seen_s, now in looks if seen_s < at_s - SETTLED_S][-1:]
    values = [view.get(field) for now in [*before, *(now for _, now in near)] if now
              for view in (now, *now.get("views", ()))]  # fmt: skip
    return any(node == value or node in (value or ()) for value in values)


@cache
def measured(story: Path) -> Measure:
    """Compare the facts of a story with its logs: count what is found, list what is missing or not confirmed."""
    incident, facts_ = understood(story), story_of(story)
    names, begins_s = facts_["names"], facts_["begun"][0][0]
    found = [(one, (one.kind, names.get(one.node or ""), one.queue), one.at_us / 1e6) for one in incident.cluster_events
            if one.at_us / 1e6 >= begins_s - 1]  # fmt: skip
    true = [*facts(story)]
    missing = [fact for fact in true if not any(is_of(fact, key, at_s) for _, key, at_s in found)]
    return Measure(len(true) - len(missing), missing, [*unconfirmed(story, found)])


def unconfirmed(story: Path, result: list[tuple[ClusterEvent, Key, float]]) -> Iterator[Key]:
    """Return findings that nothing confirms: ends of nodes that the driver did not cause, and changes that no node
    showed.
    """
    of_nodes = [fact for fact in of_steps(story) if fact.key[0] in ENDS.values()]
    joining = [at_s for one, _, at_s in result if one.kind == "node_joined"]
    for _, key, at_s in result:
        if key[0] in ENDS.values():
            done = any(is_of(fact, key, at_s) for fact in of_nodes)
            if not done and not any(abs(at_s - joined_s) < LATE_S for joined_s in joining):
                yield key
        elif key[0] in ("mirror_promoted", "leader_elected", "mirror_added") and seen(story):
            if not confirmed(story, key, at_s):
                yield key
        elif key[0] in ("partition_begun", "node_paused") and not any(
            isinstance(step.verb, verbs.Partition | verbs.Cut) for step in scenario_of(story).steps
        ):
            yield key


# How the cluster stands in the end, and what is lost


class Difference(NamedTuple):
    """A difference between a reconstructed story and the real cluster in the end: `messages` or `place`, both sides,
    and whether the story itself says that it is not sure of it.
    """

    queue: str
    what: str
    real: Any
    modelled: Any
    unsure: bool


def stands(queue: dict[str, Any] | None, names: dict[str, str]) -> dict[str, Any]:
    """Return a queue's place and its number of messages in an outcome; the order of mirrors is ignored."""
    if queue is None:
        return {"messages": None, "place": None}
    first = queue.get("master") or queue.get("leader")
    others = queue.get("members") if "members" in queue else queue.get("mirrors", ())
    place = names.get(first or "", first), sorted(names.get(node, node) for node in others or ())
    return {"messages": queue.get("messages"), "place": place}


def views_of(queue: dict[str, Any] | None) -> list[dict[str, Any] | None]:
    """Return a queue of an outcome, and each side's view of it in a partition: the real one was asked through links
    that work again.
    """
    views = (queue or {}).get("views", ())
    return [queue, *(view | {"messages": sum(last - first + 1 for first, last in view["ids"])} for view in views)]


def differences(story: Path, later: bool = False) -> list[Difference]:
    """Return the differences between the end of a reconstructed story and the real cluster."""
    facts_ = story_of(story)
    return otherwise(understood(story, later), facts_["queues"], facts_["names"])


def otherwise(incident: Incident, queues: dict[str, Any], names: dict[str, str]) -> list[Difference]:
    """Return the differences between the end of an incident and these queues.

    The length of a real queue that is down is unknown.
    """
    result = incident.outcome["queues"] if incident.outcome else {}
    found = []
    for queue, real in queues.items():
        one, others = stands(real, {}), [stands(view, names) for view in views_of(result.get(queue))]
        found += [Difference(queue, what, one[what], others[0][what], what in incident.unsure(queue))
                  for what in one if one[what] not in [other[what] for other in others]
                  and not (what == "messages" and real["state"] == "down")]  # fmt: skip
    return found


class Lost(NamedTuple):
    """A queue, its lost messages, those that hawb reports as certainly lost, and whether it reports possible losses."""

    queue: str
    real: int
    certain: int
    possible: bool


@cache
def lost(story: Path) -> list[Lost]:
    """Return the losses of the queues of a story that run in the end; an empty list if its ledger was not kept."""
    facts_, result = story_of(story), {one.queue: one for one in understood(story).losses}
    found = []
    for queue, account in facts_.get("ledger", {}).items():
        real = facts_["queues"].get(queue, {})
        if "ids" in real and real.get("state") == "running":
            gone = runs.size(missing_in_the_end(story, queue, account, real))
            one = result.get(queue)
            found.append(Lost(queue, gone, one.certainly_lost if one else 0, bool(one and one.possible)))
    return found


def missing_in_the_end(story: Path, queue: str, account: dict[str, Any], real: dict[str, Any]) -> runs.Runs:
    """The numbers of messages that were published and are neither in the queue nor known to have left it: what clients
    acknowledged, and what the steps purge or let expire."""
    model = expected(story)["ledger"].get(queue, {"removed": {}, "refused": []})
    there = [view["ids"] for view in (real, *(real.get("views") or ())) if view.get("ids")]
    left = [*there, account["acknowledged"], account["nacked"], model["refused"], *model["removed"].values()]
    numbers = runs.run(1, account["published"])
    for some in left:
        numbers = runs.minus(numbers, runs.normal((first, last) for first, last in some))
    return numbers


@cache
def expected(story: Path) -> dict[str, Any]:
    """Return what the driver's scenario leads to by the rules."""
    scenario = scenario_of(story)
    version = nearest(story_of(story)["release"]) or scenario.cluster.version
    return outcome(Run.of(replace(scenario, cluster=replace(scenario.cluster, version=version))))
