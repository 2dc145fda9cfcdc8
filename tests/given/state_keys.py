"""The key of the state that a run has led to."""

from __future__ import annotations

from hawb.engine.keys.state_key import key
from hawb.scenario.run import Run


def key_of(run: Run) -> tuple:
    """Of the moment to which its last step has led."""
    return key(run.moment().state, run.settings)
