"""The lab's page in Chromium: from a click to the next painted frame, frames a second, and the front end's weight.

The page stands without Jupyter, as tests have it (`tests/given/stage_pages.py`), but with a clock that runs: what a
kernel's messages take on their way is left out, what Python does for a click is not.
"""

from __future__ import annotations

import gzip
import sys
from pathlib import Path

from benchmarks.measure import duration
from hawb.lab.page import STYLE
from hawb.lab.stage import Stage, front_end
from hawb.scenario.load import read_scenario
from hawb.scenario.run import Run

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "given"))

from browser_pages import chromium
from stage_pages import begin, page_for_stages, show

from benchmarks.lab import lab, large

NODES = 8
LIMITS = {40: "limit 100 ms", 200: "limit 300 ms"}
"""How soon a click is to be seen, by how many queues there are."""

ROUNDS, FLYING, WATCHED_MS = 9, 1000, 800
MOST_KB = 300

CLICK = """\
thing => new Promise(painted => {
  const drawn = performance.getEntriesByName("hawb-drawn").length;
  const asked = performance.now();
  const look = () => {
    if (performance.getEntriesByName("hawb-drawn").length === drawn) return requestAnimationFrame(look);
    const { port1, port2 } = new MessageChannel();  // what is posted in a frame is taken once that was painted
    port1.onmessage = () => painted((performance.now() - asked) / 1000);
    requestAnimationFrame(() => port2.postMessage(null));
  };
  thing.click();
  requestAnimationFrame(look);
})
"""
FRAMES = """\
milliseconds => new Promise(counted => {
  const began = performance.now();
  let last = began, frames = 0, longest = 0;
  const count = now => {
    frames += 1;
    longest = Math.max(longest, now - last);
    last = now;
    if (now - began < milliseconds) requestAnimationFrame(count);
    else counted({ frames: (1000 * frames) / (now - began), longest });
  };
  requestAnimationFrame(count);
})
"""


def figures() -> list[str]:
    """The lines that `make bench` prints."""
    with chromium() as browser:
        page = page_for_stages(browser, (1280, 720), runs=True)
        return [
            *(clicks(page, queues) for queues in LIMITS),
            frames(page),
            weight(),
        ]


def clicks(page, queues: int) -> str:
    """Return a line with the time from a click that kills a node, and one that undoes it, to the painted result."""
    begin(page, lab(Run.of(read_scenario(large(NODES, queues)))))
    page.get_by_role("button", name="skip the tour").click()
    taken = []
    for _ in range(ROUNDS + 1):
        page.locator("button[data-place='node rabbit@node8']").click()
        taken.append(page.get_by_role("menuitem", name="kill").evaluate(CLICK))
        taken.append(page.get_by_role("button", name="undo").evaluate(CLICK))
    name = f"a click, {NODES} nodes, {queues} queues, to the painted frame"
    return duration(name, taken[2:], limit=LIMITS[queues])


def frames(page) -> str:
    """Return a line with frames a second while many messages move, and the longest frame."""
    begin(page, lab(Run.of(read_scenario(large(NODES, 12)))))
    page.lab.controller.act("publish", {"queue": "queue-00", "count": 5 * FLYING})
    page.lab.redraw()
    show(page)
    found = page.evaluate(FRAMES, WATCHED_MS)
    name = f"frames, {FLYING:,} messages in flight"
    return f"{name:<58} {found['frames']:>12,.1f} /s   (longest {found['longest']:.1f} ms)   wanted: 60"


def weight() -> str:
    """Return a line with the size of the page's front end."""
    parts = [front_end().encode(), (STYLE + Stage._css).encode()]
    whole, packed = sum(map(len, parts)) / 1000, sum(len(gzip.compress(part)) for part in parts) / 1000
    return f"{'the front end: modules and styles':<58} {whole:>12,.1f} kB   ({packed:,.1f} packed)   limit {MOST_KB} kB"
