"""Policy patterns are PCRE searches over bytes; a search that is too expensive is aborted."""

import re
import resource
import warnings

import pcre2
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hawb.rules import patterns
from hawb.rules.patterns import Budget, Match, PatternError, TooSlow, matches, outcome, pattern_error, searched


@pytest.mark.parametrize(
    ("pattern", "name", "found"),
    [
        ("^ha\\.", "ha.orders", True),
        ("^ha\\.", "not.ha.orders", False),
        ("ha", "alpha", True),
        ("", "anything", True),
        ("", "", True),
        ("^q$", "q\n", True),
        ("HA", "ha", False),
        ("(?i)HA", "ha", True),
        ("^..$", "ü", True),
        ("^ü$", "ü", True),
    ],
)
def test_pattern_is_searched_in_the_utf8_bytes_of_the_name(pattern, name, found):
    assert matches(pattern, name) is found


YES, NO, REFUSED = "found", "not found", "refused"

OTHERWISE_THAN_PYTHON = [
    ("^[[:alpha:]]+$", "abc", YES, NO),
    ("^[[:^digit:]]+$", "ab", YES, NO),
    ("^[[:punct:]]$", ".", YES, NO),
    ("^a\\hb$", "a\tb", YES, REFUSED),
    ("^a\\Hb$", "a-b", YES, REFUSED),
    ("^a\\vb$", "a\nb", YES, NO),
    ("^a\\Rb$", "a\r\nb", YES, REFUSED),
    ("^a\\Nb$", "a-b", YES, REFUSED),
    ("^\\X$", "a", YES, REFUSED),
    ("^\\p{Lu}$", "A", YES, REFUSED),
    ("^\\e$", "\x1b", YES, REFUSED),
    ("^\\cA$", "\x01", YES, REFUSED),
    ("^\\o{101}$", "A", YES, REFUSED),
    ("^\\x{41}$", "A", YES, REFUSED),
    ("^\\x2$", "\x02", YES, REFUSED),
    ("^\\i$", "i", YES, REFUSED),
    ("^\\Qa.b\\E$", "a.b", YES, REFUSED),
    ("^\\Qa.b\\E$", "axb", NO, REFUSED),
    ("a\\z", "a", YES, REFUSED),
    ("a\\Z", "a\n", YES, NO),
    ("\\Ga", "a", YES, REFUSED),
    ("^foo\\Kbar", "foobar", YES, REFUSED),
    ("^(a(?1)?b)$", "aabb", YES, REFUSED),
    ("^(?:a(?R)?b|x)$", "x", YES, REFUSED),
    ("^(?<n>a(?&n)?b)$", "aabb", YES, REFUSED),
    ("^(?P<n>a(?P>n)?b)$", "aabb", YES, REFUSED),
    ("^(?<n>a)\\k<n>$", "aa", YES, REFUSED),
    ("^(?<n>a)\\g{n}$", "aa", YES, REFUSED),
    ("^(a)\\g1$", "aa", YES, REFUSED),
    ("^(a)\\g{-1}$", "aa", YES, REFUSED),
    ("^(?'n'a)\\k'n'$", "aa", YES, REFUSED),
    ("^a(?|(b)|(c))\\1$", "acc", YES, REFUSED),
    ("^(?(?=a)ab|cd)$", "ab", YES, REFUSED),
    ("^(?(DEFINE)(b))a(?1)$", "ab", YES, REFUSED),
    ("^a(?i)b$", "aB", YES, REFUSED),
    ("^(?x) a b $", "ab", YES, REFUSED),
    ("^a(?x) b$", "ab", YES, REFUSED),
    ("(?U)^(a+)(a*)$", "aa", YES, REFUSED),
    ("(?<=a|bc)d", "bcd", YES, REFUSED),
    ("(?<=^|,)a", "a", YES, REFUSED),
    ("^a(*ACCEPT)b", "a", YES, REFUSED),
    ("^a(*SKIP)(*FAIL)|b", "b", YES, REFUSED),
    ("(*ANYCRLF)^a.b$", "a\rb", NO, REFUSED),
    ("^a{,2}$", "aa", NO, YES),
    ("^a{,2}$", "a{,2}", YES, NO),
    ("^x[\\w-.]$", "x-", YES, REFUSED),
    ("^[[:alpha:]-z]$", "-", YES, NO),
    ("^.$", "ü", NO, YES),
    ("^..$", "ü", YES, NO),
    ("^\\w$", "ü", NO, YES),
    ("^\\d$", "٣", NO, YES),
    ("^\\s$", "\xa0", NO, YES),
    ("(?i)^Ü$", "ü", NO, YES),
    ("^[ä-ö]$", "ö", NO, YES),
    ("^(a|b\\1)+$", "aba", YES, REFUSED),
    ("^\\1(a)", "a", NO, REFUSED),
    ("^\\h+$", "\xa0", NO, REFUSED),
    ("^(?-i)a$", "a", YES, REFUSED),
    ("^[[.a.]]$", "a", REFUSED, NO),
    ("^(?:a|b)(?C1)c", "ac", YES, REFUSED),
    ("^[\\h]$", "\t", YES, REFUSED),
    ("^[[:word:]]$", "_", YES, NO),
    ("^a\\Qb*", "ab*", YES, REFUSED),
    ("^(?s).$", "\n", YES, REFUSED),
    ("^(?m)a$", "a\nb", YES, REFUSED),
]
"""Constructs on which Python's `re` differs: pattern, name, what PCRE 8.44 of Erlang 25 answers, and what `re` does."""


