"""The story of an incident in sentences, each with the lines of the logs that show it.

Events of one kind, on many queues or nodes, within a short time share a sentence. So do preparations of a cluster
(boots, policies, mirrors), until a main event comes in between. An event here is a `ClusterEvent`, which one or more
log events show.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from hawb.incident.cluster_event import ClusterEvent
from hawb.incident.events import Event
from hawb.views.formatting import counted, listing, shown
from hawb.views.incident.names import Names
from hawb.views.incident.reasons import boot_why, in_words, is_informative
from hawb.views.incident.times import lasted

MINOR_US, REPEATED_US, CRASH_LOOP_US, LONG_US = 3_000_000, 60_000_000, 900_000_000, 2_000_000
"""The time within which events of one kind share a sentence, in microseconds.

The second value is for processes that crash repeatedly, the third for nodes that boot repeatedly. A sentence that spans
more than the fourth says so.
"""
MOST_NAMES, FEW_LETTERS = 3, 24
STORY = 2
AWAY = ("node_stopped", "node_killed", "node_paused", "node_gone", "boot_failed")
LEADS = ("mirror_promoted", "leader_elected", "queue_declared", "queue_moved")
"""Kinds of events after which the queue's master or leader is on the node."""
LOST, ENDANGERED = "messages_lost", "messages_endangered"
"""Kinds that come from RabbitMQ's rules, not from a log: `hawb.views.incident.lost_messages`."""
LATER, NEEDLESS, STOPPED = "node_back", "synchronisation_needless", "synchronisation_stopped"
"""Kinds with sentences of their own.

They are the boot of a node that had gone down (the cluster's first boot is another kind), a synchronisation of no
mirror, and a synchronisation that ended early.
"""


class Words(Struct, frozen=True):
    """The sentence for a kind of event, with the look of its mark, a few words for the picture, and its weight.

    A weight of 0 is a preparation, 1 accompanies something, 2 is a main event.
    """

    look: str
    sentence: str
    short: str = ""
    weight: int = 1
    within_us: int = MINOR_US


