"""Translated lessons: extraction of texts, catalogues, and each edition, which is run."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import nbformat
import pytest
from babel.messages.catalog import Message
from nbclient import NotebookClient
from samples import sample
from wrong_answers_mirrored import ON_MIRRORED_QUEUES
from wrong_answers_quorum import ON_QUORUM_QUEUES
from wrong_moves import WRONG_MOVES

from hawb import languages
from hawb.languages import ENGLISH, LANGUAGES, LESSONS, catalogues
from hawb.lessons import answers, exercise, game, play, predict, show_rule, texts
from hawb.lessons.exercises import judged
from hawb.lessons.notebook import EXERCISES
from hawb.lessons.pieces import Piece, is_prose, of_code, of_markdown
from hawb.lessons.translated import TRANSLATED, editions, original
from hawb.scenario import checkout

LONG = os.environ.get("HAWB_LONG") == "1"
OTHERS = [name for name in LANGUAGES if name != ENGLISH]
EACH = [(language, name) for language in OTHERS for name in TRANSLATED]
PLAYED = EACH if LONG else [(OTHERS[0], TRANSLATED[0]), (OTHERS[1], TRANSLATED[1])]
NOTEBOOKS = sorted((checkout.OWN / "notebooks").glob("*.ipynb"))

MARKS = {r"`[^`]+`": "code", r"\]\([^)]+\)": "links", r"</?\w+>": "tags", r"\{[^{}]*\}": "braces",
         r"\d+(?:[.,]\d+)*": "numbers"}  # fmt: skip
"""What a translation leaves as it is."""

CHINESE = re.compile(r"[\u4e00-\u9fff]")
ENGLISH_WORDS = re.compile(r"\b(?:the|was|were|is|are|of|and|nothing|lost|killed)\b")
"""Words that neither Chinese nor Portuguese has, one of which is in nearly every sentence."""


@pytest.fixture(autouse=True)
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Use a separate file of answers, and restore English afterwards."""
    monkeypatch.setenv(answers.VARIABLE, str(tmp_path / "answers.json"))
    monkeypatch.setattr(languages, "_spoken", ENGLISH)
    return tmp_path / "answers.json"


# What is read


@pytest.mark.parametrize(
    ("source", "read"),
    [
        ("# A title\n\nOne.\nThe same.\n\nTwo.", ["A title", "One.\nThe same.", "Two."]),
        ("- one\n- two\n  and more\n1. three", ["one", "two\n  and more", "three"]),
        ("| a | b |\n|---|:-:|\n| c | `d` |", ["a | b", "c | `d`"]),
        ("<details><summary>Why?</summary>\n\nSo.\n\n</details>", ["Why?", "So."]),
        ("Code:\n\n```python\n# nobody reads me\n```\n\nEnd.", ["Code:", "End."]),
        ("<!-- solution -->\nSo.\n<!-- end of solution -->", ["So."]),
        ("> **So** it is.", ["**So** it is."]),
        ("", []),
    ],
)
def test_texts_are_extracted_from_markdown(source: str, read: list[str]) -> None:
    pieces = list(of_markdown(source))
    assert [piece.text for piece in pieces if piece.text] == read
    assert "".join(map("".join, pieces)) == source


@pytest.mark.parametrize(
    ("source", "read"),
    [
        ('predict("Where is it?", ["b", "c", "nowhere"], "11-heir")', ["Where is it?", "nowhere"]),
        ('print(f"{name:12} down {x:6.3f} s")', ["{name:12} down {x:6.3f} s"]),
        ('print("lost:", two.queues["orders.eu"]["state"])', ["lost:"]),
        ('check("10-ttl", "[{stop: b}, {start: b}]")', []),
        ('"ä"; beside({"before": a, "é is killed": b})', ["before", "é is killed"]),
        ('policy = r"""\nha-mode: all and everything\n"""', []),
        ('", ".join(names)', []),
    ],
)
def test_texts_are_extracted_from_code(source: str, read: list[str]) -> None:
    pieces = list(of_code(source))
    assert [piece.text for piece in pieces if piece.text] == read
    assert "".join(map("".join, pieces)) == source


def test_names_and_states_are_not_translated() -> None:
    names = ("orders.eu", "running", "ha.mail, charts", "^orders\\.", "when-synced")
    assert not [text for text in names if is_prose(text)]


@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
def test_pieces_of_a_cell_join_to_the_cell(file: Path) -> None:
    for cell in nbformat.read(file, as_version=4).cells:
        pieces = (of_code if cell.cell_type == "code" else of_markdown)(cell.source)
        assert "".join(map("".join, pieces)) == cell.source


# The catalogues


def kept_messages(language: str) -> list[Message]:
    return [message for message in catalogues.stored(language, LESSONS) if message.id]


