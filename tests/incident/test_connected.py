"""Client connections according to the logs."""

from __future__ import annotations

import pytest
from made_up_story import event, us

from hawb.incident.connected import changes, connected, steps
from hawb.incident.reading import Reading
from hawb.scenario.verbs import Close, Publish

CHANGES = changes(Reading([
    event(1, "a", "connection_accepted"), event(2, "a", "connection_accepted"), event(4, "a", "connection_closed"),
    event(6, "a", "node_starting"), event(8, "b", "connection_closed"), event(9, "b", "connection_accepted"),
], {}, [], 0))  # fmt: skip


def test_connections_are_counted_per_node():
    assert [(change.node, change.count) for change in CHANGES] == [
        ("a", 1), ("a", 2), ("a", 1), ("a", 0), ("b", 0), ("b", 1),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("from_s", "until_s", "expected"),
    [(-5, 0.5, False), (0, 1.5, True), (3, 5, True), (5, 5.5, True), (5, 5, False), (6.5, 7.5, False),
     (6.5, 9.5, True)],
)  # fmt: skip
def test_connected_clients_within_a_span(from_s, until_s, expected):
    assert connected(CHANGES, us(from_s), us(until_s)) is expected


def test_story_opens_the_connections_of_its_start_and_end():
    found = [(step.at_us, step.verb) for step in steps(CHANGES, us(3), us(8), "orders")]
    assert found == [(us(3), Publish(queue="orders", count=0, node="a", connection="client 1")),
                    (us(3), Publish(queue="orders", count=0, node="a", connection="client 2")),
                    (us(4), Close("client 2")), (us(6), Close("client 1"))]  # fmt: skip
    assert [step.verb.name for step in steps(CHANGES, us(5), us(8), "orders") if isinstance(step.verb, Close)] == \
        ["client 1"]  # fmt: skip
