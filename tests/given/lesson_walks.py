"""Walk through a lesson in JupyterLab as a learner does: guess, flip switches, open what is folded, answer, play.

What to click and what to type comes from the stored lesson: its questions with their answers, and its solutions. A
walk waits for what the learner sees. Each wait fails after the page's timeout.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import nbformat
import pytest
from browser_pages import faults, run

from hawb.lessons import stored
from hawb.lessons.learner import solutions, without_solutions
from hawb.lessons.stored import Predicted

TRIES = 5
LONGEST_RUN_MS = 300_000
NO_NUMBER = "many"
OF_COLOURS = ("color-contrast", "link-in-text-block")
"""The rules of axe that depend on the theme."""

PAINTS = """
window.paints_ms = [];
addEventListener("click", ({ target, timeStamp }) => {
  const widget = target.closest?.(".hq, .hw");
  if (!widget) return;
  new MutationObserver((_changes, observer) => {
    observer.disconnect();
    requestAnimationFrame(() => {
      const { port1, port2 } = new MessageChannel(); // a message posted in a frame arrives after the frame is painted
      port1.onmessage = () => window.paints_ms.push(performance.now() - timeStamp);
      port2.postMessage(null);
    });
  }).observe(widget, { subtree: true, childList: true, characterData: true, attributes: true });
}, true);
"""
"""Have a page collect, for each click in a widget, the milliseconds until the first change is painted."""

TOO_WIDE = """() => [...document.querySelectorAll(".hq, .hw")].filter(one => one.scrollWidth > one.clientWidth + 1)
  .map(one => `${one.className}: ${one.scrollWidth} px in ${one.clientWidth} px`)"""

CUT = """() => [...document.querySelectorAll(":is(.hs-told, .hs-told small, .hs-cell, .hs-name, .hs-node)")]
  .filter(one => one.closest(".hq, .hw"))
  .filter(one => one.scrollWidth > one.clientWidth + 1 || one.scrollHeight > one.clientHeight + 1)
  .map(one => `a text is cut: ${one.innerText}`)"""


class Asked(NamedTuple):
    """A prediction: the position of its cell, and whether a folded text below it opens after the guess."""

    at: int
    predicted: Predicted
    is_folded: bool


class Answered(NamedTuple):
    """An exercise or a game: the position of the cell for the answer, and code that answers it."""

    at: int
    key: str
    code: str


class Walk(NamedTuple):
    """The questions and exercises of a lesson. A position is the number of a cell in the learner's edition."""

    asked: list[Asked]
    answered: list[Answered]


def walk_of(file: Path) -> Walk:
    """Return what the lesson in a stored notebook asks."""
    notebook = nbformat.read(file, as_version=4)
    known = {one.key: one for one in stored.lesson(file.stem, notebook).asked if isinstance(one, Predicted)}
    cells = [cell for cell in notebook.cells if without_solutions(cell.source) or not cell.source]
    asked, answered = [], []
    for at, cell in enumerate(cells):
        if cell.cell_type == "code" and solutions(cell.source):
            key = next(key for _function, key in stored.calls(cell.source))
            answered.append(Answered(at, key, in_one_line(cell.source)))
        elif cell.cell_type == "code":
            keys = [key for function, key in stored.calls(cell.source) if function == "predict"]
            asked += [Asked(at, known[key], False) for key in keys]
        elif asked and stored.WHY.search(cell.source):
            asked[-1] = asked[-1]._replace(is_folded=True)
    return Walk(asked, answered)


def in_one_line(source: str) -> str:
    """Return the statements of a cell in one line. An editor would indent further lines."""
    return "; ".join(map(ast.unparse, ast.parse(source).body))


def cell_at(page, at: int):
    """Return a cell of the notebook by its position."""
    return page.locator(".jp-Notebook .jp-Cell").nth(at)


def run_all(page) -> None:
    """Run every cell, and wait until all have run and JupyterLab has moved the focus to the last one."""
    run(page, "Run All Cells")
    page.locator(".jp-Cell.jp-mod-active:last-child:focus").wait_for()
    wait_until_run(page)


