"""Compare model and broker, field by field.

Only fields that the broker shows are compared, and none that the scenario declares racy (`racy`) or that is known to
differ; `hawb.conformance.races` has the races of every real cluster. Texts are compared if RabbitMQ gave a reply code;
refusals of rabbitmqctl are compared by their steps.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from hawb.broker.real import Played
from hawb.conformance.consumer_races import (
    luckily_cancelled,
    luckily_served,
    rejecting,
    without_consumers,
    without_lost_places,
    without_shares,
)
from hawb.conformance.leader_races import luckily_led, without_leaders
from hawb.conformance.master_races import luckily_inherited, luckily_kept, outrun, without_queues
from hawb.conformance.races import (
    SEEDS,
    in_the_order_of,
    luckily_taken,
    outcomes_by_seed,
    renamed,
    renamings,
    with_steady_numbers,
)
from hawb.engine.core.runs import as_lists, minus, normal
from hawb.scenario import numbering
from hawb.scenario.document import Scenario, Uncompared

ABSENT = "absent"
WHOLE = ""
"""The part of an outcome that has no name of its own."""
Cut = Callable[[dict[str, Any]], dict[str, dict[str, Any]]]
"""Divides an outcome into parts, each of which is compared by itself."""
Narrowed = Callable[[Scenario, str], Scenario]
"""Narrows a scenario to one part, with the same steps."""
SKIPPED = frozenset({"broker", "contract", "scenario", "unobserved", "version", "seed"})


class Difference(NamedTuple):
    """A field in which model and broker differ.

    `step` is the `expect` step where it was seen, None at the end.
    """

    step: int | None
    field: str
    model: Any
    broker: Any

    def __str__(self) -> str:
        where = "at the end" if self.step is None else f"at {numbering.place(self.step)}"
        return f"{where}, {self.field}: the model says {self.model}, the broker {self.broker}"


def compare(played: Played, known: Uncompared | None = None, seeds: int = SEEDS) -> list[Difference]:
    """Return the fields in which model and broker differ, without those `known` to differ.

    They are the fewest over seeds and renamings of exchangeable nodes: the scenario's own seed first, then `seeds`
    others. Raise ScenarioRefused for a scenario that the model has no rules for.
    """
    return compare_parts(played, lambda whole: {WHOLE: whole}, known, seeds).get(WHOLE, [])


def compare_parts(
    played: Played, cut: Cut, known: Uncompared | None = None, seeds: int = SEEDS, narrowed: Narrowed | None = None
) -> dict[str, list[Difference]]:
    """Return the differences of each part of the outcome, as `compare` does; only parts that differ.

    Chance in one part says nothing about another. So if the scenario can be `narrowed` to one part, other seeds are
    tried on that alone.
    """
    scenario, observed, glances, _ = played
    seen = [(step, cut(one)) for step, one in [*sorted(glances.items()), (None, observed)]]
    spared = uncompared(filter(None, (scenario.racy, known)))
    parts = {part for _, parts in seen for part in parts}
    if narrowed is None:
        return fewest(scenario, seen, cut, spared, parts, seeds)
    found = fewest(scenario, seen, cut, spared, parts, 0)
    alone = ((part, fewest(narrowed(scenario, part), seen, cut, spared, {part}, seeds)) for part in found)
    return {part: min(found[part], again[part], key=len) for part, again in alone if again}


def fewest(
    scenario: Scenario, seen: list[tuple[int | None, dict]], cut: Cut, spared: re.Pattern, parts: set[str], seeds: int
) -> dict[str, list[Difference]]:
    """Return the fewest differences in each of the parts from the broker's outcomes `seen` at some steps.

    Only parts that differ are included.
    """
    found: dict[str, list[Difference]] = {}
    left = set(parts)
    for outcomes in outcomes_by_seed(scenario, [step for step, _ in seen], seeds):
        mine = [cut(part) for part in outcomes]
        for names in renamings(scenario):
            for part in sorted(left):
                differing = [
                    Difference(step, field, model, broker)
                    for (step, what), model_parts in zip(seen, mine, strict=True)
                    for field, model, broker in differences(*alike(scenario, model_parts[part], what[part], names))
                    if not (spared.fullmatch(field) or spared.fullmatch(f"steps.{step}.{field}"))
                ]
                if part not in found or len(differing) < len(found[part]):
                    found[part] = differing
            left = {part for part in left if found[part]}
            if not left:
                return {}
    return {part: found[part] for part in sorted(left)}


def alike(scenario: Scenario, mine: dict[str, Any], seen: dict[str, Any], names: dict[str, str]) -> tuple[dict, dict]:
    """Return the outcomes of model and broker without the races of a real cluster, the broker's with nodes renamed."""
    seen = renamed(without_leaders(seen, luckily_led(scenario, mine)), names)
    cancelled, moved = luckily_cancelled(scenario, mine, seen), luckily_served(mine)
    events, refusing, lost = mine["events"], rejecting(scenario), outrun(mine, seen) | luckily_kept(mine, seen)
    lost |= luckily_inherited(mine, seen) | luckily_taken(scenario, mine)
    mine, seen = (
        without_queues(without_shares(without_consumers(one, cancelled, events, refusing), moved), lost)
        for one in (mine, seen)
    )
    return with_steady_numbers(mine, seen, scenario), seen


