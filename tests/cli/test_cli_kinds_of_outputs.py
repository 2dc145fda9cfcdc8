"""Output options write to pipes and through links, and set file modes as shells do."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

import pytest
from click.testing import CliRunner
from typed_commands import Typed

from hawb.cli import main

WRITING = [
    "run {story} -o {to}", "upgrade {story} --runbook {to}", "upgrade {story} --scenario {to}",
    "upgrade {story} --gantt {to}", "import {export} -o {to}", "import {export} --numbers {to}",
]  # fmt: skip


def written(words: str, place: Path) -> None:
    """Write a command's output to a place."""
    result = CliRunner().invoke(main, [word.replace("{to}", str(place)) for word in Typed(words).filled(Path("{to}"))])
    assert result.exit_code in (0, 1, 3), result.stderr


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes with names, and modes, take a Unix")
@pytest.mark.parametrize("words", WRITING)
def test_output_may_be_a_pipe_a_link_or_a_file_with_a_mode(tmp_path: Path, words: str):
    new, fifo, link, kept = (tmp_path / f"{name}.svg" for name in ("new", "fifo", "link", "kept"))
    umask = os.umask(0o007)
    try:
        written(words, new)
    finally:
        os.umask(umask)
    assert stat.S_IMODE(new.stat().st_mode) == 0o660
    read: list[bytes] = []
    os.mkfifo(fifo)
    reader = threading.Thread(target=lambda: read.append(fifo.read_bytes()))
    reader.start()
    written(words, fifo)
    reader.join()
    assert read == [new.read_bytes()] and fifo.is_fifo()
    link.symlink_to(kept)
    if "--numbers" not in words:  # they are written to a new file alone
        kept.touch()
        kept.chmod(0o604)
    written(words, link)
    assert link.is_symlink() and kept.read_bytes() == new.read_bytes()
    assert "--numbers" in words or stat.S_IMODE(kept.stat().st_mode) == 0o604
    assert {file.name for file in tmp_path.iterdir()} == {"new.svg", "fifo.svg", "link.svg", "kept.svg"}


@pytest.mark.parametrize("form", ["svg", "png", "pdf"])
def test_a_figure_is_the_same_bytes_each_time(tmp_path: Path, form: str, monkeypatch: pytest.MonkeyPatch):
    found = []
    for day in (0, 86_400):
        monkeypatch.setenv("SOURCE_DATE_EPOCH", str(day))
        written("upgrade {story} --gantt {to}", tmp_path / f"plan.{form}")
        found.append((tmp_path / f"plan.{form}").read_bytes())
    assert found[0] == found[1] and (form != "svg" or b"https://" not in found[0])


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes with names, and modes, take a Unix")
def test_new_folder_obeys_the_umask_and_replaces_nothing(tmp_path: Path):
    umask = os.umask(0o007)
    try:
        written("migrate {real} --plan {to}", tmp_path / "plan")
    finally:
        os.umask(umask)
    modes = {stat.S_IMODE(file.stat().st_mode) for file in (tmp_path / "plan").iterdir()}
    assert (stat.S_IMODE((tmp_path / "plan").stat().st_mode), modes) == (0o770, {0o660})
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "link").symlink_to("nothing")
    for name in ("fifo", "link", "plan"):
        result = CliRunner().invoke(main, Typed("migrate {real} --plan {to}/" + name).filled(tmp_path))
        assert (result.exit_code, result.stdout) == (2, "")
        assert "exists already; --plan needs a new folder" in result.stderr
