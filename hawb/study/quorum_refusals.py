"""The reasons why a compiled search refuses a moment of a quorum queue; then the engine searches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from hawb.engine.core import events, operations, runs
from hawb.engine.core.moment import Moment
from hawb.engine.core.settings import Settings
from hawb.engine.core.state import NOWHERE, STREAM, Queue, State
from hawb.engine.quorum.fifo_state import Enqueuer, Fifo
from hawb.engine.raft_groups import events as raft_events
from hawb.engine.raft_groups.group import STORE, Group, Proposal
from hawb.raft.log import NOOP
from hawb.raft.member import NOWHERE as NO_MEMBER
from hawb.raft.messages import AppendEntries, InstallSnapshot, TryBecomeLeader
from hawb.rules.limits import is_roomy
from hawb.rules.quorum_profiles import QUORUM_PROFILES
from hawb.study import search_refusals
from hawb.study.kernel import quorum_links, quorum_search_state, quorum_state, state
from hawb.study.kernel.search_state import MOST_GIVEN, MOST_NODES, MOST_PIECES, MOST_UNCONFIRMED, PUBLISHED_BYTES
from hawb.study.search_refusals import is_own, queues

link_bit, with_node = (
    getattr(function, "py_func", function) for function in (quorum_links.link_bit, quorum_search_state.with_node)
)
"""Functions that only compiled functions call, as Python."""
STANDING = "standing"
"""The command of the entry that holds the messages that a queue has from the start."""
CHANGED = "metadata"
"""The command of the entry of a change of the metadata."""
MORE = 200
"""More entries than a search adds to a log."""
CHANNEL_MODE = (True, False)
"""The mode of a search's channels: they confirm and have no transactions."""
PLANNED: dict[type, Callable[[Any], tuple]] = {
    **{kind: search_refusals.PLANNED[kind] for kind in (
        events.ShutDown, events.Stopped, events.NodeGoneNoticed, events.BootAttempt, events.BootGivesUp,
        events.LookAround, events.PolicyTakesEffect, events.ConfirmsDue, events.LinksTimeOut,
    )},
    operations.Publish: lambda event: (state.PUBLISH, 1, event.node),
    raft_events.RaftArrives: lambda event: (
        quorum_state.RAFT_ARRIVES, event.node, event.message.source, event.message.kind, event.message.term,
    ),
    raft_events.RaftWritten: lambda event: (quorum_state.RAFT_WRITTEN, event.node, event.boot),
    raft_events.ElectionDue: lambda event: (quorum_state.ELECTION_DUE, event.node),
    raft_events.LeaderElected: lambda event: (quorum_state.LEADER_ELECTED, event.node),
    raft_events.MajorityReached: lambda event: (quorum_state.MAJORITY_REACHED, event.node),
    raft_events.LogCut: lambda event: (quorum_state.LOG_CUT,),
    raft_events.MembersAbreast: lambda event: (quorum_state.MEMBERS_ABREAST,),
    raft_events.RegistrationGivenUp: lambda event: (quorum_state.REGISTRATION_GIVEN_UP, event.number),
    events.MetadataAvailable: lambda event: (quorum_state.METADATA_AVAILABLE,),
    raft_events.LinksSuspected: lambda event: (
        quorum_state.LINKS_SUSPECTED, sum(link_bit(a, b) for a, b in event.links),
    ),
}  # fmt: skip
"""The events that may be planned: for each its kind and its numbers."""


BESIDE_KHEPRI = (
    raft_events.RaftArrives, raft_events.RaftWritten, raft_events.ElectionDue, raft_events.LeaderElected,
    raft_events.MajorityReached, raft_events.LogCut, raft_events.LinksSuspected, events.MetadataAvailable,
)  # fmt: skip
"""Those of them that may be planned in a cluster with Khepri and a classic queue."""


def numbers_of(event: Any) -> tuple:
    """Return a planned event as its kind and its numbers; the metadata store's events have kinds of their own."""
    kind, *about = PLANNED[type(event)](event)
    return kind + quorum_state.OF_STORE * (getattr(event, "queue", None) == STORE), *about