def wait_until_run(page) -> None:
    """Wait until no cell runs or is about to run. In lesson 23 this may take minutes: the kernel is compiled once."""
    page.locator(".jp-InputArea-prompt", has_text="[*]").first.wait_for(state="detached", timeout=LONGEST_RUN_MS)


def type_and_run(page, cell, typed: str) -> None:
    """Replace the code of a cell, and run it.

    Some time after a cell has run, JupyterLab moves the focus to the next one. Text that is typed at that moment is not
    in the cell, so it is typed again.
    """
    editor = cell.locator(".cm-content")
    for _ in range(TRIES):
        # It takes the focus by itself: a click may miss a cell that moves as a story plays above.
        editor.press("Control+A")
        page.keyboard.insert_text(typed)
        if editor.inner_text() == typed:
            break
    else:
        pytest.fail(f"the cell has {editor.inner_text()!r} after {TRIES} tries")
    editor.press("Shift+Enter")


def predict_all(page, walk: Walk) -> None:
    """Answer each prediction: the first one of each kind wrongly, the last one by giving up, every other one by keys.

    Fails if an answer or an explanation is visible before the guess.
    """
    kinds = set()
    for number, asked in enumerate(walk.asked, 1):
        cell = cell_at(page, asked.at)
        question, line = cell.locator(".hq"), cell.locator(".hq-told")
        question.locator(".hq-question").get_by_text(asked.predicted.question).wait_for()
        assert page.locator(".hq-told:not(:empty)").count() == number - 1, f"before the guess of {asked.predicted.key}"
        assert cell.locator(".hawb-lesson:not(.hq)").count() == 0, f"explained before the guess: {asked.predicted.key}"
        is_first = bool(asked.predicted.choices) not in kinds
        kinds.add(bool(asked.predicted.choices))
        if number == len(walk.asked) > len(kinds) and not is_first:
            press(question.get_by_role("button", name="I do not know: show it"), by_keys=False)
            reply = f"It is: {asked.predicted.answer}."
        elif asked.predicted.choices:
            reply = choose(question, asked.predicted.answer, is_wrong=is_first, by_keys=number % 2 == 0)
        else:
            reply = enter(question, asked.predicted.answer, is_refused=is_first, by_keys=number % 2 == 0)
        line.get_by_text(reply, exact=True).wait_for()
        question.locator(".hq-answers").first.locator(":enabled").first.wait_for(state="detached")
        if asked.predicted.shown:
            cell.locator(".hawb-lesson:not(.hq)").first.wait_for()
        opened = sum(one.is_folded for one in walk.asked[:number])
        assert page.locator("details[open] > summary:text-is('Why?')").count() == opened, asked.predicted.key
        watch_again(question)


def choose(question, answer: str, *, is_wrong: bool, by_keys: bool) -> str:
    """Choose the answer, or the first wrong one, in the picture where it is a node there. Return the expected reply."""
    choices = question.locator("[data-choice]").evaluate_all("all => all.map(one => one.dataset.choice)")
    assert answer in choices
    guess = next(one for one in choices if one != answer) if is_wrong else answer
    nodes = question.locator(".hs-node.hs-invited").evaluate_all("all => all.map(one => one.title)")
    if guess in nodes:
        press(question.locator(".hs-node.hs-invited").nth(nodes.index(guess)), by_keys=by_keys)
    else:
        press(question.locator("[data-choice]").nth(choices.index(guess)), by_keys=by_keys)
    return f"It is: {answer}. You said {guess}: why not?" if is_wrong else f"It is: {answer}. As you said."


def enter(question, answer: str, *, is_refused: bool, by_keys: bool) -> str:
    """Enter a number, if `is_refused` after a word, which is no number. Return the expected reply."""
    field = question.get_by_role("textbox")
    if is_refused:
        field.fill(NO_NUMBER)
        field.press("Enter")
        question.get_by_text(f"'{NO_NUMBER}' is not a possible answer").wait_for()
    field.fill(answer)
    if by_keys:
        field.press("Enter")
    else:
        question.get_by_role("button", name="predict", exact=True).click()
    return f"It is: {answer}. As you said."


