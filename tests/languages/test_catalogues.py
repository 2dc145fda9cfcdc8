"""Catalogues: a translation for each text of the code with the same placeholders, no obsolete ones, and compiled files
that are up to date."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from contextvars import copy_context
from functools import cache
from pathlib import Path
from string import Formatter

import pytest
from babel.messages.catalog import Catalog, Message

from hawb import languages
from hawb.languages import ENGLISH, LANGUAGES, _, catalogues, language, ngettext

OTHERS = [name for name in LANGUAGES if name != ENGLISH]
DOMAINS = [*catalogues.SOURCES, *([languages.LESSONS] if catalogues.file_of("zh", languages.LESSONS).exists() else [])]
SAYING = catalogues.SOURCES[languages.WORDS][2]
KEPT = [(name, domain) for name in OTHERS for domain in DOMAINS]


@cache
def kept(name: str, domain: str) -> Catalog:
    return catalogues.stored(name, domain)


@cache
def wanted(domain: str) -> Catalog:
    return catalogues.template(domain)


def forms(text: str | tuple[str, ...]) -> tuple[str, ...]:
    """Return a text, or both forms of a plural."""
    return (text,) if isinstance(text, str) else tuple(text)


def places(text: str) -> set[str]:
    """Return the placeholders of a text."""
    return {name for _before, name, _form, _conversion in Formatter().parse(text) if name is not None}


def keys(catalogue: Catalog) -> set[tuple]:
    return {(message.id, message.context) for message in catalogue if message.id}


@pytest.mark.parametrize("domain", catalogues.SOURCES)
@pytest.mark.parametrize("name", OTHERS)
def test_catalogue_has_exactly_the_texts_of_the_code(name: str, domain: str) -> None:
    assert keys(kept(name, domain)) == keys(wanted(domain)), "python -m hawb.languages.catalogues"


def said_in(code: ast.AST) -> Iterator[str]:
    """Yield the first text of each call that translates or marks one."""
    for node in ast.walk(code):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in SAYING and node.args:
            text = node.args[node.func.id == "pgettext"]
            if isinstance(text, ast.Constant):
                yield text.value


@pytest.mark.full
def test_every_translated_text_is_visible_to_extraction() -> None:
    """A text within an f-string or a dict key is not extracted."""
    modules = [file for file in catalogues.PACKAGE.rglob("*.py") if file.parent != languages.FOLDER]
    said = {text for file in modules for text in said_in(ast.parse(file.read_text("utf-8")))}
    assert said == {forms(message.id)[0] for message in wanted(languages.WORDS) if message.id}


@pytest.mark.full
def test_no_variable_shadows_the_translation_function() -> None:
    """It would be called instead."""
    wrong = []
    for file in catalogues.PACKAGE.rglob("*.py"):
        functions = (node for node in ast.walk(ast.parse(file.read_text("utf-8"))) if isinstance(node, ast.FunctionDef))
        for function in functions:
            targets = [node for node in ast.walk(function) if isinstance(node, ast.Assign | ast.For)]
            kept_as = {name.id for node in targets for name in ast.walk(node) if isinstance(name, ast.Name)
                       and isinstance(name.ctx, ast.Store)}  # fmt: skip
            if "_" in kept_as and any(said_in(function)):
                wrong.append((file.name, function.name))
    assert not wrong


@pytest.mark.parametrize(("name", "domain"), KEPT)
def test_each_text_is_translated_and_none_is_obsolete(name: str, domain: str) -> None:
    catalogue = kept(name, domain)
    assert not catalogues.untranslated(catalogue)
    assert not [message.id for message in catalogue if message.fuzzy]
    assert not catalogue.obsolete
    assert all(len(forms(message.string)) == catalogue.num_plurals for message in catalogue if message.pluralizable)


@pytest.mark.parametrize(("name", "domain"), [pair for pair in KEPT if pair[1] != languages.LESSONS])
def test_translation_has_the_placeholders_of_its_text(name: str, domain: str) -> None:
    def differs(message: Message) -> bool:
        had = set().union(*map(places, forms(message.id)))
        return any(places(text) != had for text in forms(message.string))

    assert not [message.id for message in kept(name, domain) if message.id and differs(message)]


@pytest.mark.parametrize(("name", "domain"), KEPT)
def test_compiled_catalogue_is_up_to_date(name: str, domain: str) -> None:
    read = languages.catalogue(name, domain)
    for message in kept(name, domain):
        if message.id:
            result = forms(message.string)
            one, *several = forms(message.id)
            for number, text in zip((1, 5) if len(result) > 1 else (5,), result, strict=True):
                found = read.ngettext(one, several[0], number) if several else _read(read, message)
                assert found == text, "python -m hawb.languages.catalogues"


def _read(read: languages.Catalogue, message: Message) -> str:
    return read.pgettext(message.context, message.id) if message.context else read.gettext(message.id)


@pytest.mark.parametrize(("name", "domain"), KEPT)
def test_translation_ends_as_its_text(name: str, domain: str) -> None:
    """A sentence stays a sentence, and a part of one stays a part."""
    ends = re.compile(r"[.。]\s*$")
    mixed = [
        message.id for message in kept(name, domain) if message.id
        for text in forms(message.string) if bool(ends.search(text)) != bool(ends.search(forms(message.id)[-1]))
    ]  # fmt: skip
    assert not mixed


def test_english_is_the_source_and_the_default() -> None:
    assert languages.in_force() == ENGLISH
    assert _("{node} goes", node="a") == "a goes"
    assert [ngettext("one", "{n} of them", n, n=n) for n in (1, 2)] == ["one", "2 of them"]
    with language("pt-BR"):
        assert languages.in_force() == "pt"
        with language("zh_CN.UTF-8"):
            assert languages.in_force() == "zh"
        assert languages.in_force() == "pt"
    assert languages.in_force() == ENGLISH


def test_process_language_applies_outside_of_contexts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(languages, "_spoken", ENGLISH)
    languages.speak("zh-CN")
    assert copy_context().run(languages.in_force) == "zh"
    with language("en"):
        assert languages.in_force() == ENGLISH
    with pytest.raises(ValueError, match="'fr'"):
        languages.speak("fr")
    assert languages.in_force() == "zh"


def test_unknown_language_is_refused_with_the_known_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="'fr'; its languages are en, zh, pt"), language("fr"):
        pass
    monkeypatch.setenv(languages.VARIABLE, "tlh")
    with pytest.raises(ValueError, match=r"HAWB_LANGUAGE: .*'tlh'"):
        languages.wanted()
    with language("pt"):
        assert languages.wanted() == "pt"
    monkeypatch.delenv(languages.VARIABLE)
    assert languages.wanted() == ENGLISH


def test_updating_a_catalogue_keeps_translations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogues, "FOLDER", tmp_path)
    texts = [("{node} goes", "hawb/a.py", ["what a node does"], None), (("one", "{n}"), "hawb/a.py", [], None)]
    [name, made], *_rest = catalogues.renew("words", catalogues.template_of(texts))
    assert (name, catalogues.untranslated(made)) == ("zh", ["{node} goes", "one"])
    file = catalogues.file_of("zh", "words")
    assert "#. what a node does\n#: hawb/a.py\n" in file.read_text("utf-8")
    empty = 'msgid "{node} goes"\nmsgstr ""'
    file.write_text(file.read_text("utf-8").replace(empty, empty[:-1] + '{node} 走了"'), encoding="utf-8")
    later = catalogues.template_of([*texts[:1], ("new", "hawb/b.py", [], None)])
    [_name, made], *_rest = catalogues.renew("words", later)
    assert catalogues.untranslated(made) == ["new"]
    assert made.get("{node} goes").string == "{node} 走了"
    assert catalogues.file_of("zh", "words", ".mo").stat().st_size
