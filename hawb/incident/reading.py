"""Turn logs into events: of one file, or of all files of one cluster.

    from hawb.incident.reading import read_logs
    reading = read_logs([Path("rabbit@a.log"), Path("rabbit@b.log"), Path("older/")])
    reading.events, reading.clocks, reading.unknown

A message that a file has twice, or that two files have (a rotated copy, 3.8's crash log beside its log), is one event.
Events are in order of time, once the nodes' clocks have been compared (`hawb.incident.clocks`); their own times stay
those of their writers.
"""

from __future__ import annotations

import lzma
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, tzinfo
from itertools import chain, count, islice
from pathlib import Path
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from hawb.incident import causes, files
from hawb.incident.clocks import Clock, compared, settled_us
from hawb.incident.entries import Entry, Reader, newest_first
from hawb.incident.events import Event
from hawb.incident.recogniser import CLIPPED, NODE, OF_A_NODE, Recogniser
from hawb.incident.templates import legible, reduced, template

OF_LOGS = re.compile(r"[-_](crash|upgrade|sasl|daemon)$")
"""Suffixes of the names of a node's further logs."""
BANNER = re.compile(rf"^\s*node\s+: ({NODE})\s*$", re.MULTILINE)
"""Line in a booting broker's banner that names its node."""
SECRET = ("connection", "user")
RECOGNISER = Recogniser()
LOOKED_AT = 200
"""Number of lines by which the order of a file is determined."""
MOST_TEMPLATES, OTHERS = 20_000, "…"
"""Maximum number of templates per file: a file that is no RabbitMQ log must not fill the memory."""
SEVERE = frozenset({"error", "critical", "alert", "emergency", "crash", "supervisor"})
"""Levels, and kinds of Erlang's reports, at which a message says that something went wrong."""
MOST_UNREAD = 20
"""Number of severe unmatched messages that are kept per file; all are counted."""
BOOT_FAILED = "BOOT FAILED"
BARE_LINES = re.compile(
    r"\n(?=BOOT FAILED|\w+_alloc: Cannot |\{?\"?(?:Kernel pid terminated|init terminating in do_boot)"
    r"|Runtime terminating during boot|Crash dump is being written to)"
)
"""Lines that a broker or its Erlang machine prints without time and level.

Source: `rabbit_prelaunch_errors`, `erts:erl_exit`.
"""
DURING_STARTUP = re.compile(r"(?:Error|Exception) during startup:\s*(\S.*)", re.DOTALL)
"""The reason for a failed boot, an Erlang term that may span many lines (`rabbit_prelaunch_errors`)."""
FAILING_US, FAILING_LINES = 2_000_000, 60
"""Time and number of messages over which a node explains a failed boot: 3.8 logs each line separately."""
NOTED = "noted"
"""Kind of messages that are recognised and produce no event."""
OF_BOOTS = frozenset({"boot_failed", "boot_error"})
OF_CRASHES = frozenset({"process_crashed", "child_ended"})
ASKED = frozenset({"connection_failed", "channel_failed", "operation_failed"})
WITH_A_CAUSE = frozenset({"erlang_ended", "discovery_failed", "application_ended", "flag_not_enabled"})
RAISED = re.compile(r"(?:error|exit|throw):\s*")
"""Exception classes of a process crash."""
BROKEN_OFF = (EOFError, zlib.error, lzma.LZMAError)
"""Errors that unpackers raise for a truncated file."""


class Unread(Struct, frozen=True):
    """A message at a severe level that no rule matches.

    It holds its place, and its beginning without names and numbers that may be confidential
    (`hawb.incident.templates.legible`).
    """

    file: str
    line: int
    level: str
    text: str


class FileReading(Struct):
    """The result for one file.

    `own` counts the messages that begin as a broker's do, or that a rule matches: with none the file is no RabbitMQ
    log. `unread` are the first severe messages that no rule matches, of `severe` in total. `unknown` counts messages
    that no rule matches by (level, template), `cut` lines that belong to no message, `timeless` messages with an
    unreadable time; `refused` is why the file could not be read to its end. `newest_first` is True if it is in reverse
    order, and was read backwards.
    """

    file: str
    events: list[Event] = field(default_factory=list)
    unknown: Counter[tuple[str, str]] = field(default_factory=Counter)
    messages: int = 0
    lines: int = 0
    cut: int = 0
    timeless: int = 0
    refused: str | None = None
    newest_first: bool = False
    own: int = 0
    unread: list[Unread] = field(default_factory=list)
    severe: int = 0

    @property
    def is_log(self) -> bool:
        """Return True if the file is a log of RabbitMQ's, as far as it could be read."""
        return bool(self.own)


