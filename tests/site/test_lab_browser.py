"""The lab with Python in the browser, served on loopback: actions, explanations and policy patterns."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from browser_pages import CHROMIUM, PATIENCE_S, ROOT, chromium, faults, keep_picture
from samples import of_the_day

from hawb.languages import language
from hawb.lessons.predictions import reply
from hawb.rules.patterns import outcome, pattern_error
from hawb.site.build import build

pytestmark = [pytest.mark.browser, pytest.mark.full]
FETCHED = ROOT / "build" / "runtime"
EMPTY = "empty.html"
"""A page that may fetch the engine: the policy of the site's own pages leaves that to their worker."""
NAMES = ["ha.orders", "not.ha.orders", "q\n", "", "a-b", "a\tb", "HA", "aaa", "a" * 40 + "b", "ü"]
PATTERNS = [
    r"^ha\.", "ha", "", "^q$", "(?i)ha", "^..$", "^ü$", "^[[:alpha:]]+$", r"^a\hb$", r"^a\Hb$", r"^a\Nb$", r"^\X$",
    r"^(?!ha\.)", "^(?>a|aa)b", "^a++b", r"(a)\g{1}", "(?<n>a)(?&n)", "^(?:a(?R)?)$", r"\Ka", "(a+)+$", r"^[\w-z]+$",
    "a{,2}", r"^\Q\u\E$", r"\x{61}", r"\i", "(ha", "ha)", "[ha", "*", "ab|*", "[z-a]", "a{37,17}", "x{999999}",
    "abc\\", "(?z)", r"\u0061", r"ab\L", r"\x{100}", "(*LIMIT_HEAP=20000000)a", "(?<n", "(?<n>a)(?<n>b)", "(?<1>a)",
    r"\p{Foo}", r"ab\p", r"\k", r"a\k{", "(?#", "(?<=a+)b", r"a[\d-\w]", "a(?P<n", "a(?<=", "(a", "a(?(1",
    r"a\g{", "(?P>n)",
]  # fmt: skip
ASKED = """\
import json
from hawb.rules.patterns import PatternError, outcome, pattern_error
def answer(pattern):
    error = pattern_error(pattern)
    return error if error else [int(outcome(pattern, name)) for name in names]
patterns, names = json.loads(given)
json.dumps([answer(pattern) for pattern in patterns])
"""
ASK = """\
async ([given, code]) => {
  const { loadPyodide } = await import("./runtime/pyodide.mjs");
  const { pattern_library } = await import("./patterns.js");
  const python = await loadPyodide({ indexURL: "runtime/" });
  python.registerJsModule("pcre2_library", await pattern_library());
  for (const name of ["msgspec.whl", "hawb.zip"]) {
    python.unpackArchive(await (await fetch(`runtime/${name}`)).arrayBuffer(), "wheel");
  }
  python.globals.set("given", given);
  return JSON.parse(python.runPython(code));
}
"""


class Silent(SimpleHTTPRequestHandler):
    """Serve a folder without logging."""

    def log_message(self, *_args: object) -> None:
        """Nothing."""


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve a folder on loopback and yield its address."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Silent, directory=folder)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Yield a function that opens a page of a site with the lab, or None without its runtime."""
    if CHROMIUM is None or not (FETCHED / "installed").is_file():
        yield None
        return
    folder = tmp_path_factory.mktemp("site")
    build(folder, ["unsynchronised-mirror-promoted"], FETCHED, processes=1, languages=("en", "pt"))
    (folder / EMPTY).write_text("<!doctype html>")
    with served(folder) as address, chromium() as browser:

        def opened(place: str, hold: bool = False):
            """Open a page; with `hold` nothing of the engine comes until the page's `go_on` is called."""
            page = browser.new_page(viewport={"width": 1280, "height": 800}, reduced_motion="reduce")
            page.set_default_timeout(2 * PATIENCE_S * 1000)
            page.away, held = [], []
            near = (address, "blob:", "data:")
            page.on("request", lambda asked: asked.url.startswith(near) or page.away.append(asked.url))
            if hold:
                page.context.route("**/worker.js", lambda route: held.append(route))
                page.go_on = lambda: [route.continue_() for route in held]
            page.goto(f"{address}/{place}")
            return page

        yield opened


@pytest.fixture
def opened(site, in_browser, unavailable):
    """Return the function, or mark the test unavailable."""
    if site is None:
        unavailable("Pyodide, on which the site's lab runs, is missing: make build/runtime/installed (needs npm)")
    return site


