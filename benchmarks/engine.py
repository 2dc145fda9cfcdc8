"""The engine as a value: copies, new states and keys a second, at 8 nodes and 40 queues."""

from __future__ import annotations

from benchmarks.measure import rate, seconds
from hawb.engine import advance, first_state
from hawb.engine.cluster import node_commands
from hawb.engine.core.moment import Moment
from hawb.engine.core.operations import Publish
from hawb.engine.core.settings import Settings
from hawb.engine.core.turn import Turn
from hawb.engine.first_state import Standing
from hawb.engine.keys.state_key import key
from hawb.rules.policies import Policy
from hawb.rules.profiles import PROFILES

NODES, QUEUES = 8, 40


def start() -> tuple[Settings, Moment]:
    """Return eight nodes and forty queues of a thousand messages, each mirrored to three nodes."""
    names = tuple("abcdefgh"[:NODES])
    settings = Settings(names=names, file_order=tuple(range(NODES)), profile=PROFILES["3.10"], seed=1)
    policy = Policy.of("ha-three", ".*", {"ha-mode": "exactly", "ha-params": 3})
    queues = [
        Standing(
            name=f"queue-{number:02}",
            messages=1000,
            master=number % NODES,
            mirrors=((number + 1) % NODES, (number + 2) % NODES),
            synchronised=((number + 1) % NODES, (number + 2) % NODES),
        )
        for number in range(QUEUES)
    ]
    return settings, first_state.begin(settings, {}, [policy], queues)


def publish(settings: Settings, moment: Moment, name: str) -> Moment:
    """Publish one message to one queue and wait for its confirm."""
    turn = Turn(settings, moment, 0)
    turn.schedule(0, Publish(name, 0, queues=(name,), count=1, size_bytes=1024, persistent=True, confirm=True))
    advance.until_settled(turn)
    return turn.finish()


def kill(settings: Settings, moment: Moment, node: int) -> Moment:
    """Kill a node and let its queues fail over."""
    turn = Turn(settings, moment, 0)
    node_commands.kill(turn, [node])
    advance.until_settled(turn)
    return turn.finish()


def figures() -> list[str]:
    """The lines that `make bench` prints."""
    settings, moment = start()
    names = sorted(moment.state.queues)
    keep: list[Moment] = []

    def copies():
        keep[:] = [moment for _ in range(100_000)]

    def states():
        for _ in range(5):
            for name in names:
                publish(settings, moment, name)

    def kills():
        for node in range(NODES):
            kill(settings, moment, node)

    def keys():
        for _ in range(20):
            key(moment.state, settings)

    return [
        rate("copies kept (a copy is a reference)", 100_000, seconds(copies)),
        rate("states: publish to one queue, confirmed", 5 * QUEUES, seconds(states)),
        rate("states: a node dies, its queues fail over", NODES, seconds(kills)),
        rate("keys of a state", 20, seconds(keys)),
    ]
