"""Remove what other programs and people put around a broker's lines.

They are containers, compose, Kubernetes, journald, log services, and people who quote lines. A line is unwrapped until
the broker's own text is left. Facts in a wrapping are kept: the line's writer, for files that mix several, and the
time, for lines without their own. An unknown wrapping is any text before a time, a level and a process. JSON wrappings
are in `hawb.incident.documents`.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any, NamedTuple

from hawb.incident import documents
from hawb.incident.headers import LEVEL, MONTHS, PID, TIME, head, moment, of_day, without_year

COLOURS = re.compile(r"(?:\x1b|#033|\^\[|\\(?:x1b|u001b|033|e))\[[\d;]*m")
"""Colours of a terminal; some who keep lines write the character that begins them in another way."""
ESCAPES = ("\x1b", "#033[", "^[[", "\\x1b[", "\\u001b[", "\\033[", "\\e[")
DOCKER = re.compile(
    r"(?P<time>\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d))[ \t]+(?:std(?:out|err) (?P<cri>[FP]) )?"
)
"""`docker logs --timestamps`, `kubectl logs --timestamps`, what services of logs print, and the files of Kubernetes'
runtimes (CRI), whose P marks a line that goes on in the next one."""
KIBANA = re.compile(rf"(?P<month>{'|'.join(MONTHS)}) (?P<day>\d{{1,2}}), (?P<year>\d{{4}}) @ (?P<clock>[\d:.]+)[ \t]+")
COMPOSE = re.compile(r"(?P<who>[\w.@-]+) +\| ?")
"""`docker compose logs`, `docker service logs`."""
POD = re.compile(r"\[pod/(?P<who>[\w.-]+)/[\w.-]+\] ?")
"""`kubectl logs --prefix`."""
SHORT = re.compile(
    r"(?:(?P<year_less>[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?:\.\d+)?)"
    r"|(?:[A-Z][a-z]{2} )?(?P<time>\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d+)?(?: UTC|Z|[+-]\d\d:?\d\d)?))"
    r" (?P<who>[\w.-]+) [A-Za-z_][\w.@/-]*(?:\[\d+\])?: ?"
)
"""`journalctl`, with whichever of its short formats, and what syslog writes."""
QUOTE = re.compile(r"(?:> ?)+")
"""Text that mail and issue trackers put before a quoted line."""
OWN = re.compile(r"\s*(?:Starting broker\.\.\.|Logger - \w+: )\s*(?=\S)")
"""Text that a broker prints without a line break before its first message."""
SHORTEST = 3
"""Number of characters that a line with a wrapping has at least, unless it is quoted."""
LONGEST = 200
"""Maximum length of a prefix, in characters."""
BEFORE = re.compile(rf"(?P<before>[^\n]{{1,{LONGEST}}}?)(?={TIME} {LEVEL} {PID}|=[A-Z ]+REPORT==== )")
"""An unknown wrapping: of stern, of k9s and kail, of grep, of a column."""
POD_LABEL = re.compile(r'\bpod(?:_name)?="(?P<who>[\w.-]+)"')
LOG_NAME = re.compile(r"(?P<who>[\w@.-]+?)\.log(?:\.\w+)*[:-]")
KEY = re.compile(r'"[\w@.]+"\s*:\s*"$')
"""Key of JSON that extends over several lines."""
NAME = re.compile(r"(?:^|[\s\"'\[(,/])(?P<who>[A-Za-z][\w.@-]*)(?=[\s\"'\])\[(,:|]|$)")


class Unwrapped(NamedTuple):
    """A line without its wrappings.

    `who` names its writer and `at` its time, if a wrapping has them. `level` is journald's, and a `partial` line goes
    on in the next. `document` is the broker's own JSON, and `before` a prefix of an unknown wrapping, which the next
    lines may have too.
    """

    text: str
    who: str = ""
    at: datetime | None = None
    level: str = ""
    partial: bool = False
    document: dict[str, Any] | None = None
    before: str = ""


def unwrap(text: str, last: datetime) -> Unwrapped:
    """Return a line without its wrappings; `document` is set for a line of the broker's own JSON.

    `last` is a time that no line is later than; it determines the year of times without one.
    """
    if len(text) < SHORTEST and not text.startswith(">"):
        return Unwrapped(text)
    if any(escape in text for escape in ESCAPES):
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
        if line.document or head(line.text):
            break
    return line


def _once(text: str, last: datetime) -> Unwrapped | None:
    if text.startswith("{") and (document := documents.read(text)):
        return Unwrapped(*document)
    if text.startswith(">") and (found := QUOTE.match(text)):
        return Unwrapped(text[found.end() :])
    if found := SHORT.match(text):
        at = moment(found["time"]) if found["time"] else without_year(found["year_less"], last)
        return Unwrapped(text[found.end() :], found["who"], at)
    if found := DOCKER.match(text):
        return Unwrapped(text[found.end() :], at=moment(found["time"]), partial=found["cri"] == "P")
    if found := POD.match(text) or COMPOSE.match(text):
        return Unwrapped(text[found.end() :], found["who"])
    if found := KIBANA.match(text):
        at = of_day(int(found["year"]), found["month"], int(found["day"]), found["clock"])
        return Unwrapped(text[found.end() :], at=at)
    if found := OWN.match(text):
        return Unwrapped(text[found.end() :])
    return _behind(text)


def _behind(text: str) -> Unwrapped | None:
    """Return what follows an unknown prefix: a line of the broker, or its JSON; None if neither does."""
    if ("] <" in text or "REPORT=" in text) and (found := BEFORE.match(text)):
        before = found["before"]
        return Unwrapped(_to_the_quote(before, text[found.end() :]), writer_before(before), before=before)
    place = text.find('{"', 0, LONGEST)
    if place > 0 and (document := documents.read(text[place:])):
        return Unwrapped(*document, before=text[:place])._replace(who=document.who or writer_before(text[:place]))
    return None


def _to_the_quote(before: str, text: str) -> str:
    """Return a quoted line, as in a CSV column or JSON, up to the closing quote and with quotes unescaped."""
    if not before.endswith('"'):
        return text
    end = re.search(r'(?<!["\\])"(?=\s*(?:[,}\]]|$))', text)
    said = text[: end.start()] if end else text
    return said.replace('""', '"').replace('\\"', '"').replace("\\n", "\n")


def writer_before(before: str) -> str:
    """Return a line's writer from the text before it; empty if there is none.

    It is a pod, the name of a log, or the first word that may be a name.
    """
    found = POD_LABEL.search(before) or LOG_NAME.search(before)
    if found is None:
        named = [one["who"] for one in NAME.finditer(KEY.sub("", before))]
        return next((name for name in named if not before.startswith(f"{name}/")), "")
    return found["who"]