def the_group(now: State) -> Group:
    """Return the queue's Raft group."""
    return next(group for name, group in now.groups.items() if name != STORE)


def logs(now: State, group: Group) -> Iterator[tuple]:
    """Yield the entries in all logs of a group, and in messages to them."""
    yield from (member.log.runs for member in group.members.values())
    yield from (message.entries for message in messages(now, group) if isinstance(message, AppendEntries))


def messages(now: State, group: Group) -> Iterator[Struct]:
    """Return the messages that are on their way between a group's members."""
    sent = (entry[-1] for entry in now.agenda if isinstance(entry[-1], raft_events.RaftArrives))
    return (event.message for event in sent if event.queue == group.name)


def proposals(now: State) -> Iterator[Proposal]:
    """Yield the clients' commands that wait or are in logs, committed or not."""
    group = the_group(now)
    yield from group.waiting
    yield from (run.command for run in chain.from_iterable(logs(now, group)) if isinstance(run.command, Proposal))


def is_odd(queue: Queue) -> bool:
    """Return True if a search does not play a queue of this kind, or with these settings."""
    settings = queue.quorum_settings
    ages = settings.message_ttl_ms is not None or settings.expires_ms is not None
    return ages or bool(queue.consumers or queue.unacknowledged or queue.redelivered or queue.pending_settings)


def is_near_limit(now: State) -> bool:
    """Return True if a search could publish enough for the queue to get near its limit."""
    queue = next(queues(now))
    count = MOST_PIECES + runs.size(queue.content)
    sizes = [PUBLISHED_BYTES, *(batch.size_bytes for batch in queue.batches)]
    return not is_roomy(queue.quorum_settings, count, count * max(sizes))


def plain(fifo: Fifo) -> Fifo:
    """Return a state machine without the parts that a search knows."""
    return replace(fifo, enqueuers=(), moved=(), roomy=True, levels=1, used_us=0, led_from_us=0)


def is_clients(channel: tuple) -> bool:
    """Return True if a search publishes over this channel."""
    return channel[0] == "default" and channel[2] == CHANNEL_MODE


def knows_oddly(now: State) -> bool:
    """Return True if the queue's state machine has more than publishes cause."""
    known = [one for queue in queues(now) for one in queue.fifo.enqueuers]
    strange = any(one != Enqueuer(one.channel, from_us=one.from_us) or one.from_us > now.time_us for one in known)
    asked = [channel for channel, _ in the_group(now).asked]
    others = not all(map(is_clients, [*asked, *(one.channel for one in known)]))
    return strange or others or any(plain(queue.fifo) != Fifo() for queue in queues(now))


def is_grouped_oddly(now: State) -> bool:
    """Return True if the group has an unusual membership.

    It has other members than it began with, lacks one whose disk was not lost, or only disks have its record.
    """
    group, queue = the_group(now), next(queues(now))
    known = all(len(member.log.configurations) == 1 and member.members == queue.members
                for member in group.members.values())  # fmt: skip
    hands_over = any(member.transferring_to != NO_MEMBER for member in group.members.values())
    there = {node for node in queue.members if not now.nodes[node].virgin}
    return not known or hands_over or set(group.members) != there or any(
        one.members != queue.members or one.absent for one in queues(now)
    )  # fmt: skip


def is_store_odd(now: State) -> bool:
    """Return True if the metadata store has other members than all nodes, or more in its log than changes as such.

    Or if its events come after those of the queue, whose name sorts before the store's.
    """
    group = now.groups.get(STORE)
    if group is None:
        return False
    every_node = set(range(len(now.nodes)))
    joined = {node for node, value in enumerate(now.nodes) if not value.virgin}
    membership_changed = any(
        set(member.members) != every_node or len(member.log.configurations) > 1 or member.snapshot_index
        or member.transferring_to != NO_MEMBER for member in group.members.values()
    )  # fmt: skip
    only_changes = all(run.command in (NOOP, CHANGED) for run in chain.from_iterable(logs(now, group)))
    other_messages = any(isinstance(message, InstallSnapshot | TryBecomeLeader) for message in messages(now, group))
    named_before = any(name < STORE for name in now.groups)
    others = set(group.members) != joined or group.waiting or other_messages or named_before
    return bool(membership_changed or others or not only_changes)


