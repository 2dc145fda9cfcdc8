"""The role of each member of a quorum queue or stream at every moment, from the events of an outcome.

A role is what the member itself believes: a leader that reaches no majority stays leader until it receives a higher
term from another leader.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from hawb.views.cluster.replicas import LEADERS

Change = tuple[float, str, str]
"""(seconds, node, role from then on): leader, leader_alone (one that reaches no majority), follower or none."""

DOWN = ("node_killed", "node_lost_power", "node_stopping", "node_pausing")
STOPS_LEADERS_ONLY = ("3.8", "4.3")
"""The versions in which a drained node stops only members that lead, or stops followers later.

It never stops a replica of a stream.
"""


def member_roles(outcome: dict, queue: str, events: Iterable[dict], running: Iterable[str]) -> Iterator[Change]:
    """Yield the changes of role that `events` cause, beginning with the role of each node at 0 s.

    `running` are the nodes that ran at the start.
    """
    group = _Group(outcome, set(running), _at_the_start(outcome, queue, events))
    group.type = outcome["queues"].get(queue, {}).get("type")
    for node in outcome["nodes"]:
        yield 0.0, node, group.roles[node]
    for event in events:
        before = dict(group.roles)
        group.hear(event)
        yield from ((event["t"], node, role) for node, role in group.roles.items() if role != before[node])


def _at_the_start(outcome: dict, queue: str, events: Iterable[dict]) -> set[str]:
    """Return the nodes with a member of the queue at the start; none if the queue is declared later."""
    if any(event["event"] == "queue_declared" for event in events):
        return set()
    changed = {name: {e["node"] for e in events if e["event"] == name} for name in ("member_added", "member_removed")}
    now = set(outcome["queues"].get(queue, {}).get("members", ()))
    return now - changed["member_added"] | changed["member_removed"]


class _Group:
    """The members, the running nodes, and the role of each node."""

    def __init__(self, outcome: dict, running: set[str], members: set[str]):
        self.version, self.type, self.latest = outcome["version"], None, None
        self.running, self.members, self.cut, self.drained = running, members, [], set()
        self.roles = {node: "follower" if node in members & running else "none" for node in outcome["nodes"]}

    def hear(self, event: dict) -> None:
        """Apply an event to the roles."""
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
        """Start a node's member as a follower, if the node has one and runs."""
        if node in self.members & self.running:
            self.roles[node] = "follower"

    def drain(self, node: str) -> None:
        """Stop the member on a drained node.

        A leader stops if another node can take leadership; a follower stops in versions that stop it at once.
        """
        self.drained.add(node)
        leads, others = self.roles[node] in LEADERS, self.running - self.drained
        if self.type != "stream" and (others if leads else self.version not in STOPS_LEADERS_ONLY):
            self.roles[node] = "none"

    def revive(self, node: str) -> None:
        """Start the member on a revived node, if it had been stopped."""
        self.drained.discard(node)
        if self.roles[node] == "none":
            self.begin(node)

    def step_down(self) -> None:
        """Make leaders that the latest leader reaches followers; leaders that it does not reach have no majority."""
        for node, role in self.roles.items():
            if role in LEADERS and node != self.latest:
                reached = not any({node, self.latest} == set(link) for link in self.cut)
                self.roles[node] = "follower" if reached else "leader_alone"

    def declare(self, event: dict) -> None:
        """Set the members and the type of a declared queue, and start the members."""
        self.members, self.type = set(event["detail"].get("members", ())), event["detail"]["type"]
        for node in self.members:
            self.begin(node)

    def elect(self, event: dict) -> None:
        """Make a member leader, and make the earlier leaders that it reaches followers."""
        self.latest = event["node"]
        self.step_down()
        self.roles[event["node"]] = "leader"

    def lose_majority(self, event: dict) -> None:
        """Mark the leader as one without a majority, if it runs."""
        if self.roles.get(event["node"], "none") != "none":
            self.roles[event["node"]] = "leader_alone"

    def reach_majority(self, event: dict) -> None:
        """Mark the leader as one that can commit."""
        self.roles[event["node"]] = "leader"

    def add(self, event: dict) -> None:
        """Add a node's member and start it."""
        self.members.add(event["node"])
        self.begin(event["node"])

    def remove(self, event: dict) -> None:
        """Remove a node's member."""
        self.members.discard(event["node"])
        self.roles[event["node"]] = "none"

    def stay_away(self, event: dict) -> None:
        """Set the role of the named members, or of all if the event names none, to none; the queue stays on record."""
        self.roles |= dict.fromkeys(event["detail"].get("members", self.roles), "none")

    def disband(self, event: dict) -> None:
        """Remove all members of a deleted queue."""
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
"""The method that applies each event of the queue itself."""
