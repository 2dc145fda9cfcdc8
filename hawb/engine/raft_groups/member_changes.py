"""Operators add and remove members of quorum queues and replicas of streams, and move leaders.

`rabbitmq-queues add_member`, `delete_member`, `grow`, `shrink` and `rebalance` change a group one member at a time; a
new member is empty and receives the log. A leader appends a change to its log, where it counts at once; it takes the
next one when that is committed. For streams these are `rabbitmq-streams add_replica` and `delete_replica`, and `grow`
and `shrink` in releases that have them; hawb uses the verbs of `rabbitmq-queues` for both. A stream's replicas and
leader change through the coordinator of streams, which is asked first (`hawb.engine.streams`).

Source: `rabbit_quorum_queue` (`add_member`, `delete_member`, `grow`, `shrink_all`, `transfer_leadership`,
`force_all_queues_shrink_member_to_current_member`), `rabbit_stream_queue` (`add_replica`, `delete_replica`,
`delete_all_replicas`, `transfer_leadership`), forget_cluster_node_command.ex, `ra`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from urllib.parse import quote

from hawb.engine import streams
from hawb.engine.core.events import AddReplica, DeleteReplica, FollowersStop, RestartStream
from hawb.engine.core.naming import described, split_queue
from hawb.engine.core.state import NOWHERE, QUORUM, STREAM, Queue
from hawb.engine.core.turn import Turn
from hawb.engine.queues.access import is_absent
from hawb.engine.raft_groups import hosting, inputs
from hawb.engine.raft_groups.events import MemberAwaited
from hawb.engine.raft_groups.group import STORE, Group
from hawb.engine.raft_groups.hosting import member_up, stop_member
from hawb.engine.raft_groups.leadership import hosts
from hawb.raft.member import LEADER
from hawb.raft.messages import TransferLeadership
from hawb.rules import patterns
from hawb.rules.patterns import Match
from hawb.rules.quorum import is_sent_all, majority
from hawb.rules.quorum_profiles import QUORUM_PROFILES

APPLIED_US = 5_000_000
"""The time within which a leader has to apply a new member (`ra:leader_query`, DEFAULT_TIMEOUT)."""
DELETE_UNAVAILABLE = json.dumps(["badmatch", ["error", streams.UNAVAILABLE]])
"""The error of `delete_replica` without an answer of the coordinator."""
FORCE_SHRINK = "rabbit_quorum_queue:force_all_queues_shrink_member_to_current_member/0"
WHO_LEADS_US = 30_000_000
"""The time within which a member has to name the leader (`rabbit_quorum_queue`, RA_MEMBERS_TIMEOUT)."""


def found(turn: Turn, name: str) -> Queue | None:
    """Return the quorum queue or stream of that name.

    If there is none, or its record is on disks only, refuse the step and return None.
    """
    queue = turn.queues.get(name)
    if queue is None or is_absent(queue):
        turn.refuse(None, "not_found")
    elif not queue.has_group:
        turn.refuse(None, "Cannot add members to a classic queue")
    else:
        return queue
    return None


def add_member(turn: Turn, name: str, node: int) -> None:
    """Run `rabbitmq-queues add_member`. Adding a member that is there already changes nothing.

    While the removal of a member, perhaps the leader, is not committed, it still counts as a member, and none is added
    then. For a stream RabbitMQ checks first the node, then the leader, which is asked for its replicas' progress, then
    the coordinator.
    """
    queue = found(turn, name)
    if queue is None or (node in queue.members and queue.type == QUORUM):
        return
    if not turn.runs_anywhere(node):
        turn.refuse(None, "node_not_running")
    elif not is_led(turn, queue) or awaits_coordinator(turn, queue, AddReplica(name, node)):
        return
    elif node not in queue.members:
        hosting.add_member(turn, turn.groups.own(name), queue.master, node)
        await_member(turn, queue, node)


def await_member(turn: Turn, queue: Queue, node: int) -> None:
    """Schedule the time-out of the command that adds a member, if the leader cannot commit.

    Source: `rabbit_quorum_queue:do_add_member`, `ra:leader_query`.
    """
    awaits = queue.type == QUORUM and QUORUM_PROFILES[turn.settings.profile.version].awaits_members
    group = turn.groups[queue.name]
    index, members = group.members[queue.master].log.configurations[-1]
    if awaits and not queue.up and node in members:
        turn.schedule(APPLIED_US, MemberAwaited(queue.name, queue.master, group.number, index))


def member_awaited(turn: Turn, event: MemberAwaited) -> None:
    """Refuse the step that added a member if the change is not committed yet."""
    group = turn.groups.get(event.queue)
    if group is not None and group.number == event.group and group.applied < event.index:
        vhost, short = split_queue(event.queue)
        server = f"{quote(vhost, safe='')}_{short}"
        turn.refuse(None, json.dumps(["badmatch", ["timeout", [server, turn.settings.names[event.node]]]]))


def delete_member(turn: Turn, name: str, node: int) -> None:
    """Run `rabbitmq-queues delete_member`, for a node that runs or not. Removing an absent member changes nothing."""
    queue = found(turn, name)
    if queue is None or (node not in queue.members and queue.type == QUORUM):
        return
    if queue.type == STREAM and not (turn.runs_anywhere(node) or streams.profile_of(turn).deletes_where_down):
        turn.refuse(None, "node_not_running")
    elif awaits_coordinator(turn, queue, DeleteReplica(name, node), DELETE_UNAVAILABLE) or node not in queue.members:
        return
    elif len(queue.members) == 1:
        last_stream = queue.type == STREAM
        turn.refuse(None, "last_stream_member" if last_stream else "the last node cannot be removed: last_node")
    elif is_led(turn, queue):
        hosting.remove_member(turn, turn.groups.own(name), queue.master, node)
        if turn.settings.profile.version == "3.8" and not turn.runs_anywhere(node):
            turn.refuse(None, "nodedown")


def awaits_coordinator(turn: Turn, queue: Queue, request: object, text: str = streams.UNAVAILABLE) -> bool:
    """Return True if a request is about a stream and its coordinator has no majority; then the step waits."""
    return queue.type == STREAM and streams.awaits_coordinator(turn, turn.first_running(), (request,), text)


def is_led(turn: Turn, queue: Queue) -> bool:
    """Return True if there is a leader to append a change; otherwise refuse the step.

    The change then counts, committed or not (`ra:add_member`, after_log_append).
    """
    if queue.master == NOWHERE and queue.type == STREAM:
        turn.refuse(
            None,
            f"not simulated: replicas of {described(queue.name)}, which is a stream, while it has no leader; accepted "
            "once it has a leader",
        )
    elif queue.master == NOWHERE:
        turn.refuse(None, f"{described(queue.name)} has no leader: timeout")
    return queue.master != NOWHERE


STRATEGIES: dict[str, Callable[[Queue], bool]] = {
    "all": lambda queue: True,
    "even": lambda queue: len(queue.members) % 2 == 0,
}
"""The queues that grow: all, or those with an even number of members."""


def grow(turn: Turn, node: int, strategy: str, pattern: str) -> None:
    """Run `rabbitmq-queues grow`: add a member at `node` to each queue whose name matches and that has none there."""
    growing = []
    for name in turn.queue_names():
        queue = turn.queues[name]
        _, short = split_queue(name)
        known = changes_with_all(turn, queue) and not is_absent(queue)
        missing = known and node not in queue.members and turn.runs_anywhere(node)
        if missing and STRATEGIES[strategy](queue) and patterns.outcome(pattern, short) is Match.YES:
            growing.append(name)
    for name in changing(turn, growing, node, AddReplica):
        add_member(turn, name, node)


def shrink(turn: Turn, node: int) -> None:
    """Run `rabbitmq-queues shrink`: remove the member at `node` from every queue that has another member."""
    shrinking = [name for name in members_on(turn, node) if changes_with_all(turn, turn.queues[name])]
    for name in changing(turn, shrinking, node, DeleteReplica):
        delete_member(turn, name, node)


def changing(
    turn: Turn, names: list[str], node: int, request: Callable[[str, int], object], text: str = streams.UNAVAILABLE
) -> list[str]:
    """Return the queues of `names` that one command can change now.

    Streams are left out while their coordinator has no majority: the command waits for them, one after the other.
    """
    asked = tuple(request(name, node) for name in names if turn.queues[name].type == STREAM)
    wait = streams.awaits_coordinator(turn, turn.first_running(), asked, text)
    return [name for name in names if not wait or turn.queues[name].type == QUORUM]


def changes_with_all(turn: Turn, queue: Queue) -> bool:
    """Return True if commands on all queues change this queue's members."""
    return queue.type == QUORUM or (queue.type == STREAM and streams.profile_of(turn).grows)


