"""Invariants of a settled cluster and of its trace.

`check_settled` and `check_trace` hold between steps, and raise AssertionError.

`check_settled` and `check_trace` hold between steps. Each raises AssertionError.
"""

from __future__ import annotations

from collections.abc import Collection
from itertools import pairwise

from invariants import check_state
from quorum_invariants import check_elections, check_quorum_settled, hands_over, is_heard

from hawb.engine import advance
from hawb.engine.classic.ports import wanted
from hawb.engine.classic.record import mirrors_await_master
from hawb.engine.clients.client_state import NEVER_US
from hawb.engine.clients.single_active import is_single_active
from hawb.engine.clients.steady import flows
from hawb.engine.cluster import alarms
from hawb.engine.core import runs
from hawb.engine.core.moment import Moment
from hawb.engine.core.operations import Publish, Resume
from hawb.engine.core.runs import EMPTY
from hawb.engine.core.state import BOOTING, QUORUM, STOPPING, Queue, bits_of
from hawb.engine.core.trace import CAUSES, EVENTS
from hawb.engine.core.turn import Turn
from hawb.engine.queues.contents import ready
from hawb.engine.quorum.fifo import release
from hawb.rules.policies import HaMode, SyncMode

BEGINNINGS = {
    "node_killed", "node_stopping", "process_crashed", "policy_set", "policy_cleared", "operator_policy_set",
    "operator_policy_cleared", "queue_declared", "leadership_transferred", "rebalance_started", "node_joined",
    "node_forgotten", "node_reset", "disk_lost", "node_lost_power", "links_cut", "links_healed", "node_booting",
    "node_drained", "shrunk_by_force", "node_stands_alone",
}  # fmt: skip
"""Events with which the story of a loss may begin: a fault, or a step that a person took."""


def check_settled(settings, moment: Moment, *, found: Collection[str] = ()) -> None:
    """Check that nothing is left half done.

    Queues `found` at the start may differ from their policy until it is evaluated.
    """
    turn = Turn(settings, moment, 0)
    if not turn.settled() and flows.has_flows(turn) and advance.only_messages(turn):
        return  # Steady clients leave no pause in which no message is under way.
    assert turn.settled()
    check_state(turn)
    assert not {node.status for node in turn.nodes} & {STOPPING, BOOTING}, "a node stops or boots for ever"
    if turn.cuts or any(value.silent or value.awaits for value in turn.nodes) or len(turn.sides) > 1:
        return  # Somebody is waiting for what nobody has noticed yet, or sees only half of it.
    groups = [queue for queue in turn.queues.values() if queue.has_group]
    undecided = {queue.name for queue in groups if not queue.up or hands_over(turn.groups[queue.name])}
    undecided |= {name for name, group in turn.groups.items() if not all(is_heard(turn, group, one)
                  for one in group.waiting if name in turn.queues)}  # fmt: skip
    # A mirror that stays on the record of a master that came back leaves channels without an answer, and policy asks
    # for others until it is looked at again.
    stays = {entry.queue for entry in moment.trace() if entry.event == "mirror_stays"}
    # An heir drops nobody whom policy does not ask for, until that changes.
    heirs: set[str] = set()
    for entry in moment.trace():
        if entry.event in ("promoted", "policy_applied"):
            (heirs.add if entry.event == "promoted" else heirs.discard)(entry.queue)
    # A mirror may outlive even its queue.
    left = {share.queue for one in turn.unconfirmed for share in one.shares
            if share.queue not in turn.queues and all(due_us >= NEVER_US for _, due_us in share.due_us)}  # fmt: skip
    open_ended = undecided | stays | left
    waiting = [one for one in turn.unconfirmed if open_ended.isdisjoint(share.queue for share in one.shares)]
    assert not waiting, "a publisher waits for ever"
    assert undecided or not turn.awaiting_registration, "a channel waits for a quorum queue that can decide"
    assert not turn.waiting_changes and not turn.under_way, "something waits for a node that has been missed"
    for name, queue in turn.queues.items():
        if queue.has_group:
            check_quorum_settled(turn, queue)
            continue
        assert queue.up or queue.awaits_master, f"{name}: neither up nor awaiting its master"
        if queue.sync is not None:
            held = queue.sync.held_us is not None and alarms.holds_synchronisation(turn, queue.master)
            assert held, f"{name}: it synchronises for ever"
            continue
        # What mirrors without a master have from channels they keep for as long as it takes.
        patient = (Resume, Publish) if mirrors_await_master(turn, queue) else Resume
        waiting = [one for one in queue.waiting if not isinstance(one.operation, patient)]
        assert not waiting, f"{name}: {waiting} wait for ever"
        check_served(turn, queue)
        assert not queue.up or queue.limits_in_effect == queue.limits, f"{name}: it has not heard of its policy"
        if queue.up and name not in found and name not in stays and name not in heirs:
            check_policy(turn, queue)
    check_alarms(turn)
    for consumer in turn.consumers.values():
        if consumer.state == "active" and consumer.subscription:
            assert turn.is_running(consumer.node), f"consumer {consumer.name} is on a node that is down"
            assert consumer.queue in turn.queues, f"consumer {consumer.name} is active, but its queue is gone"
            queue = turn.queues[consumer.queue]
            resumes = {one.operation.consumer for one in queue.waiting if isinstance(one.operation, Resume)}
            # Until 3.8.10 one that was cancelled, still held messages and subscribed anew stays cancelled.
            result = (entry.detail["consumer"] for entry in moment.trace() if entry.event == "consumer_cancelled")
            stays = queue.type == QUORUM and not release(turn).serves_again and consumer.name in result
            known = stays or consumer.name in {*queue.consumers, *resumes}
            assert known, f"{queue.name} does not know consumer {consumer.name}"


