"""The lab where Python runs in the browser itself (`front/worker.js`). The stage is the lab's own. There are no
widgets: a step is typed as a scenario file has it, and what is to be read is text.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec
import yaml

from hawb.lab import menus
from hawb.lab.acting import Acting
from hawb.lab.controller import Controller, Place
from hawb.lab.leads import LATEST
from hawb.lab.sources import START, TITLE, Choice
from hawb.languages import _, language
from hawb.scenario.dump import dump
from hawb.scenario.forms import Bare, Flag
from hawb.scenario.load import ScenarioRefused
from hawb.scenario.text import parse
from hawb.scenario.verbs import VERBS
from hawb.views.formatting import seconds
from hawb.views.story.telling import sentences

STEP, STORY, EXPORT = "Any step", "Story", "Export"
FORMS = {"Policy": "set_policy", "Time": "wait", "Clients": "consume", STEP: "publish"}
"""Panels of the lab in Jupyter in whose place a step is typed here, and which."""

OPENED = ("", STORY, EXPORT, menus.ON_STAGE, *FORMS)
"""The panels that something stands for here, and none."""

STORIES = Path(__file__).parents[2] / "stories"
"""Where the site's stories lie beside the package, with `index.json`: pairs of a title and a file's name, the name of a
heading empty."""


class TextLab(Acting):
    """The lab as a page that has a stage and, in a drawer, text. `post` takes what the page is to show, as JSON."""

    def __init__(self, controller: Controller, sources: list[Choice], post: Callable[[str], None]):
        super().__init__(controller, self, sources)
        self.post, self.panel, self.typed, self.about, self.message = post, "", "", "", ""

    def offers(self, entry: menus.Entry) -> bool:
        """Whether there is a text for an entry of a menu, or a step that stands for its panel."""
        return entry.panel in OPENED

    def give(self) -> None:
        """Tells the page anew what it is told once."""
        self.post(json.dumps(self.given()))

    def show(self) -> None:
        """Shows where the controller stands."""
        super().show()
        with language(self.language):
            self.post(json.dumps({"view": self.view, "drawer": self.drawer()}))

    redraw = show

    def receive(self, told: dict) -> None:
        """Does what the page asks for; a typed step is the one thing that a stage does not ask for."""
        if told.get("do") == "step":
            with language(self.language):
                self.play(told["text"])
            self.show()
        else:
            super().receive(told)

    def open_panel(self, name: str) -> None:
        """Opens what there is to be read, or the step that stands for a panel."""
        if name in FORMS:
            self.open_form(FORMS[name])
        elif name in (STORY, EXPORT):
            self.panel, self.message = name, ""

    def open_form(self, verb: str, **fields: object) -> None:
        """Opens the drawer with a step to be completed."""
        self.panel, self.message = STEP, ""
        self.typed, self.about = form(verb, fields), inspect.getdoc(VERBS[verb]) or ""

    def close_panel(self) -> None:
        """Closes the drawer."""
        self.panel = ""

    def play(self, text: str) -> None:
        """Plays a typed step, or says what is wrong with it."""
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
        """What the drawer shows: a step to be typed, or text; None where it is closed."""
        if not self.panel:
            return None
        if self.panel == STEP:
            return {"title": _(STEP), "typed": self.typed, "about": self.about, "message": self.message}
        read = dump(self.controller.now.run.scenario) if self.panel == EXPORT else told_story(self.controller.outcome)
        return {"title": _(self.panel), "read": read}


def told_story(outcome: dict) -> str:
    """All that happened, a sentence a line."""
    return "\n".join(f"{seconds(one.t)} s  {one.text}" for one in sentences(outcome, LATEST))


def form(verb: str, fields: Mapping[str, object]) -> str:
    """A step as text, with what it needs left to be filled in."""
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
    """The verb of a typed step, its argument, and its time if it has one. Raises ScenarioRefused."""
    given = parse(text) if text.strip() else None
    step = {key: value for key, value in given.items() if key != "at"} if isinstance(given, dict) else {}
    if len(step) != 1:
        raise ScenarioRefused("not a step", given=text.strip(), accepted="one verb and its argument, such as `kill: a`")
    ((verb, argument),) = step.items()
    return verb, argument, str(given.get("at", ""))


def begin(name: str, post: Callable[[str], None]) -> TextLab:
    """The lab with a story of the site open, or its own cluster, after it has told the page what it is told once."""
    found = json.loads((STORIES / "index.json").read_text("utf-8"))
    known = {file: STORIES / file for _, file in found if file}
    start = known.get(f"{name}.yaml", START)
    lab = TextLab(Controller(start), [(TITLE, START), *((said, known.get(file)) for said, file in found)], post)
    post(json.dumps(lab.given()))
    lab.show()
    return lab