def members_on(turn: Turn, node: int) -> list[str]:
    """Return the quorum queues and streams with a member at a node, as far as a running node has their records."""
    known = ((name, turn.queues[name]) for name in turn.queue_names())
    return [name for name, queue in known if queue.has_group and not is_absent(queue) and node in queue.members]


def forget(turn: Turn, node: int, *, fails: bool = False) -> None:
    """Remove a node that is, or is to be, no member of the cluster from every queue with a leader.

    `rabbitmqctl forget_cluster_node` shrinks all queues, and logs those that it cannot shrink; one release leaves
    quorum queues' members on record. Where the coordinator of streams has no majority, streams keep their replicas
    there and the command fails, though the node is no member any more. If the command `fails` for another reason, it
    reports that alone.
    """
    loses = {
        STREAM: streams.has_streams(turn) and streams.profile_of(turn).forgets,
        QUORUM: QUORUM_PROFILES[turn.settings.profile.version].shrinks_as_forgetting,
    }
    if fails and not streams.coordinates(turn, turn.first_running()):
        loses[STREAM] = False
    losing = [name for name in members_on(turn, node) if loses[turn.queues[name].type]]
    for name in changing(turn, losing, node, DeleteReplica, forget_fails(turn, node)):
        hosting.remove_member_of_forgotten(turn, turn.groups.own(name), node)


