"""Carry out what the user does on the stage, whichever page draws it.

The front end receives one value, `view`. It sends messages, each of which names one of COMMANDS.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from hawb import languages
from hawb.lab import menus
from hawb.lab.controller import Controller, Place
from hawb.lab.guide import guide
from hawb.lab.history import Point
from hawb.lab.leads import offered, worst
from hawb.lab.sources import Choice
from hawb.lab.stage_view import view
from hawb.languages import _
from hawb.views.story.drafts import Drafts

SOON_S = 0.4
"""Seconds between drawing a loss and computing its alternatives, so that the page is drawn first."""


class Page(Protocol):
    """The page around the stage, with panels for details; `panel` is the open panel's name."""

    panel: str

    def redraw(self) -> None:
        """Show the controller's current point."""

    def open_panel(self, name: str) -> None:
        """Open a panel."""

    def open_form(self, verb: str, **fields: object) -> None:
        """Open the form of a verb, with some fields filled in."""

    def close_panel(self) -> None:
        """Close the open panel."""

    def speak(self, language: str) -> None:
        """Switch all texts to another language."""


class Acting:
    """A controller shown on a stage, with the sources that can be opened and the `page` around it.

    Texts are in `language`, by default that of the environment. A subclass draws the page from `view`. Raise ValueError
    for a language that hawb lacks.
    """

    def __init__(self, controller: Controller, page: Page, sources: Sequence[Choice], language: str | None = None):
        self.controller, self.page, self.sources = controller, page, sources
        self.language = languages.named(language or languages.wanted())
        self._shown: Point | None = None
        self._answered = 0
        self.refused: dict = {}
        self._drafts = Drafts()

    def given(self) -> dict[str, Any]:
        """Return the values that a page needs once: the languages, the sources that can be opened, and the menus."""
        with languages.language(self.language):
            groups = {"node": menus.NODES, "queue": menus.QUEUES, "more": menus.MORE}
            return {
                "tag": languages.LANGUAGES[self.language].tag,
                "languages": [[name, one.name, one.tag] for name, one in languages.LANGUAGES.items()],
                "words": languages.catalogue(self.language, languages.FRONT).texts,
                "choices": [{"label": _(label), "heading": source is None} for label, source in self.sources],
                "menus": {menu: menus.plain(entries, self.offers) for menu, entries in groups.items()},
            }

    def give(self) -> None:
        """Send the values of `given` to the page again."""

    def speak(self, language: str) -> None:
        """Switch all texts to another language, and forget earlier answers, which are in the old one."""
        self.language = languages.named(language)
        self.controller.forget_answers()
        self.give()

    def offers(self, entry: menus.Entry) -> bool:
        """Return True if this page can open what a menu's entry opens."""
        return True

    def show(self) -> None:
        """Set `view` to the controller's current point."""
        point, shown = self.controller.now, self._shown
        with languages.language(self.language):
            made = {"guide": guide(self.controller)}
            made |= view(self.controller, shown if shown is not None and follows(point, shown) else None, self._drafts)
            made |= {"answered": self._answered, "refused": self.refused}
            around = {"panel": self.page.panel, "title": _(self.page.panel)}
            self.view = made | around | ({"play": None} if point is shown else {})
            self._shown = point
            if self.view["leads"]["now"]["by_itself"]:
                soon(lambda: self._ask_by_itself(point))

    def receive(self, message: dict[str, Any]) -> None:
        """Carry out a message of the page: `do` names one of COMMANDS.

        The message's number, `asked`, comes back in the view as `answered`, even if the command fails, so that the page
        stops waiting for it.
        """
        command = COMMANDS.get(message.get("do", ""))
        if command is not None:
            self._answered = message.get("asked", self._answered)
            self.refused = {}
            try:
                with languages.language(self.language):
                    command(self, message)
            finally:
                self.page.redraw()

    def _ask_by_itself(self, point: Point) -> None:
        """Compute what would have kept the worst loss, unless the user has moved on from this point."""
        if self.controller.now is point and point.alternatives is None:
            with languages.language(self.language):
                ask(self, {})
            self.show()


def follows(point: Point, shown: Point) -> bool:
    """Return True if a point continues another by one step or by more time, so that the page plays the difference."""
    if point.opened or point.at_s is not None:
        return False
    if point.passed_s and shown.passed_s and point.before is shown.before:
        return True
    events = shown.outcome["events"]
    goes_on = point.outcome["events"][: len(events)][-1:] == events[-1:]
    return point.before is shown and len(point.run.steps) == len(shown.run.steps) + 1 and goes_on


