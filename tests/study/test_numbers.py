"""Files of own numbers: read or refused, applied to a study with their sources, and priced."""

from __future__ import annotations

import copy
import json
import re
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from scenario_strategies import texts

from hawb import cli
from hawb.cli import spark as spark_commands
from hawb.scenario.dump import dump
from hawb.scenario.load import read_file
from hawb.scenario.refused import ScenarioRefused
from hawb.study import sources
from hawb.study.cells import cells_of
from hawb.study.kept import kept
from hawb.study.load import load, read_study
from hawb.study.measured import PRICES
from hawb.study.numbers import (
    ORIGINS,
    Numbers,
    Prices,
    Setting,
    laid_over,
    lay_over,
    left_out,
    read_numbers,
    settings,
)
from hawb.study.question import Study
from hawb.views.report import Report, Verdict
from hawb.views.study.study_report import origins
from hawb.views.terminal import text

STUDIES = Path(__file__).parents[2] / "data" / "studies"

OWN: dict[str, Any] = {
    "numbers": "our cluster",
    "design": {"net_ticktime": 30},
    "environment": {
        "traffic": {"publish_per_s": 5, "consume_per_s": 20, "message_size_bytes": 2048},
        "node_failures": {"every": {"mean_s": 200_000}, "repair": {"mean_s": 600}},
        "rack_failures": {"repair": {"mean_s": 7200}},
        "timing": {"fsync_s": 0.000265},
    },
    "prices": {"currency": "EUR", "node_month": 150, "downtime_hour": 500, "lost_message": 0.01, "replicated_gb": 0.02},
    "sources": {
        "design": "measured: api-nodes.json, net_ticktime",
        "environment.traffic": "measured: api-queues.json, message_stats of orders",
        "environment.traffic.consume_per_s": "assumed: four times as much",
        "environment.node_failures": "assumed: our log",
        "environment.node_failures.repair": "https://example.org/log, table 2",
        "environment.rack_failures": "assumed: the electrician",
        "environment.timing": "measured: api-nodes.json, io_sync_avg_time",
        "prices": "assumed: the controller",
    },
}

ASKED: dict[str, Any] = {
    "study": "Two copies or three?",
    "designs": {
        "two": {"queue_type": "classic", "nodes": 3, "replicas": 2, "version": "3.13"},
        "three": {"queue_type": "classic", "nodes": 5, "replicas": 3, "version": "3.13"},
    },
    "environments": {
        "rack": {
            "node_failures": {
                "every": {"mean_s": 2592000, "distribution": "weibull", "shape": 0.7}, "repair": {"mean_s": 3600},
                "controlled_share": 0.5,
            },
            "traffic": {"publish_per_s": [50] * 24, "consume_per_s": 200},
        },
        "upgrades": {
            "rolling_upgrades": {"every_days": 30, "at_hour": 3, "down_s": 120},
            "traffic": {"publish_per_s": 50, "consume_per_s": 200},
        },
    },
    "trials": 64,
    "horizon_days": 73,
    "sources": {"environments.rack": "assumed: round numbers", "environments.rack.traffic.publish_per_s": "assumed"},
}  # fmt: skip


@pytest.fixture
def study() -> Study:
    return read_study(ASKED)


def changed(path: str, value: Any) -> dict[str, Any]:
    """OWN with another value at a place; without it, if it is `...`. Keys of sources have dots: `sources/KEY`."""
    given = copy.deepcopy(OWN)
    *parts, name = path.split("/") if "/" in path else path.split(".")
    inside = given
    for part in parts:
        inside = inside[part]
    if value is ...:
        del inside[name]
    else:
        inside[name] = value
    return given


# Reading