def forget_fails(turn: Turn, node: int) -> str:
    """Return the error of `forget_cluster_node` where the coordinator of streams is not available.

    Up to 4.0 the tool fails unless the coordinator answers.
    """
    if turn.settings.profile.version != "4.3":
        return DELETE_UNAVAILABLE
    name = turn.settings.names[node]
    return f"RabbitMQ failed to shrink some entities on node {name} : Streams, Stream coordinator"


def force_shrink(turn: Turn, node: int) -> None:
    """Make each quorum queue's member on a node its only one, which leads.

    What only the other members had committed is lost, and none of them is started again
    (`force_all_queues_shrink_member_to_current_member`, 3.12).
    """
    settings, cause = turn.settings, turn.because
    if not turn.runs_anywhere(node):
        turn.refuse(None, f"node '{settings.names[node]}' is not running")
    elif not QUORUM_PROFILES[settings.profile.version].shrinks_by_force:
        turn.refuse(None, f"undef: RabbitMQ {settings.profile.release} has no {FORCE_SHRINK}")
    else:
        for name in members_on(turn, node):
            if turn.queues[name].type == QUORUM and hosts(turn, turn.groups[name], node):
                turn.because = turn.emit("shrunk_by_force", because=cause, node=node, queue=name)
                inputs.stand_alone(turn, name, node)


