"""Display forms of values in notebooks, as front ends choose among them.

VS Code and marimo are simulated by the rules of their sources (`orderOfMimeTypes` of VS Code's Jupyter extension,
`_output/formatting.py`)."""

from __future__ import annotations

from collections.abc import Callable
from xml.etree import ElementTree

import pytest
from html_pages import Page
from IPython.core.formatters import DisplayFormatter
from rich.cells import cell_len

from hawb import Cluster
from hawb.lab import show
from hawb.lab.fields import Readable
from hawb.lessons import beside, exercise, look, predict, show_rule, tell
from hawb.views.display import PAGE, fitted
from hawb.views.tables import Table

VS_CODE = ("application/vnd.jupyter.widget-view+json", "text/html", "image/svg+xml", "text/plain")
NASTY = '<script>alert("1")</script>'
HANDLERS = ("onclick", "onload", "onerror")
STORY = Cluster("a", "b", "c", version="3.10", title=NASTY).declare(NASTY, node="a").publish(NASTY, 10).kill("a")
STILL: dict[str, Callable[[], object]] = {
    "a cluster": lambda: STORY,
    "what would have kept": lambda: STORY.what_would_have_kept(NASTY),
    "a forecast": lambda: STORY.safe_to_stop(),
    "a table": lambda: Table(NASTY, ("queue", "messages"), [(NASTY, 1)]),
}
LIVE: dict[str, Callable[[], Readable]] = {
    "a look": lambda: look(STORY),
    "two beside each other": lambda: beside({"before": STORY, "after": STORY}),
    "an exercise": lambda: exercise("11-restart"),
    "a rule": lambda: show_rule("candidate"),
    "the lab": show,
    "a question": lambda: predict("Who?", ["b", "c"], "11-who"),
}


def bundle(thing: object) -> dict[str, str]:
    """Return all forms that a kernel sends."""
    formatter = DisplayFormatter()
    formatter.active_types = formatter.format_types
    return formatter.format(thing)[0]


def of_vs_code(thing: object) -> tuple[str, str]:
    """Return the MIME type and the form that VS Code shows."""
    forms = bundle(thing)
    kind = min(forms, key=VS_CODE.index)
    return kind, forms[kind]


def of_marimo(thing: object) -> tuple[str, str]:
    """Return the MIME type and the form that marimo shows of a value that is not an anywidget."""
    if hasattr(thing, "_mime_"):
        return thing._mime_()
    if hasattr(thing, "_repr_html_"):
        return "text/html", thing._repr_html_()
    return "text/plain", str(thing)


def is_harmless(form: str) -> bool:
    """Return True if HTML or SVG runs no script and fetches nothing, so that sanitising does not change it."""
    elements = Page(form).elements
    names = {name for _, attributes in elements for name in attributes}
    return "script" not in {tag for tag, _ in elements} and not names & {*HANDLERS, "href", "src"}


@pytest.mark.parametrize("name", STILL)
def test_static_value_is_the_same_page_in_each_front_end(name: str):
    kind, form = of_vs_code(STILL[name]())
    assert (kind, form) == of_marimo(STILL[name]())
    assert kind == "text/html"
    assert NASTY not in form
    assert is_harmless(form)


@pytest.mark.parametrize("name", STILL)
def test_every_page_has_a_text_form(name: str):
    thing = STILL[name]()
    assert bundle(thing)["text/plain"] == repr(thing)
    assert "object at 0x" not in repr(thing)


def test_cluster_is_a_picture_if_styles_are_stripped():
    picture = bundle(STORY)["image/svg+xml"]
    assert ElementTree.fromstring(picture).tag == "{http://www.w3.org/2000/svg}svg"
    assert NASTY not in picture
    assert is_harmless(picture)


def test_only_requested_forms_are_made():
    assert list(STORY._repr_mimebundle_(include=["text/plain"])) == ["text/plain"]
    assert list(STORY._repr_mimebundle_(exclude=["image/svg+xml"])) == ["text/html", "text/plain"]
    assert "image/svg+xml" not in bundle(STORY.safe_to_stop())


@pytest.mark.parametrize("name", LIVE)
def test_widget_has_a_static_form(name: str):
    thing = LIVE[name]()
    assert of_vs_code(thing)[0] == "application/vnd.jupyter.widget-view+json"
    kind, form = of_marimo(thing)
    assert (kind, bundle(thing)["text/plain"]) == ("text/html", repr(thing))
    assert Page(form).said.strip()
    assert is_harmless(form)


def test_text_forms_wrap_their_lines():
    for item in (STORY.story(), STORY.why(NASTY, 1), STORY.yaml(), STORY.python(), tell("a word " * 40)):
        assert bundle(item) == {"text/plain": repr(item).rstrip()}
    assert repr(STORY.yaml()) == str(STORY.yaml())
    assert max(map(len, repr(STORY.why(NASTY, 1)).splitlines())) <= PAGE < len(STORY.why(NASTY, 1))


def test_chinese_text_wraps_by_display_width_and_keeps_punctuation():
    text = "主节点在 a 上（它有 100 条消息），镜像在 b 上。" * 9
    lines = fitted(f"     6.003 s  {text}").splitlines()
    assert len(lines) > 2 and max(map(cell_len, lines)) <= PAGE
    assert all(line.startswith(" " * 14) and line[14] not in "，。）" and line[-1] not in " （" for line in lines[1:])
    assert "".join(lines).replace(" ", "") == f"6.003s{text}".replace(" ", "")
