"""Build the value that the front end draws.

It holds the scene, the movements of the last step, the chosen queue's log, the columns and the bars.
"""

from __future__ import annotations

from hawb.engine.core.state import State
from hawb.lab import menus
from hawb.lab.controller import Controller
from hawb.lab.history import Point
from hawb.lab.leads import leads
from hawb.planning.safe_to_stop import WAYS, Forecast
from hawb.scenario.beginning import MICROSECONDS
from hawb.scenario.dump import plain
from hawb.views.cluster import elections, raft_entries
from hawb.views.cluster.scene import beyond, scene
from hawb.views.formatting import seconds, shown
from hawb.views.planning import forecast
from hawb.views.story.drafts import Drafts
from hawb.views.story.movements import movements
from hawb.views.story.summary import done


def view(controller: Controller, before: Point | None, drafts: Drafts) -> dict:
    """Return the value for the front end.

    `before` is the point that the page shows now, if the current point continues it; then the page plays the last step
    at once.
    """
    point = controller.now
    names = point.run.settings.names
    played = play(point, before, controller.queue)
    drawn = scene(point.outcome, point.was, beyond(point.moment.state, names))
    offers = menus.offered(point.moment, point.run.settings, (row["queue"] for row in drawn["rows"]))
    return {
        "scene": drawn,
        "offers": offers,
        "play": played,
        "log": raft_entries.logs(point.moment.state, names, controller.queue),
        "logs": logs(point, before, controller.queue, played["movements"]),
        "leads": leads(controller, drafts, offers),
        "bar": bar(controller),
    }


def play(point: Point, before: Point | None, queue: str) -> dict:
    """Return the movements of the last step, and the scene before it unless the page shows that already.

    `moments` are the positions on the slider at which the phases are under way, `still` the requests and answers of
    elections that are under way now. Elections are those of the chosen `queue`, if it has any.
    """
    earlier = point.before_last_step if before is None else (before.moment, before.outcome)
    names, groups = point.run.settings.names, point.moment.state.groups
    still = elections.under_way(point.moment.state, names, [queue] if queue in groups else groups)
    if earlier is None:
        return {"at_once": False, "before": None, "movements": [], "moments": [], "still": still}
    moment, was = earlier
    cuts = raft_entries.cut_off(moment.state, point.moment.state, names)
    found = movements(point.outcome, was, cuts, elections.flown(point.moment, moment, names, queue))
    return {
        "at_once": before is not None,
        "before": scene(was, None, beyond(moment.state, names)) if before is None else None,
        "movements": found,
        "moments": [*{one["phase"]: point.position_at(one["t"]) for one in found}.values()],
        "still": still,
    }


def logs(point: Point, before: Point | None, queue: str, moved: list[dict]) -> list[dict | None]:
    """Return the Raft logs of the chosen queue in each phase of the last step's movements: those before the phase.

    In a phase of an election they are those while its messages are under way. The list is empty if nothing moves or no
    queue with a Raft group is chosen.
    """
    names, earlier = point.run.settings.names, point.before_last_step if before is None else (before.moment,)
    if not moved or earlier is None or queue not in point.moment.state.groups:
        return []
    times = {one["phase"]: one["t"] for one in moved}
    at = {t: raft_entries.logs(state_at(point, t), names, queue) for t in set(times.values())}
    found = [raft_entries.logs(earlier[0].state, names, queue), *(at[times[phase]] for phase in sorted(times)[:-1])]
    for phase in {one["phase"] for one in moved if "term" in one}:
        found[phase] = at[times[phase]]
    return found


def state_at(point: Point, t: float) -> State:
    """Return the cluster's state just after the events at a time of the story, in seconds."""
    just_after_s = t + 1 / MICROSECONDS
    if just_after_s >= point.moment.state.time_us / MICROSECONDS:
        return point.moment.state
    return point.run.rewound(point.run.steps_at(just_after_s)).moment_at(just_after_s).state


def bar(controller: Controller) -> dict:
    """Return the state of the bars: the place in the story, the time, and which actions are possible."""
    point, (played, steps) = controller.now, controller.story_place
    return {
        "title": shown(point.outcome["scenario"]),
        "queue": controller.queue,
        "can_undo": controller.can_undo,
        "can_redo": controller.can_redo,
        "played": played,
        "steps": steps,
        "next": done(plain(point.ahead[0])) if point.ahead else "",
        "timers": controller.has_timers,
        "time": seconds(point.outcome["time_s"]),
        "end": seconds(point.origin.outcome["time_s"]),
        "moments": controller.moments,
        "position": point.position,
        "marks": [list(mark) for mark in point.origin.marked],
        "forecasts": {node: forecasted(one) for node, one in controller.forecasts.items()},
        "forecasting": controller.forecasting,
    }


def forecasted(found: Forecast) -> list[dict]:
    """Return the effect of each way to end a node, as a mark and a sentence."""
    return [
        {"way": way, "mark": forecast.mark(found, way), "bad": forecast.verdict(found, way) != "safe",
         "told": forecast.summary(found, way)}
        for way in WAYS
    ]  # fmt: skip