def may_be_cut(now: State, settings: Settings) -> bool:
    """Return True if logs have been truncated, or could be.

    The log of a queue that is not empty can be truncated only at an index that is known by now.
    """
    group, queue = the_group(now), next(queues(now))
    cut = any(member.snapshot_index for member in group.members.values())
    last = max((member.last_index for member in group.members.values()), default=0)
    least = QUORUM_PROFILES[settings.profile.version].least_cut
    empties = not queue.contents[queue.holder] and last + MORE > least
    return cut or empties or bool(group.places or group.cut_at)


def is_known_command(command: object) -> bool:
    """Return True if a search knows an entry's command."""
    if isinstance(command, Proposal):
        return is_own_proposal(command)
    return command in (NOOP, STANDING)


def is_own_proposal(asked: Proposal) -> bool:
    """Return True if a search would propose a command like this."""
    operation = asked.operation
    if isinstance(operation, operations.NodeSuspected):
        return asked.node == NOWHERE
    order = operations.Enqueue(
        operation.queue, operation.node, "default", count=runs.size(asked.numbers), size_bytes=PUBLISHED_BYTES,
        persistent=True, numbers=asked.numbers, mode=CHANNEL_MODE,
    )  # fmt: skip
    return operation == order


def waits_oddly(now: State) -> bool:
    """Return True if an event is planned, or an operation waits, that a search does not know."""
    published = [one.operation for one in now.awaiting_registration]
    published += [entry[-1] for entry in now.agenda if isinstance(entry[-1], operations.Publish)]
    waiting = any(queue.waiting for queue in queues(now)) or bool(now.waiting_changes)
    several = any(runs.size(asked.numbers) > 1 for asked in the_group(now).waiting)
    strange = any(type(entry[-1]) not in PLANNED for entry in now.agenda)
    return waiting or several or strange or not all(map(is_own, published))


def is_logged_oddly(now: State) -> bool:
    """Return True if logs or messages have content that a search does not put there."""
    group = the_group(now)
    commands = [run.command for run in chain.from_iterable(logs(now, group))]
    pieces = any(run.offset for run in chain.from_iterable(logs(now, group)))
    strange = any(isinstance(message, InstallSnapshot | TryBecomeLeader) for message in messages(now, group))
    waiting = map(is_own_proposal, group.waiting)
    return pieces or strange or not all(map(is_known_command, commands)) or not all(waiting)


def is_promised_oddly(now: State) -> bool:
    """Return True if channels have other unconfirmed messages than a search causes."""
    several = any(len(one.shares) > 1 or one.transaction or one.publisher is not None for one in now.unconfirmed)
    shares = [share for one in now.unconfirmed for share in one.shares]
    asked = any(len(share.due_us) != 1 or share.due_us[0][0] != NOWHERE or share.answered for share in shares)
    return several or asked or any(runs.size(share.numbers) != 1 for share in shares)


def cuts(moment: Moment) -> list[int]:
    """Return the first numbers of all pieces, and the number after the last.

    Each set of messages consists of whole pieces.
    """
    found = set(search_refusals.cuts(moment))
    sets = [asked.numbers for asked in proposals(moment.state)]
    for queue in queues(moment.state):
        found.update(behind + 1 for behind, _ in queue.fifo.moved)
        sets += [queue.pending, *(these for _, these in queue.fifo.moved)]
    for first, last in chain.from_iterable(sets):
        found.update((first, last + 1))
    return sorted(found)