def press(button, *, by_keys: bool) -> None:
    """Press a button with Enter, or click it."""
    if by_keys:
        button.press("Enter")
    else:
        button.click()


def watch_again(question) -> None:
    """Play the story of a question again, go to each cause in the chain, and try what would have kept the messages."""
    again = question.get_by_role("button", name="play it again")
    if again.is_visible():
        again.click()
    for chip in question.locator(".hs-chip").all():
        chip.click()
        question.locator(".hs-caption").get_by_text(chip.get_attribute("title")).wait_for()
    asks = question.get_by_role("button", name="what would have kept the messages?")
    if asks.count():
        asks.click()
        question.locator(".hq-tries [role=status]").wait_for()
        for number, tried in enumerate(question.locator(".hq-tries button").all()):
            press(tried, by_keys=number % 2 == 1)
            question.locator(".hw-story:visible").nth(1).wait_for()
            assert tried.inner_text().removeprefix("try ") in question.locator(".hw-story h2").last.inner_text()


def flip_all(page) -> None:
    """Flip each switch of the notebook to each of its values, and open each ending of the grid.

    A switch has no effect in some settings, where it is disabled: so the values are tried in both orders.
    """
    for board in page.locator(".hw").all():
        values = board.locator("[data-switch]").evaluate_all("all => all.map(one => one.dataset.switch)")
        flipped = set()
        for value in [*values, *reversed(values), *reversed(values)]:
            button = board.locator(f'[data-switch="{value}"]')
            if button.is_enabled() and button.get_attribute("aria-pressed") == "false":
                button.click()
                board.locator(f'[data-switch="{value}"][aria-pressed="true"]').wait_for()
                board.locator(".hw-all:not([aria-busy])").wait_for()
                assert board.locator(".hw-changes").inner_text(), f"nothing is said of {value}"
                flipped.add(value)
        assert flipped == {*values}
        for cell in board.locator("[data-cell]").evaluate_all("all => all.map(one => one.dataset.cell)"):
            ending = board.locator(f'[data-cell="{cell}"]')
            if ending.count():  # a row goes with a switch that has no effect
                ending.click()
                board.locator(f'.hw-all:not([aria-busy]) [data-cell="{cell}"][aria-current="true"]').wait_for()


def unfold_all(page) -> None:
    """Open all hints, rules and explanations that are still folded."""
    for folded in page.locator(".jp-Notebook details:not([open]) > summary").element_handles():
        folded.click()
        folded.wait_for_selector("xpath=parent::details[@open]")


def answer_all(page, walk: Walk) -> None:
    """Write the solutions of the exercises and of the game, and wait until they are judged as right."""
    for answered in walk.answered:
        cell = cell_at(page, answered.at)
        type_and_run(page, cell, answered.code)
        cell.locator(".jp-OutputArea-output").get_by_text(re.compile("^✓ ")).first.wait_for()


def found_wrong(page) -> Iterator[str]:
    """Yield what is wrong on a page: errors, what axe finds in both themes, what is cut or too wide on a phone."""
    wait_until_run(page)
    for error in page.locator('.jp-OutputArea-output[data-mime-type$="error"]').all():
        yield f"an error: {error.inner_text()[:400]}"
    for scheme, rules in (("dark", OF_COLOURS), ("light", ())):
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        page.locator(f'body[data-jp-theme-light="{str(scheme == "light").lower()}"]').wait_for(state="attached")
        for fault in faults(page, ".jp-Notebook .jp-OutputArea-output, .jp-Notebook .jp-MarkdownOutput", rules):
            yield f"{scheme}: {fault}"
    yield from page.evaluate(CUT)
    before = page.viewport_size
    page.set_viewport_size({"width": 390, "height": 844})
    page.locator("body").evaluate("() => new Promise(requestAnimationFrame)")
    yield from page.evaluate(TOO_WIDE)
    yield from page.evaluate(CUT)
    page.set_viewport_size(before)
