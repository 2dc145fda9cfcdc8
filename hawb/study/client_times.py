"""Add up the interruptions of one of a trial's clients (`hawb.engine.clients.steady.interruptions`)."""

from __future__ import annotations

from hawb.engine.clients.steady.interruptions import NOT_YET, late_us, since_us


class ClientTimes:
    """The interruptions of a client; its messages are late after `deadline_us`."""

    def __init__(self, deadline_us: int):
        self._deadline_us, self._total_us, self._since_us = deadline_us, 0, NOT_YET

    def watch(self, now_us: int, *, is_served: bool) -> None:
        """Note whether the client is served from now on."""
        if is_served:
            self._total_us = self.at(now_us)
        self._since_us = since_us(self._since_us, is_served, now_us)

    def at(self, now_us: int) -> int:
        """Return the microseconds until now whose messages are late."""
        return self._total_us + late_us(self._since_us, now_us, self._deadline_us)
