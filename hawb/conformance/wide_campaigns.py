"""Count how often a campaign of wide stories played each setting and each pair, and how often model and broker agreed.

It counts queue-stories, one for each queue of each story that was played. If model and broker differ only in the
cluster, such as in the state of a node, then the story differs, but its queue-stories agree.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import combinations
from typing import NamedTuple

from hawb.conformance.fuzz import Campaign, Kind, table
from hawb.conformance.wide_settings import Row
from hawb.conformance.wide_stories import alone, cut_of, narrowed, wide_story

SEEDS = 24
"""The most other seeds that the model tries for each queue; its story should not depend on chance."""
WIDE = Kind(
    draw=lambda seed, n, version: wide_story(seed, n, version).scenario,
    cut=cut_of,
    alone=alone,
    seeds=SEEDS,
    name="wide",
    narrowed=narrowed,
)


class QueueStory(NamedTuple):
    """A queue-story: the settings of a queue, and whether model and broker agreed on it."""

    settings: Row
    equal: bool


class Setting(NamedTuple):
    """A value of a factor, with the number of its queue-stories, and of those in which model and broker agreed."""

    factor: str
    value: str
    asked: int
    equal: int


class Pair(NamedTuple):
    """Two factors' values, with the number of their common queue-stories, and of those in which both sides agreed.

    The sides are model and broker. The factors are in the order of their names.
    """

    factor: str
    value: str
    other_factor: str
    other_value: str
    asked: int
    equal: int


def queue_stories(campaign: Campaign) -> Iterator[QueueStory]:
    """Yield the queue-stories of a campaign that were played."""
    for n, result in sorted(campaign.results.items()):
        if result.verdict != "unplayed":
            for queue, settings in wide_story(campaign.seed, n, campaign.version).settings.items():
                yield QueueStory(settings, queue not in result.differing)


def settings(campaign: Campaign) -> list[Setting]:
    """Return the counts of each value that the campaign played, sorted by factor and value."""
    return [Setting(*value, *counts) for (value,), *counts in counted(campaign, 1)]


def pairs(campaign: Campaign) -> list[Pair]:
    """Return the counts of each pair of values that one queue had, sorted by factors and values."""
    return [Pair(*one, *other, *counts) for (one, other), *counts in counted(campaign, 2)]


def counted(campaign: Campaign, size: int) -> list[tuple[tuple[tuple[str, str], ...], int, int]]:
    """Return each set of `size` (factor, value) pairs that one queue had, with two counts.

    The counts are the queue-stories with this set, and those of them in which model and broker agreed.
    """
    together: Counter = Counter()
    equal: Counter = Counter()
    for one in queue_stories(campaign):
        for values in combinations(sorted(one.settings.items()), size):
            together[values] += 1
            equal[values] += one.equal
    return [(values, together[values], equal[values]) for values in sorted(together)]


def report(campaign: Campaign) -> str:
    """Return a report of a campaign as text: its coverage and its results."""
    results, queues = campaign.results, list(queue_stories(campaign))
    rows = [(one.factor, one.value, one.asked, one.equal, one.asked - one.equal) for one in settings(campaign)]
    lines = [table(rows, ("setting", "value", "asked", "agree", "differ")), ""]
    lines += [
        f"unplayed {n}: {result.notes[0]}" for n, result in sorted(results.items()) if result.verdict == "unplayed"
    ]
    lines += [
        f"differs {n} {part or 'cluster'}: {', '.join(fields)}"
        for n, result in sorted(results.items())
        for part, fields in result.differing.items()
    ]
    equal = sum(one.equal for one in queues)
    unplayed = sum(result.verdict == "unplayed" for result in results.values())
    lines.append(
        f"{len(results) - unplayed} stories, {len(queues)} queue-stories: {equal} agree, {len(queues) - equal} differ; "
        f"{unplayed} stories could not be played; in {sum(result.seconds for result in results.values()):.0f} s"
    )
    return "\n".join(lines)
