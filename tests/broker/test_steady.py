"""Clients with a rate on a real cluster: clocks, counts and permitted differences. These tests need no cluster."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest
from pika.spec import Basic

from hawb.broker import steady
from hawb.broker.drive import without_counts
from hawb.broker.observe import publishers_of
from hawb.broker.publishing import Publishing
from hawb.broker.real import Played
from hawb.broker.steady import Clock, SteadyPublisher, run_at_ticks
from hawb.conformance.compare import compare
from hawb.conformance.races import slack_of, with_its_numbers
from hawb.scenario.load import load
from hawb.scenario.outcome import outcome
from hawb.scenario.run import Run
from hawb.scenario.verbs import Publisher

# --- clients with a rate ---


def test_each_tick_of_a_clock_is_reported_once() -> None:
    clock = Clock(10, 4)
    assert [clock.due(now_s) for now_s in (10.2, 10.9, 11.0, 10.5, 12.1)] == [0, 3, 1, 0, 4]
    assert clock.next_s == 12.25


def test_late_client_does_due_work_at_once(monkeypatch) -> None:
    done, pauses = [], []

    async def story() -> None:
        now_s = asyncio.get_running_loop().time()
        await run_at_ticks(Clock(now_s - 1, 10), lambda: not pauses, done.append)

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    monkeypatch.setattr(steady.asyncio, "sleep", sleep)
    asyncio.run(story())
    assert done == [10]
    assert 0 < pauses[0] <= 0.1


class Written:
    """A channel that records the numbers of published messages."""

    def __init__(self) -> None:
        self.numbers: list[int] = []
        self.open, self.pika = True, self

    def basic_publish(self, _exchange: str, _queue: str, _body: bytes, properties: object) -> None:
        self.numbers += properties.headers["x-hawb-numbers"].values()


def publisher_on(channel: Written) -> SteadyPublisher:
    """Return a publisher of one message a second."""
    numbers = iter(range(1, 100))
    verb = Publisher(name="shop", queue="q", rate=1)
    publisher = SteadyPublisher(verb, Clock(0, 1), lambda: [("q", next(numbers))], lambda _numbers, _verdict: None)
    publisher.channel = Publishing(channel, publisher.on_answer)
    publisher.channel.confirming = True
    return publisher


def test_steady_publisher_counts_published_and_confirmed_messages() -> None:
    channel = Written()
    publisher = publisher_on(channel)

    async def story() -> None:
        publisher.publish(4)
        publisher.channel.on_frame(SimpleNamespace(method=Basic.Ack(delivery_tag=2, multiple=True)))
        publisher.channel.on_frame(SimpleNamespace(method=Basic.Nack(delivery_tag=3)))

    asyncio.run(story())
    assert (channel.numbers, publisher.published, publisher.confirmed) == ([1, 2, 3, 4], 4, 2)


def test_publisher_is_blocked_while_flow_control_holds_it() -> None:
    channel = Written()
    publisher = publisher_on(channel)
    asyncio.run(hear(publisher))
    states = [publisher.state(throttled=throttled, now_s=now_s)
              for throttled, now_s in ((True, HEARD_S + 0.5), (True, HEARD_S + 2), (False, HEARD_S + 2))]  # fmt: skip
    channel.open = False
    assert [*states, publisher.state(throttled=True, now_s=0)] == ["running", "blocked", "running", "closed"]


HEARD_S = 1e9


async def hear(publisher: SteadyPublisher) -> None:
    """Confirm one message at HEARD_S."""
    asyncio.get_running_loop().time = lambda: HEARD_S
    publisher.on_answer([("q", 1)], "confirmed")


def test_published_count_of_a_blocked_publisher_is_not_reported() -> None:
    publishers = {"shop": publisher_on(Written()), "held": publisher_on(Written())}
    publishers["held"].connection = "publisher held"
    cluster = SimpleNamespace(
        running=lambda: [SimpleNamespace(erlang="n1@x")], control=SimpleNamespace(evaluate=lambda _: ["publisher held"])
    )
    result = publishers_of(SimpleNamespace(clients=SimpleNamespace(publishers=publishers), cluster=cluster))
    assert result == {
        "held": {"state": "blocked", "confirmed": 0},
        "shop": {"state": "running", "published": 0, "confirmed": 0},
    }


def test_changing_counts_do_not_keep_a_cluster_from_settling() -> None:
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


def test_numbers_of_steady_clients_may_differ_by_the_work_of_the_delay() -> None:
    scenario = load(STEADY)
    assert slack_of(scenario) == {"q": pytest.approx(15)}
    assert slack_of(load(STEADY + "  - wait: 1\n")) == {"q": pytest.approx(105)}
    assert slack_of(load(STEADY.partition("  - {publisher")[0])) == {}


@pytest.mark.parametrize(("more", "differs"), [(15, False), (16, True)])
def test_numbers_within_the_tolerance_agree(more: int, differs: bool) -> None:
    scenario = load(STEADY)
    result = outcome(Run.of(scenario))
    result["publishers"]["shop"]["confirmed"] += more
    result["ledger"]["q"]["confirmed"] = [[1, 200 + more]]
    found = [difference.field for difference in compare(Played(scenario, result, {}))]
    assert found == (["ledger.q.confirmed", "publishers.shop.confirmed"] if differs else [])


def test_only_numbers_may_differ() -> None:
    mine = {"ids": [[1, 10]], "state": "running", "up": True}
    assert with_its_numbers(mine, {"ids": [[1, 12]], "state": "down", "up": False}, 5) == mine | {"ids": [[1, 12]]}
    assert with_its_numbers(mine, {"ids": [[1, 4], [6, 10]]}, 5) == mine
    assert with_its_numbers(mine, None, 5) == mine