def uncompared(parts: Iterable[Uncompared]) -> re.Pattern:
    """Return a pattern of the fields that are left out."""
    fields = (re.escape(name).replace(r"\*", ".*") for part in parts for name in part.fields)
    return re.compile("|".join(rf"{field}(\..*)?" for field in fields) or r"(?!)", re.DOTALL)


def differences(model: dict[str, Any], broker: dict[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """Yield (field, model, broker) wherever two outcomes differ in fields that the broker shows."""
    for section, seen in broker.items():
        if section == "errors":
            yield from error_differences(model["errors"], seen)
        elif section == "ledger":
            # Dead letters count as published to their queue; clients do not see that.
            entries = {
                name: {key: value for key, value in entry.items() if key != "published"}
                for name, entry in seen.items()
                if entry["published"]
            }
            yield from walk((section,), {name: model["ledger"].get(name, {}) for name in entries}, entries)
        elif section == "consumers":
            yield from walk((section,), model[section], without_lost_places(seen))
        elif section == "queues":
            yield from walk((section,), in_the_order_of(seen, as_read(model)), seen)
        elif section not in SKIPPED:
            yield from walk((section,), model[section], seen)


def as_read(model: dict[str, Any]) -> dict[str, Any]:
    """Return the model's outcome with only the committed messages of streams: clients read no others."""
    read = {
        name: {"ids": as_lists(left for pair in queue["ids"] for left in minus((tuple(pair),), uncommitted))}
        for name, queue in model["queues"].items()
        if queue["type"] == "stream" and (uncommitted := normal(map(tuple, queue["uncommitted"])))
    }
    return model | {"queues": model["queues"] | {name: model["queues"][name] | ids for name, ids in read.items()}}


def walk(path: tuple[str, ...], model: Any, broker: Any) -> Iterator[tuple[str, Any, Any]]:
    """Yield differences below one field.

    Maps are compared by the broker's keys, and at their first level by the model's too.
    """
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
    """Return a short form of a whole entry, for a message."""
    if not isinstance(value, dict):
        return value
    return {key: value[key] for key in ("state", "master", "mirrors", "leader", "members", "published") if key in value}


def error_differences(model: list[dict], broker: list[dict]) -> Iterator[tuple[str, Any, Any]]:
    """Yield the differences of errors, step by step."""
    steps = sorted({error["step"] for error in (*model, *broker)})
    for step in steps:
        mine, seen = ([error for error in errors if error["step"] == step] for errors in (model, broker))
        if [comparable(error) for error in mine] != [comparable(error) for error in seen]:
            yield f"errors.{step}", mine or ABSENT, seen or ABSENT


def comparable(error: dict[str, Any]) -> tuple:
    """Return the part of an error that has to be the same."""
    return error["code"], None if error["code"] is None else error["text"]
