"""Certain and possible losses."""

from __future__ import annotations

import pytest
from made_up_story import BEGINS_US, reconstruction_of, us

from hawb.incident.connected import Change
from hawb.incident.doubts import Doubt
from hawb.incident.losses import APART, QueueLosses, losses
from hawb.scenario.outcome import outcome
from hawb.scenario.run import Run

BEHIND = """
scenario: A mirror that is behind takes over
cluster: {nodes: [a, b], version: "3.10"}
policies:
  - {name: all, pattern: ^q$, definition: {ha-mode: all}}
queues:
  - {queue: q, master: a, mirrors: [b], synchronised_mirrors: [b], messages: 7}
steps:
  - {stop: b, at: 1}
  - {start: b, at: 20}
  - {kill: a, at: 40}
  - {wait: 0, at: 60}
"""
CONNECTED = [Change(BEGINS_US - 5, "a", 1)]


def loss_of(clients=(), doubts=(), logged: bool = True, listed_us: int | None = None) -> QueueLosses:
    story = reconstruction_of(BEHIND, doubts=doubts)
    (one,) = losses(story, outcome(Run.of(story.scenario)), clients, [], logged, listed_us)
    return one


PARTED = """
scenario: A partition that stays
cluster: {nodes: [a, b], version: "3.10", net_ticktime: 4}
policies:
  - {name: all, pattern: ^q$, definition: {ha-mode: all}}
queues:
  - {queue: q, master: a, mirrors: [b], synchronised_mirrors: [b]}
  - {queue: plain, master: a}
  - {queue: quorum, type: quorum, leader: a, members: [a, b]}
steps:
  - {partition: [[a], [b]], at: 20}
  - {heal: true, at: 40}
  - {wait: 0, at: 60}
"""


def test_messages_of_one_side_are_at_risk_during_a_partition():
    story = reconstruction_of(PARTED)
    found = {one.queue: [loss for loss in one.possible if not loss.only]
             for one in losses(story, outcome(Run.of(story.scenario)), CONNECTED, [], True)}  # fmt: skip
    assert {queue: [loss.cause for loss in of] for queue, of in found.items()} == {
        "plain": [], "q": [APART], "quorum": []}  # fmt: skip
    (danger,) = found["q"]
    assert us(19) <= danger.from_us <= us(20.1) and danger.until_us == danger.at_us == us(60)


def test_loss_is_certain_if_no_client_could_consume():
    one = loss_of()
    assert [(loss.count, loss.cause) for loss in one.certain] == [(7, "unsynchronised_promotion")]
    assert (one.certainly_lost, one.possible, one.kept) == (7, (), 0)


def test_loss_is_possible_if_clients_were_connected():
    one = loss_of(CONNECTED)
    assert not one.certain
    listed = [loss for loss in one.possible if loss.listed]
    assert [(loss.listed, loss.cause) for loss in listed] == [(7, "unsynchronised_promotion")]
    published = [loss for loss in one.possible if not loss.listed and not loss.only]
    assert [loss.cause for loss in published] == ["unsynchronised_promotion"]
    assert published[0].at_us == pytest.approx(us(40), abs=1000)


def test_client_that_left_before_the_listing_consumed_nothing():
    gone = [*CONNECTED, Change(BEGINS_US - 3, "a", 0)]
    assert not loss_of(gone).certain
    assert loss_of(gone, listed_us=BEGINS_US - 2).certainly_lost == 7


@pytest.mark.parametrize("doubts", [(Doubt(kind="no_listing"),), (Doubt(kind="listed_after"),)])
def test_no_loss_is_certain_without_a_listing_from_before(doubts):
    one = loss_of(doubts=doubts)
    assert not one.certain
    assert {loss.cause for loss in one.possible} >= {"unsynchronised_promotion"}
    assert one.kept is None


def test_logs_without_connections_have_no_clients():
    assert not loss_of(logged=False).certain


def test_messages_published_when_replicated_are_not_at_risk():
    """b boots until 25 s and has all messages published later."""
    one = loss_of(CONNECTED)
    spans = [(loss.from_us, loss.until_us) for loss in one.possible if not loss.listed and not loss.only]
    assert spans and all(us(20) < until_us <= us(26) for _, until_us in spans)
