"""RabbitMQ's own tests of what hawb simulates are restated here, each as a scenario or a test, or there is a reason."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
SUITES = yaml.safe_load((ROOT / "data" / "rabbitmq-tests.yaml").read_text(encoding="utf-8"))
SCENARIOS = sorted((ROOT / "data" / "scenarios").glob("*.yaml"))
CASES = [(suite, case, where) for suite, cases in SUITES.items() for case, where in cases.items()]


@pytest.mark.parametrize(("suite", "case", "where"), CASES, ids=[f"{suite}-{case}" for suite, case, _ in CASES])
def test_it_is_restated_or_there_is_a_reason(suite: str, case: str, where: list[str] | str):
    assert where
    restated = [] if isinstance(where, str) else where
    assert [name for name in restated if not file_of(name).is_file()] == []


def file_of(name: str) -> Path:
    """A test by its path, a scenario by its name."""
    return ROOT / name if name.startswith("tests/") else ROOT / "data" / "scenarios" / f"{name}.yaml"


def test_every_case_that_a_scenario_names_lists_it():
    named = {(suite, case, file.stem) for file in SCENARIOS for suite, case, _ in CASES if names(file, suite, case)}
    listed = {(suite, case, name) for suite, case, where in CASES if isinstance(where, list) for name in where}
    assert sorted(named - listed) == []


def names(file: Path, suite: str, case: str) -> bool:
    """Whether a scenario's comment names a case behind its suite."""
    comment = " ".join(file.read_text(encoding="utf-8").partition("\nscenario:")[0].split("\n# "))
    return re.search(rf"\b{suite}, {case}\b", comment) is not None
