"""The stage: the cluster drawn, played and acted upon, as a widget with a front end of its own.

The state stays in Python. The page takes one value, `view`, and draws it; whatever a person does there comes back as a
message with a name of `hawb.lab.acting.COMMANDS`. The front end is plain modules, one for each concern, that are joined
here: a widget is one module to Jupyter, and no build step is wanted.
"""

from __future__ import annotations

from pathlib import Path

import anywidget
import traitlets

from hawb.lab.acting import Acting, Page
from hawb.lab.controller import Controller
from hawb.lab.sources import choices
from hawb.views import style

FRONT = Path(__file__).parent / "front"
MODULES = ("elements", "picture", "network", "flights", "player", "menu", "columns", "log", "bars", "stage")
"""The modules of the front end, each of which uses what stands in those before it."""

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


class Stage(Acting, anywidget.AnyWidget):
    """The drawn cluster with its bars and columns, on a `page`."""

    _esm = front_end()
    _css = THEMES + (FRONT / "stage.css").read_text(encoding="utf-8")
    view = traitlets.Dict().tag(sync=True)
    choices = traitlets.List().tag(sync=True)
    menus = traitlets.Dict().tag(sync=True)
    guide = traitlets.List().tag(sync=True)

    def __init__(self, controller: Controller, page: Page, folder: Path | None = None):
        Acting.__init__(self, controller, page, choices(folder))
        anywidget.AnyWidget.__init__(self, **self.given())
        self.on_msg(lambda _widget, told, _buffers: self.receive(told))
