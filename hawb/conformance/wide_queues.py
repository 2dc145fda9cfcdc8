"""A queue of a wide story: the steps that its settings add to each part of the story.

The queue's policies, its consumer if it has one, and its clients' connections have its name; its other objects (another
consumer, the queue of its dead letters) have its name with a suffix. So each step belongs to one queue (`queue_of`),
and a closed connection (on 3.8.9 all consumers at a node were gone) harms no other queue. Mirrors are placed by a list
of nodes while the queue is empty, or after the first messages if they are to be behind; the mode of its settings is set
over the list.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from hawb.conformance.random_cast import LIFETIME_MS, Cast, Steps, group_of
from hawb.conformance.wide_settings import MIRRORED, QUORUM, UNSET, Row
from hawb.rules.quorum import majority
from hawb.scenario.fields import Verb

EXCHANGE = "letters"
"""The exchange for dead letters, which routes by their routing key: the name of the queue that they leave."""
DEAD_LETTERS = {"x-dead-letter-exchange": EXCHANGE}
ARGUMENTS: dict[str, dict[str, Any]] = {
    "none": {},
    "x-max-length": {"x-max-length": 6},
    "x-message-ttl": {"x-message-ttl": 86_400_000},
    "reject-publish": {"x-max-length": 6, "x-overflow": "reject-publish"},
    "x-single-active-consumer": {"x-single-active-consumer": True},
    "x-delivery-limit": {"x-delivery-limit": 1},
    "x-max-priority": {"x-max-priority": 5},
    "expires": {"x-message-ttl": LIFETIME_MS},
    "expires to another queue": {"x-message-ttl": LIFETIME_MS, **DEAD_LETTERS},
    "expires to another queue at least once": {
        "x-message-ttl": LIFETIME_MS, "x-dead-letter-strategy": "at-least-once", "x-overflow": "reject-publish",
        **DEAD_LETTERS,
    },
    "drops to another queue": {"x-max-length": 3, **DEAD_LETTERS},
    "rejects to another queue": DEAD_LETTERS,
    "returns to another queue": {"x-delivery-limit": 1, **DEAD_LETTERS},
}  # fmt: skip
PLAIN = {"max-length": 1000}
"""The policy of a queue that is not mirrored."""
HA = ("ha-promote-on-failure", "ha-promote-on-shutdown", "ha-sync-mode")
ANSWERS: dict[str, tuple[str, dict[str, Any]]] = {
    "acknowledges": ("ack", {}), "gives back": ("nack", {"requeue": True}), "rejects": ("nack", {"requeue": False}),
}  # fmt: skip
"""The consumers that answer, and their answers."""
MOST = 3
"""The most messages published at once."""


class WideQueue:
    """A queue by its settings; `order` is the order in which nodes go down."""

    def __init__(self, cast: Cast, name: str, settings: Row, order: list[str]):
        self.name, self.settings, self._cast, self._nodes = name, settings, cast, order
        self.home = order[0] if settings["master"] == "goes" else cast.one(order[1:])
        # Nodes that go down first come last, so that small groups keep their majority as long as possible.
        others = [node for node in reversed(order) if node != self.home]
        size, replicas = len(order), settings["replicas"]
        self.mirrored, self.quorum = replicas in MIRRORED, replicas in QUORUM
        if self.quorum:
            count = {"quorum of 1": 1, "quorum of 2": 2, "quorum of 3": 3}.get(replicas, size)
        else:
            count = {"nodes": 2, "exactly all but one": size - 1, "exactly all": size, "all": size}.get(replicas, 1)
            others = cast.order(others)
        self.members = [self.home, *others[: count - 1]]
        self._mode: dict[str, Any] | None = {
            "all": {"ha-mode": "all"},
            "nodes": {"ha-mode": "nodes", "ha-params": self.members},
        }.get(replicas, {"ha-mode": "exactly", "ha-params": count}) if self.mirrored else PLAIN  # fmt: skip
        self._kept = {key: settings[key] for key in HA if self.mirrored and settings[key] != UNSET}
        self._lost = 0

    # --- the beginning ---

    def placed(self) -> Steps:
        """Set the policy that places the queue's mirrors, before it is declared."""
        if not self.mirrored:
            return self._policy(PLAIN)
        return self._listed(self.members[:1] if self.settings["mirrors"] == "behind" else self.members)

    def target(self) -> list[Steps]:
        """Declare and bind the queue for dead letters, durable and without replicas, one step after the other.

        It is not on a node with consumers: messages that they requeue as their node goes down might arrive or not.
        """
        if not DEAD_LETTERS.items() <= ARGUMENTS[self.settings["argument"]].items():
            return []
        name = f"{self.name}-dead"
        return [[{"declare": {"queue": name, "node": self._nodes[1]}}],
                [{"bind": {"queue": name, "exchange": EXCHANGE, "routing_key": self.name}}]]  # fmt: skip

    def declared(self) -> Steps:
        """Declare the queue, a quorum queue with one member or with one on all nodes."""
        return [self._declare(self.home, self.members)]

    def joined(self, place: int) -> Steps:
        """Add a quorum queue's next member, if it was not declared with all."""
        missing = self.quorum and len(self.members) < len(self._nodes) and place < len(self.members)
        return [{"add_member": {"queue": self.name, "node": self.members[place]}}] if missing else []

    def behind(self, place: int) -> Steps:
        """Add the next mirror that is to be behind, after the first messages.

        They are added one at a time: several mirrors that join a queue with messages come in any order, since RabbitMQ
        does not wait for them (`rabbit_mirror_queue_misc:add_mirrors`).
        """
        missing = self.settings["mirrors"] == "behind" and place < len(self.members)
        return self._listed(self.members[: place + 1]) if missing else []

    def mode(self) -> Steps:
        """Set the policy of the queue's settings."""
        return self._policy(self._mode | self._kept) if self.mirrored else []

    def consumed(self) -> list[Steps]:
        """Start the queue's consumers at the nodes that go down last, one after the other, which fixes their order."""
        if self.settings["consumer"] == "none":
            return []
        if self.settings["consumer"] != "two":
            return [[self._consume(self.name, -1)]]
        ranked = self.settings["argument"] != "x-single-active-consumer"
        first = {"priority": 2} if ranked else {}
        second = max(2, len(self._nodes) - 2)
        return [[self._consume(self.name, -1, **first)], [self._consume(f"{self.name}-second", second)]]

    # --- later ---

    def published(self, node: str, running: Collection[str]) -> Steps:
        """Publish from a client at a node, unless the queue is in a minority, which would refuse only after a minute.

        After a loss of the leader the client is a new one, because it is random if an earlier client has to send again.
        """
        if self.quorum and not self._elects(running):
            return []
        connection = f"{self.name} after {self._lost}" if self._lost else self.name
        fields: dict[str, Any] = {"count": self._cast.count(MOST), "node": node, "connection": connection}
        if self.settings["messages"] == "transient":
            fields["persistent"] = False
        if self.settings["argument"] == "x-max-priority":
            fields["priority"] = self._cast.count(5)
        return [{"publish": {"queue": self.name, **fields}}]

    def answered(self, running: Collection[str]) -> Steps:
        """Let the queue's consumer answer for a message, if it is one that answers.

        It sends none to a minority, which would process the answer when it has a majority again.
        """
        if self.settings["consumer"] not in ANSWERS or (self.quorum and not self._elects(running)):
            return []
        verb, fields = ANSWERS[self.settings["consumer"]]
        return [{verb: {"consumer": self.name, "count": 1, **fields}}]

    def gone(self, running: Collection[str]) -> None:
        """Record that a node is gone, and which nodes run."""
        self._lost += self.quorum and not self._elects(running)

    def meanwhile(self, node: str) -> list[Steps]:
        """Return the steps of a client while the first node is down, one after the other.

        For `declared again`, a mirrored queue gets a policy with a list of nodes, and a quorum queue gets one member:
        the placement of any other queue would be random.
        """
        match self.settings["meanwhile"]:
            case "policy changed":
                return [self._changed()]
            case "policy cleared":
                self._mode = None
                return [[{"clear_policy": self.name}]]
            case "declared again":
                before = self.listed()
                self.home, self.members = node, [node] if self.quorum else self.members
                return [before, [{"delete": {"queue": self.name, "node": node}}], [self._declare(node, self.members)]]
        return []

    def listed(self) -> Steps:
        """Mirror the queue by a list, if it is mirrored."""
        listed = self.mirrored and self._mode is not None and self._mode["ha-mode"] in ("all", "exactly")
        several = listed and self._mode.get("ha-params") != 1
        return self._listed(self._cast.order(self._nodes)) if several else []

    def rewritten(self) -> Steps:
        """Set a policy with the same meaning in another form."""
        if self._mode is None:
            return []
        if not self.mirrored:
            return self._policy({"max-length": PLAIN["max-length"] + self._cast.count()})
        nodes = self._mode.get("ha-params", self.members)
        if nodes == 1:
            return self._policy(self._mode | self._kept | PLAIN)
        return self._listed(self._cast.order(nodes if isinstance(nodes, list) else self.members))

    # --- parts of steps ---

    def _consume(self, name: str, place: int, **fields: Any) -> dict[str, Any]:
        client = {"node": self._nodes[place], "connection": name}
        return {"consume": {"consumer": name, "queue": self.name, "prefetch": 2, **client, **fields}}

    def _elects(self, running: Collection[str]) -> bool:
        return sum(member in running for member in self.members) >= majority(len(self.members))

    def _changed(self) -> Steps:
        if not self.mirrored:
            return self._policy({"max-length": self._cast.count(MOST)})
        # The node that is down, and a running one: of two running nodes any may be the first mirror.
        self._mode = {"ha-mode": "nodes", "ha-params": [self._nodes[0], self._cast.one(self._nodes[1:])]}
        return self._policy(self._mode | self._kept)

    def _policy(self, definition: dict[str, Any]) -> Steps:
        return [{"set_policy": {"name": self.name, "pattern": f"^{self.name}$", "definition": definition}}]

    def _listed(self, nodes: list[str]) -> Steps:
        return self._policy({"ha-mode": "nodes", "ha-params": nodes, **self._kept})

    def _declare(self, node: str, members: list[str]) -> dict[str, Any]:
        arguments = ARGUMENTS[self.settings["argument"]]
        if self.quorum:
            everywhere = len(members) == len(self._nodes)
            arguments = group_of(len(members) if everywhere else 1) | arguments
        fields = {"durable": False} if self.settings["queue"] == "transient" else {}
        fields |= {"arguments": arguments} if arguments else {}
        return {"declare": {"queue": self.name, "node": node, **fields}}


def queue_of(verb: Verb) -> str | None:
    """Return the queue of a wide story to which a step belongs; None for a step that is for all queues."""
    fields = (getattr(verb, field, None) for field in ("queue", "name", "consumer"))
    return next((owner(field) for field in fields if field is not None), None)


def owner(name: str) -> str:
    """Return the queue of a wide story to which an object of this name belongs."""
    return name.partition("-")[0]
