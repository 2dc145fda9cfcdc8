"""The lab's page wherever it is served: opens a story, its nodes and queues, menus and panels."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

from browser_pages import ROOT
from stage_pages import answered

SCENARIO = """\
scenario: A mirror that came late
seed: 1
cluster: {nodes: [a, b], version: "3.10"}
policies: [{name: ha-all, pattern: '^ha', definition: {ha-mode: all}}]
steps:
- declare: {queue: ha.late, node: a}
- stop: b
- publish: {queue: ha.late, count: 7}
- start: b
- publish: {queue: ha.late, count: 3}
"""

MOST_MOVEMENTS = 30
"""More than a step of the scenario has."""

MOST_STOPS = 60
"""More than there are for the keyboard."""


def lay_out(folder: Path) -> Path:
    """Lay out `folder` like the repository, with the lab's notebook, the app's settings and a scenario, and return it.
    """
    (folder / "notebooks").mkdir()
    for name in ("00-lab.ipynb", "voila.json"):
        shutil.copy(ROOT / "notebooks" / name, folder / "notebooks")
    (folder / "data" / "scenarios").mkdir(parents=True)
    (folder / "data" / "scenarios" / "late.yaml").write_text(SCENARIO)
    return folder


def open_story(page):
    """Open the scenario, the last in the list, and return the lab."""
    lab = page.locator(".hawb-lab")
    field = lab.get_by_role("combobox", name="scenario")
    field.click()
    field.fill("late mirror")
    lab.get_by_role("option", name="A mirror that came late").last.click()
    at_step(lab, 5, 5)
    queue(lab, "ha.late").wait_for()
    return lab


def at_step(lab, played: int, steps: int) -> None:
    """Wait until the story stands at a step."""
    lab.get_by_text(f"step {played} of {steps} ·").wait_for()


def back_to(lab, played: int, press: Callable[[], object]) -> None:
    """Press "step back" with `press` until this many steps of the story are played."""
    for _ in range(MOST_MOVEMENTS):
        press()
        answered(lab)
        where = lab.locator(".hs-where").inner_text()
        now = int(where.split()[1])
        assert now >= played, f"a press of step back led to {where!r}, beyond step {played}"
        if now == played:
            return
    raise AssertionError(f"{MOST_MOVEMENTS} presses of step back lead no further than {where!r}, not to step {played}")


def node(lab, name: str):
    """Return the place of a node."""
    return lab.get_by_role("button", name=re.compile(rf"^node {name}, "))


def queue(lab, name: str):
    """Return the row of a queue, or the first of its rows."""
    return lab.get_by_role("button", name=re.compile(rf"^queue {re.escape(name)} ")).first


def choose(lab, thing, entry: str) -> None:
    """Choose an entry of the menu of a node or a queue."""
    thing.click()
    lab.get_by_role("menuitem", name=entry, exact=False).first.click()


def choose_by_keys(thing, entry: str) -> None:
    """Choose an entry of a menu by the beginning of its name, without a mouse."""
    thing.focus()
    keys = thing.page.keyboard
    keys.press("Enter")
    keys.type(entry)
    keys.press("Enter")


def log_line(lab, text: str):
    """Return the sentence on a recent event."""
    return lab.locator(".hs-happened").get_by_text(text)


def more(lab, entry: str) -> None:
    """Open the menu of other actions."""
    lab.get_by_role("button", name="more…").click()
    lab.get_by_role("menuitem", name=re.compile(rf"^{re.escape(entry)}")).click()


def close(lab) -> None:
    """Close the drawer."""
    lab.locator(".hawb-drawer").get_by_role("button", name="✕ close").click()
    lab.locator(".hawb-drawer").wait_for(state="hidden")


def verdict(lab, text: str) -> None:
    """Wait until the verdict has this text."""
    lab.locator(".hs-verdict").get_by_text(text).wait_for()


def has_focus(thing) -> None:
    """Wait until an element has the focus."""
    thing.and_(thing.page.locator(":focus")).wait_for()


def tab_to(page, thing) -> None:
    """Press Tab until an element has the focus. Fails after the whole page."""
    for _ in range(MOST_STOPS):
        page.keyboard.press("Tab")
        if thing.evaluate("one => one === document.activeElement"):
            return
    raise AssertionError(f"no Tab leads to {thing}")
