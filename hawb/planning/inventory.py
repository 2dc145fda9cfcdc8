"""The linter's input: policies, queues and nodes of one cluster, from its files or from a scenario.

A scenario is read at its end. A fact that the files do not hold is None, and no finding is based on it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from msgspec import Struct, field

from hawb.engine.clients.client_state import Consumer
from hawb.engine.core.naming import join_queue, split_queue
from hawb.engine.core.state import Queue as QueueState
from hawb.engine.core.state import Side, State
from hawb.engine.queues.contents import pieces
from hawb.exports.definitions import (
    Binding,
    DefinedQueue,
    Definitions,
    Key,
    holds_export,
    read_definitions,
)
from hawb.exports.imported import split_source
from hawb.exports.listings import Listings
from hawb.exports.queue_rows import QueueFacts
from hawb.exports.untrusted import ImportRefused
from hawb.rules.nearest_profile import nearest
from hawb.rules.policies import Policy
from hawb.rules.profiles import PROFILES, Profile
from hawb.scenario.beginning import SYNC_BATCH_SIZE, timing_of
from hawb.scenario.document import Cluster, Timing
from hawb.scenario.outcome import clients_by_queue, counted_here, queue_outcome
from hawb.scenario.run import Run

DEFAULT_VERSION = "3.8"
NET_TICKTIME_S = Cluster(nodes=("a",)).net_ticktime
NETWORK_BYTES_PER_S = timing_of(Timing()).network_bytes_per_s
"""Bandwidth assumed if no file holds it: the default of RabbitMQ and of a scenario."""


class Queue(Struct, gc=False):
    """A queue with the facts that files have about it."""

    vhost: str
    name: str
    facts: QueueFacts

    @property
    def full_name(self) -> str:
        """Return VHOST::NAME, as scenarios write it."""
        return join_queue(self.vhost, self.name)

    @property
    def type(self) -> str:
        """Return the queue type: classic, quorum, or another type in the files."""
        return self.facts.type or "classic"


class Inventory(Struct, kw_only=True):
    """One cluster.

    `nodes` maps each node to whether it runs, and is empty if no file lists nodes; `policies_listed` and
    `queues_listed` are True if a file lists policies and queues. `exchanges` maps exchanges that are not predeclared to
    their types. `published` and `confirmed` are the cluster's message counters. `hosted` counts the members of quorum
    queues and streams on each node; `hawb.planning.lint` sets it.
    """

    profile: Profile
    release: str | None = None
    policies: list[Policy] = []
    operator_policies: list[Policy] = []
    policies_listed: bool = True
    queues: list[Queue] = []
    queues_listed: bool = True
    exchanges: dict[Key, str] = {}
    bindings: list[Binding] = []
    nodes: dict[str, bool] = {}
    net_ticktime_s: float = NET_TICKTIME_S
    network_bytes_per_s: int = NETWORK_BYTES_PER_S
    sync_batch_size: int = SYNC_BATCH_SIZE
    sync_max_bytes_per_s: int = 0
    published: int | None = None
    confirmed: int | None = None
    notes: list[str] = field(default_factory=list)
    hosted: dict[str, int] = {}


def of_files(sources: Sequence[str | Path], release: str | None = None) -> Inventory:
    """Return the cluster described by a definitions export, by listings, or by both.

    Each file is FILE or VHOST=FILE. `release` overrides the RabbitMQ release in the files. Raise ImportRefused if a
    file is neither an export nor a listing, or if there are two exports.
    """
    split = [split_source(source) for source in sources]
    exports = [(file, vhost) for file, vhost in split if holds_export(file)]
    if len(exports) > 1:
        raise ImportRefused(exports[1][0], "the whole file", "a second definitions export", "one for each cluster")
    nothing = Definitions(vhosts=["/"], queues_listed=False, policies_listed=False)
    defined = read_definitions(*exports[0]) if exports else nothing
    listings = Listings(defined)
    for file, vhost in split:
        if (file, vhost) not in exports:
            listings.read(file, vhost)
    release = release or listings.release or defined.release
    version = nearest(release) if release else None
    notes = [] if version else [f"no release in the files: the rules of {PROFILES[DEFAULT_VERSION].release}"]
    return Inventory(
        profile=PROFILES[version or DEFAULT_VERSION],
        release=release if version else None,
        policies=_policies(defined.policies.values()),
        operator_policies=_policies(defined.operator_policies.values()),
        policies_listed=defined.policies_listed or bool(defined.policies or defined.operator_policies),
        queues=_queues(defined, listings),
        queues_listed=defined.queues_listed or bool(listings.queues),
        exchanges={(one.vhost or "/", one.name): one.type for one in defined.exchanges},
        bindings=defined.bindings,
        nodes=listings.nodes or defined.nodes,
        sync_batch_size=defined.settings.get("mirroring_sync_batch_size") or SYNC_BATCH_SIZE,
        net_ticktime_s=listings.net_ticktime or defined.settings.get("net_ticktime") or NET_TICKTIME_S,
        published=listings.published,
        confirmed=listings.confirmed,
        notes=notes + listings.notes,
    )


def _policies(entries: Iterable[dict]) -> list[Policy]:
    return [Policy.of(**entry) for entry in entries]


def _queues(defined: Definitions, listings: Listings) -> list[Queue]:
    """Return all queues: those of listings, completed from the definitions.

    If both have a fact, the listing's counts.
    """
    queues = []
    for (vhost, name), facts in listings.queues.items():
        queue = defined.queues.get((vhost, name))
        if queue is not None:
            for part in ("type", "durable", "auto_delete", "arguments"):
                if getattr(facts, part) is None:
                    setattr(facts, part, getattr(queue, part))
            if facts.exclusive is None:
                facts.exclusive = queue.exclusive or None
        queues.append(Queue(vhost, name, facts))
    alone = ((key, queue) for key, queue in defined.queues.items() if key not in listings.queues)
    queues += (Queue(vhost, name, _declared(queue)) for (vhost, name), queue in alone)
    return queues


def _declared(queue: DefinedQueue) -> QueueFacts:
    return QueueFacts(
        type=queue.type, durable=queue.durable, auto_delete=queue.auto_delete, exclusive=queue.exclusive or None,
        arguments=queue.arguments,
    )  # fmt: skip


def of_run(run: Run) -> Inventory:
    """Return a scenario's cluster at the end of the run, as the partition of its first running node knows it."""
    state, settings = run.moment().state, run.settings
    side, clients = state.sides[0], clients_by_queue(state)
    names, members = settings.names, [index for index, node in enumerate(state.nodes) if node.member]
    return Inventory(
        profile=settings.profile,
        release=settings.profile.release,
        policies=list(state.policies),
        operator_policies=list(state.operator_policies),
        queues=[_standing(run, state, side, queue, clients.get(queue.name, ())) for queue in side.queues.values()],
        exchanges={split_queue(name): "direct" for name in side.exchanges},
        bindings=[
            Binding(exchange, split_queue(queue.name)[1], split_queue(queue.name)[0], routing_key=key)
            for queue in side.queues.values() for exchange, key in queue.bindings
        ],
        nodes={names[index]: index in state.running() for index in members},
        net_ticktime_s=settings.net_ticktime_s,
        network_bytes_per_s=settings.timing.network_bytes_per_s,
        sync_batch_size=settings.sync_batch_size,
        sync_max_bytes_per_s=settings.sync_max_bytes_per_s,
    )


def _standing(run: Run, state: State, side: Side, queue: QueueState, consumers: Collection[Consumer]) -> Queue:
    outcome = queue_outcome(state, run.settings, queue.name, side, consumers)
    quorum, content = queue.has_group, pieces(queue.batches, counted_here(queue))
    facts = QueueFacts(
        type=queue.type,
        durable=queue.durable,
        auto_delete=queue.auto_delete,
        exclusive=queue.owner is not None,
        arguments=dict(queue.arguments),
        policy=queue.policy,
        operator_policy=queue.operator_policy,
        messages=outcome["messages"],
        message_bytes=sum((last - first + 1) * batch.size_bytes for first, last, batch in content),
        node=outcome["leader"] if quorum else outcome["master"],
        mirrors=None if quorum else outcome["mirrors"],
        synchronised=None if quorum else outcome["synchronised_mirrors"],
        leader=outcome["leader"] if quorum else None,
        members=outcome["members"] if quorum else None,
        online=outcome["online"] if quorum else None,
    )
    return Queue(*split_queue(queue.name), facts)
