"""What RabbitMQ's guides say, as `data/guide.yaml` and `data/quorum-guide.yaml` have it: read, every key checked, and
rendered as Markdown tables.

`python tests/given/guide_statements.py` writes the tables of each guide into their section of data/scenarios/README.md.
"""

from __future__ import annotations

from pathlib import Path

import yaml
from msgspec import Struct, convert

DATA = Path(__file__).parents[2] / "data"
README = DATA / "scenarios" / "README.md"
HEADINGS = {
    "guide": "## What the guide to mirrored queues says, and where it is shown\n",
    "quorum-guide": "## What the guide to quorum queues says, and where it is shown\n",
}
"""The section of the README for each guide, by the file in data."""


class Statement(Struct, forbid_unknown_fields=True):
    """One statement, in our own words. `editions` is empty if all editions of its section say it."""

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

    @property
    def statements(self) -> list[Statement]:
        """Return the statements of all sections."""
        return [statement for section in self.sections for statement in section.statements]


def guide(name: str) -> Guide:
    """Read a file. Raises msgspec.ValidationError with the place of an unknown key."""
    return convert(yaml.safe_load((DATA / f"{name}.yaml").read_text(encoding="utf-8")), Guide)


def rendered(name: str, content: Guide) -> str:
    """Render a table for each section: the statement, its editions if not all of the section's, and where it is shown.
    """
    tables = [_table(section) for section in content.sections]
    return "\n".join([HEADINGS[name], *_introduction(name, content), *tables])


def _introduction(name: str, content: Guide) -> list[str]:
    shown = sum(bool(statement.scenarios) for statement in content.statements)
    return [
        f"[{name}.yaml](../{name}.yaml) lists {len(content.statements)} statements of the guide. Scenarios show "
        f"{shown} of them; for each other statement, the table says why no scenario shows it. The editions are:\n",
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


def with_tables(readme: str) -> str:
    """Return the README with the tables of all guides, each in its section."""
    for name, heading in HEADINGS.items():
        before, found, rest = readme.partition(heading)
        assert found, f"no line {heading!r}"
        _, following, after = rest.partition("\n## ")
        readme = before + rendered(name, guide(name)) + following + after
    return readme


if __name__ == "__main__":
    README.write_text(with_tables(README.read_text(encoding="utf-8")), encoding="utf-8")
