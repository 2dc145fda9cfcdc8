"""Write the pages of the files that users write (scenarios and studies), from the structs they are decoded into."""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from hawb.docs.prose import paragraphs
from hawb.docs.struct_tables import links, section, structs_below, table
from hawb.scenario.document import Cluster, PauseIfAllDown, QueueEntry, Scenario, Step, Timing, Uncompared
from hawb.scenario.expected import ExpectedOutcome
from hawb.scenario.fields import Bare, NameOrMap, PolicyEntry, Verb
from hawb.scenario.verbs import VERBS
from hawb.study.numbers import Numbers
from hawb.study.question import Study
from hawb.views.markdown import plain

PARTS = (Scenario, Cluster, Timing, PauseIfAllDown, PolicyEntry, QueueEntry, Step, Uncompared)
GROUPS = {
    "set_policy": "Policies", "declare": "Queues and clients", "stop": "Nodes", "partition": "Links and alarms",
    "join": "Membership", "sync_queue": "Replicas", "wait": "Time and looking on",
}  # fmt: skip
"""The first verb of each group, and the group's name."""

STUDY = """# Study files

A study estimates how likely something is. It combines *designs* (settings that an operator chooses) and *environments*
(the faults and the clients), each for a number of *trials* and a *horizon* (the simulated time).
[Studies](../explanation/studies.md) lists the studies that come with hawb, and explains how to play one and where its
numbers come from. This page is generated from hawb's code.

"""
OWN_NUMBERS = """
## Your own numbers

The numbers in this file replace those of any study. `hawb import --numbers` writes a first version of it.

"""
FORMAT = """# Scenario files

A scenario is a YAML (or JSON) file with a cluster, its initial queues and policies, the steps, and the expected result.
If the file has a mistake, hawb refuses it, and says where the mistake is, what the file has there, and what hawb
accepts. If RabbitMQ would refuse a step, this is not a mistake of the file: the step has no effect, as in RabbitMQ, and
the story continues.

This page is generated from hawb's code. [The verbs](verbs.md) describes the `steps`. [Every scenario](scenarios.md) of
the project is an example.

"""
STEPS = "\nA step is a map with its verb as the key, and optionally `at`: see [the verbs](verbs.md).\n"
EXPECT = """
## What `expect` can contain

`expect` at the end of a file contains a part of the outcome. So does the verb `expect` between two steps. `hawb check`
compares this part with the real outcome. `hawb run --json` writes the whole outcome, with the same keys.

"""
VERBS_HEAD = """# The verbs

Each step of a [scenario](scenario.md) has one of these verbs. In Python, each verb is a method of [Cluster](python.md).
Without `at`, a step begins when the cluster has settled after the previous step. With `at`, it begins at that time in
seconds, even if messages are still in transit.

Each example is a step of a scenario that `hawb check` plays.

"""


STEP = re.compile(r"^ *- (\w+): .*$(?:\n +at: .*$)?(?!\n +[^-# ])", re.MULTILINE)
"""A step in one line, with at most one further line for its time."""
COMMENT = re.compile(r" +#.*$", re.MULTILINE)

TITLE = re.compile(r"^scenario: *(.+)$", re.MULTILINE)
WRITTEN = " w"
"""The beginning of the part of a form's docstring (`hawb.scenario.fields`) that says how it is written."""


class Example(NamedTuple):
    """A step as in a scenario file, and that file's name and title."""

    step: str
    file: str
    title: str


def format_page(data: Path) -> str:
    """Return the page of the format."""
    outcome = structs_below(ExpectedOutcome)
    places = links([*PARTS, *outcome])
    sections = [section(struct, struct.__name__, "##", places) + (STEPS if struct is Step else "") for struct in PARTS]
    sections.append(EXPECT)
    sections += [section(struct, struct.__name__, "###", places) for struct in outcome]
    return FORMAT + "\n".join(sections)


def verbs_page(data: Path) -> str:
    """Return the page of the verbs."""
    shown, parts = examples(data / "scenarios"), [VERBS_HEAD]
    for name, verb in VERBS.items():
        if name in GROUPS:
            parts.append(f"## {GROUPS[name]}\n")
        parts += [f"### `{name}`\n", *_verb(verb)]
        if example := shown.get(name):
            there = f"../../../../data/scenarios/{example.file}"
            parts += [f"```yaml\n{example.step}\n```\n", f"As in [{plain(example.title)}]({there}).\n"]
    return "\n".join(parts)


def _verb(verb: type[Verb]) -> Iterator[str]:
    yield paragraphs(verb.__doc__) + "\n"
    form = next(base for base in verb.__mro__[1:] if base.__module__ == Verb.__module__)
    yield f"W{form.__doc__.partition(WRITTEN)[2]}\n"
    if form in (Verb, Bare, NameOrMap):
        yield table(verb, {}) + "\n"


def examples(folder: Path) -> dict[str, Example]:
    """Return for each verb the short step that occurs most often, from the smallest file that has it."""
    files = sorted(folder.glob("*.yaml"), key=lambda file: (file.stat().st_size, file.name))
    often: Counter[tuple[str, str]] = Counter()
    first: dict[tuple[str, str], Example] = {}
    for file in files:
        text = file.read_text("utf-8")
        title = TITLE.search(text)[1].strip("'\"")
        for step in STEP.finditer(text):
            key = step[1], textwrap.dedent(COMMENT.sub("", step[0]))
            often[key] += 1
            first.setdefault(key, Example(key[1], file.name, title))
    found: dict[str, Example] = {}
    for (verb, step), _ in often.most_common():
        if verb in VERBS:
            found.setdefault(verb, first[verb, step])
    return found


def study_page(data: Path) -> str:
    """Return the page of study files and of files with own numbers."""
    asked = [struct for struct in structs_below(Study) if struct not in PARTS]
    own = [struct for struct in structs_below(Numbers) if struct not in (*PARTS, *asked)]
    places = links([*PARTS, *asked, *own])
    parts = [section(struct, struct.__name__, "##", places) for struct in asked]
    numbers = [section(struct, struct.__name__, "###", places) for struct in own]
    return STUDY + "\n".join(parts) + OWN_NUMBERS + "\n".join(numbers)
