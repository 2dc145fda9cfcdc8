"""Run the lab in the browser, where Python runs as WebAssembly (`front/worker.js`).

The stage is the lab's own. There are no widgets: a step is typed as in a scenario file, and panels show text. Each
state has an address.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from pathlib import Path
from typing import Any

import msgspec
import yaml

from hawb.lab import menus
from hawb.lab.acting import Acting
from hawb.lab.controller import Controller, Place
from hawb.lab.leads import LATEST
from hawb.lab.sources import START, TITLE, Choice
from hawb.languages import N_, _, language
from hawb.scenario.dump import dump
from hawb.scenario.fields import Bare, Flag
from hawb.scenario.load import ScenarioRefused
from hawb.scenario.text import parse
from hawb.scenario.verbs import VERBS
from hawb.site.address import address, point_at
from hawb.site.chosen import words
from hawb.views.formatting import seconds
from hawb.views.story.telling import sentences

STEP, STORY, EXPORT = "Any step", "Story", "Export"
NO_ADDRESS = N_("The address of this page cannot be opened:")
FORMS = {"Policy": "set_policy", "Time": "wait", "Clients": "consume", STEP: "publish"}
"""Panels of the lab in Jupyter that are replaced by a typed step, and its verb."""

OPENED = ("", STORY, EXPORT, menus.ON_STAGE, *FORMS)
"""The panels that this page supports; "" is an entry without a panel."""

STORIES = Path(__file__).parents[2] / "stories"
"""The folder of the site's stories beside the package.

Its `index.json` lists pairs of a title and a file's name; the name is empty for a heading.
"""

Listed = Sequence[tuple[str, str]]
"""Pairs of a title and a file's name, as in `index.json`."""


class TextLab(Acting):
    """The lab as a page with a stage and, in a drawer, text.

    `post` sends JSON to the page.
    """

    def __init__(
        self, controller: Controller, sources: Sequence[Choice], post: Callable[[str], None], spoken: str | None = None
    ):
        super().__init__(controller, self, sources, spoken)
        self.post, self.panel, self.typed, self.about, self.message = post, "", "", "", ""
        self.stories = {title: file for title, file in sources if isinstance(file, Path)}

    def given(self) -> dict[str, Any]:
        """Return the values that a page needs once, with the first page's own sentences."""
        given = super().given()
        with language(self.language):
            return given | {"words": given["words"] | words()}

    def offers(self, entry: menus.Entry) -> bool:
        """Return True if this page has a text, or a step to type, for an entry of a menu."""
        return entry.panel in OPENED

    def give(self) -> None:
        """Send the values of `given` to the page again."""
        self.post(json.dumps(self.given()))

    def show(self) -> None:
        """Send the controller's current point to the page."""
        super().show()
        self.view["address"] = address(self.controller.now, self.stories)
        with language(self.language):
            self.post(json.dumps({"view": self.view, "drawer": self.drawer()}))

    redraw = show

    def receive(self, message: dict) -> None:
        """Carry out a message of the page: one of a stage, a typed step, or an address to open."""
        if own := OWN.get(message.get("do", "")):
            with language(self.language):
                own(self, message)
            self.show()
        else:
            super().receive(message)

    def fork(self) -> TextLab:
        """Return a lab that continues independently from this point."""
        other = copy(self)
        other.controller, other.page = self.controller.copy(), other
        return other

    def take(self, message: dict) -> None:
        """Carry out a message, and compute at once what would have kept a loss, if the page would do so later."""
        self.receive(message)
        if self.view["leads"]["now"]["by_itself"]:
            play = self.view["play"]
            self.receive({"do": "ask"})
            self.view |= {"play": play, "answered": message.get("asked", 0)}

    def open_address(self, text: str) -> None:
        """Open the state of an address, or show why it is invalid."""
        try:
            self.controller.open_point(point_at(text, self.stories))
        except ScenarioRefused as refused:
            self.controller.messages = {Place.SCENARIO: f"{_(NO_ADDRESS)}\n{refused}"}

    def open_panel(self, name: str) -> None:
        """Open a panel's text, or the step that replaces it."""
        if name in FORMS:
            self.open_form(FORMS[name])
        elif name in (STORY, EXPORT):
            self.panel, self.message = name, ""

    def open_form(self, verb: str, **fields: object) -> None:
        """Open the drawer with a step to be completed."""
        self.panel, self.message = STEP, ""
        self.typed, self.about = form(verb, fields), inspect.getdoc(VERBS[verb]) or ""

    def close_panel(self) -> None:
        """Close the drawer."""
        self.panel = ""

    def play(self, text: str) -> None:
        """Play a typed step, or show why it is invalid."""
        self.typed, self.message = text, ""
        try:
            verb, argument, at = read_typed(text)
        except ScenarioRefused as refused:
            self.message = str(refused)
            return
        self.controller.at = at
        self.controller.act(verb, argument, Place.STEP)
        said = self.controller.messages
        self.message = said.get(Place.STEP) or said.get(Place.TIME) or ""
        self.panel = STEP if self.message else ""

    def drawer(self) -> dict | None:
        """Return the drawer's content: a step to be typed, or text; None if it is closed."""
        if not self.panel:
            return None
        if self.panel == STEP:
            return {"title": _(STEP), "typed": self.typed, "about": self.about, "message": self.message}
        read = dump(self.controller.now.run.scenario) if self.panel == EXPORT else story_text(self.controller.outcome)
        return {"title": _(self.panel), "read": read}


