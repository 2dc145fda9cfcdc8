"""A language that no one speaks: each text of the code with wide letters in place of its own, and its placeholders as
they are. What is told in it and still has a word in plain letters, which is no name, has not come from a catalogue."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from unittest import mock

from hawb import languages
from hawb.languages import catalogues

NAME = "zz"
WIDE = {code: code + 0xFEE0 for code in (*range(ord("A"), ord("Z") + 1), *range(ord("a"), ord("z") + 1))}
PLACE = re.compile(r"(\{[^{}]*\})")
WORD = re.compile(r"[A-Za-z][A-Za-z'-]*[A-Za-z]")
HIDDEN = re.compile(r"<(style|script).*?</\1>|<[^>]*>|&\w+;", re.DOTALL)


def widened(text: str) -> str:
    """Return a text in the language."""
    return "".join(part if PLACE.fullmatch(part) else part.translate(WIDE) for part in PLACE.split(text))


@cache
def _compiled(domain: str) -> bytes:
    """Return a catalogue of the language, if there is one."""
    made = catalogues.renewed(NAME, domain, catalogues.template(domain))
    for message in made:
        if message.id:
            result = tuple(map(widened, (message.id,) if isinstance(message.id, str) else message.id))
            message.string = result if message.pluralizable else result[0]
    return catalogues.compiled(made)


@contextmanager
def pseudo_language(folder: Path) -> Iterator[None]:
    """Write catalogues of the language into a folder and use it meanwhile."""
    with (
        mock.patch.dict(languages.LANGUAGES, {NAME: languages.Language("Wide", "en")}),
        mock.patch.object(languages, "FOLDER", folder),
        mock.patch.object(catalogues, "FOLDER", folder),
    ):
        for domain in catalogues.SOURCES:
            file = catalogues.file_of(NAME, domain, ".mo")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(_compiled(domain))
        languages.catalogue.cache_clear()
        try:
            with languages.language(NAME):
                yield
        finally:
            languages.catalogue.cache_clear()


def plain_words(text: str, names: Collection[str]) -> set[str]:
    """Return the words of a text in plain letters that are in no name."""
    for name in sorted((name for name in names if len(name) > 1), key=len, reverse=True):
        text = text.replace(name, " ")
    return set(WORD.findall(text))


def visible(html: str) -> str:
    """Return the readable text of HTML, with its titles and labels."""
    result = re.findall(r'(?:title|aria-label|placeholder)="([^"]*)"', html)
    return " ".join([HIDDEN.sub(" ", html), *result])
