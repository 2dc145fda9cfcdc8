"""Split a log into messages, in any format: RabbitMQ's text and JSON, lager's of 3.7 and 3.8, Erlang reports.

Since 3.9 each line of a message has its own time and process; before that only the first line has
(`hawb.incident.headers`). Lines that belong together become one entry, which keeps the number of its first line. In a
file that mixes several writers, each writer has its own open entry.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta, tzinfo
from itertools import count, pairwise
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from msgspec import Struct

from hawb.incident.headers import BARE, Head, head, micros_since_1970, moment
from hawb.incident.wrappings import Unwrapped, unwrap

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LEVELS = {
    short: level for level, shorts in {
        "debug": "deb dbg", "info": "inf", "notice": "not ntc", "warning": "war wrn", "error": "err",
        "critical": "cri crt", "alert": "ale alt", "emergency": "eme emg", "crash": "cra", "supervisor": "sup",
        "progress": "pro",
    }.items() for short in shorts.split()
}  # fmt: skip
"""Levels, and kinds of reports, by the first three letters, which are what all ways to write them have in common."""
REPORT = " "
"""Text after the level in Erlang's reports (=INFO REPORT====)."""
BOOT_FAILED = "BOOT FAILED"
"""Texts that a broker prints without a time before a log is open."""
LONGEST = 512 * 1024
"""Number of characters kept of a message: a crash report contains the state of the process."""
LEAST_EARLIER, OFTENER = 3, 3
"""Minimum number, and minimum ratio, of messages that are earlier than the one above for a log to count as reversed."""
EMPTY = Unwrapped("")
MOST_BEFORE = 64
"""Number of unknown prefixes that are remembered: a log may have a different one in each line."""


def zone_of(name: str) -> tzinfo:
    """Return a time zone by its name, such as Europe/Stockholm or UTC. Raise ValueError if there is none."""
    if name == "UTC":
        return UTC  # which a machine without a database of zones has too
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        accepted = "names such as Europe/Stockholm or UTC"
        raise ValueError(f"zone: {name!r} is not a time zone; accepted: {accepted}") from None


class Entry(Struct):
    """A log message: its text without its head.

    `who` is the writer's name in a wrapping. `goes_on` is True if further lines with the same time and process may
    belong to the message. `own` is True if only a broker's messages have a head like this.
    """

    line: int
    at_us: int | None
    level: str
    pid: str
    text: str
    who: str = ""
    goes_on: bool = False
    own: bool = False


class _Open(Struct):
    """A log message to which further lines may belong: its `lines` so far, and their `size` in characters.

    The lines are joined once, at the end: a crash report may have hundreds of thousands of them.
    """

    entry: Entry
    lines: list[str]
    size: int

    @classmethod
    def of(cls, entry: Entry) -> _Open:
        """Return a message with its first line."""
        return cls(entry, [entry.text], len(entry.text))

    def append(self, text: str) -> None:
        """Add a line, unless the message is long already."""
        if self.size < LONGEST:
            self.lines.append(text)
            self.size += 1 + len(text)

    def whole(self) -> Entry:
        """Return the message with all its lines."""
        self.entry.text = "\n".join(self.lines)
        return self.entry


def level_of(written: str) -> str:
    """Return the full name of a level, in any spelling; empty if it is none."""
    return LEVELS.get(written[:3].lower(), "")


def newest_first(lines: Iterable[str]) -> bool:
    """Return True if the lines are in reverse order, as log services show them.

    In any log some lines of several nodes, or of two processes, may be out of order.
    """
    times = [entry.at_us for entry in Reader().entries(lines) if entry.at_us is not None]
    earlier = sum(one > other for one, other in pairwise(times))
    later = sum(one < other for one, other in pairwise(times))
    return earlier >= LEAST_EARLIER and earlier > OFTENER * later


