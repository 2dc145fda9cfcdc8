"""The times of a particular cluster next to an upgrade plan: values, sources and remaining uncertainty."""

from __future__ import annotations

from typing import Any

from msgspec import to_builtins

from hawb.study.own_upgrade import TAKEN, OwnTimes, Within
from hawb.views.formatting import listing, shown


def sentences(own: OwnTimes, found: Within | None) -> tuple[str, ...]:
    """Return sentences with the times and their sources, and with the range of the plan's figures."""
    values = {TAKEN[0]: own.times.away_s} | {f"timing.{name}": value for name, value in own.times.timing.items()}
    values_text = "; ".join(f"{path} {values[path]:.12g} ({shown(source)})" for path, source in own.sources.items())
    title = shown(own.title)
    taken = f"Times come from {title}: {values_text}." if values_text else f"None of the times of {title} is used."
    return (taken,) if found is None else (taken, _within(found))


def _within(found: Within) -> str:
    outage = " to ".join(f"{end:,.2f}" for end in found.outage_s)
    lost = "" if found.lost[0] == found.lost[1] else f", and {' to '.join(f'{end:,.0f}' for end in found.lost)} lost"
    away = f" In some of them {listing(found.away)} would not come back." if found.away else ""
    return (
        f"Given the uncertainty of these times (95 %, by {found.draws} draws), the plan takes"
        f" {' to '.join(f'{end:,.1f}' for end in found.duration_s)} s, with {outage} s of outage in all{lost}.{away}"
    )


def paragraph(own: OwnTimes | None, found: Within | None) -> str:
    """Return these sentences as one paragraph; "" without own times."""
    return "" if own is None else " ".join(sentences(own, found))


def plain(own: OwnTimes, found: Within | None) -> dict[str, Any]:
    """Return the times as JSON values (`hawb.views.answers.OwnTimes`)."""
    return {
        "numbers": own.title, "away_s": own.times.away_s, "timing": own.times.timing, "sources": own.sources,
        "within": to_builtins(found),
    }  # fmt: skip
