"""A report: where a story has led and how, as one web page with its figures.

Names come from outside and are escaped.
"""

from __future__ import annotations

from html import escape

from hawb.views.cluster import ledger, load, matrix, queue_table
from hawb.views.formatting import html, seconds, shown, size
from hawb.views.page import LIMITS, document, figure, pre, section
from hawb.views.story import lanes
from hawb.views.story.run_report import refusal
from hawb.views.story.telling import sentences
from hawb.views.story.why import whys

MOST_LANES = 6
"""How many queues have lanes of their own, beside those of the nodes: the ones that lost most, or were longest away."""


def page(outcome: dict, scenario: str) -> str:
    """The page of an outcome; `scenario` is the text of the file that leads to it."""
    title = html(outcome["scenario"])
    states = ", ".join(f"{shown(node)} {state}" for node, state in outcome["nodes"].items())
    about = f"RabbitMQ {outcome['version']}, after {seconds(outcome['time_s'])} s: {states}."
    parts = [
        f"<h1>{title}</h1><p>{escape(about)}</p>",
        section("Who has what", figure(matrix.svg(outcome)), pre(matrix.text(outcome))),
        section("When", *(figure(lanes.svg(outcome, queue), queue) for queue in (None, *worst(outcome)))),
        section("In figures", ledger.html(outcome), queue_table.html(outcome), load.table_html(outcome)),
        section("What was lost, and why", *(f"<p>{escape(why)}</p>" for why in whys(outcome))),
        section("What RabbitMQ refused", *(f"<p>{escape(refusal(error))}</p>" for error in outcome["errors"])),
        section("What happened", story(outcome)),
        section("The same as a scenario", pre(scenario)),
        f"<footer>{LIMITS}</footer>",
    ]
    return document(title, parts)


def worst(outcome: dict) -> list[str]:
    """The queues whose lanes are worth a look: those that lost messages or could not be used, the worst first."""
    harm = {
        name: (size(account["lost"]), outcome["availability"][name]["publish_down_s"])
        for name, account in outcome["ledger"].items()
    }
    return sorted((name for name in harm if any(harm[name])), key=lambda name: harm[name], reverse=True)[:MOST_LANES]


def story(outcome: dict) -> str:
    """What happened in sentences, with the lines that the broker logs."""
    items = []
    for one in sentences(outcome):
        logged = pre(one.log_line) if one.log_line else ""
        items.append(f"<li><time>{seconds(one.t)} s</time><div>{escape(one.text)}{logged}</div></li>")
    return f"<ol>{''.join(items)}</ol>"
