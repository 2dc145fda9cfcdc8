"""Environments with known rates, and the spans of made-up clusters that have them."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec.structs import replace

from hawb.incident import made_up_logs
from hawb.incident.reading import read_logs
from hawb.incident.spans import Span, spans
from hawb.scenario.document import Timing
from hawb.study.environment import Calendar, Distribution, Environment, Failures, GroupFailures, Partitions, Traffic

DAY = 86_400
ALONE = Failures(
    every=Distribution(mean_s=60 * DAY), repair=Distribution(mean_s=3600, distribution="lognormal", shape=1.0),
    controlled_share=0.2, power_off_share=0.2, disk_loss_share=0.1,
)  # fmt: skip
KNOWN = Environment(
    node_failures=ALONE,
    rack_failures=GroupFailures(groups=2, every=Distribution(mean_s=300 * DAY), repair=Distribution(mean_s=12_600),
                                power_off_share=1.0),
    partitions=Partitions(every=Distribution(mean_s=120 * DAY), lasts=Distribution(mean_s=7200)),
    rolling_upgrades=Calendar(every_days=61, first_day=20, at_hour=3, down_s=120),
    traffic=Traffic(publish_per_s=50, consume_per_s=200),
    timing=Timing(sync_messages_s=20_000),
)  # fmt: skip
"""All that is read from logs, on four nodes in two racks."""
AGEING = replace(ALONE, every=Distribution(mean_s=60 * DAY, distribution="weibull", shape=0.7))
BURSTS = Environment(node_failures=AGEING, traffic=KNOWN.traffic)
"""Failures in bursts and nothing else."""


@cache
def known_spans(
    environment: Environment = KNOWN, clusters: int = 10, nodes: int = 4, days: float = 365, seed: int = 0,
    before_days: float = 400,
) -> list[Span]:  # fmt: skip
    """Return the spans of made-up clusters; by default they have run for long when their logs begin."""
    with TemporaryDirectory() as folder:
        made_up_logs.write(Path(folder), environment, clusters, nodes, days, seed, before_days)
        return [span for place in sorted(Path(folder).iterdir()) for span in spans(place.name, read_logs([place]))]
