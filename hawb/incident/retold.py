"""A cluster's story as a scenario, as far as its logs and exports tell.

It begins a second before the first thing that went wrong, or that somebody changed, once the cluster had been set up;
how it stood then is `hawb.incident.before`, and what became of it after that are `hawb.incident.steps`. It ends when
the logs do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct

from hawb.incident import connected
from hawb.incident.before import Exports, is_after, older, stood
from hawb.incident.clocks import settled_us
from hawb.incident.connected import Change
from hawb.incident.doubts import Doubt
from hawb.incident.happenings import Happening
from hawb.incident.lives import Life
from hawb.incident.reading import Reading
from hawb.incident.steps import STEPS, Teller, Told
from hawb.scenario import verbs
from hawb.scenario.beginning import MICROSECONDS
from hawb.scenario.document import Scenario, Step
from hawb.scenario.dump import plain
from hawb.scenario.forms import Verb
from hawb.scenario.load import read_scenario

SETTING_UP = ("node_started", "node_joined", "queue_declared", "policy_set")
"""What belongs to setting a cluster up, as long as nothing else has happened."""
EARLIER_US = MICROSECONDS
"""How long before its first step a story begins."""
AT_ONCE_US = MICROSECONDS // 4
"""How far apart nodes may be missed that were killed at once."""
ON_ITS_WAY_S = 10
"""How long a story goes on after the logs end: what was on its way then, such as a boot, comes to its end."""
TITLE = "What the logs of {nodes} nodes tell"


class Retold(Struct, frozen=True):
    """The `scenario`, which begins at `begins_us` (simulated time 0); what each of its steps was read from, in their
    order; and what is taken and not told. The last step waits until the logs have ended."""

    scenario: Scenario
    begins_us: int
    ends_us: int
    sources: tuple[tuple[Happening, ...], ...]
    doubts: tuple[Doubt, ...]


def retell(
    reading: Reading, found: Sequence[Happening], lives: Sequence[Life], exports: Exports,
    later: Exports | None = None, after: bool | None = None, listed_us: int | None = None, healed: bool = False,
) -> Retold | None:
    """The story that happenings and exports tell; None where nothing has happened. `after` says whether the exports are
    of after the incident; None: that is to be found out; and `later` are others, of after it. `listed_us` is when a
    listing was made, if that is known: a story begins after that of before. With `healed` what autoheal did is told as
    it was seen. Raises ScenarioRefused for what no scenario can hold."""
    tell = Teller(found, lives, exports.document, later.document["policies"] if later else (), healed)
    told = [step for one in found if one.kind in STEPS for step in STEPS[one.kind](tell, one)]
    told = together(sorted(told, key=lambda step: step.at_us))
    if listed_us is not None and not after:
        told = [step for step in told if step.at_us >= listed_us]
    begins_us = begins_at(told, found)
    if begins_us is None:
        return None
    after = is_after(exports.placed, found, begins_us) if after is None else after
    if not after:
        begins_us = older(exports.placed, found, begins_us)
    told = [step for step in told if step.at_us >= begins_us]
    ends_us = max(settled_us(event, reading.clocks) for event in reading.events)
    before = stood(found, lives, exports, begins_us, after)
    clients = connected.changes(reading)
    handling = before.cluster["cluster_partition_handling"]
    if handling == "autoheal" and before.queues and not healed:
        steps = [*connections(clients, begins_us, before.queues[0]["queue"])]
        told = sorted([*told, *(Told(at_us, verb, ()) for at_us, verb in without_closed(steps, begins_us)
                                if at_us <= ends_us)], key=lambda step: step.at_us)  # fmt: skip
    at_s = [round((step.at_us - begins_us) / MICROSECONDS, 3) for step in told]
    steps = [Step(step.verb, at) for step, at in zip(told, at_s, strict=True)]
    goes_on_s = 0 if any(is_booting(life) for life in lives) else ON_ITS_WAY_S
    steps.append(Step(verbs.Wait(0), max(at_s[-1], round((ends_us - begins_us) / MICROSECONDS, 3)) + goes_on_s))
    document = {
        "scenario": TITLE.format(nodes=len(before.cluster["nodes"])),
        "cluster": before.cluster | {
            "cluster_partition_handling": unhealed(handling) if healed else handling,
            "net_ticktime": tell.silence_us / MICROSECONDS,
            "timing": {"start_s": tell.boot_us / MICROSECONDS, "stop_s": tell.stop_us / MICROSECONDS},
        },
        "policies": before.policies,
        "operator_policies": before.operator_policies,
        "queues": before.queues,
        "steps": [plain(step) for step in steps],
    }
    doubts = [*before.doubts, *(one for one in tell.doubts if is_of_the_story(one, begins_us))]
    doubts += connected.doubts(clients, connected.is_logged(reading), begins_us, ends_us)
    sources = (*(step.source for step in told), ())
    return Retold(read_scenario(document), begins_us, ends_us, sources, tuple(doubts))


def unhealed(handling: Any) -> Any:
    """What a cluster does about partitions, without autoheal."""
    return handling | {"recover": "ignore"} if isinstance(handling, dict) else "ignore"


def is_booting(life: Life) -> bool:
    """Whether a node still boots as the logs end."""
    return life.until_us is None and life.started_us is None and life.first.kind == "node_starting"


def together(told: Sequence[Told]) -> list[Told]:
    """The steps with nodes that were killed at once in one step: those that stay notice one after the other, and the
    rules would have something done in between."""
    found: list[Told] = []
    for step in told:
        last = found[-1] if found else None
        if last and isinstance(step.verb, verbs.Kill) and isinstance(last.verb, verbs.Kill) \
                and step.at_us - last.at_us <= AT_ONCE_US:  # fmt: skip
            nodes = (*last.verb.nodes, *step.verb.nodes)
            found[-1] = Told(last.at_us, verbs.Kill(tuple(dict.fromkeys(nodes))), (*last.source, *step.source))
        else:
            found.append(step)
    return found


def begins_at(told: Sequence[Told], found: Sequence[Happening]) -> int | None:
    """When a story begins, by its steps in the order of time: before the first that does more than to set up, but after
    whatever had happened by then; None where nobody did anything once all had booted."""
    first = next((step for step in told if not all(one.kind in SETTING_UP for one in step.source)), None)
    if first is None:
        return None
    before = max((one.at_us for one in found if one.at_us < first.at_us and one not in first.source), default=0)
    return max(first.at_us - EARLIER_US, before + 1)


def is_of_the_story(doubt: Doubt, begins_us: int) -> bool:
    """Whether a doubt is about the story, and not about what went before."""
    at_us = doubt.until_us or doubt.from_us
    return at_us is None or at_us >= begins_us


def connections(told: Sequence[Change], begins_us: int, queue: str) -> Iterator[tuple[int, Verb]]:
    """Connections as steps, on which nothing is published: autoheal counts them. Whoever goes is the last that came."""
    open_: dict[str, list[str]] = {}
    number = 0
    for change in told:
        here = open_.setdefault(change.node, [])
        while len(here) < change.count:
            number += 1
            here.append(f"client {number}")
            yield max(change.at_us, begins_us), verbs.Publish(queue=queue, count=0, node=change.node,
                                                              connection=here[-1])  # fmt: skip
        while len(here) > change.count:
            yield max(change.at_us, begins_us), verbs.Close(here.pop())


def without_closed(steps: Sequence[tuple[int, Verb]], begins_us: int) -> Iterator[tuple[int, Verb]]:
    """The steps without connections that had ended when the story begins."""
    closed = {verb.name for at_us, verb in steps if at_us <= begins_us and isinstance(verb, verbs.Close)}
    for at_us, verb in steps:
        name = verb.name if isinstance(verb, verbs.Close) else getattr(verb, "connection", "")
        if name not in closed:
            yield at_us, verb
