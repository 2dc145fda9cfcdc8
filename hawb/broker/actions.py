"""Apply each verb to a real cluster; `ACTIONS` maps verbs to actions.

Clients speak AMQP, kill is kill -9, and broken links drop packets. Where a person would use rabbitmqctl, hawb calls the
broker's functions that rabbitmqctl calls.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from hawb.broker import membership
from hawb.broker.control import Atom, reason_of, term
from hawb.broker.nodes import BrokerNode
from hawb.engine.core.naming import join_queue, split_queue
from hawb.rules.streams import STREAM_PROFILES
from hawb.scenario import verbs
from hawb.scenario.fields import OnNodes, Verb

if TYPE_CHECKING:
    from hawb.broker.drive import Drive

SYNC_S = 600
"""The timeout of a synchronisation, a rebalancing or a drain, in seconds."""
COORDINATOR_S = 200
"""The timeout of commands to the stream coordinator, in seconds. It waits 30 s for each of its members."""
MEMBER_MS = 5000
"""The timeout with which `rabbitmq-queues` adds a member, in milliseconds."""


def resource(queue: str) -> tuple:
    """Return a queue's name as an Erlang resource."""
    vhost, name = split_queue(queue)
    return Atom("resource"), vhost, Atom("queue"), name


# --- policies ---

# Two concurrent changes of policies may leave a queue under its old policy (`rabbit_policy:update_policies`): changes
# are made in order.


def definition_of(drive: Drive, definition: dict[str, Any]) -> str:
    """Return a policy's definition as JSON, with the nodes' Erlang names."""
    found = dict(definition)
    if isinstance(found.get("ha-params"), list):
        found["ha-params"] = [drive.cluster.erlang.get(name, name) if isinstance(name, str) else name
                              for name in found["ha-params"]]  # fmt: skip
    return json.dumps(found)


def set_policy(drive: Drive, verb: verbs.PolicyEntry, function: str = "parse_set") -> None:
    """Set a policy, as `rabbitmqctl set_policy` does."""
    drive.rabbitmqctl(
        "rabbit_policy", function, verb.vhost, verb.name, verb.pattern, definition_of(drive, verb.definition),
        verb.priority, verb.apply_to, "hawb", in_order=True,
    )  # fmt: skip


def set_operator_policy(drive: Drive, verb: verbs.SetOperatorPolicy) -> None:
    """Set an operator policy, as `rabbitmqctl set_operator_policy` does."""
    set_policy(drive, verb, "parse_set_op")


def clear_policy(drive: Drive, verb: verbs.ClearPolicy) -> None:
    """Clear a policy, as `rabbitmqctl clear_policy` does."""
    drive.rabbitmqctl("rabbit_policy", "delete", verb.vhost, verb.name, "hawb", in_order=True)


def clear_operator_policy(drive: Drive, verb: verbs.ClearOperatorPolicy) -> None:
    """Clear an operator policy, as `rabbitmqctl clear_operator_policy` does."""
    drive.rabbitmqctl("rabbit_policy", "delete_op", verb.vhost, verb.name, "hawb", in_order=True)


# --- clients ---


def by_client(method: str) -> Callable[[Drive, Verb], None]:
    """Return the action of a verb that a client does, at the node that the verb names if it names one."""

    def act(drive: Drive, verb: Verb) -> None:
        drive.client(getattr(verb, "node", None), lambda node: getattr(drive.clients, method)(verb, node))

    return act


def by_clock(method: str) -> Callable[[Drive, Any], None]:
    """Return the action of a verb for a client that may have a rate: the client's clock starts now."""

    def act(drive: Drive, verb: verbs.Publisher | verbs.Consume) -> None:
        now_s = time.monotonic()
        drive.client(verb.node, lambda node: getattr(drive.clients, method)(verb, node, now_s))

    return act


def ack(drive: Drive, verb: verbs.Ack) -> None:
    """Acknowledge deliveries of a consumer."""
    drive.operate(drive.clients.answer(verb.consumer, verb.count, "ack"))


