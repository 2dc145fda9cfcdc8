"""Find the files among logs that are not RabbitMQ logs, and say what they contain."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from hawb.incident import files
from hawb.incident.reading import BROKEN_OFF, LOOKED_AT, FileReading, Reading

ACCEPTED = ("accepted are RabbitMQ's own logs, such as rabbit@a.log (text or JSON; rotated, compressed, of containers"
            " or journald), and folders of them")  # fmt: skip


def not_logs(reading: Reading) -> Iterator[FileReading]:
    """Yield the files that are not empty and hold no message of RabbitMQ. An empty log is left by rotation."""
    return (file for file in reading.files if not file.is_log and (file.lines or file.refused))


def what(file: FileReading) -> str:
    """Return what a file that is no log holds."""
    if file.refused:
        return f"it cannot be read ({file.refused})"
    if not file.lines:
        return "it is empty"
    if _is_binary(Path(file.file)):
        return "it is no text"
    lines = "the only line does not begin" if file.lines == 1 else f"none of its {file.lines:,} lines begins"
    return f"{lines} with a time, a level and a process as RabbitMQ writes them"


def refusal(reading: Reading) -> str | None:
    """Return an error text that says what the files are, and what is accepted; None if one of them is a log."""
    if any(file.is_log for file in reading.files):
        return None
    reasons = "; ".join(f"{file.file}: not a RabbitMQ log: {what(file)}" for file in reading.files[:3])
    more = f"; and {len(reading.files) - 3} other files" if len(reading.files) > 3 else ""
    return f"{reasons}{more}; {ACCEPTED}"


def _is_binary(file: Path) -> bool:
    try:
        return any("\0" in line for line in islice(files.lines(file), LOOKED_AT))
    except (OSError, *BROKEN_OFF):
        return True
