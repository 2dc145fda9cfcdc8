from __future__ import annotations

import pytest

from hawb.study.load import read_study
from hawb.study.numbers import PRICE
from hawb.study.progress import Progress
from hawb.study.trial_record import Record
from hawb.views.formatting import about
from hawb.views.study.study_report import (
    BY_CONTROL,
    HEADINGS,
    LENGTHS,
    RESTS_ON,
    defaults,
    number,
    page,
    rate,
    report,
    report_of,
)

ROW = {
    "design": "two", "environment": "rack", "measure": "lost", "trials": 1000, "effective_trials": 1000.0,
    "mean": 12345.6, "mean_low": 1.23456, "mean_high": 23456.7,
    "share": 0.2, "share_low": 0.18, "share_high": 0.23,
}  # fmt: skip


def test_report_has_a_table_for_each_observed_measure():
    none = ROW | {"measure": "refused", "mean": 0.0, "share": 0.0}
    shown = report("A \x1b study", [ROW, ROW | {"design": "few", "mean_low": None, "mean_high": None}, none])
    assert "\x1b" not in shown
    lines = [line.split() for line in shown.splitlines()]
    assert ["rack", "two", "12,346", "1.235", "to", "23,457", "20.0", "%", "18.0", "%", "to", "23.0", "%"] in lines
    assert ["rack", "few", "12,346", "20.0", "%", "18.0", "%", "to", "23.0", "%"] in lines
    assert "Zero in every trial\n  Messages refused, per trial (refused)\n" in shown


def test_mean_of_few_events_has_no_interval_and_states_the_needed_trials():
    none = {"mean_low": None, "mean_high": None}
    rows = [ROW, ROW | none | {"design": "rare", "measure": "lost_confirmed", "trials_for_mean": 79_100.0}]
    shown = report("A study", rows)
    cells = [line.split("12,346")[1].strip().split("  ")[0] for line in shown.splitlines() if "12,346" in line]
    assert cells == ["takes 80,000 trials", "1.235 to 23,457"]
    assert "12,346  (takes 80,000 trials)" in page(report_of("A study", rows), rows)
    assert (about(8.2), about(64), about(12_345), about(99_001)) == (9, 64, 13_000, 100_000)
    assert "none seen" in report("A study", [ROW | none | {"share": 0.0}])


def test_assumption_and_quantiles_precede_the_tables():
    base, new = judged("base", "publish_down_s", 0, 0), judged("new", "publish_down_s", -3, -1)
    lengths = {"p50": 0.5, "p50_low": 0.4, "p50_high": 0.6, "p90": 30.0, "p90_low": 20.0, "p90_high": 40.0,
               "p99": 90.0, "p99_low": 70.0, "p99_high": None}  # fmt: skip
    above = {"objective": 60.0, "above": 0.05, "above_low": 0.04, "above_high": 0.06}
    moved = {"assumption": "timing.election_s", "values": [0.15, 0.3, 0.6], "differences": [-1.0, -2.0, -6.0]}
    rows = [base | lengths, new | lengths | above | {"sensitivity": [moved]}]
    text = report("A study", rows, "base")
    parts = [part.splitlines() for part in text.split("\n\n")]
    rests, quantiles = (next(part for part in parts if part[0] == title) for title in (RESTS_ON, LENGTHS))
    assert "-1 at 0.15" in rests[2] and "-2 at 0.3" in rests[2] and "-6 at 0.6" in rests[2]
    assert "90 (70 to ?)" in quantiles[2] and "5 % above 60 (4 % to 6 %)" in quantiles[3]
    table = next(at for at, part in enumerate(parts) if part[0].endswith("(publish_down_s)"))
    assert parts.index(rests) < parts.index(quantiles) < table
    assert text.count("Find out timing.election_s of your cluster") == 1 and "Simulate more trials" not in text


def test_every_measure_of_a_trial_has_a_heading():
    assert {*Record.__struct_fields__, PRICE} == set(HEADINGS)


def test_means_by_a_control_name_it_with_the_trials_and_the_gain():
    row = ROW | {"measure": "publish_down_s", "trials": 200, "control": "no prefetch", "control_trials": 100_000}
    rows = [row | {"gain": 62.5}, row | {"design": "three", "gain": 1.2}, ROW | {"design": "own", "gain": 500.0}]
    part = next(part for part in report_of("A study", rows).parts if part.title == BY_CONTROL)
    assert [row[2:] for row in part.table.rows] == [
        ("two", "no prefetch", "200", "100,000", "62.5"),
        ("three", "no prefetch", "200", "100,000", "1.2, does not help"),
    ]
    assert "Below 1.5 the control does not help" in part.notes[0]
    assert BY_CONTROL not in report("A study", [ROW])


def test_failures_that_the_control_never_had_are_named():
    row = ROW | {"measure": "publish_down_s", "control": "no prefetch", "control_trials": 100_000, "gain": 9.0}
    seen = row | {"unseen_by_control": 0}
    [part] = (part for part in report_of("A study", [seen]).parts if part.title == BY_CONTROL)
    assert len(part.notes) == 1
    rows = [seen, row | {"design": "three", "unseen_by_control": 3}]
    [part] = (part for part in report_of("A study", rows).parts if part.title == BY_CONTROL)
    assert "in which the control had none: 3 trials of three in rack (seconds out of use). " in part.notes[1]


