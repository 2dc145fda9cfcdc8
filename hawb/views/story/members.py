"""Who had which role in the group of a quorum queue or stream at every moment, from the events of an outcome.

A role is what a member takes itself for: a leader that reaches no majority remains one until it hears of another.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from hawb.views.cluster.replicas import LEADERS

Change = tuple[float, str, str]
"""(seconds, node, role from then on): leader, leader_alone (one that reaches no majority), follower or none."""

DOWN = ("node_killed", "node_lost_power", "node_stopping", "node_pausing")
STOPS_LEADERS_ONLY = ("3.8", "4.3")
"""The versions in which a node that is drained stops only the members that lead, or the others later. It stops no
replica of a stream."""


def member_roles(outcome: dict, queue: str, events: Iterable[dict], running: Iterable[str]) -> Iterator[Change]:
    """The changes of role that `events` tell of, beginning with the role of each node. `running` are the nodes that ran
    at the start."""
    group = _Group(outcome, set(running), _at_the_start(outcome, queue, events))
    group.type = outcome["queues"].get(queue, {}).get("type")
    for node in outcome["nodes"]:
        yield 0.0, node, group.roles[node]
    for event in events:
        before = dict(group.roles)
        group.hear(event)
        yield from ((event["t"], node, role) for node, role in group.roles.items() if role != before[node])


def _at_the_start(outcome: dict, queue: str, events: Iterable[dict]) -> set[str]:
    """The members of a queue that stood at the start."""
    if any(event["event"] == "queue_declared" for event in events):
        return set()
    changed = {name: {e["node"] for e in events if e["event"] == name} for name in ("member_added", "member_removed")}
    now = set(outcome["queues"].get(queue, {}).get("members", ()))
    return now - changed["member_added"] | changed["member_removed"]


class _Group:
    """The members, the nodes that run, and the role of each node."""

    def __init__(self, outcome: dict, running: set[str], members: set[str]):
        self.version, self.type, self.latest = outcome["version"], None, None
        self.running, self.members, self.cut, self.drained = running, members, [], set()
        self.roles = {node: "follower" if node in members & running else "none" for node in outcome["nodes"]}

    def hear(self, event: dict) -> None:
        """Takes an event in."""
        node, name = event["node"], event["event"]
        if name in DOWN:
            self.running.discard(node)
            self.roles[node] = "none"
        elif name == "node_running":
            self.running.add(node)
            self.drained.discard(node)
            self.begin(node)
        elif name == "node_drained":
            self.drain(node)
        elif name == "follower_stopped":
            self.roles[node] = "none"
        elif name == "process_crashed":
            self.begin(node)
        elif name == "node_revived":
            self.revive(node)
        elif name == "links_cut":
            self.cut += event["detail"]["links"]
        elif name == "links_healed":
            self.cut = []
            self.step_down()
        elif name in CHANGES:
            CHANGES[name](self, event)

    def begin(self, node: str) -> None:
        """A member's process has started, if there is one and it had not."""
        if node in self.members & self.running:
            self.roles[node] = "follower"

    def drain(self, node: str) -> None:
        """A member that leads stops if another node could have the leader, one that follows where that is at once."""
        self.drained.add(node)
        leads, others = self.roles[node] in LEADERS, self.running - self.drained
        if self.type != "stream" and (others if leads else self.version not in STOPS_LEADERS_ONLY):
            self.roles[node] = "none"

    def revive(self, node: str) -> None:
        """A member that was stopped is started."""
        self.drained.discard(node)
        if self.roles[node] == "none":
            self.begin(node)

    def step_down(self) -> None:
        """Leaders that the latest one reaches hear of it."""
        for node, role in self.roles.items():
            if role in LEADERS and node != self.latest:
                reached = not any({node, self.latest} == set(link) for link in self.cut)
                self.roles[node] = "follower" if reached else "leader_alone"

    def declare(self, event: dict) -> None:
        """A new group."""
        self.members, self.type = set(event["detail"].get("members", ())), event["detail"]["type"]
        for node in self.members:
            self.begin(node)

    def elect(self, event: dict) -> None:
        """A member leads from now on, and those that see it follow."""
        self.latest = event["node"]
        self.step_down()
        self.roles[event["node"]] = "leader"

    def lose_majority(self, event: dict) -> None:
        """The leader that there is, if there is one that runs, goes on without a majority."""
        if self.roles.get(event["node"], "none") != "none":
            self.roles[event["node"]] = "leader_alone"

    def reach_majority(self, event: dict) -> None:
        """A leader can commit."""
        self.roles[event["node"]] = "leader"

    def add(self, event: dict) -> None:
        """A node has a member."""
        self.members.add(event["node"])
        self.begin(event["node"])

    def remove(self, event: dict) -> None:
        """A node has none any more."""
        self.members.discard(event["node"])
        self.roles[event["node"]] = "none"

    def stay_away(self, event: dict) -> None:
        """The queue is on record, and the members named, or all where none is, do not run."""
        self.roles |= dict.fromkeys(event["detail"].get("members", self.roles), "none")

    def disband(self, event: dict) -> None:
        """The queue is gone."""
        self.members = set()
        self.roles = dict.fromkeys(self.roles, "none")


CHANGES = {
    "queue_declared": _Group.declare,
    "leader_elected": _Group.elect,
    "queue_unavailable": _Group.lose_majority,
    "queue_available": _Group.reach_majority,
    "member_added": _Group.add,
    "member_removed": _Group.remove,
    "queue_down": _Group.stay_away,
    "queue_deleted": _Group.disband,
}
"""The method that takes in each event of the queue itself."""
