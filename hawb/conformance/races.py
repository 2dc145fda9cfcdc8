"""The races of a real cluster, and how outcomes are compared in spite of them.

- RabbitMQ draws by its clock where the model draws by the scenario's seed: another seed is as good
  (`outcomes_by_seed`), and so is another name for a node that no step and no policy names (`renamings`).
- Mirrors that join at the same moment are in any order.
- Once a node came back, mirrors that are not synchronised may be among the recoverable ones or not: nodes add its
  mirror when that joins, and remove each other's when they see each other up (`rabbit_amqqueue:on_node_up`), and the
  order is random. The same holds for mirrors that stop before they are synchronised.
- Members that lose their leader become candidates at random times. A member whose node came back may do so as well,
  before it receives a message of the leader. Links that are silent during a step that takes no time in the model may be
  silent for long enough there. So leaders are compared only as long as none of this has happened.
- Messages that several consumers of a quorum queue held are requeued in the order in which their channels end.
- Messages that channels have sent while there was no master are ordered channel by channel in the mirror that takes
  over, in the order of their processes (`rabbit_mirror_queue_slave:promote_me`, `maps:to_list`). If a limit leaves room
  for some of them, chance decides for which (`luckily_taken`).
- The number of messages of a client with a rate at some moment follows from the machine's clock: numbers may differ by
  the client's messages in half a second, and in seconds more after steps that begin once the cluster has settled.
- Since 4.0 a classic queue keeps messages that came without a confirm in memory until it hibernates, after a second
  without messages at first and later after longer (`rabbit_classic_queue_index_v2:needs_sync`, `gen_server2`): when its
  node is killed they may be lost.
- A quorum queue whose majority comes with a node may have a leader before that node has its classic queues' bindings
  again (`rabbit_vhost:recover`): messages that it dead-letters to them at once may be lost.

`consumer_races` has the races of consumers, and `master_races` those that decide which node is the master.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import chain, permutations
from typing import Any

from msgspec.structs import replace

from hawb.engine.core.naming import join_queue, split_queue
from hawb.rules.profiles import PROFILES
from hawb.scenario.document import Scenario
from hawb.scenario.dump import plain
from hawb.scenario.outcome import outcome
from hawb.scenario.run import Run
from hawb.scenario.verbs import Publisher

SEEDS = 500
"""The most seeds that the model is played with."""
ALIKE = 16
"""If this many seeds make no difference, hawb tries no more."""
JITTER_S = 0.5
"""The most delay of an event on a real machine, with the time of a look, in seconds."""
SETTLING_S = 3.0
"""The variation of the duration of a step that begins when the cluster has settled, in seconds."""
GOING = ("node_stopping", "node_killed", "node_lost_power")
SORTED = frozenset({"members", "online", "synchronised_mirrors"})
"""Lists that have no order of their own."""

Outcome = dict[str, Any]
"""An outcome, or a part of it."""


# Draws


def outcomes_by_seed(scenario: Scenario, steps: list[int | None], seeds: int) -> Iterator[list[Outcome]]:
    """Yield the model's outcomes of a scenario at these steps and at its end (None).

    They are those of its own seed and then of others. Each different list of outcomes comes once.
    """
    seen = set()
    for tried, seed in enumerate((scenario.seed, *range(seeds))):
        if tried > ALIKE and len(seen) == 1:
            return
        run = Run.of(replace(scenario, seed=seed))
        outcomes = [outcome(run, None if step is None else run.moment_of(step)) for step in steps]
        key = repr([part | {"seed": None} for part in outcomes])
        if key not in seen:
            seen.add(key)
            yield outcomes


def renamings(scenario: Scenario) -> Iterator[dict[str, str]]:
    """Yield the ways to rename nodes that no step and no policy names; the first one renames nothing."""
    named: set[str] = set()

    def note(value: Any) -> None:
        if isinstance(value, str):
            named.add(value)
        elif isinstance(value, dict):
            for inner in value.values():
                note(inner)
        elif isinstance(value, list):
            for inner in value:
                note(inner)

    file = plain(scenario)
    for part in ("policies", "operator_policies", "queues", "steps"):
        note([step for step in file.get(part, []) if "expect" not in step])
    free = [name for name in scenario.known_nodes if name not in named]
    for order in permutations(free):
        yield dict(zip(free, order, strict=True))


def renamed(value: Any, names: dict[str, str]) -> Any:
    """Return a value with nodes renamed, wherever a name is a whole string."""
    if isinstance(value, str):
        return names.get(value, value)
    if isinstance(value, list):
        return [renamed(inner, names) for inner in value]
    if isinstance(value, dict):
        new = {names.get(key, key): renamed(inner, names) for key, inner in value.items()}
        return new | {key: sorted(new[key]) for key in SORTED & new.keys() if isinstance(new[key], list)}
    return value


# Leaders


def nodes_that_came_back(model: Outcome) -> set[str]:
    """Return the nodes that were booted or revived since the beginning."""
    return {event["node"] for event in model.get("events", ()) if event["event"] in ("node_running", "node_revived")}


# Orders


def in_the_order_of(seen: dict[str, Outcome], model: Outcome) -> dict[str, Outcome]:
    """Return the model's queues with the broker's values wherever the two differ only by an order or a race."""
    added = [event for event in model.get("events", ()) if event["event"] == "mirror_added"]
    joined = {(event["queue"], event["node"]): event["t"] for event in added}
    back = nodes_that_came_back(model)
    queues = {}
    for name, queue in model["queues"].items():
        other = seen.get(name, {})
        lucky: Outcome = {}
        if queue["type"] == "classic":
            since = {node: joined.get((name, node), node) for node in queue["mirrors"] + queue["recoverable_mirrors"]}
            unsure = perhaps_struck(name, model) | stopped_mirrors(queue, model)
            unsure |= {queue["master"], *queue["mirrors"]} if back else set()
            lucky = mirrors_in_order(queue, other, since) | recoverable_or_not(queue, other, unsure)
            lucky |= without_unwritten(queue, other, unwritten(name, model) | unrouted(name, model))
            if "ids" in other:
                came = (event["detail"]["ids"] for event in waited(name, model))
                lucky |= held_ones_in_order(queue, other, set(numbers(chain(*came))))
        elif "ids" in other:
            lucky = held_ones_in_order(queue, other, held_by_several(name, model))
        queues[name] = queue | lucky
    return queues


def mirrors_in_order(queue: Outcome, other: Outcome, since: dict[str, Any]) -> Outcome:
    """Return mirrors in the broker's order, if only mirrors that joined at the same moment have changed places."""
    found = {}
    for field in {"mirrors", "recoverable_mirrors"} & other.keys():
        mine, its = queue[field], other[field]
        if sorted(mine) == sorted(its) and [since[node] for node in mine] == [since[node] for node in its]:
            found[field] = its
    return found