def test_engine_continues_from_the_precomputed_actions(opened):
    page = opened("", hold=True)
    page.get_by_role("button", name="Kill a").click()
    page.get_by_role("status").filter(has_text="100 messages of ha.orders are lost").wait_for()
    page.get_by_role("button", name="try ha-sync-mode: automatic").click()
    page.get_by_role("status").filter(has_text="Nothing is lost").wait_for()
    page.get_by_role("button", name="more…").click()
    page.get_by_role("menuitem", name="story everything that happened").click()
    page.get_by_text("Python is still loading").wait_for()
    page.go_on()
    page.get_by_role("dialog", name="Story").get_by_text("a was killed.").wait_for()
    address = page.url
    page.get_by_role("button", name="close").click()
    page.get_by_role("button", name="undo").click()
    page.get_by_role("status").filter(has_text="100 messages of ha.orders are lost").wait_for()
    keep_picture(page, "site-lab")
    assert page.away == [] and page.url.endswith("#kill=a")
    found = faults(page)
    page.goto("about:blank")
    page.goto(address)  # as somebody would to whom it was sent
    page.get_by_role("status").filter(has_text="Nothing is lost").wait_for()
    assert page.url == address and "down" in page.locator("button[aria-label^='node a']").inner_text()
    page.close()
    assert found == []


def test_story_continues_in_the_lab(opened):
    page = opened("stories/unsynchronised-mirror-promoted.html")
    page.get_by_role("link", name="Open in the lab").click()
    page.locator("button[aria-label^='queue ha.orders']").click()
    page.get_by_role("menuitem", name="publish…").click()
    typed = page.get_by_role("textbox", name="a step")
    assert typed.input_value() == "publish:\n  queue: ha.orders\n  count:\n"
    typed.fill("publish: {queue: nowhere, count: 5")
    page.get_by_role("button", name="play this step").click()
    page.get_by_role("alert").first.wait_for()
    keep_picture(page, "site-lab-step")
    page.get_by_role("textbox", name="a step").fill("publish: {queue: ha.orders, count: 5}")
    page.keyboard.press("Control+Enter")
    page.locator(".hs-happened").get_by_text("publish 5 ha.orders").wait_for()
    assert not typed.is_visible() and "#story=unsynchronised-mirror-promoted&publish=" in page.url
    page.evaluate("location.hash = 'fly=<img src=x>'")
    page.get_by_role("alert").filter(has_text="fly: unknown verb").wait_for()
    page.close()


def test_patterns_match_as_elsewhere(opened):
    page = opened(EMPTY)
    found = page.evaluate(ASK, [json.dumps([PATTERNS, NAMES]), ASKED])
    page.close()
    here = [pattern_error(one) or [int(outcome(one, name)) for name in NAMES] for one in PATTERNS]
    assert dict(zip(PATTERNS, found, strict=True)) == dict(zip(PATTERNS, here, strict=True))


@pytest.mark.parametrize("code", of_the_day(["en", "pt"]))
def test_lesson_is_played_and_keeps_its_guess(opened, code: str):
    """Python is loaded twice, which takes most of the time: so each day has one language, and HAWB_LONG both."""
    page = opened("lessons/10-mirrored-queues.html", hold=True)
    page.locator(".hq-question").first.get_by_text("Predict:").wait_for()  # before Python is there
    page.get_by_text("Python is still loading").wait_for()
    page.go_on()
    if code == "pt":
        page.get_by_role("link", name="Português").click()
        page.wait_for_url("**/*.pt.html")
    page.locator("#anew:not([disabled])").wait_for()
    with language(code):
        answer = reply("running", "down")
    question = page.locator(".hq").first
    question.get_by_role("button", name="running", exact=True).click()
    question.get_by_text(answer).wait_for()
    page.locator(".wl-answer textarea").first.fill("check('10-two-copies', {'pattern': 'x', 'definition': {}})")
    page.locator(".wl-answer button").first.click()
    page.locator(".wl-answer .wl-out").first.get_by_text("✕").wait_for()
    keep_picture(page, "site-lesson")
    assert page.away == [] and faults(page) == []
    page.reload()
    page.locator(".hq").first.get_by_text(answer).wait_for()
    page.locator("#anew:not([disabled])").click()
    page.locator(".hq").first.get_by_role("button", name="running", exact=True, disabled=False).wait_for()
    page.close()
