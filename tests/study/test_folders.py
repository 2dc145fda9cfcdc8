"""A folder of results: there whole, in place of the one before, or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from hawb.study.folders import written_whole


def write(folder: Path, *names: str) -> None:
    with written_whole(folder) as new:
        new.mkdir()
        for name in names:
            (new / name).touch()


def names(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


def test_a_folder_is_written_whole_in_place_of_the_one_before(tmp_path: Path) -> None:
    folder = tmp_path / "audits" / "a first audit"
    write(folder, "north", "south")
    write(folder, "west")
    assert names(folder) == ["west"]
    assert names(folder.parent) == ["a first audit"]


def test_nobody_finds_half_of_it(tmp_path: Path) -> None:
    folder = tmp_path / "audit"
    with written_whole(folder) as new:
        new.mkdir()
        assert not folder.exists()
    assert folder.exists()


def test_one_that_fails_leaves_nothing_and_the_one_before_as_it_was(tmp_path: Path) -> None:
    folder = tmp_path / "audit"
    for before in ([], ["audit"]):
        with pytest.raises(ZeroDivisionError), written_whole(folder) as new:
            new.mkdir()
            (new / "half").touch()
            raise ZeroDivisionError
        assert names(tmp_path) == before
        write(folder, "whole")
    assert names(folder) == ["whole"]
