"""A cluster's story as a scenario, as far as its logs and exports tell."""

from __future__ import annotations

from msgspec import Struct

from hawb.incident.doubts import Doubt
from hawb.incident.happenings import Happening
from hawb.scenario.document import Scenario


class Retold(Struct, frozen=True):
    """The `scenario`, which begins at `begins_us` (simulated time 0); what each of its steps was read from, in the order
    of the steps; and what is taken and not told."""

    scenario: Scenario
    begins_us: int
    ends_us: int
    sources: tuple[tuple[Happening, ...], ...]
    doubts: tuple[Doubt, ...]