WORDS: Mapping[str, Words] = {
    "node_started": Words("started", "{nodes} booted{release}.", "", 0),
    LATER: Words("started", "{nodes} booted again{took}.", "back", 2),
    "node_stopped": Words("stopped", "{nodes} {was} asked to stop.", "asked to stop", 2),
    "node_killed": Words("killed",
                         "{nodes} ended without a shutdown: killed, crashed, or without power{why}.", "killed",
                         2),
    "node_paused": Words("paused", "{by}.", "paused", 2),
    "boot_failed": Words("crashed", "{nodes} failed to boot{times}{boot_why}.", "fails to boot", 2, CRASH_LOOP_US),
    "boot_error": Words("crashed", "{nodes} logged a boot error{boot_why}.", "error of booting", 2,
                        CRASH_LOOP_US),
    "clusters_apart": Words("missed", "{others} formed {count_of_clusters} clusters: each found no other node to join.",
                            "a cluster of its own", 2),
    "data_corrupt": Words("lost", "{nodes} found damaged data on its disk{of_what}{why}.", "damaged data", 2,
                          REPEATED_US),
    "store_crashed": Words("crashed", "{nodes}: the member of the metadata store crashed{times}{why}.",
                           "metadata store crashes", 2, REPEATED_US),
    "queue_crashed": Words("crashed", "{nodes}: the process of {a_queue} crashed{times}{why}.", "queue crashes", 2,
                           REPEATED_US),
    "coordinator_failed": Words("crashed", "{nodes}: the stream coordinator failed{times}{why}.",
                                "stream coordinator fails", 2, REPEATED_US),
    "stream_failed": Words("crashed", "{nodes}: a replica of {a_stream} failed{times}{why}.", "stream replica fails", 2,
                           REPEATED_US),
    "application_ended": Words("crashed", "{nodes}: the application {name} ended by itself{why}.", "application ends",
                               2),
    "member_not_started": Words("dropped", "{nodes} did not start its member of a quorum queue{why}.",
                                "member not started", 2, REPEATED_US),
    "group_not_formed": Words("dropped", "{nodes} could not start the members of a new quorum queue, {name}.",
                              "queue not formed", 2),
    "cookie_refused": Words("missed", "{nodes} refused a connection of {name}: their Erlang cookies differ.",
                            "another cookie", 2, REPEATED_US),
    "disk_full": Words("lost", "{nodes} could not write to its disk{why}.", "disk full", 2, REPEATED_US),
    "files_exhausted": Words("crashed", "{nodes} could not open more files{why}.", "too many files", 2, REPEATED_US),
    "erlang_ended": Words("killed", "{nodes}: the Erlang VM ended by itself{boot_why}.", "Erlang ends", 2),
    "vhost_down": Words("noted", "{nodes}: clients were refused the virtual host {name}{times}: it does not run"
                                 " there.", "virtual host down", 2, REPEATED_US),
    "operation_failed": Words("noted", "{nodes}: {operations} failed with an internal error{why}.",
                              "operations fail", 2, REPEATED_US),
    "flag_not_enabled": Words("dropped", "{nodes} could not enable {a_flag}{why}.", "feature flag", 2, REPEATED_US),
    "discovery_failed": Words("missed", "{nodes} could not use peer discovery{times}{why}.", "peer discovery fails", 2,
                              REPEATED_US),
    "queue_unavailable": Words("noted", "{nodes}: clients were refused {a_queue}{times}: no process of it runs{why}.",
                               "queue out of use", 2, REPEATED_US),
    "operation_timed_out": Words("noted", "{nodes}: {operations} timed out{why}.", "operations time out", 2,
                                 REPEATED_US),
    "consumer_timed_out": Words("noted", "{nodes}: consumers of {a_queue} timed out{times}: they did not"
                                         " acknowledge in time, and their channels were closed.",
                                "consumers time out", 2, REPEATED_US),
    "process_crashed": Words("crashed", "{nodes}: a process{of_process} crashed{times}{why}.", "process crashes", 2,
                             REPEATED_US),
    "node_gone": Words("killed", "The other nodes lost {nodes}; {its} own log is missing.", "gone",
                       2),
    "node_waiting": Words("noted", "{nodes} waited for other nodes to boot.", "waits for others", 2),
    "disk_lost": Words("lost", "{nodes} booted on an empty database: {its} disk was lost.", "disk lost", 2),
    "node_drained": Words("noted", "{nodes} {was} put into maintenance mode.", "drained"),
    "node_revived": Words("noted", "{nodes} came back from maintenance mode.", "revived"),
    "node_joined": Words("noted", "{nodes} joined the cluster.", "joins"),
    "node_forgotten": Words("dropped", "{nodes} {was} removed from the cluster.", "forgotten", 2),
    "node_reset": Words("lost", "{nodes} left the cluster and emptied {its} database.", "reset", 2),
    "partition_begun": Words("missed", "{sides} did not see each other{apart}.", "", 2),
    "partition_healed": Words("met", "{sides} saw each other again.", "seen again", 2),
    "partition_found": Words("missed", "{sides} found that they had been partitioned; no log says since when.",
                             "found apart", 2),
    "autoheal": Words("noted", "Autoheal chose: {nodes} won, and {others} had to restart.", ""),
    "autoheal_refused": Words("noted", "Autoheal gave up{why}.", "autoheal gives up"),
    "mirror_added": Words("added", "{queues} got {mirrors} on {nodes}.", "{few}", 0),
    "mirror_dropped": Words("dropped", "{queues} dropped the mirror on {nodes}.", "{few}"),
    "mirror_promoted": Words("promoted", "{nodes} took over {queues}: {its} {mirror_became}.", "{few}", 2),
    "mirror_failed": Words("dropped", "No mirror of {queues} could be started on {nodes}{why}.", "{few}"),
    "mirrors_stopped": Words("halted", "{queues} went down with {the_master} on {nodes}: no mirror was synchronised.",
                             "{few}", 2),
    "queue_stale": Words(
        "noted", "A replica of {queues} on {nodes} found a dead master or mirror in the queue's record.", "", 0
    ),
    "synchronisation": Words("synced", "{queues}: {synchronised}.", "{few}"),
    NEEDLESS: Words("noted", "{queues}: no mirror needed a synchronisation.", "", 0),
    STOPPED: Words("unsynced", "{queues}: {synchronised}.", "{few}", STORY),
    "leader_elected": Words("elected", "{nodes} was elected to lead {queues}{term}.", "{few}", 2),
    "store_leader_elected": Words("noted", "The metadata store elected {nodes}.", "", 0),
    "leader_left": Words("noted", "{nodes} stepped down from leading {queues}.", "{few}"),
    "queue_declared": Words("noted", "{queues} {were} declared, led by {nodes}.", "{few}", 0),
    "queue_deleted": Words("dropped", "{queues} {were} deleted.", "{few}", 2),
    "member_added": Words("added", "{queues} got a member on {nodes}.", "{few}"),
    "member_removed": Words("dropped", "{queues} lost the member on {nodes}.", "{few}", 2),
    "member_change_failed": Words("dropped", "The member of {queues} on {nodes} could not be changed{why}.", "{few}"),
    "member_anew": Words("lost", "{nodes} found no member of {queues} on {its} disk, and started a new one.", "{few}",
                         2),
    "messages_dropped": Words("lost", "{queues} on {nodes} recovered without {count} that {had} on record: lost,"
                                      " or consumed before.", "{few}", 2),
    "queue_shrunk": Words("lost", "{everything} shrunk by force to the member on {nodes}.", "cut by force", 2),
    "queue_moved": Words("promoted", "The leader of {queues} was moved to {nodes}.", "{few}"),
    "queue_restarted": Words("crashed", "The process of {queues} on {nodes} crashed and was restarted{times}.",
                             "{few}", 2, REPEATED_US),
    "queues_deleted": Words("dropped", "The transient queues of {nodes} were deleted.", "transient queues", 2),
    "queue_forced": Words("dropped", "{queues} {were} deleted by force.", "{few}", 2),
    "vhost_failed": Words("lost", "The messages of virtual host {name} could not be recovered on {nodes}.", "vhost", 2),
    "vhost_deleted": Words("dropped", "The virtual host {name} was deleted.", "", 2),
    "alarm_set": Words("alarm", "{nodes} ran short of {name}{blocked}.", "{name}", 2),
    "alarm_cleared": Words("noted", "{nodes} had enough {name} again.", "{name} again"),
    "policy_set": Words("noted", "{policies} set.", "", 0),
    "rebalanced": Words("noted", "Queue leaders were rebalanced.", ""),
    LOST: Words("lost", "", weight=STORY),
    ENDANGERED: Words("endangered", "", weight=STORY),
}  # fmt: skip
"""The sentence of each kind. Kinds that are missing here are consequences of others and are left out."""