class Reader:
    """Turns lines into entries.

    A time without a zone is in `zone`; `last` is a time that no line is later than. `cut` counts the lines that belong
    to no entry, such as those at the beginning of a truncated file.
    """

    def __init__(self, zone: tzinfo = UTC, last: datetime | None = None):
        self.zone, self.last = zone, last or datetime.now(UTC)
        self.cut = 0
        self._open: dict[str, _Open] = {}
        self._partial: dict[str, str] = {}
        self._before: dict[str, str] = {}
        self._time: tuple[str, int | None] = "", None

    def entries(self, lines: Iterable[str], numbers: Iterable[int] | None = None) -> Iterator[Entry]:
        """Yield the entries, each as soon as it is complete. Lines are numbered from 1, or as given."""
        for number, line in zip(count(1) if numbers is None else numbers, lines, strict=False):
            over = self._take(number, line.rstrip("\r\n"))
            if over is not None:
                yield over
        yield from (one.whole() for one in self._open.values())
        self._open.clear()

    def _take(self, number: int, line: str) -> Entry | None:
        """Process a line, and return the entry that it shows to be complete, if any."""
        if not line and not self._before and not self._partial:
            return self._go_on(number, line, EMPTY)
        if headed := head(line):
            return self._begin(self._headed(number, headed, ""))
        inner = self._unwrapped(line)
        text = self._partial.pop(inner.who, "") + inner.text
        if inner.partial:
            self._partial[inner.who] = text[:LONGEST]
            return None
        if inner.document is not None:
            return self._begin(self._of_document(number, inner))
        if text != line and (headed := head(text)):
            return self._begin(self._headed(number, headed, inner.who))
        if inner.level or BARE.match(text) or (inner.at and not self._headed_is_open(inner.who)):
            return self._begin(self._without_time(number, inner, text))
        return self._go_on(number, text, inner)

    def _unwrapped(self, line: str) -> Unwrapped:
        """Return a line without wrappings, and without a prefix that an earlier line had before the broker's words."""
        inner = unwrap(line, self.last)
        if inner.before and inner.who and len(self._before) < MOST_BEFORE:
            self._before[inner.before] = inner.who
        elif self._before and not inner.who:
            for before, who in self._before.items():
                if inner.text.startswith(before) or inner.text == before.rstrip():
                    return inner._replace(text=inner.text[len(before) :], who=who)
        return inner

    def _headed_is_open(self, who: str) -> bool:
        """Return True if a writer's last message began with a head.

        After one without, as in journald, each line is another message.
        """
        former = self._open.get(who)
        return former is not None and bool(former.entry.level or former.entry.pid)

    def _headed(self, number: int, headed: Head, who: str) -> Entry:
        at_us, level = self._at(headed.time), level_of(headed.level)
        own = bool(headed.pid) or headed.level.endswith(REPORT)
        return Entry(number, at_us, level, headed.pid, headed.said, who, headed.fine, own)

    def _of_document(self, number: int, inner: Unwrapped) -> Entry:
        """Return an entry of RabbitMQ's JSON format."""
        document: dict[str, Any] = inner.document or {}
        at_us = micros_since_1970(document["time"])
        at_us = self._at(str(document["time"])) if at_us is None else at_us
        return Entry(number, at_us, level_of(document["level"]), document["pid"], document["msg"][:LONGEST], inner.who,
                     own=document["pid"].startswith("<"))  # fmt: skip

    def _without_time(self, number: int, inner: Unwrapped, text: str) -> Entry:
        found, at_us = BARE.match(text), None if inner.at is None else self._micros(inner.at)
        if found:
            level = level_of(found["level"] or found["alone"])
            pid = found["pid"] or ""
            return Entry(number, at_us, level, pid, text[found.end() :], inner.who, own=bool(pid))
        return Entry(number, at_us, inner.level, "", text, inner.who)

    def _begin(self, entry: Entry) -> Entry | None:
        """Append an entry to the writer's open message if it continues it, and return None.

        Otherwise open a new message with it, and return the former one, which is complete.
        """
        former = self._open.get(entry.who)
        if former is not None and _is_one(former.entry, entry):
            former.append(entry.text)
            return None
        self._open[entry.who] = _Open.of(entry)
        return None if former is None else former.whole()

    def _go_on(self, number: int, text: str, inner: Unwrapped) -> None:
        former = self._open.get(inner.who)
        if former is None and text.startswith(BOOT_FAILED):
            self._open[inner.who] = _Open.of(Entry(number, None, "error", "", text, inner.who))
        elif former is None:
            self.cut += bool(text.strip())
        else:
            former.append(text)

    def _at(self, time: str) -> int | None:
        if self._time[0] != time:
            at = moment(time)
            self._time = time, None if at is None else self._micros(at)
        return self._time[1]

    def _micros(self, at: datetime) -> int | None:
        try:
            return ((at if at.tzinfo else at.replace(tzinfo=self.zone)) - EPOCH) // timedelta(microseconds=1)
        except OverflowError:
            return None


def _is_one(former: Entry, entry: Entry) -> bool:
    """Return True if an entry continues the one before."""
    alike = (former.at_us, former.pid, former.level) == (entry.at_us, entry.pid, entry.level)
    return alike and former.goes_on and entry.goes_on
