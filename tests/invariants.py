"""What must be so in every state of a cluster, checked after every event.

`watched()` makes the engine check itself: after each event `check_state` looks at what is so now and `check_change` at
what the event has changed. `check_settled` and `check_trace` hold between steps. Each raises AssertionError.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from itertools import pairwise
from unittest import mock

from msgspec.structs import replace
from quorum_invariants import (
    check_elections,
    check_group_changes,
    check_groups,
    check_losses,
    check_quorum_settled,
    closes,
    hands_over,
    lost_disks,
    will_look,
)

from hawb.engine import advance, alarms, fifo, ledger, limits, runs
from hawb.engine.classic.ports import wanted
from hawb.engine.classic.record import waits_for_heir
from hawb.engine.clients import HOLLOW_US, NEVER_US
from hawb.engine.consuming import is_single_active
from hawb.engine.contents import in_order, pieces, ready
from hawb.engine.expiry import side_of_timer
from hawb.engine.fifo import limits_of, release
from hawb.engine.moment import Moment
from hawb.engine.operations import NodeSuspected, Publish, Resume
from hawb.engine.quorum_view import hosts
from hawb.engine.raft_events import LeaderElected
from hawb.engine.runs import EMPTY, Runs
from hawb.engine.state import BOOTING, QUORUM, RUNNING, STOPPING, Queue, bits_of, nodes_of
from hawb.engine.trace import CAUSES, EVENTS
from hawb.engine.turn import Turn
from hawb.rules.limits import DROP_HEAD
from hawb.rules.policies import HaMode, SyncMode

MOST_EVENTS = 20_000
"""More events than this between two steps are a cluster that never settles."""

BEGINNINGS = {
    "node_killed", "node_stopping", "process_crashed", "policy_set", "policy_cleared", "operator_policy_set",
    "operator_policy_cleared", "queue_declared", "leadership_transferred", "rebalance_started",
    "node_forgotten", "node_reset", "disk_lost", "node_lost_power", "links_cut", "links_healed", "node_booting",
    "node_drained",
}  # fmt: skip
"""Events with which the story of a loss may begin: a fault, or a step that a person took."""


@contextmanager
def watched() -> Iterator[None]:
    """Inside of it every event of every cluster is followed by all checks."""
    happen = advance.one
    happened = 0
    began, lost = None, False

    def one(turn: Turn) -> None:
        nonlocal happened, began, lost
        if turn.before is not began:
            began, lost = turn.before, lost_disks(turn.before.trace())
        happened += 1
        assert happened < MOST_EVENTS, "the cluster does not settle"
        before = Snapshot(turn)
        happen(turn)
        check_state(turn)
        check_change(before, turn)
        disks_lost = lost or lost_disks(turn.entries)
        check_group_changes(before.groups, turn, disks_lost=disks_lost)
        check_losses(before, turn, disks_lost=disks_lost)

    with mock.patch.object(advance, "one", one):
        yield


class Snapshot:
    """What a turn held before an event."""

    def __init__(self, turn: Turn):
        self.now_us = turn.now_us
        self.nodes = list(map(replace, turn.nodes))
        self.sides = {
            number: {name: replace(queue) for name, queue in side.queues.items()} for number, side in turn.sides.items()
        }
        self.unconfirmed = turn.unconfirmed
        self.ledger = dict(turn.ledger)
        self.entries = len(turn.entries)
        self.groups = dict(turn.groups)


# What is so in every state


def check_state(turn: Turn) -> None:
    """Everything that holds after each event."""
    assert all(due_us >= turn.now_us for due_us, *_ in turn.agenda), "something was to happen in the past"
    focus = turn.focus
    for _side in turn.each_side():
        check_side(turn)
    turn.focus = focus
    check_sides(turn)
    check_groups(turn)
    for name, account in turn.ledger.items():
        found = [side.queues[name] for side in turn.sides.values() if name in side.queues]
        content = runs.normal(pair for queue in found for pair in queue.content)
        assert ledger.imbalance(account, content) is None, f"{name}: {ledger.imbalance(account, content)}"
        check_account(turn, name, account)
        if found:
            up, syncing = any(queue.up for queue in found), any(queue.sync for queue in found)
            assert (account.down.since_us is None) == up, f"{name}: its outage is counted wrongly"
            assert (account.syncing.since_us is not None) == syncing, f"{name}: its blockage is counted wrongly"


def check_side(turn: Turn) -> None:
    """What holds for what the nodes of the side in focus know."""
    outsiders = [node for node, value in enumerate(turn.nodes) if value.virgin or not value.member]
    assert not set(outsiders) & set(turn.running()), "a node runs that is no member or knows of no cluster"
    for queue in turn.queues.values():
        if queue.type != QUORUM:
            check_replicas(turn, queue)
        check_contents(turn, queue)
        check_limits(turn, queue)
        check_deliveries(turn, queue)


def check_sides(turn: Turn) -> None:
    """Running nodes of one side believe each other running, and none of another."""
    for node, value in enumerate(turn.nodes):
        assert value.side in turn.sides, f"node {node} has records that nobody has"
        for other in value.believes_running if value.status == RUNNING else ():
            elsewhere = turn.nodes[other].status == RUNNING and turn.nodes[other].side != value.side
            assert not elsewhere, f"node {node} believes {other} running, which is elsewhere"
    holders = {value.side for value in turn.nodes if value.member and not value.virgin}
    assert holders == set(turn.sides) or len(turn.sides) == 1, f"of {set(turn.sides)} only {holders} are on a disk"


def check_replicas(turn: Turn, queue: Queue) -> None:
    """Who is master and who is a mirror."""
    name = queue.name
    assert not queue.up or turn.is_running(queue.master), f"{name}: its master runs on a node that does not"
    assert not (queue.up and queue.abandoned), f"{name}: it is up and given up"
    assert queue.master not in queue.mirrors, f"{name}: its master is a mirror of itself"
    for nodes in (queue.mirrors, queue.synchronised, queue.recoverable):
        assert len(set(nodes)) == len(nodes), f"{name}: {nodes} has a node twice"
    assert set(queue.synchronised) <= set(queue.mirrors), f"{name}: synchronised {queue.synchronised} are no mirrors"
    lost = set(queue.synchronised) & set(nodes_of(queue.depth_unknown))
    assert not lost, f"{name}: {lost} lost count of its master's depth, yet counts as synchronised"
    if queue.owner is not None:
        assert not queue.mirrors and not queue.durable, f"{name}: exclusive, yet mirrored or durable"
    if queue.sync is not None:
        taking_part = queue.sync.mirrors or queue.sync.held_us is not None
        assert queue.up and taking_part, f"{name}: a synchronisation without a master or without a mirror"
        assert set(queue.sync.mirrors) <= set(queue.mirrors), f"{name}: it synchronises what are no mirrors"
    # Publishes may want for credit, which a mirror that is out of reach does not give.
    idle = [one for one in queue.parked if not (queue.lagging and isinstance(one.operation, Publish))]
    reached = [one for one in idle if turn.linked(one.operation.node, queue.master)]
    assert not reached or not queue.up or queue.sync is not None, f"{name}: {reached} wait for nothing"


def check_contents(turn: Turn, queue: Queue) -> None:
    """What the replicas hold."""
    name, content = queue.name, queue.content
    for node in queue.mirrors:
        if turn.alive(queue, node):
            copy = queue.contents[node]
            assert copy is not None, f"{name}: the mirror at {node} has no copy"
            behind = runs.minus(copy, content)
            assert not behind or not queue.up or not turn.follows(queue, node), (
                f"{name}: the mirror at {node} holds {copy}, its master {content}"
            )
            # What a master had sent over links that drop everything was lost with it.
            missed = not queue.up and node in {late for late, _ in queue.lagging}
            if node in queue.synchronised and turn.follows(queue, node) and not missed:
                assert copy == content, f"{name}: the synchronised mirror at {node} holds {copy}, its master {content}"
    bodies = runs.normal((batch.first, batch.last) for batch in queue.batches)
    assert not runs.minus(content, bodies), f"{name}: of some of {content} the size is not known"
    content = runs.minus(content, queue.pending)
    assert not runs.minus(queue.redelivered, content), f"{name}: {queue.redelivered} redelivered of {content}"
    for contents in (*queue.contents, queue.redelivered, queue.unacknowledged):
        assert contents is None or contents == runs.normal(contents), f"{name}: {contents} are no runs"


def check_limits(turn: Turn, queue: Queue) -> None:
    """A queue that is served is not too long unless it takes nothing then, and its head has not expired."""
    if not queue.up or queue.sync is not None:
        return
    name, in_effect = queue.name, limits_of(queue)
    if in_effect.overflow == DROP_HEAD:
        assert not limits.excess(queue), f"{name}: it is too long by {limits.excess(queue)}"
    if queue.type == QUORUM and will_look(turn, queue):
        return
    head = next(pieces(queue.batches, in_order(queue, ready(queue))), None)
    if head is not None and head[2].expires_us is not None and not head[2].spacing_us:
        expires_us, timer_us = head[2].expires_us, side_of_timer(turn, queue).queues[name].ttl_timer_us
        assert expires_us >= turn.now_us, f"{name}: its head expired at {expires_us}"
        assert timer_us is not None and timer_us <= expires_us, f"{name}: nobody looks at its head at {expires_us}"


def check_deliveries(turn: Turn, queue: Queue) -> None:
    """What consumers have, and who they are. A quorum queue's are on all sides."""
    name, held = queue.name, EMPTY
    everywhere = [one for one in turn.consumers.values() if one.queue == name]
    for consumer in everywhere if queue.type == QUORUM else turn.consumers_of(name):
        assert not runs.common(held, consumer.held), f"{name}: {consumer.held} was given to two consumers"
        believed = runs.union(consumer.held, consumer.settled_early)
        assert runs.normal(consumer.in_sequence) == believed, f"{name}: {consumer.in_sequence} in order"
        held = runs.union(held, consumer.held)
    assert not runs.minus(queue.unacknowledged, queue.content), f"{name}: what is unacknowledged is not there"
    assert held == queue.unacknowledged or not queue.up, f"{name}: {held} is held, {queue.unacknowledged} waited for"
    assert len(set(queue.consumers)) == len(queue.consumers), f"{name}: a consumer twice in {queue.consumers}"
    if queue.up or queue.type == QUORUM:
        check_active_consumer(turn, queue)
    for known in queue.consumers:
        consumer = turn.consumers[known]
        unsettled = not queue.up and not queue.abandoned and not turn.is_here(consumer.node)
        left_behind = closes(turn, queue, known) or died_with_node(turn, queue, known) or unsettled
        there = consumer.state == "active" or left_behind
        fits = consumer.queue == name and there and consumer.subscription
        assert fits, f"{name}: it serves {consumer}"


