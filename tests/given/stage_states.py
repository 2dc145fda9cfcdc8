"""States of the stage for pictures: a name, and the actions that lead to it."""

from __future__ import annotations

from collections.abc import Callable

import yaml
from browser_pages import ROOT
from stage_pages import begin, menu, pick, show

from benchmarks.lab import lab as lab_of
from benchmarks.lab import large
from hawb.lab.controller import Controller
from hawb.lab.page import Lab
from hawb.scenario.load import read_scenario
from hawb.scenario.run import Run

SCENARIOS = ROOT / "data" / "scenarios"

CUT_OFF = """\
scenario: A leader that is cut off goes on writing what nobody will commit
cluster: {nodes: [a, b, c], version: "3.10"}
steps:
- declare: {queue: orders, node: c, arguments: {x-queue-type: quorum}}
- publish: {queue: orders, count: 3, node: c}
- wait: 60
- partition: [[a, b], [c]]
- publish: {queue: orders, count: 2, node: c}
- wait: 20
- publish: {queue: orders, count: 3, node: a}
"""


def fresh(page) -> None:
    """Open the lab without its tour."""
    begin(page, Lab(Controller()))
    page.get_by_role("button", name="skip the tour").click()


def skip_tour(page) -> None:
    """End the tour, if this cluster has one: only the lab's own does."""
    button = page.get_by_role("button", name="skip the tour")
    if button.count():
        button.click()


def opened(page, run: Run) -> None:
    """Open the lab at the end of a run."""
    begin(page, lab_of(run))
    skip_tour(page)


def scenario(page, name: str, played: int | None = None) -> None:
    """Open the lab with a scenario of data/scenarios after some of its steps."""
    controller = Controller()
    controller.open_scenario(SCENARIOS / f"{name}.yaml")
    while played is not None and controller.story_place[0] > played:
        controller.step_back()
    controller.now.opened = True
    begin(page, Lab(controller))
    skip_tour(page)


def act(page, *steps: dict) -> None:
    """Play more steps, written as in a scenario."""
    for step in steps:
        ((verb, argument),) = step.items()
        page.lab.controller.act(verb, argument)
    page.lab.redraw()
    show(page)


def chosen(page, queue: str) -> None:
    """Choose a queue to show its log."""
    page.lab.controller.choose(queue)
    page.lab.redraw()
    show(page)


def guided(page) -> None:
    """Open the lab with its tour."""
    begin(page, Lab(Controller()))


def menu_open(page) -> None:
    """Open the menu of a node."""
    fresh(page)
    menu(page, "node a")


def loss(page) -> None:
    """Kill the master and find the changes that prevent the loss."""
    fresh(page)
    pick(page, "node a", "kill")
    page.lab.stage.receive({"do": "ask"})
    show(page)


def stopped(page) -> None:
    """Stop the master so that no mirror may be promoted."""
    fresh(page)
    pick(page, "node a", "stop")


def undone(page) -> None:
    """Undo a loss."""
    loss(page)
    page.get_by_role("button", name="undo").click()
    page.run_for(50)


def promoted(page) -> None:
    """Promote a synchronised mirror without loss."""
    fresh(page)
    act(page, {"sync_queue": "ha.orders"})
    pick(page, "node a", "kill")


def links_down(page) -> None:
    """Cut links, not detected yet."""
    fresh(page)
    pick(page, "node a", "cut off")


def unsynchronised(page) -> None:
    """Restart a node whose mirror lacks all earlier messages."""
    fresh(page)
    act(page, {"sync_queue": "ha.orders"}, {"stop": "b"}, {"start": "b"})


def syncing(page) -> None:
    """Synchronise a queue, which blocks it."""
    scenario(page, "incident-restart-during-synchronisation")
    controller = page.lab.controller
    for position in range(controller.moments):
        controller.look_at(position)
        if any(queue["state"] == "syncing" for queue in controller.outcome["queues"].values()):
            break
    page.lab.redraw()
    show(page)


def logs(page) -> None:
    """Show the log of an isolated leader with uncommitted entries."""
    opened(page, Run.of(read_scenario(yaml.safe_load(CUT_OFF))))
    chosen(page, "orders")


def alone(page) -> None:
    """Show a leader without a majority."""
    scenario(page, "quorum-minority-waits-3-10", 4)
    chosen(page, "orders")


def many(page, queues: int) -> None:
    """Show eight nodes and many queues, with one node killed."""
    opened(page, Run.of(read_scenario(large(8, queues))))
    act(page, {"kill": "rabbit@node8"})


def refused(page) -> None:
    """Open a menu with an entry that RabbitMQ would refuse: the stream coordinator has no majority."""
    steps = [{"declare": {"queue": "s", "node": "a", "arguments": {"x-queue-type": "stream"}}}, {"kill": ["b", "c"]}]
    story = {"scenario": "A stream without a coordinator", "cluster": {"nodes": ["a", "b", "c"], "version": "4.0"}}
    opened(page, Run.of(read_scenario(story | {"steps": steps})))
    menu(page, "node c")
    page.locator(".hs-refused").first.wait_for()


def searched(page) -> None:
    """Search for another scenario."""
    fresh(page)
    page.get_by_role("combobox", name="scenario").fill("majority quorum")
    page.keyboard.press("ArrowDown")


def forecasts(page) -> None:
    """Show the effects of a stop and a kill of each node."""
    fresh(page)
    page.lab.controller.forecasting = True
    page.lab.redraw()
    show(page)


def dark_power(page) -> None:
    """Cut the power of a host, not detected yet."""
    fresh(page)
    pick(page, "node a", "power off")


def on_the_way(page) -> None:
    """Stop the animation in the middle of a movement."""
    fresh(page)
    pick(page, "node a", "kill")
    page.get_by_role("button", name="step back").click()


STATES: dict[str, Callable] = {
    "opened": fresh,
    "guide": guided,
    "menu": menu_open,
    "menu-refused": refused,
    "scenarios": searched,
    "loss": loss,
    "stopped": stopped,
    "undone": undone,
    "promoted": promoted,
    "links-down": links_down,
    "two-sides": lambda page: scenario(page, "partition-two-masters", 6),
    "unsynchronised": unsynchronised,
    "syncing": syncing,
    "logs": logs,
    "leader-alone": alone,
    "khepri-minority": lambda page: scenario(page, "khepri-minority-declares-nothing", 8),
    "stream": lambda page: scenario(page, "streams-leader-cut-off", 6),
    "alarm": lambda page: scenario(page, "alarm-blocks-publishers", 6),
    "power-off": dark_power,
    "forecasts": forecasts,
    "far-on": lambda page: scenario(page, "quorum-partition-of-five", 12),
    "on-the-way": on_the_way,
    "40-queues": lambda page: many(page, 40),
    "200-queues": lambda page: many(page, 200),
}
"""What is pictured, and how it comes to that."""
