"""Time on a real cluster: clients with a rate, slow links and steps at their times. What can be tested without one."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest
from pika.spec import Basic

from hawb.broker import drive as room
from hawb.broker import slow_links, steady
from hawb.broker.compare import compare
from hawb.broker.drive import Drive, without_counts
from hawb.broker.node_logs import NodeLogs
from hawb.broker.observe import publishers_of
from hawb.broker.publishing import Publishing
from hawb.broker.races import slack_of, with_its_numbers
from hawb.broker.real import Played
from hawb.broker.slow_links import SlowLinks, is_slow
from hawb.broker.steady import Clock, SteadyPublisher, beat
from hawb.scenario.document import Cluster, Step, Timing
from hawb.scenario.load import load
from hawb.scenario.outcome import outcome
from hawb.scenario.run import Run
from hawb.scenario.verbs import Expect, Publisher, Wait

# --- clients with a rate ---


def test_each_beat_of_a_clock_is_told_once() -> None:
    clock = Clock(10, 4)
    assert [clock.due(now_s) for now_s in (10.2, 10.9, 11.0, 10.5, 12.1)] == [0, 3, 1, 0, 4]
    assert clock.next_s == 12.25


def test_a_client_that_is_late_does_at_once_what_was_due(monkeypatch) -> None:
    done, pauses = [], []

    async def story() -> None:
        now_s = asyncio.get_running_loop().time()
        await beat(Clock(now_s - 1, 10), lambda: not pauses, done.append)

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    monkeypatch.setattr(steady.asyncio, "sleep", sleep)
    asyncio.run(story())
    assert done == [10]
    assert 0 < pauses[0] <= 0.1


class Written:
    """A channel that keeps the numbers of what is published on it."""

    def __init__(self) -> None:
        self.numbers: list[int] = []
        self.open, self.pika = True, self

    def basic_publish(self, _exchange: str, _queue: str, _body: bytes, properties: object) -> None:
        self.numbers += properties.headers["x-hawb-numbers"].values()


def publisher_on(channel: Written) -> SteadyPublisher:
    """A publisher of a message a second."""
    numbers = iter(range(1, 100))
    verb = Publisher(name="shop", queue="q", rate=1)
    publisher = SteadyPublisher(verb, Clock(0, 1), lambda: [("q", next(numbers))], lambda _numbers, _verdict: None)
    publisher.channel = Publishing(channel, publisher.told)
    publisher.channel.confirming = True
    return publisher


def test_a_steady_publisher_counts_what_it_publishes_and_what_is_confirmed() -> None:
    channel = Written()
    publisher = publisher_on(channel)

    async def story() -> None:
        publisher.publish(4)
        publisher.channel.heard(SimpleNamespace(method=Basic.Ack(delivery_tag=2, multiple=True)))
        publisher.channel.heard(SimpleNamespace(method=Basic.Nack(delivery_tag=3)))

    asyncio.run(story())
    assert (channel.numbers, publisher.published, publisher.confirmed) == ([1, 2, 3, 4], 4, 2)


def test_a_publisher_is_blocked_while_rabbitmq_holds_it_back_and_tells_it_nothing() -> None:
    channel = Written()
    publisher = publisher_on(channel)
    asyncio.run(hear(publisher))
    states = [publisher.state(held_back=held_back, now_s=now_s)
              for held_back, now_s in ((True, HEARD_S + 0.5), (True, HEARD_S + 2), (False, HEARD_S + 2))]  # fmt: skip
    channel.open = False
    assert [*states, publisher.state(held_back=True, now_s=0)] == ["running", "blocked", "running", "closed"]


HEARD_S = 1e9


async def hear(publisher: SteadyPublisher) -> None:
    """RabbitMQ confirms a message at HEARD_S."""
    asyncio.get_running_loop().time = lambda: HEARD_S
    publisher.told([("q", 1)], "confirmed")


def test_how_much_a_blocked_publisher_has_published_nobody_tells() -> None:
    publishers = {"shop": publisher_on(Written()), "held": publisher_on(Written())}
    publishers["held"].connection = "publisher held"
    cluster = SimpleNamespace(
        running=lambda: [SimpleNamespace(erlang="n1@x")], control=SimpleNamespace(evaluate=lambda _: ["publisher held"])
    )
    told = publishers_of(SimpleNamespace(clients=SimpleNamespace(publishers=publishers), cluster=cluster))
    assert told == {
        "held": {"state": "blocked", "confirmed": 0},
        "shop": {"state": "running", "published": 0, "confirmed": 0},
    }


def test_counts_alone_do_not_keep_a_cluster_with_steady_clients_from_settling() -> None:
    def view(messages: int, state: str = "running") -> dict:
        return {"a": {"state": "running", "queues": [{"information": {"messages": messages, "state": state}}]}}

    assert without_counts(view(1)) == without_counts(view(2))
    assert without_counts(view(1)) != without_counts(view(1, "syncing"))
    assert without_counts({"a": {"state": "down"}}) == {"a": {"state": "down", "queues": []}}


# --- what may differ ---

STEADY = """
scenario: Steady
cluster: {nodes: [a], version: "3.10"}
steps:
  - declare: {queue: q, node: a}
  - declare: {queue: r, node: a}
  - {publisher: {name: shop, queue: q, rate: 20, node: a}, at: 1}
  - {consume: {consumer: till, queue: q, rate: 10, node: a}, at: 1}
  - {close: shop, at: 11.01}