OWN: dict[str, Callable[[TextLab, dict], None]] = {
    "step": lambda lab, message: lab.play(message["text"]),
    "address": lambda lab, message: lab.open_address(message["address"]),
}
"""The messages of this page besides those of a stage."""


def story_text(outcome: dict) -> str:
    """Return the story, a sentence to a line."""
    return "\n".join(f"{seconds(one.t)} s  {one.text}" for one in sentences(outcome, LATEST))


def form(verb: str, fields: Mapping[str, object]) -> str:
    """Return a step as text, with its required fields left to be filled in."""
    struct = VERBS[verb]
    if issubclass(struct, Flag):
        return f"{verb}: true\n"
    needed = [field.encode_name for field in msgspec.structs.fields(struct) if field.required]
    if issubclass(struct, Bare):
        return f"{verb}: {next(iter(fields.values()), '')}\n"
    known = {**fields, **dict.fromkeys(name for name in needed if name not in fields)}
    lines = yaml.safe_dump(known, sort_keys=False, allow_unicode=True).replace(": null\n", ":\n")
    return f"{verb}:\n" + "".join(f"  {line}\n" for line in lines.splitlines())


def read_typed(text: str) -> tuple[str, object, str]:
    """Return a typed step's verb, its argument, and its time or "". Raise ScenarioRefused."""
    given = parse(text) if text.strip() else None
    step = {key: value for key, value in given.items() if key != "at"} if isinstance(given, dict) else {}
    if len(step) != 1:
        raise ScenarioRefused("not a step", given=text.strip(), accepted="one key and its value, such as `kill: a`")
    ((verb, argument),) = step.items()
    return verb, argument, str(given.get("at", ""))


def begin(opened: str, spoken: str, messages: Sequence[dict], post: Callable[[str], None]) -> TextLab:
    """Return the site's lab at an opened address, after `messages`.

    First it sends its values and its current point to the page with `post`, in the language `spoken`.
    """
    listed = json.loads((STORIES / "index.json").read_text("utf-8"))
    lab = TextLab(Controller(), sources_of(listed, STORIES), lambda _one: None, spoken)
    lab.receive({"do": "address", "address": opened})
    for message in messages:
        lab.take(message)
    lab.post = post
    lab.give()
    lab.show()
    return lab


def sources_of(listed: Listed, folder: Path) -> list[Choice]:
    """Return what can be opened: the lab's own cluster, then the listed stories, from a folder."""
    return [(TITLE, START), *((title, folder / file if file else None) for title, file in listed)]
