"""Reduce unmatched messages to templates, and remove from reasons what might be confidential.

A word is kept if it is one of RabbitMQ's: the words of all log messages of RabbitMQ and Ra (`words.txt`, from the
releases of `hawb.rules.profiles`), and those of Erlang's reports. Everything else becomes a placeholder: numbers,
processes, addresses, nodes, quoted text, and any other word. So a user's name for something is in no template unless it
is also one of RabbitMQ's words.
"""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

WORDS = frozenset(Path(__file__).with_name("words.txt").read_text(encoding="utf-8").split())
"""Lower-case words that may stay."""
LONGEST = 240
"""Number of characters of a message that are used: its beginning identifies it."""
TOKEN = re.compile(
    r"(?P<pid><[\d.]+>|#Ref<[^>]*>|#Port<[^>]*>|#Fun<[^>]*>)"
    r"|(?P<text>\"(?:[^\"\\\n]|\\.)*\"?|<<[^>\n]*(?:>>)?|'(?:[^'\n]*)'|`[^`'\n]*[`'])"
    r"|(?P<name>[^\s\"'<>(){}\[\],;=|`]*[/@\\:.\d%$+?&#~!^*][^\s\"'<>(){}\[\],;=|`]*)"
    r"|(?P<word>[^\W\d][\w-]*)"
    r"|(?P<strange>[^\x20-\x7e]+)"
)
"""Tokens that may have to be replaced, widest first."""
NUMBER = re.compile(r"[+-]?\d+(?:[.:]\d+)*(?:ms|s|MB|MiB|%|µs)?[.:]?")
AMOUNT = re.compile(r"\d{1,15}[.:]?")
USER = re.compile(r"(?i)\b((?:user(?:name)?|login|account|client)[ =:]{1,3})([^\W\d][\w-]{0,100})")
PLAIN = re.compile(r"([^\W\d][^\W\d]*(?:[-_][^\W\d]+)*)([.:!?*]*)")


def template(message: str) -> str:
    """Return the template of a message: its first lines up to `LONGEST` characters, with placeholders."""
    return _replaced(" ".join(message[:LONGEST].split()))


def reduced(reason: str) -> str:
    """Return a reason with placeholders for all words that are not RabbitMQ's."""
    return template(reason)


def legible(message: str) -> str:
    """Return the beginning of a message that no rule matches, for display.

    Plain words and numbers are kept, except a word that names a user; quoted text, addresses, names with signs and
    processes become placeholders.
    """
    text = USER.sub(lambda found: found[1] + _word(found[2]), " ".join(message[:LONGEST].split()))
    return TOKEN.sub(lambda found: found[0] if _is_plain(found) else _placeholder(found), text)


def _is_plain(found: re.Match[str]) -> bool:
    return bool(found["word"]) or PLAIN.fullmatch(found[0]) is not None or AMOUNT.fullmatch(found[0]) is not None


@lru_cache(4096)
def _replaced(text: str) -> str:
    return TOKEN.sub(_placeholder, text)


def _placeholder(found: re.Match[str]) -> str:
    token = found[0]
    if found["pid"]:
        return "<pid>"
    if found["text"]:
        return "<text>"
    if found["name"]:
        if NUMBER.fullmatch(token):
            return "<n>"
        if plain := PLAIN.fullmatch(token):
            return _word(plain[1]) + plain[2]
        return token if not any(map(str.isalnum, token)) else "<node>" if "@" in token else "<name>"
    return _word(token)


def _word(word: str) -> str:
    return word if word.lower() in WORDS else "<word>"
