"""The agenda returns its entries in order, whatever was removed before and over several turns."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hawb.engine.core.agenda import REACTION, TIMER, Agenda
from hawb.engine.core.operations import NodeReached

DUE = st.tuples(st.integers(0, 20), st.sampled_from([REACTION, TIMER]), st.sampled_from(["q", "r"]))


def entry(number: int, time_us: int, priority: int, queue: str) -> tuple:
    """Return an agenda entry that names a queue."""
    return time_us, priority, number, None, 0, 0, NodeReached(queue, number)


@given(st.lists(DUE, max_size=30), st.data())
def test_remaining_entries_keep_their_order_in_the_next_turn(given: list[tuple], data: st.DataObject) -> None:
    entries = [entry(number, *one) for number, one in enumerate(given)]
    agenda = Agenda(())
    for one in entries:
        agenda.add(one)
    gone = data.draw(st.sets(st.sampled_from(entries))) if entries else set()
    for one in gone:
        agenda.remove(one)
    left = sorted(set(entries) - gone)
    again = Agenda(tuple(agenda))
    assert [again.take() for _ in range(len(again))] == left
    assert again.settled and len(again) == 0
    assert agenda.settled == all(priority == TIMER for _, priority, *_ in left)
    assert sorted(one for name in ("q", "r") for one in agenda.of_queue(name)) == left
