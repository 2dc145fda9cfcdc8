"""The controls of a study: which ones hawb chooses, what is played, and what becomes of the estimates."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from json_schemas import validate
from msgspec.structs import replace
from pyspark.sql import SparkSession

from hawb import cli
from hawb.cli import spark as spark_commands
from hawb.scenario.refused import ScenarioRefused
from hawb.study import histories
from hawb.study.control_variates import Pairs
from hawb.study.controls import Chosen, chosen, controlled, of_study, trials_of
from hawb.study.environment import Environment
from hawb.study.kernel import setup
from hawb.study.load import load, read_study
from hawb.study.numbers import laid_over, read_numbers
from hawb.study.question import Study
from hawb.study.sensitivity import DEFAULT, varied
from hawb.study.sources import as_option

FILE = """\
study: Clients on every node
designs:
  mnesia: {queue_type: quorum, nodes: 3, version: "3.13", cluster_partition_handling: pause_minority}
  quorum: {queue_type: quorum, nodes: 3, version: "3.13", arguments: {x-max-length: 1000000}}
environments:
  stops:
    node_failures: {every: {mean_s: 864000}, repair: {mean_s: 3600}}
    traffic: {publish_per_s: 5, consume_per_s: 20}
  cuts:
    partitions: {every: {mean_s: 864000}, lasts: {mean_s: 900}}
    traffic: {publish_per_s: 5, consume_per_s: 20, prefetch: 100, clients: every_node}
