"""The lab: from a click to redrawn diagram and tables in the kernel, at 8 nodes and 40 queues."""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks.measure import duration, seconds
from hawb.lab.controller import Controller
from hawb.lab.page import Lab
from hawb.scenario.dump import dump
from hawb.scenario.load import read_scenario

NODES, QUEUES = 8, 40
LIMIT = "limit 150 ms"


def lab() -> Lab:
    """A lab of eight nodes and forty queues of a thousand messages, mirrored to three nodes each, one of them late."""
    nodes = [f"rabbit@node{number}" for number in range(1, NODES + 1)]
    queues = [
        {
            "queue": f"queue-{number:02}",
            "messages": 1000,
            "master": nodes[number % NODES],
            "mirrors": [nodes[(number + 1) % NODES], nodes[(number + 2) % NODES]],
            "synchronised_mirrors": [nodes[(number + 1) % NODES]],
        }
        for number in range(QUEUES)
    ]
    policy = {"name": "ha-three", "pattern": "", "definition": {"ha-mode": "exactly", "ha-params": 3}}
    scenario = {"scenario": "Large", "cluster": {"nodes": nodes}, "policies": [policy], "queues": queues}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "large.yaml"
        file.write_text(dump(read_scenario(scenario)), encoding="utf-8")
        return Lab(Controller(file))


def figures() -> list[str]:
    """The lines that `make bench` prints."""
    page = lab()

    def kill_and_undo():
        page.cluster.nodes[-1].buttons["kill"].click()
        page.toolbar.undo.click()

    first = halved(seconds(kill_and_undo))
    for node in page.cluster.nodes[:5]:
        node.buttons["kill"].click()
    story = len(page.controller.outcome["events"])
    return [
        duration("a click: a node is killed, or that is undone", first, limit=LIMIT),
        duration(f"the same, after {story} events", halved(seconds(kill_and_undo)), limit=LIMIT),
    ]


def halved(taken: list[float]) -> list[float]:
    """Seconds for one click of two."""
    return [one / 2 for one in taken]