def soon(do: Callable[[], None]) -> None:
    """Call a function after the page has been drawn; do nothing if no event loop runs."""
    try:
        asyncio.get_running_loop().call_later(SOON_S, do)
    except RuntimeError:
        return


# Commands of the page


def open_menu(acting: Acting, message: dict) -> None:
    """Compute which entries of an opened menu RabbitMQ would refuse. A queue's menu also selects the queue."""
    menu, name, controller = message["menu"], message["name"], acting.controller
    if menu == "queue":
        controller.choose(name)
    offers = acting.view["offers"]
    known = menus.NODE if menu == "node" else menus.QUEUE
    entries = {entry: known[entry] for entry in offers["lists"][offers[menu][name]]}
    found = menus.refused(entries, name, controller.outcome["nodes"], controller.refusal)
    acting.refused = {"menu": menu, "name": name, "entries": found}


def on_node(acting: Acting, message: dict) -> None:
    """Carry out an entry of a node's menu."""
    _play(acting, menus.NODE[message["entry"]], message["node"], Place.NODES)


def on_queue(acting: Acting, message: dict) -> None:
    """Carry out an entry of a queue's menu."""
    acting.controller.choose(message["queue"])
    _play(acting, menus.QUEUE[message["entry"]], message["queue"], Place.QUEUES)


def on_all(acting: Acting, message: dict) -> None:
    """Carry out an entry of the menu of the whole cluster."""
    if message["entry"] == "safe to stop?":
        acting.controller.forecasting = True
    _play(acting, menus.ALL_MORE[message["entry"]], "", Place.NODES)


def _play(acting: Acting, entry: menus.Entry, name: str, place: Place) -> None:
    if entry.panel:
        acting.page.open_panel(entry.panel)
    elif entry.argument is None:
        given = {"node": name} if place is Place.NODES and name else {"queue": name} if name else {}
        acting.page.open_form(entry.verb, **given)
    else:
        nodes = acting.controller.outcome["nodes"]
        acting.controller.act(entry.verb, menus.argument_of(entry, name, nodes), place)


def part(acting: Acting, message: dict) -> None:
    """Cut the network: into groups of nodes (`partition`), or at single links (`cut`)."""
    if message.get("groups"):
        acting.controller.act("partition", message["groups"])
    else:
        acting.controller.act("cut", message["links"])


def suggested(acting: Acting, message: dict) -> None:
    """Play a step that the page suggested."""
    acting.controller.act(message["verb"], message["argument"])


def ask(acting: Acting, _message: dict) -> None:
    """Compute what would have kept the messages of the worst loss."""
    if (harm := worst(acting.controller)) is not None:
        acting.controller.ask_alternatives(harm)


def try_kept(acting: Acting, message: dict) -> None:
    """Open the story under one of the changes that would have kept messages."""
    found = acting.controller.now.alternatives
    if found is not None:
        acting.controller.try_alternative(offered(found)[message["number"]])


def play_on(acting: Acting, message: dict) -> None:
    """Play the next step or, at the end of the story, let more time pass."""
    if acting.controller.next_step:
        acting.controller.step_forward()
    elif acting.controller.has_timers:
        acting.controller.pass_time(message["seconds"])


def open_source(acting: Acting, message: dict) -> None:
    """Open another scenario; headings of groups are ignored."""
    _, source = acting.sources[message["number"]]
    if source is not None:
        acting.controller.open(source)


COMMANDS: dict[str, Callable[[Acting, dict], None]] = {
    "menu": open_menu,
    "node": on_node,
    "queue": on_queue,
    "more": on_all,
    "part": part,
    "suggested": suggested,
    "ask": ask,
    "try": try_kept,
    "play on": play_on,
    "open": open_source,
    "panel": lambda acting, message: acting.page.open_panel(message["panel"]),
    "close": lambda acting, _message: acting.page.close_panel(),
    "choose": lambda acting, message: acting.controller.choose(message["queue"]),
    "undo": lambda acting, _message: acting.controller.undo(),
    "redo": lambda acting, _message: acting.controller.redo(),
    "step back": lambda acting, _message: acting.controller.step_back(),
    "step forward": lambda acting, _message: acting.controller.step_forward(),
    "language": lambda acting, message: acting.page.speak(message["language"]),
    "look": lambda acting, message: acting.controller.look_at(message["position"]),
}
"""The function for each command that a message can name."""