def recoverable_or_not(queue: Outcome, other: Outcome, unsure: set[str]) -> Outcome:
    """Return the broker's recoverable mirrors, if only mirrors differ that are unsure and not synchronised.

    If some are unsure, any may have been removed and added again at the end.
    """
    either = unsure.difference(queue.get("synchronised_mirrors", ()))
    its = other.get("recoverable_mirrors", ())
    mine, others = ([node for node in nodes if node not in either] for nodes in (queue["recoverable_mirrors"], its))
    same = mine == others or (unsure and sorted(mine) == sorted(others))
    return {"recoverable_mirrors": its} if "recoverable_mirrors" in other and same else {}


def perhaps_struck(name: str, model: Outcome) -> set[str]:
    """Return the nodes whose mirror may have been taken off the list of recoverable mirrors.

    Such a mirror was not synchronised when another node came up, or it joined when its own node came up. It has not
    been synchronised since.
    """
    behind: set[str] = set()
    struck: set[str] = set()
    up_at: dict[str, int] = {}
    for event in model.get("events", ()):
        if event["event"] == "node_running":
            struck |= behind
            up_at[event["node"]] = event["step"]
        elif event["queue"] == name and event["event"] == "mirror_added" and not event["detail"]["synchronised"]:
            behind.add(event["node"])
            if up_at.get(event["node"]) == event["step"]:
                struck.add(event["node"])
        elif event["queue"] == name and event["event"] in ("mirror_removed", "mirror_synchronised"):
            behind.discard(event["node"])
            if event["event"] == "mirror_synchronised":
                struck.discard(event["node"])
    return struck


