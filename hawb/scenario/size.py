"""Limits on scenarios that commands play, so that they answer within about 20 seconds whatever a file holds.

`HAWB_LARGE=1` in the environment switches them off. Python has none: `hawb.Cluster.load`.
"""

from __future__ import annotations

import os
from typing import Any

from hawb.scenario.refused import ScenarioRefused

MOST = {"steps": 10_000, "policies": 10_000, "operator_policies": 10_000, "queues": 15_000}
"""The most entries of each list of a scenario."""
MOST_EVENTS = 300_000
"""The most events that a run schedules. A thousand of them take 20 to 60 milliseconds."""
VARIABLE = "HAWB_LARGE"
WHAT_TO_DO = f"use only a part of the file, or set {VARIABLE}=1 in the environment to play all of it"


def are_limited() -> bool:
    """Return True unless the environment switches the limits off."""
    return os.environ.get(VARIABLE) != "1"


def check_size(given: Any) -> None:
    """Refuse plain values of a scenario with too many entries in a list. Raise ScenarioRefused."""
    for key, most in MOST.items():
        found = given.get(key) if isinstance(given, dict) else None
        if isinstance(found, list) and len(found) > most:
            words = key.replace("_", " ")
            raise ScenarioRefused(
                f"too many {words} for a command", (key,), given=len(found), accepted=f"at most {most:,} {words}",
                hint=WHAT_TO_DO,
            )  # fmt: skip
