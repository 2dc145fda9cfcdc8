"""The verdict of a study: which design loses less, or is unavailable for less time, than the baseline.

A difference counts if two conditions hold: its interval, simultaneous with those of all other comparisons
(`hawb.study.comparisons`), lies beyond the smallest difference that matters, and enough trials of the two designs had
the event (`hawb.study.intervals.LEAST_APART`). With fewer trials the answer is unknown. The verdict recommends one
design, or names the environment on which the choice depends. A design that lost confirmed messages where the baseline
lost none is not recommended without a word about that, however few its trials: a loss that was seen can happen again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from hawb.study.comparisons import LEAST, LESS, MORE, is_alike, is_apart, swing
from hawb.study.intervals import BATCHES, LEAST_APART, are_worth_it, none_seen
from hawb.views.formatting import counted, listing, percent, shown
from hawb.views.report import MOST_TO_DO, ToDo, Verdict

Row = Mapping[str, object]
LOST, DOWN = "lost_confirmed", "publish_down_s"
WORDS = {LOST: ("loses less", "loses more"), DOWN: ("is out of use for less", "is out of use for longer")}
MEASURED = tuple(WORDS)
"""The measures that decide."""
NARROW = 0.05
"""Half the width of a difference's interval, as a share of the baseline's mean, that is narrow enough.

