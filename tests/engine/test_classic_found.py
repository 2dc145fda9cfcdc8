"""Bugs of masters and mirrors that property tests found, or that were injected to try them: the shortest story of
each and the expected outcome."""

from __future__ import annotations

import pytest
from found_stories import UNSYNCHRONISED, assert_comes_of

# b and c are down, q has 30 messages; synchronising them takes three seconds.
BEHIND = """
  - declare: {queue: q, node: a}
  - stop: [b, c]
  - publish: {queue: q, count: 30}
"""

FOUND = [
    pytest.param(
        "careful",
        UNSYNCHRONISED
        + """
  - {publish: {queue: q, count: 5, node: b}, at: 20}
  - {kill: a, at: 20.0001}
  - start: a
""",
        "{queues: {q: {ids: [[1, 3]]}}, ledger: {q: {confirmed: [[1, 3]]}}}",
        id="what is published after the master died is not on its disk",
    ),
    pytest.param(
        "careful",
        UNSYNCHRONISED
        + """
  - {publish: {queue: q, count: 5, node: b}, at: 20}
  - {kill: a, at: 20.0006}
""",
        "{ledger: {q: {confirmed: [[1, 3]], nacked: [[4, 8]]}}}",
        id="a mirror that refuses to take over confirms nothing",
    ),
    pytest.param(
        "careful",
        UNSYNCHRONISED
        + """
  - {kill: a, at: 20}
  - {clear_policy: p, at: 30}
  - {start: a, at: 40}
""",
        "{errors: [], queues: {q: {master: a, mirrored: false, mirrors: [], messages: 3}}}",
        id="a policy that changed while nobody served applies when somebody does",
    ),
    pytest.param(
        "all",
        """
  - declare: {queue: q, node: a}
  - {clear_policy: p, at: 1}
  - {kill: a, at: 1}
""",
        "{queues: {q: {master: b, mirrored: false, mirrors: [c]}}}",
        id="a policy that changed as the master died applies to its successor, who drops nobody",
    ),
    pytest.param(
        "automatic",
        BEHIND
        + """
  - {start: b, at: 10}
  - {start: c, at: 11}
""",
        "{queues: {q: {synchronised_mirrors: [b, c], state: running}}}",
        id="who joins during a synchronisation is synchronised after it",
    ),
    pytest.param(
        "automatic",
        BEHIND
        + """
  - {start: b, at: 10}
  - {clear_policy: p, at: 16}
  - {expect: {queues: {q: {state: syncing, mirrors: [b]}}}, at: 17}
""",
        "{queues: {q: {state: running, mirrors: [], mirrored: false}}}",
        id="a policy waits for the end of a synchronisation",
    ),
    pytest.param(
        "automatic",
        BEHIND
        + """
  - consume: {consumer: c1, queue: q, node: a}
  - consume: {consumer: c2, queue: q, node: a}
  - {start: b, at: 10}
  - {close: c1, at: 16}
  - {kill: b, at: 17}
""",
        "{consumers: {c2: {unacknowledged: [[1, 30]]}}, time_s: 17.0005}",
        id="a synchronisation that lost its mirrors lets the queue go on",
    ),
    pytest.param(
        "automatic",
        BEHIND
        + """
  - {start: b, at: 10}
  - {kill: b, at: 18.0009}
""",
        "{queues: {q: {replicas: {b: {messages: 0}}}}}",
        id="a mirror that died gets nothing from a synchronisation",
    ),
    pytest.param(
        "all",
        BEHIND
        + """
  - {start: b, at: 10}
  - {sync_queue: q, at: 20}
  - {cancel_sync_queue: q, at: 21}
  - purge: q
  - expect: {queues: {q: {messages: 0, mirrors: [b], synchronised_mirrors: []}}}
  - start: c
""",
        "{queues: {q: {synchronised_mirrors: [b, c]}}}",
        id="a mirror that lost count is synchronised only after the next broadcast",
    ),
    pytest.param(
        "all",
        """
  - declare: {queue: q, node: a}
  - publish: {queue: q, count: 30}
  - {set_policy: {name: p, pattern: '^q', definition: {ha-mode: nodes, ha-params: [b]}}, at: 1}
  - {kill: b, at: 1.0007}
  - start: b
""",
        "{queues: {q: {state: running, master: b, ids: [[1, 30]]}}}",
        id="a master that policy drops has a successor at once",
    ),
    pytest.param(
        "all",
        """
  - declare: {queue: q, node: a}
  - stop: [b, c]
  - publish: {queue: q, count: 3}
  - start: b
  - {clear_policy: p, at: 20}
  - {sync_queue: q, at: 20}
""",
        "{queues: {q: {mirrors: [], state: running, messages: 3}}}",
        id="a synchronisation asked for as the policy goes",
    ),
]


@pytest.mark.parametrize(("policy", "steps", "expect"), FOUND)
def test_outcome_of_a_former_bug(policy, steps, expect):
    assert_comes_of(policy, steps, expect)
