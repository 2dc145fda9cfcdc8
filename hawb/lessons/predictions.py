"""Keep predictions: a reader's guess is stored, and shown beside the result of the run.

The file of answers is the only state. Once the reader knows the result, the guess cannot be changed until the lesson is
reset.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from hawb.languages import _
from hawb.lessons import answers
from hawb.lessons.answers import Guess

NUMBER = re.compile(r"[0-9]{1,15}|[0-9]{1,3}(,[0-9]{3}){1,4}")
"""A number as readers type it: 300010, or 300,010 as the lessons write it."""


class Prediction:
    """A question about a run, and its result, `truth`; None if the run is still to come.

    `choices` are the accepted guesses, or `int` for a number. Raise ValueError for fewer than two choices, and for a
    truth that is none of them.
    """

    def __init__(self, question: str, choices: Sequence[str] | type[int], key: str, truth: str | int | None = None):
        if choices is not int and len(choices) < 2:
            raise ValueError(f"{key}: a prediction has two choices or more, or is a number: int")
        self.question, self.choices, self.key, self.truth = question, choices, key, truth
        if truth is not None and parsed(truth, choices) is None:
            raise ValueError(f"{key}: the run has shown {truth!r}, which is none of the choices")

    @property
    def guess(self) -> str | int | None:
        """Return the reader's guess; None before it is made. Raise AnswersRefused."""
        return parsed(answers.read().guesses.get(self.key, Guess()).guess, self.choices)

    @property
    def accepted(self) -> str:
        """Return the accepted guesses, in words."""
        return _("a number") if self.choices is int else listed(self.choices)

    def take(self, value: object) -> str:
        """Store a guess, and return the reply to it.

        Raise ValueError, with a text for the reader, for an invalid guess, and AnswersRefused.
        """
        guess = parsed(value, self.choices)
        if guess is None:
            accepted = _("a whole number, 0 or more") if self.choices is int else listed(self.choices)
            wrong = _("{value} is not a possible answer; accepted: {accepted}", value=repr(value), accepted=accepted)
            raise ValueError(wrong)
        with answers.changed() as kept:
            entry = kept.guesses.setdefault(self.key, Guess())
            is_open = parsed(entry.guess, self.choices) is None or (self.truth is None and entry.truth is None)
            entry.question, entry.guess = self.question, guess if is_open else entry.guess
            entry.truth = entry.truth if self.truth is None else self.truth
        if entry.truth is None:
            return _("Your guess: {value}. The answer follows further down.", value=guess)
        return reply(entry.guess, entry.truth)


def truth(key: str, value: str | int) -> str:
    """Store the result of a run, and return it beside the reader's guess. Raise AnswersRefused."""
    with answers.changed() as kept:
        entry = kept.guesses.setdefault(key, Guess())
        entry.truth = value
    return reply(entry.guess, value)


def parsed(value: object, choices: Sequence[str] | type[int]) -> str | int | None:
    """Return a value as a guess, a number also from text; None if it is not a valid guess."""
    if choices is not int:
        return value if isinstance(value, str) and value in choices else None
    if isinstance(value, str) and NUMBER.fullmatch(value.strip()):
        return int(value.replace(",", ""))
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def listed(choices: Sequence[str]) -> str:
    """Return choices in one line, separated by commas, or by bars if a choice has a comma."""
    return (" | " if any("," in choice for choice in choices) else ", ").join(choices)


def reply(guess: str | int | None, truth: str | int) -> str:
    """Return the reply to a guess, or to None, once the result is known."""
    if guess is None:
        return _("It is: {value}.", value=truth)
    if guess == truth:
        return _("It is: {value}. As you said.", value=truth)
    return _("It is: {value}. You said {guess}: why not?", value=truth, guess=guess)