BY = {"pause": "{nodes} paused: {it} {was} in a minority", "autoheal": "Autoheal restarted {nodes}"}
"""The reasons for which a broker stops by itself."""


class Sentence(Struct, frozen=True):
    """A sentence of the story with its number, from 1.

    `at_us` and `last_us` are the times of its first and last event, `until_us` is when it was over, `short` has a few
    words for a picture, and `moments` the time at each node.
    """

    number: int
    kind: str
    at_us: int
    last_us: int
    until_us: int
    text: str
    short: str
    moments: Mapping[str, int]
    queues: tuple[str, ...]
    events: tuple[Event, ...]

    @property
    def words(self) -> Words:
        """Return the words of its kind."""
        return WORDS[self.kind]


Together = tuple[str, list[ClusterEvent]]
"""A kind, and the events that share a sentence."""


def sentences(
    cluster_events: Sequence[ClusterEvent], names: Names, before: Sequence[ClusterEvent] = ()
) -> list[Sentence]:
    """Return the story of an incident in order of time; `before` are earlier events, which are not in the story."""
    gone = {one.node for one in before if one.kind in AWAY}
    alike = [part for fold in _folds(cluster_events, gone) for part in _alike(*fold)]
    ordered = sorted(alike, key=lambda part: part[1][0].at_us)
    return [_sentence(number, kind, part, names) for number, (kind, part) in enumerate(ordered, 1)]


def _folds(cluster_events: Sequence[ClusterEvent], gone: set[str | None]) -> Iterator[Together]:
    """Yield events of one kind that are close enough to share a sentence.

    A main event ends all groups of preparations. `gone` are the nodes that have been down.
    """
    open_: dict[tuple[object, ...], Together] = {}
    declared: dict[tuple[str | None, str | None], list[int]] = {}
    for one in cluster_events:
        if one.kind == "queue_declared":
            declared.setdefault((one.queue, one.node), []).append(one.at_us)
    for one in cluster_events:
        kind = _kind(one, gone)
        if kind in AWAY:
            gone.add(one.node)
        if kind not in WORDS or (kind == "leader_elected" and _as_declared(one, declared)):
            continue
        if WORDS[kind].weight == STORY:
            yield from [open_.pop(key) for key, (other, _) in [*open_.items()] if not WORDS[other].weight]
        key = kind, *_apart(one, WORDS[kind].weight)
        if key in open_ and WORDS[kind].weight and one.at_us - open_[key][1][-1].at_us > WORDS[kind].within_us:
            yield open_.pop(key)
        open_.setdefault(key, (kind, []))[1].append(one)
    yield from open_.values()


