"""Refusals of scenario files."""

from __future__ import annotations

import pytest

from hawb.scenario.load import ScenarioRefused, load

HEAD = "scenario: t\ncluster: {nodes: [a, b, c]}\n"


def refused(source, file: str | None = None) -> ScenarioRefused:
    """Return the refusal of a file. Require one to four lines."""
    with pytest.raises(ScenarioRefused) as caught:
        load(source, file)
    assert 1 <= len(str(caught.value).splitlines()) <= 4
    return caught.value
