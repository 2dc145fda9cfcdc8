"""Faults that the property tests found, or that were made to try them: each as its shortest story and what should come
of it."""

from __future__ import annotations

import pytest
import yaml
from invariants import watched

from hawb.scenario.expect import check
from hawb.scenario.load import read_scenario
from hawb.scenario.run import Run

# Nodes a, b and c, and the policy that a story names for all queues whose name begins with q.
POLICIES = {
    "none": None,
    "all": {"ha-mode": "all"},
    "two": {"ha-mode": "nodes", "ha-params": ["a", "b"]},
    "automatic": {"ha-mode": "all", "ha-sync-mode": "automatic"},
    "careful": {"ha-mode": "all", "ha-promote-on-failure": "when-synced", "ha-promote-on-shutdown": "always"},
}

# b joins q, which has three messages, as an unsynchronised mirror that may not take over.
UNSYNCHRONISED = """
  - declare: {queue: q, node: a}
  - stop: [b, c]
  - publish: {queue: q, count: 3}
  - {start: b, at: 2}
"""
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
    pytest.param(
        "all",
        """
  - declare: {queue: q, node: a}
  - publish: {queue: q, count: 5}
  - consume: {consumer: c, queue: q, node: a, prefetch: 3}
  - kill: a
  - kill: [b, c]
  - force_boot: a
""",
        "{queues: {q: {ids: [[1, 5]], redelivered: [[1, 5]]}}}",
        id="what a node that died finds on its disk may have been delivered, whatever its old records say",
    ),
    pytest.param(
        "all",
        """
  - wipe: a
  - kill: [b, c]
  - force_boot: b
  - forget_cluster_node: {node: a}
  - join: a
""",
        "{nodes: {a: running, b: running, c: down}, errors: []}",
        id="a node joins whoever runs, not those with whom it was before",
    ),
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
        "none",
        """
  - set_policy: {name: p, pattern: '^q', definition: {ha-mode: nodes, ha-params: [a, b]}}
  - declare: {queue: q, node: b}
  - publish: {queue: q, count: 3}
  - kill: [a, b]
  - start: b
  - publish: {queue: q, count: 2}
""",
        "{queues: {q: {master: b, mirrors: []}}, ledger: {q: {confirmed: [[1, 5]]}}}",
        id="a mirror that died with its master is waited for no longer when that is back",
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


def run_of(policy: str, steps: str, **cluster: object) -> Run:
    """A story's run."""
    given = {
        "scenario": "found",
        "cluster": {"nodes": ["a", "b", "c"], "version": "3.10", "timing": {"sync_messages_s": 10}} | cluster,
        "steps": yaml.safe_load(steps),
    }
    if POLICIES[policy]:
        given["policies"] = [{"name": "p", "pattern": "^q", "definition": POLICIES[policy]}]
    return Run.of(read_scenario(given))


@pytest.mark.parametrize(("policy", "steps", "expect"), FOUND)
def test_found_once(policy, steps, expect):
    differences = check(run_of(policy, steps), yaml.safe_load(expect))
    assert not differences, "\n".join(map(str, differences))


@pytest.mark.parametrize("steps", WATCHED)
def test_found_once_by_looking_after_every_event(steps):
    with watched():
        assert run_of("all", steps).moment().state.sides


BACK_AT_ONCE = """
  - declare: {queue: q, node: a}
  - publish: {queue: q, count: 3}
  - {kill: b, at: 1}
  - {start: b, at: 1}
"""


def test_a_node_that_is_back_before_anybody_noticed_is_an_empty_mirror():
    run = run_of("all", BACK_AT_ONCE, timing={"start_s": 0})
    assert not check(run, {"queues": {"q": {"mirrors": ["c", "b"], "synchronised_mirrors": ["c"]}}})


UNMISSED_BETWEEN = """
  - declare: {queue: q, node: b}
  - {cut: [[a, c]], at: 10}
  - {power_off: b, at: 20}
  - {expect: {queues: {q: {state: down}}}, at: 75}
  - {wait: 10, at: 80}
"""


@pytest.mark.parametrize("nodes", ["abc", "cba"])
def test_a_node_that_has_lost_power_does_not_tell_two_others_that_it_still_sees_both(nodes):
    run = run_of("all", UNMISSED_BETWEEN, nodes=list(nodes))
    assert not check(run, {"queues": {"q": {"state": "running"}}, "partitions": [[nodes[0]], [nodes[2]]]})


GONE_FROM_TWO_SIDES = """
  - declare: {queue: q, node: a}
  - consume: {consumer: c1, queue: q, node: c}
  - {partition: [[a], [b], [c]], at: 1}
  - {power_off: c, at: 1}
  - wait: 70
"""


def test_a_consumer_whose_host_lost_power_is_gone_from_every_side():
    with watched():
        run = run_of("two", GONE_FROM_TWO_SIDES)
    assert not check(run, {"consumers": {"c1": {"state": "closed"}}})


def test_who_is_missed_because_of_a_reset_has_gone_for_its_own_reason():
    run = run_of("none", "[{declare: {queue: q, node: a}}, {power_off: a}, {reset: a}]")
    trace = run.moment().trace()
    missed = next(entry for entry in trace if entry.event == "node_down_noticed")
    assert trace[missed.because].event == "node_lost_power"


@pytest.mark.parametrize(("last", "redelivered"), [("stop", [[1, 2]]), ("kill", [[1, 15]])])
def test_after_a_forced_boot_a_master_that_was_shut_down_knows_what_it_had_delivered(last, redelivered):
    steps = [
        "{declare: {queue: q, node: a}}, {publish: {queue: q, count: 10}}",
        "{get: {queue: q, count: 2, ack: false, consumer: g}}, {stop: c}, {publish: {queue: q, count: 5}}",
        f"{{stop: b}}, {{{last}: a}}, {{force_boot: c}}, {{start: a}}",
    ]
    run = run_of("all", f"[{', '.join(steps)}]")
    assert not check(run, {"queues": {"q": {"master": "a", "ids": [[1, 15]], "redelivered": redelivered}}})


STOPPED_TWICE = """
  - {stop: a, at: 0}
  - {kill: a, at: 1}
  - {start: a, at: 1}
  - {stop: a, at: 3}
"""


def test_a_shutdown_ends_in_its_own_time():
    run = run_of("none", STOPPED_TWICE, timing={"stop_s": 10, "start_s": 1})
    assert [entry.t_us for entry in run.moment().trace() if entry.event == "node_stopped"] == [13_000_000]


@pytest.mark.parametrize(("went", "nacked", "redelivered"), [("stopped", [[6, 6]], []), ("killed", [[6, 6]], [[1, 5]])])
def test_it_matters_how_a_node_went_that_is_down_at_the_start(went, nacked, redelivered):
    scenario = {
        "scenario": "found",
        "cluster": {"nodes": ["a", "b"], "version": "3.10", "down": {"b": went}},
        "policies": [{"name": "p", "pattern": "^q", "definition": POLICIES["all"]}],
        "queues": [{"queue": "q", "master": "b", "messages": 5, "recoverable_mirrors": []}],
        "steps": [{"publish": {"queue": "q", "count": 1}}, {"start": "b"}],
    }
    run = Run.of(read_scenario(scenario))
    expected = {"ledger": {"q": {"nacked": nacked}}, "queues": {"q": {"redelivered": redelivered}}}
    assert not check(run, expected)


def test_deaths_of_one_step_are_not_each_others_cause():
    trace = run_of("none", "[{kill: [a, b]}]").moment().trace()
    assert [entry.because for entry in trace if entry.event == "node_killed"] == [None, None]
