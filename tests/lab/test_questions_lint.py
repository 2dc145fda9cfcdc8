"""The linter in a notebook: its tables, and uploaded files."""

from __future__ import annotations

from pathlib import Path

import pytest

from hawb.lab.own_files import OwnFiles
from hawb.lab.questions import LINT
from hawb.planning.advice import SEVERITIES
from hawb.planning.inventory import of_files
from hawb.planning.lint import Report, lint
from hawb.views.planning.finding_tables import advice_table, found_table, in_force_table

REAL = Path(__file__).parents[2] / "data" / "real"
FILES = [REAL / f"{name}.json" for name in ("definitions", "api-queues", "api-nodes")]


@pytest.fixture(scope="module")
def found() -> Report:
    return lint(of_files(FILES))


def test_tables_list_all_findings_worst_first(found: Report):
    severities, codes, *_ = zip(*found_table(found).rows, strict=True)
    assert list(severities) == sorted(severities, key=SEVERITIES.index)
    assert set(codes) == {finding.code for finding in found.findings} == {row[0] for row in advice_table(found).rows}
    assert sum(int(row[-1].split(":")[0]) for row in in_force_table(found).rows) == len(found.queues)


def test_uploaded_files_are_linted(found: Report):
    panel = OwnFiles(LINT)
    panel.button.click()
    assert "No file is chosen" in panel.message.value
    panel.files.receive([file.name for file in FILES], [file.read_bytes() for file in FILES])
    assert all(finding.code in panel.page.page for finding in found.findings)


def test_invalid_file_is_refused_and_its_name_escaped():
    panel = OwnFiles(LINT)
    panel.files.receive(["<b>.json"], [b"{"])
    assert "alert" in panel.message.value and not panel.page.page
    assert "<b>" not in panel.message.value and "/tmp" not in panel.message.value
