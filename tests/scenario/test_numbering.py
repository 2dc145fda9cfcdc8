"""Messages number steps from 1 and also give the index from 0 that files use."""

from __future__ import annotations

import pytest

from hawb.scenario.numbering import number, place


@pytest.mark.parametrize(
    ("index", "words"),
    [(0, "1st"), (1, "2nd"), (2, "3rd"), (3, "4th"), (10, "11th"), (12, "13th"), (20, "21st"), (111, "112th")],
)
def test_place_has_index_and_number(index: int, words: str):
    assert place(index) == f"steps[{index}] (the {words} step)"
    assert words.startswith(str(number(index)))
