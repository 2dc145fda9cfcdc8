"""The commands on Spark, stopped by signals: nothing is left behind, and the same command goes on."""

from __future__ import annotations

import signal
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from samples import todays
from stopped_commands import stopped

from hawb import process
from hawb.study.load import load
from hawb.study.sources import Trials

FILE = """\
study: Two copies or three?
designs:
  two: {queue_type: classic, nodes: 3, replicas: 2, version: "3.13"}
  quorum: {queue_type: quorum, nodes: 3, replicas: 3, version: "3.13"}
environments:
  rack:
    node_failures: {every: {mean_s: 2592000}, repair: {mean_s: 3600}}
    traffic: {publish_per_s: 50, consume_per_s: 200}
trials: 400
horizon_days: 365
sources: {environments.rack: "assumed: round numbers"}
"""
STOPS = ((signal.SIGTERM, 500_000), (signal.SIGHUP, 1_000_000), (signal.SIGINT, 1_400_000))
"""A study makes 1.7 million calls: the stops are at its start, as it plays, and as it counts. Each day has one of them,
and HAWB_LONG all, one after the other."""
KEPT = f"stopped; {process.GOES_ON}"


@pytest.mark.full
@pytest.mark.spark
@pytest.mark.kernel
def test_repeatedly_stopped_study_has_the_same_rows(tmp_path: Path):
    file, folder = tmp_path / "study.yaml", tmp_path / "study"
    file.write_text(FILE, encoding="utf-8")
    asked = load(file)
    words = ["study", str(file), "--output", str(folder), "--json"]
    expected = {design: Trials.records(asked, design, "rack", 0, asked.trials) for design in asked.designs}
    for number, calls in todays(STOPS):
        ended = stopped(words, number, calls, tmp_path)
        assert (ended.status, ended.out, ended.processes, ended.files) == (128 + number, "", [], []), ended
        assert ended.err.splitlines()[-1] == KEPT and len(ended.err.splitlines()) <= 3, calls
    ended = stopped(words, signal.SIGINT, 0, tmp_path)
    lines = ended.err.splitlines()[-1:]
    assert (ended.status, lines, ended.processes, ended.files) == (0, ["Trials, timing.election_s"], [], []), ended
    found = pq.read_table(folder / "trials").sort_by([("design", "ascending"), ("trial", "ascending")])
    for design, records in expected.items():
        rows = found.filter(pq.filters_to_expression([("design", "=", design)])).select(records.schema.names)
        assert rows.to_pylist() == records.to_pylist()
    assert found.num_rows == len(expected) * asked.trials


@pytest.mark.full
@pytest.mark.spark
@pytest.mark.parametrize(
    ("words", "number", "calls", "group"),
    [("audit data/real --output {to}/audit", signal.SIGINT, 250_000, True),
     ("explore data/scenarios/unsynchronised-mirror-promoted.yaml --master local[1] --faults 1 --operations 1",
      signal.SIGTERM, 300_000, False)],
)  # fmt: skip
def test_stopped_audit_or_search_leaves_nothing_behind(
    words: str, number: int, calls: int, group: bool, tmp_path: Path
):
    ended = stopped(words.format(to=tmp_path).split(), number, calls, tmp_path, group=group)
    assert (ended.status, ended.processes, ended.files) == (128 + number, [], []), ended
    assert ended.err.splitlines() == ["stopped"]
    assert sorted(file.name for file in tmp_path.iterdir()) == ["tmp"]
