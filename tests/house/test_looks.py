"""Screenshots of the lab's stage, of each kind of report and of lesson outputs, light and dark, look like the stored
pictures. `make pictures` renews them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from answered_reports import MAKERS, answered
from browser_pages import chromium, why_no_browser
from kept_pictures import KEPT, MOST, RENEWS, compare, difference, small
from lesson_pictures import LESSONS, lesson_page
from PIL import Image
from stage_pages import page_for_stages
from stage_states import STATES

from hawb.views import style

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("in_browser"), pytest.mark.full]

STAGE, PAGE, LESSON = (1280, 720), (1280, 1900), (980, 600)
GROUNDS = {"light": style.LIGHT["ground"], "dark": style.DARK["ground"]}
DRAWERS = ("drawer-policy", "drawer-what-if", "drawer-story")
"""Pictures that `tests/lab/test_page_app_browser.py` takes."""

NAMES = [
    f"{kind}-{name}-{light}"
    for kind, names in (("lab", (*STATES, *DRAWERS)), ("report", MAKERS), ("lesson", LESSONS))
    for name in names
    for light in GROUNDS
]


@pytest.fixture(scope="module")
def browser() -> Iterator:
    """Start a browser for all pictures."""
    if why_no_browser():
        yield None
        return
    with chromium() as browser:
        yield browser


@pytest.fixture(scope="module")
def stage(browser):
    """Open a page for stages with a stopped clock."""
    return page_for_stages(browser, STAGE, calm=True)


@pytest.fixture(scope="module")
def reports(browser):
    """Open a page for reports."""
    return browser.new_page(viewport={"width": PAGE[0], "height": PAGE[1]}, reduced_motion="reduce")


@pytest.fixture(scope="module")
def lessons(browser):
    """Open a page for outputs of lessons."""
    return browser.new_page(viewport={"width": LESSON[0], "height": LESSON[1]})


def shot(page, light: str) -> bytes:
    """Take a screenshot of the stage in light or dark."""
    page.evaluate("light => document.body.setAttribute('data-jp-theme-light', String(light))", light == "light")
    page.run_for(50)
    return page.screenshot()


def alike(name: str, shots: Callable[[str], bytes]) -> None:
    """Compare a picture in light and in dark with the stored ones."""
    wrong = [result for light in GROUNDS if (result := compare(f"{name}-{light}", shots(light)))]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("name", STATES)
def test_stage_looks_as_stored(stage, name: str):
    STATES[name](stage)
    alike(f"lab-{name}", lambda light: shot(stage, light))


@pytest.mark.parametrize("name", MAKERS)
def test_report_looks_as_stored(reports, name: str):
    reports.set_content(answered(name)[1])

    def taken(light: str) -> bytes:
        reports.emulate_media(color_scheme=light)
        return reports.screenshot()

    alike(f"report-{name}", taken)


@pytest.mark.parametrize("name", LESSONS)
def test_lesson_output_looks_as_stored(lessons, name: str):
    lessons.set_content(lesson_page(name))
    lessons.evaluate("() => Promise.all([...document.images].map(one => one.decode()))")

    def taken(light: str) -> bytes:
        lessons.evaluate("ground => { document.body.style.background = ground; }", GROUNDS[light])
        return lessons.screenshot(full_page=True)

    alike(f"lesson-{name}", taken)


def test_every_stored_picture_is_used():
    forgotten = {file.stem: file for file in KEPT.glob("*.png") if file.stem not in NAMES}
    if RENEWS:
        for file in forgotten.values():
            file.unlink()
    else:
        assert not forgotten
        assert not {name for name in NAMES if not (KEPT / f"{name}.png").exists()}


MUTANTS = {
    "a stack is missing": ".hs-cell .hs-stack { visibility: hidden; }",
    "a frame around what has changed is gone": ".hs-cell.hs-changed { background: none; outline: none; }",
    "what is lost has the colour of what is held": ".hawb-lab { --hawb-lost: var(--hawb-held) !important; }",
    "a text is cut off": ".hs-verdict span { max-width: 9em; overflow: hidden; white-space: nowrap; }",
    "the hatching of what is down is gone": ".hs-down .hs-stack { background: none !important; }",
    "columns overlap": ".hs-columns { margin-top: -2em; }",
    "letters are smaller": ".hs-column { font-size: .92em; }",
}
"""What a mistake in the style would do, as the style that does it."""


@pytest.fixture(scope="module")
def unharmed(stage):
    """Return the stored look of the stage after a loss."""
    STATES["loss"](stage)
    return small(shot(stage, "light"))


def restyled(stage, css: str) -> Image.Image:
    """Take a screenshot with extra CSS, which is removed again."""
    added = stage.add_style_tag(content=css)
    taken = small(shot(stage, "light"))
    added.evaluate("style => style.remove()")
    return taken


@pytest.mark.parametrize("name", MUTANTS)
def test_mistake_in_the_style_is_detected(stage, unharmed, name: str):
    assert difference(unharmed, restyled(stage, MUTANTS[name])) > 2 * MOST


def test_other_text_rendering_is_no_difference(stage, unharmed):
    assert difference(unharmed, restyled(stage, ".hs-stage { text-rendering: geometricPrecision; }")) <= MOST
