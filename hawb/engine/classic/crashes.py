"""A queue's process crashes while its node runs on.

A supervisor starts the process again, unless it has crashed six times within ten seconds. The process finds its role
when it starts (`rabbit_prequeue:init`): with a live master elsewhere a new, empty mirror, whatever policy says; without
any other live replica the master, from disk. Messages that wait for the crashed process are nacked at once, because its
exit is an abnormal one (`rabbit_channel:handle_publishing_queue_down`, `rabbit_misc:is_abnormal_exit`).

Source: these, and `rabbit_amqqueue_sup` (restart intensity), `rabbit_amqqueue_process:terminate`,
`rabbit_variable_queue:init` (what is on disk of a queue that crashed), `rabbit_mirror_queue_slave:init_it`. Consumers
are cancelled though a mirror may take over, since the crash has marked the record and `rabbit_amqqueue:with` fails at
once in state crashed; 3.8.9 and 3.10.8 clusters did so.
"""

from __future__ import annotations

from hawb.engine.classic.failover import remove_from_queue
from hawb.engine.classic.journal import JOINED
from hawb.engine.classic.mirrors import end_master, enlist, synchronise_drained
from hawb.engine.classic.outage import recover
from hawb.engine.classic.record_ports import is_replicated
from hawb.engine.clients import confirms
from hawb.engine.core.events import AutomaticSync, CrashNoticed, MirrorMiscounts, ProcessRestarts, RejectFails
from hawb.engine.core.naming import described
from hawb.engine.core.state import NOWHERE, with_content
from hawb.engine.core.turn import Turn
from hawb.engine.raft_groups import inputs
from hawb.engine.raft_groups.leadership import hosts

MOST_RESTARTS = 5
PERIOD_US = 10_000_000
"""The supervisor gives up with one crash more than this within the period."""

RETRY_US = 25_000
"""How long a restarted process waits before it looks again whether another has become master."""


def crash(turn: Turn, name: str, node: int | None) -> None:
    """Crash the process of a queue at `node`; None stands for its master's node."""
    queue = turn.queues.get(name)
    if queue is None:
        turn.refuse(None, f"{described(name)} was not found")
        return
    at = queue.master if node is None else node
    if queue.has_group and at != NOWHERE and hosts(turn, turn.groups[name], at):
        inputs.crash_member(turn, name, at)
        return
    if queue.has_group or not turn.alive(queue, at):
        where = "its leader's node" if at == NOWHERE else f"node '{turn.settings.names[at]}'"
        turn.refuse(None, f"{described(name)} has no running process on {where}")
        return
    before = (pair for pair in queue.crashes if turn.now_us - pair[1] <= PERIOD_US)
    recent = (*before, (at, turn.now_us))
    final = [where for where, _ in recent].count(at) > MOST_RESTARTS
    turn.change_queue(name, crashes=recent, crashed=queue.crashed | 1 << at)
    turn.because = turn.emit("process_crashed", node=at, queue=name, final=final)
    if at == queue.master:
        turn.because = turn.emit("master_down", node=at, queue=name, reason="crashed")
        end_master(turn, turn.own(name), False)
    turn.schedule(turn.settings.timing.link_latency_us, CrashNoticed(name, at, final))


def miscounted(turn: Turn, event: MirrorMiscounts) -> None:
    """Crash a mirror with badmatch (`rabbit_mirror_queue_slave:update_delta`); its supervisor starts another."""
    queue = turn.queues.get(event.queue)
    if queue is not None and queue.up and event.node in queue.mirrors and turn.alive(queue, event.node):
        crash(turn, event.queue, event.node)


def reject_fails(turn: Turn, event: RejectFails) -> None:
    """Crash a master in gb_trees:get (`rabbit_variable_queue:lookup_pending_ack`; a 3.10.8 cluster's master did)."""
    queue = turn.queues.get(event.queue)
    if queue is not None and queue.up and event.node == queue.master:
        crash(turn, event.queue, event.node)


def noticed(turn: Turn, event: CrashNoticed) -> None:
    """Report a crash to channels, which nack waiting messages, and to the other replicas."""
    queue = turn.queues.get(event.queue)
    if queue is None or not queue.crashed >> event.node & 1 or not turn.is_running(event.node):
        return
    name, was_master, recoverable = event.queue, event.node == queue.master, queue.recoverable
    others = any(turn.alive(queue, node) for node in (queue.master, *queue.mirrors))
    confirms.replica_crashed(turn, name, event.node)
    turn.change_queue(name, failed=event.final and was_master)
    remove_from_queue(turn, turn.own(name), True)
    if turn.queues[name].up:
        turn.change_queue(name, failed=False)
    if event.final:
        return
    if not was_master:
        # The process has joined again before gm, which sleeps first, reports its death: its node keeps its place.
        turn.change_queue(name, recoverable=recoverable)
    again = ProcessRestarts(name, event.node)
    if others:
        turn.schedule(RETRY_US if was_master else 0, again)
    else:
        restart(turn, again)


def restart(turn: Turn, event: ProcessRestarts) -> None:
    """Restart the crashed process, which finds its role (`rabbit_prequeue:init`)."""
    queue = turn.queues.get(event.queue)
    if queue is None or not queue.crashed >> event.node & 1 or not turn.is_running(event.node):
        return
    if not queue.up and not queue.awaits_master:
        turn.schedule(RETRY_US, event)
        return
    queue = turn.change_queue(queue.name, crashed=queue.crashed & ~(1 << event.node))
    if queue.master == event.node:
        queue.contents = with_content(queue.contents, {event.node: queue.content})
        recover(turn, queue, 0)
    elif queue.up and is_replicated(queue):
        enlist(turn, queue, event.node)
        synchronise_drained(turn, queue, JOINED)
        turn.schedule(0, AutomaticSync(queue.name))
