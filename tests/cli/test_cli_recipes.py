"""The recipes of data/recipes, played: with this hawb, a management API on loopback, and commands of RabbitMQ's and the
system's that only write down how they were called."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml
from ci_forms import place_of, results_of
from inventories import FILES, ROOT
from management_api import LOGIN, REAL, Server, listing, quorum_queue, serving

RECIPES = ROOT / "data" / "recipes"
A, B, C = "a@10.77.9.1", "b@10.77.9.2", "c@10.77.9.3"
WRITES = "rabbitmqctl", "rabbitmq-upgrade", "systemctl", "restart", "sleep", "pip"


class Machine:
    """A folder of commands: hawb itself, and others that note their calls in `calls`."""

    def __init__(self, folder: Path):
        self.folder, self.noted = folder, folder / "calls"
        self.noted.touch()
        self.command("hawb", f'exec {shlex.quote(sys.executable)} -m hawb.cli "$@"')
        for name in WRITES:
            self.command(name, f'echo "{name} $*" >> {shlex.quote(str(self.noted))}')

    def command(self, name: str, line: str) -> None:
        file = self.folder / name
        file.write_text(f"#!/bin/sh\n{line}\n")
        file.chmod(0o755)

    def run(self, *words: str, where: Path | None = None, **variables: str) -> subprocess.CompletedProcess[str]:
        """Runs a command as a user with the API's login in the environment has it."""
        named = {"HAWB_API_USER": LOGIN.user, "HAWB_API_PASSWORD": LOGIN.password, "PYTHONPATH": str(ROOT)}
        paths = {"PATH": f"{self.folder}:{os.environ['PATH']}", "RESTART": "restart"}
        env = os.environ | named | paths | variables
        return subprocess.run(words, env=env, cwd=where, capture_output=True, text=True)

    @property
    def calls(self) -> list[str]:
        return self.noted.read_text().splitlines()


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    folder = tmp_path / "bin"
    folder.mkdir()
    return Machine(folder)


@pytest.fixture
def api() -> Iterator[Server]:
    with serving() as server:
        yield server


# --- node by node ---


def test_script_restarts_nodes_until_one_is_not_safe_to_stop(machine: Machine, api: Server):
    """Neither node of a queue with two members may stop; c has no member."""
    api.answers["/api/queues"] = listing(quorum_queue(A, B))
    done = machine.run(str(RECIPES / "restart-node-by-node.sh"), api.url, C, A, B)
    assert done.returncode == 1, done.stderr
    assert [line[:1] for line in done.stdout.splitlines()] == ["✓", "✕"]
    assert machine.calls == [
        f"rabbitmq-upgrade --node {C} drain", f"restart {C}", f"rabbitmqctl --node {C} await_startup",
        f"rabbitmq-upgrade --node {C} await_online_quorum_plus_one",
    ]  # fmt: skip


def test_script_restarts_no_node_without_an_answer(machine: Machine):
    with Server() as gone:
        url = gone.url
    assert machine.run(str(RECIPES / "restart-node-by-node.sh"), url, A).returncode == 2
    assert machine.calls == []


# --- systemd ---


def unit(machine: Machine, api: Server, node: str) -> str:
    """The unit with this machine's commands, the API's address, and a node in place of the host's own."""
    text = (RECIPES / "rabbitmq-restart-if-safe.service").read_text()
    for folder in ("/usr/bin/", "/usr/sbin/"):
        text = text.replace(f"={folder}", f"={machine.folder}/")
    return text.replace("http://127.0.0.1:15672", api.url).replace("rabbit@%l", node)


def commands(text: str, key: str) -> list[list[str]]:
    return [shlex.split(line.partition("=")[2]) for line in text.splitlines() if line.startswith(f"{key}=")]


@pytest.mark.parametrize(("node", "status"), [(C, 0), (A, 1)])
def test_the_unit_restarts_if_its_condition_holds(node: str, status: int, machine: Machine, api: Server):
    api.answers["/api/queues"] = listing(quorum_queue(A, B))
    text = unit(machine, api, node)
    [condition] = commands(text, "ExecCondition")
    assert machine.run(*condition).returncode == status
    for command in commands(text, "ExecStart"):
        assert machine.run(*command).returncode == 0
    assert machine.calls == ["rabbitmq-upgrade drain", "systemctl restart rabbitmq-server.service"]


def test_systemd_accepts_the_unit(machine: Machine, api: Server, tmp_path: Path, unavailable: Callable[[str], None]):
    if shutil.which("systemd-analyze") is None:
        unavailable("systemd-analyze is missing; on Debian and Ubuntu: apt-get install systemd")
    file = tmp_path / "rabbitmq-restart-if-safe.service"
    file.write_text(unit(machine, api, A))
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", file], capture_output=True, text=True)
    assert file.name not in done.stderr and done.returncode == 0, done.stderr


# --- Kubernetes ---


def test_pod_hook_waits_until_its_node_is_safe_to_stop(machine: Machine, api: Server):
    """A third node comes back while the hook waits."""
    api.answers["/api/queues"] = listing(quorum_queue(A, B, C))
    running = json.loads((REAL / "api-nodes.json").read_bytes())
    without_c = [node | {"running": node["name"] != C} for node in running]
    api.answers["/api/nodes"] = [(200, json.dumps(nodes).encode()) for nodes in (without_c, running)]
    pod = yaml.safe_load((RECIPES / "kubernetes-prestop.yaml").read_text())["spec"]["template"]["spec"]
    [container] = pod["containers"]
    words = container["lifecycle"]["preStop"]["exec"]["command"]
    assert {"HAWB_API_USER", "HAWB_API_PASSWORD", "RABBITMQ_NODENAME"} <= {one["name"] for one in container["env"]}
    script = words[-1].replace("http://127.0.0.1:15672", api.url).replace(">/proc/1/fd/1 2>&1", "")
    assert script.count(api.url) == 1 and "/proc" not in script
    done = machine.run(*words[:-1], script, RABBITMQ_NODENAME=A)
    assert done.returncode == 0, done.stderr
    assert [line[:1] for line in done.stdout.splitlines()] == ["✕", "✓"]
    assert machine.calls == ["sleep 10"]


# --- GitHub ---


def test_pull_request_is_linted(machine: Machine, tmp_path: Path):
    shutil.copy(FILES[0], tmp_path / "definitions.json")
    # YAML 1.1 reads the key `on` as true.
    workflow = yaml.safe_load((RECIPES / "lint-definitions.yml").read_text())
    assert workflow[True]["pull_request"]["paths"] == ["definitions.json"]
    steps = workflow["jobs"]["lint"]["steps"]
    statuses = [machine.run("sh", "-ec", step["run"], where=tmp_path).returncode for step in steps if "run" in step]
    assert (statuses, machine.calls) == ([0, 1], ["pip install hawb"])
    upload = steps[-1]
    assert upload["if"] == "always()" and upload["uses"].startswith("github/codeql-action/upload-sarif@")
    found = results_of((tmp_path / upload["with"]["sarif_file"]).read_text())
    assert place_of(found[0])[0] == "definitions.json"


def test_each_recipe_is_documented():
    text = (RECIPES / "README.md").read_text()
    assert {f"]({file.name})" in text for file in RECIPES.iterdir() if file.name != "README.md"} == {True}
