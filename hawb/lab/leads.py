"""Compute what the page's columns say: the verdict, the latest events, why, and what to do now, as plain values."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence

from msgspec.structs import asdict

from hawb.engine.core import runs
from hawb.lab.controller import Controller, Place
from hawb.languages import N_, _
from hawb.planning.alternatives import Alternative, Alternatives
from hawb.planning.harm import Harm
from hawb.scenario.beginning import MICROSECONDS
from hawb.scenario.dump import plain
from hawb.scenario.unnoticed import unnoticed_s
from hawb.views.formatting import commas, counted, seconds, shown
from hawb.views.story.chain import glyph
from hawb.views.story.drafts import Drafts
from hawb.views.story.movements import first_new
from hawb.views.story.summary import LOST, WELL, chains, done, reasons, toned_headline
from hawb.views.story.telling import Sentence, sentences

MOST_SENTENCES, MOST_ALTERNATIVES, MOST_SUGGESTIONS, LATEST = 7, 3, 3, 100
FIRST = ("loss", "refusal", "promotion", "fault")
"""The tones of sentences that are kept first when there is no room for all."""

AT_ONCE = (12, 60)
"""The most queues and steps of a story that is played again under each change without being asked."""


def leads(controller: Controller, drafts: Drafts, offers: Mapping) -> dict:
    """Return the contents of the columns; `offers` are the entries of menus that apply (`menus.offered`)."""
    outcome, point = controller.outcome, controller.now
    headline = toned_headline(outcome)
    return {
        "verdict": headline,
        "step": last_step(controller),
        "happened": {"told": [], "more": 0} if controller.is_at_rest else happened(outcome, point.was, drafts),
        "why": reasons(outcome),
        "chains": placed(chains_of(point.origin.outcome), point.origin.moments_us),
        "now": now(controller, headline["tone"], offers),
        "answers": [text for place, text in controller.messages.items() if text and place is not Place.SAVE],
    }


def chains_of(outcome: dict) -> list[list[dict]]:
    """Return the chains of causes of an outcome as plain values; chain number n belongs to paragraph n of "why"."""
    return [[asdict(link) | {"glyph": glyph(link.tone)} for link in links] for links in chains(outcome)]


def placed(found: list[list[dict]], moments_us: Sequence[int]) -> list[list[dict]]:
    """Return chains with the position of each link on the slider; None for what was before its first moment."""

    def position(t: float) -> int | None:
        place = bisect_right(moments_us, round(t * MICROSECONDS)) - 1
        return None if place < 0 else place

    return [[link | {"position": position(link["t"])} for link in links] for links in found]


def last_step(controller: Controller) -> str:
    """Return the last step of the story in a few words; `expect` steps do not count."""
    steps = [step for step in controller.now.steps if step.name != "expect"]
    return done(plain(steps[-1])) if steps else ""


def happened(outcome: dict, was: dict | None, drafts: Drafts, most: int = MOST_SENTENCES) -> dict:
    """Return the sentences on the events since the outcome `was`, causes before effects.

    At most `most` are returned, the most important ones; `more` is how many are left out. `rank` is a sentence's place
    by importance, for a page without room for all.
    """
    since = first_new(outcome, was)
    found = [one for one in sentences(outcome, LATEST, drafts) if one.index >= since]
    mine = sorted(found, key=_weight)
    kept = sorted(enumerate(mine[:most]), key=lambda ranked: found.index(ranked[1]))
    return {"told": [_sentence(one) | {"rank": rank} for rank, one in kept], "more": max(len(mine) - most, 0)}


def _weight(one: Sentence) -> tuple[int, int]:
    return (FIRST.index(one.tone) if one.tone in FIRST else len(FIRST), one.index)


def _sentence(one: Sentence) -> dict:
    return {"t": seconds(one.t), "tone": one.tone, "glyph": glyph(one.tone), "text": one.text}


def now(controller: Controller, tone: str, offers: Mapping) -> dict:
    """Return what would have kept the lost messages, best first, and suggestions for the next step.

    `tone` is that of the headline.
    """
    found, lost = controller.now.alternatives, tone == LOST
    return {
        "kept": [] if found is None else kept(found),
        "asks": bool(lost and found is None and controller.now.harms),
        "by_itself": lost and found is None and asked_at_once(controller),
        "next": suggestions(controller, offers) if controller.can_undo or tone != WELL else [],
    }


def asked_at_once(controller: Controller) -> bool:
    """Return True if the story has a loss and is short enough to be played again without being asked."""
    queues, steps = AT_ONCE
    return (
        bool(worst(controller)) and len(controller.outcome["queues"]) <= queues
        and len(controller.now.run.steps) <= steps
    )  # fmt: skip


def worst(controller: Controller) -> Harm | None:
    """Return the harm that lost the most messages; None without a loss."""
    lost = [harm for harm in controller.now.harms if harm.lost]
    return max(lost, key=lambda harm: runs.size(harm.lost), default=None)


def offered(found: Alternatives) -> list[Alternative]:
    """Return the alternatives that keep messages, best first."""
    return [one for one in found.changed if one.run is not None and one.kept][:MOST_ALTERNATIVES]


def kept(found: Alternatives) -> list[dict]:
    """Return the best alternatives in words: the change, where, what it keeps, and its price."""
    all_of_them = runs.size(found.harm.lost)
    return [
        {
            "what": shown(one.change.what),
            "where": shown(one.change.where),
            "keeps": keeps(one.kept, all_of_them),
            "price": price(one),
        }
        for one in offered(found)
    ]


def keeps(count: int, of: int) -> str:
    """Return how many of the lost messages an alternative keeps, in words."""
    text = N_("keeps all: {messages}") if count == of else N_("keeps some: {messages}")
    return _(text, messages=counted(count))


def price(one: Alternative) -> str:
    """Return what an alternative costs its queue, in words."""
    result = one.result
    costs = []
    if result.state != "running":
        state = AT_THE_END[result.state]
        costs.append(_(state))
    elif result.unavailable_s:
        costs.append(_("out of use for {t} s", t=seconds(result.unavailable_s)))
    costs += [_("blocked for {t} s", t=seconds(result.sync_blocked_s))] if result.sync_blocked_s else []
    return commas(costs)


AT_THE_END = {
    "down": N_("the queue is down at the end"),
    "minority": N_("the queue has no majority at the end"),
    "gone": N_("the queue is gone at the end"),
}
"""The state of a queue that is not available at the end of a story, in words."""


ENDS_ALARM = {"memory": N_("end the memory alarm of {node}"), "disk": N_("end the disk alarm of {node}")}
"""The label of the step that ends an alarm, by the resource."""


def suggestions(controller: Controller, offers: Mapping) -> list[dict]:
    """Return a few repairing steps: {label, verb, argument}. Nodes and queues get those that their menus offer."""

    def can(entry: str, menu: str, name: str) -> bool:
        return entry in offers["lists"][offers[menu][name]]

    outcome = controller.outcome
    found = [{"label": _("heal the links"), "verb": "heal", "argument": True}] if controller.cut_links else []
    if wait_s := unnoticed_s(outcome):
        found.append({"label": _("wait until the nodes notice"), "verb": "wait", "argument": wait_s})
    for alarm in outcome["alarms"]:
        alarmed = ENDS_ALARM[alarm["resource"]]
        ends = _(alarmed, node=shown(alarm["node"]))
        found.append({"label": ends, "verb": "clear_alarm", "argument": dict(alarm)})
    for node in outcome["nodes"]:
        if can("start", "node", node):
            found.append({"label": _("start {node}", node=shown(node)), "verb": "start", "argument": node})
        if can("join", "node", node):
            found.append({"label": _("join {node}", node=shown(node)), "verb": "join", "argument": node})
    for name in outcome["queues"]:
        if can("sync", "queue", name):
            found.append({"label": _("sync {queue}", queue=shown(name)), "verb": "sync_queue", "argument": name})
    return found[:MOST_SUGGESTIONS]
