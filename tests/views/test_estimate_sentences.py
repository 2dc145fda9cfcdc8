from __future__ import annotations

import pytest

from hawb.views.study.estimate_sentences import NO_INTERVALS, TOO_FEW, sentence
from hawb.views.study.estimates import DOWN, LOSS


def cell(design: str, environment: str, minutes: float, half: float | None = 0.1, share: float = 0.0) -> list[dict]:
    """Return the estimates of a design: minutes unavailable, plus or minus `half` (None: one trial), and losses."""
    low, high = (None, None) if half is None else (60 * (minutes - half), 60 * (minutes + half))
    lost = {"share_low": None if half is None else share, "share_high": None if half is None else share}
    common = {"design": design, "environment": environment}
    return [
        common | {"measure": "queue_down_s", "mean": 60 * minutes, "mean_low": low, "mean_high": high},
        common | {"measure": "lost_confirmed", "share": share} | lost,
    ]


def sentence_of(*cells: list[dict], shown: tuple = (DOWN,)) -> str:
    return sentence([row for each in cells for row in each], list(shown))


def test_differing_designs_are_named_with_their_numbers():
    assert sentence_of(cell("a", "kills", 5), cell("b", "kills", 2), cell("c", "kills", 3)) == (
        "In kills, a has the most minutes out of use a year (5.00), b the fewest (2.00)."
    )


def test_equal_designs_are_named_together_and_many_are_counted():
    assert sentence_of(cell("a", "kills", 5), cell("b", "kills", 5), *(cell(one, "kills", 0, 0) for one in "cde")) == (
        "In kills, a and b have the most minutes out of use a year (5.00), c and 2 others none."
    )


def test_environment_with_the_largest_difference_is_named():
    rough = [cell("a", "rough", 9), cell("b", "rough", 1)]
    calm = [cell("a", "calm", 2), cell("b", "calm", 1)]
    assert sentence_of(*calm, *rough).startswith("In rough, a has the most")
    assert sentence_of(*rough, *(cell(row[0]["design"], "late", row[0]["mean"] / 60) for row in rough)).startswith(
        "In every environment, a has the most"
    )


def test_measure_that_no_design_has_is_named_first():
    assert sentence_of(cell("a", "kills", 5), cell("b", "kills", 2), shown=(LOSS, DOWN)) == (
        "No design has years with a loss in any environment; in kills, a has the most minutes out of use a year "
        "(5.00), b the fewest (2.00)."
    )
    assert sentence_of(cell("a", "kills", 5), cell("b", "kills", 5), shown=(LOSS,)) == (
        "No design has years with a loss in any environment."
    )


@pytest.mark.parametrize(("half", "said"), [(2, TOO_FEW), (None, NO_INTERVALS)])
def test_overlapping_intervals_are_not_called_different(half: float | None, said: str):
    assert sentence_of(cell("a", "kills", 5, half), cell("b", "kills", 2, half)) == said


def test_a_mean_of_none_needs_no_interval():
    some, none = cell("a", "kills", 5), cell("b", "kills", 0, None)
    assert sentence_of(some, none).endswith("a has the most minutes out of use a year (5.00), b none.")
    assert sentence_of(cell("a", "kills", 5, None), none) == NO_INTERVALS
    few, zero = cell("a", "kills", 5, share=0.01), cell("b", "kills", 5)
    zero[1] |= {"share_high": 0.02}
    assert sentence_of(few, zero, shown=(LOSS,)) == TOO_FEW


def test_single_design_is_described_without_comparison():
    assert sentence_of(cell("a", "kills", 5)) == "In kills, a has 5.00 minutes out of use a year."
