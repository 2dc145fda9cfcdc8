"""Links between nodes as slow as a scenario has them: packets go through a router in user space.

Some kernels lack their own way to do this (`netem`). Here packets from one node to another leave by a TUN device; a
thread holds each for the link's latency and hands it to the other node's device. No packet is lost or overtakes
another. The hub reaches every node without the router, so clients and the control node stay fast, as in the model.

Links are fast while a cluster boots and is set up, and slow from `slow_down` on. So that no packet is sent twice only
because an answer takes long, TCP waits for longer than a packet's way there and back.
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
"""The least time that the packets under way take on a link if they are more than the nodes' background traffic."""
DEVICE = "slow"
LARGEST = 65535
"""The largest packet, headers included."""
TUN, TUNSETIFF, IFF_TUN, IFF_NO_PI = "/dev/net/tun", 0x400454CA, 0x0001, 0x1000
TO_HOST = 19
"""The place of the last byte of an IPv4 packet's destination, which is the number of a node."""
SETTINGS = {"tcp_slow_start_after_idle": "0", "tcp_early_retrans": "0"}
"""What TCP must not do on a slow link: send less after a silence, or send again early."""


def is_slow(timing: Timing) -> bool:
    """Whether a scenario's links have to be slowed down."""
    return timing.link_latency_s > FASTEST_S or timing.network_mb_s < Timing().network_mb_s


class SlowLinks:
    """The router between the nodes of a network that is up, until `close`. Raises CannotPlay where there is no TUN."""

    def __init__(self, network: Network, timing: Timing):
        self._timing = timing
        self._latency_s, self._s_per_byte = 0.0, 0.0
        self._devices: dict[int, int] = {}
        self._free_at: dict[tuple[int, int], float] = {}
        self._arrival: dict[tuple[int, int], float] = {}
        # Packets: when each is due, in which order it came, where it goes.
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
        """Whether links are slow now."""
        return self._s_per_byte > 0

    @property
    def busy(self) -> bool:
        """Whether a link has more to carry than the nodes' background traffic. A master hands a whole batch over at
        once, and hears from its mirror only when the mirror has it."""
        return any(free_at > time.monotonic() + BUSY_S for free_at in self._free_at.copy().values())

    def slow_down(self) -> None:
        """Makes links as slow as the scenario has them."""
        self._latency_s, self._s_per_byte = self._timing.link_latency_s, 1e-6 / self._timing.network_mb_s

    def speed_up(self) -> None:
        """Makes links fast again."""
        self._latency_s, self._s_per_byte = 0.0, 0.0

    def close(self) -> None:
        """Ends the router, with its devices and the packets under way."""
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
        """Takes a packet that a node has sent, and holds it."""
        packet = os.read(self._devices[sender], LARGEST)
        now, receiver = time.monotonic(), packet[TO_HOST] if packet[0] >> 4 == 4 else None
        if receiver in self._devices:
            link = sender, receiver
            self._free_at[link] = max(now, self._free_at.get(link, now)) + len(packet) * self._s_per_byte
            arrives = self._arrival[link] = max(self._free_at[link] + self._latency_s, self._arrival.get(link, now))
            heappush(self._held, (arrives, next(self._order), self._devices[receiver], packet))

    def _deliver(self) -> None:
        """Delivers the packets that have been held for long enough."""
        while self._held and self._held[0][0] <= time.monotonic():
            os.write(self._held[0][2], self._held[0][3])
            heappop(self._held)


def route(network: Network, number: int, patience_s: float) -> None:
    """Routes a node's packets for other nodes over its device, and has TCP wait `patience_s` before it sends again."""
    ip("-n", network.namespace(number), "link", "set", DEVICE, "mtu", str(LARGEST), "up")
    for other in range(1, network.count + 1):
        if other != number:
            ip(
                "-n", network.namespace(number), "route", "add", f"{address(other)}/32", "dev", DEVICE,
                "src", address(number), "rto_min", f"{patience_s:g}s", "initcwnd", "100",
            )  # fmt: skip


def on_a_thread_of(namespace: str, work: Callable[[], None]) -> None:
    """Does some work on a thread within a namespace. Raises what the work raises."""

    def entered() -> None:
        enter(namespace)
        work()

    with ThreadPoolExecutor(1) as pool:
        pool.submit(entered).result()
