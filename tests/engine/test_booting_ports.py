"""The work of a booting node."""

from __future__ import annotations

from collections import Counter

import pytest
from counted_work import growth

from hawb.engine.cluster import booting_ports
from hawb.engine.core.turn import Turn
from hawb.scenario.load import read_scenario
from hawb.scenario.run import Run


def test_the_work_of_a_boot_grows_with_the_queues(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[str] = []

    class Name(str):
        __slots__ = ()
        __hash__ = str.__hash__

        def __eq__(self, other: object) -> bool:
            compared.append(self)
            return str.__eq__(self, other)

    def work(size: int) -> Counter[str]:
        queues = [{"queue": f"q{number}", "master": "b"} for number in range(size)]
        run = Run.of(read_scenario({"scenario": "a", "cluster": {"nodes": ["a", "b"]}, "queues": queues,
                                    "steps": [{"kill": "a"}]}))  # fmt: skip
        turn = Turn(run.settings, run.moment(), 0)
        monkeypatch.setattr(turn, "queue_names", lambda: map(Name, [*turn.queues]))
        compared.clear()
        booting_ports.return_to_queues(turn, 0, 0b10)
        return Counter(compared=len(compared))

    assert growth(work, 10)["compared"] < 1.05
