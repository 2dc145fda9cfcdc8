"""Gauges in Prometheus' text format, read back by its own library."""

from __future__ import annotations

import pytest
from answered_reports import audited_summary
from click.testing import CliRunner
from inventories import FILES
from prometheus_client.parser import text_string_to_metric_families

from hawb.cli import main
from hawb.views.prometheus import Gauge, exposition
from hawb.views.study.audit import gauges as of_audit

Samples = dict[tuple[str, ...], float]


def read(text: str) -> dict[str, Samples]:
    """Return the samples of each metric by label values. Require that each metric is a gauge with a help text."""
    families = [*text_string_to_metric_families(text)]
    assert all(family.type == "gauge" and family.documentation for family in families)
    assert all(family.name.startswith("hawb_") for family in families)
    return {one.name: {(*sample.labels.values(),): sample.value for sample in one.samples} for one in families}


def test_labels_round_trip():
    names = ('a"b', "a\\nb", "a\nb", "", "Zürich", "{}", "a\\")
    samples = [({"queue": name}, index) for index, name in enumerate(names)]
    gauge = Gauge("hawb_x", 'back\\slash, "quotes"\nand a line', samples)
    [family] = text_string_to_metric_families(exposition([gauge]))
    assert family.documentation == gauge.help
    assert [sample.labels["queue"] for sample in family.samples] == [*names]


@pytest.mark.parametrize("sign", ["\ud800", "\u2028", "\u202e", "\x1b"])
def test_unprintable_characters_are_escaped(sign: str):
    shown = read(exposition([Gauge("hawb_x", "x", [({"node": f"a{sign}"}, 1)])]))
    assert shown == {"hawb_x": {(f"a{sign.encode('unicode_escape').decode()}",): 1.0}}


def test_nodes_of_a_real_cluster():
    result = CliRunner().invoke(main, ["safe", *map(str, FILES[:3]), "--format", "prometheus"])
    assert result.exit_code == 1
    shown = read(result.stdout)
    a, b = "a@10.77.9.1", "b@10.77.9.2"
    assert shown["hawb_node_safe_to_stop"] == {(a,): 0, (b,): 0, ("c@10.77.9.3",): 0}
    assert shown["hawb_node_end_lost_messages"][b, "stop"] == 5
    assert shown["hawb_node_end_queues_down"][a, "stop"] > 0
    assert shown["hawb_node_check_failing_queues"][b, "check_if_node_is_quorum_critical"] >= 0


def test_an_audit():
    shown = read(exposition(of_audit(audited_summary())))
    assert shown["hawb_audit_clusters"] == {(): 9}
    assert shown["hawb_audit_queues"] == {("classic",): 90, ("quorum",): 10}
    assert shown["hawb_audit_risk_queues"]["mirroring-silenced", "error"] == 9
    assert shown["hawb_audit_blocked_queues"] == {("not durable",): 3}
    assert shown["hawb_audit_refused_files"] == {(): 1}
