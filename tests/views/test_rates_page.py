"""Pages of failure rates from few failures: each states what is missing, and none fails."""

from __future__ import annotations

from typing import Any

import pytest

from hawb.incident.own_numbers import own_numbers
from hawb.incident.rates import rates
from hawb.incident.spans import Span
from hawb.views.incident import rates_report
from hawb.views.incident.rates_page import page

TOGETHER = {"kind": "time_to_common_failure", "together": 2, "how": "killed"}
FEW: dict[str, list[dict[str, Any]]] = {
    "several nodes that went together, and none by itself": [TOGETHER],
    "a partition that ended": [{"kind": "time_to_partition"}, {"kind": "partition"}],
    "nothing that ended": [{"kind": "time_to_failure", "ended": False}],
    "a failure that took no time": [{"kind": "time_to_failure", "length_s": 0.0, "how": "killed"}],
    "an end whose beginning was not seen": [{"kind": "repair", "fresh": False}],
    "a stop that left an empty disk": [
        {"kind": "time_to_failure", "how": how, "disk_lost": True} for how in ("stopped", "unknown", "killed")
    ],
    "a synchronisation of one message, and one of many": [
        {"kind": "synchronisation", "messages": count, "length_s": length_s}
        for count, length_s in ((1, 1e9), (10**12, 0.0))
    ],
    "four failures at once": [{"kind": "time_to_failure", "length_s": 0.0, "how": "killed"}] * 4,
    "a restart after a time without end": [
        {"kind": "time_to_rolling_restart", "length_s": 1e12}, {"kind": "restart", "length_s": 0.0},
    ],
}  # fmt: skip


@pytest.mark.parametrize("expected", FEW.values(), ids=[*FEW])
def test_few_failures_make_a_page_and_numbers(expected: list[dict[str, Any]]):
    usual = {"cluster": "c", "node": "a", "from_us": 0, "length_s": 3600.0, "ended": True, "fresh": True, "nodes": 2}
    found = rates([Span(**usual | one) for one in expected])
    numbers = own_numbers(found, "a title")
    shown = page(rates_report.report_of("a title", found), found)
    drawn = any(found.fits.get(kind) for kind in ("time_to_failure", "repair", "time_to_common_failure",
                                                  "synchronisation"))  # fmt: skip
    assert ("<svg" in shown, "No figure: the logs show no completed period (until a node fails" in shown) == (
        drawn, not drawn,
    )  # fmt: skip
    assert numbers.numbers == "a title"
