"""Elections that came out otherwise are followed, so that a story goes on as the cluster did."""

from __future__ import annotations

import pytest
from made_up_story import happening, retold

from hawb.incident.following import closest, play
from hawb.scenario.verbs import TransferLeadership

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
def test_who_was_seen_to_lead_leads(leader):
    found = [happening(1, "node_killed", "a"), happening(1.4, "leader_elected", leader, "q", term=2)]
    played = play(retold(KILLED), found)
    assert played.outcome["queues"]["q"]["leader"] == leader
    assert not played.comparison.apart


def test_who_stood_for_election_by_chance_is_followed():
    """No rule has c lead; a person or chance has."""
    found = [happening(1, "node_killed", "a"), happening(1.4, "leader_elected", "b", "q", term=2),
             happening(30, "leader_elected", "c", "q", term=3)]  # fmt: skip
    played = play(retold(KILLED), found)
    assert played.outcome["queues"]["q"]["leader"] == "c"
    assert [pair.verdict for pair in played.comparison.pairs if pair.seen == found[2]] == ["by chance"]
    assert ("chance", "c") in {(doubt.kind, doubt.node) for doubt in played.retold.doubts}


def test_who_cannot_lead_is_told():
    found = [happening(1, "node_killed", "a"), happening(30, "leader_elected", "a", "q", term=3)]
    played = play(retold(KILLED), found)
    assert ("only seen", "a") in {(pair.verdict, pair.seen and pair.seen.node) for pair in played.comparison.apart}
    assert not [step for step in played.retold.scenario.steps if isinstance(step.verb, TransferLeadership)
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
def test_whom_autoheal_restarts_is_as_the_rules_have_it_or_as_it_was_seen(restarted):
    """By the rules it is a: of three links its leader may have heard of one only."""
    found = [happening(5, "partition_begun"), happening(5, "mirror_promoted", "a", "q"),
             happening(20, "partition_healed"), happening(21, "autoheal", "b", nodes=(restarted,)),
             happening(21, "node_paused", restarted, name="autoheal"), happening(25, "node_started", restarted),
             happening(25, "mirror_added", restarted, "q")]  # fmt: skip
    by_rules = retold(HEALED)
    steps = f"  - {{stop: {restarted}, at: 21}}\n  - {{start: {restarted}, at: 24}}\n  - {{wait: 0"
    as_seen = retold(HEALED.replace("autoheal}", "ignore}").replace("  - {wait: 0", steps), (), (), found[4:5])
    played = closest([by_rules, as_seen], found)
    assert played.retold.scenario == (by_rules if restarted == "a" else as_seen).scenario
    assert [pair.verdict for pair in played.comparison.pairs if pair.kind == "node_paused"] == ["equal"]
    assert closest([], found) is None