def stopped_mirrors(queue: Outcome, model: Outcome) -> set[str]:
    """Return the nodes that were stopped and have no replica of a queue now."""
    how = {event["node"]: event["event"] for event in model.get("events", ()) if event["event"] in GOING}
    return {node for node, last in how.items() if last == "node_stopping"} - {queue["master"], *queue["mirrors"]}


def held_ones_in_order(queue: Outcome, other: Outcome, held: set[int]) -> Outcome:
    """Return the broker's messages, if only messages of `held` have changed places."""
    same = held and held_in_order(queue["ids"], held) == held_in_order(other["ids"], held)
    return {"ids": other["ids"]} if same else {}


def held_by_several(name: str, model: Outcome) -> set[int]:
    """Return the messages of a queue of which several consumers hold a part.

    This includes messages that consumers held when their node went down, and messages that several consumers returned
    at the same moment.
    """
    held = [consumer["unacknowledged"] for consumer in model["consumers"].values() if consumer["queue"] == name]
    held = [runs for runs in held if runs]
    went: dict[float, list[Any]] = defaultdict(list)
    for event in model["events"]:
        if event["queue"] == name and event["event"] == "consumer_closed":
            went[event["t"]].append(model["consumers"][event["detail"]["consumer"]]["received"])
    back: dict[float, list[Any]] = defaultdict(list)
    for event in model["events"]:
        if event["queue"] == name and event["event"] == "messages_requeued":
            back[event["t"]].append(event["detail"]["ids"])
    together = [held, *went.values(), *back.values()]
    return set(numbers(chain(*chain(*(runs for runs in together if len(runs) > 1)))))


def waited(name: str, model: Outcome) -> list[Outcome]:
    """Return the events of messages that a mirror of a queue had from channels when it took over."""
    found: list[Outcome] = []
    took_over: Outcome | None = None
    for event in model.get("events", ()):
        if event["queue"] != name:
            continue
        if event["event"] == "promoted":
            took_over = event
        elif took_over and event["t"] == took_over["t"] and event["step"] < took_over["step"]:
            found += [event] * (event["event"] in ("messages_published", "messages_refused"))
    return found


def luckily_taken(scenario: Scenario, model: Outcome) -> set[str]:
    """Return the queues whose mirror took over with messages from clients at several nodes, and no room for all."""
    found = set()
    for name, queue in model["queues"].items():
        events = waited(name, model) if queue["type"] == "classic" else []
        nodes = {getattr(scenario.steps[event["step"]].verb, "node", None) for event in events}
        if len(nodes) > 1 and any(event["event"] == "messages_refused" for event in events):
            found.add(name)
    return found


def held_in_order(ids: list[list[int]], held: set[int]) -> list[int]:
    """Return numbers in the order of `ids`, with the held ones sorted among themselves."""
    sorted_ones = iter(sorted(held.intersection(numbers(ids))))
    return [next(sorted_ones) if number in held else number for number in numbers(ids)]


# Content of disks


def unwritten(name: str, model: Outcome) -> set[int]:
    """Return the messages of a classic queue that came without a confirm before its master's node was killed.

    It is empty in releases with mirroring, which do not keep them in memory.
    """
    if "version" not in model or PROFILES[model["version"]].mirroring:
        return set()
    came: set[int] = set()
    lost: set[int] = set()
    for event in model.get("events", ()):
        detail = event["detail"]
        here = (event["queue"] == name, event["event"])
        if here == (True, "messages_published") or (
            event["event"] == "messages_dead_lettered" and name in detail["targets"]
        ):
            came |= set(numbers(detail["ids"]))
        elif here == (True, "messages_confirmed"):
            came -= set(numbers(detail["ids"]))
        elif here == (True, "master_down") and detail["reason"] == "node_killed":
            lost |= came
            came = set()
    return lost


