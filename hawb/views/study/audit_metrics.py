"""The results of an audit of a fleet as gauges for Prometheus."""

from __future__ import annotations

from hawb.planning.advice import ADVICE
from hawb.study.audit import Summary
from hawb.views.prometheus import Gauge


def gauges(summary: Summary) -> list[Gauge]:
    """Return gauges: the clusters and queues, those that each risk affects, and the blockers of migrations."""
    risks = [({"code": one["code"], "severity": ADVICE[one["code"]].severity}, one) for one in summary.risks]
    metrics = (
        ("clusters", "Clusters of which something could be read.", [({}, summary.clusters)]),
        ("queues", "Queues by their type.", [({"type": kind}, count) for kind, count in summary.types.items()]),
        ("risk_queues", "Queues with this risk.", [(labels, one["queues"]) for labels, one in risks]),
        ("risk_clusters", "Clusters with this risk.", [(labels, one["clusters"]) for labels, one in risks]),
        ("blocked_queues", "Queues that cannot move to quorum queues because of this.",
         [({"blocker": one["blocker"]}, one["queues"]) for one in summary.blockers]),
        ("refused_files", "Files that could not be read.", [({}, len(summary.refused))]),
    )  # fmt: skip
    return [Gauge(f"hawb_audit_{name}", help, samples) for name, help, samples in metrics]
