"""Collect a rule's code, its source in RabbitMQ, the guide's statements, scenarios, and recordings of real brokers.

Guide, scenarios and recordings are read from a checkout (`hawb.scenario.checkout`). Without one a rule has only its
code and source.
"""

from __future__ import annotations

import importlib
import inspect
import json
from collections.abc import Iterator
from types import FunctionType

import yaml
from msgspec import Struct

from hawb.languages import LESSONS, _, translated
from hawb.lessons.behaviours import Behaviour, all_behaviours
from hawb.scenario.checkout import data_folder
from hawb.scenario.load import load
from hawb.views.formatting import counted, listing, shown

GUIDES = ("guide.yaml", "quorum-guide.yaml")
"""The files with the statements of RabbitMQ's guides."""

ROOMS = ("hawb.rules", "hawb.raft", "hawb.engine")
"""The packages with rules: what RabbitMQ decides, and when it happens."""


class Shown(Struct, frozen=True):
    """A scenario that shows a rule, and what real clusters did in it, a sentence for each recording."""

    name: str
    title: str
    recorded: tuple[str, ...]


class Rule(Struct, frozen=True):
    """A rule: `source` names RabbitMQ's files and sections, `says` are the guide's statements in hawb's words."""

    name: str
    file: str
    summary: str
    code: str
    source: str
    says: tuple[str, ...]
    scenarios: tuple[Shown, ...]


def rule(given: str | FunctionType) -> Rule:
    """Return the rule of a function of `ROOMS`, or of a name: "candidate", "promotion.candidate".

    Raise ValueError, which lists all rules, for an unknown name.
    """
    function = _named(given) if isinstance(given, str) else given
    if not getattr(function, "__module__", "").startswith(ROOMS):
        raise ValueError(f"{given!r} is no rule; a rule is a function of {' or '.join(ROOMS)}")
    module = importlib.import_module(function.__module__)
    known = next((behaviour for behaviour in all_behaviours() if behaviour.function is function), None)
    known = known or Behaviour("", function)
    statements = tuple(_statements(known.says))
    names = dict.fromkeys(name for statement in statements for name in statement.get("scenarios", ()))
    if data_folder() is not None:
        names |= dict.fromkeys(known.scenarios)
    return Rule(
        name=function.__name__,
        file=known.file,
        summary=translated(known.summary, LESSONS),
        code=inspect.getsource(function).rstrip(),
        source=translated(_source(inspect.getdoc(module)), LESSONS),
        says=tuple(translated(statement["says"], LESSONS) for statement in statements),
        scenarios=tuple(_shown(name) for name in names),
    )


def rule_text(found: Rule) -> str:
    """Return all of a rule as text for a terminal."""
    lines = [f"{found.name}, {found.file}", "", found.code, "", found.source]
    if found.says:
        lines += ["", _("RabbitMQ's guide says:"), *(f"- {says}" for says in found.says)]
    if found.scenarios:
        lines += ["", _("Scenarios that show it:")]
    for scenario in found.scenarios:
        lines += [f"- {scenario.title} ({scenario.name}.yaml)", *(f"    {did}" for did in scenario.recorded)]
    return "\n".join(lines)


def _named(name: str) -> FunctionType:
    known = all_behaviours()
    for behaviour in known:
        if name in (behaviour.name, behaviour.function.__name__):
            return behaviour.function
    raise ValueError(f"there is no rule {name!r}; there are {', '.join(behaviour.name for behaviour in known)}")


def _source(documentation: str) -> str:
    """Return the paragraph of a module's docstring that names its source; "" if there is none."""
    paragraphs = documentation.split("\n\n")
    return next((each for each in paragraphs if each.startswith("Source:")), "")


def _statements(wanted: tuple[str, ...]) -> Iterator[dict]:
    data = data_folder()
    if data is None or not wanted:
        return
    for guide in GUIDES:
        for section in yaml.safe_load((data / guide).read_text(encoding="utf-8"))["sections"]:
            yield from (statement for statement in section["statements"] if statement["id"] in wanted)


def _shown(name: str) -> Shown:
    data = data_folder()
    title = translated(load(data / "scenarios" / f"{name}.yaml").scenario, LESSONS)
    files = sorted((data / "recorded").glob(f"*/{name}.json"))
    return Shown(name, title, tuple(_recorded(json.loads(file.read_text(encoding="utf-8"))) for file in files))


def _recorded(recording: dict) -> str:
    outcome = recording["outcome"]
    if "queues" not in outcome:
        ends = _("no node runs")
    else:
        ends = "; ".join(_queue(name, queue) for name, queue in sorted(outcome["queues"].items()))
    return _("RabbitMQ {release}, recorded {date}: {ends}", release=outcome["broker"]["rabbitmq"],
             date=recording["date"], ends=ends or _("no queue is left"))  # fmt: skip


def _queue(name: str, queue: dict) -> str:
    home = queue.get("master") or queue.get("leader") or _("no node")
    text = _("{queue} {state} on {node}", queue=shown(name), state=queue["state"], node=shown(home))
    if (left := queue.get("messages")) is not None:
        text = _("{queue_on_node} with {messages}", queue_on_node=text, messages=counted(left))
    if complete := queue.get("synchronised_mirrors"):
        text = _("{queue}, synchronised on {nodes}", queue=text, nodes=listing(complete))
    return text
