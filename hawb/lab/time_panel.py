"""Time: back and forth through the story, to any moment of it, playing on, waiting, and the lanes that show it all."""

from __future__ import annotations

from collections.abc import Callable

import ipywidgets as widgets

from hawb.lab import fields
from hawb.lab.controller import Controller, Place
from hawb.lab.fields import Changed, Message
from hawb.lab.player import SPEEDS, Player
from hawb.lab.typed import number
from hawb.views.formatting import seconds
from hawb.views.story import lanes, timeline

PLAY, PAUSE = ("▶ play", "play the steps ahead, then let time pass while anything is due"), ("‖ pause", "stop playing")
"""The button's label and tooltip while nothing plays, and while something does."""


class TimePanel:
    """The lanes, and the controls of time beside them."""

    def __init__(self, controller: Controller, changed: Changed):
        self.controller, self.changed = controller, changed
        self.player = Player(controller, changed)
        self.back = fields.button("◀ step", "back to before the last step", lambda: self._do(controller.step_back))
        self.forward = fields.button("step ▶", "", lambda: self._do(controller.step_forward))
        self.place = widgets.HTML()
        self.play = fields.button("", "", self._play)
        speeds = [(f"×{speed}", speed) for speed in SPEEDS]
        self.speed = fields.dropdown("", "simulated seconds per second", speeds, width="66px")
        self.speed.value = self.player.speed
        self.speed.observe(lambda change: setattr(self.player, "speed", change["new"]), "value")
        self.moment = widgets.IntSlider(
            description="moment", tooltip="looks at any moment of the story; what is done then goes on from there",
            readout=False, style={"description_width": "initial"}, layout={"width": "95%"},
        )  # fmt: skip
        self.moment.observe(self._look, "value")
        self.seconds = fields.text("", "seconds of simulated time to wait", "75", width="60px")
        self.wait = fields.button("wait", "simulated time passes, in seconds", self._wait)
        self.at = fields.text("next step at", "its time in seconds; empty: once all has settled", width="150px")
        self.at.placeholder = "settled"
        self.at.observe(lambda change: setattr(controller, "at", change["new"]), "value")
        self.time = fields.named(widgets.HTML(), "hawb-time")
        self.message = Message(Place.TIME)
        self.lanes = fields.named(widgets.HTML(), "hawb-lanes")
        self._drawn: tuple = (None, None, None, "")
        controls = fields.row(
            fields.row(self.back, self.forward, self.place),
            fields.row(self.play, self.speed, self.time),
            self.moment,
            fields.row(self.wait, self.seconds, widgets.HTML("s")),
            self.at,
        )
        clock = fields.named(self.message.beside(controls), "hawb-clock")
        self.box = fields.named(widgets.HBox([self.lanes, clock]), "hawb-time-panel")

    def show(self) -> None:
        """Shows where the controller stands."""
        outcome, queue = self.controller.outcome, self.controller.queue
        played, steps = self.controller.story_place
        self.place.value = f"{played} of {steps}"
        self.back.disabled = not played
        self.forward.disabled = played == steps
        self.forward.tooltip = f"play the step ahead: {self.controller.next_step or 'there is none'}"
        self.play.description, self.play.tooltip = PAUSE if self.player.is_playing else PLAY
        self.play.disabled = not (self.player.is_playing or self.player.can_play)
        self.at.value = self.controller.at
        story = self.controller.story_outcome
        now, end = seconds(outcome["time_s"]), seconds(story["time_s"])
        self.at.placeholder = now if self.controller.looks_back else "settled"
        self.time.value = f"t = {now} of {end} s" if self.controller.looks_back else f"t = {now} s"
        self.moment.max = self.controller.moments - 1
        self.moment.value = self.controller.position
        self.message.show(self.controller)
        self.lanes.value = self._lanes(story, queue if queue in story["ledger"] else None, outcome["time_s"])

    def _lanes(self, story: dict, queue: str | None, at: float) -> str:
        """The whole story's lanes with a line at a moment. They are drawn anew only for another story or queue."""
        if self._drawn[0] is not story or self._drawn[1] != queue:
            drawn = lanes.lanes(story, queue)
            self._drawn = (story, queue, drawn, timeline.html(drawn, story, f"hawb-{id(self)}"))
        _, _, drawn, content = self._drawn
        return timeline.framed(content, drawn, at)

    def _look(self, change: dict) -> None:
        if change["new"] != self.controller.position:
            self._do(lambda: self.controller.look_at(change["new"]))

    def _do(self, action: Callable[[], None]) -> None:
        action()
        self.changed()

    def _play(self) -> None:
        if self.player.is_playing:
            self.player.stop()
        else:
            self.player.start()

    def _wait(self) -> None:
        self._do(lambda: self.controller.act("wait", number(self.seconds.value), Place.TIME))
