r"""Replace the package pcre2 in a browser, whose page loads the PCRE2 library as WebAssembly.

It provides what `hawb.rules.patterns` uses of the package. The library reads 16-bit code units, so each byte of a
pattern and of a name becomes one code unit. It reports errors in words; CODES maps those that are needed to their
numbers. Remaining differences: a character above 255 in \o{} never matches, where it should be refused, and (?i) also
ignores the case of Latin-1's accented letters.
"""

from __future__ import annotations

from pcre2_library import compiled, error_place, error_words, found

NO_MATCH = -1
CODES = {
    "number too big in {} quantifier": 105,
    "range out of order in character class": 108,
    "quantifier does not follow a repeatable item": 109,
    "unrecognized character after (? or (?-": 111,
    "missing closing parenthesis": 114,
    "missing ) after (?# comment": 118,
    "regular expression is too large": 120,
    "unmatched closing parenthesis": 122,
    "lookbehind assertion is not fixed length": 125,
    "character code point value in \\x{} or \\o{} is too large": 134,
    "PCRE2 does not support \\F, \\L, \\l, \\N{name}, \\U, or \\u": 137,
    "syntax error in subpattern name (missing terminator?)": 142,
    "two named subpatterns have the same name (PCRE2_DUPNAMES not set)": 143,
    "subpattern name must start with a non-digit": 144,
    "unknown property name after \\P or \\p": 147,
    "invalid range in character class": 150,
    "octal value is greater than \\377 in 8-bit non-UTF-8 mode": 151,
    "\\k is not followed by a braced, angle-bracketed, or quoted name": 169,
}
EARLIER = {105, 108, 109, 111, 122, 144}
"""The errors whose offset is one less than in the package's release of PCRE2."""


class LibraryError(Exception):
    """A search that PCRE2 gave up, such as at a limit."""


class PatternError(LibraryError):
    """A pattern that does not compile: its `code`, `msg` and `pos`."""

    def __init__(self, words: str, pos: int):
        super().__init__(words)
        self.code, self.msg = CODES.get(words, 0), f"compilation failed; {words}"
        self.pos = pos + (self.code in EARLIER)


class Pattern:
    """A compiled pattern."""

    def __init__(self, code: int):
        self.code = code

    def search(self, name: bytes) -> bool | None:
        """Return True if the pattern matches, else None. Raise LibraryError if PCRE2 gave the search up."""
        result = found(self.code, name.decode("latin-1"))
        if result < NO_MATCH:
            raise LibraryError(result)
        return None if result == NO_MATCH else True


def compile(pattern: bytes, jit: bool = False) -> Pattern:
    """Compile a pattern. Raise PatternError."""
    code = compiled(pattern.decode("latin-1"))
    if not code:
        raise PatternError(error_words(), error_place())
    return Pattern(code)
