"""Guide the first minute: a tour through a loss, and the changes that would have kept the messages.

The tour follows the user in any order of actions, and describes the current point of the story.
"""

from __future__ import annotations

from hawb.lab.controller import Controller
from hawb.lab.leads import offered
from hawb.languages import N_, Plural, _, ngettext
from hawb.views.formatting import counted, listing, shown, size, whole

QUEUE = "ha.orders"
"""The queue of the lab's own cluster that the tour is about."""

BEGIN, LOST, HELD = "begin", "lost", "held"
"""Phases of the tour: the queue's first master runs; messages are lost; that node is down without a loss."""

LATE = Plural(
    "Each bar shows which messages a node holds. {mirrors} has only {some} of the {all} messages of {queue}. What if "
    "{node} dies?",
    "Each bar shows which messages a node holds. {mirrors} have only {some} of the {all} messages of {queue}. What if "
    "{node} dies?",
)
NOT_LATE = N_("Each bar shows which messages a node holds. {node} is the master of {queue}. What if {node} dies?")
KILL = N_("Kill {node}")
COST = Plural(
    "{count} confirmed message is lost. The Why panel explains the loss. To watch it once more, press the button “↻"
    " again”.",
    "{count} confirmed messages are lost. The Why panel explains the loss. To watch it once more, press the button “↻"
    " again”.",
)
COST_UNCONFIRMED = N_("The kill lost {messages}. The Why panel explains the loss. To watch it once more, press the"
                      " button “↻ again”.")
TRY = N_("The “What now” panel lists the changes that would have kept the messages, and what each of them costs. Try"
         " one.")
NOTHING_TO_TRY = N_("No single change would have kept the messages. Press undo as often as you like: each press"
                    " takes back one step.")
NOT_LOST = N_(
    "{node} is down, and no message is lost. The text above says what else this costs. Press undo until {node} runs"
    " again. Then change the policy, or kill {node} at another moment."
)
TRIED = N_("After the same kill, no message is lost. Press undo as often as you like: each press takes back one step.")


def guide(controller: Controller) -> dict | None:
    """Return the tour's texts for the current point, or None.

    The dictionary has the `phase`, the `texts` by the names that the page uses, the `node` that the tour suggests to
    kill, and whether the cluster `is_at_rest`. None if another cluster was opened, the queue is gone, or it is a quorum
    queue that has lost nothing.
    """
    outcome = controller.outcome
    queue = outcome["queues"].get(QUEUE)
    if not controller.is_own_cluster or queue is None:
        return None
    account = outcome["ledger"]
    lost = sum(size(one["lost"]) for one in account.values())
    declared = [event for event in outcome["events"] if (event["event"], event["queue"]) == ("queue_declared", QUEUE)]
    first = declared[0]["detail"]["master"] if declared else queue["master"]
    phase = LOST if lost else BEGIN if outcome["nodes"].get(first) == "running" else HELD
    if phase == BEGIN and "master" not in queue:
        return None
    texts = {"tried": _(TRIED)}
    if phase == LOST:
        confirmed = sum(one["lost_confirmed"] for one in account.values())
        unconfirmed = _(COST_UNCONFIRMED, messages=counted(lost))
        cost = ngettext(*COST, confirmed, count=whole(confirmed)) if confirmed == lost else unconfirmed
        found = controller.now.alternatives
        texts |= {"lost": cost, "try": _(TRY if found is None or offered(found) else NOTHING_TO_TRY)}
    elif phase == HELD:
        texts["held"] = _(NOT_LOST, node=shown(first))
    else:
        texts |= {"open": _open(outcome, queue), "kill": _(KILL, node=shown(queue["master"]))}
    node = queue["master"] if phase == BEGIN else ""
    return {"phase": phase, "texts": texts, "node": node, "is_at_rest": controller.is_at_rest}


def _open(outcome: dict, queue: dict) -> str:
    """Return the first text, with the mirrors that lack messages if there are any."""
    words = {"queue": QUEUE, "node": shown(queue["master"]), "all": whole(queue["messages"])}
    held = {mirror: queue["replicas"][mirror]["messages"] for mirror in queue["mirrors"]}
    late = [mirror for mirror in held if mirror not in queue["synchronised_mirrors"]]
    if not late:
        return _(NOT_LATE, **words)
    least = min(held[mirror] for mirror in late)
    poorest = [mirror for mirror in late if held[mirror] == least]
    return ngettext(*LATE, len(poorest), mirrors=listing(poorest), some=whole(least), **words)
