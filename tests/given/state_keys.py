"""The search key of a run's state."""

from __future__ import annotations

from hawb.engine.keys.state_key import key
from hawb.scenario.run import Run


def key_of(run: Run) -> tuple:
    """Return the search key of the moment after the last step."""
    return key(run.moment().state, run.settings)
