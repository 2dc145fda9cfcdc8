"""A report: where a story has led and how, as one web page. Everything is in it, figures too, and nothing of it is
fetched from anywhere or run: it can be mailed, kept and opened without a network.

Names come from outside and are escaped; the page forbids itself scripts and any address.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from hawb.views import lanes, ledger, load, matrix, style
from hawb.views.listing import refusal
from hawb.views.story import sentences
from hawb.views.why import whys
from hawb.views.words import html, seconds, shown, size

MOST_LANES = 6
"""Of how many queues the lanes are drawn, beside those of the nodes: of those that lost most, or were longest away."""

# The cells' own style keeps them in one line; on a page lists of long node names have to give way.
STYLE = f"""
body {{ font: 14px/1.45 {style.FONT}; max-width: 1000px; margin: 24px auto; padding: 0 16px; }}
figure {{ margin: 8px 0; overflow-x: auto; }}
ol {{ padding-left: 0; list-style: none; }}
li {{ display: grid; grid-template-columns: 6em 1fr; margin: 2px 0; }}
pre {{ white-space: pre-wrap; overflow-wrap: anywhere; font-size: 12px; margin: 2px 0; }}
table {{ margin: 8px 0; }}
td {{ white-space: normal !important; }}
footer {{ border-top: 1px solid; margin-top: 24px; padding-top: 8px; font-size: 12px; }}
@media print {{ body {{ margin: 0; max-width: none; }} figure, table {{ break-inside: avoid; }} }}
"""
POLICY = "default-src 'none'; style-src 'unsafe-inline'"
LIMITS = (
    "This was simulated. Times are a model's (links, disks and synchronisation at the rates of the scenario), and what"
    " hawb has no rules for it has left out."
)


def page(outcome: dict, scenario: str) -> str:
    """The page of an outcome; `scenario` is the text of the file that leads to it."""
    title = html(outcome["scenario"])
    states = ", ".join(f"{shown(node)} {state}" for node, state in outcome["nodes"].items())
    about = f"RabbitMQ {outcome['version']}, after {seconds(outcome['time_s'])} s: {states}."
    parts = [
        f"<h1>{title}</h1><p>{escape(about)}</p>",
        section("Who has what", figure(matrix.svg(outcome)), pre(matrix.text(outcome))),
        section("When", *(figure(lanes.svg(outcome, queue), queue) for queue in (None, *worst(outcome)))),
        section("In figures", ledger.html(outcome), ledger.queues_html(outcome), load.table_html(outcome)),
        section("What was lost, and why", *(f"<p>{escape(why)}</p>" for why in whys(outcome))),
        section("What RabbitMQ refused", *(f"<p>{escape(refusal(error))}</p>" for error in outcome["errors"])),
        section("What happened", story(outcome)),
        section("The same as a scenario", pre(scenario)),
        f"<footer>{LIMITS}</footer>",
    ]
    return document(title, parts)


def document(title: str, parts: Iterable[str]) -> str:
    """A whole page with these parts, all of it HTML, the title too; it fetches and runs nothing."""
    forbids = f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
    head = f'<meta charset="utf-8">{forbids}<title>{title}</title><style>{STYLE}</style>'
    return f'<!DOCTYPE html>\n<html lang="en"><head>{head}</head><body>{"".join(parts)}</body></html>\n'


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


def figure(svg: str, queue: str | None = None) -> str:
    """A picture in its place, and which queue it is about."""
    about = "" if queue is None else f"<figcaption>Who was what for {html(queue)}</figcaption>"
    return f"<figure>{about}{svg}</figure>"


def pre(text: str) -> str:
    """Text as it is."""
    return f"<pre>{escape(text)}</pre>"


def notes_html(notes: Iterable[str]) -> str:
    """What a cluster's files do not tell, as a section; nothing where they tell all."""
    return section("What the files do not tell", *(f"<p>{html(note)}</p>" for note in notes))


def section(title: str, *parts: str) -> str:
    """A heading and what is below it; nothing without parts."""
    return f"<section><h2>{title}</h2>{''.join(parts)}</section>" if parts else ""
