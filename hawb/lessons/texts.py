"""Update the catalogue `lessons` of each language: `python -m hawb.lessons.texts`.

It holds the pieces of the translated notebooks, and the texts that their cells request by name: exercises, games, and
rules with their sources.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator

from babel.messages.catalog import Catalog

from hawb.languages import LESSONS
from hawb.languages.catalogues import brought_up_to_date, template_of
from hawb.lessons.notebook import exercise_of, game_of
from hawb.lessons.pieces import Piece, of_code, of_markdown
from hawb.lessons.rule_sources import rule
from hawb.lessons.translated import TRANSLATED, original

ASKED = re.compile(r'\b(exercise|game|show_rule)\("([^"]+)"\)')
"""The call in a cell that requests a text by its name."""


def pieces(name: str) -> Iterator[Piece]:
    """Yield the pieces of a notebook that have text."""
    for cell in original(name).cells:
        cut = of_code if cell.cell_type == "code" else of_markdown
        yield from (piece for piece in cut(cell.source) if piece.text)


def asked_for(name: str) -> Iterator[str]:
    """Yield the texts of the exercises, games and rules that a notebook requests by name."""
    code = "\n".join(cell.source for cell in original(name).cells if cell.cell_type == "code")
    for kind, key in ASKED.findall(code):
        yield from filter(None, TEXTS[kind](key))


def _of_exercise(key: str) -> tuple[str, ...]:
    one = exercise_of(key)
    return one.question, *one.hints


def _of_game(key: str) -> tuple[str, ...]:
    one = game_of(key)
    return one.title, one.question, one.fate, *one.hints


def _of_rule(name: str) -> tuple[str, ...]:
    one = rule(name)
    return one.summary, one.source, *one.says, *(scenario.title for scenario in one.scenarios)


TEXTS = {"exercise": _of_exercise, "game": _of_game, "show_rule": _of_rule}


def template() -> Catalog:
    """Return the texts of all translated lessons, in their order."""
    texts = ((text, f"notebooks/{name}", [], None) for name in TRANSLATED
            for text in (*(piece.text for piece in pieces(name)), *asked_for(name)))  # fmt: skip
    return template_of(texts)


if __name__ == "__main__":
    sys.exit(1 if brought_up_to_date(LESSONS, template()) else 0)
