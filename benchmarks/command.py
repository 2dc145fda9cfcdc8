"""The command as whole processes: `hawb run` on a small story against bare Python, `hawb import` of data/real."""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.measure import duration, seconds

DATA = Path(__file__).parent.parent / "data"
REAL, STORY = DATA / "real", DATA / "scenarios" / "unsynchronised-mirror-promoted.yaml"
LISTINGS = ("api-queues.json", "api-nodes.json")

def figures() -> list[str]:
    """The lines that `make bench` prints."""
    hawb = [sys.executable, "-m", "hawb.cli"]
    with tempfile.TemporaryDirectory() as folder:
        cluster = Path(folder) / "cluster.yaml"
        bare = process([sys.executable, "-c", "pass"])
        run = process([*hawb, "run", "--json", str(STORY)])
        queues = [word for name in LISTINGS for word in ("--queues", str(REAL / name))]
        imported = process([*hawb, "import", str(REAL / "definitions.json"), *queues, "-o", str(cluster)])
    more = [statistics.median(run) - statistics.median(bare)]
    return [
        duration("bare Python", bare),
        duration("hawb run --json", run),
        duration("hawb run --json, more than bare Python", more, limit="limit 500 ms"),
        duration("hawb import of data/real", imported, limit="limit 1,000 ms"),
    ]


def process(command: list[str]) -> list[float]:
    """Return how long a command takes as a whole process."""
    return seconds(lambda: subprocess.run(command, check=True, capture_output=True), rounds=11)