def unrouted(name: str, model: Outcome) -> set[int]:
    """Return the messages that quorum queues dead-letter to a classic queue that comes back with its node.

    Only those of the step in which it comes back are included.
    """
    back_in = {event["step"] for event in model.get("events", ())
               if event["event"] == "queue_recovered" and event["queue"] == name}  # fmt: skip
    letters = (event for event in model.get("events", ())
               if event["event"] == "messages_dead_lettered" and event["step"] in back_in
               and name in event["detail"]["targets"]
               and model["queues"].get(event["queue"], {}).get("type") == "quorum")  # fmt: skip
    return set(numbers(chain(*(event["detail"]["ids"] for event in letters))))


def without_unwritten(queue: Outcome, other: Outcome, unwritten: set[int]) -> Outcome:
    """Return the broker's messages and their counts, if it lacks only messages that may be unwritten."""
    missing = queue["messages"] - other["messages"] if unwritten and other.get("messages") is not None else 0
    if not 0 < missing <= len(unwritten):
        return {}
    found = {key: other[key] for key in ("messages", "messages_ready") if key in other}
    if "ids" in other:
        left = set(numbers(other["ids"]))
        gone = set(numbers(queue["ids"])) - left
        if not gone <= unwritten:
            return {}
        found |= {"ids": other["ids"], "redelivered": other["redelivered"]}
    return found


def numbers(runs: Iterable[list[int]]) -> Iterator[int]:
    """Return the numbers of runs [first, last]."""
    return chain.from_iterable(range(first, last + 1) for first, last in runs)


# Clients with a rate


def slack_of(scenario: Scenario) -> dict[str, float]:
    """Return by how many messages the numbers of each queue that has clients with a rate may differ."""
    rates: dict[str, float] = defaultdict(float)
    steady = [index for index, step in enumerate(scenario.steps) if getattr(step.verb, "rate", None)]
    for index in steady:
        verb: Any = scenario.steps[index].verb
        rates[whole(verb.queue)] += verb.rate
    settling = sum(step.at is None for step in scenario.steps[min(steady, default=0) + 1 :])
    return {name: rate * (JITTER_S + SETTLING_S * settling) for name, rate in rates.items()}


def with_its_numbers(mine: Any, its: Any, slack: float) -> Any:
    """Return a part of the model's outcome, with the broker's numbers that differ by no more than `slack`."""
    if isinstance(mine, dict) and isinstance(its, dict):
        return mine | {key: with_its_numbers(mine[key], its[key], slack) for key in mine.keys() & its.keys()}
    if isinstance(mine, list) and isinstance(its, list) and len(mine) == len(its):
        return [with_its_numbers(one, other, slack) for one, other in zip(mine, its, strict=True)]
    counts = type(mine) is type(its) is int
    return its if counts and abs(mine - its) <= slack else mine


def with_steady_numbers(mine: Outcome, its: Outcome, scenario: Scenario) -> Outcome:
    """Return the model's outcome with the broker's numbers of clients with a rate, wherever they are near enough."""
    slack = slack_of(scenario)
    if not slack:
        return mine
    queues = {step.verb.name: step.verb.queue for step in scenario.steps if isinstance(step.verb, Publisher)}
    queues |= {name: consumer["queue"] for name, consumer in mine["consumers"].items()}
    adjusted = dict(mine)
    for section in ("queues", "ledger", "consumers", "publishers"):
        adjusted[section] = {
            name: with_its_numbers(entry, its.get(section, {}).get(name), slack.get(whole(queues.get(name, name)), 0))
            for name, entry in mine[section].items()
        }
    return adjusted


def whole(queue: str) -> str:
    """Return a queue's name as outcomes have it."""
    return join_queue(*split_queue(queue))


def without(values: Outcome, *keys: str) -> Outcome:
    """Return a part of an outcome without some fields."""
    return {key: value for key, value in values.items() if key not in keys}
