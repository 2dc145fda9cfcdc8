"""Bugs around cut links and lost power that property tests found, or that were injected to try them: the shortest
story of each and the expected outcome."""

from __future__ import annotations

import pytest
from found_stories import assert_comes_of, run_of
from invariants import watched

from hawb.scenario.expect import check

FOUND = [
    pytest.param(
        "all",
        """
  - declare: {queue: q, node: c}
  - publish: {queue: q, count: 5}
  - consume: {consumer: c, queue: q, node: c, prefetch: 1}
  - partition: [[a, b], [c]]
  - wait: 100
  - get: {queue: q, count: 1, ack: false, consumer: c}
""",
        "{errors: [{step: 5, contains: connected to another side of the partition}]}",
        id="nothing is fetched by a client on another side of a partition",
    ),
    pytest.param(
        "all",
        """
  - declare: {queue: q, node: c}
  - publish: {queue: q, count: 5}
  - consume: {consumer: c, queue: q, node: c, prefetch: 1}
  - cancel: c
  - partition: [[a, b], [c]]
  - wait: 100
  - consume: {consumer: c, queue: q, node: a}
""",
        "{errors: [{step: 6, contains: connected to another side of the partition}]}",
        id="nobody consumes on another side of a partition than the one where it holds messages",
    ),
    pytest.param(
        "careful",
        """
  - declare: {queue: q, node: a}
  - stop: [b, c]
  - publish: {queue: q, count: 3}
  - start: [b, c]
  - {cut: [[b, c]], at: 20}
  - {kill: a, at: 21}
  - {declare: {queue: q, node: b}, at: 30}
  - {delete: {queue: q, node: c}, at: 81}
""",
        "{time_s: 140.0, errors: [{step: 6, code: 404, contains: due to timeout}], partitions: [[b], [c]]}",
        id="an operation waits on its client's side alone, though the queue is deleted on the other",
    ),
    pytest.param(
        "all",
        """
  - declare: {queue: q, node: a}
  - {cut: [[a, b]], at: 1}
  - {publish: {queue: q, count: 3, node: a}, at: 2}
  - {crash: {queue: q, node: b}, at: 3}
  - {publish: {queue: q, count: 2, node: a}, at: 4}
  - {heal: true, at: 5}
""",
        "{queues: {q: {replicas: {b: {messages: 2}, c: {messages: 5}}, synchronised_mirrors: [c]}}}",
        id="a mirror that was started again out of reach gets nothing from before",
    ),
    pytest.param(
        "all",
        """
  - declare: {queue: q, node: b}
  - publish: {queue: q, count: 3}
  - {power_off: b, at: 20}
  - {kill: c, at: 30}
  - {publish: {queue: q, count: 2, node: a}, at: 31}
  - {expect: {queues: {q: {master: b, state: down, mirrors: [a]}}}, at: 79}
  - {wait: 2, at: 80}
""",
        "{queues: {q: {master: a, state: running, mirrors: [], ids: [[1, 5]]}}}",
        id="a mirror does not take over from a master that nobody has missed, whoever else dies",
    ),
    pytest.param(
        "none",
        """
  - set_policy: {name: p, pattern: '^q', definition: {ha-mode: nodes, ha-params: [b, c]}}
  - declare: {queue: q, node: b}
  - {publish: {queue: q, count: 3}, at: 1}
  - {power_off: c, at: 10}
  - {publish: {queue: q, count: 2, node: a}, at: 11}
  - {power_off: b, at: 20}
  - {start: c, at: 30}
  - {expect: {queues: {q: {master: b, state: down, mirrors: [], ids: [[1, 5]]}}}, at: 79}
  - {wait: 60, at: 80}
""",
        "{queues: {q: {master: c, state: running, ids: []}}, ledger: {q: {confirmed: [[1, 5]], lost: [[1, 5]]}}}",
        id="a node joins no queue whose master has gone unmissed, and finds it dead when it is missed",
    ),
    pytest.param(
        "none",
        """
  - {cut: [[a, b]], at: 10}
  - {cut: [[a, c], [b, c]], at: 30}
  - {expect: {partitions: []}, at: 80}
  - {wait: 1, at: 100}
""",
        "{partitions: [[a], [b], [c]]}",
        id="a node that nothing reaches does not tell two others that both still see it",
    ),
    pytest.param(
        "all",
        """
  - declare: {queue: q, node: b, auto_delete: true}
  - publish: {queue: q, count: 3}
  - consume: {consumer: c1, queue: q, node: a}
  - {power_off: b, at: 20}
  - {close: c1, at: 30}
  - {wait: 60, at: 31}
""",
        "{queues: {q: {master: a, state: running, messages_ready: 3}}}",
        id="an auto-delete queue whose master is gone does not see its last consumer leave",
    ),
]


