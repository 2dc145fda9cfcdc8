"""Notebooks have neutral metadata, no trace of a machine, and short cells."""

from __future__ import annotations

import json
import re
from pathlib import Path

import nbformat
import pytest
from notebook_pictures import stale

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))
LONGEST_CELL_LINES = 12
LARGEST_BYTES = 1_000_000
IGNORED = "# NBVAL_IGNORE_OUTPUT"
MACHINE = re.compile(r"/(home|root|tmp|work|Users)/|\bBearer\b|token=", re.IGNORECASE)

each = pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.name)


def test_there_are_notebooks():
    assert NOTEBOOKS[0].name == "00-lab.ipynb"


@each
def test_metadata_is_neutral(file: Path):
    notebook = nbformat.read(file, as_version=4)
    nbformat.validate(notebook)
    assert notebook.metadata.kernelspec.name == "python3"
    assert "widgets" not in notebook.metadata
    assert file.stat().st_size < LARGEST_BYTES


@each
def test_notebook_contains_no_trace_of_a_machine(file: Path):
    assert MACHINE.findall(re.sub(r'"image/png": "[^"]*"', "", file.read_text(encoding="utf-8"))) == []


@each
def test_cells_are_short_and_begin_with_prose(file: Path):
    cells = nbformat.read(file, as_version=4).cells
    assert cells[0].cell_type == "markdown"
    for cell in cells:
        if cell.cell_type == "code":
            assert len(cell.source.splitlines()) <= LONGEST_CELL_LINES, cell.source


@each
def test_ignored_outputs_are_not_stored(file: Path):
    for cell in nbformat.read(file, as_version=4).cells:
        if cell.cell_type == "code" and IGNORED in cell.source:
            assert cell.outputs == []


@each
def test_each_stored_svg_has_its_current_png(file: Path):
    assert stale(json.loads(file.read_text(encoding="utf-8"))) == [], "make pictures"
