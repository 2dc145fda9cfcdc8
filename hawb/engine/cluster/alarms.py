"""Resource alarms: a node is short of memory or disk.

Source: `rabbit_alarm`. An alarm on one node is in force on each node that believes that node running. Each of them
blocks its connections that publish (`hawb.engine.clients.connections`). A memory alarm also suspends synchronisations
(`rabbit_mirror_queue_sync:syncer_check_resources`). A node's alarms end when the node goes down. Every node learns of a
changed alarm at once.

Setting an alarm that is set changes nothing, as in RabbitMQ. Clearing one that is not set also does nothing in
RabbitMQ; hawb refuses it, because a step that does so is a mistake in the scenario.
"""

from __future__ import annotations

from hawb.engine.core.events import AlarmsChanged
from hawb.engine.core.turn import Turn

MEMORY = "memory"


def in_force(turn: Turn, node: int) -> list[str]:
    """Return the resources for which `node` knows of an alarm, in alphabetical order."""
    known = turn.nodes[node].believes | 1 << node
    return sorted({resource for at, resource in turn.alarms if known >> at & 1})


def blocks_publishing(turn: Turn, node: int) -> bool:
    """Return True if connections at `node` that publish are blocked."""
    return bool(in_force(turn, node))


def holds_synchronisation(turn: Turn, node: int) -> bool:
    """Return True if a master at `node` may not send the next batch to its mirrors."""
    return MEMORY in in_force(turn, node)


def set_alarm(turn: Turn, node: int, resource: str) -> None:
    """Set the alarm of a resource on a node. Refuse the step if the node does not run."""
    if not turn.runs_anywhere(node):
        turn.refuse(None, f"node '{turn.settings.names[node]}' is not running")
    elif (node, resource) not in turn.alarms:
        turn.alarms |= {(node, resource)}
        turn.because = turn.emit("alarm_set", node=node, resource=resource)
        schedule_alarms(turn)


def clear_alarm(turn: Turn, node: int, resource: str) -> None:
    """Clear the alarm of a resource on a node. Refuse the step if the node does not run or has no such alarm."""
    name = turn.settings.names[node]
    if not turn.runs_anywhere(node):
        turn.refuse(None, f"node '{name}' is not running")
    elif (node, resource) not in turn.alarms:
        turn.refuse(None, f"no {resource} alarm is set on node '{name}'")
    else:
        turn.alarms -= {(node, resource)}
        turn.because = turn.emit("alarm_cleared", node=node, resource=resource, reason="relieved")
        schedule_alarms(turn)


def links_gone(turn: Turn) -> None:
    """Apply the alarms again after links failed: nodes no longer count the alarms of nodes that they do not see."""
    if turn.alarms:
        schedule_alarms(turn)


def node_gone(turn: Turn, node: int) -> None:
    """Stop counting the alarms of a node that went down or out of sight. Clear them if it does not run."""
    theirs = sorted(resource for at, resource in turn.alarms if at == node)
    if not turn.runs_anywhere(node):
        turn.alarms = frozenset(alarm for alarm in turn.alarms if alarm[0] != node)
        for resource in theirs:
            turn.emit("alarm_cleared", node=node, resource=resource, reason="node_down")
    if theirs:
        schedule_alarms(turn)


def schedule_alarms(turn: Turn) -> None:
    """Schedule, at each running node, that it applies the alarms again."""
    for node in range(len(turn.nodes)):
        if turn.runs_anywhere(node):
            turn.schedule(0, AlarmsChanged(node))
