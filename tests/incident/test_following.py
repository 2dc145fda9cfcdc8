"""Stories follow the logged results of elections."""

from __future__ import annotations

import pytest
from kept_logs import DATA
from made_up_story import occurred, reconstruction_of
from measured_stories import differences, understood

from hawb.incident.doubts import Doubt
from hawb.incident.following import closest, play
from hawb.incident.policies import SHOWN
from hawb.scenario.verbs import SetPolicy, TransferLeadership

KILLED = """
scenario: A leader is killed
cluster: {nodes: [a, b, c], version: "4.0"}
queues:
  - {queue: q, type: quorum, leader: a, members: [a, b, c], messages: 5}
steps:
  - {kill: a, at: 1}
  - {wait: 0, at: 60}
"""


@pytest.mark.parametrize("leader", ["b", "c"])
def test_logged_leader_leads(leader):
    found = [occurred(1, "node_killed", "a"), occurred(1.4, "leader_elected", leader, "q", term=2)]
    played = play(reconstruction_of(KILLED), found)
    assert played.outcome["queues"]["q"]["leader"] == leader
    assert not played.comparison.apart


def test_logged_winner_of_a_random_election_is_followed():
    """No rule makes c the leader; chance or an operator did."""
    found = [occurred(1, "node_killed", "a"), occurred(1.4, "leader_elected", "b", "q", term=2),
             occurred(30, "leader_elected", "c", "q", term=3)]  # fmt: skip
    played = play(reconstruction_of(KILLED), found)
    assert played.outcome["queues"]["q"]["leader"] == "c"
    assert [pair.verdict for pair in played.comparison.pairs if pair.seen == found[2]] == ["by chance"]
    assert ("chance", "c") in {(doubt.kind, doubt.node) for doubt in played.reconstructed.doubts}


def test_impossible_leader_is_reported():
    found = [occurred(1, "node_killed", "a"), occurred(30, "leader_elected", "a", "q", term=3)]
    played = play(reconstruction_of(KILLED), found)
    assert ("only seen", "a") in {(pair.verdict, pair.seen and pair.seen.node) for pair in played.comparison.apart}
    assert not [step for step in played.reconstructed.scenario.steps if isinstance(step.verb, TransferLeadership)
                and step.verb.node == "a" and (step.at or 0) < 30]  # fmt: skip


HEALED = """
scenario: Autoheal restarts one
cluster: {nodes: [a, b, c], version: "3.10", net_ticktime: 4, cluster_partition_handling: autoheal}
queues:
  - {queue: q, master: b, mirrors: [a, c], synchronised_mirrors: [a, c]}
policies:
  - {name: all, pattern: ^q$, definition: {ha-mode: all}}
steps:
  - {partition: [[a], [b, c]], at: 1}
  - {heal: true, at: 20}
  - {wait: 0, at: 60}
"""


@pytest.mark.parametrize("restarted", ["a", "c"])
def test_autoheal_restarts_the_logged_or_predicted_nodes(restarted):
    """The rules predict a; its leader may know only one of three links."""
    found = [occurred(5, "partition_begun"), occurred(5, "mirror_promoted", "a", "q"),
             occurred(20, "partition_healed"), occurred(21, "autoheal", "b", nodes=(restarted,)),
             occurred(21, "node_paused", restarted, name="autoheal"), occurred(25, "node_started", restarted),
             occurred(25, "mirror_added", restarted, "q")]  # fmt: skip
    by_rules = reconstruction_of(HEALED)
    steps = f"  - {{stop: {restarted}, at: 21}}\n  - {{start: {restarted}, at: 24}}\n  - {{wait: 0"
    restarts = HEALED.replace("autoheal}", "ignore}").replace("  - {wait: 0", steps)
    as_seen = reconstruction_of(restarts, (), (), found[4:5])
    played = closest([by_rules, as_seen], found)
    assert played.reconstructed.scenario == (by_rules if restarted == "a" else as_seen).scenario
    assert [pair.verdict for pair in played.comparison.pairs if pair.kind == "node_paused"] == ["equal"]
    assert closest([], found) is None


CHANGED = """
scenario: A policy is set that no export has, and another one since
cluster: {nodes: [a, b, c], version: "3.10"}
policies:
  - {name: p, pattern: ^q, definition: {ha-mode: exactly, ha-params: 2, ha-promote-on-shutdown: always}}
queues:
  - {queue: q, master: a, mirrors: [b], synchronised_mirrors: [b], messages: 5}
steps:
  - set_policy: {name: p, pattern: ^q, definition: {ha-mode: exactly, ha-params: 2, ha-promote-on-shutdown: always}}
    at: 1
  - {stop: b, at: 10}
  - {start: b, at: 20}
  - {stop: c, at: 40}
  - {start: c, at: 45}
  - {stop: a, at: 50}
  - {set_policy: {name: p, pattern: ^q, definition: {ha-mode: nodes, ha-params: [a]}}, at: 60}
  - {wait: 0, at: 70}
"""


def changed() -> tuple[list, list, list]:
    """What was seen of three replicas of which none that lacks messages may take over, with what each step was read
    from and what is doubtful."""
    policies = [occurred(1, "policy_set", name="p"), occurred(60, "policy_set", name="p")]
    nodes = [occurred(10, "node_stopped", "b"), occurred(20, "node_started", "b"), occurred(40, "node_stopped", "c"),
             occurred(45, "node_started", "c"), occurred(50, "node_stopped", "a")]  # fmt: skip
    seen = [occurred(1, "mirror_added", "c", "q"), occurred(20, "mirror_added", "b", "q"),
            occurred(45, "mirror_added", "c", "q"), occurred(50, "mirrors_stopped", "a", "q")]  # fmt: skip
    doubts = [Doubt(kind="policy_as_exported", name="p", from_us=policies[0].at_us)]
    return [policies[0], *nodes, policies[1]], seen, doubts


def test_missing_policy_is_inferred_from_the_mirrors():
    steps, seen, doubts = changed()
    found = sorted([*steps, *seen], key=lambda one: one.at_us)
    played = play(reconstruction_of(CHANGED, *((one,) for one in steps), doubts=tuple(doubts)), found)
    said = next(step.verb for step in played.reconstructed.scenario.steps if isinstance(step.verb, SetPolicy))
    assert said.definition["ha-mode"] == "all" and said.definition["ha-promote-on-shutdown"] == "when-synced"
    assert [doubt.kind for doubt in played.reconstructed.doubts] == ["policy_worked_out"]
    assert not [pair for pair in played.comparison.apart if pair.kind in SHOWN]


def test_random_masters_of_a_drained_node_follow_the_logs():
    """The depth of a queue is computed again for the accepted draw."""
    story = DATA / "logs" / "3.8" / "random-forgotten-newcomer"
    assert understood(story, later=True).reconstructed.scenario.seed
    assert differences(story, later=True) == []
