"""The stage alone in a real browser, as marimo has it: in a shadow tree, its style sheet adopted, its module imported.
Playwright's own locators see through shadow trees, so what is asked here is what they do not: focus, and colours."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from browser_pages import PATIENCE_S, chromium, keep_picture
from stage_pages import received

from hawb.lab.controller import Controller
from hawb.lab.page import Lab
from hawb.lab.stage import THEMES, LoneStage
from hawb.views import style

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("in_browser")]

MARIMO = """\
async ([esm, css, state, dark]) => {
  document.body.classList.add(dark ? "dark" : "light");
  const host = document.body.appendChild(document.createElement("marimo-anywidget"));
  const root = host.attachShadow({ mode: "open" });
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(css);
  root.adoptedStyleSheets = [sheet];
  const listeners = {};
  const model = {
    get: (name) => state[name],
    on: (name, listener) => { listeners[name] = listener; },
    send: async (message) => {
      state.view = await window.send_message(message);
      listeners["change:view"]();
    },
  };
  const url = URL.createObjectURL(new Blob([esm], { type: "text/javascript" }));
  (await import(url)).default.render({ model, el: root.appendChild(document.createElement("div")) });
}
"""
FOCUSED = "() => document.querySelector('marimo-anywidget').shadowRoot.activeElement?.textContent"
VARIABLE = "() => getComputedStyle(document.querySelector('.hawb-lab')).getPropertyValue('--hawb-ground')"
GROUND = "() => getComputedStyle(document.querySelector('marimo-anywidget').shadowRoot.firstChild).backgroundColor"


@pytest.fixture(params=[False, True], ids=["light", "dark"])
def page(request: pytest.FixtureRequest) -> Iterator:
    """Open a page with the `stage` of a new lab as marimo shows it."""
    stage = Lab(Controller())._display_()
    with chromium() as browser:
        page = browser.new_page(viewport={"width": 1080, "height": 720}, reduced_motion="reduce")
        page.set_default_timeout(PATIENCE_S * 1000)
        page.expose_function("send_message", lambda message: stage.receive(message) or stage.view)
        page.set_content("<!DOCTYPE html><html lang='en'><title>marimo</title><body>")
        page.evaluate(MARIMO, [stage._esm, stage._css, received(stage), request.param])
        page.stage, page.dark = stage, request.param
        yield page


def test_stage_works_by_mouse_and_keyboard_on_its_own_background(page):
    assert isinstance(page.stage, LoneStage)
    ground = [int(part) for part in page.evaluate(GROUND)[4:-1].split(",")]
    assert (max(ground) < 64) == page.dark
    assert page.locator(".hs-ground").first.bounding_box()["height"] > 120
    page.locator("button[aria-label^='node a']").click()
    page.get_by_role("menuitem", name="kill").click()
    page.locator(".hs-stage:not([aria-busy])").wait_for()
    assert page.stage.controller.outcome["nodes"]["a"] == "down"
    page.locator("button[aria-label^='node b']").press("Enter")
    first = page.evaluate(FOCUSED)
    page.keyboard.press("ArrowDown")
    assert first.startswith("stop") and page.evaluate(FOCUSED).startswith("kill")
    page.keyboard.press("Escape")
    assert page.get_by_role("menuitem").count() == 0
    assert page.evaluate(FOCUSED).startswith("b")
    keep_picture(page, f"marimo-{'dark' if page.dark else 'light'}")


@pytest.mark.parametrize("page", [False], indirect=True)
def test_lab_in_vs_code_follows_a_dark_theme(page):
    page.set_content(f"<style>{THEMES}</style><body><div class='hawb-lab'></div>")
    for kind in ("light", "high-contrast-light", "dark", "high-contrast"):
        page.evaluate("kind => document.body.dataset.vscodeThemeKind = kind", f"vscode-{kind}")
        assert page.evaluate(VARIABLE) == (style.LIGHT if kind.endswith("light") else style.DARK)["ground"]
