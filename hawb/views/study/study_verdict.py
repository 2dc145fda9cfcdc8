"""What a study says of its designs, in a sentence: which lose less, or are in use for longer, than the one that they
are compared with.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from hawb.views.formatting import counted, listing, percent, shown
from hawb.views.report import ToDo, Verdict

Row = Mapping[str, object]
LOST, DOWN = "lost_confirmed", "publish_down_s"
WORDS = {LOST: ("loses less", "loses more"), DOWN: ("is out of use for less", "is out of use for longer")}


def verdict(rows: Iterable[Row], baseline: str | None) -> Verdict:
    """Whether any design is better than the baseline: yes where one loses less everywhere, or as little and is away for
    less; yes with a but where it is better here and worse there; no where none is told apart. Of one design: whether it
    loses confirmed messages."""
    rows = [row for row in rows if row["measure"] in WORDS]
    designs = dict.fromkeys(str(row["design"]) for row in rows)
    others = [design for design in designs if design != baseline]
    if baseline is None or not others:
        return _of_one(rows)
    better, worse = _told_apart(rows, baseline, "less"), _told_apart(rows, baseline, "more")
    clear = [design for design in others if design in better and design not in worse]
    if clear:
        return Verdict("yes", f"{_told(clear, better, rows, 0)} than {shown(baseline)}, and {_nowhere(clear)}")
    mixed = [design for design in others if design in better]
    if mixed:
        return Verdict("but", f"only in part: {_told(mixed, better, rows, 0)} than {shown(baseline)}, and is worse in"
                       f" {listing(worse[mixed[0]])}")  # fmt: skip
    if worse:
        return Verdict("no", f"{_told(list(worse), worse, rows, 1)} than {shown(baseline)}, and no design is better")
    return Verdict("no", f"no difference from {shown(baseline)} is told by these trials")


def _told_apart(rows: Iterable[Row], baseline: str, side: str) -> dict[str, dict[str, None]]:
    """The designs that have less, or more, than the baseline beyond chance, with the environments where."""
    found: dict[str, dict[str, None]] = {}
    for row in rows:
        low, high = row.get("difference_low"), row.get("difference_high")
        if row["design"] != baseline and low is not None and (high < 0 if side == "less" else low > 0):
            found.setdefault(str(row["design"]), {})[str(row["environment"])] = None
    return found


def _told(designs: list[str], where: Mapping[str, Iterable[str]], rows: Iterable[Row], side: int) -> str:
    first, every = designs[0], dict.fromkeys(row["environment"] for row in rows)
    measure = next((one for one in WORDS for row in rows if row["measure"] == one and row["design"] == first
                    and row.get("difference_low") is not None
                    and (row["difference_high"] < 0 if side == 0 else row["difference_low"] > 0)), LOST)  # fmt: skip
    there = len([*where[first]])
    places = "" if len(every) == 1 else f" in {there} of {counted(len(every), 'environment')}"
    more = f" (so {'does' if len(designs) == 2 else 'do'} {listing(designs[1:])})" if len(designs) > 1 else ""
    return f"{shown(first)} {WORDS[measure][side]}{places}{more}"


def _nowhere(designs: list[str]) -> str:
    return "is nowhere worse" if len(designs) == 1 else "none of them is worse anywhere"


def _of_one(rows: Iterable[Row]) -> Verdict:
    lost = [row for row in rows if row["measure"] == LOST]
    if not lost:
        return Verdict("but", "no trial has told of losses")
    worst = max(lost, key=lambda row: row["share"])
    trials = counted(sum(int(str(row["trials"])) for row in lost), "trial")
    if not worst["share"]:
        return Verdict("yes", f"no confirmed message was lost in {trials}, which is not never: at most"
                       f" {percent(max(row['share_high'] for row in lost))} of them lose some")  # fmt: skip
    return Verdict("no", f"confirmed messages are lost in {percent(worst['share'])} of the trials of"
                   f" {shown(worst['design'])} in {shown(worst['environment'])}")  # fmt: skip


def question(baseline: str | None, designs: int) -> str:
    """The question that the verdict answers."""
    return (
        "Are confirmed messages safe?"
        if baseline is None or designs < 2
        else f"Is any design better than {shown(baseline)}?"
    )


def todo(rows: Iterable[Row], told: Verdict, baseline: str | None, command: str) -> tuple[ToDo, ...]:
    """What to do: choose a design, or play more trials where intervals are too wide to tell."""
    rows = [row for row in rows if row["measure"] in WORDS]
    few = sorted({str(row["design"]) for row in rows if row["mean_low"] is None})
    better = _told_apart(rows, baseline, "less") if baseline is not None else {}
    asked, again = [], (command,) if command else ()
    if told.answer == "yes" and better:
        asked.append(ToDo(f"Choose {listing(better)} in place of {shown(baseline)}, if what else it costs is right."))
    if told.answer == "but":
        asked.append(ToDo("Look at each environment by itself, and ask which of them is yours."))
    if few:
        asked.append(ToDo(f"Play more trials of {listing(few)}: there are too few for intervals.", again))
    elif told.answer == "no" and not better:
        more = "Play more trials to tell smaller differences: ask for them in the file, none is played again."
        asked.append(ToDo(more, again))
    return tuple(asked)