class Reading(Struct):
    """The result for all logs of a cluster: events in order of time, the nodes' clocks, and each file's own counts.

    `repeated` counts the events that were left out as duplicates.
    """

    events: list[Event]
    clocks: dict[str, Clock]
    files: list[FileReading]
    repeated: int

    @property
    def unknown(self) -> Counter[tuple[str, str]]:
        """Return the counts of messages that no rule matches, by (level, template)."""
        return sum((file.unknown for file in self.files), Counter[tuple[str, str]]())

    @property
    def unread(self) -> list[Unread]:
        """Return the severe messages that no rule matches, the first of each file."""
        return [one for file in self.files for one in file.unread]

    @property
    def severe(self) -> int:
        """Return how many severe messages no rule matches."""
        return sum(file.severe for file in self.files)


def read_logs(
    paths: Iterable[Path], zone: tzinfo = UTC, clients: bool = False, limits: files.Limits | None = None
) -> Reading:
    """Read the logs of one cluster: files, and folders of files.

    Times without a zone, as in 3.8, are in `zone`; with `clients` the events name connections and users. Compressed
    files are read up to `limits`, which apply to all of them together. Raise OSError for a path that does not exist.
    """
    unpacking = files.Unpacking(limits)
    return together([read_file(file, zone, clients, unpacking) for file in files.log_files(paths)])


def together(found: list[FileReading]) -> Reading:
    """Combine the results of all files of one cluster."""
    _call_by_erlang_names(found)
    _call_as_neighbours(found)
    events = {_identity(event): event for file in reversed(found) for event in reversed(file.events)}
    clocks = compared(events.values())
    way = {file.file: -1 if file.newest_first else 1 for file in found}
    ordered = sorted(events.values(), key=lambda event: (
        settled_us(event, clocks), event.node, event.file, way.get(event.file, 1) * event.line))  # fmt: skip
    return Reading(ordered, clocks, found, sum(len(file.events) for file in found) - len(ordered))


def read_file(
    file: Path, zone: tzinfo = UTC, clients: bool = False, unpacking: files.Unpacking | None = None
) -> FileReading:
    """Read one file, in its own order. A file that cannot be read is reported in the result; nothing is raised."""
    reading, reader = FileReading(str(file)), Reader(zone, files.last_change(file))
    writers = _Writers(files.node_in_name(file) or _stem(file))
    try:
        for entry in reader.entries(*_numbered(file, reading, unpacking)):
            _take(entry, reading, writers, clients)
    except (OSError, *BROKEN_OFF) as error:
        reading.refused = str(error) or type(error).__name__
        for entry in reader.entries(()):
            _take(entry, reading, writers, clients)
    reading.cut = reader.cut
    reading.events = [replace(event, node=writers.name(event.node)) for event in reading.events]
    return reading


class _Writers:
    """The nodes that wrote a file, by their names in wrappings, as far as the log itself shows."""

    def __init__(self, otherwise: str):
        self._otherwise = otherwise
        self._names: dict[str, list[str]] = {}
        self._failing: dict[tuple[str, str], tuple[int, int]] = {}

    def add_name(self, who: str, node: str) -> None:
        """Record that a writer has named itself."""
        names = self._names.setdefault(who, [])
        if node not in names:
            names.append(node)

    def fails(self, entry: Entry) -> None:
        """Record that a process reports a failed boot."""
        if entry.at_us is not None:
            self._failing[entry.who, entry.pid] = entry.at_us, FAILING_LINES

    def is_failing(self, entry: Entry) -> bool:
        """Return True if a message belongs to the report of a failed boot that its process has just begun to log."""
        since_us, more = self._failing.get((entry.who, entry.pid), (0, 0))
        self._failing[entry.who, entry.pid] = since_us, more - 1
        return more > 0 and entry.at_us is not None and 0 <= entry.at_us - since_us <= FAILING_US

    def key(self, who: str) -> str:
        """Return a key for a message's writer until the file is read, as a file may hold several in turn."""
        return f"{max(0, len(self._names.get(who, ())) - 1)}\n{who}"

    def name(self, key: str) -> str:
        """Return the writer's name."""
        place, _, who = key.partition("\n")
        names = self._names.get(who)
        return names[int(place)] if names else who or self._otherwise


