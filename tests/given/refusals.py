"""The refusal of a scenario file."""

from __future__ import annotations

import pytest

from hawb.scenario.load import ScenarioRefused, load

HEAD = "scenario: t\ncluster: {nodes: [a, b, c]}\n"


def refused(source, file: str | None = None) -> ScenarioRefused:
    """The refusal of a file, which must be a message of one to four lines."""
    with pytest.raises(ScenarioRefused) as caught:
        load(source, file)
    assert 1 <= len(str(caught.value).splitlines()) <= 4
    return caught.value
