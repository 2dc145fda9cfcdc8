"""What the page's columns say: the verdict, what just happened, why, and what now, as plain values."""

from __future__ import annotations

from itertools import islice

from hawb.engine.core import runs
from hawb.lab.controller import Controller, Place
from hawb.languages import N_, _
from hawb.planning.alternatives import Alternative, Alternatives
from hawb.planning.harm import Harm
from hawb.scenario.dump import plain
from hawb.scenario.unnoticed import unnoticed_s
from hawb.views.formatting import commas, counted, seconds, shown
from hawb.views.story.drafts import Drafts
from hawb.views.story.movements import first_new
from hawb.views.story.summary import LOST, WELL, done, reasons, toned_headline
from hawb.views.story.telling import Sentence, sentences
from hawb.views.style import LOOKS

MARKS = {
    "fault": LOOKS["fault"],
    "recovery": LOOKS["running"],
    "promotion": LOOKS["promoted"],
    "loss": LOOKS["lost"],
    "refusal": LOOKS["fault"],
}
"""The mark before a sentence, by its tone."""

MOST_SENTENCES, MOST_ALTERNATIVES, MOST_SUGGESTIONS, LATEST = 7, 3, 3, 100
FIRST = ("loss", "refusal", "promotion", "fault")
"""The tones of sentences that are kept before the others where there is no room for all."""

AT_ONCE = (12, 60)
"""Up to so many queues and steps the story is played again under each change without being asked to."""


def leads(controller: Controller, drafts: Drafts) -> dict:
    """All that the columns say."""
    outcome = controller.outcome
    return {
        "verdict": toned_headline(outcome),
        "step": last_step(controller),
        "happened": {"told": [], "more": 0} if controller.is_at_rest else happened(outcome, controller.was, drafts),
        "why": reasons(outcome),
        "now": now(controller),
        "answers": [text for place, text in controller.messages.items() if text and place is not Place.SAVE],
    }


def last_step(controller: Controller) -> str:
    """The last step of the story in a few words; what a scenario expects is nothing that was done."""
    steps = [step for step in controller.now.steps if step.name != "expect"]
    return done(plain(steps[-1])) if steps else ""


def happened(outcome: dict, was: dict | None, drafts: Drafts, most: int = MOST_SENTENCES) -> dict:
    """Return the sentences on what has happened since the outcome before, causes before effects, and how many more
    there are: those that weigh least are left out. `rank` is the place of each by its weight, for a page that has no
    room for all."""
    since = first_new(outcome, was)
    told = [one for one in sentences(outcome, LATEST, drafts) if one.index >= since]
    mine = sorted(told, key=_weight)
    kept = sorted(enumerate(mine[:most]), key=lambda ranked: told.index(ranked[1]))
    return {"told": [_sentence(one) | {"rank": rank} for rank, one in kept], "more": max(len(mine) - most, 0)}


def _weight(one: Sentence) -> tuple[int, int]:
    return (FIRST.index(one.tone) if one.tone in FIRST else len(FIRST), one.index)


def _sentence(one: Sentence) -> dict:
    look = MARKS.get(one.tone)
    return {"t": seconds(one.t), "tone": one.tone, "glyph": "" if look is None else look.glyph, "text": one.text}


def now(controller: Controller) -> dict:
    """What would have kept what was lost, the best first, and what can be done next."""
    found, harms = controller.alternatives, controller.harms
    tone = toned_headline(controller.outcome)["tone"]
    lost = tone == LOST
    return {
        "kept": [] if found is None else kept(found),
        "asks": bool(lost and harms and found is None),
        "by_itself": lost and found is None and asked_at_once(controller),
        "next": suggestions(controller) if controller.can_undo or tone != WELL else [],
    }


def asked_at_once(controller: Controller) -> bool:
    """Whether the story is short enough to be played again under each change for everybody."""
    queues, steps = AT_ONCE
    return (
        bool(worst(controller)) and len(controller.outcome["queues"]) <= queues
        and len(controller.now.run.steps) <= steps
    )  # fmt: skip


def worst(controller: Controller) -> Harm | None:
    """The loss that weighs most; None without one."""
    lost = [harm for harm in controller.harms if harm.lost]
    return max(lost, key=lambda harm: runs.size(harm.lost), default=None)


def offered(found: Alternatives) -> list[Alternative]:
    """The alternatives that keep anything, the best first."""
    return [one for one in found.changed if one.run is not None and one.kept][:MOST_ALTERNATIVES]


def kept(found: Alternatives) -> list[dict]:
    """The best alternatives in words: the change, what it keeps, and at which price."""
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
    """What an alternative keeps of what is lost."""
    told = N_("keeps all: {messages}") if count == of else N_("keeps some: {messages}")
    return _(told, messages=counted(count))


def price(one: Alternative) -> str:
    """What an alternative costs its queue."""
    result = one.result
    told = []
    if result.state != "running":
        state = AT_THE_END[result.state]
        told.append(_(state))
    elif result.unavailable_s:
        told.append(_("out of use for {t} s", t=seconds(result.unavailable_s)))
    told += [_("blocked for {t} s", t=seconds(result.sync_blocked_s))] if result.sync_blocked_s else []
    return commas(told)


AT_THE_END = {
    "down": N_("the queue is down at the end"),
    "minority": N_("the queue is minority at the end"),
    "gone": N_("the queue is gone at the end"),
}
"""What becomes of a queue that cannot be used when a story ends."""


ENDS_ALARM = {"memory": N_("end the memory alarm of {node}"), "disk": N_("end the disk alarm of {node}")}
"""What ends an alarm, by what a node is short of."""


def suggestions(controller: Controller) -> list[dict]:
    """Steps that would mend what is broken, and that RabbitMQ takes now: {label, verb, argument}, a few of them."""
    outcome = controller.outcome
    found = [{"label": _("heal the links"), "verb": "heal", "argument": True}] if controller.cut_links else []
    if wait_s := unnoticed_s(outcome):
        found.append({"label": _("wait until the nodes notice"), "verb": "wait", "argument": wait_s})
    for alarm in outcome["alarms"]:
        alarmed = ENDS_ALARM[alarm["resource"]]
        ends = _(alarmed, node=shown(alarm["node"]))
        found.append({"label": ends, "verb": "clear_alarm", "argument": dict(alarm)})
    for node, state in outcome["nodes"].items():
        if state == "down":
            found.append({"label": _("start {node}", node=shown(node)), "verb": "start", "argument": node})
            found.append({"label": _("join {node}", node=shown(node)), "verb": "join", "argument": node})
    for name, queue in outcome["queues"].items():
        if queue["state"] == "running" and set(queue.get("mirrors", ())) - set(queue.get("synchronised_mirrors") or ()):
            found.append({"label": _("sync {queue}", queue=shown(name)), "verb": "sync_queue", "argument": name})
    taken = (one for one in found if not controller.refusal(one["verb"], one["argument"]))
    return [*islice(taken, MOST_SUGGESTIONS)]
