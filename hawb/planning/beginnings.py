r"""The letters with which every name begins that a pattern is found in, as far as they show.

Most patterns of policies begin with ^ and a word, and most names with another. Comparing the beginning first saves most
searches of an audit; what it lets pass is searched for as RabbitMQ does (`hawb.rules.patterns`).
"""

from __future__ import annotations

import re
from functools import lru_cache

PLAIN = re.compile(r"\^((?:[A-Za-z0-9_-]|\\[.:/-])*)")
"""A leading ^ and characters that mean themselves."""

LAST = re.compile(r"\\?.\Z")


@lru_cache(maxsize=1024)
def beginning(pattern: str) -> str:
    """What stands between a leading ^ and the first character that could mean something else than itself; without the
    last one, which that character could repeat never. Empty where an alternative could begin otherwise."""
    plain = PLAIN.match(pattern)
    if plain is None or "|" in pattern:
        return ""
    told = plain[1] if plain.end() == len(pattern) else LAST.sub("", plain[1])
    return told.replace("\\", "")


@lru_cache(maxsize=1024)
def is_all(pattern: str) -> bool:
    """Whether a pattern asks for nothing but its beginning, so that there is nothing left to search."""
    return PLAIN.fullmatch(pattern) is not None
