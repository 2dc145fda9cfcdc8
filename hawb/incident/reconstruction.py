"""Make a scenario of a cluster's logs and exports.

It begins a second before the first fault or change after the cluster was set up; `hawb.incident.before` finds the
initial state, and `hawb.incident.steps` the steps. It ends when the logs do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from hawb.incident import connected, within
from hawb.incident.asked import WHOLE, Asked
from hawb.incident.before import Before, Exports, Given, fits, is_after, older, stood
from hawb.incident.clocks import settled_us
from hawb.incident.cluster_event import ClusterEvent
from hawb.incident.doubts import Doubt
from hawb.incident.later import doubts as later_doubts
from hawb.incident.later import later_steps
from hawb.incident.node_runs import NodeRun, is_booting
from hawb.incident.reading import Reading
from hawb.incident.step_context import StepContext, TimedStep
from hawb.incident.steps import STEPS
from hawb.incident.unlogged_members import with_unlogged_members
from hawb.scenario import verbs
from hawb.scenario.beginning import MICROSECONDS
from hawb.scenario.document import Scenario, Step
from hawb.scenario.dump import plain
from hawb.scenario.load import read_scenario

SETTING_UP = ("node_started", "node_joined", "queue_declared", "policy_set")
"""Kinds of events that set up a cluster, as long as nothing else has happened."""
EARLIER_US = MICROSECONDS
"""Time between the beginning of a scenario and its first step."""
AT_ONCE_US = MICROSECONDS // 4
"""Maximum time between the detections of nodes that were killed at once."""
ON_ITS_WAY_S = 10
"""Time for which a scenario continues after the logs, to complete what is under way, such as a boot."""
TITLE = "What the logs of {nodes} nodes show"


class Reconstruction(Struct, frozen=True):
    """The scenario, which begins at `begins_us` (simulated time 0).

    It also holds the source of each of its steps, in order; the assumptions; and how many messages queues have in the
    end according to a later listing. The last step waits until the logs have ended.
    """

    scenario: Scenario
    begins_us: int
    ends_us: int
    sources: tuple[tuple[ClusterEvent, ...], ...]
    doubts: tuple[Doubt, ...]
    depths: Mapping[str, int]


class Listed(NamedTuple):
    """When a scenario begins, given the exports.

    It says whether the listing was made after the incident, or before it and is outdated, and holds the later exports.
    """

    begins_us: int
    after: bool
    outdated: bool
    later: Exports | None


def reconstruct(
    reading: Reading, found: Sequence[ClusterEvent], node_runs: Sequence[NodeRun], given: Given, asked: Asked = WHOLE,
    healed: bool = False,
) -> Reconstruction | None:
    """Return the scenario of events and exports, or of a time span; None if nothing happened.

    A scenario begins after an earlier listing was made, unless a span is given. With `healed`, the restarts that
    autoheal caused are steps, as the logs have them. Raise ScenarioRefused if no scenario can contain the events.
    """
    later = given.later
    context = StepContext(found, node_runs, given.exports.document, later.document if later else None, healed)
    steps, begins_us, asked = _of_the_span(_steps(context, found), found, given, asked)
    if begins_us is None:
        return None
    listed = _listed(given, found, node_runs, begins_us, asked)
    begins_us, later = listed.begins_us, listed.later
    ends_us = _ends_us(reading, asked)
    before = stood(found, node_runs, given.exports, begins_us, listed.after, listed.outdated)
    seen = ((settled_us(event, reading.clocks), event) for event in reading.events if event.kind == "leader_seen")
    before, joined = with_unlogged_members(before, found, seen, begins_us)
    steps = [*_since(steps, found, begins_us), *joined]
    clients = connected.changes(reading)
    if before.cluster["cluster_partition_handling"] == "autoheal" and before.queues and not healed:
        steps += connected.steps(clients, begins_us, ends_us, before.queues[0]["queue"])
    steps.sort(key=lambda step: step.at_us)
    added = later_steps(later, before, steps, ends_us) if later else []
    goes_on_s = 0 if any(is_booting(run) for run in node_runs) else ON_ITS_WAY_S
    scenario = _scenario(context, before, [*steps, *added], begins_us, ends_us + goes_on_s * MICROSECONDS)
    doubts = [*before.doubts, *(one for one in context.doubts if is_of_the_story(one, begins_us)), *later_doubts(added)]
    doubts += connected.doubts(clients, connected.is_logged(reading), begins_us, ends_us)
    sources = (*(step.source for step in (*steps, *added)), ())
    return Reconstruction(scenario, begins_us, ends_us, sources, tuple(doubts), later.depths if later else {})


def _steps(context: StepContext, found: Sequence[ClusterEvent]) -> list[TimedStep]:
    """Return the steps of all events, in order of time."""
    steps = [step for one in found if one.kind in STEPS for step in STEPS[one.kind](context, one)]
    return together(sorted(steps, key=lambda step: step.at_us))


def _of_the_span(
    steps: list[TimedStep], found: Sequence[ClusterEvent], given: Given, asked: Asked
) -> tuple[list[TimedStep], int | None, Asked]:
    """Return the steps up to the end of a span, when the scenario begins, and the span.

    If nothing has gone wrong before the span, its first steps may still set the cluster up.
    """
    if (first_us := begins_at(steps, found)) is not None and asked.has_begun_by(first_us):
        asked = replace(asked, since_us=None)
    if given.listed_us is not None and not given.after and asked.since_us is None:
        steps = [step for step in steps if step.at_us >= given.listed_us]
    steps = [step for step in steps if not asked.is_over(step.at_us)]
    setting_up = SETTING_UP if asked.since_us is None else ()
    return steps, begins_at(within.begun(steps, asked), found, setting_up), asked


def _listed(
    given: Given, found: Sequence[ClusterEvent], node_runs: Sequence[NodeRun], begins_us: int, asked: Asked
) -> Listed:  # fmt: skip
    """Find which time the listing shows.

    If that is not given, and no span either, an earlier listing makes the scenario begin before the first change that
    its queues do not show yet.
    """
    exports, later = given.exports, given.later
    after = is_after(exports.placed, found, begins_us) if given.after is None else given.after
    if asked.since_us is not None:
        after = after or (given.listed_us is not None and given.listed_us > begins_us)
    elif not after:
        begins_us = older(exports.placed, found, begins_us)
    outdated = not after and not fits(exports.placed, found, node_runs, begins_us)
    if after and asked.until_us is None:
        later = later or exports
    return Listed(begins_us, after, outdated, later)


def _since(steps: Sequence[TimedStep], found: Sequence[ClusterEvent], begins_us: int) -> Iterator[TimedStep]:
    """Yield what is already under way as the scenario begins, and its steps."""
    yield from within.lasting(steps, found, begins_us)
    yield from (step for step in steps if min(step.at_us, within.seen_us(step)) >= begins_us)


def _ends_us(reading: Reading, asked: Asked) -> int:
    """Return when the logs end, or the span."""
    ends_us = max(settled_us(event, reading.clocks) for event in reading.events)
    return ends_us if asked.until_us is None else min(ends_us, asked.until_us)


def _scenario(
    context: StepContext, before: Before, timed: Sequence[TimedStep], begins_us: int, ends_us: int
) -> Scenario:
    """Return the initial state and the steps as a scenario that waits until the logs end."""
    at_s = [round((step.at_us - begins_us) / MICROSECONDS, 3) for step in timed]
    steps = [Step(step.verb, at) for step, at in zip(timed, at_s, strict=True)]
    steps.append(Step(verbs.Wait(0), max(at_s[-1], round((ends_us - begins_us) / MICROSECONDS, 3))))
    handling = before.cluster["cluster_partition_handling"]
    return read_scenario({
        "scenario": TITLE.format(nodes=len(before.cluster["nodes"])),
        "cluster": before.cluster | {
            "cluster_partition_handling": unhealed(handling) if context.healed else handling,
            "net_ticktime": context.silence_us / MICROSECONDS,
            "timing": {"start_s": context.boot_us / MICROSECONDS, "stop_s": context.stop_us / MICROSECONDS},
        },
        "policies": before.policies,
        "operator_policies": before.operator_policies,
        "queues": before.queues,
        "steps": [plain(step) for step in steps],
    })  # fmt: skip


def unhealed(handling: Any) -> Any:
    """Return cluster_partition_handling without autoheal."""
    return handling | {"recover": "ignore"} if isinstance(handling, dict) else "ignore"


def together(steps: Sequence[TimedStep]) -> list[TimedStep]:
    """Return the steps, with nodes that were killed at about the same time in one step.

    The other nodes detect them one after the other, and the rules would let something happen in between.
    """
    found: list[TimedStep] = []
    for step in steps:
        last = found[-1] if found else None
        if last and isinstance(step.verb, verbs.Kill) and isinstance(last.verb, verbs.Kill) \
                and step.at_us - last.at_us <= AT_ONCE_US:  # fmt: skip
            nodes = (*last.verb.nodes, *step.verb.nodes)
            found[-1] = TimedStep(last.at_us, verbs.Kill(tuple(dict.fromkeys(nodes))), (*last.source, *step.source))
        else:
            found.append(step)
    return found


def begins_at(
    steps: Sequence[TimedStep], found: Sequence[ClusterEvent], setting_up: Sequence[str] = SETTING_UP
) -> int | None:  # fmt: skip
    """Return when a scenario begins, given its steps in order of time; None if nothing was done after the first boots.

    It begins before the first step that does more than set up the cluster, and after everything that happened before
    it.
    """
    first = next((step for step in steps if not all(one.kind in setting_up for one in step.source)), None)
    if first is None:
        return None
    at_us = min(first.at_us, within.seen_us(first))
    before = max((one.at_us for one in found if one.at_us < at_us and one not in first.source), default=0)
    return max(at_us - EARLIER_US, before + 1)


def is_of_the_story(doubt: Doubt, begins_us: int) -> bool:
    """Return True if a doubt concerns the scenario, and not the time before it."""
    at_us = doubt.until_us or doubt.from_us
    return at_us is None or at_us >= begins_us
