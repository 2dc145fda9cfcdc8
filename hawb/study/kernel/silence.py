"""Empty functions in place of the trace of replicas: `hawb.engine.classic.journal`."""

from __future__ import annotations

from types import SimpleNamespace

from hawb.engine.classic import journal
from hawb.study.compiled import inner

SAID = tuple(name for name in vars(journal) if name.startswith("say_") or name == "blame")
"""The functions that write the engine's trace."""
REASONS = tuple(name for name, value in vars(journal).items() if name.isupper() and isinstance(value, str))
"""The causes in the trace."""


@inner
def nothing(*_):
    """Return 0 and do nothing: there is no trace, so no entry for what follows."""
    return 0


PORTS = (*SAID, *REASONS)
SILENT = SimpleNamespace(**dict.fromkeys(SAID, nothing), **{name: number for number, name in enumerate(REASONS)})
"""The ports; causes are numbers."""
