"""One's own cluster in a notebook: files to upload, and what the linter finds in them."""

from __future__ import annotations

import ipywidgets as widgets

from hawb.broker.untrusted import ImportRefused
from hawb.lab import fields
from hawb.lab.plan_panel import ASK, of_uploads
from hawb.planning.inventory import of_files
from hawb.planning.lint import lint
from hawb.views.finding_tables import tables


class LintPanel:
    """`box` is what a notebook shows; nothing is kept but in the page."""

    def __init__(self) -> None:
        self.files = fields.upload("files", ASK, several=True)
        self.answer = widgets.HTML(f"<p>{ASK}</p>")
        self.box = fields.column(fields.row(self.files, fields.button("look", "what is found", self.look)), self.answer)

    def look(self) -> None:
        """Shows what is found in the files."""
        uploads = fields.uploaded(self.files)
        if not uploads:
            self.answer.value = f"<p>{ASK}</p>"
            return
        try:
            found = of_uploads(uploads, lambda files: lint(of_files(files)))
        except ImportRefused as refused:
            self.answer.value = fields.message(str(refused))
            return
        self.answer.value = "".join(each._repr_html_() for each in tables(found))
