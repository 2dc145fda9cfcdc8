"""The states of the stage that are pictured: a name, and what a person, or the story that was opened, has done."""

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
    """The lab as it opens, without its tour."""
    begin(page, Lab(Controller()))
    page.get_by_role("button", name="skip the tour").click()


def skip_tour(page) -> None:
    """End the tour, if this cluster has one: only the lab's own does."""
    button = page.get_by_role("button", name="skip the tour")
    if button.count():
        button.click()


def opened(page, run: Run) -> None:
    """The lab at the end of a run."""
    begin(page, lab_of(run))
    skip_tour(page)


def scenario(page, name: str, played: int | None = None) -> None:
    """The lab with a scenario of data/scenarios, after so many of its steps."""
    controller = Controller()
    controller.open_scenario(SCENARIOS / f"{name}.yaml")
    while played is not None and controller.story_place[0] > played:
        controller.step_back()
    controller.now.opened = True
    begin(page, Lab(controller))
    skip_tour(page)


def act(page, *steps: dict) -> None:
    """More steps, as a scenario has them."""
    for step in steps:
        ((verb, argument),) = step.items()
        page.lab.controller.act(verb, argument)
    page.lab.redraw()
    show(page)


def chosen(page, queue: str) -> None:
    """A queue is chosen, so that its logs are shown."""
    page.lab.controller.choose(queue)
    page.lab.redraw()
    show(page)


def guided(page) -> None:
    """The lab as it opens: at rest, with one invitation."""
    begin(page, Lab(Controller()))


def menu_open(page) -> None:
    """What can be done to a node."""
    fresh(page)
    menu(page, "node a")


def loss(page) -> None:
    """The master was killed, and what would have kept its messages has been found."""
    fresh(page)
    pick(page, "node a", "kill")
    page.lab.stage.receive({"do": "ask"})
    show(page)


def stopped(page) -> None:
    """The master was stopped in a controlled way, and no mirror may take over."""
    fresh(page)
    pick(page, "node a", "stop")


def undone(page) -> None:
    """A loss was taken back."""
    loss(page)
    page.get_by_role("button", name="undo").click()
    page.run_for(50)


def promoted(page) -> None:
    """A synchronised mirror took over, and nothing is lost."""
    fresh(page)
    act(page, {"sync_queue": "ha.orders"})
    pick(page, "node a", "kill")


def links_down(page) -> None:
    """Links are down, and nobody has noticed."""
    fresh(page)
    pick(page, "node a", "cut off")


def unsynchronised(page) -> None:
    """A node is back, and its mirror lacks all that was published before."""
    fresh(page)
    act(page, {"sync_queue": "ha.orders"}, {"stop": "b"}, {"start": "b"})


def syncing(page) -> None:
    """A queue is being synchronised, and serves nobody meanwhile."""
    scenario(page, "incident-restart-during-synchronisation")
    controller = page.lab.controller
    for position in range(controller.moments):
        controller.look_at(position)
        if any(queue["state"] == "syncing" for queue in controller.outcome["queues"].values()):
            break
    page.lab.redraw()
    show(page)


def logs(page) -> None:
    """The log of a leader that is cut off has entries that the others have not."""
    opened(page, Run.of(read_scenario(yaml.safe_load(CUT_OFF))))
    chosen(page, "orders")


def alone(page) -> None:
    """A leader without a majority."""
    scenario(page, "quorum-minority-waits-3-10", 4)
    chosen(page, "orders")


def many(page, queues: int) -> None:
    """Eight nodes and many queues, one of the nodes killed."""
    opened(page, Run.of(read_scenario(large(8, queues))))
    act(page, {"kill": "rabbit@node8"})


def refused(page) -> None:
    """A menu says what RabbitMQ would refuse: the coordinator of streams has no majority."""
    steps = [{"declare": {"queue": "s", "node": "a", "arguments": {"x-queue-type": "stream"}}}, {"kill": ["b", "c"]}]
    story = {"scenario": "A stream without a coordinator", "cluster": {"nodes": ["a", "b", "c"], "version": "4.0"}}
    opened(page, Run.of(read_scenario(story | {"steps": steps})))
    menu(page, "node c")
    page.locator(".hs-refused").first.wait_for()


def searched(page) -> None:
    """Another cluster is searched for."""
    fresh(page)
    page.get_by_role("combobox", name="scenario").fill("majority quorum")
    page.keyboard.press("ArrowDown")


def forecasts(page) -> None:
    """What a stop and a kill of each node would do."""
    fresh(page)
    page.lab.controller.forecasting = True
    page.lab.redraw()
    show(page)


def dark_power(page) -> None:
    """A host has lost its power, and no other node knows."""
    fresh(page)
    pick(page, "node a", "power off")


def on_the_way(page) -> None:
    """The story stands still in the middle of a movement."""
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
