"""Policy patterns are PCRE searches over bytes, and hostile ones do no harm."""

import re
import resource
import warnings

import pytest

from hawb.rules.patterns import Match, PatternError, matches, outcome, pattern_error


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
def test_a_pattern_is_searched_for_in_the_bytes_of_the_name(pattern, name, found):
    assert matches(pattern, name) is found


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("^[[:alpha:]]+$", "abc", ":]"),
        ("^a\\hb$", "a\tb", "ahb"),
        ("^a\\Rb$", "a\r\nb", "aRb"),
        ("^(a(?1)?b)$", "aabb", "aab"),
        ("^(?:a(?R)?b|x)", "x", "b"),
        ("^a(?|(b)|(c))\\1$", "acc", "acb"),
        ("^\\Qa.b\\E$", "a.b", "axb"),
        ("^foo\\Kbar", "foobar", "bar"),
        ("^(?<word>a|b)\\g{word}$", "aa", "ab"),
        ("^(?(?=a)ab|cd)$", "ab", "ad"),
        ("a\\z", "ba", "a\n"),
    ],
)
def test_constructs_that_python_reads_differently(pattern, yes, no):
    assert (outcome(pattern, yes), outcome(pattern, no)) == (Match.YES, Match.NO)
    assert not _python_agrees(pattern, yes, no)


def _python_agrees(pattern, yes, no):
    try:
        with warnings.catch_warnings(action="ignore"):
            return re.search(pattern, yes) is not None and re.search(pattern, no) is None
    except re.error:
        return False


@pytest.mark.parametrize(("pattern", "no"), [("^a++a", "aaa"), ("^(?>a+)a", "aaa"), ("^(?>a|ab)c", "abc")])
def test_possessive_and_atomic_groups_do_not_give_back(pattern, no):
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
def test_escapes_mean_what_they_mean_to_erlang(pattern, name):
    assert matches(pattern, name)


@pytest.mark.parametrize(
    ("pattern", "name"),
    [("(a+)+$", "a" * 40 + "b"), ("^(a|aa)+$", "a" * 60 + "b"), ("^(.|..)*$(?!)", "x" * 255), ("(?:(?R)|a)", "aaa")],
)
def test_a_search_that_never_ends_is_given_up_and_counts_as_no_match(pattern, name):
    assert outcome(pattern, name) is Match.GAVE_UP
    assert not matches(pattern, name)


@pytest.mark.parametrize("pattern", ["(?:a?" + "()" * 4000 + ")*(?!)", "()" * 3000 + "(?:" + "a?" * 2000 + ")*(?!)"])
def test_a_search_that_would_take_gigabytes_is_given_up(pattern):
    before_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert outcome(pattern, "a" * 255) is Match.GAVE_UP
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kib < 200_000


def test_a_name_of_full_length_is_searched_to_its_end():
    assert outcome("^(?:a" + "()" * 60 + ")*$", "a" * 255) is Match.YES


def test_many_groups_leave_fewer_steps():
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
        ("a" * 70_000, '{"regular expression is too large",65535}'),
        ("(" * 300 + ")" * 300, '{"parentheses are too deeply nested",251}'),
    ],
)
def test_a_bad_pattern_is_refused_in_erlangs_words(pattern, error):
    assert pattern_error(pattern) == error
    with pytest.raises(PatternError) as raised:
        matches(pattern, "ha")
    assert str(raised.value) == error


@pytest.mark.parametrize("pattern", ["^ha\\.", "", ".*", "(?R)?", "[[:punct:]]", "(*UCP)a"])
def test_a_good_pattern_is_not_refused(pattern):
    assert pattern_error(pattern) is None
