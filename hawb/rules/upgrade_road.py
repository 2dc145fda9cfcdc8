"""The releases of RabbitMQ on the way from 3.8 to 4.3, and the upgrades between them.

For each upgrade: whether it works node by node, what has to be in place before, what it removes, and what a cluster of
both releases does not do. The facts are a table (`hawb.rules.upgrade_releases`), from which this module makes a road. A
road that stops at fewer releases than the table has takes all that lies between in one step: its flags, and what it
removes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from itertools import pairwise

from msgspec import Struct

from hawb.rules.profiles import PROFILES
from hawb.rules.upgrade_releases import MIXED_ALWAYS, RELEASES, Fact, Release

KHEPRI = "khepri_db"
"""The flag with which a cluster's metadata moves from Mnesia to Khepri."""

WITHOUT_MIRRORS = "4.0"
"""The first release without mirrored queues."""


class NoRoad(ValueError):  # noqa: N818 - named for what it says
    """There is no upgrade between two releases; the text says where, and gives a road that works."""


class Leg(Struct, frozen=True):
    """One step of a road: nodes of `older` are upgraded one after the other to `newer`.

    `between` are the releases that are passed over, whose changes come with this step too.
    """

    older: Release
    newer: Release
    between: tuple[Release, ...] = ()

    @property
    def name(self) -> str:
        """Return the step in a word, such as 3.13 -> 4.2."""
        return f"{self.older.series} -> {self.newer.series}"

    @property
    def brought(self) -> tuple[Release, ...]:
        """Return the releases whose changes come with this step."""
        return (*self.between, self.newer)

    @property
    def flags(self) -> tuple[str, ...]:
        """Return the feature flags that have to be enabled before the first node is upgraded."""
        return tuple(flag for release in self.brought for flag in release.flags)

    @property
    def flags_of_plugins(self) -> tuple[str, ...]:
        """Return the plugins' feature flags that have to be enabled before, where the plugins are."""
        return tuple(flag for release in self.brought for flag in release.flags_of_plugins)

    @property
    def new_flags(self) -> tuple[str, ...]:
        """Return the flags that can be enabled once all nodes are upgraded."""
        return tuple(flag for release in self.brought for flag in release.brings)

    @property
    def removed(self) -> tuple[tuple[str, Fact], ...]:
        """Return what this step removes or changes, with the release that did it."""
        return tuple((release.series, fact) for release in self.brought for fact in release.removed)

    @property
    def mixed(self) -> tuple[Fact, ...]:
        """Return what does not work while nodes of both releases run."""
        rules = (self.newer.machine_waits,) if self.newer.machine > self.older.machine else ()
        return (*rules, *self.newer.mixed, *MIXED_ALWAYS)

    @property
    def least(self) -> str | None:
        """Return the least patch release that the older nodes have to run; None if any will do."""
        return dict(self.newer.least).get(self.older.series)

    @property
    def new_erlang(self) -> bool:
        """Return True if the newer release does not start on every Erlang that the older one does."""
        return _numbers(self.newer.erlang) > _numbers(self.older.erlang)

    @property
    def erlang_together(self) -> bool:
        """Return True if Erlang and RabbitMQ have to be changed in the same stop.

        That is so if neither release runs on the other's Erlang.
        """
        most, least = _numbers(self.older.erlang_most), _numbers(self.newer.erlang)
        return most < least[: len(most)]

    @property
    def moves_metadata(self) -> bool:
        """Return True if metadata has to be in Khepri before this step."""
        return KHEPRI in self.flags

    @property
    def drops_mirrors(self) -> bool:
        """Return True if mirrored queues have to be gone before this step."""
        return any(release.series == WITHOUT_MIRRORS for release in self.brought)


def series_of(release: str) -> str | None:
    """Return the series of a release, 3.13 for 3.13.7; None for one that the table does not have."""
    found = ".".join(release.strip().split(".")[:2])
    return found if found in RELEASES else None


def is_older(one: str, other: str) -> bool:
    """Return True if a series comes before another."""
    return _numbers(one) < _numbers(other)


def rules_of(series: str) -> str:
    """Return the newest profile that is not newer than a series: its rules are the best match."""
    return max((name for name in PROFILES if not is_older(series, name)), key=_numbers)


def road(start: str, goal: str, via: Sequence[str] | None = None) -> tuple[Leg, ...]:
    """Return the fewest steps from one series to another, or those that stop at the series of `via` and at no other.

    There are none if start and goal are the same. Raise NoRoad if a step does not work.
    """
    for series in (start, goal, *(via or ())):
        if series not in RELEASES:
            raise NoRoad(f"release {series!r}: not one of {', '.join(RELEASES)}")
    if is_older(goal, start):
        raise NoRoad(f"{start} -> {goal}: no upgrade leads back to an older release; definitions can be imported into"
                     " a new cluster")  # fmt: skip
    stops = _shortest(start, goal) if via is None else (start, *via, goal)
    legs = tuple(leg(older, newer) for older, newer in pairwise(stops) if older != newer)
    for each in legs:
        if each.older.series not in each.newer.since:
            raise NoRoad(_refusal(each, start, goal))
    return legs


def leg(older: str, newer: str) -> Leg:
    """Return the step between two series, whether it works or not."""
    between = tuple(one for name, one in RELEASES.items() if is_older(older, name) and is_older(name, newer))
    return Leg(RELEASES[older], RELEASES[newer], between)


def _refusal(refused: Leg, start: str, goal: str) -> str:
    newer = refused.newer
    since = ", ".join(newer.since) or "none of these releases"
    return (
        f"{refused.name}: no upgrade leads there in one step, to {newer.series} only from {since} ({newer.source});"
        f" the road: {' -> '.join(_shortest(start, goal))}"
    )


def _shortest(start: str, goal: str) -> tuple[str, ...]:
    """Return the series of the shortest road, with the newer series among roads of the same length.

    Every series leads to the next, so that there always is one.
    """
    found: dict[str, tuple[str, ...]] = {start: (start,)}
    waiting = deque([start])
    while goal not in found:
        here = waiting.popleft()
        for name, release in reversed(RELEASES.items()):
            if here in release.since and name not in found and not is_older(goal, name):
                found[name] = (*found[here], name)
                waiting.append(name)
    return found[goal]


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))
