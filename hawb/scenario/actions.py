"""The action of each verb: from a step's words to the engine. `ACTIONS` is the one table.

A client's operation reaches the queue a link's latency after it was sent, or at once if client and master are on one
node. So steps of the same moment all happen before any process reacts to them.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations, product

from hawb.engine.classic import crashes
from hawb.engine.clients import connections
from hawb.engine.clients.client_state import Publisher, consumers_over
from hawb.engine.clients.steady import closing, publishers
from hawb.engine.cluster import alarms, links, maintenance, membership, node_commands
from hawb.engine.cluster.network_ports import ends_of
from hawb.engine.core import events, operations
from hawb.engine.core.naming import described, join_queue, split_queue
from hawb.engine.core.operations import Operation
from hawb.engine.core.state import NOWHERE, STREAM
from hawb.engine.core.turn import Turn
from hawb.engine.queues import policy_changes
from hawb.engine.queues.policy_changes import OPERATOR, USER
from hawb.engine.quorum import requests
from hawb.engine.raft_groups import member_changes
from hawb.scenario import beginning, verbs
from hawb.scenario.fields import OnNode, OnNodes, Verb


def send(
    turn: Turn, verb: Verb, operation: Callable[..., Operation], queue: str, node: str | None, **fields: object
) -> None:
    """Send a client's operation to a queue; `node` is where the client connects."""
    at = node_for(turn, node)
    if at != NOWHERE:
        connections.send(turn, operation(queue=full_name(queue), node=at, **fields))


def node_for(turn: Turn, node: str | None) -> int:
    """Return the node to which a client connects: the named one, or the first that runs and takes clients.

    If it takes none, refuse the step and return NOWHERE.
    """
    at = connections.first_open(turn) if node is None else turn.settings.node(node)
    if at == NOWHERE:
        turn.refuse(None, NO_NODE_RUNS if turn.first_running() == NOWHERE else "every running node is being drained")
    elif not turn.runs_anywhere(at):
        turn.refuse(None, f"node '{turn.settings.names[at]}' is not running")
    elif turn.nodes[at].drained:
        turn.refuse(None, f"node '{turn.settings.names[at]}' is being drained: it takes no client connections")
    else:
        return at
    return NOWHERE


def by_command(act: Callable[[Turn, Verb], None]) -> Callable[[Turn, Verb], None]:
    """Return the action of a verb that is a command to any running node; refuse the step if none runs."""

    def ask(turn: Turn, verb: Verb) -> None:
        if turn.first_running() == NOWHERE:
            turn.refuse(None, NO_NODE_RUNS)
        else:
            act(turn, verb)

    return ask


NO_NODE_RUNS = "no node is running"


def full_name(queue: str) -> str:
    """Return a queue's one name, however the file writes it."""
    return join_queue(*split_queue(queue))


def set_policy(turn: Turn, verb: verbs.SetPolicy | verbs.SetOperatorPolicy) -> None:
    """Set a policy or operator policy that RabbitMQ accepts."""
    operator = isinstance(verb, verbs.SetOperatorPolicy)
    reason = beginning.policy_refusal(verb, turn.settings, operator=operator)
    if reason is not None:
        turn.refuse(None, reason)
    else:
        policy_changes.set_policy(turn, beginning.policy_of(verb), OPERATOR if operator else USER)


def clear_policy(turn: Turn, verb: verbs.ClearPolicy | verbs.ClearOperatorPolicy) -> None:
    """Clear a policy or operator policy."""
    kind = OPERATOR if isinstance(verb, verbs.ClearOperatorPolicy) else USER
    policy_changes.clear_policy(turn, verb.name, verb.vhost, kind)


def declare(turn: Turn, verb: verbs.Declare) -> None:
    """Send queue.declare."""
    send(
        turn, verb, operations.Declare, verb.queue, verb.node,
        connection=verb.connection, durable=verb.durable, exclusive=verb.exclusive, auto_delete=verb.auto_delete,
        passive=verb.passive, arguments=beginning.arguments_of(verb.arguments),
    )  # fmt: skip


