r"""A policy's pattern against a queue's name, as RabbitMQ matches them.

Source: `rabbit_policy:matches` and `rabbit_parameter_validation:regex`: Erlang's `re`, which is PCRE, as a search over
the bytes of the UTF-8 name, without the Unicode option. Erlang gives up after ten million steps and counts the
result as no match; hawb does the same. Callers of `outcome` can distinguish this case. The just-in-time compiler is
off, since it would count steps differently.

Patterns come from files of strangers. PCRE2 copies all groups at each step, so a short pattern with a few thousand
groups takes minutes and gigabytes within the limit on steps alone: memory is limited too, and many groups leave fewer
steps.

The limit holds for one search, and a file may ask for a million of them. So all searches for one file share a `Budget`
of steps, where one is in force; when it is spent, `TooSlow` is raised. Steps are counted by limits: a search is tried
with few of them, which cost nothing, and then with four times as many each time. The same file always costs the same.

PCRE2 stands in for the PCRE of RabbitMQ's Erlang. What the two read differently is rewritten before PCRE2 sees it, and
error texts are translated back; both were compared with Erlang 25 on random patterns. Remaining differences: Erlang
counts the bytes of Latin-1's letters as letters, so \w, \b, [:alpha:] and (?i) can differ in names outside ASCII; \C,
\K in an assertion, limits at a pattern's start, and \8 and \9 where there are fewer groups (the digits themselves in
PCRE) are refused; lookbehinds of limited but varying length, a pattern that calls itself before it reads anything (PCRE
refuses it, hawb gives the search up), and what only PCRE2 knows, such as (?n), (?^) and (*pla:a), are accepted; PCRE2
can backtrack into a recursion; and the position in an error is PCRE2's unless known to differ.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from enum import IntEnum
from functools import lru_cache

import pcre2

from hawb.rules.erlang_terms import erlang_term

STEPS = 10_000_000
MEMORY_KIB = 65_536
FULL_STEPS_GROUPS = 16
"""The most groups with which a search still has all its steps."""

LONGEST = 80
FREE_STEPS = 1_000
"""The steps of a search that are not taken from a budget."""
MOST_STEPS = 100_000_000
"""The steps that all searches for one file may take."""

TOO_LARGE = 120
"""PCRE2's error code for a pattern that is too large when compiled. PCRE gives the pattern's end as the position."""

OWN_LIMITS = re.compile(rb"(?:\(\*[A-Z0-9_=]+\))*?\(\*LIMIT_")
"""A pattern may begin with limits of its own, and PCRE2 would let them replace those that are set here."""

ESCAPE = re.compile(
    rb"\\Q.*?(?:\\E|\Z)|(\\[dDwWsShHvV]|:\])-|(\{,)|\\x(?:\{([0-9A-Fa-f]+)\}|([0-9A-Fa-f]{0,2}))|\\(.)", re.DOTALL
)
"""Parts that PCRE2 may read otherwise: quoted text, a hyphen after a class of characters, `{,`, escapes."""

_LITERAL = rb"(?:[A-Za-z0-9_-]|\\[.:/-])*"
SIMPLE = re.compile(rb"(?:\.\*)?(\^?%b(?:\.\*%b)?\$?)" % (_LITERAL, _LITERAL))
"""Patterns of literals around at most one `.*`, which Python reads as PCRE does, and searches for four times as fast.