def test_numbers_are_read_with_their_prices() -> None:
    numbers = read_numbers(OWN)
    assert numbers.environment == OWN["environment"]
    assert numbers.prices == Prices(
        currency="EUR", node_month=150, downtime_hour=500, lost_message=0.01, replicated_gb=0.02
    )
    assert read_numbers({"numbers": "none"}) == Numbers(numbers="none")


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("numbers", ..., "numbers is missing"),
        ("nubmers", "x", "did you mean numbers"),
        ("trials", 5, "trials: unknown key"),
        ("environment", None, "environment: not accepted"),
        ("environment.trafic", {}, "did you mean traffic"),
        ("environment.traffic.publish_per_s", -1, "environment.traffic.publish_per_s: not accepted\n  given: -1"),
        ("environment.traffic.publish_per_s", [1, 2], "a list of 24 of them"),
        ("environment.traffic.publish_per_s", "41", "write the number without quotes"),
        ("environment.traffic.message_size_bytes", 2.5, "bytes, a whole number"),
        ("environment.node_failures.every.mean_s", 0, "environment.node_failures.every.mean_s"),
        ("environment.node_failures.every.distribution", "normal", "accepted: exponential, weibull"),
        ("environment.timing.fsync", 1, "did you mean fsync_s"),
        ("design.nodes", 5, "accepted: net_ticktime, quorum_commands_soft_limit"),
        ("design.net_ticktime", True, "design.net_ticktime: not accepted"),
        ("prices.currency", ..., "currency is missing"),
        ("prices.currency", 5, "put it in quotes"),
        ("prices.node_month", -1, "a price, a number from 0 to 10\\*\\*12"),
        ("prices.node_months", 1, "did you mean node_month"),
        ("sources/prices", ..., "prices.node_month: a number without a source\n  given: 150\n  accepted: a source for"),
        ("sources/environment.timing", ..., "environment.timing.fsync_s: a number without a source"),
        ("sources/environment.timing", "I think", "accepted: text that begins with measured: or assumed: or https"),
        ("sources/environment.timing", "measured", "not a source"),
        ("sources/environment.timing.stop_s", "assumed: x", "a source for something that is not in the file"),
        ("environment.failure_biasing", {"times": 5}, "failure_biasing.times: a number without a source"),
        ("environment.traffic.persistent", "yes", "environment.traffic.persistent: not accepted"),
    ],
)
def test_invalid_value_is_refused_by_name(path: str, value: Any, message: str) -> None:
    with pytest.raises(ScenarioRefused) as refused:
        read_numbers(changed(path, value))
    assert re.search(message, str(refused.value)), refused.value
    assert len(str(refused.value)) < 1000


def test_source_of_a_key_covers_all_below_it() -> None:
    given = changed("environment.traffic", {"mode": "tx"})
    given["sources"] = {"environment": "assumed: all of it", "prices": "assumed: it", "design": "assumed: x"}
    assert read_numbers(given).environment["traffic"] == {"mode": "tx"}


per_s = st.floats(0, 1e9)
sourced = st.builds("{}{}".format, st.sampled_from(list(ORIGINS)), texts)
parts = st.fixed_dictionaries({}, optional={
    "traffic": st.fixed_dictionaries({}, optional={
        "publish_per_s": per_s | st.lists(per_s, min_size=24, max_size=24), "consume_per_s": per_s,
        "message_size_bytes": st.integers(0, 2**40), "persistent": st.booleans(),
        "mode": st.sampled_from(["confirm", "tx", "plain"]), "bursts": st.none(),
    }),
    "node_failures": st.fixed_dictionaries({"repair": st.fixed_dictionaries({"mean_s": st.floats(1e-6, 1e9)})}),
    "timing": st.fixed_dictionaries({"fsync_s": st.floats(0, 1e9)}),
})  # fmt: skip
prices = st.builds(
    Prices, currency=texts.filter(bool), node_month=st.floats(0, 1e12), lost_message=st.floats(0, 1e12)
)


@given(parts, st.none() | prices, texts.filter(bool), sourced, st.floats(1e-6, 1e9))
def test_numbers_round_trip(environment, prices, title, source, ticktime) -> None:
    given = {"design": {"net_ticktime": ticktime}, "environment": environment, "prices": prices}
    known = {part: source for part, value in given.items() if value}
    numbers = Numbers(numbers=title, **given, sources=known)
    assert read_file(dump(numbers) + ("" if prices else PRICES), None, read_numbers) == numbers


# Laying over


def test_numbers_override_those_of_the_study(study: Study) -> None:
    laid = laid_over(study, read_numbers(OWN))
    for environment in laid.environments.values():
        traffic = environment.traffic
        assert (traffic.publish_per_s, traffic.consume_per_s, traffic.message_size_bytes) == (5, 20, 2048)
        assert (environment.timing.fsync_s, environment.timing.network_mb_s) == (0.000265, 100)
    rack = laid.environments["rack"]
    assert (rack.node_failures.every.mean_s, rack.node_failures.every.shape) == (200_000, 0.7)
    assert (rack.node_failures.repair.mean_s, rack.node_failures.controlled_share) == (600, 0.5)
    assert {design.net_ticktime for design in laid.designs.values()} == {30}
    assert (laid.trials, laid.seed, list(laid.designs)) == (64, 0, ["two", "three"])
    assert not {cell.key for cell in cells_of(laid)} & {cell.key for cell in cells_of(study)}
    assert laid_over(laid, read_numbers(OWN)) == laid