@pytest.mark.parametrize(("pattern", "name", "pcre", "python"), OTHERWISE_THAN_PYTHON)
def test_constructs_that_pcre_and_python_read_differently(pattern, name, pcre, python):
    assert _answer(outcome, pattern, name) == pcre
    with warnings.catch_warnings(action="ignore"):
        assert _answer(re.search, pattern, name) == python
    assert pcre != python


def _answer(search, pattern, name):
    try:
        return YES if search(pattern, name) else NO
    except (PatternError, re.error):
        return REFUSED


@pytest.mark.parametrize(("pattern", "no"), [("^a++a", "aaa"), ("^(?>a+)a", "aaa"), ("^(?>a|ab)c", "abc")])
def test_possessive_and_atomic_groups_do_not_backtrack(pattern, no):
    assert not matches(pattern, no)
    assert matches(pattern.replace("++", "+").replace("?>", "?:"), no)


@pytest.mark.parametrize(
    ("pattern", "name"),
    [
        ("^\\x{61}\\x2e\\xz$", "a.\0z"),
        ("^\\i\\y$", "iy"),
        ("^\\Q\\u\\E$", "\\u"),
        ("^\\\\u$", "\\u"),
        ("^[\\x2e]$", "."),
    ],
)
def test_escapes_match_as_in_erlang(pattern, name):
    assert matches(pattern, name)


@pytest.mark.parametrize(
    ("pattern", "name"),
    [("(a+)+$", "a" * 40 + "b"), ("^(a|aa)+$", "a" * 60 + "b"), ("^(.|..)*$(?!)", "x" * 255), ("(?:(?R)|a)", "aaa")],
)
def test_endless_search_is_aborted_and_does_not_match(pattern, name):
    assert outcome(pattern, name) is Match.GAVE_UP
    assert not matches(pattern, name)


@pytest.mark.parametrize("pattern", ["(?:a?" + "()" * 4000 + ")*(?!)", "()" * 3000 + "(?:" + "a?" * 2000 + ")*(?!)"])
def test_search_that_needs_too_much_memory_is_aborted(pattern):
    before_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert outcome(pattern, "a" * 255) is Match.GAVE_UP
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kib < 200_000


def test_name_of_255_bytes_is_searched_to_its_end():
    assert outcome("^(?:a" + "()" * 60 + ")*$", "a" * 255) is Match.YES


def test_many_groups_lower_the_limit_of_steps():
    slow = "^(?:a|aa)+(?!)"
    assert outcome(slow, "a" * 26) is Match.NO
    assert outcome(slow + "()" * 1000, "a" * 26) is Match.GAVE_UP


