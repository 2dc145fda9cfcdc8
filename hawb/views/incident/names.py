"""The short names of nodes and files in an incident's story: as short as possible while they differ."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import PurePath

from msgspec import Struct

from hawb.incident.events import Event
from hawb.views.formatting import shown
from hawb.views.incident.times import date_and_time, time_of_day


class Names(Struct, frozen=True):
    """The short names of nodes and of log files by their long names; with `days`, times include the day."""

    nodes: Mapping[str, str]
    files: Mapping[str, str]
    days: bool = False

    def node(self, name: str | None) -> str:
        """Return the short name of a node; a name that is not in the logs stays as it is."""
        return shown(self.nodes.get(name or "", name or ""))

    def time(self, at_us: int) -> str:
        """Return a time such as 08:55:23, or 2026-11-27 08:55:23."""
        return date_and_time(at_us) if self.days else time_of_day(at_us)

    def text(self, words: str) -> str:
        """Return a text with the nodes' long names replaced by short ones."""
        for name in sorted(self.nodes, key=len, reverse=True):
            words = words.replace(name, self.nodes[name])
        return words

    def line(self, event: Event) -> str:
        """Return the place of an event's message, such as a.log.gz:157."""
        return f"{shown(self.files.get(event.file, event.file))}:{event.line}"


def names(nodes: Iterable[str], files: Iterable[str], days: bool = False) -> Names:
    """Return the short names of these nodes (Erlang names) and files; `days` is True if events span several days."""
    return Names(_distinct_names([*nodes], OF_NODES), _distinct_names([*files], OF_FILES), days)


HOST = re.compile(r"@([A-Za-z][\w-]*)")
OF_NODES: Sequence[Callable[[str], str]] = (
    lambda name: found[1] if (found := HOST.search(name)) else "",
    lambda name: name.partition("@")[0] if "@" in name else "",
    lambda name: name.partition("@")[2],
)
"""The ways to shorten a node's name, the best first: rabbit@mq1.example.org is mq1, and n1@10.0.0.1 is n1."""
OF_FILES: Sequence[Callable[[str], str]] = (
    lambda file: PurePath(file).name,
    lambda file: "/".join(PurePath(file).parts[-2:]),
)


def _distinct_names(long: Sequence[str], ways: Sequence[Callable[[str], str]]) -> dict[str, str]:
    """Return the first set of short names that are all non-empty and all different; else the long names."""
    for way in ways:
        short = {name: way(name) for name in long}
        if all(short.values()) and len({*short.values()}) == len(short):
            return short
    return {name: name for name in long}
