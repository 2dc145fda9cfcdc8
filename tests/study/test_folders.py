"""Folders of results are replaced as a whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from hawb.study.folders import local_folder, written_whole


def write(folder: Path, *names: str) -> None:
    with written_whole(folder) as new:
        new.mkdir()
        for name in names:
            (new / name).touch()


def names(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


def test_folder_replaces_the_former_one_as_a_whole(tmp_path: Path) -> None:
    folder = tmp_path / "audits" / "a first audit"
    write(folder, "north", "south")
    write(folder, "west")
    assert names(folder) == ["west"]
    assert names(folder.parent) == ["a first audit"]


def test_partial_folder_is_never_visible(tmp_path: Path) -> None:
    folder = tmp_path / "audit"
    with written_whole(folder) as new:
        new.mkdir()
        assert not folder.exists()
    assert folder.exists()


def test_failure_leaves_the_former_folder_unchanged(tmp_path: Path) -> None:
    folder = tmp_path / "audit"
    for before in ([], ["audit"]):
        with pytest.raises(ZeroDivisionError), written_whole(folder) as new:
            new.mkdir()
            (new / "half").touch()
            raise ZeroDivisionError
        assert names(tmp_path) == before
        write(folder, "whole")
    assert names(folder) == ["whole"]


# Which folders are accepted


@pytest.mark.parametrize(
    ("given", "path"),
    [("out", "out"), ("/mnt/a b", "/mnt/a b"), ("file:///mnt/a%20b", "/mnt/a b"), ("file:/mnt/x", "/mnt/x"),
     ("c:/x", "c:/x"), ("a:b", "a:b")],
)  # fmt: skip
def test_path_and_file_url_name_the_same_folder(given: str, path: str) -> None:
    assert local_folder(given) == local_folder(Path(path)) == Path(path)


@pytest.mark.parametrize("given", ["s3a://bucket/x", "hdfs://name:8020/x", "abfss://a@b/x", "dbfs:/x"])
def test_other_file_systems_are_refused(given: str) -> None:
    for place in (given, Path(given)):
        with pytest.raises(ValueError, match=r"^\w+:/.*: tables are written to a folder that every machine has"):
            local_folder(place)
