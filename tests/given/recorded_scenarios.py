"""The scenarios of which data/recorded keeps what a real cluster did, and what of a machine no recording may tell."""

from __future__ import annotations

import re
from pathlib import Path

from hawb.scenario.document import Scenario
from hawb.scenario.load import load

DATA = Path(__file__).parents[2] / "data"
OF_A_MACHINE = re.compile(r"/(?:tmp|root|home|usr|etc|var)/|\b\d+\.\d+\.\d+\.\d+\b|@|hawb-\d|(?i:cookie|password)")


def scenario_of(file: Path) -> Scenario:
    """Return the scenario of a recording or log."""
    return load(DATA / "scenarios" / f"{file.stem}.yaml")
