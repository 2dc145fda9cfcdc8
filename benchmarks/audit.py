"""An audit of 2,000,000 made-up queues in 2,000 files: queues a second on Spark and in one process.

HAWB_AUDIT_FILES=200 takes a tenth.
"""

from __future__ import annotations

import os
import statistics
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import rate, seconds
from hawb.study import made_up_fleet
from hawb.study.audit import audit
from hawb.study.audit_rows import audited
from hawb.study.fleet import ClusterFiles, clusters
from hawb.study.fleet_sources import collecting_later
from hawb.study.spark import session

FILES = int(os.environ.get("HAWB_AUDIT_FILES", "2000"))
QUEUES_IN_A_FILE = 1_000
QUEUES = FILES * QUEUES_IN_A_FILE
ROUNDS = 5


def figures() -> Iterator[str]:
    """The lines that `make bench` prints."""
    with tempfile.TemporaryDirectory(prefix="hawb-audit-") as folder:
        made_up_fleet.write(Path(folder, "fleet"), FILES, QUEUES_IN_A_FILE, varied=False)
        fleet = clusters([Path(folder, "fleet")])
        spark = session()
        alone = seconds(lambda: in_one_process(fleet), ROUNDS)
        spread = seconds(lambda: audit(spark, [Path(folder, "fleet")], Path(folder, "audit")), ROUNDS)
        cores = spark.sparkContext.defaultParallelism
        spark.stop()
    yield rate("queues, one process", QUEUES, alone)
    yield rate(f"queues, Spark on {cores} cores; limit 80,000", QUEUES, spread)
    times = statistics.median(alone) / statistics.median(spread)
    yield f"Spark, which also writes, over one process: {times:.2f} times"


def in_one_process(fleet: list[ClusterFiles]) -> None:
    """Audit every cluster in this process, without writing tables."""
    with collecting_later():
        for cluster in fleet:
            audited(cluster)
