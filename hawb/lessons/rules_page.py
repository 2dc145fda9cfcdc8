"""Write the list of rules, `data/rules.md`, in a checkout: `python -m hawb.lessons.rules_page`."""

from __future__ import annotations

from collections.abc import Iterator

from hawb.lessons.behaviours import BEHAVIOURS, Behaviour
from hawb.lessons.rule_sources import rule
from hawb.scenario.checkout import data_folder_for
from hawb.scenario.saving import write
from hawb.views import markdown

INTRODUCTION = """# Where each rule is

This page lists RabbitMQ's rules for replicated queues. For each rule, it names the function of hawb that implements it,
scenarios that show it, and the releases on which these scenarios were recorded. `hawb rule WORDS` finds a rule and
shows its code. `python -m hawb.lessons.rules_page` writes this page from the table in `hawb/lessons/behaviours.py`.
"""
HEADERS = ("what RabbitMQ does", "decided by", "shown by", "recorded")
FEW = 3
"""Maximum number of scenarios in a row."""


def as_page() -> str:
    """Return the page: a table for each area."""
    parts = [INTRODUCTION]
    for area, behaviours in BEHAVIOURS.items():
        rows = [tuple(cells(behaviour)) for behaviour in behaviours]
        parts += [f"## {area}\n", markdown.table(HEADERS, rows) + "\n"]
    return "\n".join(parts)


def cells(behaviour: Behaviour) -> Iterator[str]:
    """Yield the cells of a behaviour's row."""
    found = rule(behaviour.function)
    yield markdown.plain(behaviour.asked)
    yield f"[{markdown.code(behaviour.name)}](../{found.file})"
    more = len(found.scenarios) - FEW
    links = [f"[{one.name}](scenarios/{one.name}.yaml)" for one in found.scenarios[:FEW]]
    yield ", ".join(links) + (f" and {more} more" if more > 0 else "")
    releases = {release_of(said) for one in found.scenarios for said in one.recorded}
    yield ", ".join(sorted(releases, key=lambda release: [int(part) for part in release.split(".")]))


def release_of(said: str) -> str:
    """Return the release with which a sentence about a recording begins."""
    return said.split()[1].rstrip(",")


if __name__ == "__main__":
    write(data_folder_for("the list of rules") / "rules.md", as_page())
