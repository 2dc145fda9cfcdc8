from __future__ import annotations

import pytest

from hawb.study.progress import Progress
from hawb.views.study.study_report import number, rate, report

ROW = {
    "design": "two", "environment": "rack", "measure": "lost", "trials": 1000, "effective_trials": 1000.0,
    "mean": 12345.6, "mean_low": 1.23456, "mean_high": 23456.7,
    "share": 0.002, "share_low": 0.0004, "share_high": 0.0071,
}  # fmt: skip


def test_a_table_for_each_measure_that_any_trial_had():
    none = ROW | {"measure": "refused", "mean": 0.0, "share": 0.0}
    told = report("A \x1b study", [ROW, ROW | {"design": "few", "mean_low": None, "mean_high": None}, none])
    assert "\x1b" not in told
    lines = [line.split() for line in told.splitlines()]
    assert ["rack", "two", "12,346", "1.235", "to", "23,457", "0.2", "%", "0.04", "%", "to", "0.71", "%"] in lines
    assert ["rack", "few", "12,346", "0.2", "%", "0.04", "%", "to", "0.71", "%"] in lines
    assert "None in any trial\n  refused\n" in told


def judged(design: str, measure: str, low: float | None, high: float | None) -> dict:
    more = None if low is None else (low + high) / 2
    return ROW | {"share": 0.2, "design": design, "measure": measure, "difference": more if design != "base" else 0.0,
                  "difference_low": low, "difference_high": high}  # fmt: skip


def test_a_verdict_comes_before_the_tables_and_what_counts_before_all_else():
    rows = [judged(design, measure, *ends) for measure in ("outages", "publish_down_s", "lost_confirmed")
            for design, *ends in (("base", 0, 0), ("worse", 2, 4), ("better", -3, -1), ("alike", -1, 1))]  # fmt: skip
    verdict, _, beside, *tables, _ = report("A study", rows, "base").split("\n\n")
    assert verdict.splitlines()[1].startswith("✓ Yes: better loses less than base, and is nowhere worse.")
    assert [part.splitlines()[0] for part in tables] == ["lost_confirmed", "publish_down_s", "outages"]
    assert beside.splitlines() == [
        "Beside base, under the same faults",
        "  rack: confirmed messages lost: less with better (-2); more with worse (+3)",
        "  rack: seconds out of use: less with better (-2); more with worse (+3)",
    ]  # fmt: skip


def test_there_is_no_verdict_of_one_design_and_no_difference_of_few_trials():
    assert "Beside" not in report("A study", [judged("base", "lost_confirmed", 0, 0)], "base")
    few = [judged("base", "lost_confirmed", 0, 0), judged("few", "lost_confirmed", None, None) | {"difference": 3.0}]
    assert "  rack: confirmed messages lost: no difference beyond chance" in report("A study", few, "base").splitlines()


def test_weighted_trials_are_told_with_how_many_they_are_worth():
    plain, biased = report("A study", [ROW]), report("A study", [ROW, ROW | {"effective_trials": 333.4}])
    assert "effective" not in plain
    table = next(part for part in biased.split("\n\n") if part.startswith("lost\n"))
    _, header, *rows = table.splitlines()
    assert "design    effective trials" in header
    assert [row.split("two")[1].split("  12,346")[0].strip() for row in rows] == ["1,000 of 1,000", "333 of 1,000"]


@pytest.mark.parametrize(("value", "shown"), [(0, "0"), (0.001234, "0.001234"), (999.94, "999.9"), (1e6, "1,000,000")])
def test_means(value: float, shown: str):
    assert number(value) == shown


def test_progress_in_words():
    assert rate(None) == rate(Progress(0, 4000, 0, 1.0)) == ""
    assert rate(Progress(3000, 4000, 1000, 2.0)) == "500 a second, 2 s left"
    assert rate(Progress(4000, 4000, 4000, 1.0)) == "4,000 a second, 0 s left"
