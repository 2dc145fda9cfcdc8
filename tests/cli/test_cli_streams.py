"""Commands read pipes as files: once, completely, and with the same answer."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from samples import each_third

from hawb.cli import main
from hawb.cli.spark import asked_with, for_spark
from hawb.scenario.inputs import read_once

ROOT = Path(__file__).parents[2]
DATA = ROOT / "data"
LOGS = DATA / "logs" / "4.3" / "wide-partition-4-3"
LOG = next(iter(sorted(LOGS.glob("*.log.gz"))))
SOURCES = {
    "story": DATA / "scenarios" / "unsynchronised-mirror-promoted.yaml",
    "definitions": DATA / "real" / "definitions.json", "queues": DATA / "real" / "api-queues.json",
    "nodes": DATA / "real" / "api-nodes.json", "log": LOG, "manifest": next(iter((DATA / "operator").rglob("*.yaml"))),
}  # fmt: skip
FINGERPRINT = re.compile(r'"hawb/1": "\w+"')
CLUSTER = "definitions queues nodes"


def piped(folder: Path, words: str, *more: str) -> tuple[Result, Result]:
    """Return the results of a command on files and on FIFOs with the same names and bytes."""
    found = []
    for kind in ("file", "fifo"):
        home = folder / kind
        home.mkdir()
        writers, given = [], []
        for word in words.split():
            source = SOURCES.get(word)
            place = home / f"{word}{'.yaml' if word in ('story', 'manifest') else ''}"
            given.append(str(place) if source else word)
            if source and kind == "file":
                place.write_bytes(source.read_bytes())
            elif source:
                os.mkfifo(place)
                writers.append(threading.Thread(target=place.write_bytes, args=(source.read_bytes(),), daemon=True))
        for writer in writers:
            writer.start()
        found.append(CliRunner().invoke(main, [*given, *more]))
        for writer in writers:
            writer.join(10)
            assert not writer.is_alive()
    return found[0], found[1]


def alike(text: str) -> str:
    """Return an answer without file names and their digests."""
    return FINGERPRINT.sub("", text.replace("/fifo/", "/file/"))


@pytest.mark.parametrize("words", each_third([
    "run story", "run story --json", "safe story", "lint story", "upgrade story --to 3.13", "migrate story",
    "explore story --faults 1 --operations 0 --json", f"safe {CLUSTER}", f"safe {CLUSTER} --json", f"lint {CLUSTER}",
    f"lint {CLUSTER} --format sarif", "lint manifest", f"upgrade {CLUSTER} --full-stop",
    f"migrate {CLUSTER}", f"migrate {CLUSTER} --json", f"replicas {CLUSTER} --trials 0",
    "import definitions --queues queues --queues nodes -o -", "import definitions --queues queues --numbers -",
    "import manifest -o -", "incident log", "incident log --json", f"incident log {CLUSTER}", "incident log --events",
    "incident log --after definitions --json", "rates log", "rates log --json", "run definitions", "run log",
    "check definitions", "import log -o -", "incident definitions", "study story --output none",
]))  # fmt: skip
def test_pipe_gives_the_same_answer_as_its_file(tmp_path: Path, words: str):
    of_file, of_fifo = piped(tmp_path, words)
    assert (of_fifo.exit_code, alike(of_fifo.stdout), alike(of_fifo.stderr)) == (
        of_file.exit_code, alike(of_file.stdout), alike(of_file.stderr),
    )  # fmt: skip


@pytest.mark.parametrize("command", ["incident", "rates"])
def test_pipe_in_a_folder_of_logs_is_named_and_not_read(tmp_path: Path, command: str):
    (tmp_path / "rabbit@a.log").write_text(
        "2026-04-22 09:00:05.000001+00:00 [info] <0.9.0> Server startup complete; 3 plugins started.\n"
    )
    alone = CliRunner().invoke(main, [command, str(tmp_path), "--json"])
    os.mkfifo(tmp_path / "rabbit@b.log")
    found = CliRunner().invoke(main, [command, str(tmp_path), "--json"])
    assert (found.exit_code, found.stdout) == (alone.exit_code, alone.stdout)
    assert found.exit_code in (0, 3) and "rabbit@b.log: pipes in a folder are not read; name the pipe" in found.stderr


@pytest.mark.parametrize("form", ["text", "sarif", "junit"])
def test_check_reports_lines_of_a_pipe(tmp_path: Path, form: str, monkeypatch: pytest.MonkeyPatch):
    story = tmp_path / "story"
    story.write_bytes(SOURCES["story"].read_bytes().replace(b"messages: 10", b"messages: 11"))
    monkeypatch.setitem(SOURCES, "story", story)
    of_file, of_fifo = piped(tmp_path, f"check story --format {form}")
    assert (of_file.exit_code, form == "sarif") == (1, "startLine" in of_fifo.stdout)
    assert alike(of_fifo.stdout) == alike(of_file.stdout)


def test_standard_input_accepts_any_kind_of_file():
    for words, status, source in (
        (["safe", "-"], 3, "definitions"), (["lint", "-"], 1, "definitions"), (["incident", "-"], 0, "log"),
        (["import", "-", "-o", "-"], 0, "definitions"), (["upgrade", "-", "--to", "3.13"], 0, "story"),
        (["check", "-"], 0, "story"), (["rates", "-"], 0, "log"),
    ):  # fmt: skip
        result = CliRunner().invoke(main, words, input=SOURCES[source].read_bytes())
        assert (words, result.exit_code) == (words, status), result.stderr


def test_study_and_numbers_can_be_pipes(tmp_path: Path):
    numbers = CliRunner().invoke(main, ["import", str(SOURCES["definitions"]), "--numbers", "-"]).stdout_bytes
    given = {"study": (next(iter(sorted((DATA / "studies").glob("*.yaml"))))).read_bytes(), "numbers": numbers}
    writers = []
    for name, content in given.items():
        os.mkfifo(tmp_path / name)
        writers.append(threading.Thread(target=(tmp_path / name).write_bytes, args=(content,)))
        writers[-1].start()
    with read_once():
        asked, own, _ = asked_with(tmp_path / "study", tmp_path / "numbers")
    for writer in writers:
        writer.join()
    assert asked.study and own is not None


def test_spark_gets_pipes_as_temporary_files(tmp_path: Path):
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "file").touch()
    writer = threading.Thread(target=(tmp_path / "fifo").write_bytes, args=(b"given",))
    writer.start()
    with read_once(), main.make_context("hawb", ["--help-"], resilient_parsing=True):
        (file, copy), base = for_spark([tmp_path / "file", tmp_path / "fifo"])
        assert (file, (base / copy).read_bytes()) == (tmp_path / "file", b"given")
        assert str(copy) == str(tmp_path / "fifo")[1:]
    writer.join()
    assert not base.exists()
    assert for_spark([tmp_path / "file"]) == ([tmp_path / "file"], Path())


def test_process_substitution_is_read_completely():
    words = f"{sys.executable} -m hawb.cli incident --events <(zcat {LOG}) --json"
    ran = subprocess.run(["bash", "-c", words], capture_output=True, env=os.environ | {"PYTHONPATH": str(ROOT)})
    of_file = CliRunner().invoke(main, ["incident", "--events", str(LOG), "--json"])
    assert (ran.returncode, ran.stderr, ran.stdout.count(b'"kind"')) == (0, b"", of_file.stdout.count('"kind"'))
