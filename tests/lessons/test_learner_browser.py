"""The learner's edition of four notebooks in a real JupyterLab and browser: a reader guesses, runs, takes a hint,
answers wrongly and then rightly, and all of it is in the file for the teacher."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser_pages import ROOT, jupyterlab, keep_picture, open_notebook, page_of
from lesson_walks import run_all, type_and_run

from hawb.lessons import answers
from hawb.lessons.learner import build

pytestmark = [pytest.mark.browser, pytest.mark.full]

NOTEBOOKS = ("10-mirrored-queues", "11-a-node-dies", "13-stop-or-kill", "21-safe-to-stop")

TALL = {"width": 1280, "height": 20_000}
"""High enough for a whole lesson: JupyterLab draws only cells that can be seen."""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """Serve the learner's edition of the notebooks. Return their address and the file of answers."""
    folder = tmp_path_factory.mktemp("learner")
    build([ROOT / "notebooks" / f"{name}.ipynb" for name in NOTEBOOKS], folder / "notebooks")
    (folder / "data").symlink_to(ROOT / "data")
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv(answers.VARIABLE, str(folder / "answers.json"))
        with jupyterlab(folder) as address:
            yield address, folder / "answers.json"


def question(page, words: str):
    """A prediction, by words of its question."""
    return page.locator(".hq").filter(has_text=words)


def answer(page, key: str, words: str) -> None:
    """Write an answer into the cell of an exercise, and run it."""
    cell = page.locator(".jp-CodeCell").filter(has_text=f'check("{key}"')
    type_and_run(page, cell, f'check("{key}", {words})')


def drop(place, file: Path) -> None:
    """Drop a file on an element, as from a file manager."""
    content = file.read_text(encoding="utf-8")
    place.evaluate("""(place, [name, content]) => {
      const dataTransfer = new DataTransfer();
      dataTransfer.items.add(new File([content], name));
      place.dispatchEvent(new DragEvent("drop", { dataTransfer, bubbles: true, cancelable: true }));
    }""", [file.name, content])


def test_a_reader_of_lesson_11_guesses_a_number_and_answers_with_steps(in_browser, served):
    address, kept = served
    with page_of(TALL) as page:
        open_notebook(page, address.format("11-a-node-dies.ipynb") + "&reset")
        run_all(page)
        page.get_by_text("There is no answer yet").nth(2).wait_for()
        assert page.locator(".hq-told", has_text="It is:").count() == 0
        guess = page.locator(".hq input").first
        guess.fill("5")
        guess.press("Enter")
        page.get_by_text("It is: 0. You said 5: why not?").wait_for()
        page.get_by_text("hint 1").first.click()
        page.get_by_text("How does a mirror become unsynchronised?").wait_for()
        answer(page, "11-lose", '"[{kill: a}]"')
        page.get_by_text("✕ Nothing is lost: b took over and was synchronised.").wait_for()
        answer(page, "11-lose", '"[{stop: b}, {start: b}, {stop: c}, {start: c}, {kill: a}]"')
        page.get_by_text("✓ Right, in this cluster and in 3 others").wait_for()
        keep_picture(page, "lesson-11")
    written = json.loads(kept.read_text())
    assert written["guesses"]["11-mirror"]["guess"] == 5
    assert written["guesses"]["11-mirror"]["truth"] == 0
    assert (written["answers"]["11-lose"]["attempts"], written["answers"]["11-lose"]["right"]) == (3, True)


