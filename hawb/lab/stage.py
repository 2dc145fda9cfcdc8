"""The stage: the cluster drawn, played and acted upon, as a widget with a front end of its own.

The state stays in Python. The page takes one value, `view`, and draws it; whatever a person does there comes back as a
message with a name of `COMMANDS`. The front end is plain modules, one for each concern, that are joined here: a widget
is one module to Jupyter, and no build step is wanted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import anywidget
import traitlets

from hawb.lab import menus
from hawb.lab.controller import Controller, Place
from hawb.lab.guide import GUIDE
from hawb.lab.history import Point
from hawb.lab.leads import offered, worst
from hawb.lab.sources import choices
from hawb.lab.stage_view import view
from hawb.views import style
from hawb.views.story.drafts import Drafts

FRONT = Path(__file__).parent / "front"
MODULES = ("elements", "picture", "network", "flights", "player", "menu", "columns", "log", "bars", "stage")
"""The modules of the front end, each of which uses what stands in those before it."""

SOON_S = 0.4
"""How long after a loss was shown it is asked what would have kept it, so that the page is drawn first."""

LIGHT, DARK = style.properties(style.LIGHT), style.properties(style.DARK)
AROUND = "".join(f"--jp-layout-color{n}:{style.DARK['ground']};" for n in range(2)) + "".join(
    f"--jp-{what}-font-color{n}:{style.DARK['ink']};" for what in ("ui", "content") for n in range(3)
)
THEMES = f"""
.hawb-lab {{ {LIGHT} color-scheme: light; }}
body[data-jp-theme-light="false"] .hawb-lab {{ {DARK} color-scheme: dark; }}
@media (prefers-color-scheme: dark) {{
  body[data-voila] .hawb-lab {{ {DARK} color-scheme: dark; }}
  body[data-voila] {{ {AROUND} }}
  body[data-voila], body[data-voila] #rendered_cells {{ background: {style.DARK["ground"]} !important; }}
}}
"""
"""JupyterLab's theme decides which colours there are; where Voilà serves the page, what the reader's system prefers."""


def front_end() -> str:
    """The front end as one module."""
    return "\n".join((FRONT / f"{name}.js").read_text(encoding="utf-8") for name in MODULES)


class Page(Protocol):
    """The page around the stage: what has more to say opens there, in the panel called `panel`."""

    panel: str

    def redraw(self) -> None:
        """Shows where the controller stands."""

    def open_panel(self, name: str) -> None:
        """Opens a panel."""

    def open_form(self, verb: str, **fields: object) -> None:
        """Opens the form of a verb, with some fields filled in."""

    def close_panel(self) -> None:
        """Closes the panel that is open."""


class Stage(anywidget.AnyWidget):
    """The drawn cluster with its bars and columns, on a `page`."""

    _esm = front_end()
    _css = THEMES + (FRONT / "stage.css").read_text(encoding="utf-8")
    view = traitlets.Dict().tag(sync=True)
    choices = traitlets.List().tag(sync=True)
    menus = traitlets.Dict().tag(sync=True)
    guide = traitlets.List().tag(sync=True)

    def __init__(self, controller: Controller, page: Page, folder: Path | None = None):
        self.controller, self.page = controller, page
        self.sources = choices(folder)
        self._shown: Point | None = None
        self._drafts = Drafts()
        more = [{"group": group, "entries": menus.plain(entries)} for group, entries in menus.MORE.items()]
        super().__init__(
            choices=[{"label": label, "heading": source is None} for label, source in self.sources],
            menus={"node": menus.plain(menus.NODE), "queue": menus.plain(menus.QUEUE), "more": more},
            guide=[{"text": text, "until": until} for text, until in GUIDE],
        )
        self.on_msg(lambda _widget, told, _buffers: self.receive(told))

    def show(self) -> None:
        """Shows where the controller stands."""
        point, shown = self.controller.now, self._shown
        made = view(self.controller, shown if shown is not None and follows(point, shown) else None, self._drafts)
        self.view = made | {"panel": self.page.panel} | ({"play": None} if point is shown else {})
        self._shown = point
        if self.view["leads"]["now"]["by_itself"]:
            soon(lambda: self._ask_by_itself(point))

    def receive(self, told: dict[str, Any]) -> None:
        """Does what the page asks for: a message with `do`, a name of COMMANDS."""
        command = COMMANDS.get(told.get("do", ""))
        if command is not None:
            command(self, told)
            self.page.redraw()

    def _ask_by_itself(self, point: Point) -> None:
        """Finds out what would have kept the worst loss, if it is still what is shown."""
        if self.controller.now is point and point.alternatives is None:
            ask(self, {})
            self.show()


def follows(point: Point, shown: Point) -> bool:
    """Whether a point goes on from another by a step, or by more time: then what happened since is played."""
    if point.opened or point.at_s is not None:
        return False
    if point.passed_s and shown.passed_s and point.before is shown.before:
        return True
    told = shown.outcome["events"]
    goes_on = point.outcome["events"][: len(told)][-1:] == told[-1:]
    return point.before is shown and len(point.run.steps) == len(shown.run.steps) + 1 and goes_on


def soon(do: Callable[[], None]) -> None:
    """Does something once the page has been drawn; at once where nothing can be put off."""
    try:
        asyncio.get_running_loop().call_later(SOON_S, do)
    except RuntimeError:
        return


# What the page can ask for


def on_node(stage: Stage, told: dict) -> None:
    """An entry of a node's menu."""
    entry, node = menus.NODE[told["entry"]], told["node"]
    others = [other for other in stage.controller.outcome["nodes"] if other != node]
    _play(stage, entry, node, others, Place.NODES)


