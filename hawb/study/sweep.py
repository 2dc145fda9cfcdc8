"""The first sweep: every combination of `hawb.study.trials` under many seeds, as a Spark DataFrame.

Starting a task of a Python worker costs as much as hundreds of trials, so there are as few tasks as there are cores.
Each is a range of trial numbers, and a trial depends on its number alone. Hence the same rows for any number of
partitions.

The summary is SQL. Its interval for a share of trials is Wilson's (E. B. Wilson, "Probable inference, the law of
succession, and statistical inference", 1927), which unlike the textbook's stays within 0 to 1 and says something at 0
and at 1: for x of n trials (x + z²/2 ± z·√(x(n - x)/n + z²/4)) / (n + z²), with z = 1.959964 for 95 %.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa
from msgspec.structs import asdict, fields
from pyspark.sql import DataFrame, SparkSession

from hawb.study.folders import written_whole
from hawb.study.trials import COMBINATIONS, Family, Trial, numbered

SQL_TYPES = {str: "string", int: "bigint", float: "double"}
ARROW_TYPES = {str: pa.string(), int: pa.int64(), float: pa.float64()}

SUMMARY = """\
WITH counted AS (
  SELECT shutdown, ha_sync_mode, ha_promote_on_shutdown, ha_promote_on_failure,
         count(*) AS trials,
         count_if(lost > 0) AS with_loss,
         1.959964D * sqrt(with_loss * (trials - with_loss) / trials + 0.960365D) AS spread,
         avg(lost) AS mean_lost,
         avg(publish_down_s) AS mean_down_s,
         avg(sync_blocked_s) AS mean_blocked_s
  FROM {trials}
  GROUP BY shutdown, ha_sync_mode, ha_promote_on_shutdown, ha_promote_on_failure
)
SELECT shutdown, ha_sync_mode, ha_promote_on_shutdown, ha_promote_on_failure, trials,
       round(with_loss / trials, 4) AS loss_share,
       round(greatest(0, (with_loss + 1.920729D - spread) / (trials + 3.841459D)), 4) AS loss_share_low,
       round(least(1, (with_loss + 1.920729D + spread) / (trials + 3.841459D)), 4) AS loss_share_high,
       round(mean_lost) AS mean_lost,
       round(mean_down_s, 3) AS mean_down_s,
       round(mean_blocked_s, 3) AS mean_blocked_s
FROM counted
ORDER BY shutdown DESC, ha_sync_mode DESC, ha_promote_on_shutdown DESC, ha_promote_on_failure DESC"""
"""One row a combination: the share of its trials that lost messages, with Wilson's 95 % interval, and the means of
lost messages, of the seconds without a master and of the seconds blocked by a synchronisation."""


def sweep(spark: SparkSession, seeds: int, family: Family | None = None, partitions: int | None = None) -> DataFrame:
    """All combinations with the seeds 0 to `seeds` - 1: one row a trial, its columns the fields of `Trial`.

    `family` says from which situations the seeds draw (by default `Family()`), `partitions` into how many tasks the
    work is cut (by default one for each core). Nothing runs before an action does, and an error in a trial is an error
    of that action.
    """
    family = family or Family()

    def play(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield as_batch(numbered(family, batch["id"].to_pylist()))

    cores = spark.sparkContext.defaultParallelism
    numbers = spark.range(seeds * len(COMBINATIONS), numPartitions=partitions or cores)
    return numbers.mapInArrow(play, ", ".join(f"{field.name} {SQL_TYPES[field.type]}" for field in fields(Trial)))


def as_batch(trials: Iterable[Trial]) -> pa.RecordBatch:
    """Trials as Arrow has them."""
    schema = pa.schema([(field.name, ARROW_TYPES[field.type]) for field in fields(Trial)])
    return pa.RecordBatch.from_pylist([asdict(trial) for trial in trials], schema=schema)


def summary(trials: DataFrame) -> DataFrame:
    """What `SUMMARY` makes of the trials."""
    return trials.sparkSession.sql(SUMMARY, trials=trials)


def save(frame: DataFrame, folder: Path) -> DataFrame:
    """Writes `frame` as Parquet to `folder`, in place of what was there (`written_whole`), and reads it back.

    `frame` must not itself be read from `folder`.
    """
    with written_whole(folder) as new:
        frame.write.parquet(str(new))
    return frame.sparkSession.read.parquet(str(folder))
