"""A report that begins with its answer: a verdict, what to do, tables, assumptions, and what the files lack.

It is data; a page (`hawb.views.page`) and a terminal (`hawb.views.terminal`) show it in this order.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from hawb.languages import _
from hawb.views import style
from hawb.views.tables import Table

Answer = Literal["yes", "but", "no", "unknown"]
EXIT_STATUSES: dict[Answer, int] = {"yes": 0, "but": 0, "no": 1, "unknown": 3}
"""The exit status of a command by its answer; 2 is for refused input."""

MOST_TO_DO = 3
"""The maximum number of to-dos in a report: readers skip longer lists."""


class Verdict(Struct, frozen=True):
    """The answer to a report's question, and why, as the rest of a sentence without its full stop."""

    answer: Answer
    why: str

    @property
    def lead(self) -> str:
        """Return the answer as the beginning of a sentence: No:, or Yes, but."""
        word = style.ANSWERS[self.answer].label
        return word if self.answer == "but" else _("{word}:", word=word)

    @property
    def exit_status(self) -> int:
        """Return the exit status of a command that gives this answer."""
        return EXIT_STATUSES[self.answer]

    @property
    def sentence(self) -> str:
        """Return the answer in a sentence."""
        return _("{lead} {why}.", lead=self.lead, why=self.why)


class ToDo(Struct, frozen=True):
    """Something to do, in a sentence, with the commands that do it, if any."""

    what: str
    commands: tuple[str, ...] = ()


class Part(Struct, frozen=True):
    """A table or paragraphs, or both, below a heading.

    `kinds` has for each row of the table the kind by which readers filter rows.
    """

    title: str
    table: Table | None = None
    notes: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()


class Report(Struct, frozen=True):
    """A question, what it is about, the verdict, what to do, tables, assumptions, and what no file says."""

    question: str
    about: str
    verdict: Verdict
    todo: tuple[ToDo, ...] = ()
    parts: tuple[Part, ...] = ()
    assumptions: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()


def worst(answers: list[Answer]) -> Answer:
    """Return the worst of several answers; yes if there is none."""
    order: tuple[Answer, ...] = ("no", "unknown", "but", "yes")
    return next((answer for answer in order if answer in answers), "yes")
