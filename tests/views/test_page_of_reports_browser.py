"""Each kind of report in a real browser, light, dark and on a phone: nothing keeps anybody from reading it, it fits,
and its rows can be chosen by the keyboard."""

from __future__ import annotations

from pathlib import Path

import pytest
from answered_reports import MAKERS, answered
from browser_pages import CHROMIUM, chromium, faults, keep_picture

pytestmark = [pytest.mark.browser, pytest.mark.full]
SHOWN = {"light": (1280, "light"), "dark": (1280, "dark"), "phone": (400, "light"), "projector": (800, "light")}
"""How pages are looked at: the width of the window, and what the reader prefers."""


@pytest.fixture(scope="module")
def browser():
    """A browser for all pages."""
    if CHROMIUM is None:
        yield None
        return
    with chromium() as browser:
        yield browser


def opened(browser, folder: Path, name: str, width: int, prefers: str):
    """A report's page, opened from its file."""
    file = folder / f"{name}.html"
    file.write_text(answered(name)[1], encoding="utf-8")
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=prefers)
    page.goto(file.as_uri())
    return page


@pytest.mark.parametrize("how", SHOWN)
@pytest.mark.parametrize("name", MAKERS)
def test_a_report_can_be_read_by_everybody(browser, tmp_path, in_browser, name: str, how: str):
    page = opened(browser, tmp_path, name, *SHOWN[how])
    page.eval_on_selector_all("details", "all => all.forEach(one => one.open = true)")
    bad = faults(page)
    page.eval_on_selector_all("details", "all => all.forEach(one => one.open = false)")
    keep_picture(page.locator("body"), f"report-{name}-{how}")
    over = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    first = page.locator(".verdict").bounding_box()
    page.close()
    assert bad == []
    assert over <= 0, "the page itself never scrolls sideways"
    assert first["y"] + first["height"] < 450, "the verdict is seen before anything is scrolled"


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


@pytest.mark.parametrize("name", MAKERS)
def test_on_a_phone_a_chart_fits_without_scrolling_sideways(browser, tmp_path, in_browser, name: str):
    page = opened(browser, tmp_path, name, 390, "light")
    page.eval_on_selector_all("details", "all => all.forEach(one => one.open = true)")
    found, letters = page.evaluate(SCROLLED), page.evaluate(LETTERS)
    charts = page.locator("figure svg:visible").count()
    keep_picture(page.locator("body"), f"report-{name}-390")
    page.close()
    assert found == []
    assert not charts or min(letters) >= LEAST_LETTER


def test_rows_are_chosen_by_the_keyboard(browser, tmp_path, in_browser):
    page = opened(browser, tmp_path, "safe", *SHOWN["light"])
    rows = page.locator("#part-0 tbody tr")
    every = rows.count()
    page.get_by_role("radio", name="all").focus()
    page.keyboard.press("ArrowRight")
    visible = [at for at in range(every) if rows.nth(at).is_visible()]
    kinds = {rows.nth(at).get_attribute("data-kind") for at in visible}
    page.close()
    assert 0 < len(visible) < every and kinds == {"0"}
