"""The literal prefix that each name matched by a pattern begins with, and the search for policies by it."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from hawb.rules.beginnings import ByBeginning, beginning, is_all
from hawb.rules.patterns import matches, pattern_error

part = st.sampled_from(["a", "ab", r"\.", r"\-", ".", "*", "?", "+", "{0}", "{,2}", "|", "(a)", "(?i)", "[ab]", "$"])
patterns = st.lists(part, max_size=6).map("".join).map("^".__add__).filter(lambda one: pattern_error(one) is None)


@settings(max_examples=1_000)
@given(patterns, st.text("abA.-", max_size=6))
def test_each_matched_name_begins_with_the_prefix_of_the_pattern(pattern: str, name: str):
    assert not matches(pattern, name) or name.startswith(beginning(pattern))
    assert not is_all(pattern) or matches(pattern, name) == name.startswith(beginning(pattern))


def test_prefixes_are_as_long_as_possible():
    expected = {"^q1$": "q1", "^q1.*": "q1", "^q1[0-9]": "q1"}
    expected |= {r"^orders\.tmp\.": "orders.tmp.", "^ha": "ha", "^ab*": "a", "^a|b": "", "ha": "", "^(ha)": ""}
    expected |= {r"^\Qa": ""}
    assert {pattern: beginning(pattern) for pattern in expected} == expected


@given(st.lists(patterns, max_size=5), st.text("abA.-", max_size=6))
def test_policies_are_found_in_the_given_order(given_patterns: list[str], name: str):
    found = ByBeginning(given_patterns, str).of(name)
    assert found == [one for one in given_patterns if name.startswith(beginning(one))]