# Stories in which nothing that must be so may fail after any event (`invariants`).
WATCHED = [
    pytest.param(
        """
  - declare: {queue: q, node: a}
  - {cut: [[a, b]], at: 1}
  - {publish: {queue: q, count: 3, node: a}, at: 2}
  - {power_off: a, at: 3}
  - {heal: true, at: 4}
  - {declare: {queue: r, node: c}, at: 5}
""",
        id="links heal, and what a master that died meanwhile had sent over them is lost",
    ),
    pytest.param(
        """
  - declare: {queue: q, node: b, arguments: {x-single-active-consumer: true}}
  - publish: {queue: q, count: 3}
  - consume: {consumer: c1, queue: q, node: a, prefetch: 1}
  - consume: {consumer: c2, queue: q, node: c, prefetch: 1}
  - {cut: [[a, c]], at: 10}
  - {power_off: b, at: 20}
  - {close: c1, at: 75}
  - {wait: 100, at: 76}
""",
        id="a side that waits for its master's death knows only its own consumers",
    ),
    pytest.param(
        """
  - declare: {queue: q, node: b}
  - kill: c
  - publish: {queue: q, count: 3}
  - consume: {consumer: c1, queue: q, node: a, prefetch: 1}
  - {cut: [[a, b]], at: 1}
  - {crash: {queue: q, node: b}, at: 2}
  - {crash: {queue: q, node: b}, at: 3}
  - {heal: true, at: 4}
""",
        id="a channel that tries twice to consume again succeeds once",
    ),
]


@pytest.mark.parametrize(("policy", "steps", "expect"), FOUND)
def test_outcome_of_a_former_bug(policy, steps, expect):
    assert_comes_of(policy, steps, expect)


@pytest.mark.parametrize("steps", WATCHED)
def test_invariants_hold_for_former_bugs(steps):
    with watched():
        assert run_of("all", steps).moment().state.sides


UNMISSED_BETWEEN = """
  - declare: {queue: q, node: b}
  - {cut: [[a, c]], at: 10}
  - {power_off: b, at: 20}
  - {expect: {queues: {q: {state: down}}}, at: 75}
  - {wait: 10, at: 80}
"""


@pytest.mark.parametrize("nodes", ["abc", "cba"])
def test_node_without_power_does_not_connect_two_sides(nodes):
    run = run_of("all", UNMISSED_BETWEEN, nodes=list(nodes))
    assert not check(run, {"queues": {"q": {"state": "running"}}, "partitions": [[nodes[0]], [nodes[2]]]})


GONE_FROM_TWO_SIDES = """
  - declare: {queue: q, node: a}
  - consume: {consumer: c1, queue: q, node: c}
  - {partition: [[a], [b], [c]], at: 1}
  - {power_off: c, at: 1}
  - wait: 70
"""


def test_consumer_on_a_host_without_power_is_closed_on_each_side():
    with watched():
        run = run_of("two", GONE_FROM_TWO_SIDES)
    assert not check(run, {"consumers": {"c1": {"state": "closed"}}})


DEAD_BEFORE = """
  - declare: {queue: q, node: a}
  - {kill: c, at: 1}
  - {cut: [[a, b]], at: 1}
  - {publish: {queue: q, count: 3, node: a}, at: 2}
  - {heal: true, at: 3}
"""


def test_confirm_does_not_wait_for_a_dead_mirror_still_on_the_record():
    """b does not respond, so the queue record cannot change; the channel uses what its node knows of dead nodes."""
    with watched():
        run = run_of("all", DEAD_BEFORE)
    (waiting,) = run.moment(4).state.unconfirmed
    assert [{node for node, _ in share.due_us} for share in waiting.shares] == [{0, 1}]
    assert not check(run, {"ledger": {"q": {"confirmed": [[1, 3]]}}})


SENT_BEFORE_THE_MOVE = """
  - declare: {queue: q, node: a}
  - {cut: [[a, b]], at: 1}
  - {publish: {queue: q, count: 3, node: a}, at: 2}
  - {transfer_leadership: {queue: q, node: b}, at: 3}
  - {heal: true, at: 4}
  - wait: 10
"""


def test_messages_of_a_moved_master_arrive_when_the_link_heals():
    """The queue process has ended but its node runs."""
    with watched():
        run = run_of("two", SENT_BEFORE_THE_MOVE)
    assert not check(run, {"queues": {"q": {"master": "b", "messages": 3}},
                           "ledger": {"q": {"confirmed": [[1, 3]], "lost": []}}})


MOVED_OVER_A_CUT_LINK = """
  - declare: {queue: q, node: b}
  - publish: {queue: q, count: 3}
  - partition: [[a], [b]]
  - transfer_leadership: {queue: q, node: a}
  - wait: 100
  - heal: true
  - kill: a
  - clear_policy: p
  - start: a
  - wait: 30
  - expect: {queues: {q: {state: down}}}
  - stop: b
  - start: b
  - wait: 30
"""


def test_queue_whose_move_failed_is_down_until_its_node_restarts():
    """No later policy restores it."""
    run = run_of("all", MOVED_OVER_A_CUT_LINK, nodes=["a", "b"], version="3.8")
    assert not check(run, {"queues": {"q": {"state": "running", "master": "b", "messages": 0}}})