def check_alarms(turn: Turn) -> None:
    """Check that alarms block what they must and nothing else."""
    for node, resource in turn.alarms:
        unnoticed = turn.runs_anywhere(node) or turn.nodes[node].silent
        assert unnoticed, f"the {resource} alarm of node {node} has outlived it"
    for unread in turn.unread:
        name, node, _ = unread.connection
        if not turn.nodes[node].silent:
            open_still = turn.runs_anywhere(node) and not turn.nodes[node].drained
            assert open_still, f"connection {name} to {node} is blocked, but it is closed"
            assert alarms.blocks_publishing(turn, node), f"{unread} waits for nothing"
        assert unread.connection in turn.connections, f"{unread} waits, but its connection is closed"


def check_served(turn: Turn, queue: Queue) -> None:
    """Check that no message waits that a consumer could receive."""
    waiting = ready(queue) if queue.up else EMPTY
    idle = [name for name in queue.consumers if turn.consumers[name].capacity != 0]
    if is_single_active(queue):
        # After a basic.cancel the successor waits for something else to move the queue.
        idle = [] if "consumer_cancelled" in {entry.event for entry in turn.before.trace()} else [queue.active_consumer]
        idle = [name for name in idle if name and turn.consumers[name].capacity != 0]
    assert not (waiting and idle), f"{queue.name}: {waiting} is ready and {idle} wait for it"


def check_policy(turn: Turn, queue: Queue) -> None:
    """Check that the replicas are those of the policy."""
    name, asked = queue.name, None if queue.owner else queue.mirroring
    assert queue.mirrored == (asked is not None), f"{name}: mirrored is {queue.mirrored}, its policy says {asked}"
    running = turn.running()
    target = wanted(Turn(turn.settings, turn.before, 0), queue, bits_of(running))
    replicas = (queue.master, *queue.mirrors)
    # Where a process crashed, another comes whatever policy says, or none at all.
    crashed = {node for node, _ in queue.crashes}
    if asked is not None and asked.mode == HaMode.EXACTLY:
        off = abs(len(replicas) - min(asked.count, len(running)))
        # Nor does another come in place of a mirror whose node went before it had joined.
        unjoined = len(running) < len(turn.nodes)
        assert off <= len(crashed) + unjoined, f"{name}: {replicas} of {asked.count} replicas"
    else:
        assert set(replicas) - crashed == set(target) - crashed, f"{name}: {replicas} where {target} are asked for"
    if asked is not None and asked.sync_mode == SyncMode.AUTOMATIC and not queue.depth_unknown:
        assert set(queue.synchronised) == set(queue.mirrors), f"{name}: not synchronised, though automatic"


def check_trace(moment: Moment) -> None:
    """Check that the trace is in order, uses the closed lists, and has a cause for each loss."""
    trace = moment.trace()
    assert [entry.number for entry in trace] == list(range(len(trace)))
    check_elections(trace)
    assert all(earlier.t_us <= later.t_us for earlier, later in pairwise(trace))
    for entry in trace:
        assert entry.event in EVENTS
        for field in entry.detail:
            assert field in EVENTS[entry.event], f"{field} of {entry.event} is not documented"
        assert entry.because is None or entry.because < entry.number
    for loss in moment.losses:
        assert loss.cause in CAUSES
        entry = trace[loss.entry]
        result = runs.normal(map(tuple, entry.detail["ids"]))
        assert entry.event == "messages_lost" and not runs.minus(loss.numbers, result), "what is told is what was lost"
        while entry.because is not None:
            entry = trace[entry.because]
        assert entry.event in BEGINNINGS, f"the loss of {loss.numbers} begins with {entry}"
