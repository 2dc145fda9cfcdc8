"""What would have kept the messages? A story run again under each single change that its reader could have made.

It is a look aside as a plan is a look ahead: scenarios are made, played and weighed, and none is recommended without
its price. So it stands in the room for planning, not among the views, and anything that can hold a run can ask.

Figures are the queue's alone. A change that RabbitMQ refuses counts as impossible, in RabbitMQ's words, if it was taken
before: a declaration with an argument that quorum queues do not have, a policy that a release does not know. A failure
because a queue is not there at that moment is no such reason but a result.
"""

from __future__ import annotations

from msgspec import Struct

from hawb.engine.core import runs
from hawb.engine.core.ledger import Account
from hawb.engine.core.moment import Refusal
from hawb.engine.core.runs import Runs
from hawb.planning.changes import changes
from hawb.planning.harm import Harm
from hawb.planning.story import Change, known
from hawb.scenario.beginning import MICROSECONDS
from hawb.scenario.load import read_scenario
from hawb.scenario.refused import ScenarioRefused
from hawb.scenario.run import Run
from hawb.scenario.verbs import ClearOperatorPolicy, ClearPolicy, Publish, SetOperatorPolicy, SetPolicy

NOT_MEANT = (405, 406, 540)
"""Reply codes (resource_locked, precondition_failed, not_implemented) with which RabbitMQ says that it never does what
a client asks, not that it cannot now. A transaction that fails is answered with one of them too."""

ON_POLICIES = (SetPolicy, SetOperatorPolicy, ClearPolicy, ClearOperatorPolicy)


class Result(Struct, frozen=True):
    """How a story went for a queue.

    `lost` are messages gone for good, `lost_confirmed` those of them that the broker had confirmed, `refused` what no
    queue took. `state` is the queue's at the end: running, down, gone. `unavailable_s` is how long it could not be
    used, `sync_blocked_s` how long synchronisation blocked it, `bytes_replicated` what its replicas were sent, `copies`
    how many nodes had a copy before the step that did harm, and `time_s` when the story ended.
    """

    lost: Runs
    lost_confirmed: int
    refused: Runs
    state: str
    unavailable_s: float
    sync_blocked_s: float
    bytes_replicated: int
    copies: int
    time_s: float


class Alternative(Struct, frozen=True):
    """A change and what came of it: the run and its result, or None for both and the reason in the change. `kept` is
    how many of the messages at stake are neither lost nor refused now."""

    change: Change
    run: Run | None = None
    result: Result | None = None
    kept: int = 0

    @property
    def is_down(self) -> bool:
        """Return True if the queue is there at the end and cannot be used."""
        return self.result is not None and self.result.state in ("down", "minority")


class Alternatives(Struct, frozen=True):
    """The harm, the result of the story as it is, and that of each change: the best first, the impossible last. `toll`
    is that of the story as it is."""

    harm: Harm
    told: Result
    changed: list[Alternative]
    toll: int

    @property
    def at_stake(self) -> Runs:
        """The messages that the harm lost; of one that lost none, those of its queue that no queue took."""
        return self.harm.lost or self.told.refused

    @property
    def helping(self) -> list[Alternative]:
        """The changes to advise, the best first: those with a smaller toll of the whole story that keep most of what is
        at stake, with the queue in use at the end if any of them has it so."""
        helps = [one for one in self.changed if one.run is not None and one.kept and toll(one.run) < self.toll]
        best = max(((one.kept, not one.is_down) for one in helps), default=None)
        return [one for one in helps if (one.kept, not one.is_down) == best]


def what_would_have_kept(run: Run, harm: Harm) -> Alternatives:
    """Plays a run again under each single change, and weighs what became of a harm. The run stays as it is."""
    told = result(run, harm.queue, harm.step)
    changed = [_alternative(run, harm, change, harm.lost or told.refused) for change in changes(run, harm)]
    return Alternatives(harm, told, sorted(changed, key=_rank), toll(run))


def toll(run: Run) -> int:
    """How many messages of all queues are lost, or were taken by no queue."""
    accounts = run.moment().ledger.values()
    return sum(runs.size(account.lost) + runs.size(account.refused) for account in accounts)


def _rank(alternative: Alternative) -> tuple:
    """What helps most comes first: fewer losses, fewer refusals, a queue that can be used, sooner, at less cost."""
    found = alternative.result
    if found is None:
        return (True,)
    lost, refused = runs.size(found.lost), runs.size(found.refused)
    cost = (found.unavailable_s, found.sync_blocked_s, found.bytes_replicated)
    return (False, lost, refused, found.state != "running", *cost)


def _alternative(run: Run, harm: Harm, change: Change, at_stake: Runs) -> Alternative:
    if change.document is None:
        return Alternative(change)
    try:
        other = Run.of(read_scenario(change.document))
    except ScenarioRefused as refused:
        return Alternative(_impossible(change, refused.problem))
    if change.step == harm.step and (reason := _never_done(run, other)) is not None:
        return Alternative(_impossible(change, reason))
    found = result(other, harm.queue, change.step)
    kept = runs.size(runs.minus(at_stake, runs.union(found.lost, found.refused)))
    return Alternative(change, other, found, kept)


def _impossible(change: Change, reason: str) -> Change:
    return Change(change.what, change.where, change.step, impossible=reason)


def _never_done(run: Run, other: Run) -> str | None:
    """Why RabbitMQ refuses a step of the changed story that it took in the `run`, if it never does what that step asks;
    else None."""
    before = {refusal.step for refusal in run.moment().refusals}
    new = [refusal for refusal in other.moment().refusals if refusal.step not in before]
    return next((refusal.text for refusal in new if _not_meant(other, refusal)), None)


def _not_meant(run: Run, refusal: Refusal) -> bool:
    verb = run.steps[refusal.step].verb
    return isinstance(verb, ON_POLICIES) or (refusal.code in NOT_MEANT and not isinstance(verb, Publish))


def result(run: Run, queue: str, step: int) -> Result:
    """The result of a story for a queue; its copies are counted before `step`."""
    moment, found = run.moment(), known(run.moment(), queue)
    account, now_us = moment.ledger.get(queue, Account()), moment.state.time_us
    before = known(run.moment_of(step), queue)
    return Result(
        lost=account.lost,
        lost_confirmed=account.lost_confirmed,
        refused=account.refused,
        state="gone" if found is None else "running" if found.up else "minority" if found.has_group else "down",
        unavailable_s=account.down.at(now_us) / MICROSECONDS,
        sync_blocked_s=account.syncing.at(now_us) / MICROSECONDS,
        bytes_replicated=account.bytes_replicated,
        copies=0 if before is None else sum(content is not None for content in before.contents),
        time_s=now_us / MICROSECONDS,
    )
