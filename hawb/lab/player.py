"""Playing: at each beat the step ahead is played or, at the story's end, simulated time goes on while anything is due.

The player is a task of the kernel's event loop. It ends when nothing is left to play, when it is told to, and when a
person does anything else.
"""

from __future__ import annotations

import asyncio

from hawb.lab.controller import Controller
from hawb.lab.fields import Changed

BEAT_S = 0.5
"""Seconds on the wall between two beats."""

SPEEDS = (1, 10, 100)
"""Simulated seconds per second on the wall."""


class Player:
    """Plays a controller's story; `speed` is one of SPEEDS."""

    def __init__(self, controller: Controller, changed: Changed):
        self.controller, self.changed = controller, changed
        self.speed = 10
        self.task: asyncio.Task | None = None
        self.resume()

    @property
    def is_playing(self) -> bool:
        """Whether the next beat will come."""
        return self.task is not None and not self.task.done()

    @property
    def can_play(self) -> bool:
        """Whether a beat would do anything."""
        return bool(self.controller.next_step) or self.controller.has_timers

    def start(self) -> None:
        """Begins to play; there must be a running event loop."""
        self.resume()
        self.task = asyncio.get_running_loop().create_task(self._play())
        self.task.add_done_callback(lambda _: self.changed())
        self.changed()

    def resume(self) -> None:
        """Continues playing from where the controller stands."""
        self._left = self.controller.now

    def stop(self) -> None:
        """Ends playing. Where nothing plays it does nothing."""
        if self.task is not None:
            self.task.cancel()

    def tick(self) -> bool:
        """One beat. False, and nothing happens, when there is nothing to play or a person has done something else."""
        if self.controller.now is not self._left or not self.can_play:
            return False
        if self.controller.next_step:
            self.controller.step_forward()
        else:
            self.controller.pass_time(self.speed * BEAT_S)
        self.resume()
        self.changed()
        return True

    async def _play(self) -> None:
        while self.tick():
            await asyncio.sleep(BEAT_S)
