"""What no rule knows, by template, and reasons without what might be a secret.

A word stays if it is one of RabbitMQ's own: the words of all that it, and Ra below it, can say in a log
(`words.txt`, from the releases of `hawb.rules.profiles`), and those of Erlang's reports. All else becomes a
placeholder: numbers, processes, addresses, nodes, what stands in quotes, and any other word. So a name that somebody
chose is in no template unless it is also a word of RabbitMQ's.
"""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

WORDS = frozenset(Path(__file__).with_name("words.txt").read_text(encoding="utf-8").split())
"""Lower-case words that may stay."""
LONGEST = 240
"""How much of a message is looked at, in characters: its beginning tells what it is."""
TOKEN = re.compile(
    r"(?P<pid><[\d.]+>|#Ref<[^>]*>|#Port<[^>]*>|#Fun<[^>]*>)"
    r"|(?P<text>\"(?:[^\"\\\n]|\\.)*\"?|<<[^>\n]*(?:>>)?|'(?:[^'\n]*)'|`[^`'\n]*[`'])"
    r"|(?P<name>[^\s\"'<>(){}\[\],;=|`]*[/@\\:.\d%$+?&#~!^*][^\s\"'<>(){}\[\],;=|`]*)"
    r"|(?P<word>[^\W\d][\w-]*)"
    r"|(?P<strange>[^\x20-\x7e]+)"
)
"""What may have to be replaced, the widest first."""
NUMBER = re.compile(r"[+-]?\d+(?:[.:]\d+)*(?:ms|s|MB|MiB|%|µs)?[.:]?")
AMOUNT = re.compile(r"\d{1,15}[.:]?")
USER = re.compile(r"(?i)\b((?:user(?:name)?|login|account|client)[ =:]{1,3})([^\W\d][\w-]{0,100})")
PLAIN = re.compile(r"([^\W\d][^\W\d]*(?:[-_][^\W\d]+)*)([.:!?*]*)")


def template(message: str) -> str:
    """The template of a message: its first lines as far as `LONGEST`, with placeholders."""
    return _replaced(" ".join(message[:LONGEST].split()))


def reduced(reason: str) -> str:
    """A reason with placeholders for whatever is not RabbitMQ's own word."""
    return template(reason)


def legible(message: str) -> str:
    """Return the beginning of a message that no rule knows, to be shown to a person: its plain words and numbers stay,
    but for a word that names a user; quoted text, addresses, names with signs and processes become placeholders."""
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
