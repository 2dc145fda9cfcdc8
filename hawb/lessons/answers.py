"""Store the reader's guesses and answers in one JSON file that a teacher can collect.

The file is beside the notebook, or where the environment variable HAWB_ANSWERS says. It is read before and written
after each change, atomically, so that several notebooks can share it. It contains neither times nor names: the same
answers give the same bytes, and the file's name says whose they are.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from hawb.scenario.saving import write

VARIABLE = "HAWB_ANSWERS"
NAME = "hawb-answers.json"


class AnswersRefused(ValueError):  # noqa: N818 - it reads as what happened
    """The file of answers cannot be read or written; `str()` names the file, the reason and what to do."""


class Guess(msgspec.Struct, forbid_unknown_fields=True):
    """A reader's guess before a run, and the result of the run; None if it is not known yet."""

    question: str = ""
    guess: str | int | None = None
    truth: str | int | None = None


class Answer(msgspec.Struct, forbid_unknown_fields=True):
    """The last answer to an exercise as the reader wrote it, the verdict, and the number of attempts."""

    answer: object = None
    right: bool = False
    says: str = ""
    attempts: int = 0


class Answers(msgspec.Struct, forbid_unknown_fields=True):
    """The file: guesses and answers by their keys, which begin with the lesson's number."""

    format: int = 1
    guesses: dict[str, Guess] = {}
    answers: dict[str, Answer] = {}


def answers_file() -> Path:
    """Return the path of the file of answers."""
    return Path(os.environ.get(VARIABLE) or NAME)


def read() -> Answers:
    """Return the answers so far. Raise AnswersRefused."""
    file = answers_file()
    try:
        return msgspec.json.decode(file.read_bytes(), type=Answers)
    except FileNotFoundError:
        return Answers()
    except OSError as error:
        raise _refused(file, "cannot be read", error.strerror) from None
    except msgspec.DecodeError as error:
        raise _refused(file, "does not hold answers", error) from None


@contextmanager
def changed() -> Iterator[Answers]:
    """Yield the answers in a `with` block that may change them, then write the file. Raise AnswersRefused."""
    answers = read()
    yield answers
    file = answers_file()
    text = msgspec.json.format(msgspec.json.encode(answers, order="sorted"), indent=1).decode()
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        write(file, text + "\n")
    except OSError as error:
        raise _refused(file, "cannot be written", error.strerror) from None


def reset(lesson: str) -> None:
    """Delete the guesses and answers of a lesson, given by its number. Raise AnswersRefused."""
    with changed() as answers:
        for kept in (answers.guesses, answers.answers):
            for key in [key for key in kept if key.partition("-")[0] == lesson]:
                del kept[key]


def _refused(file: Path, problem: str, reason: object) -> AnswersRefused:
    hint = f"move the file away, or name another in the environment variable {VARIABLE}"
    return AnswersRefused(f"{file.name}: the file of answers {problem}: {reason}\n  hint: {hint}")