With a narrower interval more trials are not worth it, because the rates that a study assumes are rarely known better.
The same holds if an assumption moves the difference by more than the width of its interval (`hawb.study.sensitivity`).
"""


def verdict(rows: Iterable[Row], baseline: str | None, unseen: Collection[tuple[str, str]] = ()) -> Verdict:
    """Return the verdict: yes if a design is better than the baseline in an environment, and worse in none.

    Return yes with a but if the better design depends on the environment, and no if no design is better. For a single
    design, the verdict is about losses of confirmed messages. `unseen` has the (design, environment) pairs whose trials
    do not see all losses; these designs take no part in the comparison.
    """
    rows = _judged(rows, unseen)
    designs = dict.fromkeys(str(row["design"]) for row in rows)
    others = [design for design in designs if design != baseline]
    if biased := _biased_too_much(rows):
        worth = f"{float(str(biased['effective_trials'])):,.0f} of {biased['trials']:,}"
        return Verdict("unknown", f"the trials of {shown(biased['design'])} in {shown(biased['environment'])} count"
                                  f" only as {worth} unbiased ones, because failures are biased too much")  # fmt: skip
    if unseen and (baseline not in designs or not others):
        return Verdict("unknown", f"a split brain of {listing(dict.fromkeys(design for design, _ in unseen))} may"
                                  " lose messages that the trials do not count: all clients of a trial are in one"
                                  " partition")  # fmt: skip
    if baseline is None or not others:
        return _of_one(rows)
    better, worse = _clearly_apart(rows, baseline, LESS), _clearly_apart(rows, baseline, MORE)
    if clear := _clear(rows, better, _not_recommended(rows, baseline)):
        return Verdict("yes", f"{_compared(clear, better, rows, LESS)} than {shown(baseline)}, and {_nowhere(clear)}")
    mixed = _least_first(better, rows)
    if mixed:
        text = f"only in part: {_compared(mixed, better, rows, LESS)} than {shown(baseline)}"
        if mixed[0] not in worse:
            alone = lost_alone(rows, baseline)[mixed[0]]
            return Verdict("but", f"{text}, and lost confirmed messages in {listing(alone)}, where {shown(baseline)}"
                           " lost none")  # fmt: skip
        if both := _better_and_worse(rows, baseline):
            return Verdict("but", f"{text}, and {_worse_by(mixed[0], rows)} in {listing(both)}")
        return Verdict("but", f"{text}, and is worse in {listing(worse[mixed[0]])}")
    if worse:
        text = f"{_compared(list(worse), worse, rows, MORE)} than {shown(baseline)}, and no design is better"
        return Verdict("no", text)
    if few := _too_rare(rows, baseline):
        return Verdict("unknown", f"too few trials had such an event: {few:,.0f} of two designs; a difference"
                                  f" from {shown(baseline)} needs {LEAST_APART}")  # fmt: skip
    compared = [row for row in rows if row["design"] != baseline and row.get("difference_low") is not None]
    if compared and any(row.get(LEAST) for row in compared) and all(map(is_alike, compared)):
        return Verdict("no", f"no design differs from {shown(baseline)} by enough to matter")
    return Verdict("no", f"these trials show no difference from {shown(baseline)}")


def _judged(rows: Iterable[Row], unseen: Collection[tuple[str, str]]) -> list[Row]:
    """Return the rows of the deciding measures, without the designs in `unseen`."""
    designs = {design for design, _ in unseen}
    return [row for row in rows if row["measure"] in WORDS and row["design"] not in designs]


def _biased_too_much(rows: Iterable[Row]) -> Row | None:
    """Return the row whose weighted trials count as the fewest plain ones; None if they count enough in all rows."""
    few = [row for row in rows if not are_worth_it(*_worth(row))]
    return min(few, key=lambda row: _worth(row)[1] / _worth(row)[0], default=None)


def _worth(row: Row) -> tuple[float, float]:
    return float(str(row["trials"])), float(str(row["effective_trials"]))


def events(row: Row) -> float:
    """Return the number of trials in which a measure was above zero."""
    return float(str(row["share"])) * float(str(row["trials"]))


def events_of_two(rows: Iterable[Row], baseline: str) -> Iterator[tuple[Row, float]]:
    """Yield each row of a design other than the baseline, with the trials of both in which the measure was above 0."""
    rows = list(rows)
    of_baseline = {(row["environment"], row["measure"]): events(row) for row in rows if row["design"] == baseline}
    for row in rows:
        if row["design"] != baseline:
            yield row, events(row) + of_baseline.get((row["environment"], row["measure"]), 0)


def _clearly_apart(rows: Iterable[Row], baseline: str, side: int) -> dict[str, dict[str, None]]:
    """Return the designs that differ significantly from the baseline on a `side` (LESS, MORE), with environments."""
    found: dict[str, dict[str, None]] = {}
    for row, seen in events_of_two(rows, baseline):
        if seen >= LEAST_APART and is_apart(row, side):
            found.setdefault(str(row["design"]), {})[str(row["environment"])] = None
    return found


def _too_rare(rows: Iterable[Row], baseline: str) -> float:
    """Return the most trials with the event that a difference has, among those with too few (`LEAST_APART`).

    Return 0 if each difference has enough of them.
    """
    rare = (seen for row, seen in events_of_two(rows, baseline) if is_apart(row, LESS) or is_apart(row, MORE))
    return max((seen for seen in rare if seen < LEAST_APART), default=0)


def lost_alone(rows: Iterable[Row], baseline: str) -> dict[str, dict[str, None]]:
    """Return the designs that lost confirmed messages where the baseline lost none, each with these environments."""
    rows = [row for row in rows if row["measure"] == LOST]
    found: dict[str, dict[str, None]] = {}
    none = {row["environment"] for row in rows if row["design"] == baseline and not row["share"]}
    for row in rows:
        if row["share"] and row["environment"] in none:
            found.setdefault(str(row["design"]), {})[str(row["environment"])] = None
    return found


def _not_recommended(rows: Iterable[Row], baseline: str) -> dict[str, dict[str, None]]:
    """Return the designs that are worse than the baseline in an environment, or lost messages where it lost none.

    Each design has those environments.
    """
    rows = list(rows)
    worse, alone = _clearly_apart(rows, baseline, MORE), lost_alone(rows, baseline)
    return {design: worse.get(design, {}) | alone.get(design, {}) for design in {**worse, **alone}}


def _clear(rows: Iterable[Row], better: Mapping[str, object], worse: Mapping[str, object]) -> list[str]:
    """Return the designs that are better than the baseline in an environment and worse in none, sorted.

    The design that loses least comes first; of designs that lose the same, the one with the least time out of use.
    """
    return _least_first((design for design in better if design not in worse), rows)


def _least_first(designs: Iterable[str], rows: Iterable[Row]) -> list[str]:
    """Return designs sorted by the messages that they lose, then by their time out of use."""
    means: dict[tuple[str, str], float] = {}
    for row in rows:
        key = (str(row["design"]), str(row["measure"]))
        means[key] = means.get(key, 0.0) + float(str(row["mean"]))
    return sorted(designs, key=lambda design: (means.get((design, LOST), 0.0), means.get((design, DOWN), 0.0)))


def _compared(designs: list[str], where: Mapping[str, Iterable[str]], rows: Iterable[Row], side: int) -> str:
    first, every = designs[0], dict.fromkeys(row["environment"] for row in rows)
    measure = _measure(first, rows, side)
    there = len([*where[first]])
    places = "" if len(every) == 1 else f" in {there} of {counted(len(every), 'environment')}"
    more = f" (so {'does' if len(designs) == 2 else 'do'} {listing(designs[1:])})" if len(designs) > 1 else ""
    return f"{shown(first)} {WORDS[measure][side]}{places}{more}"


def _nowhere(designs: list[str]) -> str:
    return "is nowhere worse" if len(designs) == 1 else "none of them is worse anywhere"


def _of_one(rows: Iterable[Row]) -> Verdict:
    lost = [row for row in rows if row["measure"] == LOST]
    if not lost:
        return Verdict("unknown", "the trials did not count losses")
    worst = max(lost, key=lambda row: row["share"])
    trials = sum(int(str(row["trials"])) for row in lost)
    if not worst["share"]:
        most = max(none_seen(float(str(row["effective_trials"]))) for row in lost)
        seen = f"none of {counted(trials, 'trial')} lost a confirmed message"
        bound = f"with 95 % certainty at most {percent(most)} of the trials of an environment do"
        return Verdict("unknown", f"{seen}, so {bound} (3 divided by their number, the rule of three)")
    return Verdict("no", f"confirmed messages are lost in {percent(worst['share'])} of the trials of"
                   f" {shown(worst['design'])} in {shown(worst['environment'])}")  # fmt: skip


def question(baseline: str | None, designs: int) -> str:
    """Return the question that the verdict answers."""
    return (
        "Are confirmed messages safe?"
        if baseline is None or designs < 2
        else f"Is any design better than {shown(baseline)}?"
    )


def todo(
    rows: Iterable[Row], answer: Verdict, baseline: str | None, command: str, unseen: Collection[tuple[str, str]] = ()
) -> tuple[ToDo, ...]:
    """Return what to do: choose a design, or one for each environment, or play more trials if they would decide."""
    rows = _judged(rows, unseen)
    few = sorted({str(row["design"]) for row in rows if _worth(row)[0] < 2 * BATCHES})
    asked, again = [], (command,) if command else ()
    if rests := rests_on(rows):
        asked.append(ToDo(f"Find out {listing(rests)} of your cluster, and give it to the study with --numbers: it"
                          " changes the differences between designs by more than the width of their"
                          " intervals."))  # fmt: skip
    if answer.answer == "yes" and baseline is not None:
        best = _clear(rows, _clearly_apart(rows, baseline, LESS), _not_recommended(rows, baseline))[0]
        asked.append(ToDo(f"Choose {shown(best)} instead of {shown(baseline)}, if its other costs are acceptable."))
    if answer.answer == "but" and baseline is not None:
        one, alone = _least_first(_clearly_apart(rows, baseline, LESS), rows)[0], lost_alone(rows, baseline)
        both = _better_and_worse(rows, baseline)
        others = [where for where in _environments(rows) if where not in both]
        if one in alone:
            less = f"{shown(one)} {_better_by(one, rows)} than {shown(baseline)}"
            asked.append(ToDo(f"Decide what counts more: {less}, and lost confirmed messages in {listing(alone[one])},"
                              f" where {shown(baseline)} lost none."))  # fmt: skip
        elif both:
            asked.append(ToDo(f"Decide what counts more in {listing(both)}: {shown(one)} {_better_by(one, rows)} than"
                              f" {shown(baseline)}, and {_worse_by(one, rows)}."))  # fmt: skip
        if others and one not in alone:
            asked.append(ToDo(f"It depends on the environment: choose {_choices(rows, others, baseline)}."))
    if _biased_too_much(rows):
        asked.append(ToDo("Bias failures less (`failure_biasing` in the file), or simulate more trials.", again))
    elif few:
        asked.append(ToDo(f"Simulate more trials of {listing(few)}: there are too few for intervals.", again))
    elif answer.answer == "unknown" and unseen:
        asked.append(ToDo("Add `clients: every_node` to the `traffic` of each environment with `partitions`, so that"
                          " both sides publish, or compare designs with pause_minority or quorum queues."))  # fmt: skip
    elif answer.answer == "unknown":
        more = "Simulate more trials, or bias failures (`failure_biasing` in the file), until losses are seen."
        asked.append(ToDo(more, again))
    elif answer.answer == "no" and baseline is not None and not all(_is_narrow(row, rows, baseline) for row in rows):
        more = ("Simulate more trials to detect smaller differences: raise their number in the file; existing ones are"
                " kept.")  # fmt: skip
        asked.append(ToDo(more, again))
    if answer.answer == "no" and (baseline is None or all(row["design"] == baseline for row in rows)):
        more = "Add a design to the file that may lose less, such as quorum queues of three members, and ask again."
        asked.append(ToDo(more, again))
    return tuple(asked[:MOST_TO_DO])


def _better_and_worse(rows: Iterable[Row], baseline: str) -> list[str]:
    """Return the environments in which the best design is better than the baseline by one measure and worse by another.

    The best design is the one that loses least among those that are better somewhere.
    """
    rows = list(rows)
    better, worse = _clearly_apart(rows, baseline, LESS), _not_recommended(rows, baseline)
    first = _least_first(better, rows)[:1]
    return [where for design in first for where in better[design] if where in worse.get(design, {})]


def _better_by(design: str, rows: Iterable[Row]) -> str:
    return WORDS[_measure(design, rows, LESS)][LESS]


def _worse_by(design: str, rows: Iterable[Row]) -> str:
    return WORDS[_measure(design, rows, MORE)][MORE]


def _measure(design: str, rows: Iterable[Row], side: int) -> str:
    """Return the first measure by which a design differs from the baseline on one side."""
    rows = list(rows)
    return next((one for one in WORDS for row in rows if row["measure"] == one and row["design"] == design
                 and is_apart(row, side)), LOST)  # fmt: skip


def _environments(rows: Iterable[Row]) -> dict[str, None]:
    return dict.fromkeys(str(row["environment"]) for row in rows)


def _choices(rows: Iterable[Row], environments: Iterable[str], baseline: str) -> str:
    """Return a list, in words, of the best design of each environment; a design names all its environments."""
    rows = list(rows)
    chosen: dict[str, list[str]] = {}
    for where in environments:
        chosen.setdefault(_best_in(rows, where, baseline), []).append(where)
    choices = [f"{shown(design)} in {listing(where)}" for design, where in chosen.items()]
    return "; ".join(choices) if any(len(where) > 1 for where in chosen.values()) else listing(choices)


def _best_in(rows: Iterable[Row], environment: str, baseline: str) -> str:
    """Return the best design for one environment: the baseline, unless another is better there and not worse.

    A design that lost confirmed messages in any environment where the baseline lost none is not chosen: a cluster meets
    the failures of all environments.
    """
    alone = lost_alone(rows, baseline)
    there = [row for row in rows if row["environment"] == environment and row["design"] not in alone]
    clear = _clear(there, _clearly_apart(there, baseline, LESS), _not_recommended(there, baseline))
    return clear[0] if clear else baseline


def _is_narrow(row: Row, rows: Iterable[Row], baseline: str) -> bool:
    """Return True if more trials of a design would not be worth it (`NARROW`)."""
    low, high = row.get("difference_low"), row.get("difference_high")
    if row["design"] == baseline or low is None or is_alike(row):
        return True
    means = [abs(float(str(other["mean"]))) for other in rows if other["design"] in (baseline, row["design"])
             and (other["environment"], other["measure"]) == (row["environment"], row["measure"])]  # fmt: skip
    return (high - low) / 2 <= NARROW * max(means) or high - low <= swing(row)[1]


def rests_on(rows: Iterable[Row]) -> list[str]:
    """Return the assumptions that move a difference by more than the width of its interval, the largest ratio first."""
    found: dict[str, float] = {}
    for row in rows:
        path, moved = swing(row)
        low, high = row.get("difference_low"), row.get("difference_high")
        if low is not None and moved > high - low:
            found[path] = max(found.get(path, 0.0), moved / (high - low) if high > low else float("inf"))
    return sorted(found, key=lambda path: -found[path])
