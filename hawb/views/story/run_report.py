"""The report of `hawb run` for a terminal: how the story ended, what was lost and why, and what happened."""

from __future__ import annotations

from collections.abc import Iterable

from hawb.languages import N_, _
from hawb.planning.advised import Advice
from hawb.scenario import numbering
from hawb.views import terminal
from hawb.views.cluster import metadata
from hawb.views.cluster.queue_table import queue_tables
from hawb.views.formatting import commas, one_line, seconds, shown
from hawb.views.report import Report
from hawb.views.story.telling import sentences
from hawb.views.story.why import whys
from hawb.views.style import LOOKS
from hawb.views.tables import WIDTH
from hawb.views.verdicts.run import NO_ADVICE, QUESTION, todo, verdict

LOST, REFUSED, HAPPENED = N_("What was lost, and why"), N_("What RabbitMQ refused"), N_("What happened")
"""The headings."""


def report(outcome: dict, width: int = WIDTH, colour: bool = False, advice: Advice = NO_ADVICE) -> str:
    """Return the report on an outcome.

    Its parts are the verdict with to-dos, the queues, what was lost and why, what RabbitMQ refused, and the timeline.
    """
    top = Report(_(QUESTION), about(outcome), verdict(outcome, advice.unknown), todo(outcome, advice))
    refused = [refusal(error) for error in outcome["errors"]]
    parts = [
        terminal.text(top, width, colour),
        "\n".join([*filter(None, [metadata.text(outcome)]), *queue_tables(outcome, width, colour)]),
        *_section(LOST, _paragraphs(whys(outcome), width), width, colour),
        *_section(REFUSED, _paragraphs(refused, width), width, colour),
        *_section(HAPPENED, _timeline(outcome, width), width, colour),
    ]
    return "\n\n".join(parts)


def about(outcome: dict) -> str:
    """Return a line with the scenario's title, the RabbitMQ version, the time and the states of the nodes."""
    requested = outcome.get("requested_version")
    template = N_("{title}. RabbitMQ {version}, after {t} s: {states}")
    if requested is not None:
        template = N_("{title}. RabbitMQ {requested}, played by the rules of {version}, after {t} s: {states}")
    states = commas(f"{shown(name)} {LOOKS[state].label}" for name, state in outcome["nodes"].items())
    words = {"version": outcome["version"], "requested": requested, "t": seconds(outcome["time_s"]), "states": states}
    return _(template, title=shown(one_line(outcome["scenario"])), **words)


def _section(title: str, lines: list[str], width: int, colour: bool) -> list[str]:
    return ["\n".join([terminal.head(_(title), width, colour), *lines])] if lines else []


def _timeline(outcome: dict, width: int) -> list[str]:
    listed = sentences(outcome)
    room = max((len(seconds(sentence.t)) for sentence in listed), default=0) + 2
    lines = []
    for sentence in listed:
        lines += terminal.wrapped(sentence.text, width, seconds(sentence.t).rjust(room) + "  ")
        for line in (sentence.log_line or "").splitlines():
            lines += terminal.wrapped(line, width, " " * (room + 4))
    return lines


def _paragraphs(texts: Iterable[str], width: int) -> list[str]:
    return [line for text in texts for line in terminal.wrapped(text, width, "  ")]


def refusal(error: dict) -> str:
    """Return RabbitMQ's error with the number of the step that it refused."""
    code = "" if error["code"] is None else f"{error['code']} "
    step = numbering.number(error["step"])
    return _("step {number}: {refusal}", number=step, refusal=f"{code}{shown(one_line(error['text']))}")
