"""Time on a real cluster: timed steps and slow links. These tests need no cluster."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest

from hawb.broker import drive as room
from hawb.broker import slow_links
from hawb.broker.drive import Drive
from hawb.broker.node_logs import NodeLogs
from hawb.broker.slow_links import SlowLinks, is_slow
from hawb.scenario.document import Cluster, Step, Timing
from hawb.scenario.verbs import Expect, Wait

# --- steps at their times ---


class Hand:
    """A clock that advances only by sleeping."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def monotonic(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds


def test_step_that_took_longer_delays_all_later_steps(monkeypatch) -> None:
    hand = Hand()
    monkeypatch.setattr(room, "time", hand)
    drive = object.__new__(Drive)
    drive.logs = NodeLogs([], {})
    drive.cluster = SimpleNamespace(links=None)
    drive._beginning, drive._untimed, drive._over_s, drive._settled, drive._step = None, False, 0.0, True, 0
    begun = []
    for takes_s, step in (
        (4, Step(Expect({}))), (0, Step(Expect({}), 10)), (15, Step(Expect({}))), (1, Step(Expect({}), 20)),
        (0, Step(Expect({}), 21)), (0, Step(Wait(5))), (0, Step(Expect({}), 22)), (0, Step(Expect({}), 28)),
    ):  # fmt: skip
        drive.apply(0, step)
        drive._settled = True
        begun.append(hand.now_s - 100)
        hand.sleep(takes_s)
    assert begun == [0, 10, 10, 25, 26, 31, 31, 33]


# --- slow links ---


@pytest.mark.parametrize(("times", "slow"), [((None, None), [True, True]), ((None, 3, None), [False, True, True])])
def test_links_are_slowed_down_from_the_first_timed_step(times: tuple, slow: list[bool], monkeypatch) -> None:
    monkeypatch.setattr(room, "time", Hand())
    links = SimpleNamespace(slow=False, slow_down=lambda: setattr(links, "slow", True))
    drive = object.__new__(Drive)
    drive.logs = NodeLogs([], {})
    drive.cluster = SimpleNamespace(links=links, entry=Cluster(("a",), timing=Timing(link_latency_s=1)))
    drive._untimed, drive._over_s, drive._settled, drive._quiet_s, drive._step = False, 0.0, True, 0.5, 0
    steps = [Step(Expect({}), at) for at in times]
    drive.begin(steps)
    found = []
    for step in steps:
        drive.apply(0, step)
        found.append(links.slow)
    assert (found, drive._quiet_s) == (slow, 0.5 + room.ROUNDS)


def test_links_are_slowed_down_if_the_scenario_sets_slower_ones() -> None:
    assert [is_slow(timing) for timing in (Timing(), Timing(link_latency_s=1), Timing(network_mb_s=1))] == [
        False, True, True,
    ]  # fmt: skip


@pytest.fixture
def links(tmp_path: Path, monkeypatch) -> SlowLinks:
    """Return a router between two nodes whose devices are files."""
    made = object.__new__(SlowLinks)
    made._timing, made._latency_s, made._s_per_byte = Timing(link_latency_s=0.5, network_mb_s=0.0001), 0.0, 0.0
    made._free_at, made._arrival, made._held, made._order = {}, {}, [], iter(range(100))
    made._devices = {number: number for number in (1, 2)}
    monkeypatch.setattr(slow_links, "time", Hand())
    return made


def packet(receiver: int) -> bytes:
    """Return an IPv4 packet of 50 bytes to a node."""
    return b"\x45" + bytes(18) + bytes([receiver]) + bytes(30)


def test_packet_is_delayed_by_its_size_and_the_latency_in_order(links: SlowLinks, monkeypatch) -> None:
    sent = [packet(2), packet(2), packet(9), b"\x60" + bytes(40), packet(2)]
    monkeypatch.setattr(slow_links.os, "read", lambda _file, _most: sent.pop(0))
    links.slow_down()
    for _ in range(4):
        links._hold(1)
    links.speed_up()
    links._hold(1)
    assert [(due, file) for due, _, file, _ in sorted(links._held)] == [(101.0, 2), (101.5, 2), (101.5, 2)]


def test_packet_arrives_when_due(links: SlowLinks, monkeypatch) -> None:
    arrived = []
    monkeypatch.setattr(slow_links.os, "write", lambda _file, data: arrived.append(data))
    links._held = [(100.0, 0, 2, b"now"), (100.1, 1, 2, b"later")]
    links._deliver()
    assert arrived == [b"now"]


def test_link_is_busy_until_all_packets_have_arrived(links: SlowLinks, monkeypatch) -> None:
    monkeypatch.setattr(slow_links.os, "read", lambda _file, _most: packet(2))
    links.slow_down()
    links._hold(1)
    found = [links.busy]
    slow_links.time.sleep(0.45)
    assert [*found, links.busy] == [True, False]


@pytest.mark.parametrize(("steady", "settled_s"), [((), 31.5), (("one",), 1.5)])
def test_cluster_settles_after_slow_links_are_idle(steady: tuple, settled_s: float, monkeypatch) -> None:
    hand = Hand()
    monkeypatch.setattr(room, "time", hand)

    class Links:
        slow = True

        @property
        def busy(self) -> bool:
            return hand.now_s < 130

    drive = object.__new__(Drive)
    drive.logs = NodeLogs([], {})
    drive.cluster = SimpleNamespace(links=Links())
    drive.clients = SimpleNamespace(steady=steady, traffic=0, unconfirmed=Counter())
    drive._jobs, drive._operations, drive._quiet_s = [], [], room.SLOW_S
    monkeypatch.setattr(Drive, "snapshot", lambda _: {})
    drive.settle()
    assert hand.now_s - 100 == pytest.approx(settled_s, abs=0.2)


@pytest.mark.parametrize(
    ("waiting", "patience_s"),
    [
        ({}, 0), ({"c": 2}, room.UNCONFIRMED_S), ({"c": 1, "dev::q": 1}, room.UNANSWERED_S),
        ({"unknown": 1}, room.UNANSWERED_S),
    ],
)  # fmt: skip
def test_wait_for_confirms_depends_on_the_queue_types(waiting: dict, patience_s: float) -> None:
    drive = object.__new__(Drive)
    drive.clients = SimpleNamespace(unconfirmed=Counter(waiting))
    rows = [{"vhost": "/", "name": "c"}, {"vhost": "dev", "name": "q", "members": ["a", "b", "c"]}]
    assert drive._patience_s(rows) == patience_s
