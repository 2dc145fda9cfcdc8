"""From logs to events: of one file, or of all files of one cluster.

    from hawb.incident.reading import read_logs
    reading = read_logs([Path("rabbit@a.log"), Path("rabbit@b.log"), Path("older/")])
    reading.events, reading.clocks, reading.unknown

What a file tells of twice, or two files tell of (a rotated copy, 3.8's crash log beside its log), is one event. Events
are in the order of time, once the clocks of the nodes have been compared (`hawb.incident.clocks`); their own times stay
those of their writers.
"""

from __future__ import annotations

import lzma
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, tzinfo
from pathlib import Path
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from hawb.incident import files
from hawb.incident.clocks import Clock, compared, settled_us
from hawb.incident.entries import Entry, Reader
from hawb.incident.events import Event
from hawb.incident.recogniser import NODE, Recogniser
from hawb.incident.templates import reduced, template

OF_LOGS = re.compile(r"[-_](crash|upgrade|sasl|daemon)$")
"""What the names of a node's further logs end in."""
BANNER = re.compile(rf"^\s*node\s+: ({NODE})\s*$", re.MULTILINE)
"""The line of a booting broker's first words that names its node."""
SECRET = ("connection", "user")
RECOGNISER = Recogniser()
MOST_TEMPLATES, OTHERS = 20_000, "…"
"""How many templates of a file are told apart: what is no log of RabbitMQ's must not fill the memory."""
BROKEN_OFF = (EOFError, zlib.error, lzma.LZMAError)
"""What unpackers raise where a compressed file breaks off."""


class FileReading(Struct):
    """What came of one file. `unknown` counts messages that no rule knows by (level, template), `cut` lines that belong
    to no message, `timeless` messages with an unreadable time; `refused` is why the file could not be read to its
    end."""

    file: str
    events: list[Event] = field(default_factory=list)
    unknown: Counter[tuple[str, str]] = field(default_factory=Counter)
    messages: int = 0
    lines: int = 0
    cut: int = 0
    timeless: int = 0
    refused: str | None = None


class Reading(Struct):
    """What came of all logs of a cluster: events in the order of time, the nodes' clocks, and each file's own counts.
    `repeated` is how many events were left out since another message told of them."""

    events: list[Event]
    clocks: dict[str, Clock]
    files: list[FileReading]
    repeated: int

    @property
    def unknown(self) -> Counter[tuple[str, str]]:
        """The messages that no rule knows, by (level, template)."""
        return sum((file.unknown for file in self.files), Counter[tuple[str, str]]())


def read_logs(paths: Iterable[Path], zone: tzinfo = UTC, clients: bool = False) -> Reading:
    """The logs of one cluster: files, and folders of files. Times without a zone, as 3.8 has them, are of `zone`;
    with `clients` the events name connections and users. Raises OSError for a path that is not there."""
    return together([read_file(file, zone, clients) for file in files.log_files(paths)])


def together(found: list[FileReading]) -> Reading:
    """What all files of one cluster tell."""
    _call_by_erlang_names(found)
    _call_as_neighbours(found)
    events = {_told(event): event for file in reversed(found) for event in reversed(file.events)}
    clocks = compared(events.values())
    ordered = sorted(events.values(), key=lambda event: (settled_us(event, clocks), event.node, event.file, event.line))
    return Reading(ordered, clocks, found, sum(len(file.events) for file in found) - len(ordered))


def read_file(file: Path, zone: tzinfo = UTC, clients: bool = False) -> FileReading:
    """What one file tells, in its own order. What cannot be read is told, and raises nothing."""
    reading, reader = FileReading(str(file)), Reader(zone, files.last_change(file))
    writers = _Writers(files.node_in_name(file) or _stem(file))
    try:
        for entry in reader.entries(_counted(files.lines(file), reading)):
            _take(entry, reading, writers, clients)
    except (OSError, *BROKEN_OFF) as error:
        reading.refused = str(error) or type(error).__name__
        for entry in reader.entries(()):
            _take(entry, reading, writers, clients)
    reading.cut = reader.cut
    reading.events = [replace(event, node=writers.name(event.node)) for event in reading.events]
    return reading


class _Writers:
    """The nodes that wrote a file, by what wrappings call them, as far as the log itself tells."""

    def __init__(self, otherwise: str):
        self._otherwise = otherwise
        self._names: dict[str, list[str]] = {}

    def tell(self, who: str, node: str) -> None:
        """Notes that a writer has named itself."""
        names = self._names.setdefault(who, [])
        if node not in names:
            names.append(node)

    def key(self, who: str) -> str:
        """What stands for a message's writer until the file is over: a file may tell of several, one after another."""
        return f"{max(0, len(self._names.get(who, ())) - 1)}\n{who}"

    def name(self, key: str) -> str:
        """The writer's name."""
        place, _, who = key.partition("\n")
        names = self._names.get(who)
        return names[int(place)] if names else who or self._otherwise


def _take(entry: Entry, reading: FileReading, writers: _Writers, clients: bool) -> None:
    """Takes one message into what a file tells."""
    reading.messages += 1
    message = entry.text.lstrip()
    if "  : " in message and (banner := BANNER.search(message)):
        writers.tell(entry.who, banner[1])
    if not message:
        return
    found = RECOGNISER.find(message)
    if found is None:
        known = entry.level, template(message)
        if len(reading.unknown) >= MOST_TEMPLATES and known not in reading.unknown:
            known = entry.level, OTHERS
        reading.unknown[known] += 1
    elif entry.at_us is None:
        reading.timeless += 1
    else:
        rule, told = found
        if writer := told.pop("self", None):
            writers.tell(entry.who, writer)
        reading.events.append(Event(
            at_us=entry.at_us, node=writers.key(entry.who), kind=rule.kind, level=entry.level, file=reading.file,
            line=entry.line, **_open_to_all(told, clients),
        ))  # fmt: skip


def _open_to_all(told: dict[str, Any], clients: bool) -> dict[str, Any]:
    """The fields of an event without what is secret."""
    if not clients:
        for name in SECRET:
            told.pop(name, None)
    if reason := told.get("reason"):
        told["reason"] = reduced(reason)
    return told


def _counted(lines: Iterable[str], reading: FileReading) -> Iterator[str]:
    for reading.lines, line in enumerate(lines, 1):
        yield line


def _stem(file: Path) -> str:
    """What a file's writer is called where nothing names it: the folder, if the name is what every node's log is
    called, or else the file's name up to the first dot."""
    stem = file.name.partition(".")[0]
    return file.parent.name if stem in ("broker", "rabbit", "rabbitmq", "console", "crash", "erlang") else stem


def _call_by_erlang_names(found: Sequence[FileReading]) -> None:
    """Calls writers that only a wrapping or a file has named by the one node of the cluster that has this host."""
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
    """Calls the writer of a file that nothing names, such as a-crash.log, as that of the log beside it, a.log; or of
    all logs of its folder, where they are one node's."""
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
    """A file's name up to the first dot, without what of a node's logs it is."""
    return OF_LOGS.sub("", file.name.partition(".")[0])


def _told(event: Event) -> tuple[Any, ...]:
    """What two messages about the same have in common."""
    return (event.at_us, event.node, event.kind, event.peer, event.queue, event.vhost, event.nodes, event.name,
            event.reason, event.term, event.count)  # fmt: skip
