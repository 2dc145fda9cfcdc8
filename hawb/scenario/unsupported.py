"""What a scenario can say and hawb has no rules for: refused by name before it happens, never half simulated."""

from __future__ import annotations

from hawb.engine.core.naming import join_queue, split_queue
from hawb.engine.core.turn import Turn
from hawb.engine.streams import is_stream
from hawb.scenario.document import Step
from hawb.scenario.refused import ScenarioRefused
from hawb.scenario.verbs import Consume, Crash

OF_STREAMS = {
    Consume: "hawb has no rules for consumers and their offsets, retention, super streams, filters, single active"
             " consumers and the stream protocol",
    Crash: "hawb has no rules for a crashing process of a stream",
}
"""The steps on a stream that have no rules."""

ACCEPTED = (
    "accepted: publish, delete, add_member, delete_member, grow, shrink, transfer_leadership, rebalance, and all"
    " steps about nodes and links"
)


def check_step(step: Step, turn: Turn) -> None:
    """Raise ScenarioRefused if a step that is about to be taken has no rules."""
    verb = step.verb
    if not isinstance(verb, Consume | Crash):
        return
    name = join_queue(*split_queue(verb.queue))
    if is_stream(turn, name):
        reason = f"{verb.queue} is a stream: {OF_STREAMS[type(verb)]}; {ACCEPTED}"
        raise ScenarioRefused(reason, ("steps", turn.step, step.name, "queue"))
