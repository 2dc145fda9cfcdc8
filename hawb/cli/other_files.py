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
"""A line of RabbitMQ's log, from 3.7 on or before."""
LOGGED_AS_JSON = re.compile(r'^\s*\{.*"(msg|message|MESSAGE|log)"\s*:')
"""A line of a log as JSON: RabbitMQ's own, journald's, a container's."""

KEYS: tuple[tuple[set[str], str, str], ...] = (
    ({"study"}, "a study", "hawb study {file}"),
    ({"numbers"}, "numbers for a study", "hawb study STUDY --numbers {file}"),
    ({"contract", "ledger", "events"}, "the outcome of a scenario", "hawb run --json SCENARIO"),
    ({"glances", "outcome"}, "the recording of a scenario on a real broker", "hawb compare SCENARIO"),
)
"""Files of hawb's own by their keys: what they are, and the command that takes or makes them."""


def instead(refused: ScenarioRefused, file: Path) -> ScenarioRefused:
    """Return the refusal that says what a file is, if it is something else than a scenario; else the refusal as it
    is."""
    told = None if refused.step is not None else _recognised(file)
    if told is None:
        return refused
    what, command = told
    return ScenarioRefused(f"this is {what}, not a scenario", hint=f"use `{command}`", file=refused.file)


def is_other(file: Path) -> bool:
    """Return True if a file holds something that is known and no scenario."""
    return _recognised(file) is not None


def _recognised(file: Path) -> tuple[str, str] | None:
    """Return what a file holds, and the command for it; None for a scenario and for what is not known."""
    from hawb.broker.definitions import holds_export
    from hawb.broker.resources import manifests
    from hawb.broker.untrusted import ImportRefused
    from hawb.incident import files
    from hawb.incident.exports import is_export
    from hawb.incident.reading import BROKEN_OFF

    name = bash_word(shown(file))
    keys = _keys(file)
    for known, what, command in KEYS:
        if known <= keys:
            return what, command.format(file=name)
    if "scenario" in keys:
        return None
    try:
        if is_export(file):
            if manifests(file):
                return "a manifest of RabbitMQ's operators", f"hawb import {name} -o cluster.yaml"
            if holds_export(file):
                return "a definitions export", f"hawb import {name} -o cluster.yaml"
            return "a listing of a cluster", f"hawb import DEFINITIONS --queues {name} -o cluster.yaml"
        if _is_log(islice(files.lines(file), HEAD_LINES)):
            return "a log of RabbitMQ", f"hawb incident {name}"
    except (OSError, ImportRefused, *BROKEN_OFF):
        return None
    return None


def _keys(file: Path) -> set[str]:
    try:
        given: Any = text.parse(inputs.content(file))
    except (OSError, ScenarioRefused):
        return set()
    return {*given} if isinstance(given, dict) else set()


def _is_log(lines: Iterable[str]) -> bool:
    return any(LOGGED.search(line) or LOGGED_AS_JSON.match(line) for line in lines)
