"""Translate hawb's texts: English, the language of the code, and the languages with catalogues here.

A sentence of the code is the key of its translations (gettext): `_("{node} was killed.", node=name)`. Texts in a
module's tables are marked with `N_`, and translated where they are displayed. The language in force is a context
variable, so that two pages of one kernel can have different languages; without one it is the language of the process,
English by default. Names of queues, nodes and policies, keys and verbs, and RabbitMQ's own texts are never translated.

`python -m hawb.languages.catalogues` updates the catalogues from the code.
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
    """A language: its native `name` and its `tag` on pages (BCP 47).

    Where numbers are not written as in English, `marks` map the comma and the point to the language's own (CLDR).
    """

    name: str
    tag: str
    marks: Mapping[int, str] = {}


ENGLISH = "en"
LANGUAGES = {
    ENGLISH: Language("English", "en"),
    "zh": Language("简体中文", "zh-Hans"),
    "pt": Language("Português", "pt-BR", str.maketrans(",.", ".,")),
}
"""The languages by the names of their folders; English has none."""

WORDS, FRONT, LESSONS = "words", "front", "lessons"
"""The catalogues of each language: the texts of the Python code, of the lab's front end, and of the lessons."""

FOLDER = Path(__file__).parent
VARIABLE = "HAWB_LANGUAGE"
"""The environment variable with the wanted language."""

Done = TypeVar("Done")

_spoken = ENGLISH
_in_force: ContextVar[str | None] = ContextVar("language", default=None)


class Catalogue(GNUTranslations):
    """One catalogue of one language, from an open file or empty. Texts that it lacks stay in English."""

    def __init__(self, file: BinaryIO | None = None):
        self._catalog: dict[str | tuple[str, int], str] = {}
        self.plural = lambda number: int(number != 1)
        super().__init__(file)

    @property
    def texts(self) -> dict[str, str]:
        """Return the translations by their English texts, without texts that have a plural."""
        return {text: translation for text, translation in self._catalog.items() if text and isinstance(text, str)}


def named(wanted: str) -> str:
    """Return the language of a name, a tag or a locale (zh, pt-BR, zh_CN.UTF-8).

    Raise ValueError for a language that hawb lacks.
    """
    found = wanted.strip().lower().replace("_", "-").partition("-")[0]
    if found not in LANGUAGES:
        raise ValueError(f"hawb is not available in {wanted!r}; its languages are {', '.join(LANGUAGES)}")
    return found


def wanted() -> str:
    """Return the language in force or, if that is English, that of the environment.

    Raise ValueError for a language that hawb lacks.
    """
    if in_force() != ENGLISH:
        return in_force()
    try:
        return named(os.environ.get(VARIABLE) or ENGLISH)
    except ValueError as unknown:
        raise ValueError(f"{VARIABLE}: {unknown}") from None


def in_force() -> str:
    """Return the current language."""
    return _in_force.get() or _spoken


def speak(name: str) -> None:
    """Set the language of the process, for all cells of a notebook and their widgets.

    Raise ValueError for a language that hawb lacks.
    """
    global _spoken
    _spoken = named(name)


@contextmanager
def language(name: str) -> Iterator[None]:
    """Use another language within a `with` block. Raise ValueError for one that hawb lacks."""
    token = _in_force.set(named(name))
    try:
        yield
    finally:
        _in_force.reset(token)


def kept(do: Callable[..., Done]) -> Callable[..., Done]:
    """Return a function that calls `do` later in the language that is in force now."""
    name = in_force()

    @wraps(do)
    def in_that_language(*given: object, **named_too: object) -> Done:
        with language(name):
            return do(*given, **named_too)

    return in_that_language


@cache
def catalogue(name: str, domain: str) -> Catalogue:
    """Return the catalogue of a language; an empty one for English, or if the domain is not translated."""
    file = FOLDER / name / "LC_MESSAGES" / f"{domain}.mo"
    if not file.exists():
        return Catalogue()
    with file.open("rb") as opened:
        return Catalogue(opened)


class Plural(NamedTuple):
    """Mark a table's text with its two forms, singular and plural; `ngettext(*marked, number)` translates it."""

    one: str
    several: str


def N_(text: str) -> str:  # noqa: N802 (as gettext has it everywhere)
    """Mark a text of a table for the catalogues, and return it unchanged."""
    return text


def _(text: str, /, **words: object) -> str:
    """Return a text in the language in force, with `words` in its replacement fields, if any are given."""
    name = in_force()
    translated = text if name == ENGLISH or not text else catalogue(name, WORDS).gettext(text)
    return translated.format_map(words) if words else translated


def ngettext(one: str, several: str, number: int, /, **words: object) -> str:
    """Return the form of a text for a number, in the language in force; `words` as in `_`."""
    name = in_force()
    if name == ENGLISH:
        text = one if number == 1 else several
    else:
        text = catalogue(name, WORDS).ngettext(one, several, number)
    return text.format_map(words) if words else text


def pgettext(context: str, text: str, /, **words: object) -> str:
    """Return a text whose translation depends on the `context`; `words` as in `_`."""
    name = in_force()
    translation = text if name == ENGLISH else catalogue(name, WORDS).pgettext(context, text)
    return translation.format_map(words) if words else translation


def translated(text: str, domain: str) -> str:
    """Return a text of another catalogue in the language in force, without replacing fields."""
    return catalogue(in_force(), domain).gettext(text) if text else ""
