"""A real cluster for one scenario: copied from a joined, empty one, booted, queried, and removed again.

To join nodes takes longer than to boot them, so the first cluster of each size is kept as a template: every later one
starts from its stopped data directories. hawb waits until clusters reach a state, never for a fixed time.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from hawb.broker import roots
from hawb.broker.control import Atom, CallFailed, Control
from hawb.broker.namespaces import Network, sweep
from hawb.broker.nodes import WAITS, BrokerNode, configuration, erlang_name
from hawb.broker.roots import CannotPlay, Release
from hawb.broker.slow_links import SlowLinks, is_slow
from hawb.rules.profiles import PROFILES, Profile
from hawb.scenario.document import Cluster

BOOT_S = 180
"""The time limit for a node to boot, or to stop, on a loaded machine, in seconds."""
STUCK_S = 5
"""The time without changes after which a node that loads its tables counts as waiting for another one, in seconds."""
POLL_S = 0.1
KHEPRI = Atom("rabbitmq_metadata")
"""The name of Khepri's members."""
JOINING = {False: ("rabbit_mnesia", "join_cluster"), True: ("rabbit_db_cluster", "join")}
"""The function that joins a node, by whether the release keeps its metadata in Khepri."""


def lacking() -> list[str]:
    """Return what this machine lacks to run a cluster of any release, each with a remedy."""
    lacks = [
        f"{command} (apt-get install --no-install-recommends {package})"
        for command, package in (("ip", "iproute2"), ("iptables", "iptables"))
        if shutil.which(command) is None
    ]
    if os.geteuid() != 0:
        lacks.append("root's rights, for network namespaces")
    return lacks


class Bench:
    """The place where clusters run one after the other: a temporary directory with their cookie and their templates."""

    def __enter__(self) -> Bench:
        if lacks := lacking():
            raise CannotPlay("a real cluster cannot run here without " + "; ".join(lacks))
        sweep()
        self._directory = tempfile.TemporaryDirectory(prefix="hawb-")
        self.path = Path(self._directory.name)
        cookie = self.path / ".erlang.cookie"
        cookie.touch(mode=0o600)
        cookie.write_text(secrets.token_hex(16))
        cookie.chmod(0o400)
        self._kept: Kept | None = None
        return self

    def __exit__(self, *_: object) -> None:
        if self._kept:
            self._kept.stack.close()
        self._directory.cleanup()

    @contextlib.contextmanager
    def cluster(self, names: tuple[str, ...], entry: Cluster, harmless: bool = False) -> Iterator[BrokerCluster]:
        """Yield a booted, empty cluster of `entry`'s nodes; `names` are all nodes that the scenario knows.

        After a `harmless` scenario, which does nothing to nodes and links, the cluster stays up for the next one with
        the same settings and is only emptied.
        """
        kept, self._kept = self._kept, None
        wanted = names, entry
        if kept and kept.wanted != wanted:
            kept.stack.close()
            kept = None
        with kept.stack if kept else contextlib.ExitStack() as stack:
            cluster = kept.cluster if kept else stack.enter_context(self._booted(names, entry))
            if kept:
                cluster.empty()
            yield cluster
            if harmless:
                self._kept = Kept(wanted, cluster, stack.pop_all())

    @contextlib.contextmanager
    def _booted(self, names: tuple[str, ...], entry: Cluster) -> Iterator[BrokerCluster]:
        """Yield a fresh cluster, from the template of its size."""
        ranked = sorted(names)
        members = sorted(ranked.index(name) + 1 for name in entry.nodes)
        template = self.path / "-".join(map(str, ("template", entry.version, *members)))
        if not template.exists():
            with running_cluster(self.path, names, Cluster(entry.nodes, version=entry.version)) as cluster:
                cluster.found(members, template)
        with running_cluster(self.path, names, entry) as cluster:
            for number in members:
                shutil.copytree(template / str(number), cluster.numbered(number).data, dirs_exist_ok=True)
            # A node mirrors in the order in which it knows other nodes: the last to come first. Booted from the last
            # one on, three nodes know each other in the order of their names. With Khepri, which has no mirrors, a
            # node that boots first waits for a majority.
            at_once = len(members) == 2 or cluster.profile.khepri
            together = [members] if at_once else [[number] for number in reversed(members)]
            for numbers in together:
                cluster.boot([cluster.numbered(number) for number in numbers])
            if cluster.profile.khepri:
                cluster.lead_store(cluster.nodes[entry.nodes[0]])
            yield cluster


class Kept(NamedTuple):
    """A cluster that stays up after a scenario; closing `stack` removes it."""

    wanted: tuple[tuple[str, ...], Cluster]
    cluster: BrokerCluster
    stack: contextlib.ExitStack


