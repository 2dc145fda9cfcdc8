"""Build the first page: the lab's stage, with first moves until the engine has loaded, and twelve stories below."""

from __future__ import annotations

import json
from collections.abc import Sequence

from hawb.lab.controller import Controller
from hawb.lab.guide import guide
from hawb.lab.stage import front_end
from hawb.languages import ENGLISH, LANGUAGES, language
from hawb.scenario.catalogue import Entry
from hawb.scenario.load import load
from hawb.scenario.outcome import outcome
from hawb.scenario.run import Run
from hawb.site.chosen import ABOUT, ALL, CHOSEN, GUESS, LESSONS, TITLE
from hawb.site.first import first_moves
from hawb.site.lab import Listed, TextLab, sources_of
from hawb.site.lesson_pages import page_of, titles
from hawb.site.pages import ENGINE_POLICY, OWN, document, own_script, packed
from hawb.views.cluster import matrix
from hawb.views.formatting import html

UNSERVED = (
    "You opened this page as a file, but the engine runs only if a server delivers the page. The tour and all stories"
    " work without the engine. For everything else, type"
    " <code>python3 -m http.server --bind 127.0.0.1</code> in the folder of this page, and open <code>http://127.0.0.1:8000</code>"
)


def front_page(entries: Sequence[Entry], has_engine: bool, languages: Sequence[str] = (*LANGUAGES,)) -> str:
    """Return the first page, with links to lessons in `languages`.

    It can be read, and its invitation followed, before any script runs.
    """
    controller = Controller()
    tour = guide(controller)
    _what_bars_show, _dot, what_if = tour["texts"]["open"].partition(". ")  # the page's picture has no bars
    known = {entry.name: entry for entry in entries}
    cards = "".join(card(known[one.name], one.played, one.question) for one in CHOSEN if one.name in known)
    engine = " data-engine" if has_engine else ""
    lessons = "".join(map(lesson_list, languages))
    body = (
        f'<header class="ws-top ws-over"><h1 data-word="{html(TITLE)}">{html(TITLE)}</h1></header>'
        f'<main><div class="hawb-lab ws-served"{engine}><div id="stage"><div class="ws-drawn">'
        f"{matrix.svg(controller.outcome)}<p>{html(what_if)}</p>"
        f'<p><a class="ws-invitation" href="#kill={html(tour["node"])}">{html(tour["texts"]["kill"])}</a></p>'
        "</div></div>"
        f'<p id="waiting" class="ws-waiting" role="status" hidden></p></div>'
        f'<p id="unserved" class="ws-unserved" hidden>{UNSERVED}</p>'
        f'<section class="ws-chosen"><h2 data-word="{html(GUESS)}">{html(GUESS)}</h2><ul>{cards}</ul>'
        f'<p class="ws-all"><a href="stories.html" data-word="{html(ALL)}">{html(ALL)}</a></p>'
        f'<h2 data-word="{html(LESSONS)}">{html(LESSONS)}</h2>{lessons}'
        f'<p class="ws-about" data-word="{html(ABOUT)}">{html(ABOUT)}</p></section></main>'
    )
    return document(f"{TITLE} · hawb", body, scripts=["front.js"], policy=ENGINE_POLICY)


def lesson_list(spoken: str) -> str:
    """Return links to the lessons in a language. A script shows them in place of the English ones."""
    with language(spoken):
        pages = [(page_of(name, spoken), title) for name, title in titles().items()]
    links = "".join(f'<li><a href="lessons/{page}">{html(title)}</a></li>' for page, title in pages)
    return f'<ul class="ws-lessons" lang="{LANGUAGES[spoken].tag}"{" hidden" * (spoken != ENGLISH)}>{links}</ul>'


def card(entry: Entry, played: int, question: str) -> str:
    """Return a story of the first page: the cluster after some steps, and what happens next."""
    run = Run.of(load(entry.file)).rewound(played)
    return (
        f'<li><a href="stories/{html(entry.name)}.html"><b data-word="{html(question)}">{html(question)}</b>'
        f'<span aria-hidden="true">{matrix.svg(outcome(run), slim=True)}</span></a></li>'
    )


def front_script() -> str:
    """Return the script of the first page: the stage's front end, and the code around it."""
    front = front_end().replace("export default { render };", "")
    return own_script(front, *((OWN / f"{name}.js").read_text("utf-8") for name in ("unpacked", "drawer", "front")))


def first_script(name: str, listed: Listed) -> str:
    """Return the script with the first page's constant values and its first moves, in a language."""
    with language(name):
        lab = TextLab(Controller(), sources_of(listed, OWN), lambda _one: None, name)
        data = {"given": lab.given(), **first_moves(name)}
    return f"window.hawb_first = {json.dumps(packed(data))};\n"
