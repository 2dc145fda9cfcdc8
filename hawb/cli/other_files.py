"""Recognise a file that was given as a scenario but holds something else, and name the command for it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import Any

from hawb.scenario import inputs, text
from hawb.scenario.refused import ScenarioRefused
from hawb.views.formatting import shown
from hawb.views.markdown import bash_word

HEAD_LINES = 100
LOGGED = re.compile(r"\[(debug|info|notice|warning|error|critical)\].*<\d+\.\d+\.\d+>|^=[A-Z]+ REPORT=+")
"""A line of RabbitMQ's log, from 3.7 on or from before 3.7."""
LOGGED_AS_JSON = re.compile(r'^\s*\{.*"(msg|message|MESSAGE|log)"\s*:')
"""A line of a JSON log, written by RabbitMQ, journald or a container."""

KEYS: tuple[tuple[set[str], str, str], ...] = (
    ({"study"}, "a study", "use `hawb study {file} --output {stem}-tables`"),
    (
        {"numbers"},
        "numbers for a study",
        "use `hawb study data/studies/policies.yaml --numbers {file} --output policies-tables`, or another study",
    ),
    ({"contract", "ledger", "events"}, "the outcome of a scenario", "give the scenario that was played"),
    (
        {"glances", "outcome"},
        "the recording of a scenario on a real broker",
        "use `hawb compare data/scenarios/{stem}.yaml`",
    ),
)
"""Files that hawb itself writes, recognised by their keys: what each is, and what to do with it."""


def instead(refused: ScenarioRefused, file: Path) -> ScenarioRefused:
    """Return a refusal that says what the file is, if hawb knows it; else `refused`."""
    recognised = None if refused.step is not None else _recognised(file)
    if recognised is None:
        return refused
    what, hint = recognised
    return ScenarioRefused(f"this is {what}, not a scenario", hint=hint, file=refused.file)


def is_other(file: Path) -> bool:
    """Return True if a file is something that hawb knows but not a scenario."""
    return _recognised(file) is not None


def _recognised(file: Path) -> tuple[str, str] | None:
    """Return what a file is and what to do with it; None for a scenario or an unknown file."""
    from hawb.exports.definitions import holds_export
    from hawb.exports.resources import manifests
    from hawb.exports.untrusted import ImportRefused
    from hawb.incident import files
    from hawb.incident.exports import is_export
    from hawb.incident.reading import BROKEN_OFF

    name = bash_word(shown(file))
    keys = _keys(file)
    for known, what, command in KEYS:
        if known <= keys:
            return what, command.format(file=name, stem=bash_word(shown(file.stem)))
    if "scenario" in keys:
        return None
    try:
        if is_export(file):
            if manifests(file):
                return "a manifest of RabbitMQ's operators", f"use `hawb import {name} -o cluster.yaml`"
            if holds_export(file):
                return "a definitions export", f"use `hawb import {name} -o cluster.yaml`"
            return "a listing of a cluster", _listing(file, name)
        if _is_log(islice(files.lines(file), HEAD_LINES)):
            return "a log of RabbitMQ", f"use `hawb incident {name}`"
    except (OSError, ImportRefused, *BROKEN_OFF):
        return None
    return None


def _listing(file: Path, name: str) -> str:
    """Return the commands that import a listing; the first writes the definitions export if there is none."""
    from hawb.exports.definitions import holds_export
    from hawb.views.hawb_commands import DEFINITIONS, EXPORT

    beside = file.with_name(DEFINITIONS)
    if beside.is_file() and holds_export(beside):
        return f"use `hawb import {bash_word(shown(beside))} --queues {name} -o cluster.yaml`"
    return f"use `{EXPORT}` on a node, then `hawb import {DEFINITIONS} --queues {name} -o cluster.yaml`"


def _keys(file: Path) -> set[str]:
    try:
        given: Any = text.parse(inputs.content(file))
    except (OSError, ScenarioRefused):
        return set()
    return {*given} if isinstance(given, dict) else set()


def _is_log(lines: Iterable[str]) -> bool:
    return any(LOGGED.search(line) or LOGGED_AS_JSON.match(line) for line in lines)