def nack(drive: Drive, verb: verbs.Nack) -> None:
    """Requeue or reject deliveries of a consumer."""
    drive.operate(drive.clients.answer(verb.consumer, verb.count, "requeue" if verb.requeue else "reject"))


def cancel(drive: Drive, verb: verbs.Cancel) -> None:
    """Cancel a consumer."""
    drive.operate(drive.clients.cancel(verb.consumer))


def close(drive: Drive, verb: verbs.Close) -> None:
    """Close a consumer's channel, a publisher, or the connections of a name."""
    drive.operate(drive.clients.close(verb.name, time.monotonic()))


# --- nodes and links ---


def nodes_of(drive: Drive, verb: OnNodes) -> list[BrokerNode]:
    """Return the nodes that a verb names."""
    return [drive.cluster.nodes[name] for name in verb.nodes]


def on_nodes(work: Callable[[Drive, list[BrokerNode]], str | None]) -> Callable[[Drive, OnNodes], None]:
    """Return the action of a verb for nodes, run in a background job."""
    return lambda drive, verb: drive.job(work, drive, nodes_of(drive, verb))


def on_node(work: Callable[[Drive, BrokerNode], str | None]) -> Callable[[Drive, Any], None]:
    """Return the action of a verb for one node, run in a background job."""
    return lambda drive, verb: drive.job(work, drive, drive.cluster.nodes[verb.node])


def kill(drive: Drive, verb: verbs.Kill) -> None:
    """Kill nodes with kill -9."""
    for node in nodes_of(drive, verb):
        node.kill()


def power_off(drive: Drive, verb: verbs.PowerOff) -> None:
    """Cut nodes off the network, then kill them: other nodes and clients get no sign of it."""
    nodes = nodes_of(drive, verb)
    for node in nodes:
        drive.cluster.network.unplug(node.number)
    for node in nodes:
        node.kill()
        drive.loop.loop.call_soon_threadsafe(drive.clients.node_lost, node.name)


def partition(drive: Drive, verb: verbs.Partition) -> None:
    """Cut all links between groups of nodes."""
    for number, group in enumerate(verb.groups):
        for other in verb.groups[number + 1 :]:
            cut_links(drive, [(here, there) for here in group for there in other])


def cut(drive: Drive, verb: verbs.Cut) -> None:
    """Cut links."""
    cut_links(drive, verb.links)


def cut_links(drive: Drive, links: Any) -> None:
    """Cut links, given by pairs of nodes' names."""
    for here, there in links:
        drive.cluster.network.cut(drive.cluster.nodes[here].number, drive.cluster.nodes[there].number)


def heal(drive: Drive, _verb: verbs.Heal) -> None:
    """Restore all links."""
    for node in drive.cluster.nodes.values():
        drive.cluster.network.mend(node.number)


def alarm(drive: Drive, verb: verbs.Alarm | verbs.ClearAlarm) -> None:
    """Set or clear a resource alarm of a node. Refuse the step if the node does not run."""
    node = drive.first_running(verb.node)
    if node is not None:
        what = Atom("resource_limit"), Atom(verb.resource), Atom(node.erlang)
        (drive.alarms.add if isinstance(verb, verbs.Alarm) else drive.alarms.discard)((node.name, verb.resource))
        drive.job(set_alarm if isinstance(verb, verbs.Alarm) else clear_alarm, drive, node, what)


def set_alarm(drive: Drive, node: BrokerNode, what: tuple) -> str | None:
    """Set an alarm on a node. Return the reason of an error, or None."""
    return reason_of(drive.cluster.ask(node, "rabbit_alarm", "set_alarm", (what, [])))


def clear_alarm(drive: Drive, node: BrokerNode, what: tuple) -> str | None:
    # RabbitMQ itself ignores an alarm that is not set.
    """Clear an alarm on a node. Return the reason of an error, also if it was not set, or None."""
    before = drive.cluster.ask(node, "rabbit_alarm", "get_alarms")
    reason = reason_of(drive.cluster.ask(node, "rabbit_alarm", "clear_alarm", what))
    return reason if drive.cluster.ask(node, "rabbit_alarm", "get_alarms") != before else "no such alarm is set"


