"""Spark's own servers on the loopback interface, from the pinned pyspark: a standalone cluster, and Spark Connect."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import zip_longest
from pathlib import Path
from typing import NoReturn

import pyspark

from hawb.broker.namespaces import Network, address
from hawb.study import class_archive
from hawb.study.java import java_home
from hawb.study.spark import BRIEF

ROOT = Path(__file__).parents[2]
STARTED = "Successfully started service 'org.apache.spark.sql.connect.service.SparkConnectService'"
PYTHONPATH = (str(ROOT), str(Path(__file__).parent))
QUICK = f"{BRIEF} {class_archive.options()}"
"""Options with which servers and executors start in half the time: those of hawb's own Java."""
FEW = {
    "designs": "manual-stop-when-kill-always, automatic-stop-when-kill-when", "environments": "kills", "trials": 2,
}  # fmt: skip
"""The part of data/studies/policies.yaml that is read."""
READ = [2, 2, 0, 31, 40]
"""Designs of which trials, faults and losses are read, and rows of queues and definitions in data/real."""


@contextmanager
def cluster(folder: Path) -> Iterator[tuple[str, list[int]]]:
    """Start a standalone master with two workers. Yield its address and the workers' process groups."""
    port = free_port()
    master = f"spark://127.0.0.1:{port}"
    common = ["--host", "127.0.0.1", "--webui-port", "0"]
    deploy = "org.apache.spark.deploy"
    worker = [f"{deploy}.worker.Worker", *common, "--cores", "1", "--memory", "1g",
              "--work-dir", str(folder / "work"), master]  # fmt: skip
    with servers(folder, [[f"{deploy}.master.Master", *common, "--port", str(port)], worker, worker]) as groups:
        yield master, groups[1:]


@contextmanager
def cluster_of_two_machines(folder: Path, unavailable: Callable[[str], NoReturn]) -> Iterator[tuple[str, list[str]]]:
    """The address of a standalone master on one machine, whose only worker is on another, and what runs a program on
    the master's. Machines are networks of their own, with nothing but a link."""
    network, port = Network(1), free_port()
    at_master, at_worker = ["ip", "netns", "exec", network.hub], ["ip", "netns", "exec", network.namespace(1)]
    deploy, host = "org.apache.spark.deploy", address(254)
    common, place = ["--webui-port", "0"], f"spark://{host}:{port}"
    worker = [f"{deploy}.worker.Worker", *common, "--host", address(1), "--cores", "2", "--memory", "1g",
              "--work-dir", str(folder / "work"), place]  # fmt: skip
    master = [f"{deploy}.master.Master", *common, "--host", host, "--port", str(port)]
    try:
        try:
            network.up()
        except (OSError, subprocess.CalledProcessError) as error:
            unavailable(f"a network of its own takes root and the program ip: {error}")
        with servers(folder, [master, worker], [at_master, at_worker], SPARK_LOCAL_IP=""):
            yield place, at_master
    finally:
        network.down()


@contextmanager
def connect_server(folder: Path, token: str) -> Iterator[str]:
    """Start a Connect server with two workers for clients with the token, and yield its address."""
    port, log = free_port(), folder / "0.log"
    settings = {
        "spark.connect.grpc.binding.address": "127.0.0.1", "spark.connect.grpc.binding.port": port,
        "spark.ui.enabled": "false", "spark.sql.warehouse.dir": folder / "warehouse",
    }  # fmt: skip
    command = ["org.apache.spark.deploy.SparkSubmit", "--master", "local[2]",
               "--class", "org.apache.spark.sql.connect.service.SparkConnectServer"]  # fmt: skip
    command += [part for name, value in settings.items() for part in ("--conf", f"{name}={value}")]
    with servers(folder, [[*command, "spark-internal"]], SPARK_CONNECT_AUTHENTICATE_TOKEN=token) as [server]:
        follow = ["tail", "--follow", "--lines=+1", f"--pid={server}", str(log)]
        with subprocess.Popen(follow, stdout=subprocess.PIPE, text=True) as file:
            assert any(STARTED in line for line in file.stdout), log.read_text()
            file.kill()
        yield f"sc://localhost:{port}"


@contextmanager
def servers(
    folder: Path, commands: Sequence[Sequence[str]], runners: Sequence[Sequence[str]] = (), **settings: str
) -> Iterator[list[int]]:
    """Runs Spark's classes with their arguments, each with its log in the folder; their process groups. `runners` are
    the programs that run them; `settings` are more of their environment."""
    home = Path(pyspark.__file__).parent
    environment = os.environ | {
        "JAVA_HOME": str(java_home()), "SPARK_HOME": str(home), "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_NO_DAEMONIZE": "1", "PYTHONPATH": os.pathsep.join(PYTHONPATH),
        "SPARK_DAEMON_JAVA_OPTS": QUICK, "SPARK_SUBMIT_OPTS": QUICK,
    } | settings  # fmt: skip
    running = []
    try:
        for command, runner in zip_longest(commands, runners, fillvalue=()):
            log = (folder / f"{len(running)}.log").open("wb")
            program = [*runner, home / "bin" / "spark-class", *command]
            running.append(subprocess.Popen(program, env=environment, stderr=log, stdout=log, start_new_session=True))
        yield [process.pid for process in running]
    finally:
        for process in running:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def free_port() -> int:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return bound.getsockname()[1]
