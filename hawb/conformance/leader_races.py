"""Races for the leadership of quorum queues and streams on a real cluster; `races` has all others.

- Members elect one of themselves, and the first candidate is random.
- A stream's coordinator chooses the leader of a new epoch, even of a requested transfer, from the first majority of
  replicas that has stopped (`rabbit_stream_coordinator`, member_stopped).
"""

from __future__ import annotations

from itertools import combinations, pairwise

from hawb.conformance.races import Outcome, nodes_that_came_back, without
from hawb.scenario.document import Scenario
from hawb.scenario.verbs import (
    AddMember,
    Cut,
    DeleteMember,
    Expect,
    ForgetClusterNode,
    Grow,
    Heal,
    Partition,
    Rebalance,
    Shrink,
    TransferLeadership,
    Wait,
)

BEGINNING_EPOCHS = (AddMember, DeleteMember, ForgetClusterNode, Grow, Rebalance, Shrink, TransferLeadership)
"""The steps after which a stream's replicas may be in a new epoch."""


def without_leaders(seen: Outcome, names: set[str]) -> Outcome:
    """Return a broker's outcome, without the leaders of these queues."""
    queues = dict(seen.get("queues", {}))
    for name in names & queues.keys():
        queues[name] = without(queues[name], "leader")
        if "views" in queues[name]:
            queues[name]["views"] = [without(view, "master") for view in queues[name]["views"]]
    return seen | {"queues": queues} if queues else seen


def luckily_led(scenario: Scenario, model: Outcome) -> set[str]:
    """Return the quorum queues whose leader is random, and all streams once one of them may have begun a new epoch.

    The leader is random after an election, after a partition in which members may have held one, and after a member's
    node came back.
    """
    asked = {index for index, step in enumerate(scenario.steps) if isinstance(step.verb, TransferLeadership)} | {None}
    last = {event["queue"]: event for event in model["events"] if event["event"] == "leader_elected"}
    elected = {name for name, event in last.items() if event["detail"]["term"] > 1 and event["step"] not in asked}
    back, silent = nodes_that_came_back(model), links_silent_for_a_while(scenario)
    members = {name: set(queue.get("members", ())) for name, queue in model["queues"].items()}
    parted = {name for name, nodes in members.items() if any(link <= nodes for link in silent)}
    begun = any(isinstance(step.verb, BEGINNING_EPOCHS) for step in scenario.steps)
    streams = {name for name, queue in model["queues"].items() if begun and queue["type"] == "stream"}
    return elected | parted | streams | {name for name, nodes in members.items() if back & nodes}


def links_silent_for_a_while(scenario: Scenario) -> list[set[str]]:
    """Return the links that were cut during steps without a time, which may take longer on a real cluster."""
    cut: list[set[str]] = []
    found: list[set[str]] = []
    for before, step in pairwise(scenario.steps):
        if isinstance(before.verb, Cut):
            cut += [set(link) for link in before.verb.links]
        elif isinstance(before.verb, Partition):
            cut += [{one, other} for some, others in combinations(before.verb.groups, 2)
                    for one in some for other in others]  # fmt: skip
        elif isinstance(before.verb, Heal):
            cut = []
        if step.at is None and not isinstance(step.verb, Heal | Wait | Expect):
            found += cut
            cut = []
    return found
