"""Parts of a study that need no Spark: columns of cells, the lock, precision checks, progress and failure reasons."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from unittest import mock

import pytest
from made_up_trials import study
from pyspark.errors import StreamingQueryException

from hawb.study import pipeline
from hawb.study.failures import StudyFailed, why
from hawb.study.pipeline import alone, cell_rows, looks
from hawb.study.progress import Progress
from hawb.study.tables import CELLS as CELLS_TABLE


def test_every_setting_of_a_cell_has_a_column():
    from hawb.study.cells import cells_of
    from hawb.study.load import load

    for file in sorted((Path(__file__).parents[2] / "data" / "studies").glob("*.yaml")):
        asked = load(file)
        for one in cell_rows(cells_of(asked), asked):
            values = {name for name, value in one.items() if value is not None}
            assert values <= set(CELLS_TABLE.schema.names), file
            CELLS_TABLE.of([one])


def test_lock_ends_with_its_process(tmp_path: Path):
    holds = "from pathlib import Path; from hawb.study.pipeline import alone; import os, sys\n"
    holds += f"with alone(Path({str(tmp_path)!r}), print): os.kill(os.getpid(), 9)"
    assert subprocess.run([sys.executable, "-c", holds]).returncode == -signal.SIGKILL
    with alone(tmp_path, lambda: pytest.fail("waits")):
        pass


def test_precision_is_checked_at_growing_intervals():
    asked = study(9_000, precision={"measure": "downtime_s", "relative": 0.02})
    assert [one.trials for one in looks(asked)] == [563, 1125, 2250, 4500, 9000]
    assert [one.trials for one in looks(study(9_000))] == [9000]
    assert asked.precision.column == "publish_down_s"


def streamed(folder: Path, *failures: str) -> int:
    """Return how often a stream is started that fails so, one failure after the other, and then ends."""
    query, rows = mock.MagicMock(), mock.MagicMock()
    query.awaitTermination.side_effect = [*map(StreamingQueryException, failures), True]
    start = rows.writeStream.foreachBatch.return_value.option.return_value.trigger.return_value.start
    start.return_value = query
    try:
        pipeline._stream(rows, folder, mock.MagicMock(), 1)
    finally:
        assert query.stop.call_count == start.call_count
    return start.call_count


def test_stream_is_restarted_if_python_starts_too_slowly(tmp_path: Path):
    slow = "Python worker failed to connect back. SQLSTATE: XXKST"
    assert streamed(tmp_path, slow, slow) == 3
    with pytest.raises(StudyFailed, match="failed to connect back"):
        streamed(tmp_path, *[slow] * pipeline.STARTS)
    with pytest.raises(StudyFailed, match="the disk is full"):
        streamed(tmp_path, "No space left on device")


def test_progress_has_rate_and_time_left():
    assert (Progress(60, 100, 50, 10.0).rate, Progress(60, 100, 50, 10.0).left_s) == (5.0, 8.0)
    assert Progress(10, 100, 0, 10.0).left_s is None


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ("Caused by: a.B: one\n\tat x\nCaused by: java.io.IOException: two\n\tat y", "java.io.IOException: two"),
        ("x\nCaused by: java.io.IOException: No space left on device", "the disk is full"),
        ("[SOME] plain\nmore", "[SOME] plain"),
        ("ModuleNotFoundError: No module named 'hawb'\n", "the executors' Python has no hawb: set"
                                                          " spark.pyspark.python"),
        ("[PYTHON_VERSION_MISMATCH] 3.9 3.11", "the executors' Python has another version than hawb's Python here:"
                                               " set "),
        ("Python worker exited unexpectedly (crashed)\nCaused by: java.io.EOFException", "a Python worker died sev"),
    ],
)
def test_a_reason_is_found_among_many_lines(message: str, reason: str):
    assert why(message).startswith(reason)
