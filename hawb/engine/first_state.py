"""The first state of a cluster: nodes, policies and queues before the first step."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping

from msgspec import Struct

from hawb.engine.classic.ports import wanted
from hawb.engine.cluster import khepri
from hawb.engine.core import bookkeeping, runs
from hawb.engine.core.moment import Moment
from hawb.engine.core.naming import split_queue
from hawb.engine.core.runs import EMPTY
from hawb.engine.core.settings import Settings
from hawb.engine.core.state import DOWN, NOWHERE, RUNNING, Batch, Node, Queue, Side, State, bits_of, with_content
from hawb.engine.core.turn import Turn
from hawb.engine.queues import expiry, lifecycle, limits
from hawb.engine.queues.access import leaves_memory
from hawb.engine.queues.policy_changes import OPERATOR, USER, InForce, in_force, of_kind, record_policy
from hawb.engine.quorum import creation
from hawb.rules.policies import Policy


class Standing(Struct, frozen=True):
    """A queue that exists at the start, in nodes' indices.

    A quorum queue has `members`, of which `stopped_members` do not run though their nodes do, and its leader as
    `master`. A queue with `master` NOWHERE and no `members` is placed as if the first node had declared it. A mirror
    that is not synchronised holds none of the queue's messages, and these count as just published: a listing says no
    more.
    """

    name: str
    type: str = "classic"
    durable: bool = True
    auto_delete: bool = False
    arguments: tuple[tuple[str, object], ...] = ()
    messages: int = 0
    unacknowledged: int = 0
    size_bytes: int = 1024
    master: int = NOWHERE
    mirrors: tuple[int, ...] = ()
    synchronised: tuple[int, ...] = ()
    recoverable: tuple[int, ...] | None = None
    members: tuple[int, ...] = ()
    stopped_members: tuple[int, ...] = ()


def begin(
    settings: Settings,
    down: Mapping[int, str],
    policies: Iterable[Policy],
    standing: Iterable[Standing],
    operator_policies: Iterable[Policy] = (),
    strangers: Container[int] = (),
) -> Moment:
    """Return the moment before the first step.

    `down` are the nodes that do not run, each with how it went (stopped, killed, or forgotten by the others), in that
    order. `strangers` are nodes that have not joined the cluster yet.
    """
    side = Side(0, tuple(policies), tuple(operator_policies))
    first = State(0, first_nodes(settings, down, strangers), (side,))
    turn = Turn(settings, Moment(first), step=-1)
    for kind in (USER, OPERATOR):
        for policy in of_kind(turn, kind):
            record_policy(turn, f"{kind}policy_in_force", policy)
    if settings.profile.khepri:
        khepri.stand(turn)
    stopped = {node for node, how in down.items() if how != "killed"}
    for queue in standing:
        place(turn, queue, stopped)
    return turn.finish()


def first_nodes(settings: Settings, down: Mapping[int, str], strangers: Container[int]) -> tuple[Node, ...]:
    """Return the nodes, each with the nodes that it sees as running.

    A node that is down believes that those which went down later run. A forgotten node believes that it is a member.
    """
    members = {node for node in settings.file_order if node not in strangers}
    nodes = {node: Node(DOWN, member=False, virgin=True) for node in settings.file_order if node in strangers}
    members -= {node for node, how in down.items() if how == "forgotten"}
    for node, how in down.items():
        members.discard(node)
        nodes[node] = Node(DOWN, bits_of(members), member=how != "forgotten")
    for node in members:
        nodes[node] = Node(RUNNING, bits_of(members - {node}))
    return tuple(nodes[index] for index in sorted(nodes))


def place(turn: Turn, standing: Standing, stopped: Container[int]) -> None:
    """Create a queue as the scenario describes it. `stopped` are the nodes that had a controlled stop."""
    vhost, _ = split_queue(standing.name)
    found = in_force(turn, standing.name, standing.type)
    everything = runs.run(1, standing.messages)
    record = found.record(standing.type, standing.arguments)
    turn.add_queue(
        Queue(
            name=standing.name,
            vhost=vhost,
            type=standing.type,
            durable=standing.durable,
            auto_delete=standing.auto_delete,
            owner=None,
            arguments=standing.arguments,
            **record,
            limits_in_effect=record["limits"],
            mirrored=found.mirroring is not None and standing.type == "classic",
            master=standing.master,
            contents=tuple(None for _ in turn.nodes),
            unacknowledged=runs.head(everything, standing.unacknowledged),
        )
    )
    queue = turn.queues[standing.name]
    if standing.messages:
        batch = Batch(1, standing.messages, standing.size_bytes, True, expires_us=expiry.expires_us(turn, queue))
        turn.change_queue(queue.name, batches=(batch,))
    turn.numbers[standing.name] = standing.messages
    turn.book(standing.name, published=standing.messages)
    if queue.has_group:
        place_members(turn, standing, found, everything)
    else:
        place_replicas(turn, standing, everything, stopped)
        lifecycle.note_not_simulated(turn, turn.queues[standing.name])
        if turn.queues[standing.name].up:
            limits.adopt(turn, standing.name)


def place_members(turn: Turn, standing: Standing, found: InForce, everything: runs.Runs) -> None:
    """Place the members of a quorum queue or stream, each with all messages."""
    members, leader, stopped = standing.members, standing.master, standing.stopped_members
    turn.change_queue(standing.name, **creation.record(turn, found, standing.type, standing.arguments))
    if not members:
        client = max(turn.first_running(), 0)
        group_size = turn.queues[standing.name].quorum_settings.group_size
        members = tuple(creation.choose_members(turn, standing.type, group_size, client))
        leader = client
    if leader == NOWHERE:
        leader = next((node for node in members if node not in stopped), members[0])
    creation.stand(turn, standing.name, members, leader, everything, stopped)


def place_replicas(turn: Turn, standing: Standing, everything: runs.Runs, stopped: Container[int]) -> None:
    """Place the replicas of a classic queue. Mirrors on nodes that are down are only recoverable.

    Messages that survived the death of the master's node have the redelivered flag, those that survived a controlled
    stop do not.
    """
    mirrors, synchronised = standing.mirrors, standing.synchronised
    queue = turn.queues[standing.name]
    if standing.master == NOWHERE:
        queue = turn.change_queue(queue.name, master=max(turn.first_running(), 0))
        synchronised = mirrors = tuple(wanted(turn, queue, bits_of(turn.running()))[1:])
    living = tuple(filter(turn.is_running, mirrors))
    up = turn.is_running(queue.master)
    turn.change_queue(
        queue.name,
        mirrors=living,
        synchronised=tuple(reversed([node for node in living if node in synchronised])),
        recoverable=mirrors if standing.recoverable is None else standing.recoverable,
        contents=with_content(
            fill(turn, (queue.master, *synchronised), everything),
            {node: EMPTY for node in living if node not in synchronised},
        ),
        up=up,
        awaits_master=not up,
        absent=not up and leaves_memory(turn, queue),
        stopped=queue.master in stopped,
        redelivered=EMPTY if up or queue.master in stopped else everything,
    )
    bookkeeping.count_times(turn, queue.name)


def fill(turn: Turn, nodes: Iterable[int], content: runs.Runs) -> tuple[runs.Runs | None, ...]:
    """Return contents in which `nodes` hold `content` and the other nodes hold nothing."""
    holders = set(nodes)
    return tuple(content if node in holders else None for node in range(len(turn.nodes)))
