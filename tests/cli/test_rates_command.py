"""`hawb rates` as a user meets it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from made_up_rates import KNOWN

from hawb.cli import main
from hawb.incident import made_up_logs
from hawb.study.load import load
from hawb.study.numbers import lay_over

STUDY = Path(__file__).parents[2] / "data" / "studies" / "monthly-failures.yaml"


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fleet")
    made_up_logs.write(folder, KNOWN, 4, 4, days=200, seed=1, before_days=100)
    return folder


def rated(*arguments: object):
    return CliRunner().invoke(main, ["rates", *map(str, arguments)], catch_exceptions=False)


def test_verdict_comes_first_and_numbers_apply_to_a_study(fleet, tmp_path):
    own, page = tmp_path / "own.yaml", tmp_path / "rates.html"
    result = rated(fleet, "--numbers", own, "-o", page)
    assert result.exit_code == 0
    assert result.stdout.splitlines()[1].startswith("✓ Yes: a node fails every ") and "4 clusters" in result.stdout
    shown = " ".join(result.stdout.split())
    assert f"hawb replicas and hawb upgrade take --numbers {own} together with a cluster's files too" in shown
    assert "rack_failures" in result.stdout
    study, numbers = lay_over(load(STUDY), own)
    assert study.environments["monthly"].node_failures.every.mean_s > 3e6 and len(numbers.draws) == 32
    assert "<svg" in page.read_text() and "<script" not in page.read_text()
    assert rated(fleet, "--numbers", own).exit_code == 2, "nobody's numbers are written over"


def test_json_has_rates_shares_and_numbers(fleet):
    answer = json.loads(rated(fleet, "--json").stdout)
    assert (answer["clusters"], answer["nodes"], answer["groups"]) == (4, 4, 2)
    [alone] = [one for one in answer["rates"] if one["kind"] == "time_to_failure"]
    assert alone["mean_low_s"] < alone["mean_s"] < alone["mean_high_s"] and alone["open"] >= 1
    assert answer["numbers"]["environment"]["node_failures"]["every"]["distribution"] == alone["distribution"]


def test_logs_without_a_failure_give_no_rate(tmp_path):
    (tmp_path / "rabbit@a.log").write_text(
        "2025-01-01 00:00:00.000001+00:00 [info] <0.1.0> Server startup complete; 3 plugins started.\n"
        "2025-03-01 00:00:00.000001+00:00 [info] <0.1.0> Adding vhost 'x' (description: '', tags: [])\n"
    )
    result = rated(tmp_path)
    assert result.exit_code == 0 and "No: no node failed spontaneously in 0.16" in result.stdout


def test_page_states_that_files_without_logs_give_no_rate(tmp_path):
    listing, page = tmp_path / "rates-1.log", tmp_path / "page.html"
    listing.write_text('[\n{"name": "m2", "node": "n3@10.77.0.3", "state": "running"},\n')
    result, answer = rated(listing, "-o", page), json.loads(rated(listing, "--json").stdout)
    said = " ".join(result.stdout.split())
    assert result.exit_code == 0
    for part in ("no log shows when a node started or stopped", " is not a RabbitMQ log: none of its 2 lines"):
        assert part in said and part in page.read_text(encoding="utf-8")
    assert (answer["clusters"], answer["rates"], answer["numbers"]["draws"]) == (0, [], [])
    assert "hawb replicas" not in said and "No figure" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize(("given", "said"), [("none", "No such file"), (".", "no log")])
def test_file_that_is_not_a_log_is_refused(tmp_path, given, said):
    result = rated(tmp_path / given)
    assert result.exit_code == 2 and said in result.stderr


def test_span_is_given_by_its_ends(fleet):
    output = rated(fleet / "cluster-0000", "--since", "2025-02-01", "--until", "2025-03-31").stdout
    assert "from 2025-02-01 00:00:00 until 2025-03-31 23:59:59: 1 cluster" in " ".join(output.split())


def test_time_of_day_is_ambiguous_over_months(fleet):
    result = rated(fleet, "--since", "08:00")
    assert result.exit_code == 2 and "--since: 08:00 has no date" in result.stderr


def test_advised_study_exists_from_any_folder(fleet, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    [study] = re.findall(r"\$ hawb study (\S+) --numbers", rated(fleet).stdout)
    assert Path(study).is_file()
