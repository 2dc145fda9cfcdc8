"""What must be so in every state of a cluster, checked after every event.

`watched()` makes the engine check itself: after each event `check_state` looks at what is so now and `check_change` at
what the event has changed. What holds between steps is in `settled_invariants`. Each raises AssertionError.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from math import inf
from unittest import mock

from msgspec.structs import replace
from quorum_invariants import check_group_changes, check_groups, check_losses, closes, lost_disks, will_look

from hawb.engine import advance
from hawb.engine.clients.client_state import ORPHANED_GM_US
from hawb.engine.clients.single_active import is_single_active
from hawb.engine.core import ledger, runs
from hawb.engine.core.operations import NodeSuspected, Publish
from hawb.engine.core.runs import EMPTY, Runs
from hawb.engine.core.state import BOOTING, NOWHERE, QUORUM, RUNNING, Queue, nodes_of
from hawb.engine.core.turn import Turn
from hawb.engine.queues import limits
from hawb.engine.queues.contents import in_order, pieces, ready
from hawb.engine.queues.expiry import side_of_timer
from hawb.engine.quorum import fifo
from hawb.engine.quorum.fifo import limits_of
from hawb.engine.raft_groups.events import LeaderElected
from hawb.engine.raft_groups.group import copied
from hawb.engine.raft_groups.leadership import hosts
from hawb.rules.limits import DROP_HEAD

MOST_EVENTS = 20_000
"""More events than this between two steps are a cluster that never settles."""


@contextmanager
def watched() -> Iterator[None]:
    """Check all invariants after each event of each cluster while the context is entered."""
    happen = advance.step
    happened = 0
    began, lost = None, False

    def step(turn: Turn, until_us: float = inf) -> bool:
        nonlocal happened, began, lost
        if turn.before is not began:
            began, lost = turn.before, lost_disks(turn.before.trace())
        before = Snapshot(turn)
        if not happen(turn, until_us):
            return False
        happened += 1
        assert happened < MOST_EVENTS, "the cluster does not settle"
        check_state(turn)
        check_change(before, turn)
        disks_lost = lost or lost_disks(turn.entries)
        check_group_changes(before.groups, turn, disks_lost=disks_lost)
        check_losses(before, turn, disks_lost=disks_lost)
        return True

    with mock.patch.object(advance, "step", step):
        yield


class Snapshot:
    """A state's contents before an event."""

    def __init__(self, turn: Turn):
        self.now_us = turn.now_us
        self.nodes = list(map(replace, turn.nodes))
        self.sides = {
            number: {name: replace(queue) for name, queue in side.queues.items()} for number, side in turn.sides.items()
        }
        self.unconfirmed = turn.unconfirmed
        self.ledger = dict(turn.ledger)
        self.entries = len(turn.entries)
        self.groups = {name: copied(group) for name, group in turn.groups.items()}


# What is so in every state


def check_state(turn: Turn) -> None:
    """Check what holds after each event."""
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
    """Check what the nodes of the side in focus know."""
    outsiders = [node for node, value in enumerate(turn.nodes) if value.virgin or not value.member]
    assert not set(outsiders) & set(turn.running()), "a node runs that is no member or knows of no cluster"
    for queue in turn.queues.values():
        if not queue.has_group:
            check_replicas(turn, queue)
        check_contents(turn, queue)
        check_limits(turn, queue)
        check_deliveries(turn, queue)


def check_sides(turn: Turn) -> None:
    """Check that running nodes of one side believe each other running, and no node of another side."""
    for node, value in enumerate(turn.nodes):
        assert value.side in turn.sides, f"node {node} has records that nobody has"
        for other in value.believes_running if value.status == RUNNING else ():
            elsewhere = turn.nodes[other].status == RUNNING and turn.nodes[other].side != value.side
            assert not elsewhere, f"node {node} believes {other} running, which is elsewhere"
    holders = {value.side for value in turn.nodes if value.member and not value.virgin}
    assert holders == set(turn.sides) or len(turn.sides) == 1, f"of {set(turn.sides)} only {holders} are on a disk"


def check_replicas(turn: Turn, queue: Queue) -> None:
    """Check which node is master and which are mirrors."""
    name = queue.name
    assert not queue.up or turn.is_running(queue.master), f"{name}: its master runs on a node that does not"
    assert not (queue.up and queue.awaits_master), f"{name}: it is up and awaits its master"
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
    idle = [one for one in queue.waiting if not (queue.lagging and isinstance(one.operation, Publish))]
    reached = [one for one in idle if turn.linked(one.operation.node, queue.master)]
    assert not reached or not queue.up or queue.sync is not None, f"{name}: {reached} wait for nothing"


def check_contents(turn: Turn, queue: Queue) -> None:
    """Check the replicas' messages."""
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
    """Check that a served queue is not too long unless it takes nothing then, and that its head has not expired."""
    if not queue.up or queue.sync is not None:
        return
    name, in_effect = queue.name, limits_of(queue)
    if in_effect.overflow == DROP_HEAD:
        assert not limits.excess(queue), f"{name}: it is too long by {limits.excess(queue)}"
    if queue.type == QUORUM and will_look(turn, queue):
        return
    head = next(pieces(queue.batches, in_order(queue, ready(queue))), None)
    if head is not None and head[2].expires_us is not None and not head[2].flow:
        expires_us, timer_us = head[2].expires_us, side_of_timer(turn, queue).queues[name].ttl_timer_us
        assert expires_us >= turn.now_us, f"{name}: its head expired at {expires_us}"
        assert timer_us is not None and timer_us <= expires_us, f"{name}: nobody looks at its head at {expires_us}"


