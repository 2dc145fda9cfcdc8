"""cluster_partition_handling: nodes that pause until they see enough of the others, and sides that give in.

Source: `rabbit_node_monitor` (`handle_dead_node`, `await_cluster_recovery`, `partial_partition`), `rabbit_autoheal`.
What decides is which other Erlang nodes a node can reach, whether their broker runs or not. A node pauses by stopping
its broker as a controlled shutdown does, and looks every second whether it may come back. What its queues made of the
deaths before it paused stands: a mirror that took over in those milliseconds has taken over on its own side's records.

Under autoheal the losing sides' nodes restart as soon as every member is up and reachable. The sides are compared by
`hawb.rules.partitions.winner`; a connection is one that a client has opened and not closed.

The decisions to stop and to boot are left on the agenda for `hawb.engine.membership`.
"""

from __future__ import annotations

from collections.abc import Iterable

from hawb.engine import chance
from hawb.engine.events import BootAttempt, LookAround, ShutDown
from hawb.engine.state import BOOTING, DOWN, PAUSED, RUNNING
from hawb.engine.turn import TIMER, Turn
from hawb.rules import partitions

POLL_US = 1_000_000
"""How often a paused node looks, and how long it takes until nodes that see each other again act on it."""

MAJORITY, PREFERRED, EVERYBODY, RESTART = "majority", "preferred", "everybody", "restart"
"""What a node that stops its broker by itself waits for."""

CONDITIONS = {"pause_minority": MAJORITY, "pause_if_all_down": PREFERRED}


def seen(turn: Turn, node: int) -> list[int]:
    """The members whose Erlang node a node takes for connected, itself among them. A running node has just given up
    those that it no longer believes running; one that is paused has them back as soon as it reaches them."""
    known = turn.nodes[node].believes_running if turn.runs_anywhere(node) else ()
    gone = (DOWN, RUNNING) if turn.runs_anywhere(node) else (DOWN,)
    return [
        other
        for other, value in enumerate(turn.nodes)
        if value.member
        and (other == node or other in known or (value.status not in gone and turn.linked(node, other)))
    ]


def fulfilled(turn: Turn, node: int, condition: str) -> bool:
    """Whether what a node waits for is so."""
    others = seen(turn, node)
    members = [other for other, value in enumerate(turn.nodes) if value.member]
    if condition == MAJORITY:
        return partitions.has_majority(len(others), len(members))
    if condition == PREFERRED:
        preferred = [other for other in turn.settings.partition_handling.nodes if other in members]
        return partitions.is_preferred(others, preferred)
    return condition == RESTART or others == members


def decide_who_pauses(turn: Turn) -> None:
    """Something was noticed: running nodes of the side in focus that see too few of the others are to pause. From now
    on they promise nothing to publishers."""
    condition = CONDITIONS.get(turn.settings.partition_handling.mode)
    for node in turn.running():
        if turn.nodes[node].awaits is None and condition and not fulfilled(turn, node, condition):
            turn.change_node(node, awaits=condition)


def pause(turn: Turn) -> None:
    """Those that are to pause begin to stop."""
    for node in turn.running():
        condition = turn.nodes[node].awaits
        if condition not in (None, RESTART):
            entry = turn.emit("node_pausing", node=node, until=condition)
            turn.schedule(0, ShutDown(node), entry)


def caught_between(turn: Turn, lost: Iterable[tuple[int, int]]) -> list[int]:
    """Nodes at the ends of links that have failed, with a third node in sight that still sees both: under
    pause_minority they pause until everybody is back."""
    if turn.settings.partition_handling.mode != "pause_minority":
        return []
    return sorted({end for link in lost if go_betweens(turn, link) for end in link})


def made_full(turn: Turn, link: tuple[int, int]) -> list[tuple[int, int]]:
    """Pairs that cut themselves off from each other, so that the partition over a link that has failed is a full one:
    one of its ends and the nodes that see both. Which end is a race in RabbitMQ, and a random draw here; one that
    pauses itself leaves it to the other."""
    mode, between = turn.settings.partition_handling.mode, go_betweens(turn, link)
    if mode == "pause_minority" or not between:
        return []
    staying = [end for end in link if mode != "pause_if_all_down" or fulfilled(turn, end, PREFERRED)]
    if not staying:
        return []
    end = staying[chance.below(len(staying), turn.settings.seed, chance.CUT_OFF, turn.next_number(), 0)]
    return [(end, other) for other in between]


def go_betweens(turn: Turn, link: tuple[int, int]) -> list[int]:
    """The nodes that see both ends of a link, and can be asked whether they do: those that have died or fallen silent
    without anybody having missed them say nothing."""
    a, b = link
    seen = turn.nodes[a].believes_running & turn.nodes[b].believes_running
    return sorted(node for node in seen if turn.runs_anywhere(node) and turn.linked(node, a) and turn.linked(node, b))


# Coming back


def look_again(turn: Turn) -> None:
    """Something has come back, or gone: in a second paused nodes look whether they may go on, and sides whether they
    can heal."""
    waiting = any(value.status == PAUSED for value in turn.nodes)
    heals = turn.settings.partition_handling.heals and len({turn.nodes[node].side for node in everybody_up(turn)}) > 1
    if (waiting or heals) and not turn.is_planned(LookAround()):
        turn.schedule(POLL_US, LookAround(), priority=TIMER)


def everybody_up(turn: Turn) -> list[int]:
    """All members, if each runs and reaches each; otherwise nobody."""
    members = [node for node, value in enumerate(turn.nodes) if value.member]
    whole = all(turn.linked(a, b) for a in members for b in members)
    return members if whole and all(map(turn.runs_anywhere, members)) else []


def look_around(turn: Turn, _event: LookAround) -> None:
    """The second is over."""
    for node, value in enumerate(turn.nodes):
        if value.status == PAUSED and fulfilled(turn, node, value.awaits):
            boot_again(turn, node)
    if turn.settings.partition_handling.heals:
        heal_sides(turn)


def boot_again(turn: Turn, node: int) -> None:
    """A node's broker starts again, its Erlang node never went."""
    boot = turn.nodes[node].boots + 1
    turn.change_node(node, status=BOOTING, boots=boot, awaits=None)
    entry = turn.emit("node_booting", node=node)
    turn.schedule(turn.settings.timing.start_us, BootAttempt(node, boot), entry)


def heal_sides(turn: Turn) -> None:
    """All sides but one restart, if everybody is up."""
    sides: dict[int, list[int]] = {}
    for node in everybody_up(turn):
        sides.setdefault(turn.nodes[node].side, []).append(node)
    if len(sides) < 2:
        return
    groups = sorted(sides.values())
    connections = [sum(node in group for _, node, _ in turn.connections) for group in groups]
    best = partitions.winner(connections, [len(group) for group in groups])
    turn.because = turn.emit(
        "autoheal_started", winner=turn.settings.named(groups[best]), connections=connections[best],
        losers=turn.settings.named(sorted(node for group in groups if group is not groups[best] for node in group)),
    )  # fmt: skip
    for group in groups:
        for node in group if group is not groups[best] else ():
            turn.look_from(node)
            turn.change_node(node, awaits=RESTART)
            entry = turn.emit("node_stopping", node=node)
            turn.schedule(0, ShutDown(node), entry)
