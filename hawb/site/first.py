"""The first moves, played when the site is built: what the first page answers before there is an engine in it.

They are a graph. A state has, for each message that the page may send there, the view that answers it and the state
after it: for whatever the menus of the lab's own cluster offer at rest and, after a node was killed, for what a visitor
is likely to do next. The engine later plays the same messages, and goes on from where they lead. What RabbitMQ would
refuse of a menu is not played in advance: a menu that opens is answered with the view that is there.
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
"""What is done to a node next, once one was killed."""


@cache
def first_moves(language: str) -> dict:
    """Return the `views`, and the `states`: by a message as `key` has it, the numbers of the view that answers it and
    of the state after it. The first of each is the cluster at rest. `addresses` has the same pairs by addresses."""
    lab = TextLab(Controller(), [(TITLE, START)], lambda told: None, language)
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
    """Return a message as a state knows it: without its number, in one order."""
    return json.dumps(sorted((name, value) for name, value in message.items() if name != "asked"),
                      ensure_ascii=False, separators=(",", ":"))  # fmt: skip


def offered(view: dict, done: tuple[dict, ...]) -> Iterator[dict]:
    """Give the messages that are played in advance where the page shows a view, after these messages."""
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
