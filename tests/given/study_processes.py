"""A study of made-up trials in a process of its own, which a test may kill."""

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

folder, gate = Path({folder!r}), {gate!r}
spark = session(master={master!r}, **{config!r})
gates = []

def tell(progress):
    {tell}

rows = run(spark, study({trials}), folder, tell, source=made_up(gate=gate and Path(gate)))
print(rows.count(), rows.select("design", "environment", "trial").distinct().count())
{more}
spark.stop()
"""
KILLS_ITSELF = "progress.done > 1200 and os.kill(os.getpid(), signal.SIGKILL)"


def program(
    folder: Path, tell: str = "pass", gate: Path | None = None, master: str = "local[2]", more: str = "", **config: str
) -> str:
    """The program of such a process: `tell` is done with each progress, `more` when the study is complete."""
    return IN_A_PROCESS.format(
        path=PYTHONPATH, folder=str(folder), tell=tell, gate=gate and str(gate), master=master, trials=TRIALS_ASKED,
        config=config, more=more,
    )  # fmt: skip