trials: 64
horizon_days: 30
control: {trials: 2000, pairs: 32}
"""


def asked(**more: Any) -> Study:
    given = {"trials": 2_000, "pairs": 32} | more
    return replace(load(FILE), control=None) if not given else read_study(_values() | {"control": given})


def _values() -> dict[str, Any]:
    return json.loads(as_option(load(FILE)))


# The choice


def test_control_is_the_same_without_what_the_kernel_refuses():
    study = asked()
    found = of_study(study)
    assert {(design, place): one.words for place, cells in found.items() for design, one in cells.items()} == {
        ("quorum", "stops"): "no arguments",
        ("mnesia", "cuts"): "clients on one node",
        ("quorum", "cuts"): "no arguments, clients on one node",
    }  # fmt: skip
    for place, cells in found.items():
        for design, one in cells.items():
            assert setup.refused(one.design, one.environment) is None
            given = study.environments[place], study.designs[design].nodes
            for trial in range(3):
                own, other = (histories.history(around, given[1], study.seed, trial, 30 * histories.DAY_US)
                              for around in (given[0], one.environment))  # fmt: skip
                assert set(own[:, 0]) == set(other[:, 0])


def test_control_of_the_study_comes_first():
    cuts = json.loads(as_option(load(FILE)))["environments"]["cuts"]
    other = cuts | {"traffic": {"publish_per_s": 7, "consume_per_s": 30, "clients": "every_node"}}
    study = asked(environments={"cuts": other})
    found = chosen(study, "mnesia", "cuts")
    assert found is not None
    assert (found.words, found.environment.traffic.publish_per_s) == ("of the study, clients on one node", 7)
    design = _values()["designs"]["quorum"] | {"version": "3.10"}
    found = chosen(asked(designs={"quorum": design}), "quorum", "stops")
    assert found is not None
    assert (found.design.version, found.words) == ("3.10", "of the study, no arguments")


def test_cluster_that_the_kernel_plays_or_nothing_resembles_has_no_control():
    assert chosen(asked(), "mnesia", "stops") is None
    values = _values() | {"control": {"trials": 2_000, "pairs": 32}}
    values["environments"]["stops"]["traffic"]["consume_per_s"] = 0
    assert chosen(read_study(values), "mnesia", "stops") is None
    assert chosen(replace(asked(), control=None), "mnesia", "cuts") is None


def test_designs_without_a_refusal_are_their_own_control():
    study = asked()
    controls = of_study(study)["stops"]
    found = list(trials_of(study, "stops", controls))
    assert [(list(one.designs), one.trials) for one in found] == [(["mnesia", "quorum"], 2_000)]
    assert found[0].environments["stops"] == study.environments["stops"]
    assert [list(one.designs) for one in trials_of(study, "cuts", of_study(study)["cuts"])] == [["mnesia", "quorum"]]


@pytest.mark.parametrize(
    ("control", "place", "words"),
    [
        ({"designs": {"other": {"queue_type": "quorum", "nodes": 3}}}, "control.designs", "mnesia, quorum"),
        ({"environments": {"power": {"traffic": {"publish_per_s": 1, "consume_per_s": 1}}}}, "control.environments",
         "stops, cuts"),
        ({"designs": {"quorum": {"queue_type": "quorum", "nodes": 5}}}, "control.designs.quorum.nodes", "accepted: 3"),
        ({"designs": {"quorum": {"queue_type": "classic", "nodes": 3, "replicas": 2, "version": "4.3"}}},
         "control.designs.quorum.replicas", "does not mirror"),
        ({"trials": 10}, "control.trials", "1,000"),
        ({"pairs": 8}, "control.pairs", "32"),
    ],
)  # fmt: skip
def test_control_that_cannot_be_one_is_refused(control: dict[str, Any], place: str, words: str):
    with pytest.raises(ScenarioRefused, match=words) as refused:
        asked(**control)
    assert refused.value.field == place


def test_control_needs_as_many_trials_as_the_study():
    values = _values() | {"control": {"trials": 2_000}, "trials": 2_001}
    with pytest.raises(ScenarioRefused, match="fewer trials of the control"):
        read_study(values)


def test_biased_failures_have_no_control():
    values = _values() | {"control": {"trials": 2_000}}
    stops = values["environments"]["stops"]
    stops["failure_biasing"] = {"times": 10}
    assert list(of_study(read_study(values))) == ["cuts"]
    values["control"]["environments"] = {"stops": stops}
    with pytest.raises(ScenarioRefused, match="a control with biased failures") as refused:
        read_study(values)
    assert refused.value.field == "control.environments.stops.failure_biasing"


def test_control_changes_neither_trials_nor_other_questions():
    assert as_option(asked()) == as_option(asked(trials=3_000))
    assert varied(asked(), DEFAULT, 64).control is None
    numbers = read_numbers({
        "numbers": "own", "environment": {"node_failures": {"every": {"mean_s": 9e5}}},
        "sources": {"environment.node_failures": "assumed: a test"},
    })  # fmt: skip
    stops = {"stops": _values()["environments"]["stops"]}
    laid = laid_over(asked(environments=stops), numbers).control
    assert laid is not None
    failures = laid.environments["stops"].node_failures
    assert failures is not None
    assert failures.every.mean_s == 9e5


# The estimates


def rows_of(measure: str = "publish_down_s") -> list[dict[str, Any]]:
    plain = {"environment": "cuts", "measure": measure, "trials": 64, "mean": 1.0, "difference": 0.5}
    elsewhere = plain | {"environment": "calm", "design": "quorum"}
    return [plain | {"design": "mnesia"}, plain | {"design": "quorum"}, elsewhere]


def estimated(noise: float) -> tuple[list[dict[str, Any]], np.ndarray]:
    """Return the rows of a study in which a quorum queue is down for twice as long as its control, up to noise."""
    random, trials = np.random.default_rng(3), 2_000
    values = random.normal(100, 20, trials)
    control = {"trial": np.arange(trials), "publish_down_s": values}
    strata = np.arange(trials) % 4
    pairs = Pairs(strata, np.arange(128))
    engine = {"publish_down_s": (2 * values + random.normal(0, noise, trials))[:128]}
    given = Environment(traffic=load(FILE).environments["cuts"].traffic)
    chosen = Chosen(load(FILE).designs["mnesia"], given, "clients on one node")
    rows = controlled(rows_of(), "cuts", {"quorum": chosen}, {"mnesia": control, "quorum": control},
                      {"quorum": engine}, pairs, "mnesia")  # fmt: skip
    return rows, values


def test_mean_by_a_control_replaces_the_plain_one_and_the_difference():
    (own, quorum, elsewhere), values = estimated(noise=1.0)
    assert (quorum["control"], quorum["trials"], quorum["control_trials"]) == ("clients on one node", 128, 2_000)
    assert quorum["mean"] == pytest.approx(2 * values.mean(), abs=0.5)
    assert quorum["mean_low"] < quorum["mean"] < quorum["mean_high"] < quorum["mean_low"] + 5
    assert quorum["gain"] > 10
    assert (own["mean"], own["trials"], "control" in own) == (pytest.approx(values.mean()), 2_000, False)
    assert quorum["difference"] == pytest.approx(quorum["mean"] - own["mean"])
    assert quorum["difference_low"] < quorum["difference"] < quorum["difference_high"]
    assert elsewhere == rows_of()[2]


def test_control_that_does_not_help_leaves_the_plain_mean():
    (_, quorum, _), _ = estimated(noise=200.0)
    assert quorum["gain"] < 1.5
    about = ("gain", "control", "control_trials", "unseen_by_control")
    assert {name: value for name, value in quorum.items() if name not in about} == rows_of()[1]


def test_failures_that_the_control_never_had_are_counted_and_leave_the_plain_mean():
    """The control fails in a tenth of the years, and the engine's cluster also, or only, in another tenth.

    Each tenth is a stratum of its own, so that the gain is large.
    """
    trials = 2_000
    tenth = np.arange(trials) % 10
    lost, other = 100.0 * (tenth == 0), 5.0 * (tenth == 1)
    control = {"trial": np.arange(trials), "publish_down_s": lost, "lost_confirmed": np.zeros(trials),
               "metadata_down_s": other}  # fmt: skip
    chosen = Chosen(load(FILE).designs["mnesia"], load(FILE).environments["cuts"], "clients on one node")

    def quorum(values: np.ndarray, measure: str = "publish_down_s") -> dict[str, Any]:
        of_controls = {"mnesia": control, "quorum": control}
        of_engine = {"quorum": {measure: values[:128]}}
        pairs = Pairs(np.minimum(tenth, 2), np.arange(128))
        return controlled(rows_of(measure), "cuts", {"quorum": chosen}, of_controls, of_engine, pairs, "mnesia")[1]

    assert quorum(2 * lost)["unseen_by_control"] == 0
    assert quorum(other, "metadata_down_s")["unseen_by_control"] == 0
    assert quorum(lost, "lost_confirmed")["unseen_by_control"] == 0  # the control was down in these years
    some, alone = quorum(2 * lost + other), quorum(other)
    assert (some["unseen_by_control"], some["trials"], some["mean"]) == (13, 128, pytest.approx(20.5))
    assert alone["unseen_by_control"] == 13 and alone["gain"] > 10
    assert (alone["mean"], alone["trials"]) == (1.0, 64)  # those of the plain trials


# Played


@pytest.mark.full
@pytest.mark.spark
@pytest.mark.kernel
def test_study_is_played_with_its_controls_and_resumes(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(spark_commands, "spark_session", lambda master, settings: nullcontext(spark))
    monkeypatch.setattr("hawb.study.sensitivity.WITHIN_S", 0.0)  # nothing is varied
    file, page = tmp_path / "study.yaml", tmp_path / "answer.html"
    stops = FILE[FILE.index("  stops:") : FILE.index("  cuts:")]
    cuts = FILE.replace(stops, "").replace("horizon_days: 30", "horizon_days: 5")
    file.write_text(cuts)

    def command(*more: object) -> Any:
        given = ["study", str(file), "--output", str(tmp_path / "out"), *map(str, more)]
        result = CliRunner().invoke(cli.main, given, prog_name="hawb")
        assert result.exit_code == 0, result.output
        return result

    result = command("-o", page)
    assert "What the control adds" in result.stdout and "What the control adds" in page.read_text()
    drawn = pq.read_table(tmp_path / "out" / "drawn" / "trials", columns=["trial"])
    numbers = drawn["trial"].to_pylist()
    assert all(numbers.count(number) == 2 for number in numbers)  # each of both designs
    assert min(numbers) >= 64 and len(numbers) >= 32
    again = command("--json")
    rows = json.loads(again.stdout)
    validate("study", rows)
    [metadata] = (row for row in rows if (row["design"], row["measure"]) == ("mnesia", "metadata_down_s"))
    assert metadata["control"] == "clients on one node"
    assert (metadata["trials"], metadata["control_trials"]) == (64 + len(numbers) // 2, 2_000)
    assert metadata["gain"] > 10
    assert pq.read_table(tmp_path / "out" / "drawn" / "trials", columns=["trial"]).num_rows == len(numbers)
    file.write_text(cuts.replace("pairs: 32", "pairs: 40"))
    command()
    more = pq.read_table(tmp_path / "out" / "drawn" / "trials", columns=["trial"])["trial"].to_pylist()
    assert all(more.count(number) == 2 for number in more)
    assert set(numbers) < set(more)
