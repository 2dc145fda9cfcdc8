"""Log files: limits of decompression, and reading from the end in little memory."""

from __future__ import annotations

import bz2
import gzip
import lzma
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from hawb.cli import main
from hawb.incident import files
from hawb.incident.files import Limits, UnpackedTooMuch, Unpacking, backwards, lines
from hawb.incident.reading import read_file, read_logs

OLDEST_FIRST = [
    f"2024-05-01 {at // 3600:02}:{at // 60 % 60:02}:{at % 60:02}.000000+00:00 [info] <0.1.0> line {at}\n"
    for at in range(30_000)
]
NEWEST_FIRST = OLDEST_FIRST[::-1]
PACKERS: list[Callable[[bytes], bytes]] = [gzip.compress, bz2.compress, lzma.compress]


def packed(folder: Path, result: list[str], packer: Callable[[bytes], bytes] = gzip.compress) -> Path:
    """Return a compressed file of these lines."""
    (folder / "rabbit@a.log.gz").write_bytes(packer("".join(result).encode()))
    return folder / "rabbit@a.log.gz"


@pytest.mark.parametrize("packer", PACKERS)
@pytest.mark.parametrize("limits", [Limits(unpacked_mb=1), Limits(unpacked_ratio=3)])
def test_compressed_file_is_read_up_to_the_limits(packer, limits, tmp_path, monkeypatch):
    monkeypatch.setattr(files, "AT_ANY_RATIO", 1_000_000)
    file, found = packed(tmp_path, OLDEST_FIRST, packer), []
    with pytest.raises(UnpackedTooMuch, match=r"--unpacked-(mb|ratio) allows more"):
        found.extend(lines(file, Unpacking(limits)))
    assert 0 < sum(map(len, found)) <= 1_100_000 and found == OLDEST_FIRST[: len(found)]
    assert list(lines(file, Unpacking(Limits(10, 1000)))) == OLDEST_FIRST


@pytest.mark.parametrize("expected", [OLDEST_FIRST, NEWEST_FIRST])
def test_content_up_to_the_limit_is_read_in_either_order(expected, tmp_path):
    found = read_file(packed(tmp_path, expected), unpacking=Unpacking(Limits(unpacked_mb=1)))
    assert "unpacks to more than 1 MB" in (found.refused or "")
    assert 10_000 < found.messages < len(expected) and found.newest_first is (expected is NEWEST_FIRST)


def test_limit_applies_to_all_files_of_a_cluster(tmp_path):
    """Each is below it, and a folder may hold any number of them."""
    file = packed(tmp_path, OLDEST_FIRST)
    for number in range(3):
        file.with_name(f"rabbit@a.log.{number}.gz").write_bytes(file.read_bytes())
    size_mb = sum(map(len, OLDEST_FIRST)) / 1_000_000
    found = read_logs([tmp_path], limits=Limits(unpacked_mb=1.5 * size_mb))
    counted = [one.messages for one in found.files]
    assert counted[0] == len(OLDEST_FIRST) > counted[1] > 0 and max(counted[2:]) < 2
    assert [one.refused is None for one in found.files] == [True, False, False, False]
    assert "it and the files before it unpack" in (found.files[2].refused or "")


def test_lines_are_read_from_the_end_in_little_memory():
    many = ["", "ü\udcff\n", "x" * 100_000, *(f"{'y' * 100}{number}\n" for number in range(60_000))]
    tracemalloc.start()
    found, count = backwards(iter(many))
    assert count == len(many)
    assert all(one == other for one, other in zip(found, reversed(many), strict=True))
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 4_000_000


@pytest.mark.parametrize("command", ["incident", "rates"])
def test_help_names_the_limits_and_options_raise_them(command, tmp_path):
    helped = " ".join(CliRunner().invoke(main, [command, "--help"]).output.split())
    limits = Limits()
    assert f"default: {limits.unpacked_mb:g}" in helped and f"default: {limits.unpacked_ratio:g}" in helped
    file = packed(tmp_path, NEWEST_FIRST)
    for megabytes, ends in (("1", True), ("10", False)):
        output = CliRunner().invoke(main, [command, str(file), "--unpacked-mb", megabytes]).output
        assert ("--unpacked-mb allows more" in " ".join(output.split())) is ends