def transfer(turn: Turn, name: str, node: int) -> None:
    """Ask a member to stand for election as leader.

    The leader refuses what is impossible. For a stream it is a preference, which a node without a replica does not
    fulfil.
    """
    queue = turn.queues[name]
    if queue.type == STREAM and not streams.profile_of(turn).moves_leaders:
        release = turn.settings.profile.release
        turn.refuse(None, f"{described(name)} is a stream, whose leader nothing moves in {release}: from 3.13 on")
    elif not turn.runs_anywhere(node):
        turn.refuse(None, f"node '{turn.settings.names[node]}' is not running")
    elif awaits_coordinator(turn, queue, RestartStream(name, node)):
        return
    elif is_led(turn, queue) and not (queue.type == STREAM and node not in set(queue.members) - {queue.master}):
        if queue.type == QUORUM and lags(turn, queue, node):
            turn.refuse(None, "not_up_to_date")
        else:
            inputs.ask_leader(turn, name, queue.master, TransferLeadership(node))


def lags(turn: Turn, queue: Queue, node: int) -> bool:
    """Return True if a leader refuses to hand over to a member because it lags.

    A member lags if the leader has not sent it all entries, or is sending it a snapshot.
    """
    leader = turn.groups[queue.name].members[queue.master]
    peer = next((one for one in leader.peers if one.id == node), None)
    if peer is None or not QUORUM_PROFILES[turn.settings.profile.version].spares_laggards:
        return False
    return peer.receiving or not is_sent_all(leader.last_index, peer.match_index)


def drain(turn: Turn, node: int) -> None:
    """Stop a drained node's members of quorum queues.

    Leaders stop only if another running node is not drained
    (`rabbit_maintenance:primary_replica_transfer_candidate_nodes`). Followers do not stop in 3.8.9. In 4.3 they stop
    once the node has asked each other member for the new leader.
    """
    profile = turn.settings.profile
    members = {name: group.members[node] for name, group in sorted(turn.groups.items())
               if node in group.members and name != STORE and not streams.is_stream(turn, name)}  # fmt: skip
    leads = [name for name, member in members.items() if member.role == LEADER]
    follows = tuple(name for name in members if name not in leads) if profile.drain_stops_members else ()
    if not any(other != node and not turn.nodes[other].drained for other in turn.running()):
        leads = []
    wait_us = sum(asks_who_leads_us(turn, turn.groups[name], node) for name in leads)
    for name in leads:
        stop_member(turn, turn.groups.own(name), node)
    event = FollowersStop(node, turn.nodes[node].boots, follows)
    if not profile.drain_awaits_elections:
        for name in follows:
            stop_member(turn, turn.groups.own(name), node)
    elif follows:
        turn.schedule(wait_us, event)


def asks_who_leads_us(turn: Turn, group: Group, node: int) -> int:
    """Return how long a node that has stopped a leader waits until the other members name the new one.

    It asks them one after the other. With a majority of them the election counts as over at once; otherwise each
    running one takes its whole time-out. In microseconds.
    """
    others = [other for other in group.members if other != node and hosts(turn, group, other)]
    return 0 if len(others) >= majority(len(group.members)) else len(others) * WHO_LEADS_US


def stop_followers(turn: Turn, event: FollowersStop) -> None:
    """Stop followers on a node that is still drained."""
    node = turn.nodes[event.node]
    here = [name for name in event.queues if name in turn.groups and event.node in turn.groups[name].members]
    if here and node.drained and node.boots == event.boots and turn.runs_anywhere(event.node):
        cause = turn.because
        for name in here:
            turn.because = turn.emit("follower_stopped", because=cause, node=event.node, queue=name)
            stop_member(turn, turn.groups.own(name), event.node)


def revive(turn: Turn, node: int) -> None:
    """Start the members again that a drain stopped."""
    for name, group in sorted(turn.groups.items()):
        if group.stopped >> node & 1:
            member_up(turn, turn.groups.own(name), node)


def lose_disk(turn: Turn, node: int) -> None:
    """Remove the logs of all members on a node from its disk."""
    for name, group in sorted(turn.groups.items()):
        if node in group.members and (name == STORE or turn.queues.get(name) is not None):
            hosting.lose_member(turn, turn.groups.own(name), node)
