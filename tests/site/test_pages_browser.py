"""The site opened from its files in a browser: stories, keyboard, tour and languages."""

from __future__ import annotations

import pytest
from browser_pages import CHROMIUM, chromium, faults, keep_picture
from samples import of_the_day

from hawb.site.build import build
from hawb.views import style

pytestmark = pytest.mark.browser
FEW = ["unsynchronised-mirror-promoted", "quorum-leader-killed", "autoheal-who-wins"]
SHOWN = {"light": (1280, "light"), "dark": (1280, "dark"), "narrow": (800, "light"), "phone": (390, "dark")}
PAGES = (
    "index", "stories", "stories/unsynchronised-mirror-promoted", "stories/autoheal-who-wins",
    "lessons/10-mirrored-queues.pt",
)  # fmt: skip


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Write a site of a few stories. Return a function that opens its pages."""
    folder = tmp_path_factory.mktemp("site")
    build(folder, FEW, processes=1, languages=("en", "pt"))
    if CHROMIUM is None:
        yield None
        return
    with chromium() as browser:

        def opened(name: str, how: str = "light", motion: str = "reduce"):
            width, scheme = SHOWN[how]
            size = {"width": width, "height": 800}
            page = browser.new_page(viewport=size, color_scheme=scheme, reduced_motion=motion)
            page.wrong = []
            page.on("pageerror", lambda error: page.wrong.append(str(error)))
            page.on("console", lambda said: said.type == "error" and page.wrong.append(said.text))
            file, _, place = name.partition("#")
            page.goto((folder / f"{file}.html").as_uri() + (f"#{place}" if place else ""))
            if "stories/" in name:
                page.locator(".ws-steps").wait_for()
            elif name == "index":
                page.locator(".hs-stage").wait_for()
            return page

        yield opened


@pytest.mark.parametrize("how", ["phone", *of_the_day(("light", "dark", "narrow"), 1, pytest.mark.full)])
@pytest.mark.parametrize("name", PAGES)
def test_page_is_accessible(site, in_browser, name: str, how: str):
    page = site(name, how)
    wrong = [*page.wrong]  # before the checker fetches what a page may not
    found = faults(page)
    keep_picture(page, f"site-{name.split('/')[-1]}-{how}")
    over = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    page.close()
    assert found == []
    assert over <= 0
    assert wrong == []


CUT = """() => [...document.querySelectorAll(".ws-replay :is(.hs-node, .hs-cell, .hs-queue)")]
  .filter(one => one.scrollWidth > one.clientWidth).map(one => one.innerText)"""


@pytest.mark.parametrize("step", [1, 8])
def test_story_fits_a_phone(site, in_browser, step: int):
    page = site(f"stories/unsynchronised-mirror-promoted#{step}", "phone")
    inner = page.locator(".ws-replay").evaluate("one => one.scrollHeight - one.clientHeight")
    assert (page.evaluate(CUT), inner) == ([], 0)
    page.close()


FILLS = """all => [...new Set(all.map(one => getComputedStyle(one).fill))].map(
  fill => "#" + fill.match(/\\d+/g).map(part => Number(part).toString(16).padStart(2, "0")).join("").toUpperCase())"""


@pytest.mark.parametrize(("how", "colours"), [("light", style.LIGHT), ("dark", style.DARK)])
def test_pictures_of_stories_have_the_colours_of_the_theme(site, in_browser, how: str, colours: dict[str, str]):
    page = site("index", how)
    for role, name in (("master", "master"), ("follower", "held"), ("unsynchronised", "lacking")):
        drawn = page.eval_on_selector_all(f".ws-chosen svg [fill='{style.LOOKS[role].colour}']", FILLS)
        assert drawn == [colours[name]]
    page.close()


def test_tour_works_without_an_engine(site, in_browser):
    page = site("index")
    page.get_by_role("button", name="Kill a").press("Enter")
    page.get_by_role("status").filter(has_text="100 messages of ha.orders are lost").wait_for()
    assert page.url.endswith("index.html#kill=a")
    page.get_by_role("button", name="again").click()
    page.get_by_role("button", name="try ha-sync-mode: automatic").click()
    page.get_by_role("status").filter(has_text="Nothing is lost").wait_for()
    page.locator("button[aria-label^='node b']").click()
    page.get_by_role("menuitem", name="drain").click()
    page.get_by_role("alert").filter(has_text="This needs the engine").wait_for()
    assert page.get_by_text("python3 -m http.server").is_visible()
    page.close()


def test_address_opens_without_an_engine_or_is_explained(site, in_browser):
    page = site("index#kill=a&start=a")
    page.get_by_role("status").filter(has_text="100 messages of ha.orders are lost").wait_for()
    assert page.locator("button[aria-label='node a, running, was down']").count() == 1
    page.evaluate("location.hash = 'fly=<img src=x>'")
    page.get_by_role("alert").filter(has_text="This needs the engine").wait_for()
    assert page.url.endswith("#kill=a&start=a") and page.wrong == []
    page.close()


def test_first_page_is_translated(site, in_browser):
    page = site("index")
    page.get_by_role("button", name="more").click()
    page.get_by_role("menuitem", name="Português").click()
    page.get_by_role("heading", name="O que você acha que acontece?").wait_for()
    assert page.evaluate("document.documentElement.lang") == "pt-BR"
    page.get_by_role("button", name="Encerrar a à força").click()
    page.locator(".hs-verdict.hs-lost").filter(has_text="100 mensagens").wait_for()
    assert page.get_by_role("link", name="11 · What happens").count() == 0
    page.locator(".ws-lessons a:visible", has_text="11 ·").click()
    page.get_by_role("heading", level=1, name="11 · ").wait_for()
    assert page.evaluate("document.documentElement.lang") == "pt-BR"
    page.get_by_role("link", name="English").click()
    page.get_by_role("heading", level=1, name="11 · What happens").wait_for()
    page.close()


def test_story_is_found_and_played(site, in_browser):
    page = site("stories")
    page.keyboard.press("/")
    page.keyboard.type("unsynchronised crash")
    links = page.locator(".ws-stories a:visible")
    assert links.count() == 1 and "100 messages of ha.orders are lost" in links.inner_text()
    page.get_by_label("nothing lost").first.check()
    page.get_by_text("No story has all these words.").wait_for()
    page.get_by_label("all", exact=False).first.check()
    links.click()
    page.get_by_role("button", name="nothing is lost").click()
    page.get_by_text("You expected: nothing is lost. What happened: messages are lost.").wait_for()
    page.get_by_role("status").filter(has_text="100 messages of ha.orders are lost").wait_for()
    assert "ha-sync-mode is manual" in page.get_by_role("group", name="Why").inner_text()
    assert "ha-sync-mode: automatic" in page.get_by_role("group", name="What now").inner_text()
    page.close()


def test_story_can_be_stepped_by_keyboard(site, in_browser):
    page = site("stories/unsynchronised-mirror-promoted")
    assert "the reason appears here" in page.get_by_role("group", name="Why").inner_text()
    now = page.locator(".ws-steps [aria-current=step]")
    assert "set policy" in now.inner_text() and page.get_by_text("What do you think happens?").is_visible()
    assert page.locator(".ws-steps i:visible, .hs-ticks i").count() == 0  # which would tell how it ends
    page.keyboard.press("Home")
    assert "the beginning" in now.inner_text() and page.get_by_text("there is no queue").count() == 1
    for _ in range(3):
        # First through the movements of a step, then to the next. The page itself is asked: page.url is told later.
        before = page.evaluate("location.hash")
        while page.evaluate("location.hash") == before:
            page.keyboard.press("ArrowRight")
    assert "publish 100" in now.inner_text() and page.url.endswith("#3")
    page.keyboard.press("End")
    assert "kill a" in now.inner_text() and page.locator(".hs-ticks .hs-lost").count() == 1
    assert not page.get_by_text("What do you think happens?").is_visible()
    page.locator(".hs-chip", has_text="a was killed").focus()
    assert page.locator(".hs-lit").get_attribute("data-place") == "node a"
    page.locator(".hs-chip", has_text="published").press("Enter")
    page.locator(".ws-steps [aria-current=step]", has_text="publish 100").wait_for()
    assert page.locator(".hs-chip[aria-current]").inner_text() == "100 messages published"
    page.close()


@pytest.mark.full
def test_a_story_plays_to_its_end(site, in_browser):
    page = site("stories/unsynchronised-mirror-promoted#6", motion="no-preference")
    page.get_by_role("button", name="play").click()
    page.get_by_role("button", name="again").wait_for()
    assert page.url.endswith("#8") and page.get_by_text("100 lost").count() == 1
    page.get_by_role("button", name="again").click()  # from the last step it begins with the first
    page.get_by_text("the cluster as it is at the beginning").wait_for()
    page.close()


def test_log_of_a_quorum_queue_is_shown(site, in_browser):
    page = site("stories/quorum-leader-killed#8")
    page.locator(".hs-queue").first.click()
    page.get_by_role("table").get_by_text("Raft log").wait_for()
    page.close()
