"""The page of a forecast for stopping nodes, and what RabbitMQ's checks miss; computed by hand for data/real."""

from __future__ import annotations

from pathlib import Path

import pytest

from hawb import Cluster
from hawb.exports.imported import scenario_of
from hawb.planning.safe_to_stop import Forecast, outlook, safe_to_stop
from hawb.planning.waits import QUORUM_PLUS_ONE, READY, wait_for
from hawb.scenario.document import Step
from hawb.scenario.run import Run
from hawb.scenario.verbs import Start, Stop
from hawb.views.planning.forecast_page import by_queue, missed, page

REAL = Path(__file__).parents[2] / "data" / "real"
FILES = [REAL / name for name in ("definitions.json", "api-queues.json", "api-nodes.json")]
A, B, C = NODES = "a@10.77.9.1", "b@10.77.9.2", "c@10.77.9.3"
DOWN = "either way: ◌ down"


@pytest.fixture(scope="module")
def real() -> list[Forecast]:
    """Return the forecasts for data/real as exported."""
    return list(outlook(scenario_of(FILES)[0])[1].forecasts)


@pytest.fixture(scope="module")
def restarted() -> dict[str, Forecast]:
    """Return the forecasts by node after a restart of b."""
    run = Run.of(scenario_of(FILES)[0])
    run.apply(Step(Stop((B,))))
    run.apply(Step(Start((B,))))
    return {forecast.node: forecast for forecast in safe_to_stop(run)}


def row(table, queue: str) -> tuple:
    """Return a queue's row without its name."""
    return next(tuple(cells[1:]) for cells in table.rows if queue in cells[0])


def test_a_quorum_queue_of_two_members_by_hand(real: list[Forecast]):
    """qq.pair has members on a and b. Two of two are a majority, one of two is none: without a or without b, however
    either ends, nobody can commit; c has no member, and nothing changes without it. The quorum check fails on a and b
    and names it: 2 online is a bare majority of 2."""
    assert row(by_queue(real), "qq.pair") == (DOWN, DOWN, "")
    assert [forecast.quorum_critical for forecast in real] == [("qq.pair",), ("qq.pair",), ("qq.single",)]
    assert not [cells for cells in missed(real).rows if cells[1] == "qq.pair"]


def test_a_transient_queue_by_hand(real: list[Forecast]):
    """plain.transient is on b alone, not durable, and holds 5. When b ends it is deleted with what it held, whether b
    was told to stop or not. It is neither a quorum queue nor mirrored, so neither check looks at it."""
    assert row(by_queue(real), "plain.transient") == ("", "either way: ▼ loses 5 and is deleted", "")
    lost = {(cells[0], cells[1]): cells[2] for cells in missed(real).rows}
    assert lost[B, "plain.transient"].startswith("loses 5 messages")
    # Without mirrors and durable: down until the node is back, and nothing lost; one on a, two on c.
    assert {key for key in lost if key != (B, "plain.transient")} == {
        (A, "plain.durable"), (C, "orders.tmp.carts"), (C, "plain.dlx"),
    }  # fmt: skip


def test_a_mirrored_queue_after_a_restart_by_hand(real: list[Forecast], restarted: dict[str, Forecast]):
    """nodes.ledger: master a, mirror b, 300 messages, ha-sync-mode manual, both promote keys at their defaults.

    As exported b is synchronised: it takes over either way. When b has been restarted it has joined again with nothing.
    A stop of a: ha-promote-on-shutdown is when-synced, so no mirror is promoted and the queue waits for a; nothing is
    lost. A kill of a: ha-promote-on-failure is always, so b is promoted with nothing, and 300 messages are gone. The
    mirror check fails, and cannot tell these two apart."""
    assert row(by_queue(real), "avail.ticks") == ("either way: 0.001 s", "", "")
    assert "nodes.ledger" in [effect.queue for effect in real[0].effects["stop"]]
    assert not [effect for effect in real[0].hurt("kill") if effect.queue == "nodes.ledger"]
    cells = by_queue([*restarted.values()])
    assert row(cells, "nodes.ledger") == ("stop: ◌ down; kill: ▼ loses 300", "", "")
    assert "nodes.ledger" in restarted[A].mirror_sync_critical
    assert not [effect for effect in restarted[A].missed("stop") if effect.queue == "nodes.ledger"]


def test_the_quorum_check_passes_while_a_member_catches_up_and_confirms_wait_for_it():
    """rabbitmq-server#7547: c is back, and lacks 2 GB. The check sees three of three online; who then stops a leaves b
    and c, a majority on paper, of which c has to be sent everything before anything more is confirmed."""
    cluster = Cluster("a", "b", "c", version="3.10").declare("qq", node="a", arguments={"x-queue-type": "quorum"})
    cluster.stop("c").publish("qq", 2000, size=1_000_000).start("c")
    ready, abreast = (wait_for(cluster.run, "a", wait).over_s for wait in (READY, QUORUM_PLUS_ONE))
    waited = {}
    for at_s in (ready, abreast):
        then = cluster.copy().stop("a", at=at_s).publish("qq", 1, at=at_s + 1)
        waited[at_s] = max(event["t"] for event in then.events if event["event"] == "messages_confirmed") - at_s - 1
    assert waited[ready] > 15 and waited[abreast] < 0.01


def test_page_states_that_the_checks_miss_nothing():
    forecasts = safe_to_stop(Cluster("a", "b", version="3.10").run)
    assert "Nothing: for each queue that a controlled stop harms, one of the checks fails." in page("x", forecasts)
    assert "What the files do not say" not in page("x", forecasts)
    assert "<p>&lt;b&gt;</p>" in page("x", forecasts, ["<b>"])
