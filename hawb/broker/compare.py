"""Model and broker side by side: what differs, field by field.

Only what the broker tells is compared, and no field of which the scenario says that it is a matter of luck (`racy`), or
which is known to differ. Texts are compared where RabbitMQ gave a reply code; what rabbitmqctl refuses is
compared by its step. Nodes that no step and no policy names are exchangeable where RabbitMQ chooses at random: the
comparison holds if it holds for some renaming of them. Mirrors that join at the same moment stand in any order, and
so does what several consumers of a quorum queue hold. Who leads such a queue is compared as long as nobody was elected
but by declaration or on demand. Of its messages the broker counts those that are committed. The place of a consumer
whose client is gone is not compared: a quorum queue keeps one that went with its node as suspected until the node is
back, and the model forgets it; neither serves it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain, permutations
from typing import Any, NamedTuple

from hawb.broker.real import Played
from hawb.scenario.document import Scenario, Uncompared
from hawb.scenario.dump import plain
from hawb.scenario.outcome import outcome
from hawb.scenario.run import Run
from hawb.scenario.verbs import TransferLeadership

ABSENT = "absent"
SKIPPED = frozenset({"broker", "contract", "scenario", "unobserved", "version", "seed"})
SORTED = frozenset({"synchronised_mirrors"})
"""Lists that have no order of their own."""


class Difference(NamedTuple):
    """A field in which model and broker differ; `step` is the `expect` step where it was seen, None at the end."""

    step: int | None
    field: str
    model: Any
    broker: Any

    def __str__(self) -> str:
        where = "at the end" if self.step is None else f"at step {self.step}"
        return f"{where}, {self.field}: the model says {self.model}, the broker {self.broker}"


def compare(played: Played, known: Uncompared | None = None) -> list[Difference]:
    """Where the model and a broker differ, but for what is `known`; the fewest that a renaming of exchangeable nodes
    leaves.

    Raises ScenarioRefused for what the model has no rules for.
    """
    scenario, observed, glances = played
    run = Run.of(scenario)
    told = [(step, outcome(run, run.moment_of(step)), seen) for step, seen in sorted(glances.items())]
    told.append((None, outcome(run), observed))
    told = [
        (step, as_counted(model), without_leaders(seen, elected(scenario, model))) for step, model, seen in told
    ]
    spared = uncompared(filter(None, (scenario.racy, known)))
    found = None
    for names in renamings(scenario):
        differing = [
            Difference(step, field, model, broker)
            for step, model_outcome, seen in told
            for field, model, broker in differences(model_outcome, renamed(seen, names))
            if not (spared.fullmatch(field) or spared.fullmatch(f"steps.{step}.{field}"))
        ]
        if found is None or len(differing) < len(found):
            found = differing
        if not found:
            break
    return found


def uncompared(parts: Iterable[Uncompared]) -> re.Pattern:
    """A pattern of the fields that are left out."""
    fields = (re.escape(name).replace(r"\*", ".*") for part in parts for name in part.fields)
    return re.compile("|".join(rf"{field}(\..*)?" for field in fields) or r"(?!)", re.DOTALL)


def elected(scenario: Scenario, model: dict[str, Any]) -> set[str]:
    """The quorum queues whose members have chosen their leader themselves, which is luck."""
    asked = {index for index, step in enumerate(scenario.steps) if isinstance(step.verb, TransferLeadership)} | {None}
    last = {event["queue"]: event for event in model["events"] if event["event"] == "leader_elected"}
    return {name for name, event in last.items() if event["detail"]["term"] > 1 and event["step"] not in asked}


def as_counted(model: dict[str, Any]) -> dict[str, Any]:
    """The model's outcome with the messages of quorum queues as a broker counts them."""
    queues = dict(model["queues"])
    for name, queue in queues.items():
        if pending := sum(last - first + 1 for first, last in queue.get("uncommitted", ())):
            queues[name] = queue | {key: queue[key] - pending for key in ("messages", "messages_ready")}
    return model | {"queues": queues}


def without_leaders(seen: dict[str, Any], names: set[str]) -> dict[str, Any]:
    """What a broker tells, but for who leads these queues."""
    queues = dict(seen.get("queues", {}))
    for name in names & queues.keys():
        queues[name] = {key: value for key, value in queues[name].items() if key != "leader"}
        if "views" in queues[name]:
            views = [{key: value for key, value in view.items() if key != "master"} for view in queues[name]["views"]]
            queues[name]["views"] = views
    return seen | {"queues": queues} if queues else seen


def renamings(scenario: Scenario) -> Iterator[dict[str, str]]:
    """The ways to rename nodes that nothing in the file names by itself; the first one renames nothing."""
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
    """A value with its nodes' names exchanged, those that stand by themselves."""
    if isinstance(value, str):
        return names.get(value, value)
    if isinstance(value, list):
        return [renamed(inner, names) for inner in value]
    if isinstance(value, dict):
        new = {names.get(key, key): renamed(inner, names) for key, inner in value.items()}
        return new | {key: sorted(new[key]) for key in SORTED & new.keys()}
    return value


