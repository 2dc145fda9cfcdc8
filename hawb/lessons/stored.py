"""Read a stored lesson: its questions with the right answers, its exercises with their solutions, and its pictures.

The right answer to a prediction comes from the run whose outputs the notebook stores, never from its text: the view of
a prediction stores it with the explanation (`hawb.lessons.view.TRUTH`), and in studies a later cell calls `truth`. A
notebook without these outputs has to be run first (`run`).
"""

from __future__ import annotations

import ast
import base64
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from html import unescape
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import nbformat
from markdown_it import MarkdownIt
from msgspec import Struct
from nbformat import NotebookNode

from hawb import languages
from hawb.languages import ENGLISH, LESSONS, _, in_force, translated
from hawb.lessons import study_exercises
from hawb.lessons.answers import VARIABLE
from hawb.lessons.games import Game
from hawb.lessons.learner import solutions
from hawb.lessons.notebook import EXERCISES, GAMES
from hawb.lessons.pieces import of_markdown
from hawb.lessons.translated import in_language
from hawb.lessons.view import TRUTH

KEY_AT = {"predict": 2, "truth": 0, "exercise": 0, "check": 0, "game": 0, "play": 0}
"""The position of the key among the arguments of a lesson's function."""

PREDICTED = re.compile(r"Predict: (.*) \[(.*)\]")
A_NUMBER = "a number"
IT_IS = re.compile(r"It is: (.*)\.")
"""The question, its choices and the answer in a cell's stored text, in English (`Question.__repr__`, `reply`)."""
ANSWER_GIVEN = re.compile(r"(It is: .*\.) (?:As you said\.|You said .*: why not\?)")
"""The answer, if the reader whose run is stored had made a guess."""

FOLDED = re.compile(r"<details>.*?</details>", re.DOTALL)
WHY = re.compile(r"<details>\s*<summary>Why\?</summary>(.*?)</details>", re.DOTALL)
DRAWN = {"image/svg+xml": "svg", "image/png": "png"}
"""The types of stored pictures, the better one first."""
ABOUT_SVG = re.compile(r"<(title|desc)>(.*?)</\1>", re.DOTALL)
SENTENCE_END = re.compile(r"(?<=[.?!)]) +(?=[A-Z(`*])|\n\n")
LONGEST_RUN_S = 1800
"""The time, in seconds, after which a cell that is still running counts as one that does not end."""


class NotStored(ValueError):  # noqa: N818 - it reads as what happened
    """A notebook does not store the right answer to one of its predictions; `str()` is the prediction's key."""


class Predicted(Struct, frozen=True):
    """A prediction: the question, the choices in words ("" if the guess is a number), and the right answer.

    `shown` are the lines that the lesson shows with the answer. `why` is the explanation in Markdown: the folded text
    below the question or, if there is none, the paragraph that follows; "" without either.
    """

    key: str
    question: str
    choices: str
    answer: str
    shown: tuple[str, ...] = ()
    why: str = ""


class Solved(Struct, frozen=True):
    """An exercise or a game: the task in paragraphs, its hints, a solution as code, and what hawb said of it."""

    key: str
    title: str
    task: tuple[str, ...]
    hints: tuple[str, ...]
    solution: str
    verdict: str = ""


class Picture(Struct, frozen=True):
    """A stored picture: its section, the paragraph before it in Markdown, the question about it, the text alternative.

    `source` is the picture as a data URI.
    """

    section: str
    before: str
    question: str
    about: str
    source: str


class Lesson(Struct, frozen=True):
    """A stored lesson: its file's name, its title, and what it asks and shows, in its order."""

    name: str
    title: str
    asked: tuple[Predicted | Solved, ...]
    pictures: tuple[Picture, ...]


def lesson(name: str, notebook: NotebookNode) -> Lesson:
    """Return a stored lesson in the language in force.

    Raise NotStored if the outputs lack the right answer to a prediction, and ValueError for the key of an exercise that
    hawb does not have, and for a solution without its end.
    """
    title = next(_headings(notebook.cells), Path(name).stem)
    return Lesson(name, title, tuple(_asked(notebook.cells)), tuple(_pictures(notebook.cells)))


