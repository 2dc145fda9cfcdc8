"""Print a digest of each scenario's outcome, of each JSON Schema and of each Spark table.

Compare a commit with its base by running this file in both checkouts:

    PYTHONPATH=. python benchmarks/frozen.py > build/frozen; diff BASE/build/frozen build/frozen
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

from hawb.scenario.load import load
from hawb.scenario.outcome import outcome_json
from hawb.scenario.run import Run
from hawb.study.fleet_tables import OF_AUDITS, OF_EXPORTS
from hawb.study.tables import OF_STUDIES
from hawb.views import schemas

SCENARIOS = Path(__file__).parents[1] / "data" / "scenarios"


def contents() -> Iterator[tuple[str, str]]:
    """Yield the name and the text of everything that must not change."""
    for file in sorted(SCENARIOS.glob("*.yaml")):
        yield file.stem, outcome_json(Run.of(load(file)))
    for command in schemas.COMMANDS:
        yield f"{command}.json", json.dumps(schemas.schema(command))
    for table in (*OF_STUDIES, *OF_AUDITS, *OF_EXPORTS):
        yield f"table {table.name}", table.schema.json()


if __name__ == "__main__":
    for name, text in contents():
        print(hashlib.sha256(text.encode()).hexdigest()[:16], name)
