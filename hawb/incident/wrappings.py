"""What others wrap around a broker's lines: containers, compose, Kubernetes and journald.

A line is unwrapped until what is left is the broker's own. What a wrapping tells is kept: who wrote the line, where
several are mixed in one file, and when, for those whose own time is missing.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import msgspec

SYSLOG_LEVELS = ("emergency", "alert", "critical", "error", "warning", "notice", "info", "debug")
"""By journald's priority."""
COLOURS = re.compile(r"\x1b\[[\d;]*m")
DOCKER = re.compile(
    r"(?P<time>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)) (?:std(?:out|err) (?P<cri>[FP]) )?"
)
"""`docker logs --timestamps`, `kubectl logs --timestamps`, and the files of Kubernetes' runtimes (CRI), whose P marks a
line that goes on in the next one."""
COMPOSE = re.compile(r"(?P<who>[\w.@-]+) +\| ?")
"""`docker compose logs`."""
POD = re.compile(r"\[pod/(?P<who>[\w.-]+)/[\w.-]+\] ?")
"""`kubectl logs --prefix`."""
SHORT = re.compile(
    r"(?:(?P<year_less>[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?:\.\d+)?)"
    r"|(?:[A-Z][a-z]{2} )?(?P<time>\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d+)?(?: UTC|Z|[+-]\d\d:?\d\d)?))"
    r" (?P<who>[\w.-]+) [A-Za-z_][\w.@/-]*(?:\[\d+\])?: ?"
)
"""`journalctl`, with whichever of its short formats, and what syslog writes."""
FRACTION = re.compile(r"([.,]\d{1,6})\d*")
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


class Unwrapped(NamedTuple):
    """A line without its wrappings; `who` names its writer and `at` says when, where a wrapping tells. `level` is what
    journald has for it, and a `partial` line goes on in the next."""

    text: str
    who: str = ""
    at: datetime | None = None
    level: str = ""
    partial: bool = False
    document: dict[str, Any] | None = None


def unwrap(text: str, last: datetime) -> Unwrapped:
    """A line without its wrappings; `document` is a line of the broker's own JSON. `last` is a time that no line is
    later than: it tells the year of times that have none."""
    if "\x1b" in text:
        text = COLOURS.sub("", text)
    line = Unwrapped(text)
    for _ in range(4):
        inner = _once(line.text, last)
        if inner is None:
            break
        line = inner._replace(
            who=line.who or inner.who, at=line.at or inner.at, level=line.level or inner.level,
            partial=line.partial or inner.partial,
        )  # fmt: skip
        if line.document:
            break
    return line


def _once(text: str, last: datetime) -> Unwrapped | None:
    if text.startswith("{"):
        return _of_json(text)
    if found := SHORT.match(text):
        at = moment(found["time"]) if found["time"] else without_year(found["year_less"], last)
        return Unwrapped(text[found.end() :], found["who"], at)
    if found := DOCKER.match(text):
        return Unwrapped(text[found.end() :], at=moment(found["time"]), partial=found["cri"] == "P")
    if found := POD.match(text) or COMPOSE.match(text):
        return Unwrapped(text[found.end() :], found["who"])
    return None


def _of_json(text: str) -> Unwrapped | None:
    """A line of JSON: the broker's own, journald's, or that of docker's files."""
    try:
        document = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return None
    if "msg" in document and "level" in document:
        return Unwrapped(text, document=document)
    if "MESSAGE" in document:
        return _of_journal(document)
    if "log" in document:
        said = str(document["log"])
        return Unwrapped(said.rstrip("\n"), at=moment(str(document.get("time"))), partial=not said.endswith("\n"))
    return None


def _of_journal(document: dict[str, Any]) -> Unwrapped:
    said = document["MESSAGE"]
    if isinstance(said, list):  # what is not plain text is exported byte by byte
        said = bytes(one for one in said if isinstance(one, int) and 0 <= one < 256).decode(errors="replace")
    micros, priority = (str(document.get(name, "")) for name in ("__REALTIME_TIMESTAMP", "PRIORITY"))
    at = None
    if micros.isdecimal() and len(micros) < 18:
        at = datetime.fromtimestamp(0, UTC) + timedelta(microseconds=int(micros))
    level = SYSLOG_LEVELS[int(priority)] if priority in set("01234567") else ""
    return Unwrapped(str(said), str(document.get("_HOSTNAME", "")), at, level)


def moment(text: str) -> datetime | None:
    """A time as RFC 3339 writes it, to the microsecond; None for what is none."""
    plain = FRACTION.sub(lambda found: "." + found[1][1:], text, count=1).replace(" UTC", "+00:00")
    try:
        return datetime.fromisoformat(plain)
    except ValueError:
        return None


def without_year(text: str, last: datetime) -> datetime | None:
    """A time such as `Nov 27 08:47:15`: of the last such day that is not after `last`."""
    month, day, clock = text.split()
    for year in (last.year, last.year - 1):
        if month in MONTHS and (at := moment(f"{year}-{MONTHS.index(month) + 1:02}-{int(day):02} {clock}")):
            at = at.replace(tzinfo=last.tzinfo)
            if at <= last + timedelta(days=1):
                return at
    return None