def differences(model: dict[str, Any], broker: dict[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """(field, model, broker) wherever two outcomes differ in what the broker tells."""
    for section, seen in broker.items():
        if section == "errors":
            yield from error_differences(model["errors"], seen)
        elif section == "ledger":
            # Dead letters count as published to their queue, and clients see nothing of that.
            entries = {
                name: {key: value for key, value in entry.items() if key != "published"}
                for name, entry in seen.items()
                if entry["published"]
            }
            yield from walk((section,), {name: model["ledger"].get(name, {}) for name in entries}, entries)
        elif section == "consumers":
            yield from walk((section,), model[section], {name: placed(consumer) for name, consumer in seen.items()})
        elif section == "queues":
            yield from walk((section,), in_order_of(seen, model), seen)
        elif section not in SKIPPED:
            yield from walk((section,), model[section], seen)


def placed(consumer: dict[str, Any]) -> dict[str, Any]:
    """What a broker tells of a consumer, but for the place of one whose client is gone."""
    gone = consumer["state"] == "closed"
    return {key: value for key, value in consumer.items() if not (gone and key == "activity_status")}


def in_order_of(seen: dict[str, Any], model: dict[str, Any]) -> dict[str, Any]:
    """The model's queues with mirrors in the order of the broker's, where they joined at the same moment, and with what
    several consumers of a quorum queue hold in the order in which it came back: who of them comes first is a race."""
    added = [event for event in model.get("events", ()) if event["event"] == "mirror_added"]
    joined = {(event["queue"], event["node"]): event["t"] for event in added}
    queues = {}
    for name, queue in model["queues"].items():
        queues[name] = dict(queue)
        for field in {"mirrors", "recoverable_mirrors"} & queue.keys() & seen.get(name, {}).keys():
            mine, other = queue[field], seen[name][field]
            when = [[joined.get((name, node), node) for node in nodes] for nodes in (mine, other)]
            if sorted(mine) == sorted(other) and when[0] == when[1]:
                queues[name][field] = other
        other = seen.get(name, {}).get("ids")
        held = held_by_several(name, model) if queue["type"] == "quorum" and other else set()
        if held and held_in_order(queue["ids"], held) == held_in_order(other, held):
            queues[name]["ids"] = other
    return queues


def held_by_several(name: str, model: dict[str, Any]) -> set[int]:
    """What the consumers of a queue hold, if there is more than one that holds anything."""
    held = [consumer["unacknowledged"] for consumer in model["consumers"].values() if consumer["queue"] == name]
    held = [runs for runs in held if runs]
    return set(numbers(chain(*held))) if len(held) > 1 else set()


def held_in_order(ids: list[list[int]], held: set[int]) -> list[int]:
    """Numbers in the order of `ids`, but for those that are held, which are in their own."""
    sorted_ones = iter(sorted(held.intersection(numbers(ids))))
    return [next(sorted_ones) if number in held else number for number in numbers(ids)]


def numbers(runs: Iterable[list[int]]) -> Iterator[int]:
    """The numbers of runs [first, last]."""
    return chain.from_iterable(range(first, last + 1) for first, last in runs)


def walk(path: tuple[str, ...], model: Any, broker: Any) -> Iterator[tuple[str, Any, Any]]:
    """Differences below one field: maps by the broker's keys, and at their first two levels by the model's too."""
    if path[-1] == "views" and isinstance(model, list) and len(model) == len(broker):
        for index, (mine, seen) in enumerate(zip(model, broker, strict=True)):
            yield from walk((*path, str(index)), mine, seen)
        return
    if not (isinstance(model, dict) and isinstance(broker, dict)):
        if model != broker:
            yield ".".join(path), model, broker
        return
    keys = list(broker)
    if len(path) == 1:
        keys += [key for key in model if key not in broker]
    for key in keys:
        if key == "views" and key not in model:
            yield ".".join((*path, key)), ABSENT, broker[key]
        elif key not in model or key not in broker:
            yield ".".join((*path, key)), brief(model.get(key, ABSENT)), brief(broker.get(key, ABSENT))
        else:
            yield from walk((*path, key), model[key], broker[key])


def brief(value: Any) -> Any:
    """What stands for a whole entry in a message."""
    if not isinstance(value, dict):
        return value
    return {key: value[key] for key in ("state", "master", "mirrors", "leader", "members", "published") if key in value}


def error_differences(model: list[dict], broker: list[dict]) -> Iterator[tuple[str, Any, Any]]:
    """Errors, step by step."""
    steps = sorted({error["step"] for error in (*model, *broker)})
    for step in steps:
        mine, seen = ([error for error in errors if error["step"] == step] for errors in (model, broker))
        if [told(error) for error in mine] != [told(error) for error in seen]:
            yield f"errors.{step}", mine or ABSENT, seen or ABSENT


def told(error: dict[str, Any]) -> tuple:
    """What has to be the same of an error."""
    return error["code"], None if error["code"] is None else error["text"]
