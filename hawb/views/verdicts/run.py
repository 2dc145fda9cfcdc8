"""The verdict on a story and what to do about it, from the outcome alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hawb.engine.core.naming import split_queue
from hawb.languages import N_, Plural, _, ngettext
from hawb.planning.advised import Advice
from hawb.planning.harm import Harm
from hawb.scenario import numbering
from hawb.scenario.outcome import late_consumers
from hawb.scenario.unknown_names import Unknown
from hawb.scenario.unnoticed import unnoticed_s
from hawb.views.formatting import listing, seconds, sentence, shown
from hawb.views.remedy_commands import to_do
from hawb.views.report import MOST_TO_DO, ToDo, Verdict
from hawb.views.story.headline import Headline, headline, is_closed
from hawb.views.story.keeping import keeping, placed

QUESTION = N_("Is every message kept, every queue in use and every step accepted?")
NO_ADVICE = Advice()
LONG_S = 1.0
"""Seconds: the sentence mentions outages that are longer."""
IN_STEP = N_("the messages that {queues} lost in step {number}")
NOT_TAKEN = N_("the messages for {queues} that no queue took after step {number}")
NOTHING_HELPS = N_("hawb found no change that improves this.")
UNTRIED = N_("The story is long, so hawb did not look for changes that would have kept the messages of {queues}. Open"
             " the story in the lab to try changes.")
UNPLAYED = N_("No step of the story lost the messages of {queues}, and hawb found no change that would have kept them.")
LATE = N_("Have {consumers} acknowledge each delivery in time.")
LATE_OR_RAISED = {
    "cluster": N_("Have {consumers} acknowledge each delivery in time, or raise consumer_timeout."),
    "policy": N_("Have {consumers} acknowledge each delivery in time, or raise consumer-timeout in policy {name}."),
    "operator_policy": N_(
        "Have {consumers} acknowledge each delivery in time, or raise consumer-timeout in operator policy {name}."
    ),
    "queue": N_(
        "Have {consumers} acknowledge each delivery in time, or declare {name} with a longer x-consumer-timeout."
    ),
}
"""The remedy for late consumers, by the place of the timeout that has to be longer."""

NOTHING = {
    "queue": Plural("there is no queue {names}", "there are no queues {names}"),
    "pattern": Plural("policy {names} matches no queue", "policies {names} match no queue"),
    "policy": Plural("there is no policy {names}", "there are no policies {names}"),
    "exchange": Plural("there is no exchange {names}", "there are no exchanges {names}"),
    "node": Plural("{names} is not a node of the cluster", "{names} are not nodes of the cluster"),
    "client": Plural("there is no client {names}", "there are no clients {names}"),
}
"""The clauses about names that match nothing, by their kind."""

MEANT = {
    "queue": N_("there is no queue {name}: did you mean {near}?"),
    "pattern": N_("policy {name} matches no queue, its pattern is {pattern}: did you mean {near}?"),
    "elsewhere": N_("policy {name} is of virtual host {vhost}: did you mean {other}, where {near} is?"),
    "policy": N_("there is no policy {name}: did you mean {near}?"),
    "exchange": N_("there is no exchange {name}, so dead letters go nowhere: did you mean {near}?"),
    "node": N_("{name} is not a node of the cluster: did you mean {near}?"),
    "client": N_("there is no client {name}: did you mean {near}?"),
}
"""The suggestions for misspelt names, by their kind."""

TAKEN_BACK = Plural(
    "RabbitMQ took deliveries back from consumer {consumers}, which had not acknowledged in time",
    "RabbitMQ took deliveries back from consumers {consumers}, which had not acknowledged in time",
)


def verdict(outcome: dict, unknown: Sequence[Unknown] = ()) -> Verdict:
    """Return the verdict on an outcome.

    No: messages are lost, no queue took them, something is unusable at the end, RabbitMQ refused a step, or names are
    most likely misspelt (`unknown`). Unknown: partitions do not see each other or disagree, or a cut link or stopped
    node is not detected yet, so that messages may yet be lost. Yes: none of these.
    """
    head = headline(outcome)
    harmed = head.lost.count or head.untaken.count or head.trouble or head.refused
    more = [*_outages(outcome)] if not harmed else []
    more += _taken_back(outcome)
    more += [_("nodes do not see each other")] if outcome["partitions"] and not head.disputed else []
    more += _misspelt(head, unknown)
    open_ = outcome["partitions"] or head.disputed or head.unnoticed
    answer = "no" if harmed or unknown else "unknown" if open_ else "yes"
    return Verdict(answer, head.text(more))


def _outages(outcome: dict) -> Iterator[str]:
    """Yield a clause about the queues that were unavailable for a while, and for how long."""
    times = {name: of["publish_down_s"] for name, of in outcome["availability"].items()}
    long = sorted((name for name in times if times[name] > LONG_S), key=lambda name: -times[name])
    if long:
        could_not = N_("{queues} could not be used for up to {t} s")
        yield _(could_not, queues=listing(long), t=seconds(times[long[0]]))


def _taken_back(outcome: dict) -> list[str]:
    """Return a clause about consumers that were late to acknowledge and stay, as on quorum queues from 4.3."""
    names = [name for name in late_consumers(outcome) if not is_closed(outcome, name)]
    return [ngettext(*TAKEN_BACK, len(names), consumers=listing(names))] if names else []


def _misspelt(head: Headline, unknown: Sequence[Unknown]) -> list[str]:
    """Return clauses about names that match nothing.

    Leave out queues that took no messages, which the headline mentions.
    """
    by_kind: dict[str, list[str]] = {}
    for one in unknown:
        if one.name not in head.untaken.messages:
            by_kind.setdefault("pattern" if one.pattern else one.kind, []).append(one.name)
    return [ngettext(*NOTHING[kind], len(names), names=listing(names)) for kind, names in by_kind.items()]


def todo(outcome: dict, advice: Advice = NO_ADVICE) -> tuple[ToDo, ...]:
    """Return what to do.

    The to-dos are: correct misspelt names, changes that would have kept lost messages, declare queues before messages
    are published to them, have consumers acknowledge in time, wait until nodes detect failures, and remedies for the
    cluster at the end.
    """
    untaken = headline(outcome).untaken.messages
    asked = [ToDo(_did_you_mean(one)) for one in sorted(advice.unknown, key=lambda one: one.name not in untaken)]
    asked += keeping(advice.kept, _in_step, placed)
    lost = {loss["queue"]: None for loss in outcome["losses"]}
    if lost and not any(one.harm.lost for one in advice.kept):
        asked.append(ToDo(_(UNTRIED if advice.is_long else UNPLAYED, queues=listing(lost))))
    declare = N_("Declare {queue} before step {number}, which publishes to it: no queue of that name was there.")
    asked += [
        ToDo(_(declare, queue=shown(name), number=numbering.number(step))) for name, step in advice.declared
    ]
    if late := late_consumers(outcome):
        raised = advice.raised
        words = {"consumers": listing(late)} | ({"name": shown(raised.name)} if raised else {})
        asked.append(ToDo(_(LATE_OR_RAISED[raised.kind] if raised else LATE, **words)))
    if wait_s := unnoticed_s(outcome):
        wait = N_("Let the nodes notice the failure before the story ends: add the step `wait: {t}` to the end of the"
                  " scenario.")
        asked.append(ToDo(_(wait, t=str(wait_s))))
    asked += [to_do(remedy) for remedy in advice.remedies]
    if not asked and verdict(outcome, advice.unknown).answer == "no":
        asked.append(ToDo(_(NOTHING_HELPS)))
    return tuple(asked[:MOST_TO_DO])


def _in_step(harms: Sequence[Harm]) -> str:
    template, queues = IN_STEP if harms[0].lost else NOT_TAKEN, listing(harm.queue for harm in harms)
    return _(template, queues=queues, number=numbering.number(harms[0].step))


def _did_you_mean(one: Unknown) -> str:
    """Return the likely meaning of a misspelt name, with its step."""
    first, *another = map(shown, one.near)
    near = _("{one} or {another}", one=first, another=another[0]) if another else first
    vhost, other = (shown(split_queue(name)[0]) for name in (one.name, one.near[0]))
    words = {"name": shown(one.name), "near": near, "pattern": shown(one.pattern), "vhost": vhost, "other": other}
    template = MEANT[one.kind if not one.pattern else "pattern" if vhost == other else "elsewhere"]
    if one.step is None:
        return _(template, **words) if template.startswith("{name}") else sentence(_(template, **words))
    return _("Step {number}: {sentence}", number=numbering.number(one.step), sentence=_(template, **words))