def maintenance(function: str) -> Callable[[Drive, Any], None]:
    """Return the action that calls `drain` or `revive` of rabbit_maintenance."""
    def act(drive: Drive, verb: verbs.Drain | verbs.Revive) -> None:
        node = drive.first_running(verb.node)
        if node is None:
            return

        def call() -> str | None:
            reason = reason_of(drive.cluster.ask(node, "rabbit_maintenance", function, timeout_s=SYNC_S))
            if reason is None:
                (drive.drained.add if function == "drain" else drive.drained.discard)(node.name)
            return reason

        drive.job(call)

    return act


# --- replicas ---


def crash(drive: Drive, verb: verbs.Crash) -> None:
    """Crash the process of a queue, or of its replica on the node that the verb names."""
    asked = drive.first_running()
    if asked is None:
        return
    name = term(resource(verb.queue))
    home = "none" if verb.node is None else term(Atom(drive.cluster.erlang[verb.node]))
    expression = f"control:crash({term(Atom(asked.erlang))}, {name}, {home})"
    drive.job(lambda: "no running process" if drive.cluster.control.evaluate(expression) != "ok" else None)


def mirroring(function: str) -> Callable[[Drive, Any], None]:
    """Return the action that calls a function of rabbit_mirror_queue_misc for a queue."""
    def act(drive: Drive, verb: verbs.SyncQueue | verbs.CancelSyncQueue) -> None:
        drive.rabbitmqctl("rabbit_mirror_queue_misc", function, resource(verb.queue), timeout_s=SYNC_S)

    return act


def transfer_leadership(drive: Drive, verb: verbs.TransferLeadership) -> None:
    """Move the leader or master of a queue to a node."""
    node = drive.first_running()
    if node is not None:
        there = drive.cluster.erlang[verb.node]
        here, there, name = (term(value) for value in (Atom(node.erlang), Atom(there), resource(verb.queue)))
        expression = f"control:transfer({here}, {name}, {there})"
        timeout_s = 10 + (COORDINATOR_S if is_stream(drive, verb.queue) else 60)
        drive.job(lambda: reason_of(drive.cluster.control.evaluate(expression, timeout_s)))


def is_stream(drive: Drive, queue: str) -> bool:
    """Return True if a queue was declared as a stream."""
    return join_queue(*split_queue(queue)) in drive.clients.streams


def add_member(drive: Drive, verb: verbs.AddMember) -> None:
    """Add a member to a quorum queue, or a replica to a stream."""
    if is_stream(drive, verb.queue):
        replica = *split_queue(verb.queue), erlang_node(drive, verb)
        drive.rabbitmqctl("rabbit_stream_queue", "add_replica", *replica, timeout_s=COORDINATOR_S)
        return
    member = *split_queue(verb.queue), erlang_node(drive, verb)
    drive.rabbitmqctl("rabbit_quorum_queue", "add_member", *member, MEMBER_MS)


def delete_member(drive: Drive, verb: verbs.DeleteMember) -> None:
    """Remove a member from a quorum queue, or a replica from a stream."""
    member = *split_queue(verb.queue), erlang_node(drive, verb)
    if is_stream(drive, verb.queue):
        drive.rabbitmqctl("rabbit_stream_queue", "delete_replica", *member, timeout_s=COORDINATOR_S)
        return
    drive.rabbitmqctl("rabbit_quorum_queue", "delete_member", *member)


def grow(drive: Drive, verb: verbs.Grow) -> None:
    """Add members on a node, as `rabbitmq-queues grow` and `rabbitmq-streams grow` do."""
    for module in ("rabbit_quorum_queue", *modules_of_streams(drive)):
        drive.rabbitmq_queues(
            module, "grow", erlang_node(drive, verb), ".*", verb.pattern, Atom(verb.strategy), timeout_s=SYNC_S
        )