def test_numbers_do_not_add_faults_to_a_study(study: Study) -> None:
    numbers = read_numbers(OWN)
    laid = laid_over(study, numbers)
    assert laid.environments["rack"].rack_failures is None
    assert laid.environments["upgrades"].node_failures is None
    assert left_out(study, numbers) == ["environment.rack_failures.repair.mean_s"]


def test_numbers_can_remove_faults(study: Study) -> None:
    given = changed("environment.node_failures", None)
    del given["sources"]["environment.node_failures.repair"]
    laid = laid_over(study, read_numbers(given))
    assert laid.environments["rack"].node_failures is None


def test_study_names_the_sources_of_its_numbers(study: Study) -> None:
    laid = laid_over(study, read_numbers(OWN))
    for path, source in {
        "environments.rack.traffic.publish_per_s": "measured: api-queues.json, message_stats of orders",
        "environments.upgrades.traffic.consume_per_s": "assumed: four times as much",
        "environments.rack.node_failures.repair.mean_s": "https://example.org/log, table 2",
        "environments.rack.node_failures.controlled_share": "assumed: round numbers",
        "environments.upgrades.node_failures.repair.mean_s": None,
        "designs.three.net_ticktime": "measured: api-nodes.json, net_ticktime",
    }.items():
        assert laid.source_of(path) == source, path


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "node_failures: {every: {distribution: exponential}}",
            ", line 3: environment.node_failures.every: shape: exponential has none, laid over environments.rack",
        ),
        (
            "node_failures: {power_off_share: 0.6}",
            ", line 3: environment.node_failures: controlled_share, power_off_share: add up to 1.1; accepted: at most 1"
            ", laid over",
        ),
        (
            "rolling_upgrades: {first_day: 73}",
            ": environments.upgrades.rolling_upgrades.first_day: 73 is not before the end, 73 days",
        ),
    ],
)
def test_invalid_combination_is_refused_with_its_file(
    study: Study, tmp_path: Path, line: str, message: str
) -> None:
    file = tmp_path / "own.yaml"
    file.write_text(f"numbers: ours\nenvironment:\n  {line}\nsources: {{environment: 'assumed: all'}}\n")
    with pytest.raises(ScenarioRefused) as refused:
        lay_over(study, file)
    assert str(refused.value).startswith(f"{file}{message}")


@pytest.mark.parametrize("preset", sorted(STUDIES.glob("*.yaml")), ids=lambda path: path.stem)
def test_numbers_apply_to_every_preset(preset: Path) -> None:
    given, numbers = load(preset), read_numbers(OWN)
    laid = laid_over(given, numbers)
    assert {one.traffic.publish_per_s for one in laid.environments.values()} == {5}
    for name, environment in laid.environments.items():
        was = given.environments[name]
        assert (environment.node_failures is None, environment.rack_failures is None) == (
            was.node_failures is None, was.rack_failures is None
        )  # fmt: skip


def test_the_example_of_the_readme_is_a_file_of_numbers(study: Study, tmp_path: Path) -> None:
    example, *_ = re.findall(r"```yaml\n(numbers: .*?)```", (STUDIES / "README.md").read_text(), re.DOTALL)
    (tmp_path / "own.yaml").write_text(example)
    laid, numbers = lay_over(study, tmp_path / "own.yaml")
    assert laid.environments["rack"].traffic.publish_per_s == numbers.environment["traffic"]["publish_per_s"]
    assert numbers.prices.currency == "EUR"


# What of it was measured, and what is assumed


def test_every_used_number_is_listed_once_with_its_source(study: Study) -> None:
    numbers = read_numbers(OWN)
    rows = settings(laid_over(study, numbers), numbers)
    by_name = {one.name: one for one in rows}
    assert len(by_name) == len(rows)
    assert by_name["traffic.publish_per_s"] == Setting(
        "traffic.publish_per_s", "5", "measured", "api-queues.json, message_stats of orders"
    )
    assert by_name["rack: node_failures.controlled_share"] == Setting(
        "rack: node_failures.controlled_share", "0.5", "assumed", "round numbers"
    )
    assert by_name["upgrades: rolling_upgrades.down_s"].origin == "not told"
    assert by_name["rack: node_failures.repair.mean_s"].reason == "https://example.org/log, table 2"
    assert by_name["prices.node_month"] == Setting("prices.node_month", "150 EUR", "assumed", "the controller")
    assert by_name["design.net_ticktime"].origin == "measured"
    assert not [name for name in by_name if "rack_failures" in name or "upgrades: node_failures" in name]