def _kind(one: ClusterEvent, gone: set[str | None]) -> str:
    """Return the kind of sentence for an event, from what happened before and how it ended."""
    if one.kind == "node_started" and one.node in gone:
        return LATER
    if one.kind == "synchronisation" and one.reason != "done":
        return NEEDLESS if one.reason == "needless" else STOPPED
    return one.kind


def _apart(one: ClusterEvent, weight: int) -> tuple[object, ...]:
    """Return a key that differs for events of one kind that must not share a sentence."""
    if one.kind == "store_leader_elected":
        return (one.term,)
    if one.kind == "synchronisation":
        return (one.reason, one.nodes)
    if one.queue is not None:
        return (one.node,) if weight == STORY else ()
    return (one.name, one.reason, one.nodes) if weight else ()


def _as_declared(one: ClusterEvent, declared: Mapping[tuple[str | None, str | None], Sequence[int]]) -> bool:
    """Return True if an election is a queue's first, which belongs to its declaration.

    `declared` has the times of declarations by queue and node.
    """
    return any(abs(at_us - one.at_us) <= MINOR_US for at_us in declared.get((one.queue, one.node), ()))


def _alike(kind: str, fold: Sequence[ClusterEvent]) -> Iterator[Together]:
    """Yield events that fit in one sentence: the same queues on several nodes, or several queues on one node."""
    queues: dict[str | None, dict[str, None]] = {}
    for one in fold:
        queues.setdefault(one.node, {}).update({one.queue: None} if one.queue else {})
    parts: dict[tuple[str, ...], list[ClusterEvent]] = {}
    part_of = {node: parts.setdefault(tuple(sorted(names)), []) for node, names in queues.items()}
    for one in fold:
        part_of[one.node].append(one)
    yield from ((kind, part) for part in parts.values())


def _sentence(number: int, kind: str, part: Sequence[ClusterEvent], names: Names) -> Sentence:
    words, fields = WORDS[kind], _fields_of(part, names)
    at_us, until_us = part[0].at_us, max(one.until_us or one.at_us for one in part)
    text = words.sentence.format_map(fields)
    if part[-1].at_us - at_us > LONG_US:
        text = f"{text[:-1]}, the last at {names.time(part[-1].at_us)}."
    moments: dict[str, int] = {}
    for one in part:
        for node in [one.node] if one.node else one.nodes:
            moments.setdefault(node, one.at_us)
    return Sentence(number, kind, at_us, part[-1].at_us, until_us, text, words.short.format_map(fields), moments,
                    tuple(dict.fromkeys(one.queue for one in part if one.queue)),
                    tuple(dict.fromkeys(event for one in part for event in one.events)))  # fmt: skip


def _fields_of(part: Sequence[ClusterEvent], names: Names) -> dict[str, str]:
    """Return the words that sentences may contain."""
    first = part[0]
    nodes = [*dict.fromkeys(names.node(one.node) for one in part if one.node)]
    queues = [*dict.fromkeys(shown(one.queue) for one in part if one.queue)]
    many, several = len(nodes) > 1, len(queues) > 1
    it = "they" if many else "it"
    return {
        "nodes": listing(nodes), "others": listing(map(names.node, first.nodes)), "queues": _many(queues),
        "was": "were" if many else "was", "its": "their" if many else "its", "it": it,
        "name": shown(first.name or ""), "few": listing(queues) if len(", ".join(queues)) <= FEW_LETTERS else (
            counted(len(queues), "queue")),
        "mirror_became": "mirrors became masters" if several else "mirror became the master",
        "count": counted(sum(one.count or 0 for one in part), "persistent message"),
        "had": "they had" if several else "it had", "the_master": "their masters" if several else "its master",
        "mirrors": "mirrors" if several or many else "a mirror",
        "were": "were" if several else "was",
        "everything": f"{_many(queues)} {'were' if several else 'was'}" if queues else "Every quorum queue was",
        "boot_why": boot_why(part, names),
        "count_of_clusters": "two" if first.count == 2 else str(first.count),
        "of_what": f" ({listing(queues)})" if queues else f" ({shown(first.name)})" if first.name else "",
        "a_queue": _many(queues) if queues else "a queue",
        "a_stream": f"the stream {shown(first.name)}" if first.name and first.name.startswith("__") else "a stream",
        "a_flag": f"the feature flag {shown(first.name)}" if first.name else "feature flags"
        + (f" while {listing(map(names.node, first.nodes))} did not run" if first.nodes else ""),
        "of_process": f" ({shown(first.name)})" if first.name else "",
        "operations": counted(sum(one.count or 0 for one in part), "operation") + " of clients",
        "why": f" ({in_words(first.reason, 'them' if many else 'it')})" if is_informative(first.reason) else "",
        "blocked": "s, and accepted no more connections" if first.name == "file descriptor"
        else ", and publishers were blocked everywhere",
        "by": _by(first, listing(nodes), it), "term": _term(part),
        "release": _release(part), "took": _took(first), "times": _times(part), "sides": _sides(first.pairs, names),
        "apart": f" for {lasted(first.until_us - first.at_us)}" if first.until_us else "",
        "synchronised": _synchronised(part, names), "policies": _policies(part),
    }  # fmt: skip


