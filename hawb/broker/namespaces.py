"""A separate network for a cluster: one namespace for each node, and a hub whose bridge joins them.

hawb puts nothing into the machine's own network, so clusters reach neither each other nor anything else. Clients run in
the hub (`inside`), and so does the control node. A broken link drops packets in both ends' namespaces, silently, as a
broken network does; the hub always reaches every node.

Namespaces have the id of the process that made them: `sweep` removes those whose process is gone, with all processes
that still run in them.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
from collections.abc import Iterable
from pathlib import Path

NAMED = Path("/run/netns")
PREFIX = "hawb"
CLONE_NEWNET = 0x40000000


def ip(*arguments: str) -> str:
    """Run `ip`. Return its output. Raise CalledProcessError."""
    return subprocess.run(["ip", *arguments], check=True, capture_output=True, text=True).stdout


class Network:
    """Namespaces and links for nodes 1 to `count`; made by `up`, removed by `down`."""

    def __init__(self, count: int):
        self.count = count
        self._broken: set[int] = set()
        self.unplugged: set[int] = set()
        self.hub = f"{PREFIX}-{os.getpid()}-hub"

    def namespace(self, number: int) -> str:
        """Return the namespace of a node."""
        return f"{PREFIX}-{os.getpid()}-{number}"

    def up(self) -> None:
        """Make the hub, the nodes' namespaces and a link from each to the hub."""
        ip("netns", "add", self.hub)
        ip("-n", self.hub, "link", "add", "bridge", "type", "bridge")
        for device in ("lo", "bridge"):
            ip("-n", self.hub, "link", "set", device, "up")
        ip("-n", self.hub, "address", "add", f"{address(254)}/24", "dev", "bridge")
        for number in range(1, self.count + 1):
            name, port = self.namespace(number), f"port{number}"
            ip("netns", "add", name)
            ip("-n", self.hub, "link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", name)
            ip("-n", self.hub, "link", "set", port, "master", "bridge", "up")
            ip("-n", name, "address", "add", f"{address(number)}/24", "dev", "eth0")
            for device in ("lo", "eth0"):
                ip("-n", name, "link", "set", device, "up")

    def down(self) -> None:
        """Kill all processes in the namespaces and remove the namespaces."""
        for name in (*map(self.namespace, range(1, self.count + 1)), self.hub):
            remove(name)

    @property
    def whole(self) -> bool:
        """Return True if every node reaches every other."""
        return not self._broken

    def cut(self, one: int, other: int) -> None:
        """Make the link between two nodes drop everything, both ways."""
        self._broken |= {one, other}
        for here, there in ((one, other), (other, one)):
            self._filter(here, "--append", "INPUT", "--source", address(there), "--jump", "DROP")
            self._filter(here, "--append", "OUTPUT", "--destination", address(there), "--jump", "DROP")

    def unplug(self, number: int) -> None:
        """Drop all packets to and from a node, as when its host has no power."""
        self._broken.add(number)
        self.unplugged.add(number)
        for chain, device in (("INPUT", "--in-interface"), ("OUTPUT", "--out-interface")):
            self._filter(number, "--append", chain, "!", device, "lo", "--jump", "DROP")

    def mend(self, number: int) -> None:
        """Let all packets pass again at a node's end."""
        self._broken.discard(number)
        self.unplugged.discard(number)
        self._filter(number, "--flush")

    def _filter(self, number: int, *rule: str) -> None:
        command = ["ip", "netns", "exec", self.namespace(number), "iptables", "--wait", *rule]
        subprocess.run(command, check=True, capture_output=True)


def address(number: int) -> str:
    """Return the address of a node; 254 is the hub's."""
    return f"10.77.0.{number}"


def enter(namespace: str) -> None:
    """Move the calling thread, and processes that it starts, into a namespace for good. Raise OSError."""
    libc = ctypes.CDLL(None, use_errno=True)
    with (NAMED / namespace).open() as handle:
        if libc.setns(handle.fileno(), CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), f"namespace {namespace} cannot be entered")


def inside(namespace: str, command: Iterable[str]) -> list[str]:
    """Return a command that runs another one in a namespace."""
    return ["ip", "netns", "exec", namespace, *command]


def remove(namespace: str) -> None:
    """Kill all processes in a namespace and remove the namespace, if it exists."""
    if not (NAMED / namespace).exists():
        return
    for process in ip("netns", "pids", namespace).split():
        try:
            os.kill(int(process), signal.SIGKILL)
        except ProcessLookupError:
            continue
    subprocess.run(["ip", "netns", "delete", namespace], check=False, capture_output=True)


def sweep() -> None:
    """Remove the namespaces of processes that ended without removing them."""
    for named in NAMED.glob(f"{PREFIX}-*-*"):
        owner = named.name.split("-")[1]
        if owner.isdecimal() and not Path("/proc", owner).exists():
            remove(named.name)
