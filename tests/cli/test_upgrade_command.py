"""`hawb upgrade`: output files, exit status and options."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from msgspec.structs import replace
from upgrade_clusters import ALL, DATA, cluster, mirrored, quorum

from hawb.cli import main
from hawb.scenario.dump import dump
from hawb.scenario.load import read_scenario
from hawb.scenario.run import Run


def command(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["upgrade", *map(str, arguments)], catch_exceptions=False)


def file_of(folder: Path, run: Run) -> Path:
    file = folder / "cluster.yaml"
    file.write_text(dump(run.scenario))
    return file


def test_the_command_writes_table_runbook_rehearsal_and_figure(tmp_path: Path):
    run = cluster(mirrored("ha"), quorum("qq"), ha=ALL | {"ha-promote-on-shutdown": "always"})
    file = file_of(tmp_path, run)
    book, again, figure, report = (tmp_path / name for name in ("book.md", "again.yaml", "plan.svg", "plan.html"))
    done = command(file, "--runbook", book, "--scenario", again, "--gantt", figure, "-o", report)
    assert report.read_text().count("<h2>") == 8 and '<svg role="img"' in report.read_text()
    assert done.exit_code == 0
    assert "Kubernetes: in reverse ordinal order, with only the readiness probe" in done.stdout
    assert "tried every order and every wait" in done.stdout
    assert CliRunner().invoke(main, ["check", str(again)]).exit_code == 0
    assert book.read_text().startswith("# Rolling upgrade: x\n") and "<svg" in figure.read_text()
    answer = json.loads(command(file, "--json").stdout)
    lost = [plan["prediction"]["lost"] for plan in (answer["plan"], *answer["others"])]
    assert (answer["exact"], lost) == (True, [0, 0, 1000, 1000, 1000])
    assert command(file, "--json").stdout == command(file, "--json").stdout


def test_the_command_takes_an_export(tmp_path: Path):
    real = DATA / "real"
    files = [real / name for name in ("definitions.json", "api-queues.json", "api-nodes.json")]
    done = command(*files, "--scenario", tmp_path / "again.yaml", "--away-s", 0)
    assert done.exit_code == 1  # transient messages of a queue without mirrors
    assert "scenario's defaults are used" in done.stdout.splitlines()[-1] and done.stderr == ""
    assert CliRunner().invoke(main, ["check", str(tmp_path / "again.yaml")]).exit_code == 0


def test_exit_status_reports_lost_messages(tmp_path: Path):
    run = cluster(mirrored("ha"), ha=ALL | {"ha-promote-on-shutdown": "always"})
    assert command(file_of(tmp_path, run), "--wait", "ready").exit_code == 1


def test_the_command_plans_a_full_stop(tmp_path: Path):
    file = file_of(tmp_path, cluster(mirrored("ha"), ha=ALL))
    done = command(file, "--full-stop", "--runbook", tmp_path / "book.md", "--scenario", tmp_path / "again.yaml")
    assert done.exit_code == 0 and "waits for" in done.stdout
    assert CliRunner().invoke(main, ["check", str(tmp_path / "again.yaml")]).exit_code == 0
    assert json.loads(command(file, "--full-stop", "--json").stdout)["plan"]["stuck"] is None


OWN = """\
numbers: our logs
environment: {rolling_upgrades: {every_days: 60, down_s: 90}, timing: {start_s: 8}}
draws:
  - {rolling_upgrades: {every_days: 60, down_s: 60}}
  - {rolling_upgrades: {every_days: 60, down_s: 120}}
