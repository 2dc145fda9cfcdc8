"""What no node has noticed yet: cut links and nodes that are gone, until net_ticktime is over.

Until then the state of queues is what nodes take it for: a master that no client reaches still serves, and a publish
across such a link waits for its confirm. Whether messages are lost is decided when the nodes notice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from math import ceil

from hawb.engine.core import runs
from hawb.engine.core.events import LinksTimeOut, NodeGoneNoticed
from hawb.engine.core.operations import Publish
from hawb.engine.core.settings import Settings
from hawb.engine.core.state import DOWN, State
from hawb.scenario.beginning import MICROSECONDS


def noticed_at_us(state: State) -> int | None:
    """Return when the nodes will have noticed all cut links and all nodes that are gone.

    Return None if there is nothing left to notice, or no node runs.
    """
    due = [planned[0] for planned in state.agenda if isinstance(planned[-1], LinksTimeOut | NodeGoneNoticed)]
    return max(due) if due and state.running() else None


def unnoticed_outcome(state: State, settings: Settings) -> dict:
    """Return the key `unnoticed` of an outcome with the failures that no node has noticed; an empty map without any.

    It has the `links` and the `nodes`, the time at which all of them will be noticed, and what waits until then:
    messages by queue, and the number of other `operations` of clients.
    """
    at_us, names = noticed_at_us(state), settings.names
    if at_us is None:
        return {}
    numbers = {planned[-1].number for planned in state.agenda if isinstance(planned[-1], LinksTimeOut)}
    links = [
        [names[first], names[second]] for (first, second), number in state.cuts
        if number in numbers and DOWN not in (state.nodes[first].status, state.nodes[second].status)
    ]  # fmt: skip
    gone = {planned[-1].node for planned in state.agenda if isinstance(planned[-1], NodeGoneNoticed)}
    nodes = [names[node] for node in sorted(gone) if state.nodes[node].status == DOWN]
    if not links and not nodes:
        return {}
    waiting, operations = _waiting(state)
    found = {"links": links, "nodes": nodes, "noticed_at_s": at_us / MICROSECONDS}
    return {"unnoticed": found | {"waiting": waiting, "operations": operations}}


def _waiting(state: State) -> tuple[dict[str, int], int]:
    """Return the number of waiting messages of each queue, and of other waiting operations of clients.

    A message waits for a confirm or for a queue to serve again.
    """
    messages: Counter[str] = Counter()
    for share in (share for one in state.unconfirmed for share in one.shares):
        messages[share.queue] += runs.size(share.numbers)
    waiting = [one for side in state.sides for queue in side.queues.values() for one in queue.waiting]
    held = [one.operation for one in (*waiting, *state.awaiting_registration, *state.waiting_changes, *state.unread)]
    for operation in held:
        if isinstance(operation, Publish):
            messages.update(dict.fromkeys(operation.queues, operation.count))
    return dict(sorted(messages.items())), sum(not isinstance(one, Publish) for one in held)


def unnoticed_s(outcome: Mapping) -> int:
    """Return after how many seconds the nodes have noticed everything in an outcome; 0 if nothing is left to notice.

    Another second lets mirrors be promoted.
    """
    found = outcome.get("unnoticed")
    return ceil(round(found["noticed_at_s"] - outcome["time_s"], 6)) + 1 if found else 0
