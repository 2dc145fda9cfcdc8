"""The first minute: five things to do, each until it is done. `until` is what the page watches for."""

from __future__ import annotations

from hawb.languages import N_

GUIDE: tuple[tuple[str, str], ...] = (
    (N_("Three nodes hold four queues. Each bar is what a node holds: b has only the last 10 messages of ha.orders. "
     "Click node a, which has all of them and is the master."), "menu"),
    (N_("Kill it."), "lost"),
    (N_("That cost 100 confirmed messages. Read why below, then press ↻ again and watch it once more."), "replayed"),
    (N_("What would have kept them stands on the right, with its price. Try one."), "tried"),
    (N_("The same kill, and nothing is lost. Undo takes everything back, however often you press it."), "undone"),
)  # fmt: skip
