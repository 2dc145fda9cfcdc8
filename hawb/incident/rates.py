"""How often clusters fail and how long that lasts, by their logs: each kind of span fitted, and shares of failures.

All clusters count as alike: one rate for all of their nodes. What is known of a kind of span is a fit
(`hawb.incident.fits`), or that nothing of it ended. Shares are told by Beta's distribution with half a failure of
either sort beforehand (H. Jeffreys), whose intervals stay within 0 to 1 and say something of what was never seen.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct

from hawb.incident.fits import DRAWS, EXPONENTIAL, NAMES, SEED, Fit, Sample, fit
from hawb.incident.spans import KINDS, Span

ALONE, TOGETHER = "time_to_failure", "time_to_common_failure"
BY_TIME = {"time_to_common_failure": (EXPONENTIAL,)}
"""What is fitted by some distributions only: which rack a common failure was of is not told, so no rack has an age."""
HOWS = ("stopped", "power_off", "killed")
CRASHED = ("power_off", "killed")
"""The failures that are no controlled stops; only after these is an empty disk counted."""
YEAR_S = 365 * 24 * 3600
EACH = 1000
"""Synchronisations are fitted by the seconds that so many messages took."""


class Shares(Struct, frozen=True):
    """Of `known` failures, how many were controlled stops, losses of power, and, of those that were not stops, left an
    empty disk. `unknown` are those that no log tells of how they were."""

    stopped: int
    power_off: int
    killed: int
    disk_lost: int
    unknown: int

    @property
    def known(self) -> int:
        """Of how many it is told how they were."""
        return self.stopped + self.power_off + self.killed

    def draws(self, count: int, random: np.random.Generator) -> np.ndarray:
        """Rows of shares of all failures, as likely as the numbers leave them: stopped, power off, disk lost. What was
        never seen does not begin to happen."""
        hows = random.dirichlet([getattr(self, how) + 0.5 for how in HOWS], count)
        crashed = self.power_off + self.killed
        lost = random.beta(self.disk_lost + 0.5, crashed - self.disk_lost + 0.5, count)
        drawn = np.stack([hows[:, 0], hows[:, 1], lost * (1 - hows[:, 0])], axis=1)
        return drawn * [self.stopped > 0, self.power_off > 0, self.disk_lost > 0]

    def told(self) -> tuple[float, float, float]:
        """The shares themselves, in the same order."""
        crashed = self.power_off + self.killed
        stopped = self.stopped / self.known
        lost = self.disk_lost / crashed * (1 - stopped) if crashed else 0.0
        return stopped, self.power_off / self.known, lost


class Rates(Struct, frozen=True):
    """What the spans of clusters come to. `fits` has each kind with its fit, None where nothing ended; `samples` what
    was fitted. `nodes` are those of the usual cluster, `watched_s` how long all nodes together were watched. `sizes`
    counts common failures by how many nodes went. `shares` are of failures alone and of common ones."""

    clusters: int
    nodes: int
    watched_s: float
    samples: Mapping[str, Sample]
    fits: Mapping[str, Fit | None]
    shares: Mapping[str, Shares]
    sizes: Mapping[int, int]

    @property
    def groups(self) -> int:
        """Into how many racks the nodes of the usual cluster are dealt, by how many of them go together."""
        times = sum(self.sizes.values())
        together = sum(size * count for size, count in self.sizes.items())
        return max(1, round(self.nodes * times / together)) if together else self.nodes

    @property
    def racks(self) -> int:
        """How many of them have several nodes: what takes a rack of one node is not told from its own failure."""
        return sum(1 for unit in range(self.groups) if len(range(unit, self.nodes, self.groups)) > 1)

    @property
    def company(self) -> tuple[int, int]:
        """(failures of nodes that came in company, all failures of nodes)."""
        together = sum(size * count for size, count in self.sizes.items())
        alone = self.shares[ALONE]
        return together, together + alone.known + alone.unknown


def rates(found: Sequence[Span]) -> Rates:
    """The rates that spans come to. Raises ValueError where there is none."""
    if not found:
        raise ValueError("no event of any node is told")
    by_kind: dict[str, list[Span]] = defaultdict(list)
    for span in found:
        by_kind[span.kind].append(span)
    sizes = {span.cluster: span.nodes or 1 for span in found}
    samples = {kind: _sample(by_kind[kind]) for kind in KINDS if by_kind[kind]}
    return Rates(
        clusters=len(sizes),
        nodes=Counter(sizes.values()).most_common(1)[0][0],
        watched_s=sum(span.length_s for kind in (ALONE, "repair") for span in by_kind[kind]),
        samples=samples,
        fits={kind: fit(sample, BY_TIME.get(kind, NAMES)) for kind, sample in samples.items()},
        shares={kind: _shares([span for span in by_kind[kind] if span.ended]) for kind in (ALONE, TOGETHER)},
        sizes=Counter(span.together or 0 for span in by_kind[TOGETHER] if span.ended),
    )


def _sample(found: Sequence[Span]) -> Sample:
    lengths_s = [span.length_s * EACH / span.messages if span.messages else span.length_s for span in found]
    return Sample.of(lengths_s, [span.ended for span in found], [span.fresh for span in found])


def _shares(failures: Sequence[Span]) -> Shares:
    hows = Counter(span.how for span in failures)
    lost = sum(1 for span in failures if span.disk_lost and span.how in CRASHED)
    return Shares(*(hows[how] for how in HOWS), lost, hows["unknown"])


def share_interval(some: int, of: int) -> tuple[float, float]:
    """The ends of the 95 % interval of a share."""
    drawn = np.random.default_rng(SEED).beta(some + 0.5, of - some + 0.5, DRAWS)
    low, high = np.quantile(drawn, (0.025, 0.975))
    return float(low), float(high)
