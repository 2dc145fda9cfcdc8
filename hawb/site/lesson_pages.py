"""Build the pages of lessons: prose, stored pictures, and code that is folded.

A page can be read without scripts. Once Python runs in the browser, `front/lesson.js` has `hawb.site.lesson` run the
cells in their order, and what they show replaces the stored outputs. The pages are the learner's edition: they have no
solutions, and what later cells show about a prediction is folded until the guess is made. Each lesson has a
page in each language. Translated cells are run when the site is built, since a notebook stores its outputs in English.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import redirect_stdout
from html import escape
from io import StringIO
from tempfile import TemporaryDirectory
from unittest.mock import patch

import nbformat
from IPython.core.formatters import DisplayFormatter
from markdown_it import MarkdownIt
from markdown_it.token import Token
from nbformat import NotebookNode
from nbformat.v4 import new_output

from hawb.lab.stage import front_end
from hawb.languages import ENGLISH, FRONT, LANGUAGES, Language, _, in_force, language, translated
from hawb.lessons import stored
from hawb.lessons.answers import VARIABLE
from hawb.lessons.learner import solutions, without_solutions
from hawb.lessons.pieces import of_markdown
from hawb.lessons.question import DRAWN
from hawb.lessons.question import OWN as WIDGETS
from hawb.lessons.translated import in_language, with_texts_in
from hawb.scenario import checkout
from hawb.site.lesson import value_of
from hawb.site.pages import ENGINE_POLICY, OWN, document, own_script
from hawb.views.formatting import html

LESSONS = (
    "10-mirrored-queues", "11-a-node-dies", "13-stop-or-kill", "17-quorum-queues-and-raft", "19-classic-and-quorum",
)  # fmt: skip
"""The notebooks that have a page, in their order. All of them are translated."""

FRONT_ENDS = ("question", "switches")
"""The front ends of the lessons' widgets, each named after its class in lower case."""

TASKS = {"predict", "exercise", "check", "game", "play"}
"""Functions whose output gives no answer to a prediction away."""

ONLY_IN_NOTEBOOKS = "notebook-only"
"""The tag of cells that a page does not show."""

MARKUP = re.compile(r"(?:</?details>|<summary>[^<>]*</summary>|<!--.*?-->|\s)+", re.DOTALL)
"""The HTML that a lesson's Markdown may contain. All other HTML is shown as text."""

SERVE = "<code>python3 -m http.server --bind 127.0.0.1</code>"
ADDRESS = "<code>http://127.0.0.1:8000</code>"


def lesson_pages(has_engine: bool, languages: Sequence[str] = (*LANGUAGES,)) -> Iterator[tuple[str, str]]:
    """Yield the name of each lesson's file and its page, in each of the `languages`."""
    for name in LESSONS:
        for spoken in languages:
            with language(spoken):
                lesson = notebook(name) if spoken == ENGLISH else with_outputs(with_texts_in(notebook(name), spoken))
                yield page_of(name, spoken), lesson_page(name, lesson, titles(), has_engine, languages)


def page_of(name: str, spoken: str) -> str:
    """Return the name of a lesson's page in a language."""
    return f"{name}.html" if spoken == ENGLISH else f"{name}.{spoken}.html"


def notebook(name: str) -> NotebookNode:
    """Return a lesson's notebook as it is stored."""
    return nbformat.read(checkout.OWN / "notebooks" / f"{name}.ipynb", as_version=4)


def titles() -> dict[str, str]:
    """Return the titles of the lessons that have a page, their first headings, by their names."""
    read = {name: notebook(name).cells[0].source.split("\n\n")[0] for name in LESSONS}
    return {name: in_language(title, in_force(), of_markdown).lstrip("# ") for name, title in read.items()}


def with_outputs(lesson: NotebookNode) -> NotebookNode:
    """Run a lesson in this process, in the language in force, and return it with its outputs, without guesses."""
    made, names, form = nbformat.from_dict(lesson), {"__name__": "__main__"}, DisplayFormatter().format
    with TemporaryDirectory() as own, patch.dict(os.environ, {VARIABLE: f"{own}/answers.json"}):
        for cell in made.cells:
            if cell.cell_type == "code" and not solutions(cell.source):
                with redirect_stdout(StringIO()) as printed:
                    value = value_of(cell.source, names)
                cell.outputs = [new_output("stream", text=printed.getvalue())] if printed.getvalue() else []
                cell.outputs += [] if value is None else [new_output("execute_result", form(value)[0])]
    return made


