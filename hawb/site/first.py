"""Play the first moves when the site is built, so that the first page answers before its engine has loaded.

They are a graph. A state has, for each message that the page may send there, the view that answers it and the next
state. It covers what the menus of the lab's own cluster offer at rest and, after a node was killed, the likely next
actions. The engine later plays the same messages and continues from there. Refusals of menu entries are not computed in
advance: opening a menu is answered with the current view.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache

from hawb.lab import menus
from hawb.lab.controller import Controller
from hawb.lab.sources import START, TITLE
from hawb.site.lab import TextLab

NEXT = ("stop", "kill", "start")
"""Actions on a node after one was killed."""


@cache
def first_moves(language: str) -> dict:
    """Return the `views`, the `states`, and the `addresses` of the states.

    A state maps a message, as `key` returns it, to the indices of the view that answers it and of the next state. The
    first view and the first state are those of the cluster at rest. `addresses` maps addresses to such pairs.
    """
    lab = TextLab(Controller(), [(TITLE, START)], lambda _one: None, language)
    lab.show()
    views: list[dict] = [lab.view]
    states: list[dict[str, list[int]]] = [{}]
    addresses = {"": [0, 0]}

    def play(lab: TextLab, state: int, done: tuple[dict, ...]) -> None:
        for message in offered(lab.view, done):
            after = lab.fork()
            after.take(message)
            views.append(after.view)
            leads_on = message["do"] != "undo"
            states[state][key(message)] = answer = [len(views) - 1, len(states) if leads_on else 0]
            if leads_on:
                states.append({})
                addresses.setdefault(after.view["address"], answer)
                play(after, answer[1], (*done, message))

    play(lab, 0, ())
    return {"views": views, "states": states, "addresses": addresses}


def key(message: dict) -> str:
    """Return a message as the key of a state: without its number, in a fixed order."""
    return json.dumps(sorted((name, value) for name, value in message.items() if name != "asked"),
                      ensure_ascii=False, separators=(",", ":"))  # fmt: skip


def offered(view: dict, done: tuple[dict, ...]) -> Iterator[dict]:
    """Yield the messages that are played in advance on a view after the messages `done`."""
    offers, has_killed = view["offers"], bool(done) and done[-1].get("entry") == "kill"
    if len(done) == 1:
        yield {"do": "undo"}
    if not done or (has_killed and len(done) == 1):
        for node, at in offers["node"].items():
            for entry in offers["lists"][at]:
                if menus.NODE[entry].argument and (not done or entry in NEXT):
                    yield {"do": "node", "node": node, "entry": entry}
    if not done:
        for queue, at in offers["queue"].items():
            for entry in offers["lists"][at]:
                if menus.QUEUE[entry].argument:
                    yield {"do": "queue", "queue": queue, "entry": entry}
    elif has_killed and len(done) == 1:
        yield {"do": "step back"}
        for number in range(len(view["leads"]["now"]["kept"])):
            yield {"do": "try", "number": number}
