"""Every statement of RabbitMQ's guides to mirrored and quorum queues has a scenario, or a reason why none shows it."""

from __future__ import annotations

from collections import Counter
from functools import cache

import pytest
from guide_statements import DATA, HEADINGS, README, Guide, Statement, guide, with_tables

from hawb.scenario.load import load

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


@cache
def guides() -> dict[str, Guide]:
    """Return the content of each guide, by its name."""
    return {name: guide(name) for name in HEADINGS}


@cache
def titles() -> dict[str, str]:
    """Return the title of each scenario, by the name of its file."""
    return {file.stem: load(file).scenario for file in (DATA / "scenarios").glob("*.yaml")}


def differing(name: str) -> bool:
    """Return True if the title of a scenario says that the broker does something else than the guide says."""
    return titles()[name].startswith("Contrary to the guide: ")


@pytest.mark.parametrize("name", HEADINGS)
def test_each_section_and_statement_of_a_guide_is_listed_once(name: str, subtests: pytest.Subtests):
    content = guides()[name]
    with subtests.test(msg="every section has all its statements"):
        sections = [(section.anchor, len(section.statements)) for section in content.sections]
        assert sections == list(COUNTS[name].items())
    with subtests.test(msg="no statement stands twice"):
        said = content.statements
        twice = Counter(statement.id for statement in said) + Counter(statement.says for statement in said)
        assert [name for name, count in twice.items() if count > 1] == []


@pytest.mark.parametrize(("name", "anchor"), [(name, anchor) for name, counts in COUNTS.items() for anchor in counts])
def test_each_section_of_a_guide_has_editions_and_scenarios(name: str, anchor: str, subtests: pytest.Subtests):
    content = guides()[name]
    (section,) = [section for section in content.sections if section.anchor == anchor]
    with subtests.test(msg="its editions are known"):
        assert set(section.editions) <= content.editions.keys()
    for statement in section.statements:
        with subtests.test(msg="scenarios or a reason, a title where the broker differs", statement=statement.id):
            check_scenarios(statement)
        with subtests.test(msg="its editions are of its section", statement=statement.id):
            assert set(statement.editions) < set(section.editions)
            assert statement.slip.keys() <= set(statement.editions or section.editions)


def check_scenarios(statement: Statement) -> None:
    """Require that a statement has scenarios or a reason, and, if the broker does something else, a scenario whose
    title says so."""
    assert bool(statement.scenarios) != bool(statement.reason)
    assert sorted(set(statement.scenarios) - titles().keys()) == []
    assert len(set(statement.scenarios)) == len(statement.scenarios)
    assert not statement.differs or any(differing(name) for name in statement.scenarios)


def test_every_scenario_that_differs_belongs_to_a_statement():
    statements = [statement for content in guides().values() for statement in content.statements]
    named = {name for statement in statements if statement.differs for name in statement.scenarios}
    of_all = titles()
    assert [name for name in sorted(of_all) if "uide differs" in of_all[name] and not differing(name)] == []
    assert [name for name in sorted(of_all) if differing(name) and name not in named] == []


def test_tables_in_the_readme_are_up_to_date():
    readme = README.read_text(encoding="utf-8")
    assert with_tables(readme) == readme, "run python tests/given/guide_statements.py"