"""


def test_numbers_of_steady_clients_may_differ_by_what_they_do_while_a_machine_is_late() -> None:
    scenario = load(STEADY)
    assert slack_of(scenario) == {"q": pytest.approx(15)}
    assert slack_of(load(STEADY + "  - wait: 1\n")) == {"q": pytest.approx(105)}
    assert slack_of(load(STEADY.partition("  - {publisher")[0])) == {}


@pytest.mark.parametrize(("more", "differs"), [(15, False), (16, True)])
def test_numbers_near_enough_agree_and_others_do_not(more: int, differs: bool) -> None:
    scenario = load(STEADY)
    told = outcome(Run.of(scenario))
    told["publishers"]["shop"]["confirmed"] += more
    told["ledger"]["q"]["confirmed"] = [[1, 200 + more]]
    found = [difference.field for difference in compare(Played(scenario, told, {}))]
    assert found == (["ledger.q.confirmed", "publishers.shop.confirmed"] if differs else [])


def test_the_shape_of_what_differs_has_to_be_the_same() -> None:
    mine = {"ids": [[1, 10]], "state": "running", "up": True}
    assert with_its_numbers(mine, {"ids": [[1, 12]], "state": "down", "up": False}, 5) == mine | {"ids": [[1, 12]]}
    assert with_its_numbers(mine, {"ids": [[1, 4], [6, 10]]}, 5) == mine
    assert with_its_numbers(mine, None, 5) == mine


# --- steps at their times ---


class Hand:
    """A clock that stands still but for what is slept."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def monotonic(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds


def test_what_took_longer_than_in_the_scenario_moves_all_that_comes_later(monkeypatch) -> None:
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
def test_links_are_slow_from_the_first_step_on_that_has_a_time(times: tuple, slow: list[bool], monkeypatch) -> None:
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


def test_links_are_slowed_down_where_a_scenario_has_them_slower_than_they_are() -> None:
    assert [is_slow(timing) for timing in (Timing(), Timing(link_latency_s=1), Timing(network_mb_s=1))] == [
        False, True, True,
    ]  # fmt: skip


@pytest.fixture
def links(tmp_path: Path, monkeypatch) -> SlowLinks:
    """A router between two nodes whose devices are files."""
    made = object.__new__(SlowLinks)
    made._timing, made._latency_s, made._s_per_byte = Timing(link_latency_s=0.5, network_mb_s=0.0001), 0.0, 0.0
    made._free_at, made._arrival, made._held, made._order = {}, {}, [], iter(range(100))
    made._devices = {number: number for number in (1, 2)}
    monkeypatch.setattr(slow_links, "time", Hand())
    return made


def packet(receiver: int) -> bytes:
    """An IPv4 packet of 50 bytes to a node."""
    return b"\x45" + bytes(18) + bytes([receiver]) + bytes(30)


def test_a_packet_is_under_way_for_its_bytes_and_the_latency_and_none_overtakes(links: SlowLinks, monkeypatch) -> None:
    sent = [packet(2), packet(2), packet(9), b"\x60" + bytes(40), packet(2)]
    monkeypatch.setattr(slow_links.os, "read", lambda _file, _most: sent.pop(0))
    links.slow_down()
    for _ in range(4):
        links._take(1)
    links.speed_up()
    links._take(1)
    assert [(due, file) for due, _, file, _ in sorted(links._held)] == [(101.0, 2), (101.5, 2), (101.5, 2)]


def test_a_packet_arrives_once_it_is_due(links: SlowLinks, monkeypatch) -> None:
    arrived = []
    monkeypatch.setattr(slow_links.os, "write", lambda _file, data: arrived.append(data))
    links._held = [(100.0, 0, 2, b"now"), (100.1, 1, 2, b"later")]
    links._pass_on()
    assert arrived == [b"now"]


def test_a_link_is_busy_until_it_has_carried_all(links: SlowLinks, monkeypatch) -> None:
    monkeypatch.setattr(slow_links.os, "read", lambda _file, _most: packet(2))
    links.slow_down()
    links._take(1)
    found = [links.busy]
    slow_links.time.sleep(0.45)
    assert [*found, links.busy] == [True, False]


@pytest.mark.parametrize(("steady", "settled_s"), [((), 31.5), (("one",), 1.5)])
def test_a_cluster_settles_once_its_slow_links_have_carried_all(steady: tuple, settled_s: float, monkeypatch) -> None:
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
def test_how_long_confirms_are_waited_for_depends_on_who_may_still_send_them(waiting: dict, patience_s: float) -> None:
    drive = object.__new__(Drive)
    drive.clients = SimpleNamespace(unconfirmed=Counter(waiting))
    rows = [{"vhost": "/", "name": "c"}, {"vhost": "dev", "name": "q", "members": ["a", "b", "c"]}]
    assert drive._patience_s(rows) == patience_s