def test_number_equal_to_the_default_is_listed_too(study: Study) -> None:
    numbers = read_numbers(changed("environment.traffic.message_size_bytes", 1024))
    (row,) = [one for one in settings(laid_over(study, numbers), numbers) if one.name.endswith("message_size_bytes")]
    assert (row.value, row.origin) == ("1024", "measured")


def test_the_report_ends_with_two_lists(study: Study) -> None:
    numbers = read_numbers(OWN)
    parts = origins("our \x1b cluster", settings(laid_over(study, numbers), numbers))
    shown = text(Report("", "", Verdict("yes", "x"), parts=parts))
    assert "\x1b" not in shown
    measured, assumed = shown.index("Measured, of"), shown.index("Assumed, of")
    assert measured < shown.index("traffic.publish_per_s") < assumed < shown.index("traffic.consume_per_s")
    assert re.search(r"prices.downtime_hour +500 EUR +the controller", shown)


# On Spark


def command(*arguments: object):
    return CliRunner().invoke(cli.main, ["study", *map(str, arguments)], catch_exceptions=False)


@pytest.mark.full
@pytest.mark.spark
def test_command_answers_for_own_numbers(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spark_commands, "spark_session", lambda master, settings: nullcontext(spark))
    monkeypatch.setattr("hawb.study.sensitivity.WITHIN_S", 0.0)  # nothing is varied
    file, own, output = tmp_path / "two-or-three.yaml", tmp_path / "own.yaml", tmp_path / "out"
    file.write_text(json.dumps(ASKED | {"horizon_days": 10}))
    own.write_text(json.dumps(OWN))
    result = command(file, "--output", output, "--numbers", own, "--keep", tmp_path / "results.json")
    assert result.exit_code == 0
    said = f"{own}: not used, because no environment of the study has it: environment.rack_failures.repair.mean_s"
    assert said in result.stderr
    answer, _, listed = result.stdout.partition("Measured, of our cluster")
    assert "Price, per year (price_per_year), EUR\n" in answer and "more than two" in answer
    assert listed.index("traffic.publish_per_s") < listed.index("Assumed, of our cluster")
    results = kept("results", tmp_path)
    assert results.command == f"hawb study {file} --output {output} --numbers {own} --keep {tmp_path / 'results.json'}"
    assert {row["measure"] for row in results.estimates} >= {"price_per_year", "lost_confirmed"}
    trials = spark.read.parquet(str(output / "trials"))
    assert (trials.count(), "price_per_year" in trials.columns) == (4 * 64, False)
    priced = changed("prices.node_month", 1000)
    own.write_text(json.dumps(priced))
    again = command(file, "--output", output, "--numbers", own, "--json")
    rows = [row for row in json.loads(again.stdout) if row["measure"] == "price_per_year"]
    assert {(row["design"], row["environment"]) for row in rows} == {
        (design, environment) for design in ("two", "three") for environment in ("rack", "upgrades")
    }
    assert all(row["mean"] >= 12_000 * (5 if row["design"] == "three" else 3) for row in rows)
    assert spark.read.parquet(str(output / "trials")).count() == 4 * 64
    sources.register(spark)
    read = spark.read.format("hawb-trials").option("numbers", str(own)).load(str(file))
    assert sorted(map(tuple, read.collect())) == sorted(map(tuple, trials.select(read.columns).collect()))


def test_spark_sources_accept_numbers(tmp_path: Path, study: Study) -> None:
    own = tmp_path / "own.yaml"
    own.write_text(json.dumps(OWN))
    laid = laid_over(study, read_numbers(OWN))
    asked, label = sources.from_options({"study": sources.as_option(study), "numbers": str(own), "trials": "3"})
    assert (asked.environments, asked.designs, asked.trials, label) == (laid.environments, laid.designs, 3, "study")
    with pytest.raises(ScenarioRefused, match=r"none\.yaml"):
        sources.from_options({"study": sources.as_option(study), "numbers": str(tmp_path / "none.yaml")})


def test_invalid_numbers_are_refused_before_spark_starts(tmp_path: Path) -> None:
    file, own = tmp_path / "study.yaml", tmp_path / "own.yaml"
    file.write_text(json.dumps(ASKED))
    own.write_text("numbers: ours\nenvironment:\n  timing: {fsync_s: 0.1}\n")
    result = command(file, "--output", tmp_path / "out", "--numbers", own)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"{own}, line 3: environment.timing.fsync_s: a number without a source")
