"""To-dos that say which changes of the story would have kept lost messages, best change first."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from hawb.engine.core import runs
from hawb.languages import N_, Plural, _, ngettext
from hawb.planning.alternatives import Alternative, Alternatives
from hawb.planning.harm import Harm
from hawb.views.formatting import counted, listing, shown, whole
from hawb.views.report import ToDo

MOST_CHANGES = 3
ONE = N_("This would have kept {lost}: {changes}.")
ANY = N_("Any of these would have kept {lost}: {changes}.")
OF = N_("{kept} of {messages} ({lost})")
DOWN = N_("{change}, but {queues} cannot be used at the end")
NONE = N_("hawb found no change that would have kept {lost}: this story has no change to try.")
TRIED = Plural(
    "hawb tried {count} change of the story. It would not have kept {lost}.",
    "hawb tried {count} changes of the story. None would have kept {lost}.",
)


def keeping(
    kept: Sequence[Alternatives], lost: Callable[[Sequence[Harm]], str], words: Callable[[Alternative], str]
) -> Iterator[ToDo]:
    """Yield a to-do for each loss: first the losses that a change prevents, then those for which no change was found.

    Queues of one step for which the same changes help share a to-do. `lost` describes the messages of several harms,
    `words` a change.
    """
    alike: dict[tuple, list[Alternatives]] = {}
    for one in kept:
        alike.setdefault((one.harm.step, bool(one.harm.lost), *map(words, one.helping)), []).append(one)
    for those in sorted(alike.values(), key=lambda those: not those[0].helping):
        of, helping = lost([one.harm for one in those]), those[0].helping
        if helping:
            most, count = (sum(map(of_one, those)) for of_one in (_at_stake, _kept))
            of = of if count == most else _(OF, kept=whole(count), messages=counted(most), lost=of)
            queues = listing(one.harm.queue for one in those)
            changes = "; ".join(
                _(DOWN, change=words(one), queues=queues) if one.is_down else words(one)
                for one in helping[:MOST_CHANGES]
            )
            yield ToDo(_(ONE if len(helping) == 1 else ANY, lost=of, changes=changes))
        else:
            tried = sum(one.run is not None for one in those[0].changed)
            yield ToDo(ngettext(*TRIED, tried, lost=of, count=whole(tried)) if tried else _(NONE, lost=of))


def _at_stake(one: Alternatives) -> int:
    return runs.size(one.at_stake)


def _kept(one: Alternatives) -> int:
    return one.helping[0].kept


def placed(one: Alternative) -> str:
    """Return a change in words, with the place where to make it."""
    return f"{shown(one.change.what)} ({shown(one.change.where)})"
