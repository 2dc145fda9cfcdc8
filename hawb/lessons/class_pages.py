"""Two pages for the teacher of a class: the sheet of answers, and slides of the lessons' pictures.

Both are self-contained, in light or dark as the reader prefers, and printable: a lesson's answers begin on a new sheet,
and each slide has its own. Texts of a notebook are Markdown without HTML; a link is shown as its words, because the
pages name no address. The only script is that of the slides' keys, which the page's security policy knows by its hash.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from markdown_it import MarkdownIt

from hawb.languages import _, ngettext
from hawb.lessons.stored import Lesson, Picture, Predicted, Solved
from hawb.views import page
from hawb.views.formatting import html

OWN = Path(__file__).parent / "front"
STYLE = (OWN / "class.css").read_text(encoding="utf-8")
KEYS = (OWN / "slides.js").read_text(encoding="utf-8")

_PROSE = MarkdownIt("commonmark", {"html": False}).enable("table")
for _rule in ("link_open", "link_close"):
    _PROSE.add_render_rule(_rule, lambda *_: "")
_PROSE.add_render_rule("image", lambda _self, tokens, at, *_: html(tokens[at].content))


def prose(markdown: str) -> str:
    """Return Markdown as HTML, with the words of links and pictures in their place, and HTML as text."""
    return _PROSE.render(markdown)


def answer_sheet(lessons: Iterable[Lesson]) -> str:
    """Return the page of the right answers: the predictions and exercises of each lesson, in its order."""
    asking = [one for one in lessons if one.asked]
    title, named = html(_("Sheet of answers")), html(_("Lessons"))
    about = _("For the teacher: the right answer to each prediction, and a solution of each exercise and game.")
    links = "".join(f'<li><a href="#lesson-{at}">{html(one.title)}</a></li>' for at, one in enumerate(asking))
    contents = f'<nav aria-label="{named}"><ul>{links}</ul></nav>'
    sections = (_answers(one, at) for at, one in enumerate(asking))
    top = f"<header><h1>{title}</h1><p>{html(about)}</p>{contents}</header>"
    return page.document(title, [top, "<main>", *sections, "</main>"], STYLE)


def _answers(lesson: Lesson, number: int) -> str:
    asked = "".join(_predicted(one, at) if isinstance(one, Predicted) else _solved(one)
                    for at, one in enumerate(lesson.asked, 1))  # fmt: skip
    return f'<section id="lesson-{number}" class="lesson"><h2>{html(lesson.title)}</h2>{asked}</section>'


def _predicted(one: Predicted, number: int) -> str:
    choices = html(_("Choices: {choices}", choices=one.choices) if one.choices else _("Guess a number."))
    right = _("Right: {answer}", answer=f"<b>{html(one.answer)}</b>")
    shown = page.pre("\n".join(one.shown)) if one.shown else ""
    return (
        f'<article><h3><span class="number">{number}.</span> {html(one.question)}</h3>'
        f'<p class="choices">{choices}</p><p class="right">{right}</p>{shown}{prose(one.why)}</article>'
    )


def _solved(one: Solved) -> str:
    task = "".join(f"<p>{html(words)}</p>" for words in one.task)
    named, helped, lacking = _("A solution"), _("Hints"), _("The notebook has no solution.")
    solution = page.pre(one.solution) if one.solution else f"<p>{html(lacking)}</p>"
    verdict = f'<p class="right">{html(one.verdict)}</p>' if one.verdict else ""
    hints = "".join(f"<li>{html(hint)}</li>" for hint in one.hints)
    listed = f"<h4>{html(helped)}</h4><ol>{hints}</ol>" if hints else ""
    return f"<article><h3>{html(one.title)}</h3>{task}<h4>{html(named)}</h4>{solution}{verdict}{listed}</article>"


def slides(lessons: Iterable[Lesson]) -> str:
    """Return the page of the slides: each lesson's title, then its pictures, each with the text before it."""
    showing = [one for one in lessons if one.pictures]
    every = [slide for one in showing for slide in (_title(one), *_of(one))]
    title = html(_("Slides of the lessons"))
    shown = [_numbered(inner, at, every) for at, inner in enumerate(every, 1)]
    digest = base64.b64encode(hashlib.sha256(KEYS.encode()).digest()).decode()
    policy = f"{page.POLICY}; img-src data:; script-src 'sha256-{digest}'"
    parts = [f'<main class="slides"><h1 class="unseen">{title}</h1>', *shown, f"</main><script>{KEYS}</script>"]
    return page.document(title, parts, STYLE, policy)


def _title(lesson: Lesson) -> str:
    number = len(lesson.pictures)
    counted = ngettext("{number} picture", "{number} pictures", number, number=number)
    return f'<h2 class="title">{html(lesson.title)}</h2><p>{html(counted)}</p>'


def _of(lesson: Lesson) -> Iterator[str]:
    for one in lesson.pictures:
        heading = "" if one.section == lesson.title else f"<h2>{html(one.section)}</h2>"
        yield f'<p class="from">{html(lesson.title)}</p>{heading}{_picture(one)}'


def _picture(one: Picture) -> str:
    asked = f'<p class="question">{html(one.question)}</p>' if one.question else ""
    drawn = f'<img src="{html(one.source)}" alt="{html(one.about)}">'
    return f"{prose(one.before)}<div>{drawn}</div>{asked}"


def _numbered(inner: str, number: int, every: Sequence[str]) -> str:
    name = html(_("Slide {number} of {all}", number=number, all=len(every)))
    foot = f'<p class="at" aria-hidden="true">{number} / {len(every)}</p>'
    return f'<section class="slide" id="slide-{number}" tabindex="-1" aria-label="{name}">{inner}{foot}</section>'
