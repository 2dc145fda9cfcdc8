"""Studies of synthetic trials in a separate process, which a test may kill."""

from __future__ import annotations

from pathlib import Path

from made_up_trials import TRIALS_ASKED
from spark_servers import PYTHONPATH

IN_A_PROCESS = """
import os, signal, sys
from pathlib import Path
sys.path[:0] = {path!r}
from made_up_trials import made_up, opened, study
from hawb.study.pipeline import run
from hawb.study.spark import session

spark = session(master={master!r}, **{config!r})
{studies}
{more}
spark.stop()
"""
A_STUDY = """
folder, gate, gates = Path({folder!r}), {gate!r}, []

def report(progress):
    {report}

rows = run(spark, study({trials}), folder, report, source=made_up(gate=gate and Path(gate)))
print(rows.count(), rows.select("design", "environment", "trial").distinct().count(), flush=True)
"""
KILLS_ITSELF = "progress.done > 1200 and os.kill(os.getpid(), signal.SIGKILL)"


def a_study(folder: Path, report: str = "pass", gate: Path | None = None, trials: int = TRIALS_ASKED) -> str:
    """Return the part of a program that plays a study and runs `report` with each progress."""
    return A_STUDY.format(folder=str(folder), report=report, gate=gate and str(gate), trials=trials)


def program(*studies: str, master: str = "local[2]", more: str = "", **config: str) -> str:
    """Return a program that plays studies in sequence and then `more`."""
    return IN_A_PROCESS.format(
        path=PYTHONPATH, studies="".join(studies), master=master, config=config, more=more,
    )  # fmt: skip
