"""Every statement of RabbitMQ's guides to mirrored and quorum queues has a scenario, or a reason why none shows it."""

from __future__ import annotations

from collections import Counter

import pytest
from guide_statements import DATA, HEADINGS, README, Guide, Section, Statement, guide, with_tables

from hawb.scenario.load import load

GUIDES = {name: guide(name) for name in HEADINGS}
TITLES = {file.stem: load(file).scenario for file in (DATA / "scenarios").glob("*.yaml")}
STATEMENTS = [(name, statement) for name, content in GUIDES.items() for statement in content.statements]
SECTIONS = [(name, section) for name, content in GUIDES.items() for section in content.sections]

MIRRORED = {
    "interstitial": 1,
    "overview": 1,
    "what-is-mirroring": 15,
    "ways-to-configure": 3,
    "mirroring-arguments": 23,
    "replication-factor": 3,
    "how-to-check-i-a-queue-is-mirrored": 7,
    "queue-master-location": 8,
    "fixed-master-promotion": 6,
    "exclusive-queues-are-not-mirrored": 5,
    "non-mirrored-queue-behavior-on-node-failure": 8,
    "examples": 5,
    "behaviour": 25,
    "confirms-transactions": 5,
    "flow-control": 6,
    "cancellation": 6,
    "unsynchronised-mirrors": 15,
    "promoting-unsynchronised-mirrors": 13,
    "start-stop": 8,
    "cluster-shutdown": 11,
    "promotion-while-down": 8,
    "batch-sync": 9,
    "configuring-synchronisation": 12,
}
QUORUM = {
    "overview": 4,
    "what-is-a-quorum": 2,
    "differences-from-classic-queues": 2,
    "motivation": 3,
    "feature-comparison": 19,
    "non-durable-queues": 1,
    "exclusivity": 2,
    "ttl": 2,
    "length-limit": 1,
    "dead-lettering": 1,
    "lazy-mode": 2,
    "priorities": 1,
    "use-cases": 7,
    "when-not-to-use-quorum-queues": 4,
    "performance": 7,
    "usage": 1,
    "declaring": 4,
    "replication-factor": 6,
    "rebalancing-replicas": 6,
    "behaviour": 1,
    "leader-election": 4,
    "quorum-requirements": 10,
    "data-safety": 5,
    "availability": 4,
    "configuration": 7,
    "resource-use": 3,
    "global-qos": 3,
    "increased-atom-use": 2,
    "requeue": 4,
}
COUNTS = {"guide": MIRRORED, "quorum-guide": QUORUM}
"""How many statements each section of a guide makes, in its order."""

each_guide = pytest.mark.parametrize("name", GUIDES)
each_statement = pytest.mark.parametrize(
    "statement", [statement for _, statement in STATEMENTS], ids=[f"{name}-{said.id}" for name, said in STATEMENTS]
)
each_section = pytest.mark.parametrize(
    ("content", "section"),
    [(GUIDES[name], section) for name, section in SECTIONS],
    ids=[f"{name}-{section.anchor}" for name, section in SECTIONS],
)


def differing(name: str) -> bool:
    """Whether a scenario's title says that the broker does something else than the guide says."""
    return TITLES[name].startswith("Guide differs: ")


@each_guide
def test_every_section_has_all_its_statements(name: str):
    sections = GUIDES[name].sections
    assert [(section.anchor, len(section.statements)) for section in sections] == list(COUNTS[name].items())


@each_guide
def test_no_statement_stands_twice(name: str):
    said = GUIDES[name].statements
    twice = Counter(statement.id for statement in said) + Counter(statement.says for statement in said)
    assert [name for name, count in twice.items() if count > 1] == []


@each_statement
def test_it_has_scenarios_or_a_reason(statement: Statement):
    assert bool(statement.scenarios) != bool(statement.reason)
    assert sorted(set(statement.scenarios) - TITLES.keys()) == []
    assert len(set(statement.scenarios)) == len(statement.scenarios)


@each_statement
def test_where_the_broker_differs_a_title_says_so(statement: Statement):
    assert not statement.differs or any(differing(name) for name in statement.scenarios)


def test_every_scenario_that_differs_belongs_to_a_statement():
    named = {name for _, statement in STATEMENTS if statement.differs for name in statement.scenarios}
    assert [name for name in sorted(TITLES) if "uide differs" in TITLES[name] and not differing(name)] == []
    assert [name for name in sorted(TITLES) if differing(name) and name not in named] == []


@each_section
def test_its_editions_are_known(content: Guide, section: Section):
    assert set(section.editions) <= content.editions.keys()
    for statement in section.statements:
        assert set(statement.editions) < set(section.editions), statement.id
        assert statement.slip.keys() <= set(statement.editions or section.editions), statement.id


def test_the_tables_in_the_readme_are_what_the_files_say():
    readme = README.read_text(encoding="utf-8")
    assert with_tables(readme) == readme, "run python tests/given/guide_statements.py"
