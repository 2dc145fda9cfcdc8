"""Simultaneous comparisons of designs, and differences below the threshold."""

from __future__ import annotations

import pytest
from answered_reports import estimate

from hawb.study.comparisons import LESS, MORE, comparisons, is_alike, is_apart, judged, student_t, swing

DOWN, LOST = "publish_down_s", "lost_confirmed"


@pytest.mark.parametrize(
    ("error", "quantile"), [(0.05, 2.039513), (0.01, 2.744042), (0.001, 3.633456), (0.05 / 180, 4.058)]
)
def test_student_quantiles_agree_with_tables(error: float, quantile: float):
    """For 31 degrees of freedom. The last is between the tabled ones for 0.0005 and 0.0001, 3.8457 and 4.4095."""
    assert student_t(error) == pytest.approx(quantile, abs=0.0005 if error >= 0.001 else 0.07)


def rows(count: int, **more: float) -> list[dict]:
    """Return a baseline and designs with the same difference, whose interval is just below zero."""
    return [estimate("base", LOST, 0.0, 0.0), *(estimate(f"new-{n}", LOST, -3.0, -0.1) | more for n in range(count))]


def test_many_comparisons_use_wider_intervals():
    (_, alone), many = judged(rows(1), "base", [LOST]), judged(rows(20), "base", [LOST])
    assert (alone["together_low"], alone["together_high"]) == pytest.approx((-3.0, -0.1), abs=1e-4)
    assert (is_apart(alone, LESS), comparisons(many)) == (True, 20)
    assert many[1]["together_high"] > 0 > many[1]["difference_high"] and not is_apart(many[1], LESS)
    half = (many[1]["together_high"] - many[1]["together_low"]) / 2
    assert half == pytest.approx(1.45 * student_t(0.05 / 20) / student_t(0.05))


def test_only_judged_and_observed_measures_count_as_comparisons():
    mixed = [*rows(1), estimate("new-0", DOWN, -3.0, -0.1), estimate("new-0", "outages", -3.0, -0.1)]
    never = [*mixed, *(one | {"share": 0.0, "environment": "calm"} for one in mixed)]
    few = [*never, estimate("new-1", LOST, 0.0, 0.0) | {"difference_low": None, "difference_high": None}]
    assert comparisons(judged(few, "base", [LOST, DOWN])) == 2


def test_difference_must_exceed_the_threshold():
    def one(low: float, high: float, least: float) -> dict:
        return judged([estimate("base", LOST, 0.0, 0.0), estimate("new", LOST, low, high)], "base", [LOST],
                      {LOST: least})[1]  # fmt: skip

    assert is_apart(one(-3.0, -1.0, 0.5), LESS) and not is_apart(one(-3.0, -1.0, 1.0), LESS)
    assert is_apart(one(1.1, 3.0, 1.0), MORE) and not is_apart(one(0.9, 3.0, 1.0), MORE)
    assert is_alike(one(-0.4, 0.4, 0.5)) and not is_alike(one(-0.4, 0.6, 0.5))
    assert not is_alike(one(-0.4, 0.4, 0.0))


def test_assumption_with_the_largest_effect_is_named():
    found = [{"assumption": "timing.a", "differences": [1.0, 2.0, 3.0]},
            {"assumption": "timing.b", "differences": [5.0, 2.0, 0.0]}]  # fmt: skip
    assert swing({"sensitivity": found}) == ("timing.b", 5.0)
    assert swing({}) == ("", 0.0)