def lesson_page(
    name: str, stored_lesson: NotebookNode, pages: Mapping[str, str], has_engine: bool, languages: Sequence[str]
) -> str:
    """Return the page of a lesson in the language in force, with links to its pages in `languages`.

    `pages` are the titles of all lessons with a page, to which links lead.
    """
    cells = "".join(cells_of(stored_lesson, pages))
    others = "".join(_entry(other, title, other == name) for other, title in pages.items())
    listed, anew = html(_("Lessons")), html(_("start this lesson over"))
    how = _("On this page Python runs in your browser, and runs each cell for you. Your guesses stay in this browser.")
    unserved = _(
        "You opened this page as a file, but guesses need the engine, which runs only if a server delivers the page."
        " Texts, pictures and explanations work without the engine. For everything else, type {command} in the folder"
        " of the site’s first page, and open {address}",
        command=SERVE, address=ADDRESS,
    )  # fmt: skip
    loading = html(_("Python is still loading. You can already read."))
    failed = html(translated("The engine did not answer: {error}", FRONT))
    body = (
        '<header class="ws-top"><p class="ws-path"><a href="../index.html">hawb</a> › '
        f'<a href="#lessons">{listed}</a></p>{_languages(name, languages)}</header>'
        f'<main class="wl-lesson" id="lesson" data-lesson="{html(name.partition("-")[0])}"'
        f"{' data-engine' * has_engine}>"
        f'<p class="wl-how">{html(how)}</p>'
        f'<p id="unserved" class="ws-unserved" hidden>{unserved}</p>{cells}'
        f'<p class="wl-anew"><button type="button" id="anew" disabled>{anew}</button></p>'
        f'</main><p id="waiting" class="ws-waiting wl-waiting" role="status" data-loading="{loading}"'
        f' data-failed="{failed}" hidden></p>'
        f'<nav class="wl-others" id="lessons" aria-label="{listed}"><h2>{listed}</h2><ul>{others}</ul></nav>'
    )
    return document(f"{html(pages[name])} · hawb", body, "../", ["lesson.js"], ENGINE_POLICY)


def _languages(name: str, languages: Sequence[str]) -> str:
    """Return links to the pages of a lesson in `languages`."""
    links = "".join(_language(LANGUAGES[spoken], page_of(name, spoken), spoken == in_force()) for spoken in languages)
    label = html(_("Language"))
    return f'<nav class="wl-languages" aria-label="{label}">{links}</nav>'


def _language(one: Language, page: str, is_here: bool) -> str:
    here = ' aria-current="page"' if is_here else ""
    return f'<a href="{html(page)}" lang="{one.tag}" hreflang="{one.tag}"{here}>{html(one.name)}</a>'


def _entry(name: str, title: str, is_here: bool) -> str:
    here = ' aria-current="page"' if is_here else ""
    return f'<li><a href="{html(page_of(name, in_force()))}"{here}>{html(title)}</a></li>'


def cells_of(lesson: NotebookNode, pages: Mapping[str, str]) -> Iterator[str]:
    """Yield each cell as HTML. What follows a prediction in its section is folded until the guess is made."""
    asked = None
    for at, cell in enumerate(lesson.cells):
        source = without_solutions(cell.source)
        if not source or ONLY_IN_NOTEBOOKS in cell.metadata.get("tags", ()):
            continue
        if cell.cell_type == "markdown":
            asked = None if re.search(r"^#+ ", source, re.MULTILINE) else asked
            yield f'<div class="wl-prose">{prose(source, pages)}</div>'
        elif solutions(cell.source):
            yield answer_cell(at, source)
        else:
            called = {function for function, _key in stored.calls(cell.source)}
            yield code_cell(at, source, shown(cell), None if called & TASKS else asked)
            asked = at if "predict" in called else asked