def died_with_node(turn: Turn, queue: Queue, name: str) -> bool:
    """Whether a quorum queue keeps a consumer whose node died, as long as that is away or no leader has looked."""
    if queue.type != QUORUM or turn.consumers[name].state != "closed":
        return False
    group, node = turn.groups[queue.name], turn.consumers[name].node
    noticed = any(one.operation == NodeSuspected(queue.name, node) for one in group.waiting)
    away = not turn.runs_anywhere(node) or name in fifo.of(queue).suspected
    elected = any(isinstance(entry[-1], LeaderElected) and entry[-1].queue == queue.name for entry in turn.agenda)
    return away or noticed or elected or not any(hosts(turn, group, leader.id) for leader in group.leaders())


def check_active_consumer(turn: Turn, queue: Queue) -> None:
    """Whom the queue serves alone: the exclusive consumer, or one of those that wait for their turn. A quorum queue
    takes no notice of who wants to be alone."""
    classic = queue.type != QUORUM
    exclusive = [name for name in queue.consumers if turn.consumers[name].exclusive and classic]
    if is_single_active(queue):
        assert not exclusive, f"{queue.name}: {exclusive} cannot be exclusive"
        seen = set(queue.consumers) - (set() if classic else fifo.of(queue).suspected)
        # In 3.8 nobody is, as long as a cancelled one holds messages, were it one that has come back since.
        waits = not classic and not fifo.release(turn).activates_at_once and queue.unacknowledged
        active = queue.active_consumer in queue.consumers
        assert active == bool(seen) or (waits and not active), f"{queue.name}: none is active"
    else:
        assert exclusive in ([], list(queue.consumers)), f"{queue.name}: {exclusive} are not alone"
        assert [queue.active_consumer] == (exclusive or [None]), f"{queue.name}: {queue.active_consumer} is active"
    for consumer in turn.consumers_of(queue.name):
        if consumer.blocked and consumer.state == "active":
            assert consumer.name in queue.consumers, f"{queue.name}: {consumer} is no consumer"
            assert fifo.capacity(turn, consumer) == 0, f"{queue.name}: {consumer} has room"


