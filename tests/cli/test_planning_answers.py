"""`safe`, `upgrade` and `replicas` first report queues that are already unavailable and facts that are missing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from hawb.cli import main

NODES = N1, N2, N3 = "rabbit@n1", "rabbit@n2", "rabbit@n3"
RUNNING = [{"name": node, "running": True, "type": "disc"} for node in NODES]


def asked(command: str, *arguments: object) -> Result:
    more = ("--trials", "0") if command == "replicas" else ()
    return CliRunner().invoke(main, [command, *more, *map(str, arguments)], catch_exceptions=False)


def answer(result: Result) -> str:
    """Return question and answer on one line."""
    return " ".join(" ".join(result.stdout.split("\n\n")[0].splitlines()[:3]).split())


def story(folder: Path, cluster: str, *steps: str) -> Path:
    file = folder / "story.yaml"
    file.write_text("\n".join(["scenario: x", f"cluster: {cluster}", "steps:", *(f"  - {step}" for step in steps)]))
    return file


DOWN = ('{nodes: [a, b, c], version: "4.0"}',
        "declare: {queue: q, node: a, arguments: {x-queue-type: quorum}}", "kill: [b, c]")  # fmt: skip


@pytest.mark.parametrize(
    ("command", "options"), [("safe", ()), ("safe", ("--node", "a")), ("upgrade", ()), ("upgrade", ("--full-stop",)),
                             ("upgrade", ("--to", "4.3")), ("replicas", ())],
)  # fmt: skip
def test_unavailable_queue_is_the_answer(tmp_path: Path, command: str, options: tuple[str, ...]):
    done = asked(command, *options, story(tmp_path, *DOWN))
    assert done.exit_code == 1
    assert "✕ No: q is already out of use (2 of 3 members down). Start b or c first." in answer(done)
    assert "$ systemctl start rabbitmq-server   # on b or c" in done.stdout
    assert "NODE" not in done.stdout.replace("NODE_ONLY", "") and "…" not in done.stdout


@pytest.mark.parametrize(
    ("steps", "text"),
    [
        (("partition: [[a], [b], [c]]", "wait: 100"), "q is already out of use (2 of 3 members out of reach)"),
        (("kill: c", "partition: [[a], [b]]", "wait: 100"),
         "q is already out of use (2 of 3 members down or out of reach)"),
        (("declare: {queue: p, node: a}", "partition: [[a], [b, c]]", "wait: 100"),
         "p is already out of use (node a is paused)"),
    ],
)  # fmt: skip
def test_running_node_is_not_called_down(tmp_path: Path, steps: tuple[str, ...], text: str):
    cluster, declared, _ = DOWN
    if "paused" in text:
        cluster = cluster.replace("}", ", cluster_partition_handling: pause_minority}")
    assert f"No: {text}" in answer(asked("safe", story(tmp_path, cluster, declared, *steps)))


@pytest.mark.parametrize(
    ("release", "options"),
    [("4.0", ()), ("4.0", ("--full-stop",)), ("4.0", ("--to", "4.3")), ("4.3", ()), ("4.3", ("--full-stop",))],
)
def test_plan_for_fewer_nodes_than_the_cluster_has_is_not_advised(
    tmp_path: Path, release: str, options: tuple[str, ...]
):
    """With b back, another plan may be the best; without a majority of the metadata store, a does not come back."""
    for killed, status in (("[b, c]", 1), ("b", 0)):
        cluster, declared, _ = DOWN
        file = story(tmp_path, cluster.replace("4.0", release), declared, f"kill: {killed}")
        done = asked("upgrade", *options, file)
        todo = done.stdout.partition("What to do\n")[2].partition("\n\n")[0]
        assert done.exit_code == status and todo.count("  1. Start b") == 1
        assert "  2. Then ask again: the plan below is only for the nodes that run now." in todo
        assert "Restart" not in todo and "Stop in this order" not in todo and "one step after" not in todo


def test_line_of_each_node_states_the_unavailable_queue(tmp_path: Path):
    done = asked("safe", "--format", "line", story(tmp_path, *DOWN))
    assert (done.exit_code, done.stdout) == (
        1, "✕ a: No: q is already out of use (2 of 3 members down). Start b or c first.\n"
    )  # fmt: skip
    gauges = asked("safe", "--format", "prometheus", story(tmp_path, *DOWN)).stdout
    assert 'hawb_node_safe_to_stop{node="a"} 0' in gauges
    [found] = json.loads(asked("safe", "--json", story(tmp_path, *DOWN)).stdout)
    assert found["out_of_use"] == [
        {"queue": "q", "reason": "no_majority", "replicas": 3, "down": ["b", "c"], "state": ""}
    ]


def test_metadata_store_without_a_majority_is_the_answer(tmp_path: Path):
    """Stopping other nodes affects no queue, but is not advised."""
    few = ('{nodes: [a, b, c, d, e], version: "4.3"}', "declare: {queue: t, node: a}", "kill: [c, d, e]")
    done = asked("safe", story(tmp_path, *few))
    assert done.exit_code == 1
    assert "No: the metadata store is already out of use (3 of 5 members down)" in answer(done)
    assert "may be stopped" not in answer(done)
    assert "one of them is enough to bring back the metadata store." in done.stdout


def test_answer_names_the_node_to_start_if_none_runs(tmp_path: Path):
    file = story(tmp_path, *DOWN, "stop: a")
    for command in ("safe", "upgrade"):
        done = asked(command, file)
        assert done.exit_code == 1 and "No: q is already out of use (3 of 3 members down). Start" in answer(done)


@pytest.mark.parametrize("command", ["safe", "upgrade", "replicas"])
def test_a_scenario_may_come_from_standard_input(tmp_path: Path, command: str):
    more = ["--trials", "0"] if command == "replicas" else []
    done = CliRunner().invoke(main, [command, *more, "-"], input=story(tmp_path, *DOWN).read_text())
    assert done.exit_code == 1 and "No: q is already out of use" in answer(done)


def queue(name: str, kind: str = "classic") -> dict[str, Any]:
    arguments = {} if kind == "classic" else {"x-queue-type": kind}
    return {"name": name, "vhost": "/", "durable": True, "auto_delete": False, "arguments": arguments}


def row(name: str, kind: str = "classic", **more: Any) -> dict[str, Any]:
    counts = {"messages": 3, "messages_ready": 3, "messages_unacknowledged": 0}
    return queue(name, kind) | {"type": kind, "state": "running", "exclusive": False} | counts | more


def group(name: str, members: tuple[str, ...] = NODES, online: tuple[str, ...] = NODES, **more: Any) -> dict[str, Any]:
    place = {"members": members, "online": online, "leader": online[0], "node": online[0]}
    return row(name, "quorum") | place | more


def files(folder: Path, queues: list[dict], listing: list | dict | None, nodes: list | None = RUNNING) -> list[Path]:
    definitions = {"rabbit_version": "3.12.14", "vhosts": [{"name": "/"}], "queues": queues, "policies": []}
    written = []
    for name, content in (("definitions", definitions), ("queues", listing), ("nodes", nodes)):
        if content is not None:
            written.append(folder / f"{name}.json")
            written[-1].write_text(json.dumps(content))
    return written


@pytest.mark.parametrize(
    ("listed", "text"),
    [
        (row("q", node=N2, state="down"), "q is already out of use (down in a listing)."),
        (row("q", node=N2, state="crashed"), "q is already out of use (crashed in a listing)."),
        (group("q", online=(N1,), state="minority"), "q is already out of use (2 of 3 members down)."),
        (row("q", "stream", members=NODES, online=[N1], leader=N1), "q is already out of use (2 of 3 members down)."),
    ],
)
@pytest.mark.parametrize("command", ["safe", "upgrade", "replicas"])
def test_queue_listed_as_unavailable_is_the_answer(
    tmp_path: Path, command: str, listed: dict, text: str
):  # fmt: skip
    done = asked(command, *files(tmp_path, [queue("q", listed["type"])], [listed]))
    assert done.exit_code == 1 and f"✕ No: {text}" in answer(done)


@pytest.mark.parametrize(
    ("listed", "advised"),
    [
        (row("q", node=N2, state="crashed"), f"$ rabbitmqctl -n {N2} stop"),
        (row("q", node=N2, state="stopped"), f"$ rabbitmqctl -n {N2} restart_vhost --vhost /"),
        (group("q", online=(N1,), state="minority"), f"$ rabbitmqctl -n {N2} stop"),
    ],
)
def test_crashed_queue_on_a_running_node_has_advice(tmp_path: Path, listed: dict, advised: str):
    """The advice is a restart of the node, or of the virtual host if the queue was stopped."""
    definitions = [queue("q", listed["type"])]
    for command in ("safe", "replicas"):
        assert advised in asked(command, *files(tmp_path, definitions, [listed])).stdout
    down = [node | {"running": node["name"] != N2} for node in RUNNING]
    done = asked("safe", *files(tmp_path, definitions, [listed], down))
    assert advised not in done.stdout and f"$ systemctl start rabbitmq-server   # on {N2}" in done.stdout


def test_unavailable_queue_is_reported_without_a_list_of_nodes(tmp_path: Path):
    listed = group("q", online=(N1,), state="minority")
    done = asked("safe", *files(tmp_path, [queue("q", "quorum")], [listed], None))
    assert done.exit_code == 1 and "No: q is already out of use (minority in a listing)." in answer(done)


@pytest.mark.parametrize("command", ["safe", "upgrade", "replicas"])
def test_definitions_alone_give_no_answer(tmp_path: Path, command: str):
    [file] = files(tmp_path, [queue("q"), queue("r", "quorum")], None, None)
    done = asked(command, file)
    if command == "replicas":
        assert done.exit_code == 1 and "No: 1 of 2 queues does not survive 1 failure: q" in answer(done)
        [file] = files(tmp_path, [queue("r", "quorum")], None, None)
        done = asked(command, file)
    assert done.exit_code == 3 and "? Cannot tell: no file says " in answer(done)
    assert "node1" not in answer(done) and f"$ hawb {command} {file} queues.txt" in done.stdout
    assert "$ rabbitmqctl -q list_queues -p / name " in done.stdout
    assert command == "replicas" or "$ rabbitmqctl cluster_status --formatter json > nodes.json" in done.stdout


@pytest.mark.parametrize(
    ("queues", "listing", "nodes", "text"),
    [
        ([queue("q")], [row("q", node=N2)], None, "which nodes the cluster has, and which of them run"),
        ([queue("q")], None, RUNNING, "on which nodes the queues are, and how many messages they have"),
        ([queue("q"), queue("r")], [row("q", node=N2)], RUNNING, "where r stands and what is in there"),
        ([queue("q", "quorum")], [row("q", "quorum")], RUNNING, "where q stands and what is in there"),
        ([queue("q")], {"items": [row("q", node=N2)], "page_count": 2, "page": 1}, RUNNING,
         "on which nodes the queues are, and how many messages they have"),
    ],
)  # fmt: skip
def test_missing_fact_is_named(
    tmp_path: Path, queues: list[dict], listing: list | dict | None, nodes: list | None, text: str
):
    given = files(tmp_path, queues, listing, nodes)
    done = asked("safe", "--format", "line", "--node", N1, *given)
    assert done.exit_code == 3 and f"Cannot tell: no file says {text}." in done.stdout
    assert asked("safe", *given).exit_code in (1, 3)  # what is known of other queues may hurt


def test_no_node_is_safe_while_the_place_of_a_queue_is_unknown(tmp_path: Path):
    given = files(tmp_path, [queue("q", "classic"), queue("r", "classic")], [row("q", node=N1)])
    done = asked("safe", *given)
    assert done.exit_code == 1 and f"No: stopping {N1} leaves q out of use." in answer(done)
    assert "may be stopped" not in answer(done)


def test_complete_files_give_an_answer(tmp_path: Path):
    given = files(tmp_path, [queue("q", "quorum")], [group("q")])
    done = asked("safe", *given)
    assert done.exit_code == 0 and "✓ Yes: any node may be stopped" in answer(done)
    assert asked("safe", *given, "--node", "rabbit@other").exit_code == 2


def test_member_on_a_former_node_is_replaced(tmp_path: Path):
    n4 = "rabbit@n4"
    nodes = [{"name": node, "running": True} for node in (N1, N2, n4)]
    given = files(tmp_path, [queue("photos", "quorum")], [group("photos", online=(N1, N2))], nodes)
    for command in ("safe", "replicas", "upgrade"):
        done = asked(command, *given)
        deleted, added = "$ rabbitmq-queues delete_member -p / photos rabbit@n3", f"add_member -p / photos {n4}"
        assert 0 < done.stdout.index(deleted) < done.stdout.index(added)
        assert "1. Delete the members of photos on rabbit@n3, which has left the cluster" in done.stdout


GHOSTS: dict[str, tuple[dict[str, str], dict[str, bool], str]] = {
    "each node has a member": ({"q": "123"}, {"1": True, "2": True}, """
        rabbitmq-queues delete_member -p / q rabbit@n3
        RABBITMQ_NODE_ONLY=true rabbitmq-server -detached   # on rabbit@n3
        rabbitmqctl -n rabbit@n3 reset
        rabbitmqctl -n rabbit@n3 join_cluster rabbit@n1
        rabbitmqctl -n rabbit@n3 stop
        systemctl start rabbitmq-server   # on rabbit@n3
        rabbitmq-queues add_member -p / q rabbit@n3"""),
    "the node without a member is down": ({"q": "123"}, {"1": True, "2": True, "4": False}, """
        systemctl start rabbitmq-server   # on rabbit@n4
        rabbitmq-queues delete_member -p / q rabbit@n3
        rabbitmq-queues add_member -p / q rabbit@n4"""),
    "to delete it is enough": ({"q": "1243"}, {"1": True, "2": True, "4": True}, """
        rabbitmq-queues delete_member -p / q rabbit@n3"""),
    "the node with the fewest members": ({"q": "123", "r": "124"}, {"1": True, "2": True, "4": True, "5": True}, """
        rabbitmq-queues delete_member -p / q rabbit@n3
        rabbitmq-queues add_member -p / q rabbit@n5"""),
    "without a majority none can be deleted": ({"q": "123"}, {"1": True, "4": True, "5": True}, """
        RABBITMQ_NODE_ONLY=true rabbitmq-server -detached   # on rabbit@n2
        rabbitmqctl -n rabbit@n2 reset
        rabbitmqctl -n rabbit@n2 join_cluster rabbit@n1
        rabbitmqctl -n rabbit@n2 stop
        systemctl start rabbitmq-server   # on rabbit@n2
        RABBITMQ_NODE_ONLY=true rabbitmq-server -detached   # on rabbit@n3
        rabbitmqctl -n rabbit@n3 reset
        rabbitmqctl -n rabbit@n3 join_cluster rabbit@n1
        rabbitmqctl -n rabbit@n3 stop
        systemctl start rabbitmq-server   # on rabbit@n3"""),
    "many queues": (dict.fromkeys("qrstu", "123"), {"1": True, "2": True, "4": True}, """
        rabbitmq-queues delete_member -p / q rabbit@n3
        rabbitmq-queues add_member -p / q rabbit@n4
        rabbitmq-queues delete_member -p / r rabbit@n3
        rabbitmq-queues add_member -p / r rabbit@n4
        rabbitmq-queues delete_member -p / s rabbit@n3
        rabbitmq-queues add_member -p / s rabbit@n4
        # and the same for 2 more queues"""),
}  # fmt: skip
"""Members of queues by name, nodes with whether they run, and what each command advises first."""


