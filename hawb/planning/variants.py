"""A story with one thing changed from its beginning, to be watched beside the original: two policies, or two queue
types, under the same faults.

A variant is made anew from the story as it stands, so it takes every step that the story takes. A step without a time
begins in each story once that one has settled; so their clocks may differ.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from itertools import chain

from msgspec import Struct

from hawb.languages import N_, _
from hawb.planning.changes import (
    OPERATOR_POLICIES,
    POLICIES,
    PROPOSALS,
    as_mirrored_queue,
    controlled_stop,
    left_out,
    synchronised_before,
)  # fmt: skip
from hawb.planning.harm import Harm
from hawb.planning.story import Change, Story
from hawb.scenario.dump import plain
from hawb.scenario.load import read_scenario
from hawb.scenario.refused import ScenarioRefused
from hawb.scenario.run import Run

NOT_THERE = N_("the story has it itself, or {queue} is not there")
OF_ONE_STEP = (synchronised_before, controlled_stop, left_out)
SETTINGS = (*(propose for propose in PROPOSALS if propose not in OF_ONE_STEP), as_mirrored_queue)
"""The single changes that concern the whole story and not one step."""


class Variant(Struct, frozen=True):
    """What differs, and `change`, which makes the changed story of a run or says why it cannot. `queue` is the queue
    that differs, where it is a single one."""

    what: str
    change: Callable[[Run], Change]
    queue: str = ""


class Varied(Struct, frozen=True):
    """A variant of a story: what is changed in it, and the run; None where it cannot be, for the reason in the
    change."""

    change: Change
    run: Run | None = None


def settings(run: Run, queue: str) -> list[Change]:
    """The changes that could be made from the beginning to a queue as the last step finds it; none before the first."""
    if not run.steps:
        return []
    story = Story(run, Harm(queue, step=len(run.steps) - 1, t_s=0.0))
    return [] if story.queue is None else [change for propose in SETTINGS for change in propose(story)]


def setting(queue: str, what: str) -> Variant:
    """The variant in which a queue has the one of its `settings` that these words name, while the story has not."""

    def change(run: Run) -> Change:
        found = (one for one in settings(run, queue) if one.what == what)
        return next(found, Change(what, "", 0, impossible=_(NOT_THERE, queue=queue)))

    return Variant(f"{queue}: {what}", change, queue)


def policy(argument: dict, *, operator: bool = False) -> Variant:
    """The variant in which a policy, written as the argument of `set_policy`, is in force from the beginning and
    wherever the story sets a policy of that name."""
    at_start, verb = OPERATOR_POLICIES if operator else POLICIES
    edited = N_("operator policy {name} as edited") if operator else N_("policy {name} as edited")
    what = _(edited, name=argument["name"])

    def change(run: Run) -> Change:
        document = plain(run.scenario)
        places = chain(document.get(at_start, ()), (step[verb] for step in document.get("steps", ()) if verb in step))
        same = [place for place in places if _key(place) == _key(argument)]
        for place in same:
            place.clear()
            place |= deepcopy(argument)
        if not same:
            document[at_start] = [*document.get(at_start, ()), deepcopy(argument)]
        where = _("wherever it is set") if same else _("from the beginning")
        return Change(what, where, 0, document)

    return Variant(what, change)


def _key(entry: dict) -> tuple[str, str]:
    return entry["name"], entry.get("vhost", "/")


def varied(run: Run, variant: Variant) -> Varied:
    """A variant of a run, played to the same step. The run stays as it is."""
    change = variant.change(run)
    if change.document is None:
        return Varied(change)
    try:
        return Varied(change, Run.of(read_scenario(change.document)))
    except ScenarioRefused as refused:
        return Varied(Change(change.what, change.where, 0, impossible=refused.problem))
