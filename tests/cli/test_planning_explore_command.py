"""`hawb explore`: end of the search, limits and progress."""

from __future__ import annotations

import itertools
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from hawb.cli import main

STORY = """
scenario: One quorum queue and a consumer that does not answer
cluster: {nodes: [a, b, c], version: "VERSION"}
steps:
  - declare: {queue: q, node: a, arguments: {x-queue-type: quorum}}
  - publish: {queue: q, count: 3}
  - consume: {consumer: c, queue: q, node: b, prefetch: 1}
  - wait: 3600
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Write a scenario."""
    (tmp_path / "s.yaml").write_text(STORY.replace("VERSION", "4.3"))
    return tmp_path / "s.yaml"


def explored(file: Path, *options: str):
    return CliRunner().invoke(main, ["explore", "--operations", "0", "--for", "diverged", *options, str(file)])


@pytest.mark.parametrize("version", ["3.10", "4.3"])
def test_search_with_waits_ends_if_a_consumer_does_not_ack(version, file):
    file.write_text(STORY.replace("VERSION", version))
    answer = explored(file, "--states", "500")
    assert answer.exit_code == 0 and "Yes: both partitions of each queue hold the same messages" in answer.stdout


@pytest.mark.parametrize("limit", [("--states", "2"), ("--seconds", "0")])
def test_limit_ends_the_search_and_the_answer_states_its_progress(limit, file):
    answer = explored(file, *limit)
    assert answer.exit_code == 3
    assert "Cannot tell: the search is not complete" in answer.stdout and "distinct states" in answer.stdout


def test_progress_is_a_line_every_ten_seconds_without_a_terminal(file, monkeypatch):
    clock = itertools.count(0, 4)
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    answer = explored(file)
    lines = answer.stderr.splitlines()
    assert answer.exit_code == 0 and 1 <= len(lines) <= 3
    assert all("a second; stories of" in line for line in lines)
