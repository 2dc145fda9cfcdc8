"""The refusal of a scenario file: the one error of loading, with the place, what was given and what is accepted.

`nearest` finds the existing names that are most like a misspelt one, for the hint of a refusal.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any

from hawb.scenario import numbering

NOTHING = object()
LONGEST = 80
LONGEST_PROBLEM = 300
"""The length at which a problem is cut: RabbitMQ's error on a policy or queue contains the value that it refuses."""
QUOTE = "put it in quotes if it is text"

Where = tuple[str | int, ...]


class ScenarioRefused(ValueError):  # noqa: N818 - it reads as what happened
    """A fault of a scenario file; `str()` is a message of one to four lines.

    `path` leads from the top of the file to the fault: ("steps", 3, "publish", "count"). `step` is the index in it or
    None, `field` the rest as text ("publish.count", or "cluster.nodes[1]" outside of the steps). `file` and `line` are
    None if they are not known, `given` is `NOTHING` if nothing was given.
    """

    def __init__(
        self,
        problem: str,
        path: Where = (),
        *,
        given: Any = NOTHING,
        accepted: str = "",
        hint: str = "",
        file: str | None = None,
        line: int | None = None,
    ) -> None:
        super().__init__(problem)
        self.problem = problem
        self.path = path
        self.given = given
        self.accepted = accepted
        self.hint = hint
        self.file = file
        self.line = line

    @property
    def step(self) -> int | None:
        """Return the index of the step, from 0; None outside of the steps."""
        match self.path:
            case ("steps", int(index), *_):
                return index
        return None

    @property
    def field(self) -> str:
        """Return the field within its step or within the file, as text."""
        return render_path(self.path if self.step is None else self.path[2:])

    def __str__(self) -> str:
        place = ", ".join(filter(None, (self.file, self.line and f"line {self.line}")))
        step = "" if self.step is None else numbering.place(self.step)
        lines = [": ".join(filter(None, (place, step, self.field, cut(self.problem, LONGEST_PROBLEM))))]
        if self.given is not NOTHING:
            lines.append(f"  given: {render(self.given)}")
        if self.accepted:
            lines.append(f"  accepted: {self.accepted}")
        if self.hint:
            lines.append(f"  hint: {self.hint}")
        return "\n".join(lines)


def render(given: Any) -> str:
    """Return a value as a message shows it: on one line, cut to 80 characters, with the file's true, false and null."""
    if given is None or isinstance(given, bool):
        return {None: "null", True: "true", False: "false"}[given]
    if isinstance(given, int) and given.bit_length() > LONGEST:
        return f"a whole number of {given.bit_length()} bits"
    if isinstance(given, str) and len(given) > LONGEST:
        given = given[:LONGEST]
    return cut(literal(given), LONGEST)


def cut(text: str, most: int) -> str:
    """Return a text of at most so many characters, cut at its end."""
    return text if len(text) <= most else f"{text[: most - 3]}..."


def literal(value: Any) -> str:
    """Return a value as Python writes it, but with a space for each line break."""
    return repr(value).replace("\\r", "").replace("\\n", " ")


def render_path(path: Where) -> str:
    """Return a path as a message shows it: `cluster.nodes[1]`, `expect.queues['ha.orders'].messages`."""
    text = ""
    for part in path:
        if isinstance(part, str) and part.isidentifier() and len(part) <= LONGEST:
            text += f".{part}"
        else:
            text += f"[{render(part)}]"
    return text.removeprefix(".")


LONGEST_COMPARED = 80
"""Longer names are compared by their beginnings: comparing takes time with the square of an untrusted length."""

LEAST_SIMILAR = 0.6
"""The least similarity, by difflib, of a name that may be meant."""

MOST_HINTS = 2
"""The most names in a hint: more names that are equally near are no help."""


def nearest(given: str, known: Iterable[str], least: float = LEAST_SIMILAR) -> tuple[str, ...]:
    """Return the known name that is most similar to `given`, or two that are equally similar.

    Return none if their similarity is below `least`, or if more than two are equally similar.

    Upper and lower case count as equal.
    """
    wanted = difflib.SequenceMatcher(b=given[:LONGEST_COMPARED].casefold(), autojunk=False)
    best, found = least, []
    for name in known:
        wanted.set_seq1(name[:LONGEST_COMPARED].casefold())
        if wanted.real_quick_ratio() < best or wanted.quick_ratio() < best or (ratio := wanted.ratio()) < best:
            continue
        best, found = ratio, [*(found if ratio == best else ()), name]
    return tuple(found) if len(found) <= MOST_HINTS else ()


def did_you_mean(given: str, known: Iterable[str]) -> str:
    """Return the hint of a refusal, `did you mean kill?`, or nothing if no known name is near."""
    near = nearest(given, known)
    return f"did you mean {' or '.join(near)}?" if near else ""