def delete(turn: Turn, verb: verbs.Delete) -> None:
    """Send queue.delete."""
    send(
        turn, verb, operations.Delete, verb.queue, verb.node,
        connection="default", if_empty=verb.if_empty, if_unused=verb.if_unused,
    )  # fmt: skip


def purge(turn: Turn, verb: verbs.Purge) -> None:
    """Send queue.purge."""
    send(turn, verb, operations.Purge, verb.queue, None, connection="default")


def bind(turn: Turn, verb: verbs.Bind) -> None:
    """Send queue.bind."""
    send(
        turn, verb, operations.Bind, verb.queue, None,
        connection="default", exchange=verb.exchange, routing_key=verb.routing_key,
    )  # fmt: skip


def publish(turn: Turn, verb: verbs.Publish) -> None:
    """Send basic.publish."""
    names = tuple(full_name(queue) for queue in verb.targets)
    send(
        turn, verb, operations.Publish, names[0], verb.node,
        connection=verb.connection, queues=names, count=verb.count, size_bytes=verb.size, persistent=verb.persistent,
        priority=verb.priority,
        confirm=verb.mode != "plain", transaction=verb.mode == "tx",
    )  # fmt: skip


def publisher(turn: Turn, verb: verbs.Publisher) -> None:
    """Start a steady publisher."""
    at = node_for(turn, verb.node)
    if at != NOWHERE:
        publishers.start(
            turn,
            Publisher(
                verb.name, full_name(verb.queue), at, publishers.clock_from(turn, verb.rate), verb.size,
                verb.persistent, verb.mode, turn.step,
            ),
        )  # fmt: skip


def consume(turn: Turn, verb: verbs.Consume) -> None:
    """Send basic.consume."""
    send(
        turn, verb, operations.Consume, verb.queue, verb.node,
        connection=verb.connection, consumer=verb.consumer, prefetch=verb.prefetch, automatic=verb.ack == "auto",
        global_prefetch=verb.global_prefetch, exclusive=verb.exclusive, priority=verb.priority,
        cancel_on_ha_failover=verb.cancel_on_ha_failover, cancel_notify=verb.cancel_notify, rate=verb.rate,
    )  # fmt: skip


def get(turn: Turn, verb: verbs.Get) -> None:
    """Send basic.get."""
    holder = None if verb.ack else verb.consumer or "default"
    send(turn, verb, operations.Get, verb.queue, None, connection="default", count=verb.count, holder=holder)


def answer_deliveries(turn: Turn, name: str, count: int | str, verdict: str) -> None:
    """Answer a consumer's oldest deliveries over the channel that they came by."""
    consumer = turn.consumers.get(name)
    if consumer is None:
        turn.refuse(None, f"there is no consumer '{name}'")
    elif consumer.state == "closed":
        turn.refuse(None, f"consumer '{name}' is closed, and its channel with it")
    else:
        number = None if count == "all" else count
        answer = operations.Settle(consumer.queue, consumer.node, consumer=name, count=number, verdict=verdict)
        connections.send(turn, answer)


def ack(turn: Turn, verb: verbs.Ack) -> None:
    """Send basic.ack."""
    answer_deliveries(turn, verb.consumer, verb.count, "ack")


def nack(turn: Turn, verb: verbs.Nack) -> None:
    """Send basic.nack."""
    answer_deliveries(turn, verb.consumer, verb.count, "requeue" if verb.requeue else "reject")


def cancel(turn: Turn, verb: verbs.Cancel) -> None:
    """Send basic.cancel."""
    consumer = turn.consumers.get(verb.consumer)
    if consumer is None or consumer.state != "active":
        turn.refuse(None, f"there is no active consumer '{verb.consumer}'")
    else:
        connections.send(turn, operations.ConsumerCancels(verb.consumer))


