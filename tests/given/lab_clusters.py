"""Clusters that tests of the lab open besides its own."""

from __future__ import annotations

from pathlib import Path

FOUR_QUEUES = Path(__file__).with_name("four_queues.yaml")
"""Three nodes, one of them down, with two mirrored queues, a quorum queue and a queue without replicas."""
SPLIT_VOTES = Path(__file__).with_name("split_votes.yaml")
"""Three nodes in slow motion: b and c lose the leader of a quorum queue, and ask for votes at the same moment."""