def _take(entry: Entry, reading: FileReading, writers: _Writers, clients: bool) -> None:
    """Add one message to a file's result.

    Lines that the broker prints without a head, such as why its boot failed, may follow the lines of a message: they
    are a message of their own.
    """
    reading.messages += 1
    reading.own += entry.own
    message = entry.text.lstrip(", \n\r\t")
    if (bare := BARE_LINES.search(message)) and (place := bare.start()) > 0:
        _take_message(entry, message[:place], reading, writers, clients)
        above = entry.text.removesuffix(message[place:]).count("\n")
        entry, message = replace(entry, line=entry.line + above + 1), message[place + 1 :]
        reading.messages += 1
    _take_message(entry, message, reading, writers, clients)


def _take_message(entry: Entry, message: str, reading: FileReading, writers: _Writers, clients: bool) -> None:
    if "  : " in message and (banner := BANNER.search(message)):
        writers.add_name(entry.who, banner[1])
    if not message:
        return
    found = RECOGNISER.find(message)
    if found is not None:
        kind, fields = found[0].kind, found[1]
    elif entry.level in SEVERE and writers.is_failing(entry):
        kind, fields = "boot_error", {}
    elif entry.level in SEVERE and (mark := causes.cause(message)) and causes.MARKS[mark] == causes.COOKIE:
        kind, fields = "boot_failed", {}
    else:
        _count_unknown(entry, message, reading)
        return
    reading.own += 1
    if kind == NOTED:
        return
    if entry.at_us is None:
        reading.timeless += 1
        if entry.level in SEVERE or kind == "boot_failed":
            _not_read(entry, message, reading)
        return
    kind, fields = _with_cause(kind, fields, message)
    if kind == "boot_failed":
        writers.fails(entry)
    if writer := fields.pop("self", None):
        writers.add_name(entry.who, writer)
    reading.events.append(Event(
        at_us=entry.at_us, node=writers.key(entry.who), kind=kind, level=entry.level, file=reading.file,
        line=entry.line, **_open_to_all(fields, clients),
    ))  # fmt: skip


def _count_unknown(entry: Entry, message: str, reading: FileReading) -> None:
    """Count a message that no rule matches, and keep it if its level is severe."""
    known = entry.level, template(message)
    if len(reading.unknown) >= MOST_TEMPLATES and known not in reading.unknown:
        known = entry.level, OTHERS
    reading.unknown[known] += 1
    if entry.level in SEVERE:
        _not_read(entry, message, reading)


def _not_read(entry: Entry, message: str, reading: FileReading) -> None:
    reading.severe += 1
    if len(reading.unread) < MOST_UNREAD:
        reading.unread.append(Unread(reading.file, entry.line, entry.level, legible(message)))


def _with_cause(kind: str, fields: dict[str, Any], message: str) -> tuple[str, dict[str, Any]]:
    """Return the kind and fields of an event with the cause in its message, which may be on a later line.

    That concerns failed boots, crashed processes, and client operations that timed out.
    """
    if kind in OF_BOOTS:
        mark = causes.cause(message)
        if mark and causes.MARKS[mark] == causes.TABLES:
            fields = {"nodes": tuple(dict.fromkeys(OF_A_NODE.findall(message[:CLIPPED])))} | fields
        term = DURING_STARTUP.search(message[:CLIPPED])
        reason = mark or (term and term[1])
        return kind, fields | ({"reason": reason} if reason else {})
    if kind in WITH_A_CAUSE and (mark := causes.cause(message)):
        return kind, fields | {"reason": mark}
    if kind in OF_CRASHES:
        if (mark := causes.cause(message)) and causes.MARKS[mark] == causes.COOKIE:
            return "boot_failed", {"reason": mark}
        of, mark = causes.process(message), causes.cause_of_crash(message)
        named = {"queue": of.queue, "vhost": of.vhost} if of.queue else {}
        reason = mark or RAISED.sub("", fields.get("reason") or "") or None
        return kind, fields | named | {"reason": reason}
    if kind in ASKED and (mark := causes.cause(message)) and causes.MARKS[mark] == causes.TIMEOUT:
        return "operation_timed_out", fields | {"reason": mark}
    return kind, fields


