"""What nodes and files are called in an incident's story: as briefly as they can be told apart."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import PurePath

from msgspec import Struct

from hawb.incident.events import Event
from hawb.views.formatting import shown
from hawb.views.incident.times import time_of_day, told_at


class Names(Struct, frozen=True):
    """The short names of nodes and of log files, by their long ones; with `days` moments are told with theirs."""

    nodes: Mapping[str, str]
    files: Mapping[str, str]
    days: bool = False

    def node(self, name: str | None) -> str:
        """What a node is called; a name that no log has stays as it is."""
        return shown(self.nodes.get(name or "", name or ""))

    def time(self, at_us: int) -> str:
        """When something happened: 08:55:23, or 2026-11-27 08:55:23."""
        return told_at(at_us) if self.days else time_of_day(at_us)

    def text(self, told: str) -> str:
        """A text in which nodes have their long names, with their short ones."""
        for name in sorted(self.nodes, key=len, reverse=True):
            told = told.replace(name, self.nodes[name])
        return told

    def line(self, event: Event) -> str:
        """Where an event's message is: a.log.gz:157."""
        return f"{shown(self.files.get(event.file, event.file))}:{event.line}"


def names(nodes: Iterable[str], files: Iterable[str], days: bool = False) -> Names:
    """The names of these nodes (as Erlang has them) and files; `days`: what happened was on several days."""
    return Names(_told_apart([*nodes], OF_NODES), _told_apart([*files], OF_FILES), days)


HOST = re.compile(r"@([A-Za-z][\w-]*)")
OF_NODES: Sequence[Callable[[str], str]] = (
    lambda name: found[1] if (found := HOST.search(name)) else "",
    lambda name: name.partition("@")[0] if "@" in name else "",
    lambda name: name.partition("@")[2],
)
"""What a node may be called, the best first: rabbit@mq1.example.org is mq1, and n1@10.0.0.1 is n1."""
OF_FILES: Sequence[Callable[[str], str]] = (
    lambda file: PurePath(file).name,
    lambda file: "/".join(PurePath(file).parts[-2:]),
)


def _told_apart(long: Sequence[str], ways: Sequence[Callable[[str], str]]) -> dict[str, str]:
    """The first names that are all there and all different."""
    for way in ways:
        short = {name: way(name) for name in long}
        if all(short.values()) and len({*short.values()}) == len(short):
            return short
    return {name: name for name in long}
