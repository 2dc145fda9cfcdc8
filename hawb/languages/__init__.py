"""The languages in which hawb is read: English, which the code is written in, and those that have catalogues here.

A sentence of the code is the key of its translations (gettext): `_("{node} was killed.", node=name)`. What stands in a
table of a module is marked there with `N_`, and translated where it is told. Which language is in force is known to the
context, so that two pages of one kernel can each have their own; without one it is what the process speaks, which is
English until it is told otherwise. Names of queues, nodes and policies, keys and verbs, and what RabbitMQ says itself
are never translated.

`python -m hawb.languages.catalogues` brings the catalogues up to date with the code.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, wraps
from gettext import GNUTranslations
from pathlib import Path
from typing import BinaryIO, NamedTuple, TypeVar


class Language(NamedTuple):
    """A language by the `name` that its readers have for it, and its `tag` as pages name it (BCP 47). Where numbers are
    not written as in English, `marks` say what stands for a comma and for a point in them (CLDR)."""

    name: str
    tag: str
    marks: Mapping[int, str] = {}


ENGLISH = "en"
LANGUAGES = {
    ENGLISH: Language("English", "en"),
    "zh": Language("简体中文", "zh-Hans"),
    "pt": Language("Português", "pt-BR", str.maketrans(",.", ".,")),
}
"""The languages by the names of their folders here; English has none."""

WORDS, FRONT, LESSONS = "words", "front", "lessons"
"""The catalogues of each: what Python says, what the lab's front end says, and the lessons, paragraph by paragraph."""

FOLDER = Path(__file__).parent
VARIABLE = "HAWB_LANGUAGE"
"""The variable of the environment that says which language is wanted."""

Done = TypeVar("Done")

_spoken = ENGLISH
_in_force: ContextVar[str | None] = ContextVar("language", default=None)


class Catalogue(GNUTranslations):
    """One catalogue of one language, from an open file or empty. What it lacks it tells in English."""

    def __init__(self, file: BinaryIO | None = None):
        self._catalog: dict[str | tuple[str, int], str] = {}
        self.plural = lambda number: int(number != 1)
        super().__init__(file)

    @property
    def texts(self) -> dict[str, str]:
        """All of it: translations by what they translate; without what has a plural."""
        return {text: told for text, told in self._catalog.items() if text and isinstance(text, str)}


def named(wanted: str) -> str:
    """The language that a name, a tag or a locale means (zh, pt-BR, zh_CN.UTF-8). Raises ValueError for one that hawb
    does not have."""
    found = wanted.strip().lower().replace("_", "-").partition("-")[0]
    if found not in LANGUAGES:
        raise ValueError(f"hawb is not told in {wanted!r}; its languages are {', '.join(LANGUAGES)}")
    return found


def wanted() -> str:
    """The language in force or, where that is English, the one that the environment asks for. Raises ValueError for one
    that hawb does not have."""
    if in_force() != ENGLISH:
        return in_force()
    try:
        return named(os.environ.get(VARIABLE) or ENGLISH)
    except ValueError as unknown:
        raise ValueError(f"{VARIABLE}: {unknown}") from None


def in_force() -> str:
    """The language that is told now."""
    return _in_force.get() or _spoken


def speak(name: str) -> None:
    """Has the process speak a language from now on: in each cell of a notebook, and where its widgets are used. Raises
    ValueError for one that hawb does not have."""
    global _spoken
    _spoken = named(name)


@contextmanager
def language(name: str) -> Iterator[None]:
    """Tells in another language meanwhile. Raises ValueError for one that hawb does not have."""
    token = _in_force.set(named(name))
    try:
        yield
    finally:
        _in_force.reset(token)


def kept(do: Callable[..., Done]) -> Callable[..., Done]:
    """A function that is called at another time, and then tells in the language that is in force now."""
    name = in_force()

    @wraps(do)
    def told(*given: object, **named_too: object) -> Done:
        with language(name):
            return do(*given, **named_too)

    return told


@cache
def catalogue(name: str, domain: str) -> Catalogue:
    """The catalogue of a language; an empty one for English, or where a domain has not been translated."""
    file = FOLDER / name / "LC_MESSAGES" / f"{domain}.mo"
    if not file.exists():
        return Catalogue()
    with file.open("rb") as opened:
        return Catalogue(opened)


class Plural(NamedTuple):
    """Marks the two forms of a text of a table, for one thing and for several; `ngettext(*marked, number)` tells it."""

    one: str
    several: str


def N_(text: str) -> str:  # noqa: N802 (as gettext has it everywhere)
    """Marks a text of a table for the catalogues, and leaves it as it is."""
    return text


def _(text: str, /, **words: object) -> str:
    """A text in the language in force, with `words` in the places that it names, if any are given."""
    name = in_force()
    told = text if name == ENGLISH or not text else catalogue(name, WORDS).gettext(text)
    return told.format_map(words) if words else told


def ngettext(one: str, several: str, number: int, /, **words: object) -> str:
    """Of a text's two forms, and of those that a language has for them, the one for a number; `words` as in `_`."""
    name = in_force()
    if name == ENGLISH:
        told = one if number == 1 else several
    else:
        told = catalogue(name, WORDS).ngettext(one, several, number)
    return told.format_map(words) if words else told


def pgettext(context: str, text: str, /, **words: object) -> str:
    """A text that is translated in one way here and in another elsewhere; `context` tells which is meant."""
    name = in_force()
    told = text if name == ENGLISH else catalogue(name, WORDS).pgettext(context, text)
    return told.format_map(words) if words else told


def translated(text: str, domain: str) -> str:
    """A text of another catalogue in the language in force, as it stands."""
    return catalogue(in_force(), domain).gettext(text) if text else ""
