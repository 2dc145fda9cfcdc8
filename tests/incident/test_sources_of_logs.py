"""Logs as a data source for Spark: the same events as the parser, one partition per file."""

from __future__ import annotations

from datetime import UTC

import pytest
from kept_logs import DATA, STORIES, logs
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from hawb.incident import register
from hawb.incident.event_table import AT, LOG_EVENTS, rows
from hawb.incident.events import Event
from hawb.incident.reading import read_file
from hawb.incident.sources import Logs

STORY = STORIES[0]


def test_row_has_the_fields_of_the_event():
    event = Event(at_us=1_795_769_731_694_468, node="a", kind="replicas_down", nodes=("b", "c"), line=3)
    (row,) = rows([event]).to_pylist()
    assert row.pop(AT).astimezone(UTC).isoformat() == "2026-11-27T08:55:31.694468+00:00"
    assert row == {name: list(value) if isinstance(value := getattr(event, name), tuple) else value for name in row}
    assert [AT, *row] == LOG_EVENTS.schema.names


def test_a_file_is_a_partition():
    partitions = Logs({"path": str(STORY)}).reader(LOG_EVENTS.schema).partitions()
    assert sorted(part.file for part in partitions) == logs(STORY)


@pytest.mark.parametrize(("option", "given"), [("zone", "Nowhere/At all"), ("zone", "../etc"), ("mode", "DROP")])
def test_an_unknown_option_is_refused(option, given):
    with pytest.raises(ValueError, match=option):
        Logs({"path": "x", option: given})


def test_truncated_file_fails_only_in_failfast_mode(tmp_path):
    file = tmp_path / "a.log.gz"
    file.write_bytes(logs(STORY)[0].read_bytes()[:-2000])
    lenient, strict = (Logs({"path": str(file), "mode": mode}).reader(LOG_EVENTS.schema)
                       for mode in ("permissive", "failfast"))  # fmt: skip
    (part,) = lenient.partitions()
    assert sum(batch.num_rows for batch in lenient.read(part))
    with pytest.raises(ValueError, match=r"a\.log\.gz"):
        list(strict.read(part))


@pytest.mark.spark
def test_spark_has_the_events_of_the_parser(spark: SparkSession):
    table = register(spark).read.format("rabbitmq-logs").load(str(STORY))
    found = table.select("file", "line", "kind", "node").orderBy("file", "line").collect()
    assert [tuple(row) for row in found] == [
        (event.file, event.line, event.kind, event.node) for file in logs(STORY)
        for event in sorted(read_file(file).events, key=lambda event: event.line)
    ]  # fmt: skip
    assert table.where("connection IS NOT NULL").count() == 0
    assert all(field.metadata["comment"] for field in table.schema)


@pytest.mark.spark
def test_spark_refuses_a_path_that_is_not_there(spark: SparkSession, tmp_path):
    with pytest.raises(PySparkException, match=r"none\.log"):
        register(spark).read.format("rabbitmq-logs").load(str(tmp_path / "none.log")).collect()


@pytest.mark.spark
def test_spark_examples_of_the_page_of_log_events_run(spark: SparkSession, capsys):
    block = (DATA / "log-events.md").read_text("utf-8").partition("```python\n")[2].partition("```")[0]
    exec(block.replace("logs/", str(DATA / "logs" / "3.10" / "partition-autoheal")), {"spark": spark})
    assert "|n1@10.77.0.1|" in capsys.readouterr().out
