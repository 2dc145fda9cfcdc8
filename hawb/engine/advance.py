"""Time passes: events happen in their order, each handled by the module that knows its rule."""

from __future__ import annotations

from collections.abc import Callable
from math import inf

from hawb.engine import (
    access,
    confirms,
    connections,
    consuming,
    crashes,
    events,
    exchanges,
    expiry,
    failover,
    flows,
    limits,
    links,
    maintenance,
    membership,
    mirroring,
    partition_handling,
    policy_changes,
    publishers,
    publishing,
    queues,
    subscriptions,
    synchronisation,
)
from hawb.engine.turn import Turn


def give_up(turn: Turn, event: events.GiveUp) -> None:
    """An operation has waited as long as it may."""
    operation = access.withdraw(turn, event)
    if isinstance(operation, events.Resume):
        subscriptions.stop_resuming(turn, operation)
    elif operation is not None:
        access.refuse_timeout(turn, operation)


def alarms_changed(turn: Turn, event: events.AlarmsChanged) -> None:
    """A node heeds the alarms."""
    synchronisation.heed_alarms(turn, event.node)
    connections.heed_alarms(turn, event.node)


def sync_too_slow(turn: Turn, event: events.SyncTooSlow) -> None:
    """A synchronisation parts the nodes that it keeps busy."""
    links.give_up_links(turn, synchronisation.too_slow(turn, event))


HANDLERS: dict[type, Callable] = {
    events.Declare: queues.declare,
    events.Delete: queues.delete,
    events.Purge: queues.purge,
    events.AutoDelete: queues.auto_delete,
    events.ConnectionCloses: queues.connection_closes,
    events.ConsumerCloses: subscriptions.client_closes,
    events.ConsumerCancels: subscriptions.client_cancels,
    events.Publish: publishing.publish,
    events.ConfirmsDue: confirms.due,
    events.Consume: subscriptions.consume,
    events.Resume: subscriptions.resume,
    events.Get: consuming.get,
    events.Settle: consuming.settle,
    events.DeliveryArrives: consuming.arrive,
    events.GiveUp: give_up,
    events.ShutDown: membership.shut_down,
    events.Stopped: membership.stopped,
    events.NodeGoneNoticed: membership.node_gone_noticed,
    events.SetPolicy: lambda turn, event: policy_changes.set_policy(turn, event.policy, event.kind),
    events.ClearPolicy: lambda turn, event: policy_changes.clear_policy(turn, event.name, event.vhost, event.kind),
    events.LinksTimeOut: links.time_out,
    events.LookAround: partition_handling.look_around,
    events.BootAttempt: membership.boot,
    events.BootGivesUp: membership.give_up,
    events.ReplicaGone: failover.replicas_gone,
    events.CrashNoticed: crashes.noticed,
    events.ProcessRestarts: crashes.restart,
    events.MirrorJoins: mirroring.join,
    events.PolicyTakesEffect: policy_changes.take_effect,
    events.PolicyChanged: limits.policy_changed,
    events.MessagesExpire: expiry.messages_expire,
    events.QueueExpires: queues.expire,
    events.Bind: exchanges.bind,
    events.DeadLetters: publishing.dead_letters_arrive,
    events.AutomaticSync: synchronisation.automatic,
    events.ManualSync: synchronisation.manual,
    events.SyncCancelled: synchronisation.cancel,
    events.SyncFinished: synchronisation.finish,
    events.SyncPauses: synchronisation.pause,
    events.SyncTooSlow: sync_too_slow,
    events.AlarmsChanged: alarms_changed,
    events.NodeDrains: maintenance.node_drains,
    events.TransferLeadership: maintenance.transfer_leadership,
    events.TransferAnswered: maintenance.answer_transfer,
    events.Rebalance: maintenance.rebalance,
    events.DepthFell: synchronisation.drained,
}
"""Who handles what stands on the agenda."""


def one(turn: Turn) -> None:
    """The next thing happens: a flow brings a change, or all that flowed until then is taken in, and an event comes."""
    due_us, change_us = turn.next_time_us(), flows.next_change_us(turn)
    if due_us is None or (change_us is not None and change_us < due_us):
        flows.flow(turn, change_us)
    else:
        flows.flow(turn, due_us)
        event = turn.take()
        if event is not None:
            HANDLERS[type(event)](turn, event)
    publishers.react(turn)


def until_settled(turn: Turn) -> None:
    """Events happen until only timers are left."""
    while not turn.settled():
        one(turn)


def before(turn: Turn, time_us: int) -> None:
    """Everything due before `time_us` happens, and time stands there. A time already past changes nothing."""
    through(turn, time_us - 1)
    turn.now_us = max(turn.now_us, time_us)


def next_time_us(turn: Turn) -> float:
    """When something happens next; infinity if nothing will."""
    times = (turn.next_time_us(), flows.next_change_us(turn))
    return min((time_us for time_us in times if time_us is not None), default=inf)


def through(turn: Turn, time_us: int) -> None:
    """Everything due up to and at `time_us` happens, and time stands there."""
    while True:
        while next_time_us(turn) <= time_us:
            one(turn)
        flows.flow(turn, time_us)
        if next_time_us(turn) > time_us:
            turn.tell_flows()
            return
