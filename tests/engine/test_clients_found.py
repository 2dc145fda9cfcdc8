"""Bugs towards clients that property tests found, or that were injected to try them: the shortest story of each and
the expected outcome."""

from __future__ import annotations

import pytest
from found_stories import UNSYNCHRONISED, assert_comes_of

FOUND = [
    pytest.param(
        "careful",
        UNSYNCHRONISED
        + """
  - kill: a
  - {at: 30, declare: {queue: q, node: b, arguments: {x-max-length: 7}}}
""",
        "{errors: [{step: 5, code: 406, contains: x-max-length}]}",
        id="a queue that waits for its master is compared with what is declared all the same",
    ),
    pytest.param(
        "careful",
        UNSYNCHRONISED
        + """
  - declare: {queue: r, node: b}
  - consume: {consumer: c1, queue: q, node: b}
  - kill: a
  - close: c1
  - consume: {consumer: c1, queue: r, node: b}
  - start: a
""",
        "{consumers: {c1: {state: active, queue: r, unacknowledged: []}}, queues: {q: {messages_ready: 3}}}",
        id="a channel does not resume a consumer that was closed",
    ),
    pytest.param(
        "careful",
        UNSYNCHRONISED
        + """
  - declare: {queue: r, node: b}
  - consume: {consumer: c1, queue: q, node: b}
  - kill: a
  - close: c1
  - consume: {consumer: c1, queue: r, node: b}
  - wait: 100
""",
        "{consumers: {c1: {state: active, queue: r, cancel_notified: false}}}",
        id="a channel's patience does not cancel another subscription",
    ),
    pytest.param(
        "careful",
        UNSYNCHRONISED
        + """
  - {kill: a, at: 10}
  - {get: {queue: q, count: 1}, at: 20}
  - {start: a, at: 30}
  - {kill: a, at: 60}
  - {get: {queue: q, count: 1}, at: 70}
  - {start: a, at: 100}
""",
        "{errors: [], time_s: 105.0005, queues: {q: {ids: [[3, 3]]}}}",
        id="the patience of an operation ends when it is served",
    ),
    pytest.param(
        "none",
        """
  - declare: {queue: r, node: a}
  - publish: {queue: r, count: 3}
  - consume: {consumer: c1, queue: r, node: a}
  - cancel: c1
  - consume: {consumer: c1, queue: r, node: a}
  - ack: {consumer: c1}
""",
        "{queues: {r: {messages: 0}}, ledger: {r: {removed: {acknowledged: [[1, 3]]}}}}",
        id="who consumes again still holds what it held",
    ),
    pytest.param(
        "none",
        """
  - declare: {queue: r, node: a}
  - publish: {queue: r, count: 5}
  - get: {queue: r, count: 2, ack: false, consumer: h}
  - close: h
  - get: {queue: r, count: 1, ack: false, consumer: h}
""",
        "{consumers: {h: {received: [[1, 2]], unacknowledged: [[1, 1]]}}}",
        id="a holder that comes again has received what it received",
    ),
    pytest.param(
        "none",
        """
  - declare: {queue: r, node: a}
  - declare: {queue: s, node: a}
  - publish: {queue: r, count: 3}
  - consume: {consumer: c1, queue: s, node: a}
  - get: {queue: r, count: 2, ack: false, consumer: c1}
  - publish: {queue: s, count: 5}
""",
        "{consumers: {c1: {queue: s, unacknowledged: [[1, 5]]}}, errors: [{step: 4}]}",
        id="a consumer of one queue is no holder of another",
    ),
    pytest.param(
        "none",
        """
  - declare: {queue: r, node: a}
  - publish: {queue: r, count: 3}
  - consume: {consumer: c1, queue: r, node: a, ack: auto, prefetch: 1}
""",
        "{consumers: {c1: {received: [[1, 3]]}}, queues: {r: {messages: 0}}}",
        id="prefetch does not count what needs no acknowledgement",
    ),
    pytest.param(
        "none",
        """
  - declare: {queue: r, node: a}
  - consume: {consumer: c1, queue: r, node: b, ack: auto}
  - {kill: b, at: 1}
  - {publish: {queue: r, count: 3, node: a}, at: 1}
""",
        "{ledger: {r: {lost: [[1, 3]], removed: {acknowledged: []}}}, consumers: {c1: {received: []}}}",
        id="a dead client acknowledges nothing",
    ),
    pytest.param(
        "none",
        """
  - declare: {queue: r, node: b}
  - declare: {queue: s, node: a}
  - publish: {queue: r, count: 9, node: b}
  - publish: {queue: s, count: 2, node: a}
  - consume: {consumer: c1, queue: r, node: a}
  - partition: [[a], [b, c]]
  - ack: {consumer: c1, count: 5}
  - close: c1
  - consume: {consumer: c1, queue: s, node: a}
  - heal: true
""",
        "{consumers: {c1: {unacknowledged: [[1, 2]]}}, queues: {r: {messages: 9}, s: {messages: 2}}}",
        id="what a closed channel answered is nothing that another one answers",
    ),
    pytest.param(
        "none",
        """
  - declare: {queue: r, node: b}
  - publish: {queue: r, count: 9, node: b}
  - consume: {consumer: c1, queue: r, node: a}
  - partition: [[a], [b, c]]
  - ack: {consumer: c1, count: 5}
  - close: c1
  - consume: {consumer: c1, queue: r, node: c}
  - heal: true
""",
        "{consumers: {c1: {unacknowledged: [[1, 9]]}}, queues: {r: {messages: 9}}}",
        id="nor where that one consumes from the same queue, at another node",
    ),
    pytest.param(
        "none",
        """
  - declare: {queue: r, node: b}
  - declare: {queue: s, node: a}
  - publish: {queue: s, count: 2, node: a}
  - consume: {consumer: c1, queue: r, node: a}
  - partition: [[a], [b, c]]
  - publish: {queue: r, count: 9, node: b}
  - close: c1
  - consume: {consumer: c1, queue: s, node: a}
  - heal: true
""",
        "{consumers: {c1: {received: [[1, 2]]}}, queues: {r: {messages: 9}, s: {messages: 2}}}",
        id="what was on its way to a closed channel does not come to another one",
    ),
    pytest.param(
        "none",
        """
  - declare: {queue: r, node: b}
  - consume: {consumer: c1, queue: r, node: a}
  - partition: [[a], [b, c]]
  - consume: {consumer: c1, queue: r, node: a}
  - close: c1
  - heal: true
""",
        "{consumers: {c1: {state: closed}}, errors: [{step: 3}]}",
        id="a channel refuses a tag that it has before it asks a queue",
    ),
]


@pytest.mark.parametrize(("policy", "steps", "expect"), FOUND)
def test_outcome_of_a_former_bug(policy, steps, expect):
    assert_comes_of(policy, steps, expect)
