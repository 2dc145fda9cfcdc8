"""Slow down the links between nodes as a scenario says: packets go through a router in user space.

Some kernels lack their own means (`netem`). Here packets from one node to another leave by a TUN device; a thread holds
each for the link's latency and passes it to the other node's device. No packet is lost or overtakes another. The hub
reaches every node without the router, so clients and the control node stay fast, as in the model.

Links are fast while a cluster boots and is set up, and slow from `slow_down` on. TCP's retransmission timeout is longer
than a packet's way there and back, so that a late answer does not cause a packet to be sent twice.
"""

from __future__ import annotations

import os
import selectors
import struct
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from heapq import heappop, heappush
from itertools import count
from pathlib import Path

from hawb.broker.namespaces import Network, address, enter, ip
from hawb.broker.roots import CannotPlay
from hawb.scenario.document import Timing

FASTEST_S = 0.01
"""Links of a smaller latency are left as they are."""
BUSY_S = 0.1
"""The packets on their way count as more than background traffic if the link needs at least this time for them."""
DEVICE = "slow"
LARGEST = 65535
"""The largest packet, headers included."""
TUN, TUNSETIFF, IFF_TUN, IFF_NO_PI = "/dev/net/tun", 0x400454CA, 0x0001, 0x1000
TO_HOST = 19
"""The offset of the last byte of an IPv4 packet's destination, which is the number of a node."""
SETTINGS = {"tcp_slow_start_after_idle": "0", "tcp_early_retrans": "0"}
"""TCP's settings for a slow link: no slow start after a silence, no early retransmission."""


def is_slow(timing: Timing) -> bool:
    """Return True if a scenario's links have to be slowed down."""
    return timing.link_latency_s > FASTEST_S or timing.network_mb_s < Timing().network_mb_s


class SlowLinks:
    """The router between the nodes of a network that is up, until `close`.

    Creating one raises CannotPlay if there is no TUN device.
    """

    def __init__(self, network: Network, timing: Timing):
        self._timing = timing
        self._latency_s, self._s_per_byte = 0.0, 0.0
        self._devices: dict[int, int] = {}
        self._free_at: dict[tuple[int, int], float] = {}
        self._arrival: dict[tuple[int, int], float] = {}
        # Packets: due time, order of arrival, device of the receiver, content.
        self._held: list[tuple[float, int, int, bytes]] = []
        self._order = count()
        self._stopping, self._stop = os.pipe()
        for number in range(1, network.count + 1):
            on_a_thread_of(network.namespace(number), partial(self._open, number))
            route(network, number, 0.2 + 4 * timing.link_latency_s)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    @property
    def slow(self) -> bool:
        """Return True if links are slow now."""
        return self._s_per_byte > 0

    @property
    def busy(self) -> bool:
        """Return True if a link carries more than the nodes' background traffic.

        A master passes on a whole batch at once, and its mirror answers only after it has the batch.
        """
        return any(free_at > time.monotonic() + BUSY_S for free_at in self._free_at.copy().values())

    def slow_down(self) -> None:
        """Make links as slow as the scenario has them."""
        self._latency_s, self._s_per_byte = self._timing.link_latency_s, 1e-6 / self._timing.network_mb_s

    def speed_up(self) -> None:
        """Make links fast again."""
        self._latency_s, self._s_per_byte = 0.0, 0.0

    def close(self) -> None:
        """End the router, with its devices and the packets on their way."""
        os.write(self._stop, b"x")
        self._thread.join(5)
        for file in (*self._devices.values(), self._stop, self._stopping):
            os.close(file)

    def _open(self, number: int) -> None:
        import fcntl  # as in `roots`

        for name, value in SETTINGS.items():
            Path("/proc/sys/net/ipv4", name).write_text(value)
        try:
            self._devices[number] = os.open(TUN, os.O_RDWR | os.O_NONBLOCK)
            fcntl.ioctl(self._devices[number], TUNSETIFF, struct.pack("16sH22x", DEVICE.encode(), IFF_TUN | IFF_NO_PI))
        except OSError as error:
            raise CannotPlay(f"links cannot be slowed down here: {TUN}: {error.strerror}") from None

    def _run(self) -> None:
        with selectors.DefaultSelector() as ready:
            for number, file in self._devices.items():
                ready.register(file, selectors.EVENT_READ, number)
            ready.register(self._stopping, selectors.EVENT_READ)
            while True:
                left_s = max(0.0, self._held[0][0] - time.monotonic()) if self._held else None
                for key, _ in ready.select(left_s):
                    if key.data is None:
                        return
                    self._hold(key.data)
                self._deliver()

    def _hold(self, sender: int) -> None:
        """Read a packet that a node has sent, and hold it."""
        packet = os.read(self._devices[sender], LARGEST)
        now, receiver = time.monotonic(), packet[TO_HOST] if packet[0] >> 4 == 4 else None
        if receiver in self._devices:
            link = sender, receiver
            self._free_at[link] = max(now, self._free_at.get(link, now)) + len(packet) * self._s_per_byte
            arrives = self._arrival[link] = max(self._free_at[link] + self._latency_s, self._arrival.get(link, now))
            heappush(self._held, (arrives, next(self._order), self._devices[receiver], packet))

    def _deliver(self) -> None:
        """Deliver the packets that have been held for long enough."""
        while self._held and self._held[0][0] <= time.monotonic():
            os.write(self._held[0][2], self._held[0][3])
            heappop(self._held)


def route(network: Network, number: int, patience_s: float) -> None:
    """Route a node's packets for other nodes over its device, with a retransmission timeout of `patience_s` seconds."""
    ip("-n", network.namespace(number), "link", "set", DEVICE, "mtu", str(LARGEST), "up")
    for other in range(1, network.count + 1):
        if other != number:
            ip(
                "-n", network.namespace(number), "route", "add", f"{address(other)}/32", "dev", DEVICE,
                "src", address(number), "rto_min", f"{patience_s:g}s", "initcwnd", "100",
            )  # fmt: skip


def on_a_thread_of(namespace: str, work: Callable[[], None]) -> None:
    """Run a function on a thread within a namespace. Raise its errors."""

    def entered() -> None:
        enter(namespace)
        work()

    with ThreadPoolExecutor(1) as pool:
        pool.submit(entered).result()
