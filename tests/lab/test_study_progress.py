"""The progress bar of a study in a notebook."""

from __future__ import annotations

import pytest

from hawb.lab import study_progress as room
from hawb.study.progress import Progress


def test_progress_bar_shows_trials_rate_and_time_left(monkeypatch: pytest.MonkeyPatch):
    shown = []
    monkeypatch.setattr(room, "display", shown.append)
    progress = room.StudyProgress()
    assert shown == []
    progress(Progress(10_000, 40_000, 0, 1.0))
    assert (progress.bar.value, progress.text.value) == (0.25, "10,000 of 40,000")
    progress(Progress(20_000, 40_000, 10_000, 5.0))
    assert (progress.bar.value, progress.text.value) == (0.5, "20,000 of 40,000, 2,000 a second, 10 s left")
    assert shown == [progress.box]