sources: {environment: "measured: 12 restarts"}
"""


def own_file(folder: Path, text: str = OWN) -> Path:
    file = folder / "own.yaml"
    file.write_text(text)
    return file


def test_command_plans_by_own_times_and_states_their_uncertainty(tmp_path: Path):
    file, own = file_of(tmp_path, cluster(quorum("qq"))), own_file(tmp_path)
    book, again, report = (tmp_path / name for name in ("book.md", "again.yaml", "plan.html"))
    done = command(file, "--numbers", own, "--scenario", again, "-o", report)
    words = " ".join(done.stdout.split())
    assert "rolling_upgrades.down_s 90 (measured: 12 restarts); timing.start_s 8 (measured: 12 restarts)" in words
    assert "(95 %, by 2 draws), the plan takes" in words and "Each node is down for 90.0 s" in words
    assert "(95 %, by 2 draws), the plan takes" in report.read_text()
    assert "start_s: 8" in again.read_text() and CliRunner().invoke(main, ["check", str(again)]).exit_code == 0
    assert command(file, "--numbers", own, "--runbook", book).exit_code == 0
    assert "(95 %, by 2 draws), the plan takes" in book.read_text()
    answer = json.loads(command(file, "--numbers", own, "--json").stdout)
    low, high = answer["own_times"]["within"]["duration_s"]
    assert high - low == pytest.approx(3 * 60, abs=0.1) and low < answer["plan"]["prediction"]["duration_s"] < high
    stopped = json.loads(command(file, "--full-stop", "--numbers", own, "--json").stdout)
    low, high = stopped["own_times"]["within"]["duration_s"]
    assert high - low == pytest.approx(60, abs=0.1)


def test_typed_downtime_overrides_the_measured_one(tmp_path: Path):
    file, own = file_of(tmp_path, cluster(quorum("qq"))), own_file(tmp_path)
    answer = json.loads(command(file, "--numbers", own, "--away-s", 7, "--json").stdout)
    assert (answer["own_times"]["away_s"], answer["own_times"]["within"]) == (7, None)
    assert answer["own_times"]["sources"] == {"timing.start_s": "measured: 12 restarts"}
    assert "Each node is down for 30.0 s" in command(file).stdout


def test_command_refuses_unusable_numbers(tmp_path: Path):
    file = file_of(tmp_path, cluster(quorum("qq")))
    none = own_file(tmp_path, "numbers: ours\n")
    done = command(file, "--numbers", none)
    assert done.exit_code == 2 and f"{none}" in done.stderr
    assert "nothing that an upgrade takes" in done.stderr and "rolling_upgrades.down_s or timing" in done.stderr
    done = command(file, "--numbers", own_file(tmp_path), "--to", "3.11")
    assert done.exit_code == 2 and "--numbers: cannot be used with --to" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--objective", "lost,luck"], "--objective: 'lost,luck': 'luck' is not accepted; accepted: lost_confirmed"),
        (["--order", "a,b"], "--order: 'a,b': name each one exactly once; accepted: a, b, c"),
        (["--order", "a,b,b"], "name each one exactly once"),
        (["--gantt", "plan.gif"], "--gantt: 'plan.gif' does not end in .svg, .png or .pdf"),
        (["more.json"], "more.json: give one scenario, or one definitions export with its listings"),
    ],
)
def test_refusal_lists_accepted_values(tmp_path: Path, arguments: list[str], text: str):
    done = command(file_of(tmp_path, cluster(mirrored("ha"), ha=ALL)), *arguments)
    assert (done.exit_code, done.stdout) == (2, "")
    assert text in done.stderr


def test_command_names_nodes_that_are_not_in_the_plan(tmp_path: Path):
    run = cluster(mirrored("ha"), ha=ALL, steps=({"stop": "b"},))
    assert "Not running, so not in the plan: b." in command(file_of(tmp_path, run)).stdout
    alone = replace(run.scenario, steps=tuple(read_scenario({
        "scenario": "x", "cluster": {"nodes": ["a", "b", "c"]}, "steps": [{"stop": ["a", "b", "c"]}],
    }).steps))  # fmt: skip
    file = tmp_path / "down.yaml"
    file.write_text(dump(alone))
    done = command(file)
    assert done.exit_code == 1 and "No: ha is already out of use (the mirrors wait for node" in done.stdout


REAL = [DATA / "real" / name for name in ("definitions.json", "api-queues.json", "api-nodes.json")]


def test_command_plans_every_rolling_upgrade_of_a_path(tmp_path: Path):
    file = file_of(tmp_path, cluster(mirrored("ha"), quorum("qq"), version="3.13", ha=ALL))
    book, report = tmp_path / "book.md", tmp_path / "plan.html"
    done = command(file, "--to", "4.3", "--runbook", book, "-o", report)
    assert done.exit_code == 0 and "3.13 -> 4.2: by the rules of 3.13.7" in done.stdout
    assert "enable_feature_flag khepri_db" in book.read_text() and "Step 2: 4.2" in report.read_text()
    answer = json.loads(command(file, "--to", "4.3.5", "--json").stdout)
    assert [roll["steps"] for roll in answer["rolls"]] == [["3.13 -> 4.2"], ["4.2 -> 4.3"]]


def test_release_comes_from_the_files_or_an_option():
    answer = json.loads(command(*REAL, "--to", "3.12", "--json").stdout)
    assert [leg["from"] for leg in answer["road"]] == ["3.10", "3.11"]
    answer = json.loads(command(*REAL, "--from", "4.1.8", "--to", "4.3", "--via", "4.2", "--json").stdout)
    assert [roll["rules"] for roll in answer["rolls"]] == ["4.0"]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--to", "4.3", "--via", "none"], "3.10 -> 4.3: no upgrade leads there in one step, to 4.3 only from 4.2"),
        (["--to", "4.3", "--via", "none"], "the road: 3.10 -> 3.11 -> 3.12 -> 3.13 -> 4.2 -> 4.3"),
        (["--to", "5.0"], "--to: '5.0': not a known release; accepted: releases of 3.8, 3.9"),
        (["--to", "3.8"], "3.10 -> 3.8: no upgrade leads back"),
        (["--to", "3.10"], "--to: '3.10': this release runs already; accepted: a newer release"),
        (["--from", "3.9"], "--from: needs --to"),
        (["--via", "3.9"], "--via: needs --to"),
        (["--to", "3.11", "--full-stop"], "--full-stop: cannot be used with --to"),
        (["--to", "3.11", "--gantt", "x.svg"], "--gantt: cannot be used with --to"),
    ],
)
def test_command_refuses_an_unsupported_path(tmp_path: Path, arguments: list[str], text: str):
    done = command(file_of(tmp_path, cluster(quorum("qq"))), *arguments)
    assert (done.exit_code, done.stdout) == (2, "")
    assert text in done.stderr


def test_scenario_gives_the_running_release_and_an_export_may_not(tmp_path: Path):
    done = command(file_of(tmp_path, cluster(quorum("qq"))), "--to", "4.3", "--from", "3.9")
    assert done.exit_code == 2 and "which names its release itself" in done.stderr
    file = tmp_path / "definitions.json"
    file.write_text(json.dumps({"queues": [], "policies": [], "vhosts": [{"name": "/"}]}))
    done = command(file, "--to", "4.3")
    assert done.exit_code == 2 and "no file says which release runs; name it with --from" in done.stderr
    assert command(file, "--to", "4.3", "--from", "4.2").exit_code == 3  # no listing tells of its nodes
