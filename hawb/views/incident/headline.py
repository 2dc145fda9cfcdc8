"""What the picture of an incident shows, in a sentence made from what is drawn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations

from hawb.engine import runs
from hawb.views.formatting import counted, listing, sentence
from hawb.views.incident.figure import Leg, Picture
from hawb.views.incident.names import Names
from hawb.views.incident.sentences import Sentence
from hawb.views.incident.times import lasted

FAULTS: Mapping[str, tuple[str, str]] = {
    "node_stopped": ("was asked to stop", "stop"),
    "node_killed": ("went without a word", "sudden end"),
    "node_gone": ("was missed", "sudden end"),
    "node_paused": ("paused", "pause"),
    "boot_failed": ("gave up booting", "failed boot"),
    "disk_lost": ("lost its disk", "lost disk"),
    "partition_begun": ("", "partition"),
    "alarm_set": ("blocked publishers by an alarm", "alarm"),
    "queue_restarted": ("restarted crashed queues", "crash"),
}
"""What a story is about: what is said of a node to which it happened, and what it is counted as."""
EFFECTS: Mapping[str, str] = {
    "mirror_promoted": "{count} changed {their} master",
    "leader_elected": "{count} changed {their} leader",
    "mirrors_stopped": "{count} went down",
    "queue_deleted": "{count} {were} deleted",
}
"""What came of that to queues."""


def headline(told: Sequence[Sentence], picture: Picture, names: Names) -> str:
    """The sentence: who failed, and what that did to queues."""
    effects = _two_masters(picture) or _effects(told)
    faults = [one for one in told if one.kind in FAULTS]
    if any(one.kind == "partition_begun" for one in faults):
        faults = [one for one in faults if one.kind != "node_paused"]  # which came of it
    if not faults:
        return f"No node failed{f'; {effects}' if effects else ', and no queue changed its master'}."
    return f"{_faults(faults, picture, names)}: {effects or 'no queue changed its master'}."


def _faults(faults: Sequence[Sentence], picture: Picture, names: Names) -> str:
    """What happened to nodes, and when; many things are counted."""
    begun, ended = names.time(faults[0].at_us), names.time(faults[-1].at_us)
    if len(faults) == 1 and faults[0].kind == "partition_begun":
        return f"From {begun} {faults[0].text.removesuffix('.')}"
    if len(faults) == 1 and len(faults[0].moments) == 1:
        called = next((mark.node for mark in picture.marks if mark.number == faults[0].number), "a node")
        return f"At {begun} {called} {FAULTS[faults[0].kind][0]}"
    counts: Counter[str] = Counter()
    for one in faults:
        counts[FAULTS[one.kind][1]] += 1 if one.kind == "partition_begun" else max(len(one.moments), 1)
    words = listing(_counted(count, what) for what, count in counts.items())
    return f"{sentence(words)} {f'at {begun}' if begun == ended else f'from {begun} to {ended}'}"


def _counted(count: int, what: str) -> str:
    if count == 1:
        return f"{'an' if what[0] in 'aeiou' else 'a'} {what}"
    return counted(count, what, f"{what}es" if what.endswith("sh") else "")


def _effects(told: Sequence[Sentence]) -> str:
    """What that did to queues."""
    found = []
    for kind, words in EFFECTS.items():
        queues = {queue for one in told if one.kind == kind for queue in one.queues}
        if queues:
            one = len(queues) == 1
            count = next(iter(queues)) if one else counted(len(queues), "queue")
            found.append(words.format(count=count, their="its" if one else "their", were="was" if one else "were"))
    return listing(found)


def _two_masters(picture: Picture) -> str:
    """The queue that had two masters, and for how long."""
    for way in picture.ways:
        both = [_both(one, other) for one, other in combinations(way.legs, 2) if one.node != other.node]
        both_us = runs.size(runs.normal(span for span in both if span[0] < span[1]))
        if both_us > 0:
            return f"{way.words} had two masters for {lasted(both_us)}"
    return ""


def _both(one: Leg, other: Leg) -> tuple[int, int]:
    """The microseconds from the first to the last in which there were both."""
    return max(one.from_us, other.from_us), min(one.until_us, other.until_us)
