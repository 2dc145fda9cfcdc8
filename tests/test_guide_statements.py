"""Every statement of RabbitMQ's guide to mirrored queues has a scenario, or a reason why none shows it."""

from __future__ import annotations

from collections import Counter

import pytest
from guide_statements import DATA, README, Section, Statement, guide, rendered, with_tables

from hawb.scenario.load import load

GUIDE = guide()
TITLES = {file.stem: load(file).scenario for file in (DATA / "scenarios").glob("*.yaml")}
STATEMENTS = [statement for section in GUIDE.sections for statement in section.statements]

COUNTS = {
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
"""How many statements each section of the guide makes, in its order."""

each_statement = pytest.mark.parametrize("statement", STATEMENTS, ids=lambda statement: statement.id)
each_section = pytest.mark.parametrize("section", GUIDE.sections, ids=lambda section: section.anchor)


def differing(name: str) -> bool:
    """Whether a scenario's title says that the broker does something else than the guide says."""
    return TITLES[name].startswith("Guide differs: ")


def test_every_section_has_all_its_statements():
    assert {section.anchor: len(section.statements) for section in GUIDE.sections} == COUNTS
    assert [section.anchor for section in GUIDE.sections] == list(COUNTS)


def test_no_statement_stands_twice():
    twice = Counter(statement.id for statement in STATEMENTS) + Counter(statement.says for statement in STATEMENTS)
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
    named = {name for statement in STATEMENTS if statement.differs for name in statement.scenarios}
    assert [name for name in sorted(TITLES) if "uide differs" in TITLES[name] and not differing(name)] == []
    assert [name for name in sorted(TITLES) if differing(name) and name not in named] == []


@each_section
def test_its_editions_are_known(section: Section):
    assert set(section.editions) <= GUIDE.editions.keys()
    for statement in section.statements:
        assert set(statement.editions) < set(section.editions), statement.id
        assert statement.slip.keys() <= set(statement.editions or section.editions), statement.id


def test_the_table_in_the_readme_is_what_the_file_says():
    readme = README.read_text(encoding="utf-8")
    assert with_tables(readme, rendered(GUIDE)) == readme, "run python tests/guide_statements.py"