@pytest.mark.parametrize(
    ("pattern", "error"),
    [
        ("(ha", '{"missing )",3}'),
        ("ha)", '{"unmatched parentheses",2}'),
        ("[ha", '{"missing terminating ] for character class",3}'),
        ("*", '{"nothing to repeat",0}'),
        ("[z-a]", '{"range out of order in character class",3}'),
        ("a{37,17}", '{"numbers out of order in {} quantifier",7}'),
        ("abc\\", '{"\\\\ at end of pattern",4}'),
        ("(?z)", '{"unrecognized character after (? or (?-",2}'),
        ("\\u0061", '{"PCRE does not support \\\\L, \\\\l, \\\\N{name}, \\\\U, or \\\\u",1}'),
        ("\\x{100}", '{"character value in \\\\x{} or \\\\o{} is too large",6}'),
        ("(*LIMIT_HEAP=20000000)a", '{"(*VERB) not recognized",2}'),
        ("(*L\\IM\\IT_HEAP=20000000)a", '{"(*VERB) not recognized",2}'),
        ("(*UCP)(*LIMIT_MATCH=99999999)a", '{"(*VERB) not recognized",2}'),
        ("a" * 70_000, '{"regular expression is too large",70000}'),
        ("(" * 300 + ")" * 300, '{"parentheses are too deeply nested",251}'),
    ],
)
def test_invalid_pattern_is_refused_with_erlangs_error(pattern, error):
    assert pattern_error(pattern) == error
    with pytest.raises(PatternError) as raised:
        matches(pattern, "ha")
    assert str(raised.value) == error


@pytest.mark.parametrize("pattern", ["^ha\\.", "", ".*", "(?R)?", "[[:punct:]]", "(*UCP)a"])
def test_valid_pattern_is_accepted(pattern):
    assert pattern_error(pattern) is None


SLOW = "^(a+)+$"
"""Each letter of a name doubles the steps."""


def left_after(search, names: list[str]) -> int:
    """Return the steps that are left of a budget after searches for one slow pattern."""
    budget = Budget()
    with budget.in_force():
        for name in names:
            search(SLOW, name)
    return budget.left


@pytest.mark.parametrize("search", [outcome, searched])
def test_searches_share_the_budget_in_force(search, monkeypatch):
    monkeypatch.setattr(patterns, "MOST_STEPS", 500_000)
    slow = [f"{'a' * 14}{number}!" for number in range(40)]
    assert left_after(search, ["orders"] * 1000 + ["aaa!"] * 1000) == 500_000
    assert left_after(search, slow[:1]) == left_after(search, slow[:1] * 100) < 500_000
    with pytest.raises(TooSlow, match="takes too many steps to match"):
        left_after(search, slow)
    for name in slow:
        assert search(SLOW, name) is Match.NO  # without a budget, all are searched


def test_nested_budget_spends_the_outer_one(monkeypatch):
    monkeypatch.setattr(patterns, "MOST_STEPS", 500_000)
    outer, inner = Budget(), Budget()
    with outer.in_force(), inner.in_force():
        outcome(SLOW, f"{'a' * 14}!")
    assert outer.left < inner.left == 500_000


def test_error_text_is_escaped_and_truncated():
    text = str(TooSlow("\x1b[2J\u2028" + "(a+)+" * 100, "p\n\u202e0"))
    assert text.isascii() and len(text.splitlines()) == 3 and "policy 'p\\n\\u202e0'" in text
    assert "  given: '\\x1b[2J\\u2028(a+)+(a+)+" in text
    assert max(map(len, text.splitlines())) < 200


LITERALS = st.text("ab-_", max_size=3).map(lambda text: text.replace("-", r"\-")) | st.sampled_from([r"\.", r"a\/", ""])
SIMPLE = st.builds(
    "".join,
    st.tuples(
        st.sampled_from(["", "^", ".*", ".*^"]), LITERALS, st.sampled_from(["", ".*"]), LITERALS,
        st.sampled_from(["", "$"]),
    ),
)  # fmt: skip


@given(SIMPLE, st.text("ab-_./é\n", max_size=8))
@example(".*a$", "a\n")
@example("^a.*$", "a\nb")
@example(".*", "")
@example(".*^a", "ba")
def test_simple_pattern_matches_as_pcre_does(pattern, name):
    source = pattern.encode()
    assert patterns.SIMPLE.fullmatch(source), pattern
    of_pcre = pcre2.compile(source, jit=False).search(name.encode()) is not None
    assert matches(pattern, name) is of_pcre


@pytest.mark.parametrize("pattern", ["a|b", "^(a)", "a+", "a.b", "[ab]", "a.*b.*c", "a$b", "a" * 256, r"\d", "é"])
def test_other_patterns_are_compiled_by_pcre(pattern):
    assert isinstance(patterns._compiled(pattern, patterns.FREE_STEPS), pcre2.Pattern)


def test_simple_pattern_is_compiled_by_python():
    assert isinstance(patterns._compiled(r"^ha\..*orders$", patterns.FREE_STEPS), re.Pattern)
