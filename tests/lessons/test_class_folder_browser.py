"""A class's folder in Chromium: a lesson as a page without code, the sheet of answers, and the slides."""

from __future__ import annotations

import json
import secrets
from itertools import product
from pathlib import Path

import pytest
from browser_pages import ROOT, faults, keep_picture, page_of, served
from samples import of_the_day

from hawb.lessons import answers
from hawb.lessons.class_folder import files_of
from hawb.scenario.saving import Outputs

pytestmark = [pytest.mark.full, pytest.mark.browser]

TALL = {"width": 1280, "height": 20_000}
LESSON = "11-a-node-dies.ipynb"
SIZES = {"broad": {"width": 1280, "height": 800}, "phone": {"width": 390, "height": 844}}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a class that gets two lessons and a study with a figure."""
    made = tmp_path_factory.mktemp("class") / "ours"
    outputs = Outputs()
    names = (LESSON, "12-synchronising.ipynb", "30-availability-and-loss.ipynb")
    notebooks = [ROOT / "notebooks" / name for name in names]
    outputs.add_folder(made, files_of(notebooks))
    outputs.place()
    return made


def test_a_prediction_is_clicked_and_answered_on_a_page_without_code(folder, tmp_path, monkeypatch, in_browser):
    kept = tmp_path / "answers.json"
    monkeypatch.setenv(answers.VARIABLE, str(kept))
    (tmp_path / "notebooks").symlink_to(folder / "lessons")
    token = secrets.token_hex()
    command = ["hawb", "lessons", "--app", LESSON, "--no-browser"]
    with served(command, tmp_path, token, "/login") as address, page_of(TALL) as page:
        page.goto(f"{address}/?token={token}")
        asked = page.locator(".hq").filter(has_text="a is killed").first
        asked.wait_for()
        page.get_by_text("You answer this exercise in code: open the lesson in JupyterLab.").nth(3).wait_for()
        asked.get_by_role("button", name="node b, running").click()
        asked.get_by_text("It is: ").wait_for()
        words = page.locator("body").inner_text()
        assert not [code for code in ("There is no answer yet", "predict(", "check(") if code in words]
        keep_picture(page, "lesson-without-code")
        assert faults(page) == []
    written = json.loads(kept.read_text())
    assert written["answers"] == {}  # nothing was attempted


def shown(page) -> str:
    """Return the number of the slide at the top of the window, and of all slides."""
    return page.evaluate("""() => [...document.querySelectorAll(".slide")]
      .find(slide => Math.abs(slide.getBoundingClientRect().top) < 2).querySelector(".at").textContent""")


@pytest.mark.parametrize(("size", "scheme"), of_the_day(product(SIZES, ("light", "dark")), 2))
def test_pages_fit_the_window_and_axe_finds_nothing(folder, size, scheme, in_browser):
    with page_of(SIZES[size]) as page:
        wanted = []
        page.on("request", lambda request: wanted.append(request.url))
        page.emulate_media(color_scheme=scheme)
        for name in ("answers", "slides"):
            page.goto((folder / f"{name}.html").as_uri())
            assert page.evaluate("document.documentElement.scrollWidth") == SIZES[size]["width"]
            assert faults(page) == []
            if name == "slides":
                page.keyboard.press("End")
            keep_picture(page, f"class-{name}-{size}-{scheme}")
        assert page.evaluate("[...document.images].every(one => one.naturalWidth > 0 && one.alt)")
        assert not [address for address in wanted if not address.startswith(("file:", "data:"))]


def test_keys_move_between_slides(folder, in_browser):
    with page_of() as page:
        page.goto((folder / "slides.html").as_uri())
        every = page.locator(".slide").count()
        pressed = [("ArrowRight", 2), ("ArrowDown", 3), (" ", 4), ("ArrowLeft", 3), ("ArrowUp", 2), ("Home", 1),
                   ("PageDown", 2), ("PageUp", 1), ("ArrowLeft", 1), ("End", every), ("ArrowRight", every)]  # fmt: skip
        for key, number in pressed:
            page.keyboard.press(key)
            assert shown(page) == f"{number} / {every}", key


def test_each_slide_is_printed_on_its_own_page(folder, in_browser):
    with page_of() as page:
        page.goto((folder / "slides.html").as_uri())
        every = page.locator(".slide").count()
        margins = dict.fromkeys(("top", "bottom", "left", "right"), "10mm")
        printed = page.pdf(width="297mm", height="210mm", margin=margins)
        assert printed.count(b"/Type /Page\n") == every
