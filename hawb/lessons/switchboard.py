"""Show the switches as a widget: after each flip the same story plays again, beside the one before.

The grid of all endings follows once the story is shown: its stories take half a second, the reader's takes 20 ms.
"""

from __future__ import annotations

from collections.abc import Mapping

import traitlets

from hawb import languages
from hawb.cluster import Cluster
from hawb.lab.stage import front_end
from hawb.languages import N_, _
from hawb.lessons import endings
from hawb.lessons.endings import FAULT, START, SWITCHES
from hawb.lessons.question import DRAWN, OWN, LessonWidget, played, scene_of
from hawb.views.story import pictures

STILL = {"lost": "▼", "harmed": "◌", "well": "✓"}
VALUES = (N_("mirrored"), N_("quorum"), N_("stop"), N_("kill"), N_("power off"))
"""The values that are words rather than values of policy keys."""


class Switches(LessonWidget):
    """Switches for `keys` and the fault, the story before and after the last flip, and a grid of endings.

    `switches` has the keys with their values, and `setting` the value of each: set it, as a click does, and `stories`
    and `grid` follow. `stories` has the picture, the costs and the movements; `grid` a row for each value of a key,
    with a cell for each fault. All traits can be observed and linked. Raise ValueError for an unknown key, and
    TraitError for an unknown value.
    """

    _esm = front_end(DRAWN, OWN / "switches.js")
    switches = traitlets.List().tag(sync=True)
    setting = traitlets.Dict().tag(sync=True, echo_update=False)
    stories = traitlets.Dict().tag(sync=True)
    grid = traitlets.List().tag(sync=True)

    def __init__(self, *keys: str, start: Mapping[str, str] | None = None):
        if unknown := [key for key in keys if key not in SWITCHES]:
            raise ValueError(f"there is no switch {unknown[0]!r}; there are {', '.join(SWITCHES)}")
        self._chosen = [key for key in SWITCHES if key in keys or key == FAULT] if keys else list(SWITCHES)
        self._begin = START | dict(start or {})
        super().__init__(setting=self._begin)
        self._show(None)
        self.observe(languages.kept(self._flip), "setting")

    @traitlets.validate("setting")
    def _known(self, proposal: dict) -> dict:
        """Refuse an unknown value, also from a front end."""
        try:
            endings.ending(proposal["value"])
        except (ValueError, TypeError) as unknown:
            raise traitlets.TraitError(str(unknown)) from None
        return proposal["value"]

    def _flip(self, change: dict) -> None:
        """Show the new setting beside the old one."""
        self._show(change["old"])

    def _show(self, was: dict | None) -> None:
        now = START | self.setting
        with self.hold_sync():
            self.switches = [
                {"key": key, "label": _(key), "applies": endings.applies(now, key),
                 "values": [{"value": value, "label": _(value)} for value in SWITCHES[key]]}
                for key in self._chosen
            ]  # fmt: skip
            self.stories = {
                "was": was and told(START | was, None) | {"differs": differing(now, START | was)},
                "now": told(now, was and START | was) | {"differs": differing(START | was, now) if was else []},
                "changed": endings.changed(was, now) if was else [],
            }
        self.grid = [
            {"key": key, "label": f"{_(key)} {_(value)}", "cells": [
                {"setting": cell.setting, "tone": cell.ending.tone, "brief": cell.ending.brief(),
                 "told": "; ".join(cell.ending.lines()), "held": list(cell.ending.held),
                 "fault": _(cell.setting[FAULT]), "is_now": cell.setting == now} for cell in cells]}
            for key, value, cells in endings.grid(now, self._chosen)
        ]  # fmt: skip

    def __repr__(self) -> str:
        lines = [" | ".join(f"{cell['fault']}: {STILL[cell['tone']]} {cell['brief']}" for cell in row["cells"])
                 for row in self.grid]  # fmt: skip
        return "\n".join(f"{row['label']}: {line}" for row, line in zip(self.grid, lines, strict=True))

    def _repr_mimebundle_(self, **kwargs: object) -> dict[str, str]:
        """Add forms for pages without widgets: the grid as text, and a picture of the initial story."""
        data, *_rest = super()._repr_mimebundle_(**kwargs)
        panels = [endings.before(self._begin).panel(_("before")), endings.story(self._begin).panel(_("after"))]
        return data | {"text/plain": repr(self), "image/svg+xml": pictures.svg(panels)}


def told(setting: dict, was: dict | None) -> dict:
    """Return a story's picture, costs and movements; changes are marked against the end of the setting `was`."""
    away, ending = endings.story(setting), endings.ending(setting)
    made = played(endings.before(setting), away)
    other: Cluster | None = endings.story(was) if was else None
    marked = scene_of(away, other.outcome if other else None)
    return made | {"after": marked, "tone": ending.tone, "lines": ending.lines()}


def differing(was: dict, now: dict) -> list[str]:
    """Return the values of the second setting that differ from the first."""
    return [f"{_(key)}: {_(now[key])}" for key in SWITCHES if was[key] != now[key]]
