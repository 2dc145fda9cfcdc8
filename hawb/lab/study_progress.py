"""How a study gets on, in a notebook: a bar with trials done, their rate and the time left."""

from __future__ import annotations

import ipywidgets as widgets
from IPython.display import display

from hawb.study.pipeline import Progress
from hawb.views.study import pace


class StudyProgress:
    """Shows itself at the first progress; to be handed to `hawb.study.pipeline.run` as `tell`."""

    def __init__(self) -> None:
        self.bar = widgets.FloatProgress(min=0.0, max=1.0)
        self.text = widgets.HTML()
        self._shown = False

    def __call__(self, progress: Progress) -> None:
        """Goes on to this."""
        self.bar.value = progress.done / progress.total
        self.text.value = pace(progress)
        if not self._shown:
            display(widgets.HBox([self.bar, self.text]))
            self._shown = True