def test_a_reader_of_lesson_10_chooses_a_guess_and_sets_a_policy(in_browser, served):
    address, kept = served
    with page_of(TALL) as page:
        open_notebook(page, address.format("10-mirrored-queues.ipynb") + "&reset")
        run_all(page)
        page.get_by_text("There is no answer yet").nth(2).wait_for()
        question(page, "In which state is orders.eu then?").get_by_role("button", name="deleted").click()
        page.get_by_text("It is: down. You said deleted: why not?").wait_for()
        answer(page, "10-two-copies", '{"pattern": "orders", "definition": {"ha-mode": "exactly", "ha-params": 2}}')
        page.get_by_text("✕ The policy also matches").wait_for()
        definition = '{"ha-mode": "exactly", "ha-params": 2, "ha-sync-mode": "automatic"}'
        answer(page, "10-two-copies", rf"""{{"pattern": r"^orders\.", "definition": {definition}}}""")
        page.get_by_text("✓ Right, in this cluster and in 3 others").wait_for()
        keep_picture(page, "lesson-10")
    written = json.loads(kept.read_text())
    assert written["guesses"]["10-unmirrored"]["guess"] == "deleted"
    assert written["guesses"]["10-unmirrored"]["truth"] == "down"
    assert (written["answers"]["10-two-copies"]["attempts"], written["answers"]["10-two-copies"]["right"]) == (3, True)


def test_a_reader_of_lesson_13_clicks_a_node_and_flips_a_switch(in_browser, served):
    address, kept = served
    with page_of(TALL) as page:
        open_notebook(page, address.format("13-stop-or-kill.ipynb") + "&reset")
        run_all(page)
        page.get_by_text("There is no answer yet").nth(2).wait_for()
        asked = question(page, "Which node has the master then?")
        asked.get_by_role("button", name="node b, running").click()
        asked.get_by_text("It is: b. As you said.").wait_for()
        asked.get_by_role("button", name="node a, down, was running").wait_for()
        asked.get_by_role("button", name="b took over").focus()
        assert asked.locator(".hs-lit").get_attribute("data-place").endswith(" b")
        explained = question(page, "Neither key, a is killed")
        explained.get_by_role("button", name="down with 10 messages").press("Enter")
        page.locator("details[open]", has_text="waits after a stop, and loses messages after a kill").wait_for()
        switches = page.locator(".hw")
        switches.get_by_text("7,200,000 messages lost").first.wait_for()
        flipped = switches.get_by_role("group", name="ha-sync-mode").get_by_role("button", name="automatic")
        flipped.press("Enter")
        switches.get_by_text("lost: 7,200,000 messages → no messages · blocked: 0 s → 12 min").wait_for()
        assert flipped.evaluate("element => element === document.activeElement")
        switches.get_by_role("button", name="ha-sync-mode manual, stop: out of use for 5 min").click()
        page.locator(".hw .hs-chip", has_text="was stopped").first.wait_for()
        switches.locator(".hw-story", has_text="what happens to a: stop").get_by_text("out of use for 5 min").wait_for()
        keep_picture(asked, "lesson-question")
        keep_picture(switches, "lesson-switches")
    written = json.loads(kept.read_text())
    assert written["guesses"]["13-evening"]["guess"] == written["guesses"]["13-evening"]["truth"] == "b"


def test_a_reader_of_notebook_21_drops_an_export_and_the_answer_changes(in_browser, served, tmp_path):
    """The answer begins with data/real; definitions alone do not tell where replicas stand; a bad file is refused."""
    address, _ = served
    bad = tmp_path / "bad.json"
    bad.write_text("[1")
    with page_of(TALL) as page:
        open_notebook(page, address.format("21-safe-to-stop.ipynb") + "&reset")
        run_all(page)
        panel = page.locator(".hawb-own")
        panel.get_by_text("The answer for data/real:").wait_for()
        answered = page.frame_locator(".hf-page")
        answered.get_by_text("loses 5 and is deleted").first.wait_for(state="attached")
        panel.locator("input[type=file]").set_input_files(bad)
        panel.get_by_role("alert").get_by_text("accepted").wait_for()
        drop(panel.locator(".hf-place"), ROOT / "data" / "real" / "definitions.json")
        panel.get_by_text("The answer for definitions.json:").wait_for()
        answered.get_by_text("no listing has the nodes").first.wait_for(state="attached")
        frame = panel.locator(".hf-page")
        assert frame.evaluate("frame => frame.clientHeight >= frame.contentDocument.body.scrollHeight")
        with page.expect_download() as downloading:
            panel.get_by_role("link", name="report.html").click()
        assert "Is it safe to stop a node now?" in Path(downloading.value.path()).read_text(encoding="utf-8")
        keep_picture(panel, "own-files")
