"""Write all pages of the documentation into one folder, as Sphinx needs them: `write_all`."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

from hawb.docs.answers_page import answers_page
from hawb.docs.cli_page import cli_page
from hawb.docs.events_page import events_page
from hawb.docs.file_pages import format_page, study_page, verbs_page
from hawb.docs.links import followed, with_sections
from hawb.docs.python_page import python_page
from hawb.scenario.checkout import PACKAGE, data_folder_for
from hawb.views import style

OWN = Path(__file__).parent
PAGES, BUILDER = OWN / "pages", OWN / "builder"
CHECKOUT = PACKAGE.parent
BUILT_WITH = ("conf.py", "site.css")

GENERATED: dict[str, Callable[[Path], str]] = {
    "reference/scenario.md": format_page,
    "reference/verbs.md": verbs_page,
    "reference/study.md": study_page,
    "reference/command.md": lambda data: cli_page(),
    "reference/answers.md": lambda data: answers_page(),
    "reference/python.md": lambda data: python_page(),
    "reference/events.md": lambda data: events_page(),
}
"""Pages that are written from the code, each by a function of the folder `data`."""

INCLUDED = {
    "reference/tables.md": "data/tables.md",
    "reference/log-events.md": "data/log-events.md",
    "reference/rules.md": "data/rules.md",
    "reference/texts.md": "data/texts.md",
    "reference/scenarios.md": "data/scenarios/README.md",
    "reference/exports.md": "data/real/README.md",
    "reference/operator.md": "data/operator/README.md",
    "how-to/recipes.md": "data/recipes/README.md",
    "explanation/limits.md": "notebooks/05-what-the-model-leaves-out.md",
    "explanation/recorded.md": "data/recorded/README.md",
    "explanation/logs.md": "data/logs/README.md",
    "explanation/published.md": "data/published/README.md",
    "explanation/studies.md": "data/studies/README.md",
    "explanation/results.md": "data/studies/results/README.md",
    "project/contributing.md": "CONTRIBUTING.md",
    "project/changes.md": "CHANGELOG.md",
}
"""Pages that exist in the project, and their files."""

FURO = {
    "color-brand-primary": "accent", "color-brand-content": "accent", "color-brand-visited": "accent",
    "color-background-primary": "ground", "color-background-secondary": "place", "color-foreground-primary": "ink",
    "color-foreground-secondary": "faint", "color-foreground-muted": "faint", "color-background-border": "line",
    "color-code-background": "place", "color-inline-code-background": "place", "color-highlight-on-target": "changed",
    "color-admonition-background": "place", "color-api-name": "accent", "color-api-pre-name": "faint",
    "color-api-keyword": "faint", "color-sidebar-link-text": "faint", "color-sidebar-link-text--top-level": "ink",
    "color-sidebar-brand-text": "ink", "color-table-header-background": "ground", "color-table-border": "line",
}  # fmt: skip
"""The variables of Furo's stylesheet, and the project's colour for each."""


def write_all(folder: Path) -> None:
    """Write the pages and Sphinx's configuration into a folder, which is deleted first."""
    folder = folder.absolute()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name in BUILT_WITH:
        shutil.copyfile(BUILDER / name, folder / name)
    (folder / "look.json").write_text(json.dumps(look()), encoding="utf-8")
    for page, text in all_pages(folder).items():
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(text, encoding="utf-8")


def all_pages(folder: Path) -> dict[Path, str]:
    """Return the text of each page, by its file in `folder`."""
    data = data_folder_for("the documentation")
    origins = {folder / page: CHECKOUT / file for page, file in INCLUDED.items()}
    origins |= {folder / file.relative_to(PAGES): file for file in PAGES.rglob("*.md")}
    shown = {origin: page for page, origin in origins.items()} | {CHECKOUT / "README.md": folder / "index.md"}
    texts = {page: (origin, origin.read_text("utf-8")) for page, origin in origins.items()}
    texts |= {folder / page: (PAGES / page, write(data)) for page, write in GENERATED.items()}
    return {page: followed(with_sections(text, origin, page, shown), origin, page, shown)
            for page, (origin, text) in texts.items()}  # fmt: skip


def look() -> dict[str, dict[str, str]]:
    """Return Furo's variables for the light and the dark theme."""
    return {f"{name}_css_variables": {variable: palette[colour] for variable, colour in FURO.items()}
            for name, palette in (("light", style.LIGHT), ("dark", style.DARK))}  # fmt: skip
