"""Advance time: events happen in their order, each handled by the module that knows its rule (`HANDLERS`)."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any

from msgspec.structs import astuple

from hawb.engine import streams
from hawb.engine.classic import crashes, failover, held_sync, mirrors, synchronisation
from hawb.engine.classic.journal import DRAINED
from hawb.engine.clients import (
    confirms,
    connections,
    consuming,
    fetching,
    publishing,
    settling,
    subscriptions,
    timeouts,
)
from hawb.engine.clients.client_state import NEVER_US
from hawb.engine.clients.steady import flows
from hawb.engine.clients.steady.changes import next_change_us
from hawb.engine.clients.steady.publishing import react
from hawb.engine.cluster import booting, khepri, links, maintenance, membership, metadata, partition_handling, stopping
from hawb.engine.cluster.network_ports import ends_of
from hawb.engine.core import events, operations
from hawb.engine.core.agenda import EVENT, PRIORITY, TIMER
from hawb.engine.core.state import CLASSIC, NOWHERE
from hawb.engine.core.turn import Turn
from hawb.engine.queues import access, dead_letters, exchanges, lifecycle, limits, policy_changes
from hawb.engine.quorum import (
    awaiting_registration,
    delayed_retry,
    out_of_reach,
    queue_record,
    requests,
    resending,
    visibility,
)
from hawb.engine.raft_groups import events as raft_events
from hawb.engine.raft_groups import inputs, member_changes, registration


def give_up(turn: Turn, event: events.GiveUp) -> None:
    """Refuse an operation that has waited as long as it may."""
    operation = access.withdraw(turn, event)
    if isinstance(operation, operations.Resume):
        subscriptions.stop_resuming(turn, operation)
    else:
        access.refuse_timeout(turn, operation)
        if isinstance(operation, operations.Get):
            fetching.close_holder(turn, operation)


def alarms_changed(turn: Turn, event: events.AlarmsChanged) -> None:
    """Apply a change of resource alarms at a node."""
    held_sync.apply_alarms(turn, event.node)
    connections.apply_alarms(turn, event.node)


def sync_too_slow(turn: Turn, event: events.SyncTooSlow) -> None:
    """Give up the links of a synchronisation whose batch takes longer than net_ticktime."""
    links.give_up_links(turn, ends_of(turn, held_sync.too_slow(turn, event)))


def proposal_given_up(turn: Turn, event: raft_events.ProposalGivenUp) -> None:
    """Give up a proposal for which a channel has waited long enough.

    A queue that cannot commit its own deletion is deleted by force.
    """
    operation = requests.give_up(turn, event)
    if isinstance(operation, operations.Delete):
        lifecycle.delete(turn, operation)


def registration_given_up(turn: Turn, event: raft_events.RegistrationGivenUp) -> None:
    """End the wait of a channel for its registration with a quorum queue."""
    proposal = queue_record.waiting(turn, event)
    if proposal is not None:
        registration.registration_given_up(turn, turn.groups.own(event.queue), proposal)


def channel_down(turn: Turn, event: operations.ChannelDown) -> None:
    """Apply the command that a consumer's channel is gone to a quorum queue."""
    subscriptions.channel_down(turn, event)


def node_suspected(turn: Turn, event: operations.NodeSuspected) -> None:
    """Apply the command that its leader no longer reaches a node to a quorum queue.

    If a client died there and the node is back, the log goes on with the node's return (`rabbit_fifo:apply`, nodeup,
    which looks for dead clients): the messages that the client held count as returned by the loss of the node, and
    again by the loss of the client.
    """
    back = turn.runs_anywhere(event.node) and turn.is_here(event.node)
    if back and all(one.node != event.node for one in visibility.dead_ones(turn, event.queue)):
        return
    out_of_reach.suspect(turn, event.queue, event.node)
    if back:
        visibility.see_again(turn, event.queue, event.node)


def node_reached(turn: Turn, event: operations.NodeReached) -> None:
    """Apply the command that its leader reaches a node again to a quorum queue."""
    out_of_reach.unsuspect(turn, event.queue, event.node)


def hold_ends(turn: Turn, event: events.HoldEnds) -> None:
    """Propose to take back what an unreachable consumer holds, if the queue's leader still leads."""
    queue = turn.queues.get(event.queue)
    if queue is not None and queue.master == event.node:
        requests.put(turn, event.queue, operations.HoldEnded(event.queue, event.consumer), NOWHERE)


def hold_ended(turn: Turn, event: operations.HoldEnded) -> None:
    """Take back what an unreachable consumer of a quorum queue holds."""
    out_of_reach.hold_ended(turn, event.queue, event.consumer)


def coordinator_awaited(turn: Turn, event: events.CoordinatorAwaited) -> None:
    """Carry out the requests to the stream coordinator if it has a majority by now; else refuse them."""
    if not streams.coordinates(turn, event.node):
        streams.refuse_unavailable(turn, event)
        return
    for request in event.requests:
        if not requests.propose(turn, request):
            HANDLERS[type(request)](turn, request)


