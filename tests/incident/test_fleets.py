"""Logs of several clusters by folder, read sequentially or on Spark with the same result."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from made_up_rates import KNOWN

from hawb.incident import made_up_logs
from hawb.incident.asked import asked, when
from hawb.incident.event_table import SPANS, events_of, rows
from hawb.incident.fleets import NAMED, clusters, collected, of_rows, read_fleet, spans_on
from hawb.incident.reading import read_logs


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fleet")
    made_up_logs.write(folder, KNOWN, 2, 3, days=60, seed=3, before_days=100)
    return folder


def test_a_folder_with_logs_is_a_cluster_and_any_other_has_one_in_each_folder(fleet):
    assert [*clusters([fleet])] == ["cluster-0000", "cluster-0001"]
    one = fleet / "cluster-0001"
    assert {name: len(files) for name, files in clusters([one]).items()} == {"cluster-0001": 3}
    assert clusters(sorted(one.iterdir())) == {NAMED: sorted(one.iterdir())}
    with pytest.raises(FileNotFoundError):
        clusters([fleet / "none"])


def test_events_come_back_from_rows_of_the_table(fleet):
    events = read_logs([fleet / "cluster-0000"]).events
    assert events_of(pa.Table.from_batches([rows(events)])) == events


def test_the_rows_of_a_cluster_make_the_same_spans(fleet):
    found = read_fleet(clusters([fleet / "cluster-0000"]))
    result = pa.Table.from_batches([rows(read_logs([fleet / "cluster-0000"]).events)])
    result = result.append_column("cluster", pa.array(["cluster-0000"] * result.num_rows))
    assert of_rows(result).to_pylist() == [{name: getattr(span, name) for name in SPANS.arrow.names}
                                         for span in found.spans]  # fmt: skip
    assert (found.files, found.refused) == (3, [])


def test_spans_of_a_time_are_those_of_logs_of_that_time_alone(fleet):
    """Spans in progress at the limits have no observed begin or end."""
    files, middle = clusters([fleet]), when("2025-01-31")
    parts = [read_fleet(files, asked=asked(*ends)).spans for ends in ((None, None), (None, middle), (middle, None))]
    ended = [sum(span.ended for span in spans if span.kind == "repair") for spans in parts]
    assert ended[0] >= ended[1] + ended[2] and all(count > 0 for count in ended)
    watched = [{span.cluster: span.nodes for span in spans} for spans in parts]
    assert watched[0] == watched[1] == watched[2]
    from_us = asked(middle, None).since_us
    assert all(span.from_us >= from_us for span in parts[2])
    assert all(not span.fresh for span in parts[2] if span.from_us == min(one.from_us for one in parts[2]))


@pytest.mark.spark
def test_spark_gives_the_same_result(spark, fleet):
    files, span = clusters([fleet]), asked(when("2025-01-10"), None)
    assert collected(spans_on(spark, files, asked=span)) == sorted(
        read_fleet(files, asked=span).spans, key=lambda span: (span.cluster, span.from_us, span.kind, span.node or "")
    )
