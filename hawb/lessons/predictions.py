"""Predict first: a reader's guess is kept before the run, and stands beside the truth after it.

The file of answers is the only state. A guess can be changed until the truth is out; then it stands, until the lesson
is reset.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from hawb.languages import _
from hawb.lessons import answers
from hawb.lessons.answers import Guess

NUMBER = re.compile(r"[0-9]{1,15}|[0-9]{1,3}(,[0-9]{3}){1,4}")
"""A number as people type it: 300010, or 300,010 as the lessons write it."""


class Prediction:
    """A question about a run that is still to come. `choices` are the guesses that it takes, or `int` for a number.

    Raises ValueError for less than two choices.
    """

    def __init__(self, question: str, choices: Sequence[str] | type[int], key: str):
        if choices is not int and len(choices) < 2:
            raise ValueError(f"{key}: a prediction has two choices or more, or is a number: int")
        self.question, self.choices, self.key = question, choices, key

    @property
    def guess(self) -> str | int | None:
        """The reader's guess; None before it is made. Raises AnswersRefused."""
        kept = answers.read().guesses.get(self.key, Guess()).guess
        return kept if self.accepts(kept) else None

    def accepts(self, value: object) -> bool:
        """Whether a value can be a guess."""
        if self.choices is int:
            return isinstance(value, int) and not isinstance(value, bool) and value >= 0
        return value in self.choices

    def take(self, value: str | int) -> str:
        """Keeps a guess, a number also as text; returns what to tell the reader. Raises AnswersRefused."""
        if self.choices is int and isinstance(value, str) and NUMBER.fullmatch(value.strip()):
            value = int(value.replace(",", ""))
        if not self.accepts(value):
            accepted = _("a whole number from 0 on") if self.choices is int else listed(self.choices)
            return _("{value} cannot be guessed here; accepted: {accepted}", value=repr(value), accepted=accepted)
        with answers.changed() as kept:
            entry = kept.guesses.setdefault(self.key, Guess())
            if entry.truth is not None:
                return stands(entry)
            entry.question, entry.guess = self.question, value
        return guessed(value)


def listed(choices: Sequence[str]) -> str:
    """Choices in a line, each told apart from the next."""
    return (" | " if any("," in choice for choice in choices) else ", ").join(choices)


def truth(key: str, value: str | int) -> str:
    """Keeps what a run has shown, and tells it beside the guess. Raises AnswersRefused."""
    with answers.changed() as kept:
        entry = kept.guesses.setdefault(key, Guess())
        entry.truth = value
    if entry.guess is None:
        return _("It is: {value}.", value=value)
    if entry.guess == value:
        return _("It is: {value}. As you said.", value=value)
    return _("It is: {value}. You said {guess}: why not?", value=value, guess=entry.guess)


def guessed(value: str | int) -> str:
    """The reply to a guess."""
    return _("Your guess: {value}. Now run the next cell.", value=value)


def stands(entry: Guess) -> str:
    """A guess that can no longer be changed, in words."""
    if entry.guess is None:
        return _("The run is over, and there was no guess.")
    return _("The run is over, and your guess was {guess}.", guess=entry.guess)
