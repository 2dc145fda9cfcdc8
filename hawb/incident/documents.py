"""Read lines of JSON that hold a log line.

The broker's own may have renamed fields (`log.console.formatter.json.field_map`); others are those of journald, docker
and log services.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import msgspec

from hawb.incident.headers import BARE, head, micros_since_1970, moment

SYSLOG_LEVELS = ("emergency", "alert", "critical", "error", "warning", "notice", "info", "debug")
"""Levels by journald's priority."""
SAID = ("msg", "message", "MESSAGE", "log", "@message", "textPayload", "line", "body", "text")
"""Names of the field with the message, most common first."""
WHEN = ("time", "timestamp", "@timestamp", "ts", "__REALTIME_TIMESTAMP")
LEVELS = ("level", "severity", "severity_text", "log_level", "lvl")
WRITERS = (
    ("kubernetes", "pod_name"), ("kubernetes", "pod", "name"), ("resource", "labels", "pod_name"), ("labels", "pod"),
    ("stream", "pod"), ("_HOSTNAME",), ("pod",), ("hostname",), ("host", "name"), ("host", "hostname"), ("host",),
    ("logStreamName",), ("@logStream",),
)  # fmt: skip
"""Where the name of a line's writer may stand."""
INNER = ("record", "jsonPayload", "_source")
"""Fields that hold the others."""


class Document(NamedTuple):
    """The parts of a JSON line, named as in `Unwrapped`."""

    text: str
    who: str
    at: datetime | None
    level: str
    partial: bool
    document: dict[str, Any] | None


def read(text: str) -> Document | None:
    """Return the content of a JSON line; None if it is not JSON or holds no message."""
    try:
        fields = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return None
    if not isinstance(fields, dict):
        return None
    for name in INNER:
        if isinstance(inner := fields.get(name), Mapping):
            fields |= inner
    name = next((name for name in SAID if name in fields), None)
    if name is None:
        return None
    said, level, time = _text(fields[name]), _first(fields, LEVELS), _first(fields, WHEN)
    wrapped = head(said) is not None or BARE.match(said) is not None
    if level is not None and not wrapped:
        own = {"msg": said, "level": str(level), "time": time, "pid": str(fields.get("pid") or "")}
        return Document(text, _writer(fields), None, "", False, own)
    priority = str(fields.get("PRIORITY", ""))
    of_journal = SYSLOG_LEVELS[int(priority)] if priority in set("01234567") else ""
    of_docker = name == "log" and not fields.keys() & {"kubernetes", "logtag"}
    partial = of_docker and not said.endswith("\n")
    return Document(said.rstrip("\n"), _writer(fields), _moment(time), of_journal, partial, None)


def _text(said: Any) -> str:
    """Return a value as text; journald exports text with special characters as a list of bytes."""
    if isinstance(said, list):
        said = bytes(one for one in said if isinstance(one, int) and 0 <= one < 256).decode(errors="replace")
    return str(said)


def _first(fields: Mapping[str, Any], names: Iterable[str]) -> Any:
    return next((fields[name] for name in names if name in fields), None)


def _writer(fields: Mapping[str, Any]) -> str:
    """Return the name of a line's writer; empty if no field has it."""
    for path in WRITERS:
        found: Any = fields
        for name in path:
            found = found.get(name) if isinstance(found, Mapping) else None
        if isinstance(found, str):
            return found
    return ""


def _moment(time: Any) -> datetime | None:
    micros = micros_since_1970(time)
    try:
        return moment(str(time)) if micros is None else datetime.fromtimestamp(0, UTC) + timedelta(microseconds=micros)
    except OverflowError:
        return None
