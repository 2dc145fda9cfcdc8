"""Saving files: written whole or not at all, and no other file is changed. Each system call fails once."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest
from failing_writes import CALLS, FailingWrites

from hawb.scenario.saving import Outputs, descriptor, target, write

OLD, NEW = "old\n", "new\n" * 1000


def tree(folder: Path) -> dict[str, tuple[int, bytes | None]]:
    """Return everything in a folder: modes and contents."""
    return {str(one.relative_to(folder)): (one.lstat().st_mode, one.read_bytes() if one.is_file() else None)
            for one in sorted(folder.rglob("*"))}  # fmt: skip


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o755])
def test_file_keeps_its_mode_and_a_new_one_obeys_the_umask(tmp_path: Path, mode: int):
    file = tmp_path / "kept"
    file.write_text(OLD, encoding="utf-8")
    file.chmod(mode)
    before = os.umask(0o027)
    try:
        write(file, NEW)
        write(tmp_path / "new", NEW)
    finally:
        os.umask(before)
    assert stat.S_IMODE(file.stat().st_mode) == mode
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o640
    assert sorted(file.name for file in tmp_path.iterdir()) == ["kept", "new"]


@pytest.mark.parametrize("there", [True, False])
def test_symbolic_link_stays_and_its_target_is_written(tmp_path: Path, there: bool):
    (tmp_path / "inside").mkdir()
    (tmp_path / "link").symlink_to("inside/second")
    (tmp_path / "inside" / "second").symlink_to(tmp_path / "file")
    if there:
        (tmp_path / "file").write_text(OLD, encoding="utf-8")
    write(tmp_path / "link", NEW)
    assert (tmp_path / "link").is_symlink() and (tmp_path / "inside" / "second").is_symlink()
    assert (tmp_path / "file").read_text(encoding="utf-8") == NEW


def test_file_system_without_hard_links_replaces_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def unsupported(*_given: object):
        raise NotImplementedError  # as pathlib does in a browser

    monkeypatch.setattr(Path, "hardlink_to", unsupported)
    (tmp_path / "file").write_text(OLD, encoding="utf-8")
    write(tmp_path / "file", NEW)
    assert (tmp_path / "file").read_text(encoding="utf-8") == NEW


def test_device_stays_a_device():
    device = Path(os.devnull)
    before = device.stat()
    write(device, NEW)
    assert device.stat()[:4] == before[:4]


def test_fifo_is_written_to_and_stays_a_fifo(tmp_path: Path):
    fifo, read = tmp_path / "fifo", []
    os.mkfifo(fifo)
    reader = threading.Thread(target=lambda: read.append(fifo.read_text(encoding="utf-8")))
    reader.start()
    write(fifo, NEW)
    reader.join()
    assert read == [NEW] and stat.S_ISFIFO(fifo.stat().st_mode)


def test_standard_output_is_written_in_place_even_if_it_is_a_file(tmp_path: Path):
    program = (
        "import sys; from pathlib import Path; from hawb.scenario.saving import write\n"
        "print('before'); write(Path(sys.argv[1]), 'between\\n'); print('after')"
    )
    for name in ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"):
        with (tmp_path / "out").open("wb") as out:
            subprocess.run([sys.executable, "-c", program, name], stdout=out, check=True)
        assert (tmp_path / "out").read_bytes() == b"before\nbetween\nafter\n"


def test_descriptor_of_other_paths_is_none(tmp_path: Path):
    (tmp_path / "loop").symlink_to("loop")
    assert [descriptor(tmp_path / name) for name in ("1", "loop", "none")] == [None, None, None]
    assert descriptor(Path("/dev/stderr")) == 2


def is_a_folder(file: Path) -> None:
    file.mkdir()


def is_in_no_folder(file: Path) -> None:
    file.parent.rmdir()


def is_a_loop(file: Path) -> None:
    file.symlink_to(file.name)


def is_below_a_file(file: Path) -> None:
    file.parent.rmdir()
    file.parent.write_bytes(b"")


@pytest.mark.parametrize(("made", "number"), [
    (is_a_folder, errno.EISDIR), (is_in_no_folder, errno.ENOENT), (is_a_loop, errno.ELOOP),
    (is_below_a_file, errno.ENOTDIR),
])  # fmt: skip
def test_unwritable_path_is_detected_before_writing(tmp_path: Path, made: Callable[[Path], None], number: int):
    file = tmp_path / "folder" / "file"
    file.parent.mkdir()
    made(file)
    before = tree(tmp_path)
    with pytest.raises(OSError, match=os.strerror(number)) as error:
        target(file)
    assert (error.value.errno, tree(tmp_path)) == (number, before)


def test_existing_file_is_not_replaced_without_permission(tmp_path: Path):
    (tmp_path / "file").write_text(OLD, encoding="utf-8")
    with pytest.raises(FileExistsError):
        write(tmp_path / "file", NEW, replace=False)
    write(tmp_path / "other", NEW, replace=False)
    assert {name: content for name, (_, content) in tree(tmp_path).items()} == {
        "file": OLD.encode(), "other": NEW.encode(),
    }  # fmt: skip


def test_two_outputs_cannot_be_the_same_file(tmp_path: Path):
    (tmp_path / "link").symlink_to("file")
    given = Outputs()
    given.add(tmp_path / "file", NEW)
    with pytest.raises(OSError, match="two outputs would be written"):
        given.add(tmp_path / "link", OLD)


def test_lone_surrogate_is_escaped(tmp_path: Path):
    write(tmp_path / "file", "\udcff")
    assert (tmp_path / "file").read_bytes() == b"\\udcff"


def outputs(folder: Path) -> Outputs:
    """Return outputs of each kind: two existing files, one behind a link, two new files and two folders."""
    (folder / "kept.md").write_text(OLD, encoding="utf-8")
    (folder / "other").write_text(OLD, encoding="utf-8")
    (folder / "aside").mkdir()
    (folder / "aside" / "linked").write_text(OLD, encoding="utf-8")
    (folder / "link").symlink_to("aside/linked")
    found = Outputs()
    for name in ("kept.md", "link", "new.html"):
        found.add(folder / name, NEW)
    found.add(folder / "once", NEW, replace=False)
    found.add_folder(folder / "plan", {"a.json": NEW, "b.md": NEW, "in/it/c.md": NEW})
    found.add_folder(folder / "made" / "on" / "the way", {"a.json": NEW})
    return found


PLACED = {
    "new.html", "once", "plan", "plan/a.json", "plan/b.md", "plan/in", "plan/in/it", "plan/in/it/c.md",
    "made", "made/on", "made/on/the way", "made/on/the way/a.json",
}  # fmt: skip


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO])
@pytest.mark.parametrize("call", CALLS)
def test_all_outputs_are_written_or_none_whichever_call_fails(tmp_path: Path, call: str, number: int):
    for at in count():
        folder = tmp_path / str(at)
        folder.mkdir()
        given, before, error = outputs(folder), tree(folder), None
        with FailingWrites(call, at, number) as failing:
            try:
                given.place()
            except OSError as raised:
                error = raised
        if error is not None:
            assert tree(folder) == before
            assert error.errno == number and error.filename is not None and ".hawb-" not in error.filename
        else:
            assert not failing.failed or call == "link"  # that of the old file: not every file system has links
            assert tree(folder).keys() == before.keys() | PLACED
            assert (folder / "aside" / "linked").read_text(encoding="utf-8") == NEW
        if not failing.failed:
            break
    assert at >= {"link": 3, "rename": 2, "replace": 3}.get(call, 7)


def test_partial_writes_are_completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    whole = os.write
    monkeypatch.setattr(os, "write", lambda opened, content: whole(opened, content[:7]))
    write(tmp_path / "file", NEW)
    assert (tmp_path / "file").read_text(encoding="utf-8") == NEW