def run(notebook: NotebookNode, folder: Path) -> NotebookNode:
    """Run a notebook in a folder, in English and with a file of answers of its own, and return it with its outputs.

    Raise nbclient's CellExecutionError if a cell fails.
    """
    from nbclient import NotebookClient

    copied = nbformat.from_dict(notebook)
    with TemporaryDirectory() as own:
        settings = os.environ | {VARIABLE: str(Path(own, "answers.json")), languages.VARIABLE: ENGLISH}
        client = NotebookClient(copied, timeout=LONGEST_RUN_S, resources={"metadata": {"path": str(folder)}})
        client.execute(env=settings)
    return copied


def predicted(text: str) -> re.Match[str] | None:
    """Return the question and the choices of a prediction that is shown as text, in the language in force.

    Return None for any other text.
    """
    form = re.escape(_("Predict: {question} [{accepted}]"))
    return re.match(re.sub(r"\\\{\w+\\\}", "(.*)", form), text)


def calls(source: str) -> Iterator[tuple[str, str]]:
    """Yield the name and the key of each of a lesson's functions that a cell calls; none if it is not Python."""
    try:
        tree = ast.parse(source)
    except SyntaxError:  # IPython's own commands, such as %time
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in KEY_AT:
            at = KEY_AT[node.func.id]
            key = next((each.value for each in node.keywords if each.arg == "key"), None)
            key = node.args[at] if key is None and len(node.args) > at else key
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                yield node.func.id, key.value


def _asked(cells: Sequence[NotebookNode]) -> Iterator[Predicted | Solved]:
    called = [[*calls(cell.source)] if cell.cell_type == "code" else [] for cell in cells]
    for at, cell in enumerate(cells):
        for function, key in called[at]:
            if function == "predict":
                told_at = next((later for later in range(at, len(cells)) if ("truth", key) in called[later]), at)
                yield _predicted(key, cell, cells[told_at], _following(cells, called, told_at))
            elif function in ("exercise", "game"):
                solved_in = next((cells[later] for later in range(at, len(cells))
                                  if {("check", key), ("play", key)} & {*called[later]}), None)  # fmt: skip
                yield _solved(function, key, solved_in)


def _predicted(key: str, cell: NotebookNode, told: NotebookNode, after: str) -> Predicted:
    asked = PREDICTED.match(stored_text(cell, "text/plain"))
    text = stored_text(told, TRUTH if told is cell else "text/plain")
    first, *shown = text.splitlines() or [""]
    answer = IT_IS.fullmatch(ANSWER_GIVEN.sub(r"\1", first))
    if asked is None or answer is None:
        raise NotStored(key)
    choices = "" if asked[2] == A_NUMBER else asked[2]
    question, choices, right = (translated(words, LESSONS) for words in (asked[1], choices, answer[1]))
    folded = WHY.search(after)
    why = _without_lead(_in_force(folded[1].strip() if folded else _first(after)))
    return Predicted(key, question, choices, right, tuple(shown), why)


def _without_lead(words: str) -> str:
    """Return Markdown without a last sentence that ends with a colon: it leads to an output that is not shown here."""
    last = SENTENCE_END.split(words)[-1]
    return words[: -len(last)].rstrip() if last.rstrip().endswith((":", "：")) else words


def _following(cells: Sequence[NotebookNode], called: Sequence[list[tuple[str, str]]], at: int) -> str:
    """Return the Markdown after a cell, if no other prediction comes before it; else ""."""
    for cell, names in zip(cells[at + 1 :], called[at + 1 :], strict=True):
        if cell.cell_type == "markdown":
            return cell.source
        if any(function == "predict" for function, _key in names):
            break
    return ""


