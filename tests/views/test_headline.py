"""The sentence above the picture of an incident."""

from __future__ import annotations

import pytest
from incidents import incident

from hawb.views.incident.incident_report import account


@pytest.mark.parametrize(
    ("story", "expected"),
    [
        ("3.10/partition-autoheal", "From 08:55:18 n1 on one side and n2 and n3 on the other did not see each other for"
                                    " 13 s: orders had two masters for 40 s."),
        ("3.10/promotion-table-stop",
         "At 08:59:49 n1 was asked to stop: 5 queues changed their master and 2 queues went down."),
        ("3.8/promotion-table-kill", "At 09:22:14 n1 ended without a shutdown: 6 queues changed their master."),
        ("4.3/quorum-leader-killed", "At 09:03:40 n1 ended without a shutdown: orders changed its leader."),
        ("4.3/khepri-forgotten-gives-a-majority", "2 sudden ends at 09:59:34: no queue changed its master."),
        ("3.10/crash-repeated", "A crash and a stop from 09:28:21 to 09:28:35: no queue changed its master."),
        ("3.10/sync-cancelled", "No node failed, and no queue changed its master."),
    ],
)  # fmt: skip
def test_headline_names_the_failed_node_and_the_effect(story, expected):
    assert account(incident(story)).picture.title == expected