@contextlib.contextmanager
def running_cluster(home: Path, names: tuple[str, ...], entry: Cluster) -> Iterator[BrokerCluster]:
    """Yield the network, the control node and the nodes, none booted yet.

    Remove all of them afterwards, also after an error.
    """
    release = roots.release(entry.version)
    network = Network(len(names))
    directory = Path(tempfile.mkdtemp(prefix="cluster-", dir=home))
    with contextlib.ExitStack() as stack:
        stack.callback(shutil.rmtree, directory, ignore_errors=True)
        stack.callback(network.down)
        network.up()
        links = SlowLinks(network, entry.timing) if is_slow(entry.timing) else None
        if links:
            stack.callback(links.close)
        control = Control(network.hub, directory, home, release)
        stack.callback(control.close)
        yield BrokerCluster(home, directory, names, entry, network, links, control, release)


class BrokerCluster:
    """The nodes of a scenario, their network, and the control node."""

    def __init__(
        self,
        home: Path,
        directory: Path,
        names: tuple[str, ...],
        entry: Cluster,
        network: Network,
        links: SlowLinks | None,
        control: Control,
        release: Release,
    ):
        self.entry, self.network, self.links, self.control = entry, network, links, control
        numbers = {name: number for number, name in enumerate(sorted(names), 1)}
        self.erlang = {name: erlang_name(number) for name, number in numbers.items()}
        self.names = {erlang: name for name, erlang in self.erlang.items()}
        self.nodes = {
            name: BrokerNode(name, number, network.namespace(number), directory / str(number), home, release)
            for name, number in ((name, numbers[name]) for name in names)
        }
        for node in self.nodes.values():
            node.configure(*configuration(entry, self.erlang))

    @property
    def profile(self) -> Profile:
        """Return the rules profile of the release."""
        return PROFILES[self.entry.version]

    def numbered(self, number: int) -> BrokerNode:
        """Return a node by its number."""
        return next(node for node in self.nodes.values() if node.number == number)

    def ask(self, node: BrokerNode, module: str, function: str, *arguments: Any, timeout_s: float = 10) -> Any:
        """Return the value of a function on a node. Raise CallFailed."""
        return self.control.call(node.erlang, module, function, *arguments, timeout_s=timeout_s)

    def empty(self) -> None:
        """Remove all virtual hosts, with their queues and policies, and add an empty /. Raise CallFailed."""
        node = self.running()[0]
        for vhost in self.ask(node, "rabbit_vhost", "list_names"):
            self.ask(node, "rabbit_vhost", "delete", vhost, "hawb", timeout_s=BOOT_S)
        self.add_vhost("/")

    def add_vhost(self, name: str) -> None:
        """Add a virtual host that clients may use. Raise CallFailed."""
        node = self.running()[0]
        self.ask(node, "rabbit_vhost", "add", name, "hawb", timeout_s=BOOT_S)
        everything = ".*", ".*", ".*"
        self.ask(node, "rabbit_auth_backend_internal", "set_permissions", "guest", name, *everything, "hawb")

    def versions(self) -> dict[str, str]:
        """Return the versions of the broker and of its Erlang. Raise CallFailed."""
        functions = {"rabbitmq": "version", "erlang": "otp_release"}
        return {name: self.ask(self.running()[0], "rabbit_misc", function) for name, function in functions.items()}

    def running(self) -> list[BrokerNode]:
        """Return the nodes whose broker runs, in the file's order."""
        return [node for node in self.nodes.values() if self.is_running(node)]

    def state(self, node: BrokerNode) -> str:
        """Return a node's state: running, down, paused, waiting or booting.

        Paused is by partition handling; waiting is for another node's tables, or for a majority of Khepri's members.
        """
        if not node.alive:
            return "down"
        with contextlib.suppress(CallFailed):
            if self.ask(node, "rabbit", "is_running"):
                return "running"
            if self.ask(node, "erlang", "whereis", Atom("rabbit_outside_app_process")) != "undefined":
                return "paused"
        return "waiting" if WAITS in node.log_since_boot() or self._lacks_leader(node) else "booting"

    def _lacks_leader(self, node: BrokerNode) -> bool:
        """Return True if a node's member of Khepri runs and knows no leader."""
        if not self.profile.khepri:
            return False
        with contextlib.suppress(CallFailed):
            if self.ask(node, "erlang", "whereis", KHEPRI) != "undefined":
                return self.ask(node, "ra_leaderboard", "lookup_leader", KHEPRI) == "undefined"
        return False

    def is_running(self, node: BrokerNode) -> bool:
        """Return True if a node's broker runs.

        A node that has booted and was not stopped since is asked again while it does not answer: on a loaded machine it
        may be too busy. Raise CannotPlay if it never answers.
        """
        end = time.monotonic() + BOOT_S
        while self.state(node) != "running":
            if not (node.alive and node.has_booted):
                return False
            if time.monotonic() > end:
                raise CannotPlay(f"{node.name} does not say within {BOOT_S} s whether it runs")
            time.sleep(POLL_S)
        return True

    def boot(self, nodes: Iterable[BrokerNode]) -> None:
        """Boot nodes in parallel and wait until each runs, has ended or waits for another."""
        nodes = [node for node in nodes if not node.alive]
        for node in nodes:
            self.network.mend(node.number)
            node.boot()
        self.wait_booted(nodes)

    def wait_booted(self, nodes: Iterable[BrokerNode]) -> None:
        """Wait until each node runs, has ended, or waits for another while nothing changes.

        Raise CannotPlay for a node that does none of these: a real node that hangs is no evidence about the rules.
        """
        nodes, states, since = list(nodes), None, time.monotonic()
        end = since + BOOT_S
        while time.monotonic() < end:
            found = {node.name: self._state_at_boot(node) for node in nodes}
            if found != states:
                states, since = found, time.monotonic()
            unsettled = set(found.values()) - {"running", "down"}
            if not unsettled or ("booting" not in unsettled and time.monotonic() - since > STUCK_S):
                return
            time.sleep(POLL_S)
        raise CannotPlay(f"nodes did not boot within {BOOT_S} s: {states}")

    def _state_at_boot(self, node: BrokerNode) -> str:
        """Return the state of a node, which counts as booting until both Erlang and the broker have booted.

        A node of 4.0.5 whose broker is stopped in between ends with a crash.
        """
        state = self.state(node)
        if state == "running":
            with contextlib.suppress(CallFailed):
                return state if self.ask(node, "init", "get_status")[0] == "started" else "booting"
        return state

    def lead_store(self, node: BrokerNode) -> None:
        """Make a node the leader of the metadata store (Khepri), as the first one is in the model.

        The election at boot is random. Raise CannotPlay if the node does not become leader.
        """
        end, wanted = time.monotonic() + BOOT_S, [KHEPRI, node.erlang]
        while (leader := self.ask(node, "ra_leaderboard", "lookup_leader", KHEPRI)) != wanted:
            if time.monotonic() > end:
                raise CannotPlay(f"{node.name} does not lead the metadata store within {BOOT_S} s")
            if isinstance(leader, list):
                to = KHEPRI, Atom(node.erlang)
                self.ask(node, "ra", "transfer_leadership", (KHEPRI, Atom(leader[1])), to)
            time.sleep(POLL_S)

    def stop(self, nodes: Iterable[BrokerNode]) -> None:
        """Stop nodes as `rabbitmqctl stop` does: the broker stops in order, then its process ends.

        Raise CallFailed for a node that does not answer, and CannotPlay for one that hangs.
        """
        nodes = [node for node in nodes if node.alive]
        for node in nodes:
            self.control.cast(node.erlang, "rabbit", "stop_and_halt")
        for node in nodes:
            try:
                node.wait(BOOT_S)
            except subprocess.TimeoutExpired:
                raise CannotPlay(f"{node.name} did not stop within {BOOT_S} s") from None

    def join(self, node: BrokerNode, member: BrokerNode) -> Any:
        """Call `rabbitmqctl stop_app`, `join_cluster` and `start_app` for a running node.

        Return join_cluster's answer.
        """
        self.ask(node, "rabbit", "stop", timeout_s=BOOT_S)
        answer = self.ask_to_join(node, member)
        if answer == "ok":
            self.ask(node, "rabbit", "start", timeout_s=BOOT_S)
        return answer

    def ask_to_join(self, node: BrokerNode, member: BrokerNode) -> Any:
        """Call `rabbitmqctl join_cluster`. Return its answer."""
        module, function = JOINING[self.profile.khepri]
        return self.ask(node, module, function, Atom(member.erlang), Atom("disc"), timeout_s=BOOT_S)

    def found(self, members: list[int], template: Path) -> None:
        """Make one empty cluster of nodes, and keep its stopped data directories in `template`."""
        nodes = [self.numbered(number) for number in members]
        self.boot(nodes)
        for node in nodes[1:]:
            if (answer := self.join(node, nodes[0])) != "ok":
                raise CallFailed(f"the nodes of an empty cluster did not join: {answer}")
        for node in nodes:
            self.stop([node])
        for node in nodes:
            shutil.copytree(node.data, template / str(node.number))
