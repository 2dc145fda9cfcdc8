"""Lessons in JupyterLab and Chromium, from the first question to the game, as a learner works through them.

`make test-full` takes one lesson, another one each day, since a walk takes 45 s, and `make test-long` all of them.
"""

from __future__ import annotations

import json
import logging
import os
import statistics
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from browser_pages import PATIENCE_S, ROOT, WINDOW, chromium, jupyterlab, keep_picture, open_notebook
from lesson_walks import PAINTS, answer_all, flip_all, found_wrong, predict_all, run_all, unfold_all, walk_of
from samples import of_the_day

from hawb.lessons import answers
from hawb.lessons.learner import build
from hawb.lessons.notebook import EXERCISES, GAMES

pytestmark = [pytest.mark.full, pytest.mark.browser]

LESSONS = sorted((ROOT / "notebooks").glob("[12]*.ipynb"))
SETTINGS = {
    "notebook-extension/tracker": {"windowingMode": "none"},  # cells out of sight are in the page, too
    "apputils-extension/themes": {"adaptive-theme": True},  # light or dark as the browser says
}
COMPILED = os.environ.get("NUMBA_CACHE_DIR") or str(Path.home() / ".cache")
"""The folder in which other tests keep the compiled kernel. Without it, lesson 23 compiles the kernel for minutes."""

log = logging.getLogger(__name__)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """Serve the learner's edition of all lessons. Return the notebooks' address and the file of answers."""
    folder = tmp_path_factory.mktemp("lessons")
    build(LESSONS, folder / "notebooks")
    (folder / "data").symlink_to(ROOT / "data")
    for name, values in SETTINGS.items():
        file = folder / "home" / "lab" / "user-settings" / "@jupyterlab" / f"{name}.jupyterlab-settings"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(values))
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv(answers.VARIABLE, str(folder / "answers.json"))
        patched.setenv("NUMBA_CACHE_DIR", COMPILED)
        with jupyterlab(folder) as address:
            yield address, folder / "answers.json"


@pytest.fixture(scope="module")
def learner(served) -> Iterator:
    """Return the learner's browser: each lesson is a page of it."""
    with chromium() as browser:
        context = browser.new_context(viewport=WINDOW, reduced_motion="reduce", color_scheme="light")
        context.set_default_timeout(PATIENCE_S * 1000)
        context.add_init_script(PAINTS)
        yield context


@pytest.fixture
def page(served, learner) -> Iterator:
    """Return an empty page. Afterwards, end the kernels that it has started."""
    page = learner.new_page()
    yield page
    page.close()
    end_kernels(served[0])


def end_kernels(address: str) -> None:
    """End the kernels of a server."""
    parts = urlsplit(address)
    headers = {"Authorization": f"token {parse_qs(parts.query)['token'][0]}"}
    kernels = f"{parts.scheme}://{parts.netloc}/api/kernels"
    with urllib.request.urlopen(urllib.request.Request(kernels, headers=headers)) as answer:
        for kernel in json.load(answer):
            url = f"{kernels}/{kernel['id']}"
            urllib.request.urlopen(urllib.request.Request(url, headers=headers, method="DELETE")).close()


@pytest.mark.parametrize("file", of_the_day(LESSONS), ids=lambda file: file.stem)
def test_a_learner_works_through_a_lesson(file: Path, served, page, in_browser):
    address, kept = served
    walk, errors = walk_of(file), []
    page.on("console", lambda message: message.type == "error" and errors.append(message.text))
    page.on("pageerror", lambda error: errors.append(str(error)))
    open_notebook(page, address.format(file.name) + "&reset")
    run_all(page)
    predict_all(page, walk)
    keep_picture(page, f"walk-{file.stem}")
    flip_all(page)
    unfold_all(page)
    answer_all(page, walk)
    wrong = [*errors, *found_wrong(page)]
    paints_ms = page.evaluate("paints_ms")
    visible = page.locator(".jp-CodeCell .jp-InputArea-editor:visible").count()
    median = f"{statistics.median(paints_ms):.0f} ms" if paints_ms else "none"
    log.info("%s: %s cells show code; %s clicks, median to a painted change: %s",
             file.stem, visible, len(paints_ms), median)  # fmt: skip
    assert wrong == []
    if tasks := {one.key for one in walk.answered} & {*EXERCISES, *GAMES}:
        written = json.loads(kept.read_text())
        assert tasks <= {key for key, answer in written["answers"].items() if answer["right"]}
        assert {one.predicted.key for one in walk.asked[:-1]} <= {*written["guesses"]}
