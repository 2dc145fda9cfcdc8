"""Stop, start, join, remove and forget nodes of a real cluster.

Each function returns the reason of a refusal, or None.
"""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

from hawb.broker.cluster import BOOT_S
from hawb.broker.nodes import BrokerNode

ALONE_S = 150
"""The time limit for a node without its broker to answer, in seconds.

It may wait until a silent node counts as down.
"""
RESETTING = {False: "rabbit_mnesia", True: "rabbit_db"}
"""The module that resets a node, by whether the release keeps its metadata in Khepri."""

if TYPE_CHECKING:
    from hawb.broker.drive import Drive


def stop(drive: Drive, nodes: list[BrokerNode]) -> str | None:
    """Stop nodes in a controlled way."""
    drive.cluster.stop(nodes)
    return None


def start(drive: Drive, nodes: list[BrokerNode]) -> str | None:
    """Boot nodes that are members."""
    strangers = [node.name for node in nodes if node.name not in drive.members]
    if strangers:
        return f"node '{strangers[0]}' has not joined the cluster"
    drive.drained -= {node.name for node in nodes}  # A boot ends maintenance.
    drive.cluster.boot(nodes)
    return next((why for node in nodes if (why := reason_down(node)) is not None), None)


def reason_down(node: BrokerNode) -> str | None:
    """Return why a node ended after its boot began; None if it runs."""
    if node.alive:
        return None
    lines = [line.partition("[error]")[2].strip() for line in node.log_since_boot().splitlines() if "[error]" in line]
    return " ".join(lines)[:600] or "the node did not boot"


def wipe(drive: Drive, node: BrokerNode) -> str | None:
    """Kill a node and delete its data."""
    node.kill()
    node.wipe()
    drive.members.discard(node.name)
    return None


def force_boot(drive: Drive, node: BrokerNode) -> str | None:
    """Boot a node that is down without waiting for other nodes, as `rabbitmqctl force_boot` does."""
    if drive.cluster.state(node) == "running":
        return "mnesia_unexpectedly_running"
    node.kill()
    (node.data / "mnesia" / "force_load").touch()
    return start(drive, [node])


def join(drive: Drive, node: BrokerNode) -> str | None:
    """Boot a node that is down, by itself, and join it to the first running member."""
    members = [other for other in drive.cluster.running() if other is not node and other.name in drive.members]
    member = next(iter(members), None)
    if member is None:
        return "no member of the cluster is running"
    if drive.cluster.state(node) == "running":
        answer = drive.cluster.ask_to_join(node, member)
    else:
        drive.cluster.boot([node])
        if (why := reason_down(node)) is not None:
            return why
        answer = drive.cluster.join(node, member)
    if answer == "ok":
        drive.members.add(node.name)
        return None
    node.kill()
    return str(answer)


def reset(drive: Drive, node: BrokerNode) -> str | None:
    """Reset a node that is down, in its own Erlang without the broker.

    A node that has not joined, or has lost its disk, has no cluster to leave.
    """
    if node.name not in drive.members:
        node.kill()
        node.wipe()
        return None
    if drive.cluster.state(node) == "running":
        answer = str(drive.cluster.ask(node, RESETTING[drive.cluster.profile.khepri], "reset", timeout_s=BOOT_S))
    else:
        node.kill()
        drive.cluster.network.mend(node.number)
        answer = node.alone(f"{RESETTING[drive.cluster.profile.khepri]}:reset()", ALONE_S)
    if answer != "ok":
        return answer
    drive.members.discard(node.name)
    return None


def force_reset(drive: Drive, node: BrokerNode) -> str | None:
    """Reset a node that is down, without asking other nodes, in its own Erlang without the broker."""
    if drive.cluster.state(node) == "running":
        return "mnesia_unexpectedly_running"
    node.kill()
    answer = node.alone(f"{RESETTING[drive.cluster.profile.khepri]}:force_reset()", ALONE_S)
    if answer == "ok":
        drive.members.discard(node.name)
        return None
    return answer.removeprefix('{error,"').removesuffix('"}')


def force_standalone_khepri_boot(drive: Drive, node: BrokerNode) -> str | None:
    """Call `rabbitmqctl force_standalone_khepri_boot`. The other members have to join again afterwards."""
    if (why := rabbitmqctl(node, "force_standalone_khepri_boot")) is None:
        drive.members.intersection_update({node.name})
    return why


def force_shrink(_: Drive, node: BrokerNode) -> str | None:
    """Shrink all quorum queues to their member on a node."""
    return rabbitmqctl(node, "eval", "rabbit_quorum_queue:force_all_queues_shrink_member_to_current_member().")


def forget(_: Drive, node: BrokerNode, origin: BrokerNode, offline: bool) -> str | None:
    """Call `rabbitmqctl forget_cluster_node` for `origin`."""
    options = ["--offline"] if offline else []
    return rabbitmqctl(origin, "forget_cluster_node", node.erlang, *options)


def rabbitmqctl(node: BrokerNode, *words: str) -> str | None:
    """Run `rabbitmqctl` for a node, in its own namespace. Return its error message if it fails, or None."""
    done = subprocess.run(
        node.command("rabbitmqctl", *words), env=node.environment, cwd=node.directory, capture_output=True, text=True,
        timeout=BOOT_S, check=False,
    )  # fmt: skip
    # Erlang's diagnostics, after the first paragraph, contain a hash of the cookie.
    return None if done.returncode == 0 else (done.stderr or done.stdout).strip().partition("\n\n")[0]