def check_deliveries(turn: Turn, queue: Queue) -> None:
    """Check consumers and their deliveries. A quorum queue's are on all sides."""
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
    if queue.up or queue.has_group:
        check_active_consumer(turn, queue)
    for known in queue.consumers:
        consumer = turn.consumers[known]
        unsettled = not queue.up and not queue.awaits_master and not turn.is_here(consumer.node)
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
    classic = not queue.has_group
    exclusive = [name for name in queue.consumers if turn.consumers[name].exclusive and classic]
    if is_single_active(queue):
        assert not exclusive, f"{queue.name}: {exclusive} cannot be exclusive"
        away = set() if classic else fifo.of(queue).suspected
        seen = set(queue.consumers) - away - (set() if classic else set(dict(fifo.of(queue).timed_out)))
        # In 4.3 one that is out of reach stays the active one for a while.
        stays = queue.active_consumer in away and turn.settings.profile.version == "4.3"
        # In 3.8 nobody is, as long as a cancelled one holds messages, were it one that has come back since, nor when it
        # has given them back: nobody is asked to be active then.
        waits = not classic and not fifo.release(turn).activates_at_once
        active = queue.active_consumer in queue.consumers
        assert active == bool(seen) or (waits and not active) or stays, f"{queue.name}: none is active"
    else:
        assert exclusive in ([], list(queue.consumers)), f"{queue.name}: {exclusive} are not alone"
        assert [queue.active_consumer] == (exclusive or [None]), f"{queue.name}: {queue.active_consumer} is active"
    for consumer in turn.consumers_of(queue.name):
        if consumer.blocked and consumer.state == "active":
            assert consumer.name in queue.consumers, f"{queue.name}: {consumer} is no consumer"
            assert fifo.capacity(turn, consumer) == 0, f"{queue.name}: {consumer} has room"


def check_account(turn: Turn, name: str, account: ledger.Account) -> None:
    """Check what clients were sent, and that each loss has its entry."""
    everything = runs.run(1, account.published)
    for item in (account.confirmed, account.nacked, account.acknowledged, account.delivered):
        assert not runs.minus(item, everything), f"{name}: {item} of {account.published} messages"
    assert not runs.common(account.confirmed, account.nacked), f"{name}: confirmed and nacked"
    assert not runs.common(account.delivered, account.refused), f"{name}: delivered what no queue took"
    assert not runs.minus(account.delivered_twice, account.delivered), f"{name}: twice, but not once"
    for waiting in turn.unconfirmed:
        for share in waiting.shares:
            if share.queue == name:
                answered = runs.union(account.confirmed, account.nacked)
                assert not runs.common(share.numbers, answered), f"{name}: {share.numbers} were answered already"
                # An answer of nobody's is one that is under way for all of them.
                asked = {node for node, due_us in share.due_us if due_us != ORPHANED_GM_US and node != NOWHERE}
                side = turn.sides[turn.nodes[waiting.node].side]
                if name in side.queues and not side.queues[name].has_group:
                    replicas = {side.queues[name].master, *side.queues[name].mirrors}
                    assert asked <= replicas, f"{name}: a publisher waits for {asked}, its replicas are {replicas}"
    for publisher in turn.publishers.values():
        for run in publisher.unanswered if publisher.queue == name else ():
            answered = runs.common(run.numbers, runs.union(account.confirmed, account.nacked))
            assert not answered, f"{name}: {answered} were answered already"
            side = turn.sides[turn.nodes[publisher.node].side]
            if name in side.queues and not side.queues[name].has_group:
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
    """Check what holds between two states."""
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
    events = turn.entries[before.entries :]
    back = {
        "lost": {entry.queue for entry in events if entry.event == "messages_returned"},
        "refused": {
            entry.queue for entry in events if entry.event in ("messages_taken_after_all", "messages_sent_again")
        },
    }
    for name, account in before.ledger.items():
        for field in ("published", "promotions", "unsynchronised_promotions", "bytes_replicated"):
            assert getattr(turn.ledger[name], field) >= getattr(account, field), f"{name}: {field} went back"
        for field in ("confirmed", "nacked", "acknowledged", "lost", "refused", "delivered"):
            gone = runs.minus(getattr(account, field), getattr(turn.ledger[name], field))
            gone = EMPTY if name in back.get(field, ()) else gone
            assert not gone, f"{name}: {gone} is no longer {field}"


def check_disks(before: Snapshot, side: int, had: Queue, queue: Queue) -> None:
    """Check that a node that is down gets no messages."""
    for node, copy in enumerate(queue.contents):
        here = before.nodes[node].side == side
        if before.nodes[node].status not in (RUNNING, BOOTING, "waiting") and copy and here:
            new = runs.minus(copy, had.contents[node] or EMPTY)
            assert not new, f"{queue.name}: {new} came to node {node}, which is down"


def check_confirmed(before: Snapshot, turn: Turn, queue: Queue, numbers: Runs) -> None:
    """Check that a confirmed message is on each remaining replica that it was sent to."""
    present = runs.common(numbers, queue.content)
    for waiting in before.unconfirmed:
        for share in waiting.shares:
            if share.queue == queue.name and runs.common(share.numbers, numbers):
                for node in {node for node, _ in share.due_us}.intersection(queue.replicas):
                    missing = runs.minus(present, queue.contents[node] or EMPTY)
                    assert not missing or queue.depth_unknown >> node & 1 or not turn.is_running(node), (
                        f"{queue.name}: {missing} was confirmed, but is not at {node}"
                    )