def on_queue(stage: Stage, told: dict) -> None:
    """An entry of a queue's menu."""
    stage.controller.choose(told["queue"])
    _play(stage, menus.QUEUE[told["entry"]], told["queue"], [], Place.QUEUES)


def on_all(stage: Stage, told: dict) -> None:
    """An entry of what else there is."""
    if told["entry"] == "safe to stop?":
        stage.controller.forecasting = True
    _play(stage, menus.ALL_MORE[told["entry"]], "", [], Place.NODES)


def _play(stage: Stage, entry: menus.Entry, name: str, others: list[str], place: Place) -> None:
    if entry.panel:
        stage.page.open_panel(entry.panel)
    elif entry.argument is None:
        given = {"node": name} if place is Place.NODES and name else {"queue": name} if name else {}
        stage.page.open_form(entry.verb, **given)
    else:
        stage.controller.act(entry.verb, entry.argument(name, others), place)


def part(stage: Stage, told: dict) -> None:
    """A line through the network: groups of nodes that are parted, or links that are cut."""
    if told.get("groups"):
        stage.controller.act("partition", told["groups"])
    else:
        stage.controller.act("cut", told["links"])


def suggested(stage: Stage, told: dict) -> None:
    """A step that the page suggested."""
    stage.controller.act(told["verb"], told["argument"])


def ask(stage: Stage, _told: dict) -> None:
    """What would have kept the worst loss."""
    if (harm := worst(stage.controller)) is not None:
        stage.controller.ask_alternatives(harm)


def try_kept(stage: Stage, told: dict) -> None:
    """The story under one of the changes that would have kept something."""
    found = stage.controller.alternatives
    if found is not None:
        stage.controller.try_alternative(offered(found)[told["number"]])


def play_on(stage: Stage, told: dict) -> None:
    """The next step or, at the story's end, some more time."""
    if stage.controller.next_step:
        stage.controller.step_forward()
    elif stage.controller.has_timers:
        stage.controller.pass_time(told["seconds"])


def open_source(stage: Stage, told: dict) -> None:
    """Another scenario."""
    _, source = stage.sources[told["number"]]
    if source is not None:
        stage.controller.open(source)


COMMANDS: dict[str, Callable[[Stage, dict], None]] = {
    "node": on_node,
    "queue": on_queue,
    "more": on_all,
    "part": part,
    "suggested": suggested,
    "ask": ask,
    "try": try_kept,
    "play on": play_on,
    "open": open_source,
    "panel": lambda stage, told: stage.page.open_panel(told["panel"]),
    "close": lambda stage, _told: stage.page.close_panel(),
    "choose": lambda stage, told: stage.controller.choose(told["queue"]),
    "undo": lambda stage, _told: stage.controller.undo(),
    "redo": lambda stage, _told: stage.controller.redo(),
    "step back": lambda stage, _told: stage.controller.step_back(),
    "step forward": lambda stage, _told: stage.controller.step_forward(),
    "look": lambda stage, told: stage.controller.look_at(told["position"]),
}
"""What a message may ask for."""