def check_account(turn: Turn, name: str, account: ledger.Account) -> None:
    """What clients were told, and that every loss has its entry."""
    everything = runs.run(1, account.published)
    for told in (account.confirmed, account.nacked, account.acknowledged, account.delivered):
        assert not runs.minus(told, everything), f"{name}: {told} of {account.published} messages"
    assert not runs.common(account.confirmed, account.nacked), f"{name}: confirmed and nacked"
    assert not runs.common(account.delivered, account.refused), f"{name}: delivered what no queue took"
    assert not runs.minus(account.delivered_twice, account.delivered), f"{name}: twice, but not once"
    for waiting in turn.unconfirmed:
        for share in waiting.shares:
            if share.queue == name:
                answered = runs.union(account.confirmed, account.nacked)
                assert not runs.common(share.numbers, answered), f"{name}: {share.numbers} were answered already"
                asked = {node for node, due_us in share.due_us if due_us != HOLLOW_US}
                side = turn.sides[turn.nodes[waiting.node].side]
                if name in side.queues and side.queues[name].type != QUORUM:
                    replicas = {side.queues[name].master, *side.queues[name].mirrors}
                    assert asked <= replicas, f"{name}: a publisher waits for {asked}, its replicas are {replicas}"
    for publisher in turn.publishers.values():
        for run in publisher.unanswered if publisher.queue == name else ():
            answered = runs.common(run.numbers, runs.union(account.confirmed, account.nacked))
            assert not answered, f"{name}: {answered} were answered already"
            side = turn.sides[turn.nodes[publisher.node].side]
            if name in side.queues and side.queues[name].type != QUORUM:
                replicas = {side.queues[name].master, *side.queues[name].mirrors}
                assert dict(run.delays_us).keys() <= replicas, f"{name}: {publisher} waits for others than {replicas}"
    explained = EMPTY
    for loss in turn.losses:
        if loss.queue == name:
            assert not runs.common(explained, loss.numbers), f"{name}: {loss.numbers} was lost twice"
            explained = runs.union(explained, loss.numbers)
    assert explained == account.lost, f"{name}: {account.lost} is lost, {explained} is explained"


