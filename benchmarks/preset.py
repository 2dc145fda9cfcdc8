"""The preset of 1,000,000 cluster-years on Spark, half of them with a mirrored and half with a quorum queue: by `hawb
study` as a whole process, on a session that runs, against the bare kernel, and the memory it takes.

A cluster-year is a year of three nodes that each fail once a month, under steady load (`data/studies`). The kernel is
compiled before. The whole process starts Spark, plays, writes a row for each trial and tells the estimates; the bare
kernel plays the same shares in a thread for each core and writes nothing.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import psutil
from msgspec.structs import replace

from benchmarks.measure import alternately, duration, once, rate, ratio
from hawb.study import histories, pipeline, trial_rows
from hawb.study.cells import cells_of
from hawb.study.kernel import block
from hawb.study.load import load
from hawb.study.progress import Progress, Tell
from hawb.study.question import Study
from hawb.study.spark import session
from hawb.study.spark_partitions import Share, costs, shares

STUDY = Path(__file__).parent.parent / "data" / "studies" / "monthly-failures.yaml"
ROUNDS, SHARE = 5, 10
CORES = os.cpu_count() or 1


def figures() -> list[str]:
    """The lines that `make bench` prints."""
    study = load(STUDY)
    trial_rows.compile_kernel(study)
    years = study.trials * len(study.cells)
    whole = [once(command) for _ in range(ROUNDS)]
    spark = session(master=f"local[{CORES}]")
    try:
        # First of all, since workers stay and keep what they once had.
        tenth, all_of_it = (peak_bytes(spark, asked) for asked in (replace(study, trials=study.trials // SHARE), study))
        alone, on_spark = alternately(
            lambda: by_kernel(study), lambda: in_new_folder(lambda folder: play(spark, study, folder)), ROUNDS
        )
    finally:
        spark.stop()
    megabytes = " and ".join(f"{bytes_ / 1e6:,.0f}" for bytes_ in (tenth, all_of_it))
    return [
        duration(f"hawb study, {years:,} years, from start to table", whole, unit="s", limit="limit 60 s"),
        duration(f"Spark, {years:,} years, on a session that runs", on_spark, unit="s", limit="limit 60 s"),
        rate(f"years, kernel, {CORES} cores", years, alone),
        rate(f"years, Spark, {CORES} cores", years, on_spark),
        ratio("Spark against the kernel", alone, years, on_spark, years, wanted=0.85),
        f"{'memory of Spark’s Python, a tenth of the years and all':<58} {megabytes} MB, {all_of_it / tenth:.2f} times",
    ]


def command() -> None:
    """Time `hawb study` as a whole process."""
    hawb = [sys.executable, "-m", "hawb.cli", "study", str(STUDY), "--master", f"local[{CORES}]", "--output"]
    in_new_folder(lambda folder: subprocess.run([*hawb, str(folder)], check=True, capture_output=True))


def by_kernel(study: Study) -> None:
    """Play all shares in threads. The kernel releases the GIL."""
    horizon_us, cells = round(study.horizon_days * histories.DAY_US), cells_of(study)

    def rows(share: Share) -> None:
        given = study.designs[share.cell.design], study.environments[share.cell.environment]
        block.rows(*given, study.seed, share.first, share.count, horizon_us)

    with ThreadPoolExecutor(CORES) as pool:
        list(pool.map(rows, shares(cells, costs(cells), {}, {cell.place: study.trials for cell in cells})))


def play(spark, study: Study, folder: Path, report: Tell = lambda progress: None) -> None:
    """Play a study on a running session."""
    pipeline.run(spark, study, folder, report)


def in_new_folder(work: Callable[[Path], object]) -> None:
    """Do work in a temporary folder."""
    with tempfile.TemporaryDirectory() as folder:
        work(Path(folder, "study"))


def resident_bytes() -> int:
    """Return the resident memory of this process and its Python processes. A process that has ended counts 0."""
    here = psutil.Process()
    found = here.memory_info().rss
    for one in here.children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            found += one.memory_info().rss if "python" in one.name() else 0
    return found


def peak_bytes(spark, study: Study) -> int:
    """The most memory that this process and Spark's Python workers had resident at a time, looked at as progress is
    told. Java's is what its settings allow, however long it runs."""
    seen = [resident_bytes()]

    def look(progress: Progress) -> None:
        seen.append(resident_bytes())

    in_new_folder(lambda folder: play(spark, study, folder, look))
    return max(seen)
