"""Draw the cluster in a widget with a front end of its own, in which the user acts on it.

The state stays in Python. The front end receives one value, `view`, and draws it; each action of the user comes back as
a message that names one of `hawb.lab.acting.COMMANDS`. The front end consists of plain JavaScript modules, which are
joined here: Jupyter loads one module for each widget, and the project has no build step.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import anywidget
import traitlets

from hawb.lab.acting import Acting, Page
from hawb.lab.controller import Controller
from hawb.lab.menus import ON_STAGE, Entry
from hawb.lab.sources import choices
from hawb.views import style

FRONT = Path(__file__).parent / "front"
MODULES = (
    "elements", "chain", "picture", "network", "flights", "player", "menu", "columns", "log", "picker", "bars", "stage",
)  # fmt: skip
"""The modules of the front end; each may use those before it."""

LIGHT, DARK = style.properties(style.LIGHT), style.properties(style.DARK)
AROUND = "".join(f"--jp-layout-color{n}:{style.DARK['ground']};" for n in range(2)) + "".join(
    f"--jp-{what}-font-color{n}:{style.DARK['ink']};" for what in ("ui", "content") for n in range(3)
)
ROOT = ":is(.hawb-lab, .hawb-lesson)"
THEMES = f"""
{ROOT}, :host {{ {LIGHT} color-scheme: light; }}
body[data-jp-theme-light="false"] {ROOT}, body[data-vscode-theme-kind$="dark"] {ROOT},
body[data-vscode-theme-kind="vscode-high-contrast"] {ROOT} {{ {DARK} color-scheme: dark; }}
:host-context(.dark) {{ {DARK} color-scheme: dark; }}
@media (prefers-color-scheme: dark) {{
  body[data-voila] {ROOT} {{ {DARK} color-scheme: dark; }}
  body[data-voila] {{ {AROUND} }}
  body[data-voila], body[data-voila] #rendered_cells {{ background: {style.DARK["ground"]} !important; }}
}}
"""
"""Colours by theme: JupyterLab's, VS Code's or marimo's, and under Voilà the reader's system preference.

In browsers without `:host-context` marimo's stage is always light.
"""

ALONE = """
:host { display: block; width: 100%; }
:host .hs-stage { height: 680px; padding: .5em .9em; font-size: 13px; position: relative;
  color: var(--hawb-ink); background: var(--hawb-ground); }
"""
"""Styles for a stage without a page around it: marimo puts each widget into a shadow tree."""


LOOK = THEMES + (FRONT / "stage.css").read_text(encoding="utf-8")
"""The colours, and the styles of all that the modules draw."""


def front_end(modules: Sequence[str] = MODULES, *own: Path) -> str:
    """Return modules of the front end, and further files after them, as one module."""
    files = [*(FRONT / f"{name}.js" for name in modules), *own]
    return "\n".join(file.read_text(encoding="utf-8") for file in files)


class Stage(Acting, anywidget.AnyWidget):
    """The drawn cluster with its bars and columns, on a `page`."""

    _esm = front_end()
    _css = LOOK + ALONE
    view = traitlets.Dict().tag(sync=True)
    choices = traitlets.List().tag(sync=True)
    menus = traitlets.Dict().tag(sync=True)
    tag = traitlets.Unicode().tag(sync=True)
    languages = traitlets.List().tag(sync=True)
    words = traitlets.Dict().tag(sync=True)

    def __init__(self, controller: Controller, page: Page, folder: Path | None = None, *, language: str | None = None):
        Acting.__init__(self, controller, page, choices(folder), language)
        anywidget.AnyWidget.__init__(self, **self.given())
        self.on_msg(lambda _widget, message, _buffers: self.receive(message))

    def give(self) -> None:
        """Send the values of `given` to the page again, in one update."""
        with self.hold_sync():
            for name, value in self.given().items():
                setattr(self, name, value)
            self.view = {}


class LoneStage(Stage):
    """A stage that is the whole page, without a drawer: its menus have only entries that act at once."""

    panel = ""

    def __init__(self, controller: Controller, language: str | None = None):
        super().__init__(controller, self, language=language)
        self.show()

    def offers(self, entry: Entry) -> bool:
        """Return True if the entry needs no panel or form."""
        return entry.argument is not None or entry.panel == ON_STAGE

    def redraw(self) -> None:
        """Show the controller's current point."""
        self.show()

    def open_panel(self, name: str) -> None:
        """Do nothing: there is no drawer."""

    def open_form(self, verb: str, **fields: object) -> None:
        """Do nothing: there is no drawer."""

    def close_panel(self) -> None:
        """Do nothing: there is no drawer."""
