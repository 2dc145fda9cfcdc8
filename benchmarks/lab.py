"""The lab: from a click to what the stage is to draw, in the kernel, and looking about in a long story."""

from __future__ import annotations

from benchmarks.measure import duration, seconds
from hawb.lab.controller import Controller
from hawb.lab.history import Point
from hawb.lab.page import Lab
from hawb.scenario.load import read_scenario
from hawb.scenario.run import Run

NODES, QUEUES = 7, 40
EVENTS = 10_000
CLICK, LOOK = "limit 100 ms", "limit 50 ms"

POSITIONS = 31
"""How many moments of the long story are looked at, spread over the whole of it."""


def large(nodes_: int = NODES, queues_: int = QUEUES) -> dict:
    """Return a cluster with many queues of a thousand messages: half are mirrored (one mirror late), half are quorum
    queues.
    """
    nodes = [f"rabbit@node{number}" for number in range(1, nodes_ + 1)]
    policy = {"name": "ha-three", "pattern": "", "definition": {"ha-mode": "exactly", "ha-params": 3}}
    queues = []
    for number in range(queues_):
        first, second, third = (nodes[(number + place) % nodes_] for place in range(3))
        queue = {"queue": f"queue-{number:02}", "messages": 1000}
        mirrored = {"master": first, "mirrors": [second, third], "synchronised_mirrors": [second]}
        quorum = {"type": "quorum", "leader": first, "members": [first, second, third]}
        queues.append(queue | (quorum if number % 2 else mirrored))
    return {"scenario": "Large", "cluster": {"nodes": nodes}, "policies": [policy], "queues": queues}


def long() -> Run:
    """Return the same cluster after publishes, acks, kills and starts with EVENTS events."""
    scenario = large()
    run, nodes = Run(read_scenario(scenario | {"steps": []})), scenario["cluster"]["nodes"]
    events, round_number = 0, 0
    while events < EVENTS:
        node = nodes[round_number % NODES]
        run.apply_plain({"kill": node})
        for number in range(QUEUES):
            run.apply_plain({"publish": {"queue": f"queue-{number:02}", "count": 10}})
            run.apply_plain({"get": {"queue": f"queue-{number:02}", "count": 5}})
        run.apply_plain({"start": node})
        events, round_number = run.moment().entries_so_far, round_number + 1
    return run


def lab(run: Run) -> Lab:
    """Return a lab with a run opened."""
    controller = Controller()
    controller.now = Point(run, opened=True)
    return Lab(controller)


def figures() -> list[str]:
    """The lines that `make bench` prints."""
    page = lab(Run.of(read_scenario(large())))

    nodes = list(page.controller.outcome["nodes"])

    def kill(node: str) -> None:
        page.stage.receive({"do": "node", "node": node, "entry": "kill"})

    def kill_and_undo() -> None:
        kill(nodes[-1])
        page.stage.receive({"do": "undo"})

    first = halved(seconds(kill_and_undo))
    for node in nodes[:4]:
        kill(node)
    story = len(page.controller.outcome["events"])
    later = halved(seconds(kill_and_undo))
    page = lab(long())
    moments, result = page.controller.moments, len(page.controller.outcome["events"])
    positions = iter([moments * (number * 7 % POSITIONS) // POSITIONS for number in range(1, POSITIONS + 1)])

    def look():
        page.stage.receive({"do": "look", "position": next(positions)})

    return [
        duration("a click: a node is killed, or that is undone", first, limit=CLICK),
        duration(f"the same, after {story} events", later, limit=CLICK),
        duration(f"looking at a moment of {result:,} events", seconds(look, rounds=POSITIONS - 1), limit=LOOK),
    ]


def halved(taken: list[float]) -> list[float]:
    """Return the seconds for one of two clicks."""
    return [one / 2 for one in taken]
