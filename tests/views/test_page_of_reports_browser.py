"""Each kind of report in a real browser, light, dark and on a phone: accessible, fits the screen, and rows can be
filtered by keyboard.

axe checks each page in light, and its colours in dark. `make test-long` has it check everything in both, on a projector
and on a phone.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from answered_reports import MAKERS, answered
from browser_pages import CHROMIUM, chromium, faults, keep_picture
from conftest import LONG
from lesson_walks import OF_COLOURS

pytestmark = [pytest.mark.browser, pytest.mark.full]
SHOWN = {"light": (1280, "light"), "dark": (1280, "dark"), "projector": (800, "light"), "phone": (390, "light")}
"""How a page is looked at: the width of the window, and what the reader prefers."""
PICTURED = ("light", "phone")
CHECKED: dict[str, tuple[str, ...]] = dict.fromkeys(SHOWN, ()) if LONG else {"light": (), "dark": OF_COLOURS}
"""The entries of `SHOWN` in which axe checks a page, each with the rules to check; an empty tuple means all rules."""


@pytest.fixture(scope="module")
def browser():
    """Start a browser for all pages."""
    if CHROMIUM is None:
        yield None
        return
    with chromium() as browser:
        yield browser


def opened(browser, folder: Path, name: str):
    """Open a report's page from its file."""
    file = folder / f"{name}.html"
    file.write_text(answered(name)[1], encoding="utf-8")
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(file.as_uri())
    return page


SCROLLED = """() => [...document.querySelectorAll("figure, figure svg, .verdict, .todo li")]
  .filter(one => one.scrollWidth > one.clientWidth + 1 || one.getBoundingClientRect().right > innerWidth)
  .map(one => one.tagName + " " + one.className)"""


LETTERS = """() => [...document.querySelectorAll("figure svg")].filter(one => one.getBoundingClientRect().width)
  .flatMap(one => {
    const scale = one.getBoundingClientRect().width / one.viewBox.baseVal.width;
    const drawn = [...one.querySelectorAll("[id^=text_] g")].map(
      letter => /scale\\(([\\d.]+) -/.exec(letter.getAttribute("transform"))).filter(found => found);
    return [...[...one.querySelectorAll("text")].map(text => parseFloat(getComputedStyle(text).fontSize)),
      ...drawn.map(found => 100 * found[1])].map(size => size * scale);
  })"""
"""The height of each letter of the charts in sight, in pixels; matplotlib's are drawn, a hundredth of it as a unit."""
LEAST_LETTER = 11


UNWRAPPED = """() => [...document.querySelectorAll(".scroll td[data-name]:not(:empty)")].map(
  cell => [cell.dataset.name, getComputedStyle(cell, "::before").whiteSpace]).filter(one => one[1] !== "normal")"""
"""The names of cells, each left of its value on a phone, that would run into the value instead of wrapping."""


@pytest.mark.parametrize("name", MAKERS)
def test_report_is_accessible(browser, tmp_path, in_browser, name: str, subtests: pytest.Subtests):
    page = opened(browser, tmp_path, name)
    for how, (width, prefers) in SHOWN.items():
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=prefers)
        page.eval_on_selector_all("details", "all => all.forEach(one => one.open = true)")
        if how == "phone":
            scrolled, letters = page.evaluate(SCROLLED), page.evaluate(LETTERS)
            charts = page.locator("figure svg:visible").count()
            with subtests.test(msg="on a phone a chart fits without scrolling sideways"):
                assert scrolled == []
                assert not charts or min(letters) >= LEAST_LETTER
            with subtests.test(msg="on a phone the name of a cell wraps"):
                assert page.evaluate(UNWRAPPED) == []
        bad = faults(page, rules=CHECKED[how]) if how in CHECKED else []
        page.eval_on_selector_all("details", "all => all.forEach(one => one.open = false)")
        if LONG or how in PICTURED:
            keep_picture(page.locator("body"), f"report-{name}-{how}")
        over = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        first = page.locator(".verdict").bounding_box()
        with subtests.test(msg=how):
            assert bad == []
            assert over <= 0, "the page itself never scrolls sideways"
            assert first["y"] + first["height"] < 450, "the verdict is seen before anything is scrolled"
    page.close()


def test_rows_are_filtered_by_keyboard(browser, tmp_path, in_browser):
    page = opened(browser, tmp_path, "safe")
    rows = page.locator("#part-0 tbody tr")
    every = rows.count()
    page.get_by_role("radio", name="all").focus()
    page.keyboard.press("ArrowRight")
    visible = [at for at in range(every) if rows.nth(at).is_visible()]
    kinds = {rows.nth(at).get_attribute("data-kind") for at in visible}
    page.close()
    assert 0 < len(visible) < every and kinds == {"0"}
