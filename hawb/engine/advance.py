"""Time passes: events happen in their order, each handled by the module that knows its rule."""

from __future__ import annotations

from collections.abc import Callable

from hawb.engine import (
    access,
    confirms,
    consuming,
    crashes,
    events,
    failover,
    maintenance,
    membership,
    mirroring,
    policy_changes,
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


HANDLERS: dict[type, Callable] = {
    events.Declare: queues.declare,
    events.Delete: queues.delete,
    events.Purge: queues.purge,
    events.AutoDelete: queues.auto_delete,
    events.ConnectionCloses: queues.connection_closes,
    events.ConsumerCloses: subscriptions.client_closes,
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
    events.BootAttempt: membership.boot,
    events.BootGivesUp: membership.give_up,
    events.ReplicaGone: failover.replicas_gone,
    events.CrashNoticed: crashes.noticed,
    events.ProcessRestarts: crashes.restart,
    events.MirrorJoins: mirroring.join,
    events.PolicyTakesEffect: policy_changes.take_effect,
    events.AutomaticSync: synchronisation.automatic,
    events.ManualSync: synchronisation.manual,
    events.SyncCancelled: synchronisation.cancel,
    events.SyncFinished: synchronisation.finish,
    events.TransferLeadership: maintenance.transfer_leadership,
    events.Rebalance: maintenance.rebalance,
    events.DepthFell: synchronisation.drained,
}
"""Who handles what stands on the agenda."""


def one(turn: Turn) -> None:
    """The next event happens."""
    event = turn.take()
    if event is not None:
        HANDLERS[type(event)](turn, event)


def until_settled(turn: Turn) -> None:
    """Events happen until only timers are left."""
    while not turn.settled():
        one(turn)


def before(turn: Turn, time_us: int) -> None:
    """Everything due before `time_us` happens, and time stands there. A time already past changes nothing."""
    while (due_us := turn.next_time_us()) is not None and due_us < time_us:
        one(turn)
    turn.now_us = max(turn.now_us, time_us)


def through(turn: Turn, time_us: int) -> None:
    """Everything due up to and at `time_us` happens, and time stands there."""
    while (due_us := turn.next_time_us()) is not None and due_us <= time_us:
        one(turn)
    turn.now_us = max(turn.now_us, time_us)
