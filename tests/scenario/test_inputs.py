"""Streams as inputs: read once, with all bytes for each reader of a command."""

from __future__ import annotations

import errno
import io
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from hawb.scenario import inputs
from hawb.scenario.inputs import as_files, check_there, content, is_stream, opened, read_once

BYTES = bytes(range(256)) * 1000


def written_to(path: Path, content: bytes = BYTES) -> threading.Thread:
    """Start a thread that writes to a FIFO."""
    thread = threading.Thread(target=path.write_bytes, args=(content,))
    thread.start()
    return thread


@pytest.fixture
def fifo(tmp_path: Path) -> Path:
    """Create a FIFO without a writer."""
    os.mkfifo(tmp_path / "fifo")
    return tmp_path / "fifo"


def test_fifo_is_read_once_and_whole(fifo: Path):
    with read_once():
        writer = written_to(fifo)
        with opened(fifo) as one, opened(fifo) as another:
            assert (one.read(10), another.read(), one.read()) == (BYTES[:10], BYTES, BYTES[10:])
        assert content(fifo, 5) == BYTES[:5]
        writer.join()


def test_pipe_is_recognised_under_each_name():
    reading, writing = os.pipe()
    writer = threading.Thread(target=lambda: (os.write(writing, b"x" * 10), os.close(writing)))
    writer.start()
    with read_once():
        assert [content(Path(name.format(reading))) for name in ("/dev/fd/{}", "/proc/self/fd/{}")] == [b"x" * 10] * 2
    writer.join()
    os.close(reading)


def test_each_command_reads_the_stream_anew(fifo: Path):
    found = []
    for given in (b"one", b"two"):
        with read_once():
            writer = written_to(fifo, given)
            found.append(content(fifo))
            writer.join()
    assert found == [b"one", b"two"]


def test_standard_input_has_a_name_during_a_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(BYTES)))
    monkeypatch.chdir(tmp_path)
    with read_once():
        check_there(Path("-"))
        assert is_stream(Path("-")) and content(Path("-")) == content(Path("-")) == BYTES
    Path("-").write_bytes(b"a file")
    assert content(Path("-")) == b"a file"


def test_regular_file_is_opened_directly(tmp_path: Path):
    file = tmp_path / "file"
    file.write_bytes(b"one")
    with read_once():
        assert not is_stream(file) and content(file) == b"one"
        file.write_bytes(b"two")
        assert content(file) == b"two"


def test_endless_stream_is_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(inputs, "MOST_STREAMED", 2**20)
    with read_once(), pytest.raises(OSError, match=r"more than 1 MiB.*write it to a file") as error:
        content(Path("/dev/zero"))
    assert (error.value.errno, error.value.filename) == (errno.EFBIG, "/dev/zero")


def is_not_there(file: Path) -> None:
    """Create nothing."""


@pytest.mark.parametrize("made", [is_not_there, Path.mkdir])
def test_missing_file_and_folder_are_not_streams(tmp_path: Path, made: Callable[[Path], None]):
    made(tmp_path / "input")
    assert not is_stream(tmp_path / "input")
    with pytest.raises(OSError, match="input"):
        opened(tmp_path / "input")


def test_other_processes_get_streams_as_files_on_disk(fifo: Path, tmp_path: Path):
    (tmp_path / "file").write_bytes(b"a file")
    writer = written_to(fifo)
    with read_once():
        file, copy = as_files([tmp_path / "file", fifo], tmp_path / "aside")
    writer.join()
    assert (file, copy) == (tmp_path / "file", tmp_path / "aside" / str(fifo)[1:])
    assert copy.read_bytes() == BYTES
