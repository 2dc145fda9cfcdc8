"""One broker node: its files, its environment, and how it boots, stops and dies.

A node runs in its own network namespace, so that every node keeps the standard ports. Its Erlang name numbers the
scenario's nodes in alphabetical order: where RabbitMQ takes the first of equals, it takes the same one in both.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from hawb.broker.control import erlang_environment
from hawb.broker.namespaces import address, inside
from hawb.broker.roots import Release, script
from hawb.rules.profiles import PROFILES
from hawb.scenario.document import Cluster, PauseIfAllDown

WAITS, STARTED, STOPS = "Waiting for Mnesia tables", "Server startup complete", "RabbitMQ is asked to stop"
"""The log lines of a node that waits for others at boot, that has booted, and that begins to stop."""
TABLE_TRIES = 10
"""The number of times that a node tries to load its tables (`mnesia_table_loading_retry_limit`).

With Khepri it waits as long for a leader.
"""


def erlang_name(number: int) -> str:
    """Return the Erlang name of a node."""
    return f"n{number}@{address(number)}"


def configuration(entry: Cluster, erlang: dict[str, str]) -> tuple[str, str]:
    """Return rabbitmq.conf and advanced.config for a scenario's cluster; `erlang` has the nodes' Erlang names."""
    handling = entry.cluster_partition_handling
    lines = {
        "loopback_users.guest": "false",
        "disk_free_limit.absolute": "1MB",
        "log.file.level": "info",
        "net_ticktime": max(1, round(entry.net_ticktime)),
        "queue_master_locator": entry.queue_master_locator,
        "mnesia_table_loading_retry_timeout": round(entry.timing.boot_retry_s * 1000),
        "cluster_partition_handling": handling,
    }
    if isinstance(handling, PauseIfAllDown):
        lines["cluster_partition_handling"] = "pause_if_all_down"
        lines["cluster_partition_handling.pause_if_all_down.recover"] = handling.recover
        for index, name in enumerate(handling.pause_if_all_down, 1):
            lines[f"cluster_partition_handling.pause_if_all_down.nodes.{index}"] = erlang[name]
    tables_s = TABLE_TRIES * entry.timing.boot_retry_s
    advanced = {
        "mirroring_sync_batch_size": entry.mirroring_sync_batch_size,
        "mirroring_sync_max_throughput": entry.mirroring_sync_max_throughput,
        "slave_wait_timeout": None if entry.slave_wait_timeout is None else round(entry.slave_wait_timeout * 1000),
        "consumer_timeout": entry.consumer_timeout,
        "quorum_cluster_size": entry.quorum_cluster_size,
        "quorum_commands_soft_limit": entry.quorum_commands_soft_limit,
        "khepri_leader_wait_retry_timeout": round(tables_s * 1000) if PROFILES[entry.version].khepri else None,
    }
    pairs = ", ".join(f"{{{key}, {value}}}" for key, value in advanced.items() if value is not None)
    return "".join(f"{key} = {value}\n" for key, value in lines.items()), f"[{{rabbit, [{pairs}]}}].\n"


class BrokerNode:
    """A node of a scenario, with all its files in `directory`; the cookie is in `home`."""

    def __init__(self, name: str, number: int, namespace: str, directory: Path, home: Path, release: Release):
        self.name, self.number, self.directory = name, number, directory
        self.erlang = erlang_name(number)
        self._namespace, self._home, self._release = namespace, home, release
        self._process: subprocess.Popen | None = None
        self._read = 0
        self.data.mkdir(parents=True, exist_ok=True)
        (directory / "enabled_plugins").write_text("[].\n")
        (directory / "rabbitmq-env.conf").write_text("")

    @property
    def data(self) -> Path:
        """Return the folder that survives the node's process: its database and its messages."""
        return self.directory / "data"

    @property
    def alive(self) -> bool:
        """Return True if its operating system process runs."""
        return self._process is not None and self._process.poll() is None

    def configure(self, configuration: str, advanced: str) -> None:
        """Write its configuration."""
        (self.directory / "rabbitmq.conf").write_text(configuration)
        (self.directory / "advanced.config").write_text(advanced)

    def boot(self) -> None:
        """Start the process; the cluster checks whether the broker comes up."""
        self._read = self._log.stat().st_size if self._log.exists() else 0
        self._process = self._start({})

    def alone(self, expression: str, timeout_s: float) -> str:
        """Return the value of an expression in the node's own Erlang without its broker, as Erlang writes it."""
        answer = self.directory / "answer"
        answer.unlink(missing_ok=True)
        code = (
            "{ok, _} = application:ensure_all_started(rabbitmq_prelaunch), application:load(rabbit),"
            f' application:set_env(rabbit, feature_flags_file, "{self.data / "feature_flags"}"),'
            f' application:set_env(mnesia, dir, "{self.data / "mnesia"}"),'
            f' ok = file:write_file("{answer}", io_lib:format("~tp", [catch {expression}])), halt().'
        )
        process = self._start({"RABBITMQ_NODE_ONLY": "true"}, "-eval", code)
        try:
            process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        return answer.read_text() if answer.exists() else "no answer"

    def _start(self, environment: dict[str, str], *arguments: str) -> subprocess.Popen:
        command = self.command("rabbitmq-server", "-noinput", *arguments)
        with (self.directory / "console.log").open("ab") as console:
            return subprocess.Popen(
                command, env=self.environment | environment, cwd=self.directory,
                start_new_session=True, stdin=subprocess.DEVNULL, stdout=console, stderr=console,
            )  # fmt: skip

    def command(self, name: str, *arguments: str) -> list[str]:
        """Return the command line of one of the broker's scripts, for this node and in its namespace."""
        return inside(self._namespace, self._release.command([script(name), *arguments], self._home))

    def kill(self) -> None:
        """Kill the process with kill -9; from now on the node is not `alive`, even while the process still ends."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()

    def wait(self, timeout_s: float) -> None:
        """Wait for the process to end by itself. Raise subprocess.TimeoutExpired."""
        if self._process is not None:
            self._process.wait(timeout_s)

    def wipe(self) -> None:
        """Delete the node's data."""
        shutil.rmtree(self.data)
        self.data.mkdir()

    @property
    def has_booted(self) -> bool:
        """Return True if, according to its log, the broker has started and has not begun to stop since."""
        log = self.log_since_boot()
        return log.rfind(STARTED) > log.rfind(STOPS)

    def log_since_boot(self) -> str:
        """Return the node's log since its last boot."""
        return self.log(self._read)

    def log(self, since: int = 0) -> str:
        """Return the node's log from an offset in bytes."""
        if not self._log.exists():
            return ""
        with self._log.open("rb") as stream:
            stream.seek(since)
            return stream.read().decode(errors="replace")

    @property
    def environment(self) -> dict[str, str]:
        """Return the environment of the server's scripts and of rabbitmqctl for this node."""
        place = self.directory
        return erlang_environment(self._home) | {
            "RABBITMQ_NODENAME": self.erlang,
            "RABBITMQ_USE_LONGNAME": "true",
            "RABBITMQ_MNESIA_BASE": str(self.data),
            "RABBITMQ_MNESIA_DIR": str(self.data / "mnesia"),
            "RABBITMQ_FEATURE_FLAGS_FILE": str(self.data / "feature_flags"),
            "RABBITMQ_LOG_BASE": str(place),
            "RABBITMQ_LOGS": str(self._log),
            "RABBITMQ_CONFIG_FILE": str(place / "rabbitmq.conf"),
            "RABBITMQ_ADVANCED_CONFIG_FILE": str(place / "advanced.config"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(place / "enabled_plugins"),
            "RABBITMQ_PID_FILE": str(place / "pid"),
            "RABBITMQ_CONF_ENV_FILE": str(place / "rabbitmq-env.conf"),
            "RABBITMQ_DIST_PORT": "25672",
            "RABBITMQ_ALLOW_INPUT": "true",
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "+S 2:2 +sbwt none",
        }

    @property
    def _log(self) -> Path:
        return self.directory / "broker.log"
