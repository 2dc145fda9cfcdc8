"""The learner's edition of a lesson in a real JupyterLab and browser: a reader guesses, runs, takes a hint, answers
wrongly and then rightly, and all of it is in the file for the teacher."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest
from test_lab_browser import CHROMIUM, FLAGS, PATIENCE_S, jupyterlab

from hawb.lessons import answers
from hawb.lessons.learner import build

LESSON = Path(__file__).parents[1] / "notebooks" / "11-a-node-dies.ipynb"
TALL = {"width": 1280, "height": 12_000}
"""High enough for the whole lesson: JupyterLab draws only cells that can be seen."""


@contextmanager
def lesson_at(address: str) -> Iterator:
    """The lesson's page, once there is a kernel; nothing has run yet."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright, playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS) as browser:
        page = browser.new_page(viewport=TALL)
        page.set_default_timeout(PATIENCE_S * 1000)
        page.goto(address.replace("00-lab.ipynb", LESSON.name))
        page.locator("#jp-main-statusbar").get_by_text("Idle").wait_for()
        yield page


def run(page, what: str) -> None:
    """Chooses an entry of the menu Run."""
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_role("menuitem", name=what).first.click()


def answer(page, steps: str) -> None:
    """Writes an answer into the cell of the first exercise, and runs it."""
    cell = page.locator(".jp-CodeCell").filter(has_text='check("11-lose"')
    cell.locator(".cm-content").click()
    page.keyboard.press("Control+A")
    page.keyboard.insert_text(f'check("11-lose", "{steps}")')
    page.keyboard.press("Shift+Enter")


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of answers of the kernel that the test starts."""
    monkeypatch.setenv(answers.VARIABLE, str(tmp_path / "answers.json"))
    return tmp_path / "answers.json"


@pytest.mark.browser
def test_a_reader_guesses_runs_and_answers(tmp_path, kept, unavailable):
    if CHROMIUM is None:
        unavailable("there is no chromium on the PATH")
    if find_spec("playwright") is None:
        unavailable("playwright is not installed")
    build([LESSON], tmp_path / "notebooks")
    with jupyterlab(tmp_path) as address, lesson_at(address) as page:
        # Not a cell further: the next one is the run, after which no guess is taken.
        page.locator(".jp-CodeCell").filter(has_text='"11-mirror")').first.locator(".cm-content").click()
        run(page, "Run All Above Selected Cell")
        run(page, "Run Selected Cell and Do not Advance")
        guess = page.get_by_label("your guess, a number:").first
        guess.fill("5")
        guess.press("Enter")
        page.get_by_text("Your guess: 5. Now run the next cell.").wait_for()
        run(page, "Run All Cells")
        page.get_by_text("It is: 0. You said 5: why not?").wait_for()
        page.get_by_text("There is no answer yet").nth(2).wait_for()
        page.get_by_text("hint 1").first.click()
        page.get_by_text("How does a mirror become unsynchronised?").wait_for()
        answer(page, "[{kill: a}]")
        page.get_by_text("✕ Nothing is lost: b took over and was synchronised.").wait_for()
        answer(page, "[{stop: b}, {start: b}, {stop: c}, {start: c}, {kill: a}]")
        page.get_by_text("✓ Right, in this cluster and in 3 others").wait_for()
    written = json.loads(kept.read_text())
    assert written["guesses"]["11-mirror"]["guess"] == 5
    assert written["guesses"]["11-mirror"]["truth"] == 0
    assert (written["answers"]["11-lose"]["attempts"], written["answers"]["11-lose"]["right"]) == (3, True)
