"""What RabbitMQ's guide says, as `data/guide.yaml` has it: read, every key checked, and rendered as Markdown tables.

`python tests/guide_statements.py` writes the tables into their section of data/scenarios/README.md.
"""

from __future__ import annotations

from pathlib import Path

import yaml
from msgspec import Struct, convert

DATA = Path(__file__).parent.parent / "data"
README = DATA / "scenarios" / "README.md"
HEADING = "## What the guide says, and where it is shown\n"


class Statement(Struct, forbid_unknown_fields=True):
    """One statement, in words of our own. `editions` is empty where all of its section's say it."""

    id: str
    says: str
    editions: list[str] = []
    scenarios: list[str] = []
    reason: str = ""
    differs: str = ""
    slip: dict[str, str] = {}


class Section(Struct, forbid_unknown_fields=True):
    """A section of the guide, named by its anchor."""

    anchor: str
    editions: list[str]
    statements: list[Statement]


class Guide(Struct, forbid_unknown_fields=True):
    """All sections, and the editions by name with what each is."""

    editions: dict[str, str]
    sections: list[Section]


def guide() -> Guide:
    """The file's content. Raises msgspec.ValidationError with the place of a key that is not known."""
    return convert(yaml.safe_load((DATA / "guide.yaml").read_text(encoding="utf-8")), Guide)


def rendered(content: Guide) -> str:
    """A table for each section: what is said, by whom if not by all editions of the section, and where it is shown."""
    return "\n".join([HEADING, *_introduction(content), *(_table(section) for section in content.sections)])


def _introduction(content: Guide) -> list[str]:
    statements = [statement for section in content.sections for statement in section.statements]
    shown = sum(bool(statement.scenarios) for statement in statements)
    return [
        f"{len(statements)} statements, {shown} of them shown and the others with the reason why not, from "
        "[guide.yaml](../guide.yaml). The editions:\n",
        *(f"- {name}: {what}" for name, what in content.editions.items()),
        "",
    ]


def _table(section: Section) -> str:
    rows = [f"| {_said(statement)} | {_shown(statement)} |" for statement in section.statements]
    editions = f"In {', '.join(section.editions)}.\n"
    return "\n".join([f"### #{section.anchor}\n", editions, "| it says | shown by |", "|---|---|", *rows, ""])


def _said(statement: Statement) -> str:
    only = f" (only {', '.join(statement.editions)})" if statement.editions else ""
    slips = "".join(f" (by mistake in {edition}: {slip})" for edition, slip in statement.slip.items())
    return f"{statement.says}{only}{slips}"


def _shown(statement: Statement) -> str:
    links = ", ".join(f"[{name}]({name}.yaml)" for name in statement.scenarios)
    differs = f". The broker differs: {statement.differs}" if statement.differs else ""
    return f"{links or statement.reason}{differs}"


def with_tables(readme: str, tables: str) -> str:
    """The README with these tables in the place of its section for them."""
    before, heading, rest = readme.partition(HEADING)
    assert heading, f"no line {HEADING!r}"
    _, following, after = rest.partition("\n## ")
    return before + tables + following + after


if __name__ == "__main__":
    README.write_text(with_tables(README.read_text(encoding="utf-8"), rendered(guide())), encoding="utf-8")