def shrink(drive: Drive, verb: verbs.Shrink) -> None:
    """Remove all members from a node, as `rabbitmq-queues shrink` and its equivalent for streams do."""
    drive.rabbitmq_queues("rabbit_quorum_queue", "shrink_all", erlang_node(drive, verb), timeout_s=SYNC_S)
    for module in modules_of_streams(drive):
        drive.rabbitmq_queues(module, "delete_all_replicas", erlang_node(drive, verb), timeout_s=SYNC_S)


def modules_of_streams(drive: Drive) -> list[str]:
    """Return the modules that grow and shrink streams: empty if the release has none or the story has no streams."""
    profile = STREAM_PROFILES.get(drive.cluster.profile.version)
    return ["rabbit_stream_queue"] if profile and profile.grows and drive.clients.streams else []


def erlang_node(drive: Drive, verb: verbs.OnMember | verbs.Grow | verbs.Shrink) -> Atom:
    """Return the Erlang name of the node that a verb names."""
    return Atom(drive.cluster.erlang[verb.node])


def rebalance(drive: Drive, _verb: verbs.Rebalance) -> None:
    """Rebalance masters and leaders, as `rabbitmq-queues rebalance all` does."""
    drive.rabbitmqctl("rabbit_amqqueue", "rebalance", Atom("all"), ".*", ".*", timeout_s=SYNC_S)


def forget_cluster_node(drive: Drive, verb: verbs.ForgetClusterNode) -> None:
    """Forget a node, asked of the node that the verb names, or of the first running one."""
    origin = drive.cluster.nodes[verb.from_] if verb.from_ else drive.first_running()
    if origin is not None:
        drive.job(membership.forget, drive, drive.cluster.nodes[verb.node], origin, verb.offline)


ACTIONS: dict[type[Verb], Callable[[Drive, Any], None]] = {
    verbs.SetPolicy: set_policy,
    verbs.SetOperatorPolicy: set_operator_policy,
    verbs.ClearPolicy: clear_policy,
    verbs.ClearOperatorPolicy: clear_operator_policy,
    verbs.Declare: by_client("declare"),
    verbs.Delete: by_client("delete"),
    verbs.Purge: by_client("purge"),
    verbs.Bind: by_client("bind"),
    verbs.Publish: by_client("publish"),
    verbs.Publisher: by_clock("publisher"),
    verbs.Consume: by_clock("consume"),
    verbs.Get: by_client("get"),
    verbs.Ack: ack,
    verbs.Nack: nack,
    verbs.Cancel: cancel,
    verbs.Close: close,
    verbs.Stop: on_nodes(membership.stop),
    verbs.Kill: kill,
    verbs.PowerOff: power_off,
    verbs.Start: on_nodes(membership.start),
    verbs.Wipe: on_node(membership.wipe),
    verbs.ForceBoot: on_node(membership.force_boot),
    verbs.Join: on_node(membership.join),
    verbs.Reset: on_node(membership.reset),
    verbs.ForceReset: on_node(membership.force_reset),
    verbs.ForceStandaloneKhepriBoot: on_node(membership.force_standalone_khepri_boot),
    verbs.ForceShrink: on_node(membership.force_shrink),
    verbs.ForgetClusterNode: forget_cluster_node,
    verbs.Drain: maintenance("drain"),
    verbs.Revive: maintenance("revive"),
    verbs.Crash: crash,
    verbs.Partition: partition,
    verbs.Cut: cut,
    verbs.Heal: heal,
    verbs.Alarm: alarm,
    verbs.ClearAlarm: alarm,
    verbs.SyncQueue: mirroring("sync_queue"),
    verbs.CancelSyncQueue: mirroring("cancel_sync_queue"),
    verbs.AddMember: add_member,
    verbs.DeleteMember: delete_member,
    verbs.Grow: grow,
    verbs.Shrink: shrink,
    verbs.TransferLeadership: transfer_leadership,
    verbs.Rebalance: rebalance,
}
"""The verbs that can be driven, beside `wait` and `expect`."""
