"""Soaks: one cluster of three nodes runs through six hours of faults and operations, and is compared after each.

Story `n` of a seed is a chain of the chapters of random scenarios (`random_faults`, `random_operations`), which all
leave the nodes running and much else behind: queues, consumers, members, policies. A fault has an operation before and
after it, as there, and a quiet time, which the model waits out. A real cluster has nothing to do in it, and waits only
for a few seconds of it (`briskly`), in which timers end; the two stories are the same otherwise.

All chapters share the cluster's settings, so nodes see links that fail go down each time, and one partition handling is
drawn for the whole story.
"""

from __future__ import annotations

from collections import Counter
from itertools import cycle, islice

from msgspec.structs import replace

from hawb.conformance.random_cast import LOOK, Cast, beginning
from hawb.conformance.random_faults import FAULTS, TICKTIME_S
from hawb.conformance.random_operations import OPERATIONS
from hawb.conformance.random_scenarios import dealt
from hawb.scenario.document import Scenario
from hawb.scenario.load import read_scenario
from hawb.scenario.verbs import Wait

DRAWS, DECK_OF_FAULTS, DECK_OF_OPERATIONS = 56, 57, 58
"""The purposes of the draws, beside those of random scenarios and wide stories."""
CHAPTERS = 120
QUIET_S = 180
"""The quiet time after each chapter, in seconds: with `CHAPTERS` of them six hours."""
BRISK_S = 10
"""The part of the quiet time that a real cluster waits, in seconds."""
CYCLE = ((OPERATIONS, DECK_OF_OPERATIONS), (FAULTS, DECK_OF_FAULTS), (OPERATIONS, DECK_OF_OPERATIONS))
"""The decks from which chapters are dealt by turns, each with the purpose of its draws."""


def soak_story(seed: int, n: int, version: str = "3.10", chapters: int = CHAPTERS) -> Scenario:
    """Return story `n` (from 0) of a seed, for a profile of the rules."""
    cast = Cast(seed, DRAWS, n, sizes=(3,))
    cast.cluster |= {
        "net_ticktime": TICKTIME_S, "cluster_partition_handling": cast.one(("ignore", "pause_minority")),
        "version": version,
    }  # fmt: skip
    steps = [*beginning(cast), LOOK]
    dealt_before = Counter({DECK_OF_OPERATIONS: n * chapters, DECK_OF_FAULTS: n * chapters})
    for cards, deck in islice(cycle(CYCLE), chapters):
        chapter = dealt(cards, seed, deck, dealt_before[deck])
        dealt_before[deck] += 1
        steps += [*chapter(cast), LOOK, {"wait": QUIET_S}, LOOK]
        cast.masters.clear()
        if cards is FAULTS:
            cast.deposed(*cast.nodes)  # a node that is back may have become leader
    title = f"Soak {n} of seed {seed}: {chapters} chapters"
    return read_scenario({"scenario": title, "cluster": cast.cluster, "steps": steps})


def briskly(story: Scenario) -> Scenario:
    """Return a story as a real cluster plays it, with only a few seconds of each quiet time."""
    return replace(story, steps=tuple(
        replace(step, verb=replace(step.verb, seconds=BRISK_S))
        if isinstance(step.verb, Wait) and step.verb.seconds == QUIET_S else step for step in story.steps
    ))  # fmt: skip
