"""The stage: the cluster drawn, played and acted upon, as a widget with a front end of its own.

The state stays in Python. The page takes one value, `view`, and draws it; whatever a person does there comes back as a
message with a name of `hawb.lab.acting.COMMANDS`. The front end is plain modules, one for each concern, that are joined
here: a widget is one module to Jupyter, and no build step is wanted.
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
MODULES = ("elements", "picture", "network", "flights", "player", "menu", "columns", "log", "picker", "bars", "stage")
"""The modules of the front end, each of which uses what stands in those before it."""

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
"""The theme of JupyterLab, VS Code or marimo decides which colours there are (in a browser that does not know the last
rule, marimo's stage is always light); where Voilà serves the page, what the reader's system prefers."""

ALONE = """
:host { display: block; width: 100%; }
:host .hs-stage { height: 680px; padding: .5em .9em; font-size: 13px; position: relative;
  color: var(--hawb-ink); background: var(--hawb-ground); }
"""
"""What the page around a stage gives it elsewhere: marimo has each widget in a shadow tree of its own."""


LOOK = THEMES + (FRONT / "stage.css").read_text(encoding="utf-8")
"""The colours, and the look of all that the modules draw."""


def front_end(modules: Sequence[str] = MODULES, *own: Path) -> str:
    """Return modules of the front end, and files of another room after them, as one module."""
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
        self.on_msg(lambda _widget, told, _buffers: self.receive(told))

    def give(self) -> None:
        """Tells the page anew what it is told once, all of it at once."""
        with self.hold_sync():
            for name, value in self.given().items():
                setattr(self, name, value)
            self.view = {}


class LoneStage(Stage):
    """A stage that is the whole page, where no drawer can be shown: its menus have what is done at once."""

    panel = ""

    def __init__(self, controller: Controller, language: str | None = None):
        super().__init__(controller, self, language=language)
        self.show()

    def offers(self, entry: Entry) -> bool:
        """Whether nothing has to be opened for it."""
        return entry.argument is not None or entry.panel == ON_STAGE

    def redraw(self) -> None:
        """Shows where the controller stands."""
        self.show()

    def open_panel(self, name: str) -> None:
        """There is none."""

    def open_form(self, verb: str, **fields: object) -> None:
        """There is none."""

    def close_panel(self) -> None:
        """There is none."""
