"""A report that answers first: a verdict in a sentence, what to do, tables, what is assumed, what nobody told. It is
data, which a page (`hawb.views.page`) and a terminal (`hawb.views.terminal`) show in this order.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from hawb.languages import _
from hawb.views import style
from hawb.views.tables import Table

Answer = Literal["yes", "but", "no", "unknown"]
EXIT_STATUSES: dict[Answer, int] = {"yes": 0, "but": 0, "no": 1, "unknown": 3}
"""How a command ends that gives an answer; 2 is a refused input."""

MOST_TO_DO = 3
"""How many things a report asks for: who is asked for more does none."""


class Verdict(Struct, frozen=True):
    """The answer to a report's question, and why, as the rest of a sentence without its full stop."""

    answer: Answer
    why: str

    @property
    def lead(self) -> str:
        """The word of the answer, as a sentence begins with it: No:, or Yes, but."""
        word = style.ANSWERS[self.answer].told
        return word if self.answer == "but" else _("{word}:", word=word)

    @property
    def exit_status(self) -> int:
        """The exit status of a command that gives this answer."""
        return EXIT_STATUSES[self.answer]

    @property
    def sentence(self) -> str:
        """The answer in a sentence."""
        return _("{lead} {why}.", lead=self.lead, why=self.why)


class ToDo(Struct, frozen=True):
    """Something to do, in a sentence, and the commands that do it, if any."""

    what: str
    commands: tuple[str, ...] = ()


class Part(Struct, frozen=True):
    """A table or some paragraphs, or both, below a heading. `kinds` are what the rows can be chosen by, one of each
    row."""

    title: str
    table: Table | None = None
    notes: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()


class Report(Struct, frozen=True):
    """A question, what it is about, its verdict, what to do, tables, what is assumed, and what no file tells."""

    question: str
    about: str
    verdict: Verdict
    todo: tuple[ToDo, ...] = ()
    parts: tuple[Part, ...] = ()
    assumptions: tuple[str, ...] = ()
    untold: tuple[str, ...] = ()


def worst(answers: list[Answer]) -> Answer:
    """The worst of several answers; yes where there is none."""
    order: tuple[Answer, ...] = ("no", "unknown", "but", "yes")
    return next((answer for answer in order if answer in answers), "yes")
