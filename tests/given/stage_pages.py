"""The stage on a page without Jupyter: the same front end, the same Python behind it, and a clock that tests move.

`python tests/given/stage_pages.py` makes the README's pictures anew: `data/lab.png` and `data/lab.gif`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path

from browser_pages import CHROMIUM, FLAGS, PATIENCE_S, ROOT

from hawb.lab.controller import Controller
from hawb.lab.page import STYLE, Lab
from hawb.views import style

DOCUMENT = """\
<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>stage</title><style>{css}
body {{ margin: 0; padding: 8px 12px; background: {ground}; }}
.hawb-lab {{ display: flex; flex-direction: column; height: calc(100vh - 18px) !important; min-height: 560px; }}
</style></head>
<body data-jp-theme-light="{light}"><main class="hawb-lab"><div id="stage"></div></main></body></html>
"""
BEGIN = """\
state => {
  const listeners = [];
  window.seen = state => { Object.assign(told, state); listeners.forEach(listener => listener()); };
  const told = state;
  const model = {
    get: name => told[name],
    on: (_, listener) => listeners.push(listener),
    send: message => window.tell(message).then(state => window.seen(state)),
  };
  window.render({ model, el: document.getElementById("stage") });
}
"""
FRAME_MS, WIDTH, FRAMES_MOST = 90, 960, 140


@contextmanager
def stage_page(size: tuple[int, int] = (1280, 700), *, dark: bool = False, calm: bool = False) -> Iterator:
    """A page with the stage of a new lab. Its `lab` is that lab; time goes on with `page.clock.run_for`."""
    from playwright.sync_api import sync_playwright

    lab, colours = Lab(Controller()), style.DARK if dark else style.LIGHT
    with sync_playwright() as playwright, playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS) as browser:
        motion = "reduce" if calm else "no-preference"
        page = browser.new_page(viewport=dict(zip(("width", "height"), size, strict=True)), reduced_motion=motion)
        page.set_default_timeout(PATIENCE_S * 1000)
        page.clock.install(time=0)
        page.clock.pause_at(1000)

        def tell(message: dict) -> dict:
            lab.stage.receive(message)
            return {"view": lab.stage.view}

        page.expose_function("tell", tell)
        css = STYLE + lab.stage._css
        page.set_content(DOCUMENT.format(css=css, ground=colours["ground"], light="false" if dark else "true"))
        front = lab.stage._esm.replace("export default { render };", "window.render = render;")
        page.add_script_tag(content=f"(() => {{{front}}})();")
        page.evaluate(BEGIN, {name: getattr(lab.stage, name) for name in ("view", "choices", "menus", "guide")})
        page.lab = lab
        page.clock.run_for(50)
        yield page


def show(page) -> None:
    """Shows on the page what Python has done by itself."""
    page.evaluate("state => window.seen(state)", {"view": page.lab.stage.view})
    page.clock.run_for(50)


def menu(page, thing: str) -> None:
    """Opens the menu of a node or a queue, by the beginning of its name."""
    page.locator(f"button[aria-label^='{thing}']").first.click()
    page.clock.run_for(50)


def choose(page, entry: str) -> None:
    """Chooses an entry of the menu that is open, and returns once Python has answered."""
    page.get_by_role("menuitem", name=entry).first.click()
    answered(page)
    page.clock.run_for(20)


def answered(page) -> None:
    """Waits until Python has answered all that was asked."""
    page.locator(".hs-stage:not([aria-busy])").wait_for()


def pick(page, thing: str, entry: str) -> None:
    """Opens a menu and chooses an entry of it."""
    menu(page, thing)
    choose(page, entry)


def frames(page, seconds: float) -> Iterator[bytes]:
    """Pictures of the page while so much time goes on."""
    for _ in range(round(seconds * 1000 / FRAME_MS)):
        page.clock.run_for(FRAME_MS)
        yield page.screenshot()


def film(file: Path) -> None:
    """What the README shows: messages are published, a node is killed, and what that cost is watched."""
    from PIL import Image

    with stage_page((1180, 680)) as page:
        page.get_by_role("button", name="skip the tour").click()
        taken = [*frames(page, 0.8)]
        for thing, entry, seconds in (("queue ha.orders", "publish 10", 2.6), ("node a", "kill", 4.2)):
            menu(page, thing)
            taken += frames(page, 0.8)
            choose(page, entry)
            taken += frames(page, seconds)
        page.lab.stage.receive({"do": "ask"})
        show(page)
        taken += frames(page, 2.2)
    pictures = [Image.open(BytesIO(one)).convert("RGB") for one in taken[:FRAMES_MOST]]
    small = [one.resize((WIDTH, one.height * WIDTH // one.width), Image.Resampling.LANCZOS) for one in pictures]
    palette = Image.new("RGB", (WIDTH, small[0].height * 3))  # one for all frames, so that only what moves is kept
    for place, one in enumerate((small[0], small[len(small) // 2], small[-1])):
        palette.paste(one, (0, place * one.height))
    palette = palette.quantize(200, method=Image.Quantize.MAXCOVERAGE)
    flat = [one.quantize(palette=palette, dither=Image.Dither.NONE) for one in small]
    flat[0].save(file, save_all=True, append_images=flat[1:], duration=FRAME_MS, loop=0, optimize=True)


def picture(file: Path) -> None:
    """The page after a loss, with what would have kept it."""
    with stage_page((1280, 720), calm=True) as page:
        page.get_by_role("button", name="skip the tour").click()
        pick(page, "node a", "kill")
        page.lab.stage.receive({"do": "ask"})
        show(page)
        page.screenshot(path=file)


if __name__ == "__main__":
    picture(ROOT / "data" / "lab.png")
    film(ROOT / "data" / "lab.gif")
    sys.stdout.write(f"{(ROOT / 'data' / 'lab.gif').stat().st_size:,} bytes\n")