def test_catalogue_has_exactly_the_paragraphs() -> None:
    wanted = [message.id for message in texts.template() if message.id]
    assert len(wanted) > 150
    for language in OTHERS:
        assert [message.id for message in kept_messages(language)] == wanted, "python -m hawb.lessons.texts"


@pytest.mark.parametrize("marks", MARKS, ids=MARKS.get)
@pytest.mark.parametrize("language", OTHERS)
def test_translation_keeps_markup_and_code(language: str, marks: str) -> None:
    differ = [message.string for message in kept_messages(language)
              if Counter(re.findall(marks, message.id)) != Counter(re.findall(marks, message.string))]  # fmt: skip
    assert not differ


def test_a_paragraph_in_chinese_is_in_chinese() -> None:
    assert not [message.string for message in kept_messages("zh") if not CHINESE.search(message.string)]


# The editions


@pytest.mark.parametrize(("language", "name"), EACH)
def test_edition_differs_only_in_its_texts(language: str, name: str, tmp_path: Path) -> None:
    source, made = original(name), nbformat.reads(editions(language)[f"{language}/{name}"].decode(), as_version=4)
    nbformat.validate(made)
    assert [(cell.id, cell.cell_type) for cell in made.cells] == [(cell.id, cell.cell_type) for cell in source.cells]
    first, *_ = (cell for cell in made.cells if cell.cell_type == "code")
    assert first.source.endswith(f'\nfrom hawb.languages import speak\n\nspeak("{language}")')
    for cell, was in zip(made.cells, source.cells, strict=True):
        cut = of_code if cell.cell_type == "code" else of_markdown
        assert not cell.get("outputs")
        for piece, before in zip(whole(cut(cell.source)), whole(cut(was.source)), strict=False):
            assert not piece or piece != before, "not translated"
        for link in re.findall(r"\]\(([\w./-]+\.ipynb)\)", cell.source):
            assert (checkout.OWN / language / link).resolve().exists() or link in TRANSLATED


def whole(pieces: list[Piece]) -> list[str]:
    return [piece.text for piece in pieces]


def test_english_has_no_edition() -> None:
    assert editions(ENGLISH) == {}


@pytest.mark.parametrize(("language", "name"), sample(PLAYED))
def test_an_edition_runs_and_answers_in_its_language(language: str, name: str, tmp_path: Path) -> None:
    folder = tmp_path / language
    folder.mkdir()
    notebook = nbformat.reads(editions(language)[f"{language}/{name}"].decode(), as_version=4)
    # What a busy machine prints in two goes is one output.
    client = NotebookClient(notebook, timeout=60, coalesce_streams=True, resources={"metadata": {"path": str(folder)}})
    played = client.execute()
    said = [printed(output) for cell in played.cells if cell.cell_type == "code" for output in cell.outputs]
    english = [printed(output) for cell in original(name).cells if cell.cell_type == "code" for output in cell.outputs]
    assert len(said) == len(english)
    assert not in_english(said)


def printed(output: nbformat.NotebookNode) -> str:
    return output.get("text") or output["data"]["text/plain"]


def in_english(said: Iterable[str]) -> list[str]:
    """Of texts those with English words in them."""
    return [text for text in said if ENGLISH_WORDS.search(text)]


# What hawb answers


WRONG_ANSWERS = {key: answers for key, answers in (ON_MIRRORED_QUEUES | ON_QUORUM_QUEUES).items()
                 if key[:2] in {name[:2] for name in TRANSLATED}}  # fmt: skip


@pytest.mark.parametrize("key", WRONG_ANSWERS)
def test_refusal_of_a_wrong_answer_is_translated(key: str) -> None:
    for answer, _says in WRONG_ANSWERS[key][:2]:
        with languages.language("zh"):
            verdict = judged(EXERCISES[key], answer)
        assert not verdict.right
        assert CHINESE.search(verdict.says) and not in_english([verdict.says])


@pytest.mark.parametrize("key", [key for key in WRONG_MOVES if key[:2] in {name[:2] for name in TRANSLATED}])
def test_replies_to_wrong_moves_are_translated(key: str) -> None:
    with languages.language("pt"):
        said = [repr(play(key, moves)) for moves, _says in WRONG_MOVES[key]]
    assert not in_english(said)


def test_games_predictions_and_rules_are_translated() -> None:
    with languages.language("pt"):
        [moves, _says], *_ = WRONG_MOVES["11-three-moves"]
        guess = predict("Quem?", ["b", "c"], "11-who", "c").asked
        guess.guess = "b"
        said = [repr(game("11-three-moves")), repr(play("11-three-moves", moves)), guess.reply,
                guess.words["play it again"], repr(show_rule("exactly"))]  # fmt: skip
        assert not in_english(said)
        assert said[2] == "É: c. Você disse b: por que não?"
        page = exercise("11-haste").value
    assert "dica 2" in page and "A resposta é uma política, como" in page and "hint" not in page
