"""Estimate from logs how often clusters fail and for how long: a fit for each kind of span, and shares of failures.

All clusters are assumed alike: one rate for all of their nodes. Each kind of span has a fit (`hawb.incident.fits`)
unless none of its spans ended. Shares follow a beta distribution with half a failure of each sort as prior (H.
Jeffreys): the intervals stay within 0 to 1, and are not zero for sorts that were never seen.
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
"""Distributions by kind of span: the rack of a common failure is unknown, so racks have no age."""
HOWS = ("stopped", "power_off", "killed")
CRASHED = ("power_off", "killed")
"""Failures that are no controlled stops; an empty disk counts only after these."""
YEAR_S = 365 * 24 * 3600
EACH = 1000
"""Synchronisations are fitted by the seconds that so many messages took."""


class Shares(Struct, frozen=True):
    """Counts of failures by cause: controlled stops, power failures and kills; `unknown` if no log shows the cause.

    `disk_lost` counts the failures that left an empty disk, controlled stops excluded.
    """

    stopped: int
    power_off: int
    killed: int
    disk_lost: int
    unknown: int

    @property
    def known(self) -> int:
        """Return the number of failures whose cause is known."""
        return self.stopped + self.power_off + self.killed

    def draws(self, count: int, random: np.random.Generator) -> np.ndarray:
        """Draw possible shares of all failures, given the counts: `count` rows of (stopped, power off, disk lost).

        The share of a sort that was never seen stays 0.
        """
        hows = random.dirichlet([getattr(self, how) + 0.5 for how in HOWS], count)
        crashed = self.power_off + self.killed
        lost = random.beta(self.disk_lost + 0.5, crashed - self.disk_lost + 0.5, count)
        drawn = np.stack([hows[:, 0], hows[:, 1], lost * (1 - hows[:, 0])], axis=1)
        return drawn * [self.stopped > 0, self.power_off > 0, self.disk_lost > 0]

    def observed(self) -> tuple[float, float, float]:
        """Return the observed shares of all failures with a known cause: (stopped, power off, disk lost)."""
        crashed = self.power_off + self.killed
        stopped = self.stopped / self.known
        lost = self.disk_lost / crashed * (1 - stopped) if crashed else 0.0
        return stopped, self.power_off / self.known, lost


class Rates(Struct, frozen=True):
    """Failure rates that were estimated from the spans of clusters.

    `fits` has the fit of each kind of span, None if no span of the kind ended; `samples` are the data of the fits.
    `nodes` is the size of a usual cluster, and `watched_s` the time for which nodes were observed, summed over all
    nodes. `sizes` counts common failures by the number of nodes that failed. There are shares of single failures, and
    of common ones.
    """

    clusters: int
    nodes: int
    watched_s: float
    samples: Mapping[str, Sample]
    fits: Mapping[str, Fit | None]
    shares: Mapping[str, Shares]
    sizes: Mapping[int, int]

    @property
    def groups(self) -> int:
        """Return the number of racks of the usual cluster, estimated from how many nodes fail together."""
        times = sum(self.sizes.values())
        together = sum(size * count for size, count in self.sizes.items())
        return max(1, round(self.nodes * times / together)) if together else self.nodes

    @property
    def racks(self) -> int:
        """Return how many racks have several nodes: a rack of one node fails like that node."""
        return sum(1 for unit in range(self.groups) if len(range(unit, self.nodes, self.groups)) > 1)

    @property
    def company(self) -> tuple[int, int]:
        """Return the number of failures of nodes that failed together, and of all failures of nodes."""
        together = sum(size * count for size, count in self.sizes.items())
        alone = self.shares[ALONE]
        return together, together + alone.known + alone.unknown


def rates(found: Sequence[Span]) -> Rates:
    """Return the rates that follow from spans; without spans there are no clusters and no samples."""
    by_kind: dict[str, list[Span]] = defaultdict(list)
    for span in found:
        by_kind[span.kind].append(span)
    sizes = {span.cluster: span.nodes or 1 for span in found}
    samples = {kind: _sample(by_kind[kind]) for kind in KINDS if by_kind[kind]}
    return Rates(
        clusters=len(sizes),
        nodes=next((size for size, _ in Counter(sizes.values()).most_common(1)), 0),
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
    """Return the 95 % interval of a share."""
    drawn = np.random.default_rng(SEED).beta(some + 0.5, of - some + 0.5, DRAWS)
    low, high = np.quantile(drawn, (0.025, 0.975))
    return float(low), float(high)