A `.*` before them changes nothing: what follows it is searched for everywhere.
"""
MOST_SIMPLE = 255
"""The most bytes of a simple pattern; PCRE refuses patterns that are too large."""

LITERAL_LETTERS = b"FIiJjMmOqTYy"
"""Letters that mean themselves after a backslash in PCRE and are an error in PCRE2."""

NO_CASE_ESCAPES = r"PCRE does not support \L, \l, \N{name}, \U, or \u"

# By PCRE2's error code: PCRE's text, and the offset of its position from PCRE2's. Other texts are the same in both.
PCRE_ERRORS = {
    108: ("range out of order in character class", -1),
    109: ("nothing to repeat", -1),
    111: ("unrecognized character after (? or (?-", -1),
    114: ("missing )", 0),
    118: ("missing ) after comment", 0),
    122: ("unmatched parentheses", -1),
    125: ("lookbehind assertion is not fixed length", 0),
    134: (r"character value in \x{} or \o{} is too large", 0),
    137: (NO_CASE_ESCAPES, -1),
    142: ("syntax error in subpattern name (missing terminator)", 0),
    143: ("two named subpatterns have the same name", -1),
    144: ("group name must start with a non-digit", -1),
    147: ("unknown property name after \\P or \\p", -1),
    150: ("invalid range in character class", -1),
    151: (r"octal value is greater than \377 in 8-bit non-UTF-8 mode", -1),
    169: (r"\k is not followed by a braced, angle-bracketed, or quoted name", -1),
}


class Match(IntEnum):
    """The result of a search. RabbitMQ counts GAVE_UP as NO; reports warn of it."""

    NO = 0
    YES = 1
    GAVE_UP = 2


class PatternError(ValueError):
    """A pattern that RabbitMQ refuses: the error, and its byte position."""

    def __init__(self, text: str, position: int) -> None:
        super().__init__(erlang_term(([*text.encode()], position), unicode=False, column=0))


class TooSlow(ValueError):  # noqa: N818 - it reads as what happened
    """A file's patterns take too many steps to match with the names of its queues.

    `pattern` is the pattern that was matched last; `policy` is the policy that has it, None if no policy does.
    """

    accepted = (
        "patterns without a repetition inside a repetition, such as (a+)+; "
        f"all searches for one file together may take {MOST_STEPS:,} steps"
    )

    def __init__(self, pattern: str, policy: str | None = None) -> None:
        super().__init__(pattern, policy)
        self.pattern, self.policy = pattern, policy

    @property
    def problem(self) -> str:
        """Return the problem in a sentence that names the policy."""
        of = "the pattern" if self.policy is None else f"the pattern of policy {_cut(self.policy)}"
        return f"{of} takes too many steps to match"

    @property
    def given(self) -> str:
        """Return the pattern, on one line, escaped and cut."""
        return _cut(self.pattern)

    def __str__(self) -> str:
        return f"{self.problem}\n  given: {self.given}\n  accepted: {self.accepted}"


class Budget:
    """A limit on the steps that regular expressions of one file may take in all. The same match again takes none."""

    def __init__(self) -> None:
        self.left = MOST_STEPS
        self._paid: set[tuple[str, str, int]] = set()

    @contextmanager
    def in_force(self) -> Iterator[None]:
        """Take the steps of all searches from this budget, or from the one that is in force already."""
        if _budget.get() is not None:
            yield
            return
        token = _budget.set(self)
        try:
            yield
        finally:
            _budget.reset(token)

    def pay(self, pattern: str, name: str, steps: int) -> None:
        """Take the steps of a search off the budget before it runs. Raise TooSlow if so many are not left."""
        search = pattern, name, steps
        if search in self._paid:
            return
        if steps > self.left:
            raise TooSlow(pattern)
        self._paid.add(search)
        self.left -= steps


_budget: ContextVar[Budget | None] = ContextVar("budget", default=None)


def matches(pattern: str, name: str) -> bool:
    """Return True if `pattern` is found anywhere in `name`.

    Raise `PatternError` for a pattern that RabbitMQ refuses.
    """
    return outcome(pattern, name) is Match.YES


def outcome(pattern: str, name: str) -> Match:
    """Return the same as `matches`, or GAVE_UP if the search took too many steps or too much memory."""
    found = _kept(pattern, name, FREE_STEPS)
    return found if found is not Match.GAVE_UP else _with_more_steps(pattern, name, _kept)


def searched(pattern: str, name: str) -> Match:
    """Return the same as `outcome`, without a cache: for millions of names, each searched once."""
    found = _search(pattern, name, FREE_STEPS)
    return found if found is not Match.GAVE_UP else _with_more_steps(pattern, name, _search)


def _search(pattern: str, name: str, steps: int) -> Match:
    try:
        return Match.NO if _compiled(pattern, steps).search(_bytes(name)) is None else Match.YES
    except pcre2.LibraryError:
        return Match.GAVE_UP


_kept = lru_cache(maxsize=65_536)(_search)


def _with_more_steps(pattern: str, name: str, search: Callable[[str, str, int], Match]) -> Match:
    steps, budget = FREE_STEPS, _budget.get()
    while steps < STEPS:
        steps = min(4 * steps, STEPS)
        if budget is not None:
            budget.pay(pattern, name, steps)
        if (found := search(pattern, name, steps)) is not Match.GAVE_UP:
            return found
    return Match.GAVE_UP


def pattern_error(pattern: str) -> str | None:
    """Return Erlang's error for a `pattern` that RabbitMQ refuses, such as `{"missing )",3}`; None if it accepts it."""
    try:
        _compiled(pattern, FREE_STEPS)
    except PatternError as error:
        return str(error)
    return None


@lru_cache(maxsize=16_384)  # each name is searched for with all of a file's patterns in turn
def _compiled(pattern: str, steps: int) -> pcre2.Pattern | re.Pattern[bytes]:
    source = _bytes(pattern)
    if len(source) <= MOST_SIMPLE and (simple := SIMPLE.fullmatch(source)):
        return re.compile(simple[1])
    rewritten = ESCAPE.sub(_as_pcre2_reads_it, source)
    if OWN_LIMITS.match(rewritten):
        raise PatternError("(*VERB) not recognized", 2)
    limits = _limits(rewritten, steps)
    try:
        return pcre2.compile(limits + rewritten, jit=False)
    except pcre2.PatternError as error:
        text, shift = PCRE_ERRORS.get(error.code, (error.msg.partition("; ")[2], 0))
        if error.code == TOO_LARGE:
            raise PatternError(text, len(source)) from None
        raise PatternError(text, max(0, error.pos - len(limits) + shift)) from None


def _limits(source: bytes, steps: int) -> bytes:
    """Return the settings that limit a search, which PCRE2 takes at the start of a pattern."""
    steps = steps * FULL_STEPS_GROUPS // max(FULL_STEPS_GROUPS, source.count(b"("))
    return b"(*LIMIT_MATCH=%d)(*LIMIT_HEAP=%d)" % (steps, MEMORY_KIB)


def _as_pcre2_reads_it(escape: re.Match[bytes]) -> bytes:
    before_hyphen, open_brace, in_braces, digits, character = escape.groups()
    if before_hyphen is not None:
        # In [\w-z] the hyphen is literal; PCRE2 refuses that as a range.
        return before_hyphen + b"\\-"
    if open_brace is not None:
        # {,2} is literal in PCRE and a quantifier in PCRE2.
        return b"\\{,"
    if in_braces is not None and int(in_braces, 16) > 255:
        raise PatternError(r"character value in \x{} or \o{} is too large", escape.end() - 1)
    if in_braces is not None or digits is not None:
        return b"\\x%02x" % int(in_braces or digits or b"0", 16)
    if character in (b"u", b"U"):
        raise PatternError(NO_CASE_ESCAPES, escape.end() - 1)
    if character is not None and character in LITERAL_LETTERS:
        return character
    return escape.group()


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _cut(text: str) -> str:
    """Return a text of a file as a message shows it: on one line, escaped, and cut to the length of a line."""
    return repr(text[:LONGEST]) + ("..." if len(text) > LONGEST else "")
