"""What is told of replicas where nobody is told anything: `hawb.engine.classic.journal`."""

from __future__ import annotations

from types import SimpleNamespace

from hawb.engine.classic import journal
from hawb.study.compiled import inner

SAID = tuple(name for name in vars(journal) if name.startswith("say_") or name == "blame")
"""What the engine writes into the trace."""
REASONS = tuple(name for name, value in vars(journal).items() if name.isupper() and isinstance(value, str))
"""Why it happened."""


@inner
def nothing(*_):
    """Nothing is said, and there is no entry for what follows."""
    return 0


PORTS = (*SAID, *REASONS)
SILENT = SimpleNamespace(**dict.fromkeys(SAID, nothing), **{name: number for number, name in enumerate(REASONS)})
"""Reasons are told apart by their numbers."""