def _many(names: Sequence[str]) -> str:
    """Return the names, or their number and a short list."""
    return listing(names) if len(names) <= MOST_NAMES else f"{counted(len(names), 'queue')} ({listing(names)})"


def _by(one: ClusterEvent, nodes: str, it: str) -> str:
    return BY.get(one.name or "", BY["pause"]).format(nodes=nodes, it=it, was="were" if it == "they" else "was")


def _term(part: Sequence[ClusterEvent]) -> str:
    terms = {one.term for one in part if one.term is not None}
    return f" in term {terms.pop()}" if len(terms) == 1 else ""


def _release(part: Sequence[ClusterEvent]) -> str:
    releases = {one.name for one in part if one.name}
    return f" RabbitMQ {shown(releases.pop())}" if len(releases) == 1 else ""


def _took(one: ClusterEvent) -> str:
    if one.until_us is None:
        return ", and had not started by the end of its log"
    return f", which took {lasted(one.until_us - one.at_us)}"


def _times(part: Sequence[ClusterEvent]) -> str:
    count = max(Counter((one.node, one.queue) for one in part).values())
    if part[0].queue is None:
        return f" {counted(count, 'time')}" if count > 1 else ""
    return f", up to {count} times each" if count > 1 and len({one.queue for one in part}) > 1 else (
        f", {count} times" if count > 1 else "")  # fmt: skip


def _sides(pairs: Sequence[tuple[str, str]], names: Names) -> str:
    """Return the sides of a partition in words, from the pairs of nodes that did not see each other."""
    return sides_in_words(sides(pairs), names)


def sides_in_words(sides: Sequence[Sequence[str]], names: Names) -> str:
    """Return the sides of a partition in words: a on one side and b and c on the other."""
    groups = [listing(map(names.node, side)) for side in sides]
    if all(len(side) == 1 for side in sides):
        return listing(groups)
    return f"{groups[0]} on one side and {groups[1]} on the other" if len(groups) == 2 else " | ".join(groups)


def sides(pairs: Sequence[tuple[str, str]]) -> list[tuple[str, ...]]:
    """Return the sides of a partition from the pairs of nodes that did not see each other.

    Nodes are on one side if they did not see the same nodes.
    """
    nodes = sorted({node for pair in pairs for node in pair})
    of: dict[frozenset[str], list[str]] = {}
    for node in nodes:
        of.setdefault(frozenset(other for pair in pairs if node in pair for other in pair if other != node), []).append(
            node
        )
    return [tuple(side) for side in of.values()]


def _synchronised(part: Sequence[ClusterEvent], names: Names) -> str:
    """Return a clause about synchronisations: how many messages mirrors were sent, summed over all queues."""
    one = part[0]
    many = len(one.nodes) != 1 or len({each.queue for each in part}) > 1
    where = f" on {listing(map(names.node, one.nodes))}" if one.nodes else ""
    mirrors, sent = f"{'mirrors' if many else 'the mirror'}{where}", counted(sum(each.count or 0 for each in part))
    if one.reason == "done":
        took_us = max(each.until_us or each.at_us for each in part) - one.at_us
        were, are = ("were", "are") if many else ("was", "is")
        return f"{mirrors} {were} sent {sent} in {lasted(took_us)}, and {are} synchronised"
    why = f" ({shown(one.reason)})" if one.reason else ""
    return f"the synchronisation of {sent} with {mirrors} ended before it was done{why}"


def _policies(part: Sequence[ClusterEvent]) -> str:
    named = [*dict.fromkeys(shown(one.name) for one in part)]
    many = len(named) > 1
    return f"{'Policies' if many else 'Policy'} {listing(named)} {'were' if many else 'was'}"