def answer_cell(at: int, source: str) -> str:
    """Return a cell in which the reader writes an answer."""
    asked, checks = html(_("Your answer, in Python")), html(_("check it"))
    rows = len(source.splitlines()) + 4
    return (
        f'<section class="wl-cell wl-answer" data-cell="{at}"><label for="cell-{at}">{asked}</label>'
        f'<textarea id="cell-{at}" rows="{rows}" spellcheck="false">{escape(source)}</textarea>'
        f'<button type="button" disabled>{checks}</button><div class="wl-out" role="status"></div></section>'
    )


def code_cell(at: int, source: str, out: str, asked: int | None) -> str:
    """Return a cell with its code folded, and what it shows. With a prediction `asked`, that is folded, too."""
    code = f'<pre tabindex="0"><code>{escape(source)}</code></pre>'
    named, later = html(_("Code")), html(_("What happened"))
    code = f'<details class="wl-code"><summary>{named}</summary>{code}</details>'
    place = f'<div class="wl-out">{out}</div>'
    if out and asked is not None:
        place = f'<details class="wl-later" data-after="{asked}"><summary>{later}</summary>{place}</details>'
    return f'<section class="wl-cell" data-cell="{at}">{code}{place}</section>'


def shown(cell: NotebookNode) -> str:
    """Return what a notebook stores of a cell's outputs as HTML, without the answer to a prediction."""
    return "".join(map(_output, cell.outputs))


def _output(output: NotebookNode) -> str:
    if output.output_type == "stream":
        return _pre(output.text)
    data = output.get("data", {})
    text, kind = data.get("text/plain", ""), next((kind for kind in stored.DRAWN if kind in data), None)
    picture = ""
    if kind is not None:
        about = stored.described(data[kind]) if kind == "image/svg+xml" else ""
        picture = f'<img src="{html(stored.data_uri(kind, data[kind]))}" alt="{html(about)}">'
    if asked := stored.predicted(text):
        question = f'<p class="hq-question"><b>{html(translated("Predict:", FRONT))}</b> {html(asked[1])}</p>'
        return f'{question}{picture}<p class="wl-choices">{html(asked[2])}</p>'
    return picture or _pre(text)


def _pre(text: str) -> str:
    return f'<pre tabindex="0">{escape(text.rstrip())}</pre>' if text.strip() else ""


def prose(markdown: str, pages: Mapping[str, str]) -> str:
    """Return a lesson's Markdown as HTML. Links to lessons without a page, and all others, are shown as their words."""
    reader = MarkdownIt("commonmark").enable("table")
    for kind in ("html_block", "html_inline"):
        reader.add_render_rule(kind, _markup)
    reader.add_render_rule("image", lambda _self, tokens, at, *_: html(tokens[at].content))
    reader.add_render_rule("link_open", _link)
    reader.add_render_rule("link_close", lambda _self, _tokens, _at, _options, env: env["links"].pop())
    return reader.render(markdown, {"pages": pages, "links": []})


def _markup(_self: object, tokens: Sequence[Token], at: int, *_: object) -> str:
    content = tokens[at].content
    return content if MARKUP.fullmatch(content) else escape(content)


def _link(_self: object, tokens: Sequence[Token], at: int, _options: object, env: dict) -> str:
    name = str(tokens[at].attrs["href"]).removesuffix(".ipynb")
    env["links"].append("</a>" if name in env["pages"] else "")
    return f'<a href="{html(page_of(name, in_force()))}">' if name in env["pages"] else ""


def lesson_script() -> str:
    """Return the script of a lesson's page: the front ends of the lessons' widgets, and the code around them."""
    fronts = "".join(
        f"const {name} = (() => {{\n{_own(name)}\nreturn {{ render }};\n}})();\n" for name in FRONT_ENDS
    )
    around = f"const FRONT_ENDS = {{ {', '.join(FRONT_ENDS)} }};\n"
    return own_script(front_end(DRAWN), fronts, around, (OWN / "lesson.js").read_text("utf-8"))


def _own(name: str) -> str:
    return (WIDGETS / f"{name}.js").read_text("utf-8").replace("export default { render };", "")
