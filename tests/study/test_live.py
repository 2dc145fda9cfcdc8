"""Live studies, stored results of larger ones, and their tables, figures and panels."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from samples import sample

from hawb.lab.study_panel import (
    AWAY,
    CONTROLLED,
    COPIES,
    FAILURES,
    PROMOTE,
    PUBLISHED,
    REPAIR,
    TRIALS,
    Knob,
    StudyPanel,
)
from hawb.scenario.refused import ScenarioRefused
from hawb.study import live as room
from hawb.study.estimates import compared
from hawb.study.intervals import are_worth_it, trials_for_mean
from hawb.study.kept import COLUMNS, MEASURES, as_text, kept, question
from hawb.study.live import changed, live, smaller
from hawb.study.load import load, read_study
from hawb.study.question import Study
from hawb.study.trial_record import Record
from hawb.views.study.estimate_figures import differences_figure, estimates_figure
from hawb.views.study.estimates import (
    BLOCKED,
    DOWN,
    LOSS,
    LOST,
    Shown,
    cell_value,
    cells,
    estimates_in_words,
    estimates_table,
    number,
)

STUDIES = Path(__file__).parents[2] / "data" / "studies"
RESULTS = sorted(file.stem for file in (STUDIES / "results").glob("*.json"))
QUESTION = {
    "study": "two | three",
    "trials": 70,
    "horizon_days": 30,
    "designs": {
        "two": {"queue_type": "classic", "nodes": 3, "replicas": 2, "version": "3.10"},
        "quorum": {"queue_type": "quorum", "nodes": 3, "replicas": 3, "version": "3.10"},
    },
    "environments": {
        "rough": {
            "node_failures": {"every": {"mean_s": 2e5}, "repair": {"mean_s": 3600}},
            "traffic": {"publish_per_s": 5, "consume_per_s": 10},
        },
        "calm": {"traffic": {"publish_per_s": 5, "consume_per_s": 10}},
    },
}


def about(value: float, rel: float = 1e-6) -> object:
    return pytest.approx(value, rel=rel, abs=1e-9)


@pytest.fixture
def study() -> Study:
    return read_study(QUESTION)


def made_up(study: Study, design: str, environment: str, first: int, count: int) -> pa.RecordBatch:
    """Return synthetic records without equal measures."""
    numbers = range(first, first + count)
    columns = {"trial": list(numbers)}
    for place, field in enumerate(msgspec.structs.fields(Record)):
        values = [(number * (place + 3)) % 7 * (number % 3 == 0) for number in numbers]
        columns[field.name] = [value / 4 for value in values] if field.name.endswith("_s") else values
    if environment == "rough":
        columns["weight"] = [(number * 5) % 11 / 5 for number in numbers]
    return pa.RecordBatch.from_pydict(columns)


@pytest.mark.spark
@pytest.mark.parametrize("around", ["calm", "rough"])
@pytest.mark.parametrize("trials", sample([40, 100, 1_000]))
def test_live_study_has_the_estimates_of_spark(
    study: Study, trials: int, around: str, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "records", made_up)
    asked = smaller(study, trials, ["two"], [around])
    frame = spark.createDataFrame(made_up(asked, "two", around, 0, trials).to_pylist())
    rows = frame.selectExpr("*", "'two' AS design", f"'{around}' AS environment")
    expected = {row["measure"]: row for row in compared(rows, "two", in_batches=True)}
    found = {row["measure"]: row for row in live(asked, in_batches=True)}
    assert found.keys() == expected.keys()
    for measure, row in found.items():
        for name, value in row.items():
            wanted = expected[measure][name]
            assert value == (about(wanted) if isinstance(wanted, float | list) else wanted), measure


def test_live_study_is_reproducible(study: Study) -> None:
    asked = smaller(study, 200, environments=["rough"])
    rows = live(asked)
    assert rows == live(asked)
    assert cells(rows) == [("rough", "two"), ("rough", "quorum")]
    assert 0 < cell_value(rows, "quorum", "rough", DOWN)[0] < cell_value(rows, "quorum", "rough", DOWN)[2]
    with pytest.raises(KeyError):
        cell_value(rows, "quorum", "calm", DOWN)


def test_changed_numbers_change_the_study(study: Study) -> None:
    path = ("environments", "*", "node_failures", "every", "mean_s")
    repair = ("environments", "calm", "node_failures", "repair")
    other = changed(study, {path: 1000.0, ("trials",): 5, repair: {"mean_s": 9.0}})
    assert [each.node_failures.every.mean_s for each in other.environments.values()] == [1000, 1000]
    assert (other.trials, study.trials) == (5, 70)
    with pytest.raises(ScenarioRefused, match="trials"):
        changed(study, {("trials",): 0})


def test_stored_results_round_trip(study: Study, tmp_path: Path) -> None:
    rows = live(study)
    text = as_text(study, "hawb study x", rows, 280, 3.21, "a")
    (tmp_path / "small.json").write_text(text, encoding="utf-8")
    read = kept("small", tmp_path)
    assert (read.question, read.played_s, read.trials, read.baseline) == (question(study), 3.2, 70, "a")
    assert "70 trials of 30 days in each cell; 280 trials in 3 s on" in str(read)
    assert len(read.rows) == 4 * len(MEASURES)
    assert cells(read.estimates) == [(around, design) for around in study.environments for design in study.designs]
    for row in read.estimates:
        (same,) = (each for each in rows if all(each[name] == row[name] for name in COLUMNS[:3]))
        assert {name: row[name] for name in same} == {
            name: about(value, 1e-3) if name in COLUMNS[3:] and value is not None else value
            for name, value in same.items()
        }
        assert row["difference"] is None  # trials without Spark are compared with none


@pytest.mark.parametrize("name", RESULTS)
def test_stored_results_belong_to_the_current_study(name: str) -> None:
    """After changing a study run `make studies`."""
    study, results = load(STUDIES / f"{name}.yaml"), kept(name)
    assert results.question == question(study)
    assert {(row["design"], row["environment"]) for row in results.estimates} == set(study.cells)
    assert (STUDIES / "results" / f"{name}.json").stat().st_size < 30_000


@pytest.mark.parametrize("name", RESULTS)
def test_stored_means_have_an_interval_or_the_number_of_trials_it_takes(name: str) -> None:
    """The rule of `ends_of_mean` holds for the stored digits; numbers near its bound may be on either side."""
    for row in kept(name).estimates:
        mean, low, high, trials = row["mean"], row["mean_low"], row["mean_high"], row["trials"]
        is_weighted = row["effective_trials"] != trials
        if low is None:
            assert high is None
            assert row["trials_for_mean"] is None or row["trials_for_mean"] > trials * 0.99
        else:
            takes = trials_for_mean(mean, max(high - mean, mean - low), trials, 1.0 if is_weighted else row["share"])
            assert takes <= trials * 1.01 and row["trials_for_mean"] is None and row["share"]
            assert are_worth_it(trials, row["effective_trials"])


def test_changed_study_has_another_digest(study: Study) -> None:
    others = [changed(study, {place: value}) for place, value in (
        (("trials",), 71), (("seed",), 1), (("horizon_days",), 31.0), (("designs", "two", "nodes"), 4),
        (("environments", "calm", "traffic", "publish_per_s"), 6.0),
    )]  # fmt: skip
    assert len({question(each) for each in (study, *others)}) == 6


def estimate(design: str, value: float, low: float | None, high: float | None, measure: str = "queue_down_s") -> dict:
    """Return a row with the same numbers as mean and as share."""
    ends = {"": value, "_low": low, "_high": high}
    both = {f"{kind}{end}": number for kind in ("mean", "share") for end, number in ends.items()}
    return {"design": design, "environment": "rack", "measure": measure, "trials": 100} | both


def test_a_table_and_words_with_intervals() -> None:
    rows = [estimate("a", 60, -30, 90), estimate("b", 0.3, None, None), estimate("c", 0, 0, 0)]
    rows += [estimate("d", 12, 12, 12)]
    rows += [estimate("e", 60, None, None) | {"trials_for_mean": 12_345.0}]
    rows += [estimate(name, 0.25, 0.1, 0.31, "lost_confirmed") for name in "abcde"]
    table = estimates_table(rows, [DOWN, LOSS])
    assert list(table[DOWN.title]) == ["1.00 (0 to 1.50)", "< 0.01", "0", "0.200", "1.00 (takes 13,000 trials)"]
    assert set(table[LOSS.title]) == {"25.0 % (10.0 to 31.0 %)"}
    words = estimates_in_words(rows, [DOWN, LOSS]).splitlines()
    assert words[:2] == ["rack: minutes out of use a year; years with a loss", "  a: 1.00; 25.0 %"]


IN_WORDS = [(0, "0"), (0.01234, "0.0123"), (7.5, "7.50"), (99_960, "100,000"), (61.25, "61.2")]


@pytest.mark.parametrize(("value", "text"), IN_WORDS)
def test_means_have_three_digits(value: float, text: str) -> None:
    assert number(value) == text


def test_a_figure_has_a_mark_and_a_number_for_each_cell() -> None:
    rows = [estimate("a", 60, 30, 90), estimate("b", 0, 0, 0), estimate("c", 60_000, 59_000, 61_000)]
    figure = estimates_figure(rows, [DOWN], {"b": "quorum"})
    (axes,) = figure.axes
    assert [line.get_marker() for line in axes.lines] == ["s", "H", "s"]
    assert [text.get_text() for text in axes.texts] == ["rack", "1.00", "0", "1,000"]
    assert axes.get_xscale() == "symlog"
    faces = [line.get_markerfacecolor() == line.get_color() for line in axes.lines]
    assert faces == [True, False, True]


def test_a_mean_without_an_interval_has_a_star_and_no_line() -> None:
    rows = [estimate("a", 60, 30, 90), estimate("b", 120, None, None) | {"trials_for_mean": 12_345.0}]
    figure = estimates_figure(rows, [DOWN])
    (axes,) = figure.axes
    assert [text.get_text() for text in axes.texts] == ["rack", "1.00", "2.00 *"]
    lines = [segment[:, 0].tolist() for lines in axes.collections[1:] for segment in lines.get_segments()]
    assert lines == [[0.5, 1.5], [2, 2]]
    assert "* no interval: takes up to 13,000 trials" in figure.texts[-1].get_text().replace("\n", " ")
    (axes,) = estimates_figure(rows, [Shown("queue_down_s", "share", share=True)]).axes
    assert "*" not in "".join(text.get_text() for text in axes.texts)


def test_measure_without_events_is_in_the_note() -> None:
    rows = [estimate("a", 60, 30, 90), estimate("b", 60_000, 59_000, 61_000)]
    rows += [estimate(name, 0, 0, 0, "sync_blocked_s") for name in "ab"]
    figure = estimates_figure(rows, [DOWN, BLOCKED])
    (axes,) = figure.axes
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["0", "1", "10", "100", "1,000"]
    assert f"no design has any {BLOCKED.title}" in figure.texts[-1].get_text().replace("\n", " ")
    (axes,) = estimates_figure(rows[2:], [BLOCKED]).axes
    (axes,) = estimates_figure([estimate("a", 6_000, 3_000, 9_000)], [DOWN]).axes
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["0", "40", "80", "120"]


def test_differences_have_signs_and_the_title_names_the_largest() -> None:
    rows = [estimate("base", 0, 0, 0), *(estimate(name, 0, 0, 0) for name in "abc")]
    for row, more in zip(rows, (0.0, -6_000.0, 60.0, -1e-14), strict=True):
        row |= {"difference": more, "difference_low": more - 600, "difference_high": more + 600}
    figure = differences_figure(rows, [DOWN], "base")
    assert [text.get_text() for text in figure.axes[0].texts] == ["rack", "-100", "+1.00", "< 0.01"]
    assert figure.get_suptitle() == "In rack, a has 100 fewer minutes out of use a year than base."
    assert differences_figure([rows[0], rows[2]], [DOWN], "base").get_suptitle() == (
        "No design differs from base beyond chance."
    )


def test_panel_plays_the_chosen_study(study: Study) -> None:
    panel = StudyPanel(smaller(study, 64, environments=["rough"]), [LOSS, LOST, DOWN, BLOCKED],
                       [FAILURES, REPAIR, CONTROLLED, PUBLISHED, AWAY, TRIALS])  # fmt: skip
    assert panel.answer.value == ""
    panel.choices[0].value = 7 * 86_400
    panel.choices[4].value = None
    panel.choices[5].value = 64
    asked = panel.asked.environments["rough"]
    assert (asked.node_failures.every.mean_s, asked.traffic.consumer_outages) == (604_800, None)
    panel.play()
    assert "<table" in panel.answer.value and 'alt="rough: years with a loss;' in panel.answer.value
    panel.knobs = [Knob("hours", ("horizon_days",), {"none": 0}, "none")]
    panel.choices = panel.choices[:1]
    panel.choices[0].options = [("none", 0)]
    panel.play()
    assert "horizon_days" in panel.answer.value and "<table" not in panel.answer.value


@pytest.mark.parametrize("name", ["policies", "rare-losses"])
def test_panel_starts_with_the_designs_of_the_study(name: str) -> None:
    asked = load(STUDIES / f"{name}.yaml")
    knobs = [COPIES, PROMOTE] if name == "rare-losses" else [COPIES]
    panel = StudyPanel(asked, [LOSS], knobs)
    assert {design.replicas for design in panel.asked.designs.values()} == {2}
    for place, knob in enumerate(knobs):
        panel.choices[place].value = list(knob.choices.values())[-1]
    assert {design.replicas for design in panel.asked.designs.values()} == {3}
    if PROMOTE in knobs:
        keys = {design.policy["ha-promote-on-failure"] for design in panel.asked.designs.values()}
        assert keys == {"when-synced"}
