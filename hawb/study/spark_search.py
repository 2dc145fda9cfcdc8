"""A search spread over Spark: tasks extend shares of the states, and return the states that they find in order.

So it finds the same story as in one process. The driver keeps the digests of all states seen, 16 bytes each and a
dictionary's own; their number, and the time in which they come back, limit a search. It needs RDDs, by which a task
gets its own share and no other.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import SparkSession

from hawb.planning.explore import Expand, Found, Place, Question, followers
from hawb.scenario.run import Run
from hawb.study.spark import SparkRefused, is_remote

AT_A_TIME = 20_000
"""The number of states of a job: enough to outweigh the cost of a job of Spark, some tenths of a second."""

TASKS_FOR_A_CORE = 4
"""The number of shares for each core: stories differ in how long they take to play."""


def spread(spark: SparkSession) -> Expand:
    """Return the function that extends places on all of Spark's cores. Raise SparkRefused for Spark Connect."""
    if is_remote(spark):
        raise SparkRefused("a search needs RDDs, which Spark Connect does not have; accepted: local[*], a cluster's"
                           " master")
    context = spark.sparkContext

    def expand(run: Run, question: Question, places: Sequence[Place]) -> list[Found]:
        scenario, tasks = run.scenario, TASKS_FOR_A_CORE * context.defaultParallelism
        size = -(-len(places) // tasks)
        shares = [places[start : start + size] for start in range(0, len(places), size)]

        def extend(share: Sequence[Place]) -> list[Found]:
            found = followers(Run.of(scenario), question, share)
            return [one._replace(place=one.place.unplayed()) for one in found]

        return context.parallelize(shares, len(shares)).flatMap(extend).collect()

    return expand