@pytest.mark.parametrize("command", ["lint", "safe", "replicas", "upgrade"])
@pytest.mark.parametrize("case", GHOSTS)
def test_commands_agree_on_members_of_former_nodes(
    tmp_path: Path, case: str, command: str
):
    held, running, part = GHOSTS[case]
    nodes = [{"name": f"rabbit@n{node}", "running": runs} for node, runs in running.items()]
    listing = [
        group(name, members=[f"rabbit@n{node}" for node in members],
              online=[f"rabbit@n{node}" for node in members if running.get(node)])
        for name, members in held.items()
    ]  # fmt: skip
    done = asked(command, *files(tmp_path, [queue(name, "quorum") for name in held], listing, nodes))
    todo = done.stdout.partition("What to do\n")[2].partition("\n\n")[0]
    commands = [line.strip().removeprefix("$ ") for line in todo.splitlines() if line.startswith("     $ ")]
    wanted = [line.strip() for line in part.strip().splitlines()]
    assert commands[: len(wanted)] == wanted, done.stdout


def test_forgotten_node_is_reset_and_joined_again(tmp_path: Path):
    cluster, declared, _ = DOWN
    file = story(tmp_path, cluster, declared, "stop: c", "forget_cluster_node: {node: c, from: a}")
    done = asked("safe", file)
    assert done.exit_code == 1 and "Start c" not in done.stdout
    commands = [line.split("$ ")[1] for line in done.stdout.splitlines() if "$ " in line]
    assert commands == [
        "RABBITMQ_NODE_ONLY=true rabbitmq-server -detached   # on c", "rabbitmqctl -n c reset",
        "rabbitmqctl -n c join_cluster a", "rabbitmqctl -n c stop", "systemctl start rabbitmq-server   # on c",
        "rabbitmq-queues add_member -p / q c",
    ]  # fmt: skip


@pytest.mark.parametrize("command", ["safe", "upgrade", "replicas"])
def test_refusal_of_an_export_names_its_file(tmp_path: Path, command: str):
    policy = {"vhost": "/", "name": "p", "pattern": "(", "apply-to": "queues", "definition": {"max-length": 3}}
    export = {"rabbit_version": "4.0.5", "vhosts": [{"name": "/"}], "queues": [], "policies": [policy]}
    file = tmp_path / "definitions.json"
    file.write_text(json.dumps(export))
    done = asked(command, file)
    assert done.exit_code == 2
    assert done.stderr.startswith(f"{file}: policies[0]: RabbitMQ would refuse this policy")


@pytest.mark.parametrize("command", ["safe", "upgrade", "replicas"])
def test_help_lists_the_exit_statuses(command: str):
    shown = " ".join(CliRunner().invoke(main, [command, "--help"]).stdout.split())
    for words in ("0, yes", "1, no", "2, the input is refused", "3, cannot tell"):
        assert words in shown
