"""The lab's notebook in a real JupyterLab and browser."""

from __future__ import annotations

import json
import shutil
import string
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser_pages import ROOT, jupyterlab, keep_picture, open_notebook, page_of, run
from lab_controls import close, lay_out, more, node, queue
from lab_journeys import (
    draw_a_line_and_watch_again,
    keep_them_and_branch,
    look_everywhere,
    lose_and_mend_by_keyboard,
    part_publish_and_set_a_policy_by_keyboard,
    publish_and_ask_why,
    put_beside_and_take_away,
    read_a_loss_and_part_the_nodes,
    save,
)
from samples import todays


@pytest.fixture(scope="module")
def served(tmp_path_factory) -> Iterator[tuple[str, Path]]:
    """Start a JupyterLab for all tests here. Return its address and the folder of its notebooks."""
    folder = lay_out(tmp_path_factory.mktemp("jupyterlab"))
    three_cells(folder)
    shutil.copy(ROOT / "notebooks" / LESSON, folder / "notebooks" / LESSON)
    with jupyterlab(folder) as address:
        yield address, folder


@pytest.mark.browser
def test_lab_works_in_jupyterlab(in_browser, served):
    address, folder = served
    with page_of() as page:
        asked = []
        page.on("request", lambda request: asked.append(request.url))
        open_notebook(page, address.format("00-lab.ipynb"))
        run(page, "Run All Cells")
        lose_and_mend_by_keyboard(page)
        page.emulate_media(reduced_motion="reduce")
        read_a_loss_and_part_the_nodes(page)
        keep_picture(page.locator(".hawb-lab"), "lab-healed")
        keep_them_and_branch(page, "lab", lambda lab: save(lab, folder))
        here = ("http://127.0.0.1:", "ws://127.0.0.1:", "data:", "blob:")
        assert asked and not [url for url in asked if not url.startswith(here)]


@pytest.mark.full
@pytest.mark.browser
def test_nodes_are_parted_and_clients_publish_in_jupyterlab(in_browser, served):
    address, folder = served
    with page_of() as page:
        open_notebook(page, address.format("00-lab.ipynb"))
        run(page, "Run All Cells")
        draw_a_line_and_watch_again(page)
        part_publish_and_set_a_policy_by_keyboard(page)
        publish_and_ask_why(page)
        page.emulate_media(reduced_motion="reduce")
        put_beside_and_take_away(page, folder, "lab")


@pytest.mark.full
@pytest.mark.browser
def test_each_panel_is_accessible(in_browser, served):
    address, _ = served
    with page_of() as page:
        page.emulate_media(reduced_motion="reduce")
        open_notebook(page, address.format("00-lab.ipynb"))
        run(page, "Run All Cells")
        look_everywhere(page, "lab-panels")


LESSON = "11-a-node-dies.ipynb"
THREE_CELLS = [
    ("markdown", "What is above the lab"),
    ("code", "from hawb.lab import show\nshow()"),
    ("markdown", "What is below it"),
]
KEYS = [*string.digits, *string.ascii_letters, *string.punctuation, "Space", "ArrowUp", "ArrowDown", "ArrowLeft",
        "ArrowRight", "Enter", "Escape", "Delete", "Backspace"]  # fmt: skip
DOUBLED = "dDiI0"
"""Keys that JupyterLab's shortcuts take twice: to delete a cell, to interrupt and to restart a kernel."""
READ_CELLS = """() => [...document.querySelectorAll(".jp-Notebook .jp-Cell")].map(cell => [
  ["jp-MarkdownCell", "jp-CodeCell", "jp-RawCell"].find(name => cell.classList.contains(name)),
  cell.querySelector(".jp-RenderedMarkdown, .cm-content")?.textContent ?? "",
  cell.classList.contains("jp-mod-active"),
  cell.classList.contains("jp-mod-outputsCollapsed"),
])"""


def three_cells(folder: Path) -> None:
    """Write a notebook with the lab between two paragraphs."""
    cells = [
        {"cell_type": kind, "id": f"cell-{place}", "metadata": {}, "source": text}
        | ({"outputs": [], "execution_count": None} if kind == "code" else {})
        for place, (kind, text) in enumerate(THREE_CELLS)
    ]
    kernel = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    notebook = {"cells": cells, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}
    (folder / "notebooks" / "three.ipynb").write_text(json.dumps(notebook), encoding="utf-8")


@pytest.mark.full
@pytest.mark.browser
def test_keys_in_the_lab_do_not_change_the_notebook(in_browser, served):
    address, _ = served
    with page_of({"width": 1280, "height": 1000}) as page:
        open_notebook(page, address.format("three.ipynb"))
        run(page, "Run All Cells")
        lab = page.locator(".hawb-lab")
        node(lab, "a").wait_for()
        lab.get_by_role("button", name="skip the tour").click()
        picture = lab.locator(".hs-picture")

        def focus_the_background() -> None:
            picture.click(position={"x": 5, "y": 5})

        places = {
            "node": lambda: node(lab, "a").focus(),
            "queue": lambda: queue(lab, "ha.orders").focus(),
            "moment": lambda: lab.get_by_label("moment", exact=True).focus(),
            "background": focus_the_background,
        }
        focus_the_background()
        before = page.evaluate(READ_CELLS)
        assert [kind for kind, *_ in before] == ["jp-MarkdownCell", "jp-CodeCell", "jp-MarkdownCell"]
        for name in todays(places):
            press_all(page, places[name])
            assert page.evaluate(READ_CELLS) == before, name
        more(lab, "policy…")
        in_drawer = {
            "button": lambda: lab.locator(".hawb-drawer button").first.focus(),
            "choice": lambda: lab.get_by_label("ha-sync-mode", exact=True).focus(),
            "title": lambda: lab.locator(".hawb-drawer h2").click(),
        }
        for name in todays(in_drawer):
            press_all(page, in_drawer[name], [key for key in KEYS if key not in ("Enter", "Space", "Escape")])
            assert page.evaluate(READ_CELLS) == before, name
        close(lab)
        assert page.locator(".jp-Dialog").count() == 0
        keep_picture(page, "lab-keys")


def press_all(page, focus, keys=tuple(KEYS)) -> None:
    """Press each key from the same place, those of double shortcuts twice, and close the menu that it may open."""
    for key in keys:
        focus()
        page.keyboard.press(key)
        if key in DOUBLED:
            page.keyboard.press(key)
        if page.locator(".hs-menu:not([hidden])").count():
            page.keyboard.press("Escape")


@pytest.mark.full
@pytest.mark.browser
def test_untrusted_notebook_shows_its_stored_pictures(in_browser, served):
    address, _ = served
    with page_of() as page:
        open_notebook(page, address.format("00-lab.ipynb"))
        page.locator(".jp-RenderedImage img").wait_for()
        keep_picture(page, "lab-stored")
        open_notebook(page, address.format(LESSON))
        page.locator(".jp-RenderedImage img").first.wait_for()
        keep_picture(page, "lesson-stored")
        assert page.locator(".jp-RenderedSVG").count() == 0
