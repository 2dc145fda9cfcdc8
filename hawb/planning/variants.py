"""Change one thing of a scenario from its beginning, to compare two policies or queue types under the same faults.

A variant is made from the scenario as it stands, so it takes every step that the scenario takes. A step without a time
begins in each once that one has settled; so their clocks may differ.
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

NOT_THERE = N_("the story makes this change itself, or {queue} does not exist")
OF_ONE_STEP = (synchronised_before, controlled_stop, left_out)
SETTINGS = (*(propose for propose in PROPOSALS if propose not in OF_ONE_STEP), as_mirrored_queue)
"""Single changes that concern the whole scenario and not one step."""


class Variant(Struct, frozen=True):
    """A change of a story: its description, and `change`, which returns the changed scenario or why it is impossible.

    `queue` is the queue that differs, if it is a single one.
    """

    what: str
    change: Callable[[Run], Change]
    queue: str = ""


class Varied(Struct, frozen=True):
    """A variant of a scenario: the change, and the run, which is None if the change is impossible."""

    change: Change
    run: Run | None = None


def settings(run: Run, queue: str) -> list[Change]:
    """Return the changes that could be made from the beginning to a queue as the last step finds it.

    Return none before the first step.
    """
    if not run.steps:
        return []
    story = Story(run, Harm(queue, step=len(run.steps) - 1, t_s=0.0))
    return [] if story.queue is None else [change for propose in SETTINGS for change in propose(story)]


def setting(queue: str, what: str) -> Variant:
    """Return the variant in which a queue has the one of its `settings` that these words name.

    It is impossible while the scenario does not offer that setting.
    """

    def change(run: Run) -> Change:
        found = (one for one in settings(run, queue) if one.what == what)
        return next(found, Change(what, "", 0, impossible=_(NOT_THERE, queue=queue)))

    return Variant(f"{queue}: {what}", change, queue)


def policy(argument: dict, *, operator: bool = False) -> Variant:
    """Return the variant in which a policy applies from the beginning.

    It is written as the argument of `set_policy`, and also replaces every policy of that name in the scenario.
    """
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
        where = _("wherever the story sets it") if same else _("from the beginning")
        return Change(what, where, 0, document)

    return Variant(what, change)


def _key(entry: dict) -> tuple[str, str]:
    return entry["name"], entry.get("vhost", "/")


def varied(run: Run, variant: Variant) -> Varied:
    """Return a variant of a run, played to the same step; the run is not changed."""
    change = variant.change(run)
    if change.document is None:
        return Varied(change)
    try:
        return Varied(change, Run.of(read_scenario(change.document)))
    except ScenarioRefused as refused:
        return Varied(Change(change.what, change.where, 0, impossible=refused.problem))