def messages_expire(turn: Turn, event: events.MessagesExpire) -> None:
    """Expire messages at the head of a queue.

    The leader of a quorum queue proposes it, which takes effect once it has a majority.
    """
    consuming.messages_expire(turn, event)
    queue = turn.queues.get(event.queue)
    if queue is not None and queue.has_group and queue.master != NOWHERE and not queue.up:
        requests.put(turn, event.queue, event, NOWHERE)


def of_replicas(rule: Callable) -> Callable:
    """Return the handler of an event of a classic queue's replicas, which does nothing if the queue is gone.

    The handler calls `rule` with the turn, the queue's record and the other fields of the event.
    """

    def handle(turn: Turn, event: Any) -> None:
        queue = turn.queues.get(event.queue)
        if queue is not None and queue.type == CLASSIC:
            rule(turn, turn.own(event.queue), *astuple(event)[1:])

    return handle


HANDLERS: dict[type, Callable] = {
    operations.Declare: lifecycle.declare,
    operations.Delete: lifecycle.delete,
    operations.Purge: lifecycle.purge,
    events.AutoDelete: lifecycle.auto_delete,
    operations.ConnectionCloses: lifecycle.connection_closes,
    operations.ConnectionFails: connections.fail,
    operations.ConsumerCloses: subscriptions.client_closes,
    operations.ConsumerCancels: subscriptions.client_cancels,
    operations.Publish: publishing.publish,
    events.ConfirmsDue: confirms.due,
    operations.Enqueue: publishing.enqueue,
    operations.ChannelDown: channel_down,
    operations.AdoptPolicy: policy_changes.adopt,
    operations.NodeSuspected: node_suspected,
    operations.NodeReached: node_reached,
    operations.HoldEnded: hold_ended,
    operations.Retry: delayed_retry.retry,
    events.RetriesDue: delayed_retry.retries_due,
    operations.TimeOut: timeouts.time_out,
    events.ChannelTicks: timeouts.channel_ticks,
    events.AnswersDue: timeouts.answers_due,
    raft_events.MembersAbreast: visibility.abreast,
    raft_events.MajorityReached: visibility.majority_reached,
    raft_events.LogCut: visibility.log_cut,
    events.LettersConfirmed: consuming.letters_confirmed,
    events.LettersRetried: dead_letters.retry,
    raft_events.RaftArrives: inputs.arrive,
    raft_events.RaftWritten: inputs.written,
    raft_events.RemovalWritten: inputs.removal_written,
    raft_events.MemberAwaited: member_changes.member_awaited,
    raft_events.ElectionDue: inputs.election_due,
    raft_events.HandoverDue: inputs.handover_due,
    raft_events.LinksSuspected: inputs.suspect,
    raft_events.LeaderElected: visibility.send_again,
    raft_events.RegistrationGivenUp: registration_given_up,
    raft_events.ProposalGivenUp: proposal_given_up,
    raft_events.LeaderSought: resending.seek_leader,
    operations.Consume: subscriptions.consume,
    operations.Resume: subscriptions.resume,
    operations.Get: fetching.get,
    operations.AbandonedRequest: fetching.abandoned_request,
    operations.Settle: settling.settle,
    events.DeliveryArrives: consuming.arrive,
    events.GiveUp: give_up,
    events.ShutDown: lambda turn, event: stopping.shut_down(turn, event.node),
    events.Stopped: lambda turn, event: stopping.stopped(turn, event.node, event.boot),
    events.NodeGoneNoticed: lambda turn, event: stopping.node_gone(turn, event.node),
    events.SetPolicy: lambda turn, event: policy_changes.set_policy(turn, event.policy, event.kind),
    events.NodeForgotten: lambda turn, event: membership.forget_cluster_node(turn, event.forgotten, event.node),
    events.NodeReset: lambda turn, event: membership.reset(turn, event.node),
    events.ClearPolicy: lambda turn, event: policy_changes.clear_policy(turn, event.name, event.vhost, event.kind),
    events.LinksTimeOut: lambda turn, event: links.time_out(turn, event.number),
    events.LookAround: lambda turn, _event: partition_handling.look_around(turn),
    events.BootAttempt: lambda turn, event: booting.boot(turn, event.node, event.boot),
    events.BootGivesUp: lambda turn, event: booting.give_up(turn, event.node, event.boot),
    events.ReplicaGone: of_replicas(lambda turn, queue: failover.remove_from_queue(turn, queue, False)),
    events.CrashNoticed: crashes.noticed,
    events.MirrorMiscounts: crashes.miscounted,
    events.RejectFails: crashes.reject_fails,
    events.ProcessRestarts: crashes.restart,
    events.MirrorJoins: of_replicas(mirrors.join),
    events.PolicyTakesEffect: of_replicas(mirrors.take_effect),
    events.PolicyChanged: limits.policy_changed,
    events.MessagesExpire: messages_expire,
    events.HoldEnds: hold_ends,
    events.PolicyCompared: policy_changes.compared,
    events.QueueExpires: lifecycle.expire,
    operations.Bind: exchanges.bind,
    operations.DeadLetters: publishing.dead_letters_arrive,
    events.AutomaticSync: of_replicas(synchronisation.synchronise),
    events.ManualSync: of_replicas(synchronisation.synchronise_by_hand),
    events.SyncCancelled: held_sync.cancel,
    events.SyncFinished: of_replicas(synchronisation.finish),
    events.SyncPauses: held_sync.pause,
    events.SyncTooSlow: sync_too_slow,
    events.MetadataChanged: khepri.changed,
    events.MetadataAvailable: lambda turn, _event: metadata.retry_changes(turn),
    events.MetadataAsked: khepri.reach_leader,
    events.MetadataCommitted: khepri.commit_late,
    events.DeletedByHalf: of_replicas(khepri.delete_by_half),
    events.MetadataTimesOut: khepri.times_out,
    events.AlarmsChanged: alarms_changed,
    events.NodeMarked: maintenance.mark,
    events.NodeDrains: lambda turn, event: stopping.drain(turn, event.node),
    events.FollowersStop: member_changes.stop_followers,
    events.CoordinatorAwaited: coordinator_awaited,
    events.AddReplica: lambda turn, event: member_changes.add_member(turn, event.queue, event.replica),
    events.DeleteReplica: lambda turn, event: member_changes.delete_member(turn, event.queue, event.replica),
    events.RestartStream: lambda turn, event: member_changes.transfer(turn, event.queue, event.replica),
    events.TransferLeadership: maintenance.transfer_leadership,
    events.TransferAnswered: maintenance.answer_transfer,
    events.Rebalance: maintenance.rebalance,
    events.DepthFell: of_replicas(lambda turn, queue: mirrors.synchronise_drained(turn, queue, DRAINED)),
}
"""The handler of each kind of event and operation on the agenda."""