def close(turn: Turn, verb: verbs.Close) -> None:
    """Close the consumer of that name, or else the publisher, or else the connection.

    A connection ends with its consumers and exclusive queues. Closing a consumer or publisher again is no error. A
    connection that had no consumers is unknown once it is closed.
    """
    known = turn.consumers.get(verb.name)
    if known is None and verb.name in turn.publishers:
        closing.close(turn, turn.publishers[verb.name], "client")
        return
    chosen = [known] if known is not None else consumers_over(turn.consumers, verb.name)
    for consumer in chosen:
        connections.send(turn, operations.ConsumerCloses(consumer.name))
    opened = sorted(one for one in turn.connections if one[0] == verb.name) if known is None else []
    for connection in opened:
        connections.send(turn, operations.ConnectionCloses(*connection))
    if not chosen and not opened:
        turn.refuse(None, f"there is no connection, publisher or consumer '{verb.name}'")


def on_nodes(engine: Callable[[Turn, list[int]], None]) -> Callable[[Turn, OnNodes], None]:
    """Return the action of a verb that the engine applies to all named nodes at once."""

    def act(turn: Turn, verb: OnNodes) -> None:
        engine(turn, [turn.settings.node(name) for name in verb.nodes])

    return act


def on_node(engine: Callable[[Turn, int], None]) -> Callable[[Turn, OnNode], None]:
    """Return the action of a verb that the engine applies to one node, on the side that the node sees."""

    def act(turn: Turn, verb: OnNode) -> None:
        node = turn.settings.node(verb.node)
        turn.look_from(node)
        engine(turn, node)

    return act


def on_resource(engine: Callable[[Turn, int, str], None]) -> Callable[[Turn, verbs.OnResource], None]:
    """Return the action of a verb that the engine applies to a resource of a node."""

    def act(turn: Turn, verb: verbs.OnResource) -> None:
        engine(turn, turn.settings.node(verb.node), verb.resource)

    return act


def forget_cluster_node(turn: Turn, verb: verbs.ForgetClusterNode) -> None:
    """Forget a node, by a command to another one."""
    origin = turn.first_running() if verb.from_ is None else turn.settings.node(verb.from_)
    node = turn.settings.node(verb.node)
    if origin != NOWHERE:
        turn.look_from(origin)
    if not verb.offline:
        membership.forget_cluster_node(turn, node, origin)
    elif verb.from_ is None:
        turn.refuse(None, "--offline also needs the field `from`: the node that forgets the other one")
    else:
        membership.forget_offline(turn, node, origin)


def partition(turn: Turn, verb: verbs.Partition) -> None:
    """Cut all links between groups of nodes."""
    ends = (pair for one, other in combinations(verb.groups, 2) for pair in product(one, other))
    links.cut(turn, ends_of(turn, (map(turn.settings.node, pair) for pair in ends)))


def cut(turn: Turn, verb: verbs.Cut) -> None:
    """Cut single links."""
    links.cut(turn, ends_of(turn, (map(turn.settings.node, pair) for pair in verb.links)))


def on_mirrored_queue(turn: Turn, queue: str) -> str | None:
    """Return the queue's name if it is mirrored and its master runs; otherwise refuse the step and return None."""
    name = full_name(queue)
    found = turn.queues.get(name)
    if found is None:
        turn.refuse(None, f"{described(name)} was not found")
    elif found.has_group:
        kind = "stream" if found.type == STREAM else "quorum queue"
        turn.refuse(None, f"{described(name)} is a {kind}: it has no mirrors to synchronise")
    elif not found.mirrored:
        turn.refuse(None, "not_mirrored")
    elif not found.up:
        turn.refuse(None, f"{described(name)} has no running master")
    else:
        return name
    return None


def sync_queue(turn: Turn, verb: verbs.SyncQueue) -> None:
    """Start a synchronisation of a queue."""
    if (name := on_mirrored_queue(turn, verb.queue)) is not None:
        turn.schedule(0, events.ManualSync(name, turn.queues[name].master))


def cancel_sync_queue(turn: Turn, verb: verbs.CancelSyncQueue) -> None:
    """Cancel the synchronisation of a queue."""
    if (name := on_mirrored_queue(turn, verb.queue)) is not None:
        turn.schedule(0, events.SyncCancelled(name))


