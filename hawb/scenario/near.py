"""Find the existing names that are most like a name that does not exist."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

LONGEST = 80
"""Longer names are compared by their beginnings: comparing takes time with the square of an untrusted length."""

LEAST = 0.6
"""The least similarity of a name that may be meant, by difflib."""

MOST = 2
"""The most names in a hint: more that are equally near are no help."""


def nearest(given: str, known: Iterable[str], least: float = LEAST) -> tuple[str, ...]:
    """Return the names most similar to `given`: one, or two that are equally near; none if none is as near as `least`.

    Upper and lower case count as equal.
    """
    wanted = difflib.SequenceMatcher(b=given[:LONGEST].casefold(), autojunk=False)
    best, found = least, []
    for name in known:
        wanted.set_seq1(name[:LONGEST].casefold())
        if wanted.real_quick_ratio() < best or wanted.quick_ratio() < best or (ratio := wanted.ratio()) < best:
            continue
        best, found = ratio, [*(found if ratio == best else ()), name]
    return tuple(found) if len(found) <= MOST else ()


def did_you_mean(given: str, known: Iterable[str]) -> str:
    """Return the hint of a refusal, `did you mean kill?`, or nothing if no known name is near."""
    near = nearest(given, known)
    return f"did you mean {' or '.join(near)}?" if near else ""
