"""Update the catalogues from the code: `python -m hawb.languages.catalogues`.

The texts are extracted from the code's calls. Each catalogue (`LC_MESSAGES/*.po`) keeps its translations, gets new
texts with an empty translation, and loses texts that the code no longer has. Then it is compiled (`*.mo`), which is
what the code reads. `hawb.lessons.texts` calls `brought_up_to_date` with its own template, since texts of lessons are
not in the code. This needs Babel, which only hawb's development environment has.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path

from babel import Locale
from babel.messages.catalog import Catalog
from babel.messages.extract import extract_from_dir
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po

from hawb.languages import ENGLISH, FOLDER, FRONT, LANGUAGES, WORDS

PACKAGE = FOLDER.parent
SOURCES = {
    WORDS: ("**.py", "python", dict.fromkeys(("_", "N_")) | dict.fromkeys(("ngettext", "Plural"), (1, 2))
            | {"pgettext": ((1, "c"), 2)}),
    FRONT: ("**.js", "javascript", {"word": None}),
}  # fmt: skip
"""The files of a catalogue's texts, their language, and the functions whose arguments the texts are."""

OUTSIDE = ("docs", "workbook")
"""Folders without texts for catalogues."""

WRITTEN = datetime(2026, 1, 1, tzinfo=UTC)
"""The date in each catalogue's header, constant so that the same texts give the same bytes."""

WIDTH = 116


def template(domain: str) -> Catalog:
    """Return the texts of a catalogue that are in the code, with their files."""
    pattern, method, keywords = SOURCES[domain]
    found = extract_from_dir(
        PACKAGE, [(pattern, method)], keywords=keywords, comment_tags=("Translators:",), strip_comment_tags=True,
        directory_filter=lambda folder: Path(folder).name not in OUTSIDE,
    )  # fmt: skip
    return template_of((text, f"hawb/{Path(file).as_posix()}", note, context) for file, _, text, note, context in found)


def template_of(texts: Iterable[tuple[str | tuple[str, ...], str, list[str], str | None]]) -> Catalog:
    """Return a template of texts, each with its file, the comments for translators, and its context."""
    made = _empty(None)
    for text, file, notes, context in texts:
        known = made.get(text[0] if isinstance(text, tuple) else text, context)
        if known is None or (file, None) not in known.locations:
            made.add(text, locations=[(file, None)], auto_comments=notes, context=context)
    return made


def _empty(name: str | None) -> Catalog:
    locale = None if name is None else Locale.parse(LANGUAGES[name].tag, sep="-")
    made = Catalog(
        locale, project="hawb", version="1", msgid_bugs_address="-", last_translator="hawb", language_team="hawb",
        creation_date=WRITTEN, revision_date=WRITTEN, fuzzy=False, charset="utf-8",
    )  # fmt: skip
    made.header_comment = "" if locale is None else f"# hawb in {locale.english_name}."
    return made


def file_of(name: str, domain: str, suffix: str = ".po") -> Path:
    """Return the file of a catalogue, to be edited (`.po`) or read by the code (`.mo`)."""
    return FOLDER / name / "LC_MESSAGES" / f"{domain}{suffix}"


def stored(name: str, domain: str) -> Catalog:
    """Return the stored catalogue; an empty one if there is none."""
    file = file_of(name, domain)
    if not file.exists():
        return _empty(name)
    with file.open("rb") as opened:
        return read_po(opened, locale=_empty(name).locale, domain=domain)


def renewed(name: str, domain: str, wanted: Catalog) -> Catalog:
    """Return a catalogue with the texts of a template and the stored translations; new texts have none."""
    kept, made = stored(name, domain), _empty(name)
    for message in wanted:
        if message.id:
            had = kept.get(message.id if isinstance(message.id, str) else message.id[0], message.context)
            text = had.string if had is not None and isinstance(had.id, str) == isinstance(message.id, str) else None
            made.add(message.id, text, sorted(message.locations), auto_comments=message.auto_comments,
                     user_comments=() if had is None else had.user_comments, context=message.context)  # fmt: skip
    return made


def compiled(catalogue: Catalog) -> bytes:
    """Return a catalogue as the code reads it (`.mo`)."""
    written = BytesIO()
    write_mo(written, catalogue)
    return written.getvalue()


def written(catalogue: Catalog) -> bytes:
    """Return a catalogue as it is edited (`.po`)."""
    made = BytesIO()
    write_po(made, catalogue, width=WIDTH, include_lineno=False)
    return made.getvalue()


def renew(domain: str, wanted: Catalog) -> Iterator[tuple[str, Catalog]]:
    """Write both files of each language's catalogue, and yield the language's name and the catalogue."""
    for name in LANGUAGES:
        if name != ENGLISH:
            made = renewed(name, domain, wanted)
            file_of(name, domain).parent.mkdir(parents=True, exist_ok=True)
            file_of(name, domain).write_bytes(written(made))
            file_of(name, domain, ".mo").write_bytes(compiled(made))
            yield name, made


def untranslated(catalogue: Catalog) -> list[str]:
    """Return the texts of a catalogue that have no translation."""
    pairs = ((message.id, message.string) for message in catalogue if message.id)
    return [text if isinstance(text, str) else text[0] for text, string in pairs
            if not (string if isinstance(string, str) else string and all(string))]  # fmt: skip


def brought_up_to_date(domain: str, wanted: Catalog) -> int:
    """Write a domain's catalogues, print how many texts need translation, and return their number."""
    missing = 0
    for name, made in renew(domain, wanted):
        texts = untranslated(made)
        missing += len(texts)
        print(f"{file_of(name, domain).relative_to(PACKAGE.parent)}: {len(made)} texts, {len(texts)} to translate")
    return missing


def main() -> int:
    """Update the catalogues of the code, and return 1 if a text needs translation, else 0."""
    return 1 if sum(brought_up_to_date(domain, template(domain)) for domain in SOURCES) else 0


if __name__ == "__main__":
    sys.exit(main())