def transfer_leadership(turn: Turn, verb: verbs.TransferLeadership) -> None:
    """Move a queue's leader or master to a node; in a partition it is the leader on that node's side."""
    node = turn.settings.node(verb.node)
    if turn.runs_anywhere(node):
        turn.look_from(node)
    if requests.is_decided(turn, full_name(verb.queue)):
        member_changes.transfer(turn, full_name(verb.queue), node)
    elif (name := on_mirrored_queue(turn, verb.queue)) is not None:
        if turn.is_running(node):
            turn.schedule(0, events.TransferLeadership(name, node, asked=True))
        else:
            turn.refuse(None, f"node '{verb.node}' is not running")


def rebalance(turn: Turn, _verb: verbs.Rebalance) -> None:
    """Start a rebalancing, unless one is under way."""
    if turn.is_planned(events.Rebalance()):
        turn.refuse(None, "rebalance_in_progress")
    else:
        turn.schedule(0, events.Rebalance())


def on_member(engine: Callable[[Turn, str, int], None]) -> Callable[[Turn, verbs.OnMember], None]:
    """Return the action of a verb that the engine applies to a quorum queue's member on a node."""

    def act(turn: Turn, verb: verbs.OnMember) -> None:
        engine(turn, full_name(verb.queue), turn.settings.node(verb.node))

    return act


def grow(turn: Turn, verb: verbs.Grow) -> None:
    """Add a member on a node to the queues that match."""
    member_changes.grow(turn, turn.settings.node(verb.node), verb.strategy, verb.pattern)


def shrink(turn: Turn, verb: verbs.Shrink) -> None:
    """Remove the members on a node."""
    member_changes.shrink(turn, turn.settings.node(verb.node))


def crash(turn: Turn, verb: verbs.Crash) -> None:
    """Crash a queue's process."""
    crashes.crash(turn, full_name(verb.queue), None if verb.node is None else turn.settings.node(verb.node))


ACTIONS: dict[type[Verb], Callable[[Turn, Verb], None]] = {
    verbs.SetPolicy: by_command(set_policy),
    verbs.SetOperatorPolicy: by_command(set_policy),
    verbs.ClearPolicy: by_command(clear_policy),
    verbs.ClearOperatorPolicy: by_command(clear_policy),
    verbs.Declare: declare,
    verbs.Delete: delete,
    verbs.Purge: purge,
    verbs.Bind: bind,
    verbs.Publish: publish,
    verbs.Publisher: publisher,
    verbs.Consume: consume,
    verbs.Ack: ack,
    verbs.Nack: nack,
    verbs.Get: get,
    verbs.Cancel: cancel,
    verbs.Close: close,
    verbs.Stop: on_nodes(node_commands.stop),
    verbs.Kill: on_nodes(node_commands.kill),
    verbs.Start: on_nodes(node_commands.start),
    verbs.PowerOff: on_nodes(node_commands.power_off),
    verbs.ForceBoot: on_node(membership.force_boot),
    verbs.Partition: partition,
    verbs.Cut: cut,
    verbs.Heal: lambda turn, _verb: links.heal(turn),
    verbs.Wipe: on_node(membership.wipe),
    verbs.Join: on_node(membership.join),
    verbs.Reset: on_node(membership.reset),
    verbs.ForceReset: on_node(membership.force_reset),
    verbs.ForceStandaloneKhepriBoot: on_node(membership.stand_alone),
    verbs.ForgetClusterNode: forget_cluster_node,
    verbs.Crash: crash,
    verbs.ForceShrink: by_command(on_node(member_changes.force_shrink)),
    verbs.AddMember: by_command(on_member(member_changes.add_member)),
    verbs.DeleteMember: by_command(on_member(member_changes.delete_member)),
    verbs.Grow: by_command(grow),
    verbs.Shrink: by_command(shrink),
    verbs.SyncQueue: by_command(sync_queue),
    verbs.CancelSyncQueue: by_command(cancel_sync_queue),
    verbs.TransferLeadership: by_command(transfer_leadership),
    verbs.Rebalance: by_command(rebalance),
    verbs.Drain: on_node(maintenance.drain),
    verbs.Revive: on_node(maintenance.revive),
    verbs.Alarm: on_resource(alarms.set_alarm),
    verbs.ClearAlarm: on_resource(alarms.clear_alarm),
}
"""The verbs that have rules."""
