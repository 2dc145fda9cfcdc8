from __future__ import annotations

import pytest
from msgspec.structs import replace

from hawb.exports.queue_rows import QueueFacts
from hawb.planning.inventory import Inventory, Queue
from hawb.rules.profiles import PROFILES
from hawb.study.replicas import WhatIf, what_if
from hawb.views.rules.features import matrix
from hawb.views.study.replica_page import replica_figure, sentence


@pytest.fixture(scope="module")
def found() -> WhatIf:
    one = Inventory(profile=PROFILES["3.10"], queues=[Queue("/", "q", QueueFacts(messages=9))])
    return what_if(one, matrix(), trials=0)


def with_rates(found: WhatIf, **times: float | None) -> WhatIf:
    """Return the answer with the quorum queue's rates set to multiples of the mirrored one's, or None."""
    rates = {cell.replicas: cell.rate for cell in found.cells if cell.queue_type == "classic"}

    def rate(cell):
        if cell.queue_type != "quorum" or times["quorum"] is None:
            return None if cell.queue_type == "quorum" else cell.rate
        of = rates[cell.replicas]
        return None if of is None else replace(of, **{end: times["quorum"] * getattr(of, end)
                                                     for end in ("value", "low", "high")})  # fmt: skip

    return replace(found, cells=[replace(cell, rate=rate(cell)) for cell in found.cells])


def test_title_names_the_recommended_number(found: WhatIf):
    shown = sentence(found)
    assert shown.startswith("With 3 replicas a mirrored queue stays in use while 2 nodes fail, a quorum queue while 1")
    assert shown.endswith("; the quorum queue passes on 4.7 times as many messages a second.")
    assert sentence(replace(found, members=1)).startswith(
        "With 1 replica a mirrored queue stays in use while no node fails, a quorum queue while no node fails; "
    )


def test_rate_is_called_higher_only_if_intervals_are_disjoint(found: WhatIf):
    assert sentence(with_rates(found, quorum=1.0)).endswith("passes on more messages a second is not known.")
    assert sentence(with_rates(found, quorum=0.1)).endswith(
        "the mirrored queue passes on 10.0 times as many messages a second."
    )
    assert sentence(with_rates(found, quorum=None)).endswith("both pass on was not measured.")


def test_picture_states_that_no_trials_were_played(found: WhatIf):
    assert "no trials were simulated" in {text.get_text() for text in replica_figure(found).axes[2].texts}


def test_only_quorum_queues_are_shown_without_mirrored_ones(found: WhatIf):
    today = replace(found, cells=[cell for cell in found.cells if cell.queue_type == "quorum"])
    assert sentence(today) == "With 3 replicas a quorum queue stays in use while 1 node fails."
    assert [text.get_text() for text in replica_figure(today).axes[0].texts] == ["quorum queues"]