# What an event may change


def check_change(before: Snapshot, turn: Turn) -> None:
    """Everything that holds between two states."""
    assert turn.now_us >= before.now_us, "time went back"
    for number, side in turn.sides.items():
        for name, queue in side.queues.items():
            had = before.sides.get(number, {}).get(name)
            if had is not None:
                check_disks(before, number, had, queue)
    for entry in turn.entries[before.entries :]:
        if entry.event in ("messages_confirmed", "transaction_committed") and len(turn.sides) == 1:
            numbers = runs.normal(map(tuple, entry.detail["ids"]))
            if entry.queue in turn.queues:
                check_confirmed(before, turn, turn.queues[entry.queue], numbers)
    back = {entry.queue for entry in turn.entries[before.entries :] if entry.event == "messages_returned"}
    for name, account in before.ledger.items():
        for field in ("published", "promotions", "unsynchronised_promotions", "bytes_replicated"):
            assert getattr(turn.ledger[name], field) >= getattr(account, field), f"{name}: {field} went back"
        for field in ("confirmed", "nacked", "acknowledged", "lost", "refused", "delivered"):
            gone = runs.minus(getattr(account, field), getattr(turn.ledger[name], field))
            gone = EMPTY if field == "lost" and name in back else gone
            assert not gone, f"{name}: {gone} is no longer {field}"


def check_disks(before: Snapshot, side: int, had: Queue, queue: Queue) -> None:
    """A node that is down gets no messages."""
    for node, copy in enumerate(queue.contents):
        here = before.nodes[node].side == side
        if before.nodes[node].status not in (RUNNING, BOOTING, "waiting") and copy and here:
            new = runs.minus(copy, had.contents[node] or EMPTY)
            assert not new, f"{queue.name}: {new} came to node {node}, which is down"


def check_confirmed(before: Snapshot, turn: Turn, queue: Queue, numbers: Runs) -> None:
    """What is confirmed is on every replica that was asked and is still there."""
    present = runs.common(numbers, queue.content)
    for waiting in before.unconfirmed:
        for share in waiting.shares:
            if share.queue == queue.name and runs.common(share.numbers, numbers):
                for node in {node for node, _ in share.due_us}.intersection(queue.replicas):
                    missing = runs.minus(present, queue.contents[node] or EMPTY)
                    assert not missing or queue.depth_unknown >> node & 1 or not turn.is_running(node), (
                        f"{queue.name}: {missing} was confirmed, but is not at {node}"
                    )


# What is so once a cluster has settled


