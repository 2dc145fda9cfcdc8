"""The front ends of questions and switches in Chromium, while the kernel does not answer."""

from __future__ import annotations

from collections.abc import Iterator

import anywidget
import pytest
from browser_pages import page_of

from hawb.cluster import Cluster
from hawb.lessons.predictions import Prediction
from hawb.lessons.question import LessonWidget, Question
from hawb.lessons.switchboard import Switches

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("in_browser")]

DRAW = """async ([front, values]) => {
  const own = { get: (name) => values[name], set: (name, value) => { values[name] = value; } };
  const model = { ...own, save_changes() {}, on() {}, off() {} };
  const el = document.body.appendChild(document.createElement("div"));
  (await import(URL.createObjectURL(new Blob([front], { type: "text/javascript" })))).default.render({ model, el });
}"""


@pytest.fixture(autouse=True)
def kept(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Use a separate file of answers for each test."""
    monkeypatch.setenv("HAWB_ANSWERS", str(tmp_path / "mine.json"))


@pytest.fixture
def page() -> Iterator:
    """Return an empty page."""
    with page_of() as page:
        page.set_content("<!DOCTYPE html><html lang='en'><title>lesson</title><body>")
        yield page


def draw(page, widget: LessonWidget) -> None:
    """Draw a widget on a page, with a model that sends nothing to the kernel."""
    names = set(widget.traits(sync=True)) - set(anywidget.AnyWidget.class_traits(sync=True))
    page.evaluate(DRAW, [widget._esm, {name: getattr(widget, name) for name in names}])


def pressed(page) -> list[str]:
    """Return the texts of the pressed buttons."""
    return page.locator("[aria-pressed=true]").all_inner_texts()


def test_chosen_answer_is_marked_before_the_kernel_answers(page):
    draw(page, Question(Prediction("Who?", ["b", "c"], "97-who", "b")))
    page.get_by_role("button", name="c", exact=True).click()
    assert pressed(page) == ["c"]


def test_chosen_node_is_marked_before_the_kernel_answers(page):
    draw(page, Question(Prediction("Who?", ["b", "c"], "97-who", "b"), Cluster("a", "b", "c", version="3.10")))
    page.locator(".hs-node.hs-invited[title=c]").click()
    assert pressed(page) == ["c"]


def test_predicted_number_is_marked_before_the_kernel_answers(page):
    draw(page, Question(Prediction("How many?", int, "97-many", 7)))
    page.get_by_role("textbox").fill("5")
    page.get_by_role("button", name="predict", exact=True).click()
    assert pressed(page) == ["predict"]


def test_giving_up_is_marked_before_the_kernel_answers(page):
    draw(page, Question(Prediction("How many?", int, "97-many", 7)))
    page.get_by_role("button", name="I do not know: show it").click()
    assert pressed(page) == ["I do not know: show it"]


def test_flipped_switch_is_marked_before_the_kernel_answers(page):
    draw(page, Switches("ha-sync-mode"))
    assert pressed(page) == ["manual", "kill"]
    page.get_by_role("button", name="automatic").first.click()
    assert pressed(page) == ["automatic", "kill"]
    assert page.locator(".hw-all[aria-busy]").count() == 1
    page.get_by_role("button", name="power off").first.click()
    assert pressed(page) == ["automatic", "power off"]
