"""Configure Sphinx; this file is copied beside the pages that `python -m hawb.docs` writes."""

import json
from pathlib import Path

project = "hawb"
author = "hawb"
html_title = "hawb, the High Availability WorkBook"
html_short_title = "hawb"

extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4
suppress_warnings = ["myst.header"]  # included pages may skip a heading level

html_theme = "furo"
html_theme_options = json.loads(Path(__file__).with_name("look.json").read_text("utf-8")) | {
    "navigation_with_keys": True,
    "top_of_page_buttons": [],
}
html_static_path = ["site.css"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_copyright = False
html_show_sphinx = False
# A page opened from a file cannot fetch other pages for summaries; titles, sections and names are found.
html_show_search_summary = False
html_use_index = True
python_use_unqualified_type_names = True
toc_object_entries_show_parents = "hide"


# For accessibility: scrolling blocks get keyboard focus, and captions of the contents get a heading level.
ACCESSIBLE = {
    "body": [("<pre>", '<pre tabindex="0">'), ('<div class="table-wrapper', '<div tabindex="0" class="table-wrapper')],
    "furo_navigation_tree": [('role="heading"', 'role="heading" aria-level="2"')],
}


def make_accessible(app, page, template, context, doctree) -> None:
    """Replace parts of a page's HTML as in `ACCESSIBLE`."""
    for part, changes in ACCESSIBLE.items():
        for was, becomes in changes:
            context[part] = context.get(part, "").replace(was, becomes)


def setup(app) -> None:
    """Connect `make_accessible`, after Furo has made the table of contents."""
    app.connect("html-page-context", make_accessible, priority=900)
