"""Resource alarms: a node is short of memory or disk.

Source: `rabbit_alarm`. An alarm on one node is in force on all that believe that node running: each of them blocks the
connections of its publishers (`hawb.engine.clients.connections`), and a memory alarm holds synchronisations too
(`rabbit_mirror_queue_sync:syncer_check_resources`). A node's alarms go with it. News of an alarm reaches every node at
once.

To set an alarm that is set changes nothing, as in RabbitMQ. To clear one that is not set does nothing in RabbitMQ
either; here it is refused, since the author of such a step meant something else.
"""

from __future__ import annotations

from hawb.engine.core.events import AlarmsChanged
from hawb.engine.core.turn import Turn

MEMORY = "memory"


def in_force(turn: Turn, node: int) -> list[str]:
    """The resources for which an alarm is set as far as `node` knows."""
    known = turn.nodes[node].believes | 1 << node
    return sorted({resource for at, resource in turn.alarms if known >> at & 1})


def blocks_publishing(turn: Turn, node: int) -> bool:
    """Whether connections at `node` that publish are blocked."""
    return bool(in_force(turn, node))


def holds_synchronisation(turn: Turn, node: int) -> bool:
    """Whether a master at `node` may not send the next batch to its mirrors."""
    return MEMORY in in_force(turn, node)


def set_alarm(turn: Turn, node: int, resource: str) -> None:
    """A node runs short of a resource."""
    if not turn.runs_anywhere(node):
        turn.refuse(None, f"node '{turn.settings.names[node]}' is not running")
    elif (node, resource) not in turn.alarms:
        turn.alarms |= {(node, resource)}
        turn.because = turn.emit("alarm_set", node=node, resource=resource)
        tell_all(turn)


def clear_alarm(turn: Turn, node: int, resource: str) -> None:
    """A node has enough of a resource again."""
    name = turn.settings.names[node]
    if not turn.runs_anywhere(node):
        turn.refuse(None, f"node '{name}' is not running")
    elif (node, resource) not in turn.alarms:
        turn.refuse(None, f"no {resource} alarm is set on node '{name}'")
    else:
        turn.alarms -= {(node, resource)}
        turn.because = turn.emit("alarm_cleared", node=node, resource=resource, reason="relieved")
        tell_all(turn)


def links_gone(turn: Turn) -> None:
    """Nodes have given each other up, and no longer count each other's alarms."""
    if turn.alarms:
        tell_all(turn)


def node_gone(turn: Turn, node: int) -> None:
    """Nodes that saw another go no longer count its alarms; one that does not run has none."""
    theirs = sorted(resource for at, resource in turn.alarms if at == node)
    if not turn.runs_anywhere(node):
        turn.alarms = frozenset(alarm for alarm in turn.alarms if alarm[0] != node)
        for resource in theirs:
            turn.emit("alarm_cleared", node=node, resource=resource, reason="node_down")
    if theirs:
        tell_all(turn)


def tell_all(turn: Turn) -> None:
    """Every node looks at the alarms anew."""
    for node in range(len(turn.nodes)):
        if turn.runs_anywhere(node):
            turn.schedule(0, AlarmsChanged(node))