def _open_to_all(fields: dict[str, Any], clients: bool) -> dict[str, Any]:
    """Return the fields of an event without confidential ones."""
    if not clients:
        for name in SECRET:
            fields.pop(name, None)
    if (reason := fields.get("reason")) and reason not in causes.MARKS:
        fields["reason"] = reduced(reason)
    return fields


def _numbered(
    file: Path, reading: FileReading, unpacking: files.Unpacking | None
) -> tuple[Iterator[str], Iterable[int]]:
    """Return the lines of a file from the oldest on, and their numbers."""
    end = _End()
    lines = end.up_to(files.lines(file, unpacking))
    begin = list(islice(lines, LOOKED_AT))
    if not newest_first(begin):
        return _counted(chain(begin, _rest(lines, end)), reading), count(1)
    reading.newest_first = True
    whole, many = files.backwards(chain(begin, lines))
    return _counted(chain(whole, _rest(iter(()), end)), reading), count(many, -1)


class _End:
    """The error with which a file ended, if any."""

    broken: Exception | None = None

    def up_to(self, lines: Iterable[str]) -> Iterator[str]:
        """Yield the lines of a file as far as they can be read."""
        try:
            yield from lines
        except (OSError, *BROKEN_OFF) as error:
            self.broken = error


def _rest(lines: Iterator[str], end: _End) -> Iterator[str]:
    """Yield the remaining lines; raise the file's error if it has one."""
    yield from lines
    if end.broken is not None:
        raise end.broken


def _counted(lines: Iterable[str], reading: FileReading) -> Iterator[str]:
    for reading.lines, line in enumerate(lines, 1):
        yield line


def _stem(file: Path) -> str:
    """Return a name for a file's writer if nothing names it.

    It is the folder's name if the file has a name that every node's log has, or else the file's name up to the first
    dot.
    """
    stem = file.name.partition(".")[0]
    return file.parent.name if stem in ("broker", "rabbit", "rabbitmq", "console", "crash", "erlang") else stem


def _call_by_erlang_names(found: Sequence[FileReading]) -> None:
    """Rename writers known only by a wrapping or a file to the one cluster node with that host."""
    names = {name for file in found for event in file.events for name in (event.node, event.peer, *event.nodes)
             if name and "@" in name}  # fmt: skip
    hosts: dict[str, set[str]] = {}
    for name in names:
        host = name.partition("@")[2]
        for called in {host, host.partition(".")[0]}:
            hosts.setdefault(called, set()).add(name)
    for file in found:
        for place, event in enumerate(file.events):
            if "@" not in event.node and len(known := hosts.get(event.node, set())) == 1:
                file.events[place] = replace(event, node=next(iter(known)))


def _call_as_neighbours(found: Sequence[FileReading]) -> None:
    """Rename the writer of a file that nothing names after the log beside it: that of a-crash.log after a.log.

    Or after all logs of its folder, if they belong to one node.
    """
    named: dict[Path, dict[str, set[str]]] = {}
    for file in found:
        path = Path(file.file)
        nodes = {event.node for event in file.events if "@" in event.node}
        named.setdefault(path.parent, {}).setdefault(_bare(path), set()).update(nodes)
    for file in found:
        path = Path(file.file)
        known = named[path.parent][_bare(path)] or set().union(*named[path.parent].values())
        if {event.node for event in file.events} == {_stem(path)} and len(known) == 1:
            (node,) = known
            file.events = [replace(event, node=node) for event in file.events]


def _bare(file: Path) -> str:
    """Return a file's name up to the first dot, without a suffix for the kind of log."""
    return OF_LOGS.sub("", file.name.partition(".")[0])


def _identity(event: Event) -> tuple[Any, ...]:
    """Return the key by which two messages about the same thing are equal."""
    return (event.at_us, event.node, event.kind, event.peer, event.queue, event.vhost, event.nodes, event.name,
            event.reason, event.term, event.count)  # fmt: skip
