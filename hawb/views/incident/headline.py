"""The title of an incident's picture: a sentence made from what is drawn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from hawb.engine.core import runs
from hawb.incident.faults import BROKEN
from hawb.views.formatting import counted, listing, sentence
from hawb.views.incident.figure import Leg, Picture
from hawb.views.incident.names import Names
from hawb.views.incident.sentences import Sentence
from hawb.views.incident.times import lasted

FAULTS: Mapping[str, tuple[str, str]] = {
    "node_stopped": ("was asked to stop", "stop"),
    "node_killed": ("ended without a shutdown", "sudden end"),
    "node_gone": ("was lost by the other nodes", "sudden end"),
    "node_paused": ("paused", "pause"),
    "boot_failed": ("failed to boot", "failed boot"),
    "boot_error": ("logged a boot error", "boot error"),
    "clusters_apart": ("", "cluster of its own"),
    "data_corrupt": ("found damaged data on its disk", "damaged disk"),
    "store_crashed": ("logged a crash of its metadata store", "crash"),
    "queue_crashed": ("logged a crash of a queue's process", "crash"),
    "coordinator_failed": ("logged a failure of its stream coordinator", "failed stream coordinator"),
    "stream_failed": ("logged a failure of a stream's replica", "failed stream replica"),
    "application_ended": ("logged that an application ended by itself", "ended application"),
    "member_not_started": ("did not start a member of a quorum queue", "member that did not start"),
    "group_not_formed": ("could not start a new quorum queue", "queue that was not formed"),
    "cookie_refused": ("refused a node with another Erlang cookie", "refused cookie"),
    "disk_full": ("could not write to its disk", "full disk"),
    "files_exhausted": ("could not open more files", "lack of file descriptors"),
    "erlang_ended": ("lost its Erlang VM, which ended by itself", "ended Erlang VM"),
    "vhost_down": ("refused clients a virtual host", "virtual host out of use"),
    "operation_failed": ("logged failed operations of clients", "failed operation"),
    "flag_not_enabled": ("could not enable a feature flag", "feature flag that was not enabled"),
    "discovery_failed": ("could not use peer discovery", "failure of peer discovery"),
    "queue_unavailable": ("refused clients a queue without a process", "queue out of use"),
    "operation_timed_out": ("logged timeouts of clients' operations", "timed-out operation"),
    "consumer_timed_out": ("logged timeouts of consumers", "consumer timeout"),
    "process_crashed": ("logged a crash of a process", "crash"),
    "disk_lost": ("lost its disk", "lost disk"),
    "partition_begun": ("", "partition"),
    "partition_found": ("found that there had been a partition", "partition"),
    "messages_dropped": ("recovered without all messages", "incomplete recovery"),
    "alarm_set": ("blocked publishers by an alarm", "alarm"),
    "queue_restarted": ("restarted crashed queues", "crash"),
}
"""The main kinds of events: what the sentence says about a node, and the noun by which they are counted."""
EFFECTS: Mapping[str, str] = {
    "mirror_promoted": "{count} changed {their} master",
    "leader_elected": "{count} changed {their} leader",
    "mirrors_stopped": "{count} went down",
    "queue_deleted": "{count} {were} deleted",
}
"""The effects of faults on queues."""


def worst(sentences: Sequence[Sentence]) -> list[Sentence]:
    """Return the spontaneous failures, the worst first."""
    return sorted((one for one in sentences if one.kind in BROKEN), key=lambda one: (BROKEN.index(one.kind), one.at_us))


def headline(sentences: Sequence[Sentence], picture: Picture, names: Names, unread: int = 0) -> str:
    """Return the title: the worst spontaneous failure, or which nodes failed and the effects on queues.

    `unread` is the number of error messages that no rule recognises.
    """
    if broken := worst(sentences):
        more = sum(one.kind in FAULTS for one in sentences) - (broken[0].kind in FAULTS)
        also = f" {sentence(counted(more, 'other fault'))} {'is' if more == 1 else 'are'} listed below." if more else ""
        return f"At {names.time(broken[0].at_us)} {broken[0].text}{also}"
    effects = _two_masters(picture) or _effects(sentences)
    faults = [one for one in sentences if one.kind in FAULTS]
    if any(one.kind == "partition_begun" for one in faults):
        faults = [one for one in faults if one.kind != "node_paused"]  # the partition caused the pauses
    if not faults and unread:
        return f"No node is known to have failed; hawb does not know {counted(unread, 'error message')}."
    if not faults:
        return f"No node failed{f'; {effects}' if effects else ', and no queue changed its master'}."
    return f"{_faults(faults, picture, names)}: {effects or 'no queue changed its master'}."


def _faults(faults: Sequence[Sentence], picture: Picture, names: Names) -> str:
    """Return what happened to nodes and when; several faults are counted by kind."""
    begun, ended = names.time(faults[0].at_us), names.time(faults[-1].at_us)
    if len(faults) == 1 and faults[0].kind == "partition_begun":
        return f"From {begun} {faults[0].text.removesuffix('.')}"
    if len(faults) == 1 and len(faults[0].moments) == 1:
        called = next((mark.node for mark in picture.marks if mark.number == faults[0].number), "a node")
        return f"At {begun} {called} {FAULTS[faults[0].kind][0]}"
    counts: Counter[str] = Counter()
    for one in faults:
        counts[FAULTS[one.kind][1]] += 1 if one.kind.startswith("partition_") else max(len(one.moments), 1)
    words = listing(_counted(count, what) for what, count in counts.items())
    return f"{sentence(words)} {f'at {begun}' if begun == ended else f'from {begun} to {ended}'}"


def _counted(count: int, what: str) -> str:
    if count == 1:
        return f"{'an' if what[0] in 'aeiou' else 'a'} {what}"
    return counted(count, what, f"{what}es" if what.endswith("sh") else "")


def _effects(sentences: Sequence[Sentence]) -> str:
    """Return the effects of the faults on queues."""
    found = []
    for kind, words in EFFECTS.items():
        queues = {queue for one in sentences if one.kind == kind for queue in one.queues}
        if queues:
            one = len(queues) == 1
            count = next(iter(queues)) if one else counted(len(queues), "queue")
            found.append(words.format(count=count, their="its" if one else "their", were="was" if one else "were"))
    return listing(found)


def _two_masters(picture: Picture) -> str:
    """Return the clause about a queue with two masters, and for how long; "" if there was none."""
    for way in picture.ways:
        both_us = runs.size(runs.normal(_both(way.legs)))
        if both_us > 0:
            return f"{way.words} had two masters for {lasted(both_us)}"
    return ""


def _both(legs: Iterable[Leg]) -> Iterator[tuple[int, int]]:
    """Yield the spans, by their first and last microseconds, in which legs of several nodes existed."""
    lasting = [leg for leg in legs if leg.from_us < leg.until_us]
    changes = sorted(change for leg in lasting
                     for change in ((leg.from_us, leg.node, 1), (leg.until_us, leg.node, -1)))  # fmt: skip
    there: Counter[str] = Counter()
    for (at_us, node, change), (next_us, *_) in pairwise(changes):
        there[node] += change
        if not there[node]:
            del there[node]
        if len(there) > 1 and at_us < next_us:
            yield at_us, next_us
