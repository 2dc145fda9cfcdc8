"""Record a story for pages without an engine: what the stage draws before the first step and after each step.

The values are made by the functions of the lab, so that both draw the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from hawb.lab.controller import Controller
from hawb.lab.history import Point
from hawb.lab.leads import LATEST, asked_at_once, chains_of, happened, kept, worst
from hawb.planning.alternatives import what_would_have_kept
from hawb.scenario.dump import plain
from hawb.scenario.run import Run
from hawb.views.cluster import elections, raft_entries
from hawb.views.cluster.scene import beyond, scene
from hawb.views.formatting import seconds
from hawb.views.story.drafts import Drafts
from hawb.views.story.marks import MARKED
from hawb.views.story.movements import first_new, movements
from hawb.views.story.summary import done, reasons, toned_headline

MARKS = ("lost", "fault", "cut", "promoted")
"""The marks of a step, most important first."""

MOST_LOGS = 3
"""Maximum number of queues whose logs are included."""


def replay(file: Path) -> dict:
    """Return the recorded story of a scenario file.

    It has the `title`, `version` and `release`, the step `done` before each stop, the `stops` (one more than steps),
    each with a scene, the movements that led there and the columns' texts, and the changes that would have `kept` the
    lost messages. Raise ScenarioRefused.
    """
    controller, drafts = Controller(file), Drafts()
    run = controller.now.run
    return {
        "title": controller.outcome["scenario"],
        "version": controller.outcome["version"],
        "release": controller.profile.release,
        "done": [done(plain(step)) for step in run.steps],
        "stops": [stop(point, drafts) for point in points_of(run)],
        "kept": would_have_kept(controller),
    }


def points_of(run: Run) -> Iterator[Point]:
    """Yield the points at which a story stops: its beginning, and after each step."""
    before = None
    for played in range(len(run.steps) + 1):
        before = Point(run.rewound(played), run.steps[played:], before=before, opened=before is None)
        yield before


def stop(point: Point, drafts: Drafts) -> dict:
    """Return what is drawn at a point."""
    outcome, was, names = point.outcome, point.was, point.run.settings.names
    cuts = [] if was is None else raft_entries.cut_off(point.before.moment.state, point.moment.state, names)
    ballots = [] if was is None else elections.flown(point.moment, point.before.moment, names)
    state, events = point.moment.state, outcome["events"]
    return {
        "scene": scene(outcome, was, beyond(state, names)),
        "movements": [] if was is None else movements(outcome, was, cuts, ballots),
        "logs": {queue: raft_entries.logs(state, names, queue) for queue in list(state.groups)[:MOST_LOGS]},
        "time": seconds(outcome["time_s"]),
        "verdict": toned_headline(outcome),
        "happened": happened(outcome, was, drafts, LATEST) if was else {"told": [], "more": 0},
        "why": reasons(outcome),
        "chains": by_stop(chains_of(outcome)),
        "mark": mark([] if was and events == was["events"] else events[first_new(outcome, was) :]),
    }


def by_stop(found: list[list[dict]]) -> list[list[dict]]:
    """Return chains with the number of the stop after each link's step as its position."""
    return [[link | {"position": 0 if link["step"] is None else link["step"] + 1} for link in links] for links in found]


def mark(events: list[dict]) -> str:
    """Return the most important mark of events; "" if they have none."""
    looks = {MARKED.get(event["event"]) for event in events}
    return next((look for look in MARKS if look in looks), "")


def would_have_kept(controller: Controller) -> list[dict]:
    """Return what would have kept the worst loss, best first; empty without a loss or if the story is long."""
    harm = worst(controller)
    return kept(what_would_have_kept(controller.now.run, harm)) if harm and asked_at_once(controller) else []
