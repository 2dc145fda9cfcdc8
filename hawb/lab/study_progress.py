"""Show a study's progress in a notebook: trials done, their rate and the time left, as in the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import ipywidgets as widgets
from IPython.display import display

from hawb.views.study.study_report import rate

if TYPE_CHECKING:
    from hawb.study.progress import Progress


class StudyProgress:
    """A progress bar, to be passed to `hawb.study.pipeline.run` as `on_progress`.

    It displays itself at the first call unless `is_shown` is True.
    """

    def __init__(self, is_shown: bool = False) -> None:
        self.bar = widgets.FloatProgress(min=0.0, max=1.0, description="Trials")
        self.text = widgets.HTML()
        self.box = widgets.HBox([self.bar, self.text])
        self._shown = is_shown

    def __call__(self, progress: Progress) -> None:
        """Update the bar."""
        self.bar.value = progress.done / progress.total
        parts = [f"{progress.done:,} of {progress.total:,}", rate(progress)]
        self.text.value = ", ".join(filter(None, parts))
        if not self._shown:
            display(self.box)
            self._shown = True