def entries(now: State) -> dict[tuple[int, int], tuple[int, object]]:
    """Return the entries of the queue's logs without no-ops: by term and first index the last one, and the command."""
    found: dict[tuple[int, int], tuple[int, object]] = {}
    for run in chain.from_iterable(logs(now, the_group(now))):
        if run.command != NOOP:
            had = found.get((run.term, run.first), (0, None))[0]
            found[run.term, run.first] = max(had, run.last), run.command
    return found


def is_too_much(moment: Moment) -> bool:
    """Return True if a row is too small for a moment."""
    now, group = moment.state, the_group(moment.state)
    return (
        len(cuts(moment)) - 1 > MOST_GIVEN
        or len(now.agenda) > quorum_search_state.MOST_PLANNED
        or len(now.unconfirmed) > MOST_UNCONFIRMED
        or max(len(group.waiting), len(now.awaiting_registration)) > quorum_search_state.MOST_ASKED
        or any(len(queue.fifo.moved) > quorum_search_state.MOST_MOVED for queue in queues(now))
        or len(entries(now)) > quorum_search_state.MOST_ENTRIES // 2
        or has_too_many_terms(now)
    )  # fmt: skip


def has_too_many_terms(now: State) -> bool:
    """Return True if the logs of a group have entries of more terms than fit into a row."""
    most = quorum_search_state.MOST_TERMS // 2
    return any(max(terms(now, one)) - min(terms(now, one)) > most for one in now.groups.values())


def terms(now: State, group: Group) -> set[int]:
    """Return the terms of all entries of a group; without entries the term before the first."""
    return {run.term for run in chain.from_iterable(logs(now, group))} or {0}


STORE_IS_ODD = "a metadata store whose members or log have changed, or a queue named before it"
SHARED = (
    f"more than {MOST_NODES} nodes", "nodes in another order than that of their names",
    "no queue or several, or policies that only some know", "clients", "alarms",
    "nodes that are no members, or to boot alone", "transient messages", "messages of many kinds",
    "connections of several names", "links cut one after the other",
)  # fmt: skip
REFUSALS: dict[str, Callable[[Moment, Settings], bool]] = {
    **{reason: search_refusals.REFUSALS[reason] for reason in SHARED},
    "streams": lambda moment, _: any(queue.type == STREAM for queue in queues(moment.state)),
    STORE_IS_ODD: lambda moment, _: is_store_odd(moment.state),
    "a soft limit that channels could reach": lambda _, settings: (
        settings.quorum_commands_soft_limit <= quorum_search_state.MOST_ASKED
    ),
    "consumers, lives or changed settings": lambda moment, _: any(map(is_odd, queues(moment.state))),
    "limits that the queue could come near": lambda moment, _: is_near_limit(moment.state),
    "what the queue's state machine knows": lambda moment, _: knows_oddly(moment.state),
    "members that join, leave or hand over": lambda moment, _: is_grouped_oddly(moment.state),
    "logs that have been cut, or may be": lambda moment, settings: may_be_cut(moment.state, settings),
    "what is planned, or waits": lambda moment, _: waits_oddly(moment.state),
    "the entries of logs": lambda moment, _: is_logged_oddly(moment.state),
    "messages that wait to be confirmed": lambda moment, _: is_promised_oddly(moment.state),
    "so many pieces of messages, or so much that waits": lambda moment, _: is_too_much(moment),
}  # fmt: skip
"""The reasons why the compiled search refuses a moment, in order of precedence, and their conditions."""
KHEPRI_REFUSALS: dict[str, Callable[[Moment, Settings], bool]] = {
    **search_refusals.REFUSALS, STORE_IS_ODD: REFUSALS[STORE_IS_ODD],
    "what is planned, or waits": lambda moment, _: (
        search_refusals.waits_oddly(moment.state, BESIDE_KHEPRI) or bool(moment.state.waiting_changes)
    ),
    "more terms of the metadata store than fit": lambda moment, _: has_too_many_terms(moment.state),
}  # fmt: skip
"""The same for a moment of a classic queue in a cluster with Khepri."""
