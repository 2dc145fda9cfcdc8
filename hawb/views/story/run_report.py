"""The report of `hawb run`: for a terminal where a story has led, what happened, what was lost and why."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

from hawb.views.cluster import metadata
from hawb.views.cluster.queue_table import queue_tables
from hawb.views.formatting import seconds, shown
from hawb.views.story.telling import sentences
from hawb.views.story.why import whys
from hawb.views.tables import WIDTH


def report(outcome: dict) -> str:
    """What a person wants to know of an outcome: the queues, what happened when, what was lost and why, and what
    RabbitMQ refused."""
    states = ", ".join(f"{shown(name)} {state}" for name, state in outcome["nodes"].items())
    head = [
        shown(outcome["scenario"]),
        f"RabbitMQ {outcome['version']}, after {seconds(outcome['time_s'])} s: {states}",
        *filter(None, [metadata.text(outcome)]),
        "",
        *queue_tables(outcome),
    ]
    refused = [refusal(error) for error in outcome["errors"]]
    return "\n".join(
        [
            *head,
            *_section("What happened", _timeline(outcome)),
            *_section("What was lost, and why", _paragraphs(whys(outcome))),
            *_section("What RabbitMQ refused", _paragraphs(refused)),
        ]
    )


def _section(title: str, lines: list[str]) -> list[str]:
    return ["", title, *lines] if lines else []


def _timeline(outcome: dict) -> list[str]:
    told = sentences(outcome)
    width = max((len(seconds(sentence.t)) for sentence in told), default=0) + 2
    lines = []
    for sentence in told:
        lines += _wrapped(sentence.text, seconds(sentence.t).rjust(width) + "  ")
        lines += [" " * (width + 4) + line for line in (sentence.log_line or "").splitlines()]
    return lines


def _paragraphs(texts: Iterable[str]) -> list[str]:
    return [line for text in texts for line in _wrapped(text, "  ")]


def _wrapped(text: str, lead: str) -> list[str]:
    return textwrap.wrap(
        text, WIDTH, initial_indent=lead, subsequent_indent=" " * len(lead), break_long_words=False,
        break_on_hyphens=False,
    )  # fmt: skip


def refusal(error: dict) -> str:
    """RabbitMQ's refusal, and the step that it refused."""
    code = "" if error["code"] is None else f"{error['code']} "
    return f"step {error['step']}: {code}{shown(error['text'])}"
