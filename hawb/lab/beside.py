"""Play a second story beside the first: the same steps with one thing changed, at the moment that is shown."""

from __future__ import annotations

from hawb.lab.history import Point
from hawb.planning.variants import Variant, Varied, setting, settings, varied
from hawb.scenario.outcome import outcome


class Beside:
    """The `variant` that the user chose, or None. Its story is played once for each point."""

    def __init__(self) -> None:
        self.variant: Variant | None = None
        self._played: tuple[Point, Variant, Varied] | None = None

    def at(self, point: Point) -> Varied | None:
        """Return the other story, played as far as a point; None without a variant."""
        if self.variant is None:
            return None
        if self._played is None or self._played[0] is not point or self._played[1] is not self.variant:
            self._played = (point, self.variant, varied(point.run, self.variant))
        return self._played[2]

    def outcome(self, point: Point) -> dict | None:
        """Return the outcome of the other story at the moment that a point shows; None if there is no other story.

        If its last step ends later than that moment, the outcome is that after its last step.
        """
        found = self.at(point)
        run = None if found is None else found.run
        if run is None:
            return None
        return outcome(run, run.moment() if point.at_s is None else run.moment_at(max(point.at_s, run.reached_s)))


def variants(point: Point, queue: str) -> dict[str, Variant]:
    """Return a queue's variants that apply from the story's beginning, by their descriptions."""
    found = [setting(queue, one.what) for one in settings(point.run, queue) if one.document is not None]
    return {one.what: one for one in found}
