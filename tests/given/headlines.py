"""The numbers in the headlines of an outcome, and where its ledger disagrees with them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hawb.views.story import summary
from hawb.views.verdicts import run as run_verdict

NOTHING = "nothing is lost"
COUNT = r"(?P<count>[\d,]+) messages?"
LOST = re.compile(
    rf"^{COUNT} of .+? (?:is|are) lost(?:,(?: and)? (?P<confirmed>it was|all of them|[\d,]+ of them)"
    r" confirmed)?(?=;|\.?$)", re.S
)
UNTAKEN = re.compile(
    rf"(?:^|; )no queue took {COUNT} for .+?"
    r"(?:, though (?P<confirmed>it was|all of them were|[\d,]+ of them were) confirmed)?(?=;|\.?$)",
    re.S | re.I,
)
STATES = {"down": "down", "minority": "without a majority", "syncing": "blocked by a synchronisation"}


def disagreements(outcome: dict) -> list[str]:
    """Return what is wrong with the headlines of an outcome, those of `hawb run` and of the lab."""
    answer = run_verdict.verdict(outcome)
    in_the_lab = summary.toned_headline(outcome)["text"]
    return [*_wrong(outcome, answer.why), *_wrong(outcome, in_the_lab), *_answer(outcome, answer.answer)]


def _wrong(outcome: dict, text: str) -> Iterator[str]:
    harmed = False
    accounts = outcome["ledger"].values()
    for pattern, fate in ((LOST, "lost"), (UNTAKEN, "refused")):
        numbers = [(numbers_of(account[fate]), numbers_of(account["confirmed"])) for account in accounts]
        count, confirmed = sum(len(some) for some, _ in numbers), sum(len(some & both) for some, both in numbers)
        harmed = harmed or count > 0
        found = pattern.search(text)
        if (said := (0, 0) if found is None else _said(found)) != (count, confirmed):
            yield f"{said} are said to be {fate}, the ledger has {(count, confirmed)}: {text}"
    if (NOTHING in text.casefold()) is harmed:
        yield f"{NOTHING!r} is said although messages are, or is not said although none is: {text}"
    states = {queue["state"] for queue in outcome["queues"].values()}
    unsaid = [state for state, words in STATES.items() if state in states and words not in text]
    yield from (f"a queue is {state}, which is left out: {text}" for state in unsaid)
    if outcome["errors"] and "RabbitMQ refused step" not in text:
        yield f"refused steps are left out: {text}"


def _answer(outcome: dict, answer: str) -> Iterator[str]:
    accounts = outcome["ledger"].values()
    harmed = any(account["lost"] or account["refused"] for account in accounts) or outcome["errors"]
    harmed = harmed or any(queue["state"] in STATES for queue in outcome["queues"].values())
    if harmed and answer != "no":
        yield f"{answer} is said although not everything held"
    if "unnoticed" in outcome and answer == "yes":
        yield "yes is said although nodes have yet to notice what decides"


def _said(found: re.Match[str]) -> tuple[int, int]:
    count, confirmed = _number(found["count"]), found["confirmed"] or "0"
    return count, count if confirmed.startswith(("it", "all")) else _number(confirmed.split()[0])


def _number(text: str) -> int:
    return int(text.replace(",", ""))


def numbers_of(ids: list[list[int]]) -> set[int]:
    """Return the numbers that runs of an outcome hold."""
    return {number for first, last in ids for number in range(first, last + 1)}