def _solved(function: str, key: str, solved_in: NotebookNode | None) -> Solved:
    solution = "" if solved_in is None else solutions(solved_in.source)
    verdict = "" if solved_in is None or not solution else stored_text(solved_in, "text/plain").strip().split("\n")[0]
    if key in study_exercises.EXERCISES:
        one = study_exercises.EXERCISES[key]
        task = (one.question, _("The answer gives: {keys}.", keys=", ".join(one.keys)))
        return Solved(key, _("Exercise {key}", key=key), task, (), solution, verdict)
    one = (GAMES if function == "game" else EXERCISES).get(key)
    if one is None:
        raise ValueError(f"{function}({key!r}): hawb has no such {function}")
    question, *hints = (translated(text, LESSONS) for text in (one.question, *one.hints))
    if isinstance(one, Game):
        title = _("Game {key}: {title}", key=key, title=translated(one.title, LESSONS))
        fate = _("Then: {fate}.", fate=translated(one.fate, LESSONS)) if one.fate else ""
        return Solved(key, title, tuple(filter(None, (question, fate, one.rules))), tuple(hints), solution, verdict)
    task = (question, _("The answer is {accepted}.", accepted=one.accepted))
    return Solved(key, _("Exercise {key}", key=key), task, tuple(hints), solution, verdict)


def _pictures(cells: Sequence[NotebookNode]) -> Iterator[Picture]:
    """Yield the pictures, without those that show what a solution leads to."""
    section, before = "", ""
    for at, cell in enumerate(cells):
        if cell.cell_type == "markdown":
            for words in _headings([cell]):
                section, before = words, ""
            before = _last(cell.source) or before
            continue
        if cell.cell_type != "code" or solutions(cell.source):
            continue
        asked = PREDICTED.match(stored_text(cell, "text/plain"))
        question = translated(asked[1], LESSONS) if asked else ""
        after = cells[at + 1].source if at + 1 < len(cells) and cells[at + 1].cell_type == "markdown" else ""
        for output in cell.outputs:
            data = output.get("data", {})
            kind = next((kind for kind in DRAWN if kind in data), None)
            if kind is not None:
                about = described(data[kind]) if kind == "image/svg+xml" else ""
                about = about or _("A figure about: {section}. {words}", section=section, words=_first(after)).strip()
                yield Picture(section, _in_force(before), question, about, data_uri(kind, data[kind]))


def described(svg: str) -> str:
    """Return the description that a picture contains, or its title; "" without either."""
    about = {tag: unescape(words).strip() for tag, words in reversed(ABOUT_SVG.findall(svg))}
    return about.get("desc") or about.get("title", "")


def data_uri(kind: str, picture: str) -> str:
    """Return a stored picture of a type as a data URI."""
    encoded = picture if kind == "image/png" else base64.b64encode(picture.encode()).decode()
    return f"data:{kind};base64,{''.join(encoded.split())}"


def stored_text(cell: NotebookNode, kind: str) -> str:
    """Return the last output of a type that a cell stores; "" without one."""
    found: list[Mapping[str, object]] = [output.get("data", {}) for output in cell.get("outputs", ())]
    return next((str(data[kind]) for data in reversed(found) if kind in data), "")


def _in_force(markdown: str) -> str:
    return in_language(markdown, in_force(), of_markdown)


def _headings(cells: Sequence[NotebookNode]) -> Iterator[str]:
    """Yield the words of each heading, in the language in force."""
    for cell in cells:
        if cell.cell_type == "markdown":
            tokens = MarkdownIt().parse(_in_force(cell.source))
            yield from (words.content for one, words in pairwise(tokens) if one.type == "heading_open")


def _paragraphs(markdown: str) -> Iterator[str]:
    """Yield the paragraphs before the next heading, without what is folded, in lists or in tables."""
    for at, token in enumerate(tokens := MarkdownIt().parse(FOLDED.sub("", markdown))):
        if token.type == "heading_open":
            yield ""
        elif token.type == "paragraph_open" and not token.level:
            yield tokens[at + 1].content


def _first(markdown: str) -> str:
    """Return the first paragraph; "" if a heading comes first, or if there is none."""
    return next(_paragraphs(markdown), "")


def _last(markdown: str) -> str:
    """Return the last paragraph after the last heading; "" if there is none."""
    return next(reversed([*_paragraphs(markdown)]), "")
