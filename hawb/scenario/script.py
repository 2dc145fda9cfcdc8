"""Write a scenario as a Python script: each step is a call of `hawb.Cluster`, to be read, changed and run.

The calls are made from the scenario's own values, each written as Python writes it, so no name can become code.
`expect` steps are left out: a script has `assert`.
"""

from __future__ import annotations

from pprint import pformat
from typing import Any

from msgspec import NODEFAULT, structs

from hawb.scenario.document import Scenario, Step
from hawb.scenario.dump import plain
from hawb.scenario.fields import OnNodes
from hawb.scenario.verbs import Cut, Expect, Join, Partition, Publish

SEVERAL = (OnNodes, Partition, Cut)
"""Verbs whose one field is a list: their methods take its members one by one."""

TEMPLATE = '''"""A story in hawb, step by step. Run it where hawb is installed."""

from hawb import Cluster
from hawb.scenario.load import read_scenario

BEGINNING = {beginning}

cluster = Cluster.of(read_scenario(BEGINNING)){rewind}
{steps}
print(cluster)
for loss in cluster.losses:
    print(cluster.why(loss["queue"], loss["ids"][0][0]))
'''
REWIND = ".rewind()  # a story knows from its beginning which nodes will join"
WIDTH = 110


def script(scenario: Scenario) -> str:
    """Return the text of a script that plays a scenario's steps and prints the cluster, and why messages were lost."""
    joins = tuple(Step(step.verb) for step in scenario.steps if isinstance(step.verb, Join))
    beginning = plain(structs.replace(scenario, steps=joins, expect=None, racy=None))
    steps = [f"cluster.{call(step)}\n" for step in scenario.steps if not isinstance(step.verb, Expect)]
    written = pformat(beginning, width=WIDTH, sort_dicts=False)
    return TEMPLATE.format(beginning=written, rewind=REWIND if joins else "", steps="".join(steps))


def call(step: Step) -> str:
    """Return a step as the call of its method."""
    verb = step.verb
    if isinstance(verb, SEVERAL):
        (members,) = structs.astuple(verb)
        given = [repr(plain(member)) for member in members]
    elif isinstance(verb, Publish):
        target = verb.queue if verb.queue is not None else plain(verb.queues)
        given = [repr(target), *_fields(verb, besides=("queue", "queues"))]
    else:
        given = _fields(verb)
    at = [] if step.at is None else [f"at={plain(step.at)!r}"]
    return f"{step.name}({', '.join([*given, *at])})"


def _fields(verb: Any, besides: tuple[str, ...] = ()) -> list[str]:
    """Return the arguments of a verb's call.

    Required fields stand by position, those that differ from their default by name.
    """
    given = []
    for field in structs.fields(verb):
        value = getattr(verb, field.name)
        if field.name in besides:
            continue
        if field.required:
            given.append(repr(plain(value)))
        elif value != (field.default if field.default_factory is NODEFAULT else field.default_factory()):
            given.append(f"{field.name}={plain(value)!r}")
    return given
