"""Is it safe to stop a node: five nodes and ten thousand queues, every node stopped and killed."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import duration, seconds
from benchmarks.upgrade import cluster
from hawb.planning.safe_to_stop import outlook, safe_to_stop
from hawb.scenario.dump import dump
from hawb.scenario.load import read_scenario
from hawb.scenario.run import Run


def figures() -> Iterator[str]:
    """Return lines for the forecast, the command with reading and printing, and a cluster without equal queues."""
    many = read_scenario(cluster(5, 10_000))
    yield duration("5 nodes, 10,000 queues: the forecast", seconds(lambda: outlook(many), 3), "s", "limit 2 s")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "cluster.yaml"
        file.write_text(dump(many), encoding="utf-8")
        command = [sys.executable, "-m", "hawb.cli", "safe", str(file)]
        taken = seconds(lambda: subprocess.run(command, check=True, capture_output=True), 3)
    yield duration("hawb safe, the whole process", taken, "s", "limit 2 s")
    run = Run.of(read_scenario(cluster(5, 600)))
    run.moment()
    yield duration("5 nodes, 600 queues, each played", seconds(lambda: safe_to_stop(run), 3), "s")
