"""Each of RabbitMQ's own tests of what hawb simulates is restated as a scenario or a test, or there is a reason."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]


@cache
def suites() -> dict[str, dict[str, list[str] | str]]:
    """Return where each case of RabbitMQ's suites is restated, or the reason why it is not."""
    return yaml.safe_load((ROOT / "data" / "rabbitmq-tests.yaml").read_text(encoding="utf-8"))


def test_each_case_is_restated_or_has_a_reason(subtests: pytest.Subtests):
    for suite, cases in suites().items():
        for case, where in cases.items():
            with subtests.test(msg="its scenarios and tests exist, or there is a reason", suite=suite, case=case):
                assert where
                restated = [] if isinstance(where, str) else where
                assert [name for name in restated if not file_of(name).is_file()] == []


def file_of(name: str) -> Path:
    """Return the file of a test, which is named by its path, or of a scenario, which is named by its stem."""
    return ROOT / name if name.startswith("tests/") else ROOT / "data" / "scenarios" / f"{name}.yaml"


def test_cases_named_by_scenarios_list_these_scenarios():
    cases = [(suite, case, where) for suite, cases in suites().items() for case, where in cases.items()]
    named = {(*known, file.stem) for file in (ROOT / "data" / "scenarios").glob("*.yaml") for known in named_in(file)}
    listed = {(suite, case, name) for suite, case, where in cases if isinstance(where, list) for name in where}
    assert named
    assert sorted(named - listed) == []


def named_in(file: Path) -> Iterator[tuple[str, str]]:
    """Yield suite and case of each of RabbitMQ's tests that the comment of a scenario names: "SUITE, CASE"."""
    comment = " ".join(file.read_text(encoding="utf-8").partition("\nscenario:")[0].split("\n# "))
    for suite, cases in suites().items():
        if suite in comment:
            yield from ((suite, case) for case in cases if re.search(rf"\b{suite}, {case}\b", comment))
