"""Find what would have kept the messages: run a scenario again with each single change that its author could have made.

Each result comes with its price. The module is part of planning and not of the views, so that any caller that holds a
run can use it.

The figures are those of one queue. A change counts as impossible, with RabbitMQ's error text, if RabbitMQ refuses a
step that it accepted before the change: a declaration with an argument that quorum queues do not support, a policy
setting that a release does not know. A step that fails because a queue is unavailable at that moment is a result and
not an impossibility.
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
    """Outcome of a scenario for one queue.

    `lost` are messages lost for good, `lost_confirmed` those of them that the broker had confirmed, `refused` messages
    that no queue accepted. `state` is the queue's state at the end: running, down or gone. `unavailable_s` is how long
    the queue was unavailable, `sync_blocked_s` how long synchronisation blocked it, both in seconds; `bytes_replicated`
    counts the bytes sent to its replicas, `copies` the nodes with a copy before the harmful step, and `time_s` is when
    the scenario ended.
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
    """A change, the run with it and its result.

    Run and result are None if the change is impossible; the change then holds the reason. `kept` counts the messages at
    stake that this run neither loses nor refuses.
    """

    change: Change
    run: Run | None = None
    result: Result | None = None
    kept: int = 0

    @property
    def is_down(self) -> bool:
        """Return True if the queue is there at the end and cannot be used."""
        return self.result is not None and self.result.state in ("down", "minority")


class Alternatives(Struct, frozen=True):
    """The harm, the result of the scenario as it is, and the results of the changes: best first, impossible ones last.

    `toll` is the toll of the scenario as it is.
    """

    harm: Harm
    as_played: Result
    changed: list[Alternative]
    toll: int

    @property
    def at_stake(self) -> Runs:
        """Return the messages that the harm lost, or if it lost none, those that the queue refused."""
        return self.harm.lost or self.as_played.refused

    @property
    def helping(self) -> list[Alternative]:
        """Return the changes to advise, best first.

        They have a smaller toll over the whole scenario and keep most of the messages at stake. If any of these leaves
        the queue available at the end, those that do not are left out.
        """
        helps = [one for one in self.changed if one.run is not None and one.kept and toll(one.run) < self.toll]
        best = max(((one.kept, not one.is_down) for one in helps), default=None)
        return [one for one in helps if (one.kept, not one.is_down) == best]


def what_would_have_kept(run: Run, harm: Harm) -> Alternatives:
    """Run a scenario again with each single change and compare the harm. The run is not changed."""
    as_played = result(run, harm.queue, harm.step)
    changed = [_alternative(run, harm, change, harm.lost or as_played.refused) for change in changes(run, harm)]
    return Alternatives(harm, as_played, sorted(changed, key=_rank), toll(run))


def toll(run: Run) -> int:
    """Return how many messages of all queues are lost or were refused."""
    accounts = run.moment().ledger.values()
    return sum(runs.size(account.lost) + runs.size(account.refused) for account in accounts)


def _rank(alternative: Alternative) -> tuple:
    """Return the sort key of an alternative: fewer losses, fewer refusals, an available queue, less time, less cost."""
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
    """Return RabbitMQ's error text if the changed scenario never does a step that `run` did, else None."""
    before = {refusal.step for refusal in run.moment().refusals}
    new = [refusal for refusal in other.moment().refusals if refusal.step not in before]
    return next((refusal.text for refusal in new if _not_meant(other, refusal)), None)


def _not_meant(run: Run, refusal: Refusal) -> bool:
    verb = run.steps[refusal.step].verb
    return isinstance(verb, ON_POLICIES) or (refusal.code in NOT_MEANT and not isinstance(verb, Publish))


def result(run: Run, queue: str, step: int) -> Result:
    """Return the result of a run for a queue; copies are counted before `step`."""
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
