"""The stage on a page without Jupyter: the same front end, the same Python behind it, and a clock that tests move.

`python tests/given/stage_pages.py` makes the README's pictures anew: `data/lab.png` and `data/lab.gif`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path

from browser_pages import PATIENCE_S, ROOT, chromium

from hawb.lab.controller import Controller
from hawb.lab.page import STYLE, Lab
from hawb.lab.sources import START
from hawb.lab.stage import Stage

DOCUMENT = """\
<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>stage</title><style>{css}
body {{ margin: 0; }}
.hawb-lab {{ box-sizing: border-box; padding: 8px 12px; display: flex; flex-direction: column;
  height: 100vh !important; min-height: 576px; }}
</style></head>
<body data-jp-theme-light="{light}"><main class="hawb-lab"><div id="stage"></div></main></body></html>
"""
BEGIN = """\
state => {
  const listeners = {};
  window.seen = state => {
    const news = Object.keys(state).filter(name => JSON.stringify(state[name]) !== JSON.stringify(received[name]));
    Object.assign(received, state);
    news.flatMap(name => listeners[`change:${name}`] ?? []).forEach(listener => listener());
  };
  const received = state;
  const model = {
    get: name => received[name],
    on: (name, listener) => (listeners[name] ??= []).push(listener),
    off: (name, listener) => { listeners[name] = listeners[name].filter(one => one !== listener); },
    send: message => window.send_message(message).then(state => window.seen(state)),
  };
  window.render({ model, el: document.getElementById("stage") });
}
"""
RECEIVED = ("view", "choices", "menus", "tag", "languages", "words")
"""The parts of a message to the stage's front end."""

FRAME_MS, WIDTH, FRAMES_MOST = 90, 960, 140


@contextmanager
def stage_page(
    size: tuple[int, int] = (1280, 700), *, dark: bool = False, calm: bool = False, start: Path = START
) -> Iterator:
    """Open a page of a new browser with the stage of a new lab (`page.lab`). `page.run_for` advances its clock."""
    with chromium() as browser:
        page = page_for_stages(browser, size, calm=calm)
        begin(page, Lab(Controller(start)), dark=dark)
        yield page


def page_for_stages(browser, size: tuple[int, int], *, calm: bool = False, runs: bool = False):
    """An empty page of a browser on which stages can stand, one after the other. Its clock stands still unless it
    `runs` as any clock does."""
    motion = "reduce" if calm else "no-preference"
    page = browser.new_page(viewport=dict(zip(("width", "height"), size, strict=True)), reduced_motion=motion)
    page.set_default_timeout(PATIENCE_S * 1000)
    page.run_for = page.wait_for_timeout if runs else page.clock.run_for
    if not runs:
        page.clock.install(time=0)
        page.clock.pause_at(1000)

    def send_message(message: dict) -> dict:
        page.lab.stage.receive(message)
        return received(page.lab.stage)

    page.expose_function("send_message", send_message)
    return page


def begin(page, lab: Lab, *, dark: bool = False) -> None:
    """Show the stage of a lab on a page and set `page.lab`."""
    page.lab = lab
    page.set_content(DOCUMENT.format(css=STYLE + lab.stage._css, light="false" if dark else "true"))
    front = lab.stage._esm.replace("export default { render };", "window.render = render;")
    page.add_script_tag(content=f"(() => {{{front}}})();")
    page.evaluate(BEGIN, received(lab.stage))
    page.run_for(50)


def received(stage: Stage) -> dict:
    """Return what the page of a stage receives."""
    return {name: getattr(stage, name) for name in RECEIVED}


def show(page) -> None:
    """Show on the page what Python has changed."""
    page.evaluate("state => window.seen(state)", {"view": page.lab.stage.view})
    page.run_for(50)


def menu(page, thing: str) -> None:
    """Open the menu of a node or queue by the beginning of its name."""
    page.locator(f"button[aria-label^='{thing}']").first.click()
    page.run_for(50)


def choose(page, entry: str) -> None:
    """Choose an entry of the open menu and wait for Python's reply."""
    page.get_by_role("menuitem", name=entry).first.click()
    answered(page)
    page.run_for(20)


def answered(page) -> None:
    """Wait until Python has replied to all requests."""
    page.locator(".hs-stage:not([aria-busy])").wait_for()


def pick(page, thing: str, entry: str) -> None:
    """Open a menu and choose an entry."""
    menu(page, thing)
    choose(page, entry)


def frames(page, seconds: float) -> Iterator[bytes]:
    """Take pictures of the page while time passes."""
    for _ in range(round(seconds * 1000 / FRAME_MS)):
        page.run_for(FRAME_MS)
        yield page.screenshot()


def film(file: Path) -> None:
    """Take the README's film: publish, kill a node, and show the loss."""
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
    """Take a picture of the page after a loss with the changes that prevent it."""
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