def check_settled(settings, moment: Moment, *, found: Collection[str] = ()) -> None:
    """Nothing is left half done. Queues that were `found` at the start may have other replicas than their policy asks
    for, until it is looked at again."""
    turn = Turn(settings, moment, 0)
    assert turn.settled()
    check_state(turn)
    assert not {node.status for node in turn.nodes} & {STOPPING, BOOTING}, "a node stops or boots for ever"
    if turn.cuts or any(value.silent or value.awaits for value in turn.nodes) or len(turn.sides) > 1:
        return  # Somebody is waiting for what nobody has noticed yet, or sees only half of it.
    quorum = [queue for queue in turn.queues.values() if queue.type == QUORUM]
    undecided = {queue.name for queue in quorum if not queue.up or hands_over(turn.groups[queue.name])}
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
    assert undecided or not turn.held_back, "a channel waits for a quorum queue that can decide"
    assert not turn.stalled and not turn.under_way, "something waits for a node that has been missed"
    for name, queue in turn.queues.items():
        if queue.type == QUORUM:
            check_quorum_settled(turn, queue)
            continue
        assert queue.up or queue.abandoned, f"{name}: nobody knows what becomes of it"
        if queue.sync is not None:
            held = queue.sync.held_us is not None and alarms.holds_synchronisation(turn, queue.master)
            assert held, f"{name}: it synchronises for ever"
            continue
        # What mirrors without a master have from channels they keep for as long as it takes.
        patient = (Resume, Publish) if waits_for_heir(turn, queue) else Resume
        waiting = [parked for parked in queue.parked if not isinstance(parked.operation, patient)]
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
            resumes = {parked.operation.consumer for parked in queue.parked if isinstance(parked.operation, Resume)}
            # Until 3.8.10 one that was cancelled, still held messages and subscribed anew stays cancelled.
            told = (entry.detail["consumer"] for entry in moment.trace() if entry.event == "consumer_cancelled")
            stays = queue.type == QUORUM and not release(turn).serves_again and consumer.name in told
            known = stays or consumer.name in {*queue.consumers, *resumes}
            assert known, f"{queue.name} does not know consumer {consumer.name}"


def check_alarms(turn: Turn) -> None:
    """What alarms block, and nothing else."""
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
    """No message waits that a consumer could have."""
    waiting = ready(queue) if queue.up else EMPTY
    idle = [name for name in queue.consumers if turn.consumers[name].capacity != 0]
    if is_single_active(queue):
        # After a basic.cancel the successor waits for something else to move the queue.
        idle = [] if "consumer_cancelled" in {entry.event for entry in turn.before.trace()} else [queue.active_consumer]
        idle = [name for name in idle if name and turn.consumers[name].capacity != 0]
    assert not (waiting and idle), f"{queue.name}: {waiting} is ready and {idle} wait for it"


def check_policy(turn: Turn, queue: Queue) -> None:
    """The replicas are those that policy asks for."""
    name, asked = queue.name, None if queue.owner else queue.mirroring
    assert queue.mirrored == (asked is not None), f"{name}: mirrored is {queue.mirrored}, its policy says {asked}"
    running = turn.running()
    target = wanted(Turn(turn.settings, turn.before, 0), queue, bits_of(running))
    replicas = (queue.master, *queue.mirrors)
    # Where a process crashed, another comes whatever policy says, or none at all.
    crashed = {node for node, _ in queue.crashes}
    if asked is not None and asked.mode == HaMode.EXACTLY:
        off = abs(len(replicas) - min(asked.count, len(running)))
        assert off <= len(crashed), f"{name}: {replicas} of {asked.count} replicas"
    else:
        assert set(replicas) - crashed == set(target) - crashed, f"{name}: {replicas} where {target} are asked for"
    if asked is not None and asked.sync_mode == SyncMode.AUTOMATIC and not queue.depth_unknown:
        assert set(queue.synchronised) == set(queue.mirrors), f"{name}: not synchronised, though automatic"


def check_trace(moment: Moment) -> None:
    """The trace is in order, uses the closed lists, and tells of each loss how it came about."""
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
        told = runs.normal(map(tuple, entry.detail["ids"]))
        assert entry.event == "messages_lost" and not runs.minus(loss.numbers, told), "what is told is what was lost"
        while entry.because is not None:
            entry = trace[entry.because]
        assert entry.event in BEGINNINGS, f"the loss of {loss.numbers} begins with {entry}"
