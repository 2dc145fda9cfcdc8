"""The first minute: a tour through a loss and what would have kept the messages. It follows what a person does, in
whatever order, and says what is true where the story stands.
"""

from __future__ import annotations

from hawb.lab.controller import Controller
from hawb.lab.leads import offered
from hawb.languages import N_, Plural, _, ngettext
from hawb.views.formatting import counted, shown, size, whole

QUEUE = "ha.orders"
"""The queue of the lab's own cluster that the tour is about."""

BEGIN, LOST, HELD = "begin", "lost", "held"
"""Where a story stands in the tour: the queue's first master runs, messages are lost, or that node is down and none
are."""

LATE = N_(
    "{nodes} hold {queues}. Each bar is what a node holds: {mirror} has only {some} of the {all} messages of {queue}. "
    "Click node {node}, which has all of them and is the master."
)
NOT_LATE = N_(
    "{nodes} hold {queues}. Each bar is what a node holds. Click node {node}, which is the master of {queue}."
)
KILL = N_("Kill {node}.")
COST = Plural(
    "That cost {count} confirmed message. Read why below, then press ↻ again and watch it once more.",
    "That cost {count} confirmed messages. Read why below, then press ↻ again and watch it once more.",
)
COST_UNCONFIRMED = N_("That cost {messages}. Read why below, then press ↻ again and watch it once more.")
TRY = N_("What would have kept them stands on the right, with its price. Try one.")
NOTHING_TO_TRY = N_("No single change would have kept them. Undo takes everything back, however often you press it.")
NOT_LOST = N_(
    "{node} is down, and no message is lost: read above what that costs instead. Undo until {node} runs, and change "
    "the policy or the moment."
)
TRIED = N_("The same kill, and nothing is lost. Undo takes everything back, however often you press it.")


def guide(controller: Controller) -> dict | None:
    """Return what the tour says where the story stands: its `phase`, and the texts by the names that the page has for
    them; None where another cluster was opened or the queue is gone."""
    outcome = controller.outcome
    queue = outcome["queues"].get(QUEUE)
    if not controller.is_own_cluster or queue is None:
        return None
    account = outcome["ledger"]
    lost = sum(size(one["lost"]) for one in account.values())
    declared = [event for event in outcome["events"] if (event["event"], event["queue"]) == ("queue_declared", QUEUE)]
    first = declared[0]["detail"]["master"] if declared else queue["master"]
    phase = LOST if lost else BEGIN if outcome["nodes"].get(first) == "running" else HELD
    texts = {"tried": _(TRIED)}
    if phase == LOST:
        confirmed = sum(one["lost_confirmed"] for one in account.values())
        unconfirmed = _(COST_UNCONFIRMED, messages=counted(lost))
        cost = ngettext(*COST, confirmed, count=whole(confirmed)) if confirmed == lost else unconfirmed
        found = controller.alternatives
        texts |= {"lost": cost, "try": _(TRY if found is None or offered(found) else NOTHING_TO_TRY)}
    elif phase == HELD:
        texts["held"] = _(NOT_LOST, node=shown(first))
    else:
        texts |= {"open": _open(outcome, queue), "kill": _(KILL, node=shown(queue["master"]))}
    return {"phase": phase, "texts": texts}


def _open(outcome: dict, queue: dict) -> str:
    """Return what there is to see at first, with a mirror that lacks messages if there is one."""
    words = {
        "nodes": counted(len(outcome["nodes"]), "node"), "queues": counted(len(outcome["queues"]), "queue"),
        "queue": QUEUE, "node": shown(queue["master"]), "all": whole(queue["messages"]),
    }  # fmt: skip
    late = [mirror for mirror in queue["mirrors"] if mirror not in queue["synchronised_mirrors"]]
    if not late:
        return _(NOT_LATE, **words)
    has = queue["replicas"][late[0]]["messages"]
    return _(LATE, mirror=shown(late[0]), some=whole(has), **words)
