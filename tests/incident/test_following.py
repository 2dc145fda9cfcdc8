"""Elections that came out otherwise are followed, so that a story goes on as the cluster did."""

from __future__ import annotations

import pytest
from made_up_story import happening, retold

from hawb.incident.following import play
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