def test_exact_mean_stands_beside_the_interval():
    row = ROW | {"measure": "queue_down_s", "mean": 12.3, "mean_low": 12.1, "mean_high": 12.6}
    rows = [row | {"exact": 12.34567}, row | {"design": "off", "exact": 13.0},
            row | {"design": "few", "mean_low": None, "mean_high": None, "trials_for_mean": 9_000, "exact": 13.0},
            row | {"design": "other", "no_exact": "arguments: a reason"},
            row | {"environment": "calm", "no_exact": "partitions: another"}]  # fmt: skip
    [part] = report_of("A study", rows).parts
    assert part.table.columns[3:6] == ("95 % interval", "exact", "share of trials with any")
    assert [row[1:5] for row in part.table.rows] == [
        ("two", "12.3", "12.1 to 12.6", "12.35"), ("off", "12.3", "12.1 to 12.6", "13"),
        ("few", "12.3", "takes 9,000 trials", "13"), ("other", "12.3", "12.1 to 12.6", ""),
        ("two", "12.3", "12.1 to 12.6", ""),
    ]  # fmt: skip
    calculated, outside, *none = part.notes
    assert "Markov chain" in calculated
    assert "outside the simulated interval: off in rack." in outside
    assert none == [
        "No exact mean for other in rack: arguments: a reason.", "No exact mean for calm: partitions: another.",
    ]  # fmt: skip
    assert "exact" not in report("A study", [row])
    unseen = ROW | {"measure": "queue_down_s", "mean": 0.0, "share": 0.0, "mean_low": None, "mean_high": None}
    assert report("A study", [unseen | {"exact": 1e-4}]).split("two")[1].split()[1:4] == ["none", "seen", "0.0001"]


def judged(design: str, measure: str, low: float | None, high: float | None) -> dict:
    more = None if low is None else (low + high) / 2
    return ROW | {"share": 0.2, "design": design, "measure": measure, "difference": more if design != "base" else 0.0,
                  "difference_low": low, "difference_high": high}  # fmt: skip


@pytest.mark.parametrize(("version", "release"), [("4.1", "4.0.5"), ("4.2", "4.3.6"), ("4.3", None)])
def test_version_without_own_rules_is_an_assumption(version: str, release: str | None):
    designs = {name: {"queue_type": "quorum", "nodes": 3, "version": version} for name in ("one", "two")}
    traffic = {"publish_per_s": 1, "consume_per_s": 2}
    calm = {"node_failures": {"every": {"mean_s": 1e6}, "repair": {"mean_s": 60}}, "traffic": traffic}
    trials = {"horizon_days": 1, "trials": 1}
    asked = read_study({"study": "A study", "designs": designs, "environments": {"calm": calm}, **trials})
    said = [one for one in defaults(asked) if "nearest" in one]
    assert len(said) == (release is not None) and all(f"{version}:" in one and f"{release}," in one for one in said)


def test_verdict_precedes_the_tables():
    rows = [judged(design, measure, *ends) for measure in ("outages", "publish_down_s", "lost_confirmed")
            for design, *ends in (("base", 0, 0), ("worse", 2, 4), ("better", -3, -1), ("alike", -1, 1))]  # fmt: skip
    verdict, _, beside, *tables, _ = report("A study", rows, "base").split("\n\n")
    assert verdict.splitlines()[1].startswith("✓ Yes: better loses less than base, and is nowhere worse.")
    assert [part.splitlines()[0] for part in tables] == [
        "Messages lost after their confirm, per trial (lost_confirmed)",
        "Time without confirms for publishers, s per trial (publish_down_s)",
        "Losses of the master or leader, per trial (outages)",
    ]
    assert beside.splitlines() == [
        "Compared with base, under the same faults",
        "  rack: confirmed messages lost: less with better (-2); more with worse (+3)",
        "  rack: seconds out of use: less with better (-2); more with worse (+3)",
    ]  # fmt: skip


def test_single_design_and_few_trials_give_no_comparison():
    assert "Compared with" not in report("A study", [judged("base", "lost_confirmed", 0, 0)], "base")
    few = [judged("base", "lost_confirmed", 0, 0), judged("few", "lost_confirmed", None, None) | {"difference": 3.0}]
    assert "  rack: confirmed messages lost: no difference beyond chance" in report("A study", few, "base").splitlines()
    few = [few[0] | {"share": 0.0}, judged("few", "lost_confirmed", 1.0, 3.0) | {"share": 0.05}]
    assert "beyond chance; few lost some in 50 of 1,000 trials, base in" in report("A study", few, "base")


def test_weighted_trials_show_their_effective_number():
    plain, biased = report("A study", [ROW]), report("A study", [ROW, ROW | {"effective_trials": 333.4}])
    assert "effective" not in plain
    table = next(part for part in biased.split("\n\n") if part.startswith("Messages lost, confirmed or not"))
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