def step(turn: Turn, until_us: float = inf) -> bool:
    """Let the next event happen, or the next change that a flow brings, if it is due by `until_us`.

    All that flowed before an event is computed first. Return False if nothing is due.
    """
    due_us, change_us = due_and_change_us(turn)
    if min(due_us, change_us) > until_us:
        return False
    if change_us < due_us:
        flow(turn, change_us)
    else:
        flow(turn, due_us)
        if turn.next_time_us() == due_us:  # what flows may have taken it off the agenda
            happen(turn, turn.take())
    awaiting_registration.go_on(turn)
    react(turn)
    return True


def happen(turn: Turn, event: object | None) -> None:
    """Handle an event (None: of a side that is gone), and apply what quorum queues commit by it."""
    if event is not None and not requests.propose(turn, event):
        HANDLERS[type(event)](turn, event)
    do_committed(turn)


def flow(turn: Turn, time_us: int) -> None:
    """Compute the messages of clients with a rate until `time_us`, then apply what quorum queues have committed."""
    flows.flow(turn, time_us)
    do_committed(turn)


def do_committed(turn: Turn) -> None:
    """Apply the operations that quorum queues have committed."""
    for operation in requests.committed(turn):
        HANDLERS[type(operation)](turn, operation)


OF_MESSAGES = {
    raft_events.RaftArrives, raft_events.RaftWritten, operations.DeadLetters, events.ConfirmsDue,
    events.DeliveryArrives,
}  # fmt: skip
"""Events by which messages, and the confirms for them, travel."""
CALM_US = 100_000
"""A cluster is settled after so long in which nothing happened but that clients with a rate sent and got messages."""


def until_settled(turn: Turn) -> None:
    """Let events happen until the cluster is settled: nothing but timers is left.

    Messages of clients with a rate may always be under way. They alone do not keep a cluster from being settled.
    """
    calm_from_us = inf
    while not turn.settled():
        calm = flows.has_flows(turn) and only_messages(turn)
        calm_from_us = min(calm_from_us, turn.now_us) if calm else inf
        if calm and next_time_us(turn) > calm_from_us + CALM_US:
            return
        step(turn)


def only_messages(turn: Turn) -> bool:
    """Return True if nothing but messages, and the confirms for them, is under way."""
    return all(type(entry[EVENT]) in OF_MESSAGES for entry in turn.agenda if entry[PRIORITY] != TIMER)


def before(turn: Turn, time_us: int) -> None:
    """Let everything due before `time_us` happen, and advance time to it. A time already past changes nothing."""
    through(turn, time_us - 1)
    turn.stand(time_us)


def due_and_change_us(turn: Turn) -> tuple[float, float]:
    """Return when the next event is due, and when the next flow brings a change; infinity for never."""
    due_us, change_us = turn.next_time_us(), next_change_us(turn) if flows.has_flows(turn) else NEVER_US
    return inf if due_us is None else due_us, inf if change_us == NEVER_US else change_us


def next_time_us(turn: Turn) -> float:
    """Return when the next event is due or the next flow brings a change; infinity for never."""
    return min(due_and_change_us(turn))


def through(turn: Turn, time_us: int) -> None:
    """Let everything due up to and at `time_us` happen, and advance time to it."""
    going_on = True
    while going_on:
        while step(turn, time_us):
            pass
        flow(turn, time_us)
        going_on = step(turn, time_us)  # what flows may bring something that is due by now
    turn.write_flows()
